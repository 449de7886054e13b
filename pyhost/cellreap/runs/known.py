# SPDX-License-Identifier: BSD-2-Clause
"""What is known of a kept trace: the image that was booted, or the configuration.

All commands that read a trace ask here, so that all of them say the same of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cellreap.errors import InputError, UsageError
from cellreap.inputs import opened
from cellreap.runs.expectation import config_of, expected_by, expected_of_image
from cellreap.runs.places import places_by, places_of_image
from cellreap.system.image import read_image
from cellreap.trace.check.replay import Replay
from cellreap.trace.expected import Expected
from cellreap.trace.explain import Explain
from cellreap.trace.reading import Reading, read_trace


@dataclass(frozen=True)
class Known:
    """What a trace can be held against."""

    expected: Expected | None = None
    explain: Explain | None = None
    doubt: str = ""
    """Why it may not be what was booted. It is told if the trace contradicts the configuration."""
    unused: str = ""
    """The image beside the trace, and why it is not used. Empty: there is none, or it is used."""

    def read(
        self,
        trace: Path,
        *,
        keep_events: bool = False,
        progress: Callable[[int], None] | None = None,
        replay: Replay | None = None,
    ) -> Reading:
        """Reads and checks the trace, as far as it goes. The arguments are those of read_trace."""
        with opened(trace) as stream:
            reading = read_trace(
                stream,
                str(trace),
                keep_events=keep_events,
                progress=progress,
                expected=self.expected,
                explain=self.explain,
                open_end=True,
                replay=replay,
            )
        report = reading.report
        if self.unused:
            report.unverified.append(self.unused)
        if self.doubt and any(each.rule.startswith("config.") for each in report.violations):
            report.unverified.append(self.doubt)
        return reading


def known_of(trace: Path, image: Path | None, programs: Path | None) -> Known:
    """What is known of a trace.

    image: the image or configuration that the user names; None: NAME.img beside NAME.trace.
    programs: the folder of its programs; None: the one beside it. UsageError, InputError if what
    the user names cannot be used.
    """
    if image is not None:
        return Known(expected_by(image), places_by(image, programs).explain())
    beside = trace.with_suffix(".img") if trace.name else trace
    unused = ""
    if beside != trace and _is_there(beside):
        try:
            found = read_image(beside)
            expected = expected_of_image(found, config_of(found))
            explain = places_of_image(found, programs).explain()
            return Known(expected, explain, _doubt(trace, beside))
        except InputError as error:
            if programs is not None:
                raise
            unused = f"{beside} beside the trace, which cannot be used: {error}"
    if programs is not None:
        raise UsageError("--programs: expected --image with the image of these programs")
    return Known(unused=unused)


def _is_there(image: Path) -> bool:
    try:
        return image.is_file()
    except (OSError, ValueError):
        return False


def _doubt(trace: Path, image: Path) -> str:
    """Why the image beside a trace may not be the one that was booted. Empty: no reason is seen."""
    try:
        newer = image.stat().st_mtime_ns > trace.stat().st_mtime_ns
    except OSError:
        newer = False
    return f"whether {image} was booted: it is newer than the trace" if newer else ""
