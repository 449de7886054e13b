# SPDX-License-Identifier: BSD-2-Clause
"""What Microkit's own tool makes of a description, and what cellreap makes of it: as PDs see it.

Left out is what each chooses freely: physical addresses, and where stack and IPC buffer are.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from cellreap.system.config import (
    badge_of,
    both_ends,
    call_badge,
    called,
    fault_badge,
    hold_slots,
    parent_of,
)
from cellreap.system.elf import read_executable
from cellreap.system.importing import Imported
from cellreap.system.microkit.patching import patched
from cellreap.system.sections import sections_of
from kit.microkit import Board

INPUT, CALLS, INTERRUPTS = 1, 74, 138
OWN: Final = {2, 3, 4, 5}
"""Slots that each PD has for itself, or for Microkit's monitor."""
WRITE, CACHED = 1, 1
"""The bits of a page's rights, and of its attributes on aarch64."""
DEFAULT_US: Final = 1000
"""Microkit's budget and period. A passive PD has no others here."""
PAGE, LARGE = 0x1000, 0x20_0000
MAGIC: Final = struct.pack("<Q", 0x5E14_DEAD_14DE_5EAD)
HEADER, REGION = struct.Struct("<80xQ"), struct.Struct("<QQQQ")
_CALL: Final = re.compile(
    r"^    0x\w{4} (\S.*?) +- (\w+) +- 0x\w+ \((.*)\) *\n((?: {5,}.*\n)*)", re.MULTILINE
)
_VALUE: Final = re.compile(r"^ +(\w+)(?: \(cap\))? +(\w+)(?: \((.*)\))?$", re.MULTILINE)
_LOADED: Final = re.compile(r"<Region name=PD-ELF (\S+)-\d+ addr=0x(\w+) ")


@dataclass
class Facts:
    """What a PD has."""

    memory: bytes = b""
    """All segments of its program."""
    entry: int = 0
    caps: set[tuple[int, str, str, int]] = field(default_factory=set)
    """Slot, kind, whose it is, badge."""
    faults: tuple[str, int] = ("", 0)
    """Of a child: who is told of its faults, and the badge."""
    maps: set[tuple[int, int, bool, bool]] = field(default_factory=set)
    """Address, bytes, whether it may write, whether that is cached."""
    irqs: dict[int, str] = field(default_factory=dict)
    """Number -> trigger."""
    time: tuple[int, int] = (0, 0)
    """Budget and period."""
    priority: int = 0
    stack: int = 0


class Call(NamedTuple):
    """A call of the kernel in the tool's report."""

    what: str
    on: str
    """Of which object, as in the report."""
    values: dict[str, str]
    """The numbers, and the names of objects."""
    repeated: int

    def number(self, name: str) -> int:
        return int(self.values[name], 0)


def calls(report: str) -> Iterator[Call]:
    """The calls, in the order of the report."""
    _, _, made = report.partition("# System Kernel Invocations Detail")
    for kind, name, on, lines in _CALL.findall(made):
        values = {each: of or value for each, value, of in _VALUE.findall(lines)}
        values["pc"] = "".join(re.findall(r"regs +pc: (\w+)", lines))
        times = re.search(r"REPEAT: count=(\d+)", lines)
        yield Call(f"{kind} {name}", on, values, int(times[1]) if times else 1)


def _named(text: str) -> tuple[str, str]:
    """The kind of an object, and whose it is."""
    kind, _, whose = text.partition(": ")
    return kind, whose.removeprefix("PD=")


