# SPDX-License-Identifier: BSD-2-Clause
"""A configured system, and the kernel that it runs on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from cellreap.arches import ARCHES, DEFAULT_ARCH
from cellreap.errors import InputError, UsageError
from cellreap.progress import Progress
from cellreap.system.config import (
    Config,
    Depth,
    Mode,
    check_debug,
    check_scheduling,
    check_timer,
    override,
    parse_config,
    read_text,
)
from cellreap.system.image import Overrides
from cellreap.system.microkit.board import ANY_BOARD, Board
from cellreap.system.programs import Source, check_programs
from cellreap.system.refkernel import build_refkernel, find_kernel
from cellreap.system.sdk import (
    Sdk,
    counter_missing,
    debug_missing,
    installed_sdk,
    is_mcs,
    load_sdk,
    no_sdk,
    timer_missing,
)

SEL4: Final = "seL4"
REFKERNEL: Final = "refkernel"


class NoKernel(UsageError):
    """The kernel that was asked for is not installed."""


@dataclass(frozen=True)
class System:
    """A configured system: a TOML file, or one with other depths or another crash.

    >>> system = cellreap.System.read("configs/block_fs_db_app.toml")
    >>> system.name, system.pds
    ('block_fs_db_app', ('block_server_1', 'block_server_2', 'fs', 'db', 'app'))
    >>> system.spaces
    {'disk1': 'block_server_1', 'disk2': 'block_server_2', 'files': 'fs', 'database': 'db'}
    """

    path: Path
    """The file of the configuration. The paths in it are relative to its folder."""
    text: str = field(repr=False)
    """The text of the file."""
    config: Config = field(repr=False)
    """Every value of the configuration, with what replaces those of the file."""
    overrides: Overrides = field(default_factory=Overrides)
    """What replaces values of the file."""
    variant: str = ""
    """Tells systems of one file apart whose text was changed since it was read."""

    @classmethod
    def read(cls, path: str | Path) -> System:
        """Reads a configuration. InputError for the first thing that is wrong in it."""
        if Path(path).suffix == ".system":
            expected = "a description for Microkit; `cellreap run -o DIR` keeps an image of it, "
            expected += "and `cellreap import` makes a configuration"
            raise InputError(str(path), None, None, expected)
        text = read_text(Path(path))
        config = parse_config(text, Path(path))
        check_programs(Source(config, text, Path(path)))
        return cls(Path(path), text, config)

    @classmethod
    def described(
        cls,
        path: Path,
        search: Sequence[Path] = (),
        policy: Path | None = None,
        board: Board = ANY_BOARD,
    ) -> System:
        """Reads a system description for Microkit, to run its programs as they are. InputError for
        the first thing that is wrong in it, or cannot be run.
        """
        from cellreap.system.microkit.runnable import runnable_system  # takes long, for all others

        made = runnable_system(path, search, policy, board)
        return cls(path, made.text, made.config)

    @property
    def name(self) -> str:
        """The name of the system."""
        return self.config.system.name

    @property
    def pds(self) -> tuple[str, ...]:
        """The names of the PDs, in the order of their creation."""
        return tuple(pd.name for pd in self.config.pds)

    @property
    def spaces(self) -> dict[str, str]:
        """The name of each space, and of the PD that manages it."""
        return {space.name: pd.name for pd in self.config.pds for space in pd.spaces}

    def changed(
        self,
        *,
        crash: str | None = None,
        pd_depth: Depth | None = None,
        rs_depth: Depth | None = None,
        mode: Mode | None = None,
        ends: bool = True,
    ) -> System:
        """The system with another crash, other depths or another mode, as `cellreap.run` takes
        them. UsageError if it has no such PD. ends: False if its scenario must not end the run.
        """
        config = override(self.config, crash=crash, pd_depth=pd_depth, rs_depth=rs_depth, mode=mode)
        if not ends and config.system.scenario:
            system = config.system.model_copy(update={"ends": False})
            config = config.model_copy(update={"system": system})
        asked = {"crash": crash, "pd_depth": pd_depth, "rs_depth": rs_depth, "mode": mode}
        given = {key: value for key, value in asked.items() if value is not None}
        return replace(self, config=config, overrides=self.overrides.model_copy(update=given))

    def check_kernel(self, sdk: Sdk) -> None:
        """InputError if the file needs what the kernel has not: a timer, debug calls, MCS."""
        timer, debug = timer_missing(sdk.options, sdk.kernel.arch), debug_missing(sdk.options)
        mcs = is_mcs(sdk.options)
        counter = counter_missing(sdk.options, sdk.kernel.arch)
        if counter is not None or debug is not None or not mcs:
            as_written = parse_config(self.text, self.path)
            check_timer(as_written, self.text, self.path, timer, counter)
            check_debug(as_written, self.text, self.path, debug)
            check_scheduling(as_written, self.text, self.path, mcs)


def kernel_for(arch: str | None, kernel: str | Path | None, progress: Progress) -> Sdk:
    """The kernel to use, checked. refkernel is built if necessary.

    arch: None for the default. kernel: "seL4", "refkernel" or the path of an SDK; None: seL4 if it
    is installed, else refkernel. NoKernel if seL4 is asked for and not installed.
    """
    arch = DEFAULT_ARCH if arch is None else arch
    if arch not in ARCHES:
        raise UsageError(f"architecture {arch}: expected one of {', '.join(ARCHES)}")
    if kernel == REFKERNEL:
        return load_sdk(build_refkernel(arch, progress), arch)
    if kernel == SEL4 and installed_sdk(arch) is None:
        raise NoKernel(no_sdk(arch))
    path = None if kernel is None or kernel == SEL4 else Path(kernel)
    return load_sdk(find_kernel(arch, path, progress), arch)
