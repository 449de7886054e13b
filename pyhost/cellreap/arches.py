# SPDX-License-Identifier: BSD-2-Clause
"""The architectures that the root task supports: what the host must know of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal


@dataclass(frozen=True, kw_only=True)
class Arch:
    """What the sources in `platforms/` do not tell of an architecture."""

    elf_machine: int
    """`e_machine` of its ELF files."""
    debugger: str
    """The command of a gdb that knows it on Debian."""
    gdb: str
    """gdb's name of it."""
    platform_key: str | None
    """The key of gen_config.json that names the platform of a kernel. Its machines need the boot
    loader. None: there is one platform, which needs none.
    """
    timer_options: tuple[tuple[tuple[str, ...], str], ...]
    """What leaves a timer that all machines have to the root task. Each row: keys of
    gen_config.json, at least one of which must be on, and the CMake option that sets them.
    """
    untypeds: int = 0
    """The least MAX_NUM_BOOTINFO_UNTYPED_CAPS."""
    counter_is_free: bool = False
    """Whether the root task can always read a counter: the loader sees to it."""
    caching_is_fixed: bool = False
    """Whether the machine, and not a mapping, says what is cached."""
    user_top: int
    """The highest address of a user's address space, if no option of the kernel changes it."""
    kernel_window: int
    """Where the kernel maps physical memory (PPTR_BASE), if no option of it changes that."""
    illegal_instruction: int
    """The processor's code for an unknown instruction: on x86_64, exception 6; on aarch64, the
    value of ESR_EL1 with only the bit for a 32-bit instruction set.
    """
    program_counter: str
    """The register that has the address of an instruction."""
    system_call: str
    """The register that has the number of a system call."""
    message: tuple[str, str, str]
    """The registers of a system call that have the slot, the head of the message, and the first
    argument of an operation.
    """


ArchName = Literal["x86_64", "aarch64", "riscv64"]
"""As seL4 names them."""
ARCHES: Final[Mapping[str, Arch]] = {
    "x86_64": Arch(
        elf_machine=62,
        debugger="gdb",
        gdb="i386:x86-64",
        platform_key=None,
        timer_options=((("IRQ_IOAPIC", "IRQ_PIC"), "KernelIRQController"),),
        untypeds=100,
        user_top=0x7FFF_FFFF_EFFF,
        kernel_window=0xFFFF_FF80_0000_0000,
        illegal_instruction=6,
        program_counter="rip",
        system_call="rdx",
        message=("rdi", "rsi", "r8"),
    ),
    "aarch64": Arch(
        elf_machine=183,
        debugger="gdb-multiarch",
        gdb="aarch64",
        platform_key="ARM_PLAT",
        timer_options=(
            (("EXPORT_PCNT_USER",), "KernelArmExportPCNTUser"),
            (("EXPORT_PTMR_USER",), "KernelArmExportPTMRUser"),
        ),
        user_top=0xFF_FFFF_FFFF,
        kernel_window=0xFFFF_FF80_0000_0000,
        illegal_instruction=1 << 25,
        program_counter="pc",
        system_call="x7",
        message=("x0", "x1", "x3"),
    ),
    "riscv64": Arch(
        elf_machine=243,
        debugger="gdb-multiarch",
        gdb="riscv:rv64",
        platform_key="PLAT",
        timer_options=(((), "KernelIsMCS"),),
        counter_is_free=True,
        caching_is_fixed=True,
        user_top=0x3F_FFFF_EFFF,
        kernel_window=0xFFFF_FFC0_0000_0000,
        illegal_instruction=2,
        program_counter="pc",
        system_call="a7",
        message=("a0", "a1", "a3"),
    ),
}
"""All of ArchName."""
DEFAULT_ARCH: Final = next(iter(ARCHES))
