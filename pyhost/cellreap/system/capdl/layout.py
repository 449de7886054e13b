# SPDX-License-Identifier: BSD-2-Clause
"""The addresses and names of a PD's pages and page tables, in the layout of body.c."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cellreap.errors import CellreapError
from cellreap.model.pages import Pages
from cellreap.system.capdl.constants import body_slot, limit, protocol
from cellreap.system.capdl.objects import ENTRY_BITS, SlotRef
from cellreap.system.capdl.target import Target
from cellreap.system.config import Pd
from cellreap.system.elf import Executable

_FLAG_EXECUTE, _FLAG_WRITE = 1, 2  # of an ELF segment


@dataclass(frozen=True)
class Stretch:
    """Adjacent pages. `vaddr` is the first address.

    start: address of the first byte that comes from the file. count: number of such bytes. offset:
    their offset in the file.
    """

    vaddr: int
    pages: int
    writable: bool = True
    executable: bool = False
    start: int = 0
    count: int = 0
    offset: int = 0


def spawned_pd(program: str, **more: Any) -> Pd:
    """The PD that is spawned from a program. more: further keys of the configuration."""
    return Pd(
        name=program,
        program=program,
        cspace_bits=body_slot("CR_SPAWNED_CSPACE_BITS"),
        stack_pages=body_slot("CR_SPAWNED_STACK_PAGES"),
        **more,
    )


class Layout:
    """The pages and page tables of one PD, laid out as body.c does."""

    def __init__(
        self,
        pd: Pd,
        elf: Executable,
        target: Target,
        regions: Sequence[tuple[int, Pages]] = (),
        bell: str | None = None,
        door: str | None = None,
        thread: int = 0,
    ) -> None:
        """regions: the first address and the pages of each, for which it has page tables. bell: its
        notification, if that is not of its body. door: the same of its endpoint. thread: its number
        in its process. All but the first have the address space of that, and only pages of their
        own.
        """
        self.thread = thread
        self.pd, self.elf, self.target, self.regions = pd, elf, target, regions
        self.has_bell, self.bell = bell is not None, bell or self.name("ntfn")
        self.has_door, self.endpoint = door is not None, door or self.name("ep")
        self.page = 1 << target.page_bits
        self.stretches = self._stretches()
        self.frames = [
            (stretch, vaddr)
            for stretch in self.stretches
            for vaddr in range(stretch.vaddr, stretch.vaddr + stretch.pages * self.page, self.page)
        ]
        self.tables = self._tables()
        most = limit("CR_PROGRAM_PAGES_MAX")
        if len(self.frames) > most:
            raise self._refuse(f"{len(self.frames)} pages in all: expected at most {most}")
        most = body_slot("CR_BODY_TABLES_MAX")
        if sum(map(len, self.tables)) > most:
            raise self._refuse(f"spread over too many page tables: expected at most {most}")

    def _refuse(self, message: str) -> CellreapError:
        return CellreapError(f'{self.elf.name}, which "{self.pd.name}" runs: {message}')

    def own(self, name: str) -> int:
        """The address of its startup page, its IPC buffer or its stack."""
        return protocol(f"CR_VADDR_{name}") + (self.thread << protocol("CR_THREAD_SPAN_BITS"))

    def _stretches(self) -> list[Stretch]:
        own = [
            Stretch(self.own("STARTUP"), 1, writable=False),
            Stretch(self.own("IPC_BUFFER"), 1),
            Stretch(self.own("STACK"), self.pd.stack_pages),
        ]
        return own if self.thread else [*self._segments(), *own]

    def _segments(self) -> list[Stretch]:
        startup = protocol("CR_VADDR_STARTUP")
        if len(self.elf.segments) > limit("CR_PROGRAM_SEGMENTS_MAX"):
            raise self._refuse(
                f"too many segments: expected at most {limit('CR_PROGRAM_SEGMENTS_MAX')}"
            )
        stretches = []
        end_before = self.page
        for segment in sorted(self.elf.segments, key=lambda one: one.vaddr):
            base = segment.vaddr - segment.vaddr % self.page
            end = segment.vaddr + segment.memory_bytes
            if base < end_before or end > startup:
                place = f"a segment from {segment.vaddr:#x} to {end:#x}"
                room = f"between {self.page:#x} and {startup:#x}"
                raise self._refuse(f"{place}: expected pages that no other one is on, {room}")
            end_before = end + -end % self.page
        for segment in self.elf.segments:
            base = segment.vaddr - segment.vaddr % self.page
            end = segment.vaddr + segment.memory_bytes
            stretches.append(
                Stretch(
                    vaddr=base,
                    pages=(end - base + self.page - 1) // self.page,
                    writable=bool(segment.flags & _FLAG_WRITE),
                    executable=bool(segment.flags & _FLAG_EXECUTE),
                    start=segment.vaddr,
                    count=segment.file_bytes,
                    offset=segment.offset,
                )
            )
        return stretches

    def _tables(self) -> list[list[int]]:
        """The first addresses of the tables of each level, in the order in which they are first
        needed. Those with more than a thread has of its own are the process's.
        """
        levels: list[dict[int, None]] = [{} for _ in self.target.table_spans]
        own = ((each.vaddr, Pages(each.pages, self.target.page_bits)) for each in self.stretches)
        for vaddr, pages in (*own, *self.regions):
            for level, span in zip(levels, self.target.table_spans, strict=True):
                if self._is_of_process(span) or span <= pages.bits:
                    continue
                for at in range(vaddr >> span, (vaddr + pages.bytes - 1 >> span) + 1):
                    level[at << span] = None
        return [list(level) for level in levels]

    def _is_of_process(self, span: int) -> bool:
        return self.thread > 0 and span > protocol("CR_THREAD_SPAN_BITS")

    def has(self, vaddr: int, size: int) -> bool:
        """Whether a page of its own is among these addresses."""
        return any(
            vaddr < stretch.vaddr + stretch.pages * self.page and stretch.vaddr < vaddr + size
            for stretch in self.stretches
        )

    def name(self, kind: str, vaddr: int | None = None) -> str:
        """The name of an object of this PD.

        `kind` is a fixed word, and no PD's name contains a dot, so names are unique.
        """
        return f"{kind}_{self.pd.name}" + ("" if vaddr is None else f".{vaddr:#x}")

    def of_process(self, kind: str, vaddr: int | None = None) -> str:
        """The same of the first thread of its process, which may be itself."""
        where = "" if vaddr is None else f".{vaddr:#x}"
        return f"{kind}_{self.pd.thread_of or self.pd.name}{where}"

    def table(self, level: int, vaddr: int) -> str:
        """The name of the table of a level that covers an address. Level -1 is the root table."""
        if level < 0:
            return self.of_process("vspace")
        span = self.target.table_spans[level]
        name = self.of_process if self._is_of_process(span) else self.name
        return name(self.target.levels[level + 1], vaddr >> span << span)

    def entry_of_page(self, bits: int, vaddr: int) -> SlotRef:
        """The entry that maps a page of this size, log2."""
        spans = (*self.target.table_spans, self.target.page_bits)
        return self.entry(spans.index(bits) - 1, vaddr)

    def entry(self, level: int, vaddr: int) -> SlotRef:
        """The entry for an address in the table of a level."""
        spans = (*self.target.table_spans, self.target.page_bits)
        bits = (self.target.vspace_bits, *self.target.table_bits)[level + 1] - ENTRY_BITS
        return self.table(level, vaddr), (vaddr >> spans[level + 1]) & ((1 << bits) - 1)

    def frame(self, vaddr: int) -> str:
        """The name of the frame at an address."""
        return self.name("frame", vaddr)