def of_microkit(report: str, image: bytes, board: Board) -> dict[str, Facts]:
    """What its tool made, by PD."""
    found: dict[str, Facts] = {}
    at = image.index(MAGIC)
    (count,) = HEADER.unpack_from(image, at)
    table, data = at + HEADER.size, at + HEADER.size + count * REGION.size
    rows = (REGION.unpack_from(image, table + each * REGION.size) for each in range(count))
    loaded = {address: image[data + at :][:size] for address, size, at, _ in rows}
    for pd, address in _LOADED.findall(report):
        found.setdefault(pd, Facts()).memory += loaded[int(address, 16)]
    triggers, told = {}, []
    for call in calls(report):
        _, whose = _named(call.on)
        match call.what:
            case "IRQ Control Get":
                triggers[call.number("irq")] = ("level", "edge")[call.number("trigger")]
            case "CNode Mint" if call.on == "CNode: system":
                if (of := _named(call.values["src_obj"]))[0] == "EP":
                    told.append((of[1], call.number("badge")))
            case "CNode Mint" if call.number("dest_index") not in OWN:
                kind, of_whom = _named(call.values["src_obj"])
                if kind == "IRQ Handler":
                    number = int(of_whom.removeprefix("irq="))
                    found[whose].irqs[number] = triggers[number]
                cap = (call.number("dest_index"), kind, of_whom, call.number("badge"))
                found[whose].caps.add(cap)
            case "Page Map":
                size = (LARGE if "2 MiB" in call.on else PAGE) * call.repeated
                pd = found[_named(call.values["vspace"])[1]]
                if "MR=STACK:" in call.on:
                    pd.stack = size
                elif "MR=ELF:" not in call.on and "IPC Buffer" not in call.on:
                    cached = board.arch != "aarch64" or call.number("attr") & CACHED > 0
                    writes = call.number("rights") & WRITE > 0
                    pd.maps.add((call.number("vaddr"), size, writes, cached))
            case "SchedControl ConfigureFlags":
                pd = found[_named(call.values["schedcontext"])[1]]
                pd.time = call.number("budget"), call.number("period")
            case "TCB SetSchedParams":
                found[whose].priority = call.number("priority")
            case "TCB WriteRegisters":
                found[whose].entry = call.number("pc")
    for pd, (parent, badge) in zip(found.values(), told, strict=True):
        pd.faults = (parent, badge) if parent != "Monitor Fault" else pd.faults
    return found


def memory_of(raw: bytes, board: Board) -> bytes:
    """All segments of a program, in the order of their addresses."""
    segments = read_executable(raw, "", board.arch).segments
    return b"".join(
        raw[it.offset :][: it.file_bytes].ljust(it.memory_bytes, b"\0")
        for it in sorted(segments, key=lambda segment: segment.vaddr)
    )


def place_of(symbol: str, raw: bytes, board: Board) -> int:
    """Where a symbol of a program is in its memory."""
    address, before = sections_of(raw).symbols[symbol].value, 0
    for it in sorted(
        read_executable(raw, "", board.arch).segments, key=lambda segment: segment.vaddr
    ):
        if it.vaddr <= address < it.vaddr + it.memory_bytes:
            return before + address - it.vaddr
        before += it.memory_bytes
    raise KeyError(symbol)


def of_cellreap(made: Imported, folder: Path, board: Board) -> dict[str, Facts]:
    """What cellreap made, by PD as the description names it. folder: of the description."""
    config, found = made.config, {}
    names = {pd.name: pd.microkit_name or pd.name for pd in config.pds}
    receives = called(config)
    for pd, program in zip(config.pds, config.programs, strict=True):
        raw = (folder / str(program.elf)).read_bytes()
        raw = patched(config, pd, read_executable(raw, pd.name, board.arch))
        own = Facts(memory_of(raw, board), read_executable(raw, pd.name, board.arch).entry)
        own.caps.add((INPUT, "EP" if pd.name in receives else "Notification", names[pd.name], 0))
        if pd.child_id is not None:
            own.faults = (names[parent_of(config, pd.name)], fault_badge(pd))
        for child, slot in hold_slots(config, pd).items():
            own.caps.add((slot, "TCB", names[child], 0))
        for irq in config.interrupts:
            if irq.pd == pd.name:
                own.irqs[irq.number] = irq.trigger
                own.caps.add((INTERRUPTS + irq.bit, "IRQ Handler", f"irq={irq.number}", 0))
        for end, other in both_ends(config):
            if end.pd == pd.name and end.slot:
                own.caps.add((end.slot, "Notification", names[end.peer], badge_of(config, other)))
            if end.pd == pd.name and end.calls:
                own.caps.add((end.calls, "EP", names[end.peer], call_badge(other)))
        for region in config.regions:
            for each in region.maps:
                if each.pd == pd.name:
                    cached = board.arch != "aarch64" or region.caches(each)
                    own.maps.add((each.address, region.size, each.writable, cached))
        own.time = (pd.budget_us or DEFAULT_US, pd.period_us or DEFAULT_US)
        own.priority, own.stack = pd.priority, (pd.stack_pages or 1) * PAGE
        found[names[pd.name]] = own
    return found
