# SPDX-License-Identifier: BSD-2-Clause
"""The model state that a description for Microkit describes.

| description | model |
|---|---|
| a PD, its parent | a PD, with a FAULT edge to the parent, which holds its body |
| a protected procedure | a REQUEST to the space of calls that the callee manages |
| a memory region; a map of it | an MO; a VMR of the PD that is built on it |
| a channel over which the ends may notify | a CHANNEL that both hold |
| `[[serves]]` of the policy | a REQUEST of each client to a space that the server manages |
| an interrupt, I/O ports | an IRQ, a PORT that the PD holds |
| a capability to another PD, its time or its address space | a hold of its body |

PDs that share a region or a channel, and of which neither calls or serves the other one, or is its
parent, are connected in no direction: no depth follows that, and the state says so.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Final

from cellreap.api.states import DESCRIPTION, Depths, State, limit
from cellreap.model.graph import Model
from cellreap.model.ids import ROOT, pd_id, resource_id, space_id
from cellreap.model.pages import Pages
from cellreap.system.microkit.connections import (
    Connection,
    connections,
    maps_of,
    page_size_of,
)
from cellreap.system.microkit.policy import Policy, called, read_policy
from cellreap.system.microkit.reading import read_system
from cellreap.system.microkit.rows import Pd, Row, System
from cellreap.unknown import Unknown

_ROOT_NAME: Final = "ROOT_TASK"
_CALLS: Final = "CALLS"
_SERVES: Final = "SERVES"
_CORE: Final = {
    name: number for number, name in enumerate(("PD", "MO", "VMR", "CHANNEL", "IRQ", "PORT"), 1)
}
"""Type of the root task's spaces -> the number of the space."""


def of_description(path: Path, policy_path: Path | None = None) -> State:
    """The state of a described system when all its PDs are there. InputError as Microkit.

    policy_path: the policy beside it, with its depths and its directions.
    """
    system = read_system(path)
    policy = Policy() if policy_path is None else read_policy(policy_path, system)
    made = _Made(system, policy)
    for serves in policy.serves:
        made.add_service(serves.server, serves.clients)
    model = made.model
    model.unknown = tuple(Unknown("connection", _told(it)) for it in _undirected(system, made))
    of_pd = {made.ids[pd.name]: pd for pd in policy.pd}

    def depths_of(pd: str) -> Depths:
        own, common = of_pd.get(pd), policy.policy
        chosen = (
            common.pd_depth if own is None or own.pd_depth is None else own.pd_depth,
            common.rs_depth if own is None or own.rs_depth is None else own.rs_depth,
        )
        return limit(chosen[0]), limit(chosen[1])

    kept, notes = frozenset(made.ids.values()), tuple(_notes(path, system))
    return State(model, DESCRIPTION, depths_of, kept, names=made.names, notes=notes)


