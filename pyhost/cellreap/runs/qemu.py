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

from cellreap.errors import CellreapError, InputError, UsageError
from cellreap.platforms import PLATFORMS, Emulation, emulator_of
from cellreap.system.loader import platform_of
from cellreap.system.sdk import require_option


@dataclass(frozen=True)
class Machine:
    """An emulated machine that can run a kernel."""

    emulator: str  # the program
    package: str  # the Debian package that has it
    arguments: tuple[str, ...]  # the machine itself
    files: tuple[tuple[str, str], ...]  # the files that it boots: option, file name


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


def machine_for(options: Mapping[str, Any], name: str) -> Machine:
    """The machine on which a kernel boots.

    options: its gen_config.json. InputError, which names `name` and the option, if no machine that
    is emulated can run it.
    """
    platform = platform_of(options)
    emulation = PLATFORMS[platform].emulation if platform in PLATFORMS else None
    if emulation is None:
        arch = options.get("SEL4_ARCH")
        known = [each for each in PLATFORMS.values() if each.emulation is not None]
        shown = " or ".join(each.name for each in known if each.arch == arch)
        message = f"is {platform}: expected {shown}, which {emulator_of(str(arch))} emulates; "
        message += "`cellreap flash` boots on boards"
        raise InputError(name, None, "ARM_PLAT (KernelPlatform)", message)
    for key, option in emulation.lacks:
        if key in options:
            reason = f"{emulation.program} does not emulate it"
            require_option(options, name, key, option, False, reason)
    added = (more for key, more in emulation.machines.items() if options.get(key) is True)
    return Machine(
        emulator=emulation.program,
        package=emulation.package,
        arguments=(
            *("-machine", "".join((emulation.machine, *added)), "-accel", "tcg"),
            *("-cpu", _cpu(options, emulation, name)),
            *(("-m", str(emulation.mib)) if emulation.mib else ()),
            *("-rtc", "clock=vm"),  # it stands while the machine does
        ),
        files=emulation.files,
    )


def check_before_build(options: Mapping[str, Any], name: str) -> None:
    """What would make a build vain: as `machine_for`, and CellreapError without an emulator."""
    find_emulator(machine_for(options, name))


def _cpu(options: Mapping[str, Any], emulation: Emulation, name: str) -> str:
    """The emulator's name of the kernel's CPU."""
    for key, cpu in emulation.cpus.items():
        if options.get(key) is True:
            return cpu
    if emulation.cpu:
        return emulation.cpu
    others = [
        key for key, value in options.items() if key.startswith("ARM_CORTEX_") and value is True
    ]
    said = f"{' and '.join(others)} (ARM_CPU)" if others else "ARM_CORTEX_* (ARM_CPU)"
    message = f"{'is on' if others else 'none is on'}: expected one of {', '.join(emulation.cpus)}"
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
    memory: int | None = None,
    extra: Sequence[str] = (),
) -> list[str]:
    """The command that boots the machine's files in `folder`. The console is its stdout.

    memory: in bytes; None: that of the machine. extra: arguments that
    may override all others.
    """
    return [
        emulator,
        *_COMMON,
        *machine.arguments,
        *(() if memory is None else ("-m", f"{memory}B")),
        *(word for option, name in machine.files for word in (option, str(folder / name))),
        *extra,
    ]


def drive_arguments(options: Mapping[str, Any], name: str, drives: Mapping[str, Path]) -> list[str]:
    """What gives the machine of a kernel drives. The arguments are those of `machine_for`.

    drives: the file of each drive by its name, in the order in which the machine has them.
    """
    platform = platform_of(options)
    emulation = PLATFORMS[platform].emulation if platform in PLATFORMS else None
    if not drives:
        return []
    if emulation is None or emulation.drives is None:
        raise InputError(name, None, None, f"no drive can be given to {platform}")
    words = []
    for drive, path in drives.items():
        first, second = (option.replace("%s", drive) for option in emulation.drives)
        file = str(path).replace(",", ",,")
        words += ["-drive", f"file={file},format=raw,{first}"]
        words += ["-device", second] if second else []
    return words


def memory_in(words: Sequence[str]) -> int | None:
    """The bytes of memory that arguments give a machine. None if they give none, or not so that it
    is understood here: the emulator says then what is wrong.
    """
    sizes = [size for option, size in pairwise(words) if option in ("-m", "--m", "-memory")]
    found = _SIZE.fullmatch(sizes[-1]) if sizes else None
    if found is None:
        return None
    return int(found[1]) << _UNITS[found[2].upper() or "M"]
