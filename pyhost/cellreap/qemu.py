# SPDX-License-Identifier: BSD-2-Clause
"""How each architecture is emulated: the command line, as a pure function of what is to run.

An architecture that can be built for but not booted is not in the table.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cellreap.errors import CellreapError, UsageError
from cellreap.sdk import require_option


@dataclass(frozen=True)
class Machine:
    """An emulated machine."""

    emulator: str  # the program
    package: str  # the Debian package that has it
    arguments: tuple[str, ...]  # the machine itself
    impossible: tuple[tuple[str, str], ...]  # kernel options that it cannot run: gen_config key, CMake option


_COMMON = (
    "-nodefaults",
    "-no-user-config",
    "-no-reboot",  # a triple fault ends the run instead of starting another one
    "-display",
    "none",
    "-monitor",
    "none",
    "-chardev",
    "stdio,id=console,signal=off",
    "-serial",
    "chardev:console",
)

MACHINES: Mapping[str, Machine] = {
    "x86_64": Machine(
        emulator="qemu-system-x86_64",
        package="qemu-system-x86",
        # The oldest CPU that an x86_64 seL4 takes, and the huge pages that it wants.
        arguments=("-machine", "pc", "-accel", "tcg", "-cpu", "Nehalem,+pdpe1gb", "-m", "512"),
        impossible=(
            ("SUPPORT_PCID", "KernelSupportPCID"),
            ("FSGSBASE_INST", "KernelFSGSBase"),
            ("XSAVE", "KernelFPU"),
        ),
    ),
}


def machine_for(arch: str) -> Machine:
    """The machine that images of `arch` boot on. UsageError."""
    machine = MACHINES.get(arch)
    if machine is None:
        raise UsageError(f"booting {arch} images is not supported yet: expected one of {', '.join(MACHINES)}")
    return machine


def check_bootable(options: Mapping[str, Any], machine: Machine, name: str) -> None:
    """Refuses a kernel that the machine cannot run, by the option. InputError; `name` is in it."""
    for key, option in machine.impossible:
        require_option(options, name, key, option, False, f"{machine.emulator} does not emulate it")


def find_emulator(machine: Machine) -> str:
    """The emulator's path. CellreapError names the package to install."""
    path = shutil.which(machine.emulator)
    if path is None:
        raise CellreapError(f"{machine.emulator} is not installed: on Debian, apt install {machine.package}")
    return path


def split_arguments(given: Sequence[str]) -> list[str]:
    """--qemu-arg values as arguments: each may hold several words, quoted as in a shell. UsageError."""
    words: list[str] = []
    for text in given:
        try:
            words += shlex.split(text)
        except ValueError as error:
            raise UsageError(f"--qemu-arg {text}: {error}") from None
    return words


def qemu_command(
    machine: Machine, emulator: str, kernel: Path, roottask: Path, extra: Sequence[str] = ()
) -> list[str]:
    """The command that boots `kernel` (ELF32 for x86_64) with `roottask`; the console is its stdout."""
    return [
        emulator,
        *_COMMON,
        *machine.arguments,
        "-kernel",
        str(kernel),
        "-initrd",
        str(roottask),
        *extra,
    ]