class _Made:
    def __init__(self, system: System, policy: Policy) -> None:
        self.model = Model()
        self.names: dict[str, str] = {}
        self.ids = {pd.name: pd_id(n) for n, pd in enumerate(system.pds(), 1)}
        self._numbers = {pd.name: n for n, pd in enumerate(system.pds(), 1)}
        self._services: dict[tuple[str, str], str] = {}
        self._counts = dict.fromkeys(_CORE, 0)
        self.model.add_pd(ROOT, _ROOT_NAME, pinned=True)
        for name, number in _CORE.items():
            self.model.add_space(space_id(name, number), ROOT)
        for name, id_ in self.ids.items():
            self.model.add_pd(id_, name)
        self._add_calls(system)
        regions = self._add_regions(system)
        apart = {pd.name for pd in policy.pd if pd.faults != "parent"}
        for pd, parent in system.families():
            self._add_pd(pd, parent, regions)
            if parent is not None and pd.name not in apart:
                self.model.set_fault(self.ids[pd.name], self.ids[parent.name])
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
        for channel in system.channels:
            for end, other in (channel.ends, channel.ends[::-1]):
                if end.pp:
                    self._request(end.pd, self._space_of(other.pd, _CALLS))

    def add_service(self, server: str, clients: tuple[str, ...]) -> None:
        """The clients depend on the server."""
        space = self._space_of(server, _SERVES)
        for client in clients:
            self._request(client, space)

    def directs(self, each: Connection) -> bool:
        """Whether of every two of its PDs, one needs the other one or has it for a parent."""
        model = self.model
        return all(
            model.faults.get(a) == b
            or any((a, space) in model.requests for space in model.spaces_of(b))
            or model.faults.get(b) == a
            or any((b, space) in model.requests for space in model.spaces_of(a))
            for a, b in combinations((self.ids[pd.name] for pd in each.between), 2)
        )

    def _space_of(self, server: str, type_name: str) -> str:
        """The space of this type that stands for what a PD serves."""
        if (server, type_name) not in self._services:
            space = space_id(type_name, len(_CORE) + len(self._services) + 1)
            self._services[server, type_name] = space
            self.names[space] = f"{server}_{type_name.lower()}"
            self.model.add_space(space, self.ids[server])
            self.model.add_hold(self.ids[server], space)
        return self._services[server, type_name]

    def _request(self, client: str, space: str) -> None:
        if (self.ids[client], space) not in self.model.requests:
            self.model.add_request(self.ids[client], space)

    def _add_regions(self, system: System) -> dict[str, str]:
        """The memory objects by name. One that nobody maps is none: nobody has it."""
        mapped = {mapping.mr for pd in system.pds() for mapping in maps_of(pd)}
        found = {}
        for region in system.regions:
            if region.name in mapped:
                page = page_size_of(region, system)
                pages = Pages(max((region.size or 0) // page, 1), page.bit_length() - 1)
                extra = f"{region.phys_addr or 0:#x}_{pages}"
                found[region.name] = self._add("MO", extra)
        return found

    def _add_pd(self, pd: Pd, parent: Pd | None, regions: dict[str, str]) -> None:
        model, own = self.model, self.ids[pd.name]
        if parent is not None:
            model.add_hold(self.ids[parent.name], self._body(pd.name))
        for mapping in maps_of(pd):
            memory = regions[mapping.mr]
            if (own, memory) not in model.holds:
                model.add_hold(own, memory)
            pages = model.nodes[memory].extra.partition("_")[2]
            mapped = self._add("VMR", f"{mapping.vaddr:#x}_GENERIC_{pages}")
            model.add_hold(own, mapped)
            model.add_map(mapped, memory)
            model.tell_right(mapped, memory, "w" in mapping.perms)
        for type_name, devices in (("IRQ", pd.irqs), ("PORT", pd.ports)):
            for _ in devices:
                model.add_hold(own, self._add(type_name))
        for cap in () if pd.cspace is None else pd.cspace.caps:
            if cap.pd != pd.name:
                model.add_hold(own, self._body(cap.pd))


def first_policy(path: Path) -> str:
    """A policy to begin with, as the text of a file: with a line for each connection that has no
    direction, and how to give it one.
    """
    system = read_system(path)
    lines = [
        f"# The policy beside {path.name}.",
        "",
        "[policy]",
        "pd_depth = 0",
        "rs_depth = 0",
    ]
    between: dict[frozenset[str], list[Connection]] = {}
    for each in _undirected(system, _Made(system, Policy())):
        between.setdefault(frozenset(pd.name for pd in each.between), []).append(each)
    for found in between.values():
        server, *clients = (json.dumps(pd.name, ensure_ascii=False) for pd in found[0].between)
        lines += [
            "",
            *(f"# line {each.row.line}: {_told(each)}." for each in found),
            "# If one depends on the other:",
            "# [[serves]]",
            f"# server = {server}",
            f"# clients = [{', '.join(clients)}]",
        ]
    others_call = called(system)
    for pd in system.pds():
        name = json.dumps(pd.name, ensure_ascii=False)
        lines += ["", "[[pd]]", f"name = {name}", "respawn = true"]
        if pd.name in others_call:
            lines.append('# callers = "repeat"  # makes a call anew that it had taken')
    for region in system.regions:
        name = json.dumps(region.name, ensure_ascii=False)
        lines += ["", "[[region]]", f"name = {name}", 'after = "keep"']
    return "\n".join(lines) + "\n"


def _undirected(system: System, made: _Made) -> Iterator[Connection]:
    """The connections between PDs that depend on each other by nothing else that is told."""
    for each in connections(system):
        if each.kind in ("channel", "memory") and not made.directs(each):
            yield each


def _told(each: Connection) -> str:
    name = f' "{each.name}"' if each.name else ""
    return f"{each.kind}{name} of {' and '.join(pd.name for pd in each.between)}, in no direction"


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
