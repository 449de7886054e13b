# SPDX-License-Identifier: BSD-2-Clause
"""Systems and their runs, as tests of users see them. PDs have their names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NoReturn, Unpack

from cellreap.api.auditing import Audit, audit_state
from cellreap.api.results import Run
from cellreap.api.states import State, state_of
from cellreap.api.systems import NoKernel, System, kernel_for
from cellreap.errors import CellreapError, UsageError
from cellreap.progress import Progress
from cellreap.system.config import parse_config, read_text
from cellreap.system.microkit.board import board_facts
from cellreap.system.programs import Source
from cellreap.system.sdk import (
    MICROKIT_VARIABLE,
    Sdk,
    board_of,
    kernel_memory,
    kernel_options,
    microkits_sdk,
)
from cellreap.testing.run import Run as Details
from cellreap.testing.target import How, NotOnKernel, Target, refuse_unknown
from cellreap.trace.reading import reading_of

BOARD: Final = "qemu_virt_aarch64"
_OF_DESCRIPTIONS: Final = ("policy", "search", "sdk", "board")
_SAID: Final = ("crash", "pd_depth", "rs_depth", "mode")


@dataclass(frozen=True, eq=False, repr=False)
class SystemRun(Run):
    """A run of a system, with details for tests."""

    run: Details | None = None
    """Questions about each cleanup."""
    for_microkit: bool = False
    """Whether the PDs are for Microkit."""

    def said(self, name: str) -> list[str]:
        """What PDs of that name printed. UsageError for PDs for Microkit: `console` has that."""
        if self.for_microkit:
            raise UsageError(f"said: '{name}' is for Microkit, and prints on the console: console")
        return super().said(name)


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
        policy: str | Path | None = None,
        search: str | Path | Sequence[str | Path] = (),
        sdk: str | Path | None = None,
        board: str = BOARD,
        **how: Unpack[How],
    ) -> SystemRun:
        """Builds, boots and checks the system of a configuration file, or of a description for
        Microkit, X.system.

        how: see `How`. The test fails if the system cannot be built or booted. Whether the run went
        well is in the result.

        policy, search, sdk, board: of a description, as `cellreap run` has them, relative to the
        same folder. It runs on the kernel of the board, whatever `arch` and `kernel` are. Without
        `sdk`, the SDK is that of $CELLREAP_MICROKIT_SDK. The test is skipped if there is none.
        """
        path = self.home / config
        path = path if path.suffix else path.with_suffix(".toml")
        described = path.suffix == ".system"
        given = {key: value for key, value in how.items() if value is not None}
        asked = {**self.defaults, **given}
        try:
            refuse_unknown(asked, _OF_DESCRIPTIONS if described else ())
            if described:
                places = [search] if isinstance(search, str | Path) else search
                kernel, system = _described(
                    path,
                    [self.home / each for each in places],
                    None if policy is None else self.home / policy,
                    None if sdk is None else self.home / sdk,
                    board,
                )
                source = Source(system.config, system.text, path)
            else:
                if policy or search or sdk:
                    raise UsageError(f"{path}: only X.system has a policy, a search and an sdk")
                text = read_text(path)
                kernel = kernel_for(self.arch, self.kernel, Progress(quiet=True))
                source = Source(parse_config(text, path), text, path)
            known = kernel.kernel
            folder = self.folder / f"{known.name}-{known.version}-{known.arch}-{known.sha256[:8]}"
            folder.mkdir(parents=True, exist_ok=True)
            details = Target(kernel, folder, ()).boot_read(source, **asked)
        except NotOnKernel as error:
            if self.skip is None:
                raise
            self.skip(str(error))
        except NoKernel as error:
            if self.skip is None:
                raise
            self.skip(error.line() if described else "no seL4 SDK")
        except CellreapError as error:
            if self.fail is None:
                raise
            self.fail(error.line())
        said = "".join(f" {key}={value}" for key, value in asked.items() if key in _SAID)
        found = SystemRun(
            name=f"{path.name}{said}",
            kernel=str(known),
            reading=reading_of(details.report, details.events),
            trace=details.trace,
            image=details.image,
            boot=details.boot,
            sdk_kernel=known,
            run=details,
            for_microkit=described,
        )
        self.note(found)
        return found

    def audit(
        self,
        source: str | Path,
        *,
        policy: str | Path | None = None,
        max_destroyed: int | None = None,
        unbroken: bool = True,
        no_worse_than: str | Path | None = None,
        max_depth: int = 4,
        pairs: bool = False,
    ) -> Audit:
        """Audits a trace, a model state, a description for Microkit with the policy beside it, or
        the run of a configuration.

        A configuration does not tell what its programs make, so its system is booted as by `run`,
        and the state before the first cleanup is audited, or that at the end if there is none. The
        test fails if that run fails, or if the source leaves something open. It also fails if, as
        the system is configured, a crash destroys more than `max_destroyed` PDs or leaves a broken
        chain of maps (`unbroken=False` allows it), or if something is worse than in the state
        `no_worse_than`.
        """
        try:
            state = self._state(source, None if policy is None else self.home / policy)
            found = audit_state(state, max_depth, pairs=pairs)
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

    def _state(self, source: str | Path, policy: Path | None = None) -> State:
        path = self.home / source
        if path.suffix != ".toml" or policy is not None:
            return state_of(path, policy=policy)
        run = self.run(source)
        if not run.passed:
            raise UsageError(f"{source}: cannot be audited: its run did not pass")
        return state_of(run.trace, after=0 if run.cleanups else None)


def _described(
    path: Path, search: Sequence[Path], policy: Path | None, sdk: Path | None, board: str
) -> tuple[Sdk, System]:
    """The kernel of the board, and the system of a description for Microkit."""
    if sdk is None and microkits_sdk() is None:
        raise NoKernel(f"no SDK of Microkit: no sdk is given, {MICROKIT_VARIABLE} is not set")
    found = board_of(sdk, board)
    assert found is not None
    options = kernel_options(found)
    system = System.described(path, search, policy, board_facts(options, kernel_memory(found)))
    return kernel_for(str(options["SEL4_ARCH"]), found, Progress(quiet=True)), system
