# SPDX-License-Identifier: BSD-2-Clause
"""Values that depend on the kernel and the architecture, as the compiler reports them."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

from cellreap.arches import ARCHES
from cellreap.errors import CellreapError
from cellreap.platforms import levels
from cellreap.system.sections import Sections

_SIZES: Final = ("SlotBits", "TCBBits", "NotificationBits", "EndpointBits", "PageBits")
LEVELS: Final = (2, 3)
"""How many levels of tables there can be."""
_WORDS: Final = {arch: levels(arch) for arch in ARCHES}


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
    # of a scheduling context and a reply object; 0: the kernel has none, being without MCS
    sc_bits: int = 0
    reply_bits: int = 0
    slice_us: int = 0  # of a PD without a budget, and its period

    @property
    def levels(self) -> tuple[str, ...]:
        """capDL's words for an address space and its tables, the widest first."""
        return _WORDS[self.arch][-1 - len(self.table_bits) :]


def facts_source(arch: str) -> str:
    """C source to be compiled against roottask/ and an SDK. `read_target` reads the object file."""
    sizes = ", ".join(
        [*(f"seL4_{name}" for name in _SIZES), "CR_SC_BITS", "CR_REPLY_BITS", "CR_SLICE_US"]
    )
    return f'#include "kernel/arch/{arch}/arch.c"\nconst uint32_t cr_capdl_sizes[] = {{{sizes}}};\n'


def read_target(arch: str, raw: bytes) -> Target:
    """The values in the compiled `facts_source`. CellreapError if one is missing."""
    sections = Sections(raw)

    def words(name: str, *counts: int) -> tuple[int, ...]:
        found = sections.symbols.get(name)
        if found is None or found.bytes // 4 not in counts or found.section >= len(sections.all):
            shown = " or ".join(map(str, counts))
            raise CellreapError(
                f"{name} is not in the object file: expected {shown} words of 32 bits"
            )
        data = sections.data(sections.all[found.section])
        return struct.unpack_from(f"<{found.bytes // 4}I", data, found.value)

    slot, tcb, notification, endpoint, page, sc, reply, time = words(
        "cr_capdl_sizes", len(_SIZES) + 3
    )
    return Target(
        arch,
        slot_bits=slot,
        tcb_bits=tcb,
        notification_bits=notification,
        endpoint_bits=endpoint,
        page_bits=page,
        sc_bits=sc,
        reply_bits=reply,
        slice_us=time,
        vspace_bits=words("cr_arch_vspace_bits", 1)[0],
        table_bits=words("cr_arch_table_bits", *LEVELS),
        table_spans=words("cr_arch_table_span", *LEVELS),
    )
