# SPDX-License-Identifier: BSD-2-Clause
"""What is known of a kept trace: the image that was booted, or the configuration.

All commands that read a trace ask here, so that all of them say the same of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cellreap.errors import InputError, UsageError
from cellreap.runs.expectation import expected_by, is_image
from cellreap.runs.places import places_by
from cellreap.trace.check.replay import Replay
from cellreap.trace.expected import Expected
from cellreap.trace.explain import Explain
from cellreap.trace.reading import Reading, read_file


@dataclass(frozen=True)
class Known:
    """What a trace can be held against."""

    expected: Expected | None = None
    explain: Explain | None = None
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
        """Reads and checks the trace, as far as it goes. The arguments are those of read_file."""
        reading = read_file(
            trace,
            keep_events=keep_events,
            progress=progress,
            expected=self.expected,
            explain=self.explain,
            open_end=True,
            replay=replay,
        )
        if self.unused:
            reading.report.unverified.append(self.unused)
        return reading


def known_of(trace: Path, image: Path | None, programs: Path | None) -> Known:
    """What is known of a trace.

    image: the image or configuration that the user names; None: NAME.img beside NAME.trace, if it
    was there before the trace. programs: the folder of its programs; None: the one beside it.
    UsageError, InputError if what the user names cannot be used.
    """
    if image is not None:
        return Known(expected_by(image), places_by(image, programs).explain())
    beside = trace.with_suffix(".img") if trace.name else trace
    unused = "" if beside == trace else _why_unused(trace, beside)
    if unused is None:
        try:
            return Known(expected_by(beside), places_by(beside, programs).explain())
        except InputError as error:
            if programs is not None:
                raise
            unused = f"{beside}, which cannot be used: {error}"
    if programs is not None:
        raise UsageError("--programs: expected --image with the image of these programs")
    return Known(unused=unused)


def _why_unused(trace: Path, beside: Path) -> str | None:
    """Why the image beside a trace is not used. None: it is. Empty: there is none."""
    try:
        if not beside.is_file() or not is_image(beside):
            return ""
        newer = beside.stat().st_mtime_ns > trace.stat().st_mtime_ns
    except (OSError, ValueError, InputError):
        return ""
    return f"{beside}, which is newer than the trace (--image uses it)" if newer else None
