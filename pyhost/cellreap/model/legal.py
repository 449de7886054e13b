# SPDX-License-Identifier: BSD-2-Clause
"""Checks whether a state as a whole is legal."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING

from cellreap.model.edges import EDGE_KINDS
from cellreap.model.ids import CORE_TYPES, ROOT, NodeKind

if TYPE_CHECKING:
    from cellreap.model.graph import Model


@dataclass(frozen=True, order=True)
class Violation:
    """A fact that makes a state illegal.

    rule: `L1` to `L4`, or `M-05` for the map graph. nodes: the ids concerned.
    """

    rule: str
    nodes: tuple[str, ...]
    text: str


def violations(model: Model) -> list[Violation]:
    """Everything that makes the state illegal, sorted; empty if it is legal.

    L1: each resource is in exactly one live space, and each space has a live manager. L2: a manager
    holds its spaces and every resource in them; the root task needs no edges to hold core spaces.
    L3: every edge ends at nodes that exist and are of the right kind. L4: fault handlers are alive.
    M-05: the map graph has no cycle.
    """
    found = [] if _well_formed(model) else [*_spaces(model), *_resources(model), *_edges(model)]
    for id_ in () if not model.maps or _only_down(model) else _on_map_cycles(model.maps):
        found.append(Violation("M-05", (id_,), f"{id_} is on a cycle of MAP edges"))
    return sorted(found)


def _well_formed(model: Model) -> bool:
    """Whether L1 to L4 hold. The same as the searches for violations, and faster if all is well."""
    of_kind: dict[NodeKind, set[str]] = {"PD": set(), "RESOURCE_SPACE": set(), "RESOURCE": set()}
    core = set()
    for id_, node in model.nodes.items():
        of_kind[node.kind].add(id_)
        if node.kind == "RESOURCE_SPACE" and node.type in CORE_TYPES:
            core.add(id_)
    manager, holds = model.manager, model.holds
    if manager.keys() != of_kind["RESOURCE_SPACE"] or not of_kind["PD"].issuperset(
        manager.values()
    ):
        return False
    if model.space_of.keys() != of_kind["RESOURCE"] or not manager.keys() >= set(
        model.space_of.values()
    ):
        return False
    for space, pd in manager.items():
        if (space in core) != (pd == ROOT) or (space not in core and (pd, space) not in holds):
            return False
    if not all(
        (manager[space], res) in holds for res, space in model.space_of.items() if space not in core
    ):
        return False
    for name, pairs in (
        ("HOLD", holds),
        ("REQUEST", model.requests),
        ("MAP", model.maps),
        ("FAULT", model.faults.items()),
        ("LINK", model.links),
        ("OWN", model.owns),
        ("SUBSCRIBE", model.subscribes),
    ):
        kind = EDGE_KINDS[name]
        for end, kinds in ((0, kind.sources), (1, kind.targets)) if pairs else ():
            ends = set(map(itemgetter(end), pairs))
            for each in kinds:
                ends -= of_kind[each]
            if ends:
                return False
    resources = of_kind["RESOURCE"]
    return all((a in resources) == (b in resources) for a, b in model.maps)


def _only_down(model: Model) -> bool:
    """Whether each MAP edge ends at a node that was added before its other end, as in most states.

    Then there is no cycle.
    """
    place = {id_: at for at, id_ in enumerate(model.nodes)}
    try:
        return all(place[b] < place[a] for a, b in model.maps)
    except KeyError:
        return False


def _is_a(model: Model, id_: str, *kinds: NodeKind) -> bool:
    return id_ in model.nodes and model.nodes[id_].kind in kinds


def _spaces(model: Model) -> Iterator[Violation]:
    for space in model.spaces():
        manager = model.manager.get(space, "")
        core = model.nodes[space].type in CORE_TYPES
        if not _is_a(model, manager, "PD"):
            yield Violation("L1", (space,), f"{space} has no live manager")
        elif core and manager != ROOT:
            text = f"{space} is of a core type but managed by {manager}"
            yield Violation("L1", (space, manager), text)
        elif not core and manager == ROOT:
            yield Violation("L1", (space,), f"{space} is of no core type but managed by {ROOT}")
        elif not core and (manager, space) not in model.holds:
            text = f"{manager} manages {space} but does not hold it"
            yield Violation("L2", (manager, space), text)
    for space in model.manager:
        if not _is_a(model, space, "RESOURCE_SPACE"):
            yield Violation("L3", (space,), f"{space} has a manager but is no live space")


def _resources(model: Model) -> Iterator[Violation]:
    for res in model.resources():
        if not _is_a(model, model.space_of.get(res, ""), "RESOURCE_SPACE"):
            yield Violation("L1", (res,), f"{res} is in no live space")
    for res, space in model.space_of.items():
        if not _is_a(model, res, "RESOURCE"):
            text = f"{res} is in {space} but is no live resource"
            yield Violation("L3", (res, space), text)
        elif _is_a(model, space, "RESOURCE_SPACE") and model.nodes[space].type not in CORE_TYPES:
            manager = model.manager.get(space, "")
            live = _is_a(model, manager, "PD") and manager != ROOT
            if live and (manager, res) not in model.holds:
                text = f"{manager} manages {space} but does not hold {res}"
                yield Violation("L2", (manager, res), text)


def _edges(model: Model) -> Iterator[Violation]:
    for name, a, b, *_ in model.edges():
        kind = EDGE_KINDS[name]
        from_ok, to_ok = _is_a(model, a, *kind.sources), _is_a(model, b, *kind.targets)
        if name == "FAULT" and not from_ok:
            yield Violation("L3", (a, b), f"FAULT edge from {a}, which is no live PD")
        elif name == "FAULT" and not to_ok:
            yield Violation("L4", (a, b), f"the fault handler of {a}, {b}, is not alive")
        elif not (from_ok and to_ok):
            text = f"{name} edge from {a} to {b}: an end is not there or of the wrong kind"
            yield Violation("L3", (a, b), text)
        elif name == "MAP" and model.nodes[a].kind != model.nodes[b].kind:
            text = f"MAP edge from {a} to {b} joins a resource and a space"
            yield Violation("L3", (a, b), text)


def _has_cycle(maps: set[tuple[str, str]]) -> bool:
    """Whether a cycle is left when nodes without an incoming edge are removed again and again."""
    out = defaultdict[str, list[str]](list)
    for a, b in maps:
        out[a].append(b)
    incoming = Counter(map(itemgetter(1), maps))
    loose = [node for node in out if node not in incoming]
    left = len(maps)
    while loose:
        for after in out.get(loose.pop(), ()):
            left -= 1
            incoming[after] -= 1
            if not incoming[after]:
                loose.append(after)
    return left > 0


def _on_map_cycles(maps: set[tuple[str, str]]) -> list[str]:
    """The nodes on cycles of the map graph, or on a path between two cycles.

    Removes nodes without an incoming or without an outgoing edge until every remaining node has
    both.
    """
    if not _has_cycle(maps):
        return []
    out: dict[str, set[str]] = {}
    into: dict[str, set[str]] = {}
    for a, b in maps:
        out.setdefault(a, set()).add(b)
        out.setdefault(b, set())
        into.setdefault(b, set()).add(a)
        into.setdefault(a, set())
    for forward, backward in ((out, into), (into, out)):
        loose = [node for node in forward if not forward[node]]
        while loose:
            node = loose.pop()
            for before in backward.pop(node):
                forward[before].discard(node)
                if not forward[before]:
                    loose.append(before)
            del forward[node]
    return sorted(out)
