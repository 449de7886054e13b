# SPDX-License-Identifier: BSD-2-Clause
"""The result of a run, or of a check of its trace. PDs have their names."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

from cellreap.errors import UsageError
from cellreap.runs.boot import Boot
from cellreap.runs.places import programs_beside
from cellreap.runs.summary import tell
from cellreap.system.sdk import Kernel
from cellreap.trace.events import Event
from cellreap.trace.lines import others_on, readable
from cellreap.trace.outcome import Outcome
from cellreap.trace.reading import Reading
from cellreap.trace.report import Cleanup, Verdict, verdict_of, violation_lines

_CONSOLE_LINES: Final = 40


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """A run of a system: how it went, and what its trace says.

    >>> run = cellreap.check("tests/data/goldens/block_fs_db_app-0-0.trace")
    >>> run
    <block_fs_db_app on refkernel 0.1 (x86_64): passed>
    >>> sorted(run.alive), sorted(run.dead), len(run.cleanups)
    (['app', 'block_server_2', 'db', 'fs'], ['block_server_1'], 1)
    >>> run.said("fs")
    ['told: I have lost space 4']
    """

    name: str
    """The system, and what was changed in it."""
    kernel: str
    """Name, version and architecture of the kernel."""
    reading: Reading = field(repr=False)
    """The report of the check, the story, and the events."""
    trace: Path
    """The recorded console."""
    image: Path | None = None
    """What was booted, if it is known."""
    boot: Boot | None = None
    """How the boot ended. None: the trace was only read."""
    sdk_kernel: Kernel | None = None
    """The kernel that was booted. None: the trace was only read."""
    folder: tempfile.TemporaryDirectory[str] | None = None
    """Where image and trace are if nobody said where. It goes with this object."""

    @property
    def passed(self) -> bool:
        """Whether the run came to its end, violated no rule, and was what [expect] says."""
        return self.verdict is Verdict.PASS

    @property
    def findings(self) -> list[str]:
        """Why it did not pass. A violation names line, rule, event and what was expected."""
        found = [*self.violations, *map(str, self.reading.report.unexpected)]
        if self.reading.report.broken_off:
            how = "" if self.boot is None else f": {self.boot}"
            found.insert(0, f"the run did not come to its end{how}")
        return found

    @property
    def verdict(self) -> Verdict:
        """The verdict, as all commands have it."""
        return verdict_of(self.reading.report)

    @property
    def unverified(self) -> list[str]:
        """What the check could not verify with what it was given."""
        return list(self.reading.report.unverified)

    @cached_property
    def violations(self) -> list[str]:
        """The violations of rules, and whether the kernel or the root task stopped."""
        return violation_lines(self.reading.report)

    @property
    def _outcome(self) -> Outcome:
        return self.reading.outcome

    @property
    def alive(self) -> frozenset[str]:
        """The PDs that live at the end."""
        return frozenset(self.names[pd] for pd in self.reading.report.alive())

    @property
    def dead(self) -> frozenset[str]:
        """The PDs that were there and do not live at the end."""
        return frozenset(self._outcome.created) - self.alive

    @property
    def exits(self) -> Mapping[str, int]:
        """PD -> the code with which it last exited."""
        return dict(self._outcome.exits)

    @property
    def cleanups(self) -> list[Cleanup]:
        """The cleanups with their plans, in the order in which they began."""
        return self.reading.report.cleanups

    @property
    def names(self) -> Mapping[str, str]:
        """Id of a PD or space -> its name, also of those that are gone."""
        return dict(self.reading.report.names)

    def said(self, name: str) -> list[str]:
        """What the PDs of that name printed, line by line. UsageError if the run had no such PD: a
        misspelt name would never have said anything.
        """
        known = {*self._outcome.created, *self._outcome.said}
        if name not in known:
            text = f"said: '{name}' is no PD of this run, expected one of"
            raise UsageError(f"{text} {', '.join(sorted(known)) or '(there is none)'}")
        return self._outcome.said.get(name, "").splitlines()

    @property
    def events(self) -> list[Event]:
        """All events of the trace, in order."""
        return self.reading.events

    @property
    def story(self) -> str:
        """What happened, as `cellreap run` tells it."""
        return "\n".join(self.told())

    def told(self, files: Mapping[int, str] | None = None, cleanups: int = 0) -> list[str]:
        """The lines of the story.

        files: the file of each extraction, by number. cleanups: this many were told before.
        """
        seconds = None if self.boot is None else self.boot.seconds
        ended = self.boot is not None and self.boot.end.was_wanted
        lines = tell(self.reading, self.kernel, seconds, files, cleanups, ended)
        if self.reading.report.broken_off and self.boot and not ended:
            lines.append(f"The run did not come to its end: {self.boot}")
        return lines

    @cached_property
    def console(self) -> str:
        """The console without the trace: what PDs for Microkit print, and the kernel by itself."""
        return others_on(self.trace)

    def console_end(self) -> str:
        """The last lines of the console that are not of the trace, and what PDs said at the end."""
        said = [f"{self.names.get(pd, pd)}: {text}" for pd, text, _ in self.reading.story.said]
        lines = [*self.console.splitlines()[-_CONSOLE_LINES:], *said[-_CONSOLE_LINES:]]
        return "\n".join(map(readable, lines))

    def keep(self, folder: str | Path) -> list[Path]:
        """Copies image and trace, and the programs beside the image, into a directory.

        Returns the copies of image and trace.
        """
        Path(folder).mkdir(parents=True, exist_ok=True)
        kept = [path for path in (self.image, self.trace) if path is not None]
        programs = None if self.image is None else programs_beside(self.image)
        if programs is not None and programs.is_dir():
            shutil.copytree(programs, Path(folder) / programs.name, dirs_exist_ok=True)
        return [Path(shutil.copy(path, folder)) for path in kept]

    def __str__(self) -> str:
        return f"{self.name} on {self.kernel}"

    def __repr__(self) -> str:
        findings = self.findings
        what = findings[0] if findings else "passed"
        more = f" and {len(findings) - 1} more" if len(findings) > 1 else ""
        return f"<{self}: {what}{more}>"
