# SPDX-License-Identifier: BSD-2-Clause
"""Systems and their runs, as tests of users see them. PDs have their names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NoReturn, Unpack

from cellreap.api.auditing import Audit, audit_state
from cellreap.api.results import Run
from cellreap.api.states import State, state_of
from cellreap.api.systems import NoKernel, kernel_for
from cellreap.errors import CellreapError, UsageError
from cellreap.progress import Progress
from cellreap.system.config import read_text
from cellreap.testing.run import Run as Details
from cellreap.testing.target import How, NotOnKernel, Target
from cellreap.trace.reading import reading_of

_SAID: Final = ("crash", "pd_depth", "rs_depth", "mode")


@dataclass(frozen=True, eq=False, repr=False)
class SystemRun(Run):
    """A run of a system, with details for tests."""

    run: Details | None = None
    """Questions about each cleanup."""


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

    def run(self, config: str | Path, **how: Unpack[How]) -> SystemRun:
        """Builds, boots and checks the system of a configuration file.

        how: see `How`. The test fails if the system cannot be built or booted. Whether the run went
        well is in the result.
        """
        path = self.home / config
        path = path if path.suffix else path.with_suffix(".toml")
        given = {key: value for key, value in how.items() if value is not None}
        asked = {**self.defaults, **given}
        try:
            read_text(path)
            sdk = kernel_for(self.arch, self.kernel, Progress(quiet=True))
            folder = self.folder / f"{sdk.kernel.name}-{sdk.kernel.version}-{sdk.kernel.arch}"
            folder.mkdir(parents=True, exist_ok=True)
            details = Target(sdk, folder, [path.parent]).boot(path.stem, **asked)
        except NotOnKernel as error:
            if self.skip is None:
                raise
            self.skip(str(error))
        except NoKernel:
            if self.skip is None:
                raise
            self.skip("no seL4 SDK")
        except CellreapError as error:
            if self.fail is None:
                raise
            self.fail(error.line())
        said = "".join(f" {key}={value}" for key, value in asked.items() if key in _SAID)
        found = SystemRun(
            name=f"{path.name}{said}",
            kernel=str(sdk.kernel),
            reading=reading_of(details.report, details.events),
            trace=details.trace,
            image=details.image,
            boot=details.boot,
            sdk_kernel=sdk.kernel,
            run=details,
        )
        self.note(found)
        return found

    def audit(
        self,
        source: str | Path,
        *,
        max_destroyed: int | None = None,
        unbroken: bool = True,
        no_worse_than: str | Path | None = None,
        max_depth: int = 4,
        pairs: bool = False,
    ) -> Audit:
        """Audits a trace, a model state, or the run of a configuration.

        A configuration does not tell what its programs make, so its system is booted as by `run`,
        and the state before the first cleanup is audited, or that at the end if there is none. The
        test fails if that run fails, or if the source leaves something open. It also fails if, as
        the system is configured, a crash destroys more than `max_destroyed` PDs or leaves a broken
        chain of maps (`unbroken=False` allows it), or if something is worse than in the state
        `no_worse_than`.
        """
        try:
            found = audit_state(self._state(source), max_depth, pairs=pairs)
            before = None
            if no_worse_than is not None:
                before = audit_state(self._state(no_worse_than), max_depth)
        except CellreapError as error:
            if self.fail is None:
                raise
            self.fail(error.line())
        wrong = found.problems(max_destroyed=max_destroyed, unbroken=unbroken, before=before)
        if wrong:
            text = "\n".join((f"{source}: {len(wrong)} findings of the audit:", *wrong))
            if self.fail is None:
                raise AssertionError(text)
            self.fail(text)
        return found

    def _state(self, source: str | Path) -> State:
        path = self.home / source
        if path.suffix != ".toml":
            return state_of(path)
        run = self.run(source)
        if not run.passed:
            raise UsageError(f"{source}: cannot be audited: its run did not pass")
        return state_of(run.trace, after=0 if run.cleanups else None)
