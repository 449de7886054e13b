# SPDX-License-Identifier: BSD-2-Clause
"""The model state that a description for Microkit describes.

| description | model |
|---|---|
| a PD, its parent | a PD, with a FAULT edge to the parent, which holds its body |
| a protected procedure | a REQUEST to the space of calls that the callee manages |
| a memory region; a map of it | an MO; a VMR of the PD that is built on it |
| a channel over which the ends may notify | a CHANNEL that both hold |
| an interrupt, I/O ports | an IRQ, a PORT that the PD holds |
| a capability to another PD, its time or its address space | a hold of its body |

PDs that share a region or a channel, and of which neither calls the other one or is its parent, are
connected in no direction: no depth follows that, and the state says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Final

from cellreap.api.states import DESCRIPTION, State
from cellreap.model.graph import Model
from cellreap.model.ids import ROOT, pd_id, resource_id, space_id
from cellreap.system.microkit.connections import Connection, connections, maps_of
from cellreap.system.microkit.reading import read_system
from cellreap.system.microkit.rows import Pd, Row, System
from cellreap.unknown import Unknown

_ROOT_NAME: Final = "ROOT_TASK"
_CALLS: Final = "CALLS"
_CORE: Final = {
    name: number for number, name in enumerate(("PD", "MO", "VMR", "CHANNEL", "IRQ", "PORT"), 1)
}
"""Type of the root task's spaces -> the number of the space."""


def of_description(path: Path) -> State:
    """The state of a described system when all its PDs are there. InputError as Microkit."""
    system = read_system(path)
    made = _Made(system)
    model = made.model
    model.unknown = tuple(_undirected(system, model, made.ids))
    kept, notes = frozenset(made.ids.values()), tuple(_notes(path, system))
    return State(model, DESCRIPTION, kept=kept, names=made.names, notes=notes)


class _Made:
    def __init__(self, system: System) -> None:
        self.model = Model()
        self.names: dict[str, str] = {}
        self.ids = {pd.name: pd_id(n) for n, pd in enumerate(system.pds(), 1)}
        self._numbers = {pd.name: n for n, pd in enumerate(system.pds(), 1)}
        self._counts = dict.fromkeys(_CORE, 0)
        self.model.add_pd(ROOT, _ROOT_NAME, pinned=True)
        for name, number in _CORE.items():
            self.model.add_space(space_id(name, number), ROOT)
        for name, id_ in self.ids.items():
            self.model.add_pd(id_, name)
        self._add_calls(system)
        regions = self._add_regions(system)
        for pd, parent in system.families():
            self._add_pd(pd, parent, regions)
        for channel in system.channels:
            ends = tuple(dict.fromkeys(end.pd for end in channel.ends))
            if len(ends) == 2 and any(end.notify for end in channel.ends):
                made = self._add("CHANNEL")
                for pd_name in ends:
                    self.model.add_hold(self.ids[pd_name], made)

    def _add(self, type_name: str, extra: str = "") -> str:
        self._counts[type_name] += 1
        made = resource_id(type_name, _CORE[type_name], self._counts[type_name])
        self.model.add_resource(made, space_id(type_name, _CORE[type_name]), extra=extra)
        return made

    def _body(self, pd: str) -> str:
        """The resource that stands for the capability to a PD."""
        body = resource_id("PD", _CORE["PD"], self._numbers[pd])
        if body not in self.model.nodes:
            self.model.add_resource(body, space_id("PD", _CORE["PD"]))
        return body

    def _add_calls(self, system: System) -> None:
        spaces: dict[str, str] = {}
        for channel in system.channels:
            for end, other in (channel.ends, channel.ends[::-1]):
                if not end.pp:
                    continue
                if other.pd not in spaces:
                    space = space_id(_CALLS, len(_CORE) + len(spaces) + 1)
                    spaces[other.pd] = space
                    self.names[space] = f"{other.pd}_calls"
                    self.model.add_space(space, self.ids[other.pd])
                    self.model.add_hold(self.ids[other.pd], space)
                request = (self.ids[end.pd], spaces[other.pd])
                if request not in self.model.requests:
                    self.model.add_request(*request)

    def _add_regions(self, system: System) -> dict[str, str]:
        """The memory objects by name. One that nobody maps is none: nobody has it."""
        mapped = {mapping.mr for pd in system.pds() for mapping in maps_of(pd)}
        found = {}
        for region in system.regions:
            if region.name in mapped:
                pages = max((region.size or 0) // region.page_size, 1)
                bits = region.page_size.bit_length() - 1
                extra = f"{region.phys_addr or 0:#x}_{pages}_{bits}"
                found[region.name] = self._add("MO", extra)
        return found

    def _add_pd(self, pd: Pd, parent: Pd | None, regions: dict[str, str]) -> None:
        model, own = self.model, self.ids[pd.name]
        if parent is not None:
            model.set_fault(own, self.ids[parent.name])
            model.add_hold(self.ids[parent.name], self._body(pd.name))
        for mapping in maps_of(pd):
            memory = regions[mapping.mr]
            if (own, memory) not in model.holds:
                model.add_hold(own, memory)
            mapped = self._add("VMR")
            model.add_hold(own, mapped)
            model.add_map(mapped, memory)
        for type_name, devices in (("IRQ", pd.irqs), ("PORT", pd.ports)):
            for _ in devices:
                model.add_hold(own, self._add(type_name))
        for cap in () if pd.cspace is None else pd.cspace.caps:
            if cap.pd != pd.name:
                model.add_hold(own, self._body(cap.pd))


def _undirected(system: System, model: Model, ids: dict[str, str]) -> Iterator[Unknown]:
    """The connections between PDs that depend on each other by nothing else that is told."""
    for each in connections(system):
        if each.kind in ("channel", "memory") and not _directed(each, model, ids):
            pds = " and ".join(pd.name for pd in each.between)
            name = f' "{each.name}"' if each.name else ""
            yield Unknown("connection", f"{each.kind}{name} of {pds}, in no direction")


def _directed(each: Connection, model: Model, ids: dict[str, str]) -> bool:
    """Whether of every two of its PDs, one calls the other one or is its parent."""
    for first, second in combinations((ids[pd.name] for pd in each.between), 2):
        asks = any(
            (a, space) in model.requests
            for a, b in ((first, second), (second, first))
            for space in model.spaces_of(b)
        )
        if not asks and model.faults.get(first) != second and model.faults.get(second) != first:
            return False
    return True


def _notes(path: Path, system: System) -> Iterator[str]:
    """What the model has no nodes for."""

    def told(row: Row, what: str) -> str:
        return f"{path}:{row.line}: {what}"

    for pd in system.pds():
        if pd.machine is not None:
            yield told(pd.machine, f'virtual machine "{pd.machine.name}" is part of "{pd.name}"')
    for space in system.devices:
        for iomap in space.maps:
            yield told(iomap, f'device {space.peripheral_id} ("{space.name}") reaches "{iomap.mr}"')
