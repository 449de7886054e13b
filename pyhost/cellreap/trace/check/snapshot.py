# SPDX-License-Identifier: BSD-2-Clause
"""Reads what seL4_DebugDumpScheduler and seL4_DebugSnapshot print.

The dump has a line for each thread. A snapshot has what is in the spaces of threads, in two parts.
The part `objects` has every thread, but an address space and what is in a CSpace only if the kernel
has not printed them before. The part `caps` is always complete. An object is named after its
address in the kernel's window on memory, a page table or a frame after the address of the entry
that maps it. Each address space has a part of the kernel's own, which is left out here. On aarch64,
snapshots of ours have no address spaces.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from cellreap.arches import ARCHES

_IN_EL2: Final = 0x80_0000_0000
KERNEL_WINDOWS: Final = sorted({_IN_EL2, *(each.kernel_window for each in ARCHES.values())})[::-1]
"""Where the kernel maps physical memory (PPTR_BASE)."""
KERNEL_ENTRY: Final = 511
"""The entry of the kernel in the root table of an address space."""

_OBJECT = re.compile(r"(\S+) = (\S+)(?: \((.*)\))?")
_HOLDER = re.compile(r"(\S+) \{")
_ENTRY = re.compile(r"(0x[0-9a-f]+|[a-z_]+): (.*)")
_DUMPED = re.compile(
    r" *(\S.*?)(?:\t| {3})\s*[a-zA-Z]+(?: [a-zA-Z]+)*\s+"
    r"(?:0x[0-9a-f]+|0|\(nil\))\s+(\d+)(?:\s+(?:\d+|yes|no))*\s*"
)
"""A thread: name, state, instruction, priority; then the core and the domain, where there are
several, and with MCS whether it waits for time. Earlier kernels separate the columns with tabs,
later ones with spaces."""
_CALLED: Final = "Debug snapshot syscall from user thread "
_ROOTS: Final = ("pml4", "pgd", "pud")
_NAMED = re.compile(r"0x([0-9a-f]{1,16})_([a-z]+)")
_MAPPED = re.compile(r"(pdpt|pd|pt|frame)_0x([0-9a-f]{1,16})_(\d{4})")
_PADDR = re.compile(r"(?:4k|2M), paddr: 0x0x([0-9a-f]{1,16})")
_CAP = re.compile(r"0x([0-9a-f]{1,16})_(ep|notification) \(([RWGP]*)(?:, badge: (\d+))?\)")
_TABLES: Final = ("pdpt", "pd", "pt")
_PAGES: Final = {"pt": 0, "pd": 9, "pdpt": 18}
"""The pages of 4 KiB that an entry of a table spans, log2; in the root table it is 27."""


class SnapshotError(Exception):
    """The text is not a snapshot."""


@dataclass(frozen=True)
class Cap:
    """A capability to an endpoint or a notification in a CSpace. address: of the object."""

    kind: str
    address: int
    rights: str
    badge: int


@dataclass
class Snapshot:
    """What the kernel has. Keys are physical addresses."""

    dump: Counter[tuple[str, int]] = field(default_factory=Counter)
    """(name, priority) of every thread"""
    threads: dict[int, dict[str, str]] = field(default_factory=dict)
    """thread that the snapshot has -> its own capabilities, as printed"""
    cspaces: dict[int, dict[int, Cap | str]] = field(default_factory=dict)
    """CNode -> slot -> its capability; a text if it is to something else"""
    tables: dict[int, list[str]] = field(default_factory=dict)
    """root table -> the lines about everything below it, which name the entries of tables"""
    frames: dict[int, list[int]] = field(default_factory=dict)
    """root table -> the addresses of its frames, if they are in this snapshot"""
    interrupts: tuple[str, ...] = ()
    """which interrupts are bound, and what they signal"""


def physical(name: str, kind: str) -> int:
    """The address of an object that is named like 0x<address>_<kind>. SnapshotError."""
    found = _NAMED.fullmatch(name)
    if found is None or found[2] != kind:
        raise SnapshotError(f"{name!r}: expected 0x<address>_{kind}")
    return _down(found[1])


def _down(digits: str) -> int:
    address = int(digits, 16)
    for window in KERNEL_WINDOWS:
        if address >= window:
            return address - window
    expected = " or ".join(map(hex, KERNEL_WINDOWS))
    raise SnapshotError(f"0x{digits}: expected an address from {expected} on")


def entry_of(cap: str) -> int:
    """The address of the entry of a mapped frame or table, as it is named. SnapshotError."""
    found = _MAPPED.match(cap)
    if found is None:
        raise SnapshotError(f"{cap!r}: expected a frame or a table")
    return _down(found[2])


def places_of(lines: Iterable[str]) -> dict[str, tuple[str, int]]:
    """Line about a table's entry -> what is mapped there, and the number of its first page.
    SnapshotError.
    """
    entries = []
    above: dict[str, tuple[str, int]] = {}  # mapped table -> the table it is in, and its pages
    for line in lines:
        holder, _, mapped = line.partition(" ")[0], *line.partition(": ")[1:]
        found = _MAPPED.match(mapped)
        if found is None:
            raise SnapshotError(f"{mapped!r}: expected a frame or a table")
        span = _PAGES.get(holder.partition("_")[0], 27)
        above[found[0]] = holder, int(found[3]) << span
        entries.append((line, mapped, found[0]))
    places = {}
    for line, mapped, name in entries:
        page, at = 0, above.get(name)
        while at is not None:
            page += at[1]
            at = above.get(at[0])
        places[line] = mapped, page
    return places


def _is_kernels(name: str) -> bool:
    found = _MAPPED.match(name)
    return found is not None and found[1] == "pdpt" and int(found[3]) == KERNEL_ENTRY


def _section(lines: Sequence[str], start: int, title: str) -> int:
    """The line after the section that begins at line `start` with this title."""
    if start >= len(lines) or lines[start] != f"{title} {{":
        raise SnapshotError(f"no section '{title}'")
    depth = 1
    for number in range(start + 1, len(lines)):
        depth += (lines[number][-1:] == "{") - (lines[number] == "}")
        if depth == 0:
            return number + 1
    raise SnapshotError(f"the section '{title}' has no end")


def read_snapshot(lines: Sequence[str]) -> Snapshot:
    """The dump and the snapshot in the lines. SnapshotError if they are anything else, or more."""
    start = next((at for at, line in enumerate(lines) if line.startswith("arch ")), None)
    if start is None or not lines[start - 1].startswith(_CALLED):
        raise SnapshotError("it has no beginning")
    if lines[0] != "Dumping all tcbs!" or not lines[1].startswith("Name"):
        raise SnapshotError("expected a dump of all threads first")
    objects = _section(lines, start + 1, "objects")
    caps = _section(lines, objects, "caps")
    end = _section(lines, caps, "irq maps")
    if end != len(lines):
        raise SnapshotError(f"{lines[end]!r} follows its end")
    snapshot = Snapshot(interrupts=tuple(lines[caps + 1 : end - 1]))
    for line in lines[3 : start - 1]:
        found = _DUMPED.fullmatch(line)
        if found is None:
            raise SnapshotError(f"{line!r}: expected a thread")
        snapshot.dump[found[1], int(found[2])] += 1
    _read_objects(snapshot, lines[start + 2 : objects - 1])
    _read_caps(snapshot, lines[objects + 1 : caps - 1])
    return snapshot


def _read_objects(snapshot: Snapshot, lines: Sequence[str]) -> None:
    frames: list[int] | None = None  # of the address space that is being printed
    for line in lines:
        found = _OBJECT.fullmatch(line)
        if found is None:
            raise SnapshotError(f"{line!r}: expected an object")
        name, kind, attributes = found[1], found[2], found[3] or ""
        if kind in _ROOTS and name.endswith("_pd"):
            frames = snapshot.frames.setdefault(physical(name, "pd"), [])
        elif kind in _TABLES and frames is not None:
            frames = None if _is_kernels(name) else frames
        elif kind == "frame":
            paddr = _PADDR.fullmatch(attributes)
            if frames is not None:
                if paddr is None:
                    raise SnapshotError(f"{line!r}: expected a frame of 4 KiB or 2 MiB")
                frames.append(int(paddr[1], 16))
        elif kind == "tcb":
            snapshot.threads[physical(name, "tcb")] = {}


def _read_caps(snapshot: Snapshot, lines: Sequence[str]) -> None:
    at = 0
    below: int | None = (
        None  # the root table of the tables that follow; None: they are the kernel's
    )
    while at < len(lines):
        opened = _HOLDER.fullmatch(lines[at])
        if opened is None:
            raise SnapshotError(f"{lines[at]!r}: expected the holder of capabilities")
        end = at + 1
        while end < len(lines) and lines[end] != "}":
            end += 1
        holder, inside = opened[1], lines[at + 1 : end]
        at = end + 1
        if holder.startswith("pdpt_") or (below is None and holder.startswith(("pd_", "pt_"))):
            below = None if _is_kernels(holder) else below
        if _MAPPED.fullmatch(holder):
            if below is not None:
                _read_table(snapshot, below, holder, inside)
        elif holder.endswith("_pd"):
            below = physical(holder, "pd")
            snapshot.tables[below] = []
            _read_table(snapshot, below, holder, inside)
        elif holder.endswith("_cnode"):
            snapshot.cspaces[physical(holder, "cnode")] = dict(map(_read_slot, inside))
        elif holder.endswith("_tcb"):
            thread = snapshot.threads.get(physical(holder, "tcb"))
            if thread is None:
                raise SnapshotError(f"{holder} is not among the objects")
            thread.update(_split(line) for line in inside)
        elif holder.endswith("_irq"):
            snapshot.interrupts += (f"{holder}: {'; '.join(inside)}",)
        else:
            raise SnapshotError(f"{holder!r}: an unknown holder of capabilities")


def _read_table(snapshot: Snapshot, root: int, holder: str, lines: Sequence[str]) -> None:
    for line in lines:
        _, mapped = _split(line)
        if not _is_kernels(mapped):
            snapshot.tables[root].append(f"{holder} {line}")


def _read_slot(line: str) -> tuple[int, Cap | str]:
    slot, text = _split(line)
    if not slot.startswith("0x"):
        raise SnapshotError(f"{line!r}: expected a slot")
    return int(slot, 16), capability(text)


def capability(text: str) -> Cap | str:
    """A capability as it is printed; the same text if it is to something else."""
    found = _CAP.fullmatch(text)
    return text if found is None else Cap(found[2], _down(found[1]), found[3], int(found[4] or 0))


def _split(line: str) -> tuple[str, str]:
    found = _ENTRY.fullmatch(line)
    if found is None:
        raise SnapshotError(f"{line!r}: expected a capability in a slot")
    return found[1], found[2].strip()
