# SPDX-License-Identifier: BSD-2-Clause
"""What PDs have beside their bodies: memory, channels, interrupts and I/O ports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from cellreap.model.pages import Pages
from cellreap.system.capdl.constants import badge, body_slot, protocol, roottask
from cellreap.system.capdl.objects import (
    Body,
    Cap,
    Object,
    SlotRef,
    bytes_taken,
    cnode,
    paging_table,
    slot_number,
)
from cellreap.system.capdl.parts import Parts, door_of
from cellreap.system.config import (
    Config,
    badge_of,
    both_ends,
    call_badge,
    called,
    hold_slots,
    lines,
    signal_ends,
)
from cellreap.system.config.lines import Line


@dataclass(frozen=True)
class Memory:
    """A memory object. place: the physical address of its frames, which the root task has had
    since it started. paddr: of its untyped; None: only a run decides it.
    """

    name: str
    pages: Pages
    place: int | None = None
    paddr: int | None = None


@dataclass(frozen=True)
class Region:
    """A region: a memory object in an address space. tables: the page tables that it has of its
    own, if its PD attached it.
    """

    name: str
    memory: Memory
    vaddr: int
    writable: bool
    cached: bool
    tables: int = 0
    paddr: int | None = None


@dataclass(frozen=True)
class Holdings:
    """What a PD has. signals: by slot, the PD that it signals, and the badge. calls: the same of
    the PDs that it calls. threads: by slot, the child whose thread is there. lines: with their
    places among all lines of the configuration.
    """

    signals: Mapping[int, tuple[str, int]] = field(default_factory=dict)
    calls: Mapping[int, tuple[str, int]] = field(default_factory=dict)
    threads: Mapping[int, str] = field(default_factory=dict)
    lines: tuple[tuple[int, Line], ...] = ()
    regions: tuple[Region, ...] = ()


def configured(config: Config, pd: str, regions: Iterable[Region]) -> Holdings:
    """What the configuration gives a PD, with these regions."""
    return Holdings(
        {
            end.slot: (end.peer, badge_of(config, other))
            for end, other in both_ends(config)
            if end.pd == pd and end.slot
        },
        {
            end.calls: (end.peer, call_badge(other))
            for end, other in both_ends(config)
            if end.pd == pd and end.calls
        },
        {
            slot: child
            for holder in config.pds
            if holder.name == pd and holder.abi == "microkit"
            for child, slot in hold_slots(config, holder).items()
        },
        tuple((i, line) for i, line in enumerate(lines(config)) if line.pd == pd),
        tuple(regions),
    )


def regions_of(config: Config, pd: str) -> Iterator[Region]:
    """The regions that the configuration gives a PD."""
    for region in config.regions:
        memory = Memory(f"mo.{region.name}", region.pages, region.place)
        for each in region.maps:
            if each.pd == pd:
                name = f"vmr.{region.name}.{pd}"
                cached = region.caches(each)
                yield Region(name, memory, each.address, each.writable, cached)


def bells_of(config: Config) -> dict[str, str]:
    """PD that has a channel for signals -> its notification, which outlives it."""
    return {end.pd: _bell(end.pd) for end, _ in signal_ends(config)}


def doors_of(config: Config) -> dict[str, str]:
    """PD that others call over channels -> its endpoint, which outlives it."""
    return {pd: door_of(pd) for pd in sorted(called(config))}


def _bell(pd: str) -> str:
    return f"ntfn_{pd}"


class Holders:
    """Adds to a description what PDs have."""

    def __init__(self, caps: dict[str, tuple[Cap, ...]]) -> None:
        self._caps = caps
        self.shared: list[Object] = []
        """objects that are in no untyped of the description"""
        self.bodies: list[Body] = []
        self.derived: dict[SlotRef, tuple[SlotRef, ...]] = {}
        self.interrupts: dict[int, str] = {}
        """number of a line -> the object"""
        self._copies: dict[Memory, list[tuple[str, int]]] = {}

    def add(self, layout: Parts, held: Holdings, children: Mapping[str, Parts]) -> None:
        """Adds what a PD has. children: those that are there, by name."""
        cspace = layout.name("cspace")
        for slot, (peer, told) in held.signals.items():
            self._fill(cspace, Cap(slot, _bell(peer), ("W", f"badge: {told:#x}")))
        for slot, (peer, told) in held.calls.items():
            self._fill(cspace, Cap(slot, door_of(peer), ("WP", f"badge: {told:#x}")))
        for slot, name in held.threads.items():
            child = children.get(name)
            if child is None:
                self.shared.append(Object(f"stand_in_{name}", "tcb", layout.target.tcb_bits))
            else:
                self.derived[child.name("body"), body_slot("CR_BODY_TCB")] = ((cspace, slot),)
            self._fill(cspace, Cap(slot, child.name("tcb") if child else f"stand_in_{name}"))
        for place, line in held.lines:
            thing = _line(line, layout.target.arch)
            self.shared.append(thing)
            self._fill(cspace, Cap(line.slot, thing.name))
            if line.kind == "IRQ":
                # On x86_64, the vector, which lines.c gives.
                number = 1 + place if layout.target.arch == "x86_64" else line.first
                self.interrupts[number] = thing.name
                microkit = layout.pd.abi == "microkit"
                told_by = badge("CR_BADGE_SIGNAL", 1 << line.bit, 0)
                signal = ("W", f"badge: {1 << line.bit:#x}" if microkit else told_by)
                self._fill(thing.name, Cap(0, layout.bell, signal))
        for region in held.regions:
            self._add_region(layout, region)

    def finish(self, layouts: Iterable[Parts]) -> None:
        """Adds the memory objects that are mapped. layouts: of all PDs."""
        target = next(iter(layouts)).target if self._copies else None
        for memory, copies in self._copies.items():
            assert target is not None
            frames = [_frame(memory, i) for i in range(memory.pages.count)]
            if memory.place is not None:
                self.shared += frames
            table = _cnode(memory.name, len(frames), target.slot_bits)
            inside = (table, *(frames if memory.place is None else ()))
            self.bodies.append(_body(memory.name, inside, memory.paddr))
            self._caps[memory.name] = tuple(
                Cap(i, frame.name, ("RW",)) for i, frame in enumerate(frames)
            )
            for i in range(len(frames)):
                self.derived[memory.name, i] = tuple((name, first + i) for name, first in copies)

    def _add_region(self, layout: Parts, region: Region) -> None:
        target, memory = layout.target, region.memory
        pages = memory.pages
        own = list(_tables(layout, region.vaddr, pages))
        own = own[len(own) - region.tables :]  # those of the upper levels may be of the body
        for level, vaddr in own:
            parent, slot = layout.entry(level - 1, vaddr)
            self._fill(parent, Cap(slot, layout.table(level, vaddr)))
        names = [layout.table(level, vaddr) for level, vaddr in own]
        held = [Cap(slot, name) for slot, name in enumerate(names)]
        executable = "X" if target.arch == "x86_64" else ""
        rights: tuple[str, ...] = (f"R{'W' if region.writable else ''}{executable}",)
        if not region.cached:
            rights += ("uncached",)
        for i in range(pages.count):
            entry = layout.entry_of_page(pages.bits, region.vaddr + (i << pages.bits))
            frame = _frame(memory, i).name
            held.append(Cap(len(own) + i, frame, ("RW",), entry))
            self._fill(entry[0], Cap(entry[1], frame, rights))
        tables = (
            paging_table(name, target.levels[level + 1], target.table_bits[level])
            for name, (level, _) in zip(names, own, strict=True)
        )
        table = _cnode(region.name, len(held), target.slot_bits)
        self.bodies.append(_body(region.name, (table, *tables), region.paddr))
        self._caps[region.name] = tuple(held)
        self._copies.setdefault(memory, []).append((region.name, len(own)))

    def _fill(self, holder: str, cap: Cap) -> None:
        known = self._caps.get(holder, ())
        self._caps[holder] = tuple(sorted((*known, cap), key=slot_number))


def _tables(layout: Parts, vaddr: int, pages: Pages) -> Iterator[tuple[int, int]]:
    """The page tables that a region has of its own, in the order of memory.c."""
    most = protocol("CR_REGION_SPAN_BITS")
    for level, span in enumerate(layout.target.table_spans):
        if pages.bits < span <= most:
            for at in range(vaddr >> span, (vaddr + pages.bytes - 1 >> span) + 1):
                yield level, at << span


def _line(line: Line, arch: str) -> Object:
    if line.kind == "PORT":
        ports = f"ports: [{line.first:#x}..{line.last:#x}]"
        return Object(f"ports.{line.name}", "io_ports", 0, (ports,))
    if arch == "x86_64":
        level = int(not line.edge)
        numbers = {"id": 0, "pin": line.first, "level": level, "polarity": level}
        params = tuple(f"ioapic_{word}: {number}" for word, number in numbers.items())
        return Object(f"irq.{line.name}", "ioapic_irq", 0, params, 1)
    trigger = f"trigger: {'edge' if line.edge else 'level'}"
    params = (trigger, "target: 0") if arch == "aarch64" else ()
    kind = "arm_irq" if arch == "aarch64" else "irq"
    return Object(f"irq.{line.name}", kind, 0, params, 1)


def _cnode(name: str, slots: int, slot_bits: int) -> Object:
    return cnode(name, max((slots - 1).bit_length(), 1), slot_bits)


def _frame(memory: Memory, page: int) -> Object:
    bits = memory.pages.bits
    params: tuple[str, ...] = (f"{1 << bits - 20}M" if bits >= 20 else f"{1 << bits - 10}k",)
    if memory.place is not None:
        params += (f"paddr: {memory.place + (page << bits):#x}",)
    return Object(f"frame_{memory.name}.{page:#x}", "frame", bits, params)


def _body(name: str, objects: tuple[Object, ...], paddr: int | None) -> Body:
    smallest = roottask("kernel/untyped.h", "CR_BLOCK_MIN_BITS")
    bits = max((bytes_taken(objects) - 1).bit_length(), smallest)
    return Body(name, f"ut_{name}", bits, objects, paddr)
