# SPDX-License-Identifier: BSD-2-Clause
"""Compares address spaces of PDs, as a snapshot of the kernel has them, with the model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from cellreap.model.ids import is_region
from cellreap.trace.check.configured_threads import sharers
from cellreap.trace.check.context import Context
from cellreap.trace.check.machine import Machine
from cellreap.trace.check.snapshot import Snapshot, entry_of, places_of


class AddressSpaces:
    """What snapshots have shown of them."""

    def __init__(self, context: Context, machine: Machine) -> None:
        self._context = context
        self._machine = machine
        self.seen: dict[tuple[str, ...], list[str]] = {}
        """PDs -> their address space"""
        self.roots: dict[int, tuple[str, ...]] = {}
        """The place of an address space in the snapshot -> the PDs that have it"""

    def begin(self, pds: Iterable[str]) -> None:
        """Another snapshot, with these PDs."""
        there = set(pds)
        self.roots.clear()
        self.seen = {of: lines for of, lines in self.seen.items() if there.issuperset(of)}

    def wrong(self, pd: str, root: int, snapshot: Snapshot) -> Iterator[str]:
        """Its own part is in its body and never changes. Regions have pages of what they map, and
        those that it attached have tables in their own untypeds. Threads have one address space,
        with the parts of all of them.
        """
        lines = snapshot.tables.get(root)
        if lines is None:
            yield f"{pd} has no address space"
            return
        memory, model = self._context.memory, self._context.model
        pds = sharers(model, pd)
        if self.roots.setdefault(root, pds) != pds:
            yield f"{pd} has the address space of {' and '.join(self.roots[root])}"
        regions = {node: memory.region(node) for held, node in model.holds if held in pds
                   and is_region(node)}  # fmt: skip
        pages: Counter[tuple[str, str]] = Counter()
        own: list[str] = []
        foreign = {
            line.partition(" ")[0]
            for line in lines
            if not any(memory.is_inside(one, entry_of(line.partition(": ")[2])) for one in pds)
        }
        for line, (mapped, page) in places_of(lines).items():
            address, name = entry_of(mapped), mapped.partition(" ")[0]
            at_page = (node for node, at in regions.items() if at.has(page))
            within = next(at_page, None) if name.startswith("frame") else None
            if not any(memory.is_inside(node, address) for node in (*pds, *regions)):
                yield f"{pd} has an entry at {address:#x}, not in its body"
            elif within is not None:
                pages[within, mapped.partition(" ")[2]] += 1
            elif name not in foreign and any(memory.is_inside(one, address) for one in pds):
                own.append(line)
        there = {region for region, _ in pages}
        for region in [node for node in regions if node not in there]:
            if self._context.residue.may_lack(region, "-"):
                del regions[region]
        counts = Counter(lower for region in regions for lower in model.built_on(region))
        objects = set(counts)
        for region, at in regions.items():
            below = model.built_on(region)
            uncached = "" if at.cached else ", uncached"
            rights = f"(R{'W' if at.writable else ''}X{uncached})"
            frames = sum(memory.objects.pages(node).count for node in below)
            wanted = Counter({(region, rights): frames})
            if not below:
                continue  # A cleanup has left the region, and taken what it maps.
            if +Counter({key: n for key, n in pages.items() if key[0] == region}) != wanted:
                yield f"{pd} has not the pages of {region}, or other rights"
        frames_of = Counter(
            node
            for address in snapshot.frames.get(root, ())
            for node in objects
            if memory.is_inside(node, address)
        )
        for node in sorted(objects if root in snapshot.frames else ()):
            each = memory.objects.pages(node).count
            here = 0 if memory.is_device(node) else each * counts[node]
            if frames_of[node] != here:
                yield f"{pd} has {frames_of[node]} frames of {node}: expected {here}"
        known = self._machine.frames_of(objects)
        devices = known or Counter()
        for address in snapshot.frames.get(root, ()):
            if devices[address] > 0:
                devices[address] -= 1
            elif known is None and memory.owner_of(address) is None:
                pass  # Without the configuration nobody knows where its devices are.
            elif not any(memory.is_inside(node, address) for node in (*pds, *objects)):
                yield f"{pd} has a frame at {address:#x}, not in its body"
        for address in +devices if root in snapshot.frames else ():
            yield f"{pd} has not the frame of its device at {address:#x}"
        if self.seen.setdefault(pds, own) != own:
            yield f"the address space of {pd} is not as it was"
