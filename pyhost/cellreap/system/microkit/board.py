# SPDX-License-Identifier: BSD-2-Clause
"""The facts of a board and its kernel, on which it depends what a description may say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cellreap.arches import ARCHES

PAGE_SIZES = (0x1000, 0x20_0000)
"""On all architectures."""
_GUARD = 0x1000
"""A page that is not mapped, between the stack of a PD and its IPC buffer, which is the top page.
"""
_USER_TOP_44 = 0xFFF_FFFF_FFFF
_USER_TOP_EL1 = 0x7FFF_FFFF_FFFF


@dataclass(frozen=True)
class Board:
    """The facts of a board. None: not known, so that nothing is refused because of it."""

    arch: str | None = None
    """One of ARCHES."""
    user_top: int | None = None
    """The highest address of a user's address space."""
    hypervisor: bool | None = None
    """Whether there are virtual machines."""
    iommu: bool | None = None
    """Whether devices have address spaces."""
    smc: bool | None = None
    """Whether PDs may call the firmware."""
    cores: int | None = None
    """How many processors the kernel uses."""
    domains: int | None = None
    """How many scheduling domains there are."""
    schedules: int | None = None
    """How many entries their schedule has."""
    memory: tuple[tuple[int, int], ...] | None = None
    """[start, end) of what the kernel knows as memory."""

    def map_end(self, stack_size: int) -> int | None:
        """Where the part of a PD's address space ends that is for maps: below the stack."""
        top = self.user_top
        return None if top is None else (top & -PAGE_SIZES[0]) - _GUARD - stack_size


ANY_BOARD = Board()
"""A board of which nothing is known."""


def board_facts(
    options: Mapping[str, object], memory: tuple[tuple[int, int], ...] | None = None
) -> Board:
    """The facts of the board whose kernel was built with these options (gen_config.json), and has
    this memory.
    """

    def number(key: str) -> int | None:
        value = options.get(key)
        return int(value) if isinstance(value, str) and value.isdecimal() else None

    arch = str(options.get("SEL4_ARCH"))
    hypervisor = bool(options.get("ARM_HYPERVISOR_SUPPORT") or options.get("VTX"))
    top = ARCHES[arch].user_top if arch in ARCHES else None
    if arch == "aarch64" and not hypervisor:
        top = _USER_TOP_EL1
    elif arch == "aarch64" and options.get("ARM_PA_SIZE_BITS_44"):
        top = _USER_TOP_44
    return Board(
        arch,
        top,
        hypervisor,
        bool(options.get("IOMMU")),
        bool(options.get("ALLOW_SMC_CALLS")),
        (number("MAX_NUM_NODES") or 1) if options.get("ENABLE_SMP_SUPPORT") else 1,
        number("NUM_DOMAINS"),
        number("NUM_DOMAIN_SCHEDULES"),
        memory,
    )
