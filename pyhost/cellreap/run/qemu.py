# SPDX-License-Identifier: BSD-2-Clause
"""How each architecture is emulated: the command line, as a pure function of what is to run."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cellreap.errors import CellreapError, InputError, UsageError
from cellreap.system.sdk import require_option


@dataclass(frozen=True)
class Machine:
    """An emulated machine."""

    emulator: str  # the program
    package: str  # the Debian package that has it
    arguments: tuple[str, ...]  # the machine itself
    files: tuple[tuple[str, str], ...]  # what it boots: option, name of the file
    # gen_config key, CMake option: what the kernel must not have, because the machine cannot run
    # it.
    impossible: tuple[tuple[str, str], ...]
    # gen_config key -> -cpu: the CPU that the kernel is made for. Empty where `arguments` has one.
    cpus: Mapping[str, str] = field(default_factory=dict)


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
        files=(("-kernel", "kernel.elf"), ("-initrd", "roottask.elf")),  # the former as ELF32
        impossible=(
            ("SUPPORT_PCID", "KernelSupportPCID"),
            ("FSGSBASE_INST", "KernelFSGSBase"),
            ("XSAVE", "KernelFPU"),
        ),
    ),
    "aarch64": Machine(
        emulator="qemu-system-aarch64",
        package="qemu-system-arm",
        arguments=("-machine", "virt", "-accel", "tcg"),
        files=(("-kernel", "loader.elf"),),
        impossible=(("ARM_GIC_V3_SUPPORT", "KernelArmGicV3"),),
        cpus={
            "ARM_CORTEX_A53": "cortex-a53",
            "ARM_CORTEX_A57": "cortex-a57",
            "ARM_CORTEX_A72": "cortex-a72",
        },
    ),
}


def machine_for(arch: str) -> Machine:
    """The machine that images of `arch` boot on."""
    return MACHINES[arch]


def check_bootable(options: Mapping[str, Any], machine: Machine, name: str) -> None:
    """Refuses a kernel that the machine cannot run, by the option. InputError; `name` is in it."""
    for key, option in machine.impossible:
        require_option(options, name, key, option, False, f"{machine.emulator} does not emulate it")
    if machine.cpus:
        cpu_for(options, machine, name)


def cpu_for(options: Mapping[str, Any], machine: Machine, name: str) -> str:
    """The emulator's name of the CPU that the kernel is made for. InputError; `name` is in it."""
    for key, cpu in machine.cpus.items():
        if options.get(key) is True:
            return cpu
    others = [
        key for key, value in options.items() if key.startswith("ARM_CORTEX_") and value is True
    ]
    said = f"{' and '.join(others)} (ARM_CPU)" if others else "ARM_CORTEX_* (ARM_CPU)"
    message = f"{'is on' if others else 'none is on'}: expected one of {', '.join(machine.cpus)}"
    raise InputError(name, None, said, message)


def find_emulator(machine: Machine) -> str:
    """The emulator's path. CellreapError names the package to install."""
    path = shutil.which(machine.emulator)
    if path is None:
        raise CellreapError(
            f"{machine.emulator} is not installed: on Debian, apt install {machine.package}"
        )
    return path


def split_arguments(given: Sequence[str]) -> list[str]:
    """--qemu-arg values as arguments: each may hold several words, quoted as in a shell.

    UsageError.
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
    cpu: str | None = None,
    memory: int | None = None,
    extra: Sequence[str] = (),
) -> list[str]:
    """The command that boots the machine's files in `folder`; the console is its stdout.

    cpu, memory (bytes): for machines that the kernel decides on, else None. extra: may override all
    of it.
    """
    return [
        emulator,
        *_COMMON,
        *machine.arguments,
        *(() if cpu is None else ("-cpu", cpu)),
        *(() if memory is None else ("-m", f"{memory}B")),
        *(word for option, name in machine.files for word in (option, str(folder / name))),
        *extra,
    ]
