# SPDX-License-Identifier: BSD-2-Clause
"""The model state that a configuration describes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Final

from cellreap.api.states import CONFIGURATION, Depths, State, limit
from cellreap.api.systems import System
from cellreap.model.graph import Model
from cellreap.model.ids import (
    ADDRESS_SPACE,
    CHANNEL,
    INTERRUPT,
    MEMORY,
    PORTS,
    REGION,
    ROOT,
    pd_id,
    resource_id,
    space_id,
)
from cellreap.system.config import (
    Config,
    Pd,
    Region,
    closeness_of,
    ends_of,
    lines,
    links_of,
    processes,
)
from cellreap.system.config.region import kept_from_others
from cellreap.system.config.tables import core_spaces, has_memory, is_pinned
from cellreap.trace.expected import kept_told
from cellreap.unknown import Unknown

_ROOT_NAME: Final = "ROOT_TASK"
# The root task's own spaces, as it numbers them.
_SPACES_SPACE: Final = space_id("RESSPC", 1)
_PDS_SPACE: Final = space_id("PD", 2)
_MEMORY_SPACE: Final = space_id(MEMORY, 3)
_REGION_SPACE: Final = space_id(REGION, 4)


def of_system(system: System) -> State:
    """The state of a configured system when all PDs are there that exist from boot.

    It has what the file says, with all requests that PDs may make. What programs do when they run
    is unknown. Ids of spaces are numbered in the order of the file.
    """
    model, names = _configured(system.config)
    model.unknown = tuple(_unknown(system.config))
    model.possible = frozenset(it for it in model.requests if not model.is_core(it[1]))
    late = [pd.name for pd in system.config.pds if pd.start == "after-cleanup"]
    notes = []
    if late:
        notes.append(f"{system.path}: not there before the first cleanup: {', '.join(late)}")
    regions = system.config.regions
    for region in regions:
        if (device := kept_from_others(regions, region)) is not None:
            notes.append(f"{system.path}: {kept_told(region.name, device)}")
    by_id = {pd_id(number): pd for number, pd in _at_boot(system.config)}
    policy = system.config.policy

    def depths_of(pd: str) -> Depths:
        own = by_id.get(pd)
        chosen = (
            policy.pd_depth if own is None or own.pd_depth is None else own.pd_depth,
            policy.rs_depth if own is None or own.rs_depth is None else own.rs_depth,
        )
        return limit(chosen[0]), limit(chosen[1])

    close = closeness_of(system.config)
    kept = frozenset(by_id)
    return State(model, CONFIGURATION, depths_of, kept, close, names, tuple(notes))


def _unknown(config: Config) -> Iterator[Unknown]:
    yield Unknown(
        "made", "resources, holds and maps, which programs make when they run: a trace has them"
    )
    asking = [pd.name for pd in config.pds if pd.requests]
    if asking:
        yield Unknown("requests", f"whether {_listed(asking)} make the requests that they may make")
    making = [pd.name for pd in config.pds if pd.spawns]
    if making:
        yield Unknown("pds", f"the PDs that {_listed(making)} create")
    yield from _undirected(config)
    for each in config.dropped:
        yield Unknown("connection", f"what the import left out: {each.text()}")


def _undirected(config: Config) -> Iterator[Unknown]:
    """What connects PDs that do not depend on each other: no depth follows it."""
    owner = {space.name: pd.name for pd in config.pds for space in pd.spaces}
    directed = {frozenset((pd.name, owner[name])) for pd in config.pds for name in pd.requests}
    directed |= {frozenset((pd.name, pd.fault_handler or "")) for pd in config.pds}
    directed |= {frozenset(pair) for pair in links_of(config)}
    shared = [
        *(("memory", it.name, [each.pd for each in it.maps]) for it in config.regions),
        *(("channel", it.name, [each.pd for each in it.ends]) for it in config.channels),
    ]
    for kind, name, pds in shared:
        if any(frozenset(pair) not in directed for pair in combinations(pds, 2)):
            told = f'{kind} "{name}" of {" and ".join(pds)}, in no direction'
            yield Unknown("connection", told)


def _listed(names: list[str]) -> str:
    most = 8
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def _at_boot(config: Config) -> list[tuple[int, Pd]]:
    """The PDs that exist from boot, with their numbers."""
    there = [pd for pd in config.pds if pd.start == "boot"]
    return list(enumerate(there, 1))


def _configured(config: Config) -> tuple[Model, dict[str, str]]:
    model = Model()
    model.add_pd(ROOT, _ROOT_NAME, pinned=True)
    model.add_space(_SPACES_SPACE, ROOT)
    model.add_space(_PDS_SPACE, ROOT)
    if has_memory(config):
        model.add_space(_MEMORY_SPACE, ROOT)
        model.add_space(_REGION_SPACE, ROOT)
    first = 1 + core_spaces(config)
    pds = _at_boot(config)
    ids = {pd.name: pd_id(number) for number, pd in pds}
    spaces: dict[str, str] = {}
    for _, pd in pds:
        model.add_pd(ids[pd.name], pd.name, pinned=is_pinned(pd))
        if pd.fault_handler is not None:
            model.set_fault(ids[pd.name], ids[pd.fault_handler])
        if pd.spaces:
            model.add_request(ids[pd.name], _SPACES_SPACE)
        if pd.spawns:
            model.add_request(ids[pd.name], _PDS_SPACE)
        if pd.allocates:
            model.add_request(ids[pd.name], _MEMORY_SPACE)
        for space in pd.spaces:
            id_ = space_id(space.type, first + len(spaces))
            spaces[space.name] = id_
            model.add_space(id_, ids[pd.name])
            model.add_hold(ids[pd.name], id_)
    for number, pd in pds:
        if any(pd.name in other.holds_pds for _, other in pds):
            model.add_resource(_body(number), _PDS_SPACE)
    numbers = {pd.name: number for number, pd in pds}
    for _, pd in pds:
        for name in pd.requests:
            model.add_request(ids[pd.name], spaces[name])
        for name in pd.holds_pds:
            if name in ids:
                model.add_hold(ids[pd.name], _body(numbers[name]))
    _add_regions(model, config, ids)
    _add_channels(model, config, ids)
    _add_lines(model, config, ids)
    _add_threads(model, config, ids)
    for a, b in links_of(config):
        if a in ids and b in ids:
            model.add_link(ids[a], ids[b])
    return model, {id_: name for name, id_ in spaces.items()}


def _add_regions(model: Model, config: Config, ids: Mapping[str, str]) -> None:
    """The regions, in the order in which the PDs are made. ids: of the PDs of boot time."""

    def place(region: Region, address: int, kind: str = "") -> str:
        return f"{address:#x}_{kind}{region.pages}"

    memory: dict[str, str] = {}
    regions = 0
    for name, pd in ids.items():
        for region in config.regions:
            if all(each.pd != name for each in region.maps):
                continue
            if region.name not in memory:
                made = memory[region.name] = resource_id(MEMORY, 3, 1 + len(memory))
                model.add_resource(made, _MEMORY_SPACE, extra=place(region, region.place or 0))
            regions += 1
            mine = resource_id(REGION, 4, regions)
            (at,) = (each for each in region.maps if each.pd == name)
            where = place(region, at.address, "GENERIC_")
            model.add_resource(mine, _REGION_SPACE, extra=where)
            model.add_hold(pd, mine)
            model.add_map(mine, memory[region.name])
            model.tell_right(mine, memory[region.name], at.writable)


def _add_channels(model: Model, config: Config, ids: Mapping[str, str]) -> None:
    """The channels, in the order in which the PDs are made. ids: of the PDs of boot time."""
    if not config.channels:
        return
    number = 3 + 2 * has_memory(config)
    space = space_id(CHANNEL, number)
    model.add_space(space, ROOT)
    known: dict[str, str] = {}
    for name, pd in ids.items():
        for end in ends_of(config, name):
            if end.channel not in known:
                known[end.channel] = resource_id(CHANNEL, number, 1 + len(known))
                model.add_resource(known[end.channel], space)
            model.add_hold(pd, known[end.channel])


def _add_lines(model: Model, config: Config, ids: Mapping[str, str]) -> None:
    """The interrupts and ports, in the order in which the PDs are made."""
    number = 3 + 2 * has_memory(config) + bool(config.channels)
    for type_ in (INTERRUPT, PORTS):
        mine = [line for line in lines(config) if line.kind == type_]
        if not mine:
            continue
        space = space_id(type_, number)
        model.add_space(space, ROOT)
        made = [(name, line) for name in ids for line in mine if line.pd == name]
        for i, (name, _) in enumerate(made, 1):
            model.add_resource(resource_id(type_, number, i), space)
            model.add_hold(ids[name], resource_id(type_, number, i))
        number += 1


def _add_threads(model: Model, config: Config, ids: Mapping[str, str]) -> None:
    """The address spaces that threads share, and who owns the threads."""
    if not processes(config):
        return
    number = core_spaces(config)
    space = space_id(ADDRESS_SPACE, number)
    model.add_space(space, ROOT)
    shared = [name for name in ids if name in processes(config)]
    for i, process in enumerate(shared, 1):
        model.add_resource(resource_id(ADDRESS_SPACE, number, i), space)
        model.add_hold(ids[process], resource_id(ADDRESS_SPACE, number, i))
    for pd in config.pds:
        if pd.thread_of is not None and pd.name in ids:
            mine = resource_id(ADDRESS_SPACE, number, 1 + shared.index(pd.thread_of))
            model.add_hold(ids[pd.name], mine)
            model.add_own(ids[pd.thread_of], ids[pd.name])


def _body(number: int) -> str:
    """The resource that stands for the capability to a PD."""
    return resource_id("PD", 2, number)
