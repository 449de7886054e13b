# SPDX-License-Identifier: BSD-2-Clause
"""The emulator's command line for each architecture, as a pure function of what is to run."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from cellreap.arches import ARCHES
from cellreap.errors import CellreapError, InputError, UsageError
from cellreap.platforms import Platform, emulated
from cellreap.system.loader import platform_of
from cellreap.system.sdk import require_option


@dataclass(frozen=True)
class Machine:
    """An emulated machine."""

    emulator: str  # the program
    package: str  # the Debian package that has it
    arguments: tuple[str, ...]  # the machine itself
    files: tuple[tuple[str, str], ...]  # the files that it boots: option, file name
    # gen_config key, CMake option: options that the kernel must not have, because the machine
    # cannot run it then.
    impossible: tuple[tuple[str, str], ...]
    # gen_config key -> value of -cpu for the CPU of the kernel. The first key that is on counts.
    cpus: Mapping[str, str]
    cpu: str = ""  # the value if none is on. Empty: then the machine cannot run the kernel.
    platform: str = ""  # the machine, as KernelPlatform names it. Empty: there is only one


_SIZE = re.compile("(?:size=)?([0-9]{1,12})([BKMGbkmg]?)(?:,.*)?")
_UNITS: Mapping[str, int] = {"B": 0, "K": 10, "M": 20, "G": 30}

_COMMON = (
    "-nodefaults",
    "-no-user-config",
    "-no-reboot",  # a triple fault ends the run instead of rebooting
    "-display",
    "none",
    "-monitor",
    "none",
    "-chardev",
    "stdio,id=console,signal=off",
    "-serial",
    "chardev:console",
)


def _machine(platform: Platform) -> Machine:
    emulation = platform.emulation
    assert emulation is not None
    memory = ("-m", str(emulation.mib)) if emulation.mib else ()
    return Machine(
        emulator=emulation.program,
        package=emulation.package,
        arguments=("-machine", emulation.machine, "-accel", "tcg", *memory),
        files=emulation.files,
        impossible=emulation.lacks,
        cpus=emulation.cpus,
        cpu=emulation.cpu,
        # A kernel for x86_64 does not name the platform: there is only one.
        platform=platform.name if platform.arch != "x86_64" else "",
    )


MACHINES: Mapping[str, Machine] = {arch: _machine(emulated(arch)) for arch in ARCHES}


def machine_for(arch: str) -> Machine:
    """The machine on which images for `arch` boot."""
    return MACHINES[arch]


def check_bootable(options: Mapping[str, Any], machine: Machine, name: str) -> None:
    """InputError if the machine cannot run the kernel. It names `name` and the option."""
    platform = platform_of(options)
    if machine.platform not in ("", platform):
        message = (
            f"is {platform}: expected {machine.platform}, which {machine.emulator} emulates; "
            "`cellreap flash` boots on boards"
        )
        raise InputError(name, None, "ARM_PLAT (KernelPlatform)", message)
    for key, option in machine.impossible:
        if key in options:
            reason = f"{machine.emulator} does not emulate it"
            require_option(options, name, key, option, False, reason)
    cpu_for(options, machine, name)


def check_before_build(options: Mapping[str, Any], machine: Machine, name: str) -> None:
    """What would make a build vain: as `check_bootable`, and CellreapError without an emulator."""
    check_bootable(options, machine, name)
    find_emulator(machine)


def cpu_for(options: Mapping[str, Any], machine: Machine, name: str) -> str:
    """The emulator's name of the kernel's CPU. InputError, which names `name`, if there is none."""
    for key, cpu in machine.cpus.items():
        if options.get(key) is True:
            return cpu
    if machine.cpu:
        return machine.cpu
    others = [
        key for key, value in options.items() if key.startswith("ARM_CORTEX_") and value is True
    ]
    said = f"{' and '.join(others)} (ARM_CPU)" if others else "ARM_CORTEX_* (ARM_CPU)"
    message = f"{'is on' if others else 'none is on'}: expected one of {', '.join(machine.cpus)}"
    raise InputError(name, None, said, message)


def find_emulator(machine: Machine) -> str:
    """The emulator's path. CellreapError, which names the package to install, if it is missing."""
    path = shutil.which(machine.emulator)
    if path is None:
        raise CellreapError(
            f"{machine.emulator} is not installed: on Debian, apt install {machine.package}"
        )
    return path


def split_arguments(given: Sequence[str]) -> list[str]:
    """--qemu-arg values as arguments. Each may hold several words, quoted as in a shell.

    UsageError for wrong quotes.
    """
    words: list[str] = []
    for text in given:
        try:
            words += shlex.split(text)
        except ValueError as error:
            raise UsageError(f"--qemu-arg {text}: {error}") from None
    return words


def qemu_command(
    machine: Machine,
    emulator: str,
    folder: Path,
    cpu: str,
    memory: int | None = None,
    extra: Sequence[str] = (),
) -> list[str]:
    """The command that boots the machine's files in `folder`. The console is its stdout.

    cpu: as `cpu_for` has it. memory: in bytes; None: that of the machine. extra: arguments that
    may override all others.
    """
    return [
        emulator,
        *_COMMON,
        *machine.arguments,
        "-cpu",
        cpu,
        *(() if memory is None else ("-m", f"{memory}B")),
        *(word for option, name in machine.files for word in (option, str(folder / name))),
        *extra,
    ]


def memory_in(words: Sequence[str]) -> int | None:
    """The bytes of memory that arguments give a machine. None if they give none, or not so that it
    is understood here: the emulator says then what is wrong.
    """
    sizes = [size for option, size in pairwise(words) if option in ("-m", "--m", "-memory")]
    found = _SIZE.fullmatch(sizes[-1]) if sizes else None
    if found is None:
        return None
    return int(found[1]) << _UNITS[found[2].upper() or "M"]
