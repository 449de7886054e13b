# SPDX-License-Identifier: BSD-2-Clause
"""Values that depend on the kernel and the architecture, as the compiler reports them."""

from __future__ import annotations

import io
import struct
from dataclasses import dataclass
from typing import Final

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from cellreap.errors import CellreapError

_SIZES: Final = ("SlotBits", "TCBBits", "NotificationBits", "EndpointBits", "PageBits")
LEVELS: Final = {"x86_64": ("pml4", "pdpt", "pd", "pt"), "aarch64": ("pgd", "pud", "pd", "pt")}


@dataclass(frozen=True)
class Target:
    """Values that depend on the kernel and the architecture.

    Sizes are log2 of bytes. Spans are log2 of the bytes that are spanned.
    """

    arch: str
    slot_bits: int
    tcb_bits: int
    notification_bits: int
    endpoint_bits: int
    page_bits: int
    vspace_bits: int
    table_bits: tuple[int, ...]  # by level, the level with the widest span first
    table_spans: tuple[int, ...]


def facts_source(arch: str) -> str:
    """C source to be compiled against roottask/ and an SDK. `read_target` reads the object file."""
    sizes = ", ".join(f"seL4_{name}" for name in _SIZES)
    return f'#include "kernel/arch/{arch}/arch.c"\nconst uint32_t cr_capdl_sizes[] = {{{sizes}}};\n'


def read_target(arch: str, raw: bytes) -> Target:
    """The values in the compiled `facts_source`. CellreapError if one is missing."""
    elf = ELFFile(io.BytesIO(raw))
    table = elf.get_section_by_name(".symtab")

    def words(name: str, count: int) -> tuple[int, ...]:
        found = table.get_symbol_by_name(name) if isinstance(table, SymbolTableSection) else None
        if (
            not found
            or found[0]["st_size"] != 4 * count
            or not isinstance(found[0]["st_shndx"], int)
        ):
            raise CellreapError(
                f"{name} is not in the object file: expected {count} words of 32 bits"
            )
        start = found[0]["st_value"]
        data = elf.get_section(found[0]["st_shndx"]).data()[start : start + 4 * count]
        return struct.unpack(f"<{count}I", data)

    levels = len(LEVELS[arch]) - 1
    slot, tcb, notification, endpoint, page = words("cr_capdl_sizes", len(_SIZES))
    return Target(
        arch,
        slot_bits=slot,
        tcb_bits=tcb,
        notification_bits=notification,
        endpoint_bits=endpoint,
        page_bits=page,
        vspace_bits=words("cr_arch_vspace_bits", 1)[0],
        table_bits=words("cr_arch_table_bits", levels),
        table_spans=words("cr_arch_table_span", levels),
    )
