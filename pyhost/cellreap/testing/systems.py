# SPDX-License-Identifier: BSD-2-Clause
"""Systems and their runs, as tests of users see them. PDs have their names."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NoReturn

from cellreap.errors import CellreapError, UsageError
from cellreap.progress import Progress
from cellreap.runs.boot import End
from cellreap.runs.summary import tell
from cellreap.system.config import Depth, Mode, read_text
from cellreap.system.refkernel import build_refkernel, find_kernel
from cellreap.system.sdk import ARCHES, Sdk, installed_sdk, load_sdk
from cellreap.testing.changes import Change
from cellreap.testing.run import Run
from cellreap.testing.target import NoTimer, Target
from cellreap.trace.outcome import Outcome
from cellreap.trace.reading import Reading
from cellreap.trace.story import Story

SEL4: Final = "seL4"
REFKERNEL: Final = "refkernel"
_CONSOLE_LINES: Final = 40


@dataclass(frozen=True)
class SystemRun:
    """A run of a system."""

    name: str
    """The configuration's file, and what was changed."""
    kernel: str
    run: Run
    """All details: the events of the trace, and questions about each cleanup."""

    @property
    def passed(self) -> bool:
        """Whether the run came to its end, violated no rule, and was what [expect] says."""
        report = self.run.report
        return self.run.boot.end is End.COMPLETE and report.passed and not report.unexpected

    @property
    def _violations(self) -> list[str]:
        """How the run broke off, and the violations of rules."""
        found = [str(problem) for problem in self.run.report.violations]
        if self.run.boot.end is not End.COMPLETE:
            found.insert(0, f"the run did not come to its end: {self.run.boot}")
        return found

    @property
    def findings(self) -> list[str]:
        """Why it did not pass. A violation names line, rule, event and what was expected."""
        return [*self._violations, *map(str, self.run.report.unexpected)]

    @cached_property
    def _reading(self) -> Reading:
        story, outcome = Story(), Outcome()
        for event in self.run.events:
            story.take(event)
            outcome.take(event)
        return Reading(self.run.report, story, outcome, self.run.events)

    @property
    def alive(self) -> frozenset[str]:
        """The PDs that live at the end."""
        return frozenset(self._reading.outcome.alive())

    @property
    def dead(self) -> frozenset[str]:
        """The PDs that were there and do not live at the end."""
        return frozenset(self._reading.outcome.created) - self.alive

    @property
    def exits(self) -> Mapping[str, int]:
        """PD -> the code with which it last exited."""
        return dict(self._reading.outcome.exits)

    @property
    def cleanups(self) -> int:
        """The number of cleanups."""
        return self._reading.outcome.cleanups

    def said(self, name: str) -> list[str]:
        """What the PD printed, line by line."""
        return self.run.says(name)

    @property
    def trace(self) -> Path:
        """The recorded console."""
        return self.run.trace

    @property
    def image(self) -> Path:
        """What was booted."""
        return self.run.image

    @property
    def story(self) -> str:
        """What happened, as `cellreap run` tells it."""
        seconds = self.run.boot.seconds
        return "\n".join(tell(self._reading, self.kernel, self._violations, seconds))

    def console_end(self) -> str:
        """The last lines of the console."""
        text = self.trace.read_bytes()[-(1 << 16) :].decode("utf-8", "replace")
        return "\n".join(text.splitlines()[-_CONSOLE_LINES:])

    def keep(self, folder: Path) -> list[Path]:
        """Copies image and trace into a directory. Returns the copies."""
        folder.mkdir(parents=True, exist_ok=True)
        return [Path(shutil.copy(path, folder)) for path in (self.image, self.trace)]

    def __str__(self) -> str:
        return f"{self.name} on {self.kernel}"

    def __repr__(self) -> str:
        what = self.findings[0] if self.findings else "passed"
        more = f" and {len(self.findings) - 1} more" if len(self.findings) > 1 else ""
        return f"<{self}: {what}{more}>"


@dataclass
class Systems:
    """Boots systems for one test.

    home: paths of configurations are relative to it. folder: for images, traces and runs; tests
    with the same folder share them, also in several processes. arch, kernel: None for the defaults.
    defaults: arguments of `run` that the test's marker gives. note: called with each run. fail,
    skip: end the test with a text.
    """

    home: Path
    folder: Path
    arch: str | None = None
    kernel: str | None = None
    defaults: Mapping[str, Any] = field(default_factory=dict)
    note: Callable[[SystemRun], None] = lambda run: None
    fail: Callable[[str], NoReturn] | None = None
    skip: Callable[[str], NoReturn] | None = None

    def run(
        self,
        config: str | Path,
        *,
        crash: str | None = None,
        pd_depth: Depth | None = None,
        rs_depth: Depth | None = None,
        mode: Mode | None = None,
        change: Change | None = None,
        qemu_args: tuple[str, ...] = (),
        again: int = 0,
    ) -> SystemRun:
        """Builds, boots and checks the system of a configuration file.

        crash, pd_depth, rs_depth, mode: as the options of `cellreap run`. change: applied to the
        configuration before the build. qemu_args: further arguments for QEMU. again: different
        numbers cause different boots of the same system. The test fails if the system cannot be
        built or booted. Whether the run went well is in the result.
        """
        path = self.home / config
        path = path if path.suffix else path.with_suffix(".toml")
        given = {"crash": crash, "pd_depth": pd_depth, "rs_depth": rs_depth, "mode": mode}
        asked = {**self.defaults, **{k: v for k, v in given.items() if v is not None}}
        try:
            read_text(path)
            sdk = self._sdk()
            folder = self.folder / f"{sdk.kernel.name}-{sdk.kernel.version}-{sdk.kernel.arch}"
            folder.mkdir(parents=True, exist_ok=True)
            target = Target(sdk, folder, [path.parent])
            run = target.boot(path.stem, change=change, qemu_args=qemu_args, again=again, **asked)
        except NoTimer as error:
            if self.skip is None:
                raise
            self.skip(str(error))
        except CellreapError as error:
            if self.fail is None:
                raise
            self.fail(error.line())
        said = "".join(f" {key}={value}" for key, value in asked.items())
        found = SystemRun(f"{path.name}{said}", str(sdk.kernel), run)
        self.note(found)
        return found

    def _sdk(self) -> Sdk:
        arch, quiet = self.arch or ARCHES[0], Progress(quiet=True)
        if arch not in ARCHES:
            raise UsageError(f"architecture {arch}: expected one of {', '.join(ARCHES)}")
        if self.kernel == REFKERNEL:
            return load_sdk(build_refkernel(arch, quiet), arch)
        if self.kernel == SEL4 and installed_sdk(arch) is None:
            if self.skip is not None:
                self.skip("no seL4 SDK")
            raise UsageError(f"no seL4 SDK for {arch}")
        path = None if self.kernel in (None, SEL4) else Path(str(self.kernel))
        return load_sdk(find_kernel(arch, path, quiet), arch)
