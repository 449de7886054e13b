# SPDX-License-Identifier: BSD-2-Clause
"""The model state on the host: which PDs, spaces and resources live, and the edges between them.

A `Model` holds live nodes only; what a cleanup destroyed is not in it. Anyone may read the dictionaries;
changes go through the methods, which refuse what makes no sense. `check_legal` tells what is wrong with a
state as a whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from cellreap.errors import ModelError
from cellreap.model.ids import CORE_TYPES, ROOT, NodeKind, parse_id, pd_id

__all__ = ["CORE_TYPES", "ROOT", "Model", "Node", "Violation"]

PINNED: Final = "PINNED"
"""First word of a PD's EXTRA column if it is pinned."""

MANAGER: Final = "MANAGER="
"""Begins a space's EXTRA column where the edges alone do not tell who manages it."""

DOOMED: Final = "DOOMED"
"""Last word of the EXTRA column of a PD or space that a cleanup under way has doomed."""

MAX_TEXT: Final = 256
"""Characters in a name or extra text."""


@dataclass(frozen=True)
class Node:
    """A live node.

    name: a PD's name, else empty. type: of a space or resource, else empty. pinned: PDs only, policy does not
    doom it. extra: text of the node's EXTRA column (page counts of an MO, say), without the pin.
    """

    id: str
    kind: NodeKind
    name: str = ""
    type: str = ""
    pinned: bool = False
    extra: str = ""


@dataclass(frozen=True, order=True)
class Violation:
    """One thing that makes a state illegal.

    rule: `L1` to `L4`, or `M-05` for the map graph. nodes: the ids of who is concerned.
    """

    rule: str
    nodes: tuple[str, ...]
    text: str


@dataclass
class Model:
    """The state. Keys and values of all mappings are node ids."""

    nodes: dict[str, Node] = field(default_factory=dict)
    manager: dict[str, str] = field(default_factory=dict)
    """space -> the PD that manages it"""
    space_of: dict[str, str] = field(default_factory=dict)
    """resource -> its space"""
    holds: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(PD, resource or space) -> how often; never 0"""
    requests: set[tuple[str, str]] = field(default_factory=set)
    """(PD, space)"""
    maps: set[tuple[str, str]] = field(default_factory=set)
    """(built, built on), both resources or both spaces"""
    faults: dict[str, str] = field(default_factory=dict)
    """PD -> its fault handler; absent where the root task handles its faults"""
    links: set[tuple[str, str]] = field(default_factory=set)
    """pairs of PDs, sorted, each pair once"""
    owns: set[tuple[str, str]] = field(default_factory=set)
    """(creator, created)"""
    subscribes: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(PD, PD or space) -> how often; never 0"""

    # -- looking

    def pds(self) -> Iterator[str]:
        """All PDs, the root task included."""
        return (node.id for node in self.nodes.values() if node.kind == "PD")

    def spaces(self) -> Iterator[str]:
        """All spaces."""
        return (node.id for node in self.nodes.values() if node.kind == "RESOURCE_SPACE")

    def resources(self) -> Iterator[str]:
        """All resources."""
        return (node.id for node in self.nodes.values() if node.kind == "RESOURCE")

    def spaces_of(self, pd: str) -> list[str]:
        """The spaces that a PD manages, sorted."""
        return sorted(space for space, manager in self.manager.items() if manager == pd)

    def resources_in(self, space: str) -> list[str]:
        """The resources of a space, sorted."""
        return sorted(res for res, its_space in self.space_of.items() if its_space == space)

    def is_core(self, space: str) -> bool:
        """Is the space of a type that the root task serves itself?"""
        return self._need(space, "RESOURCE_SPACE").type in CORE_TYPES

    def body_of(self, pd: str) -> str | None:
        """The core resource that stands for the capability to the PD's body: of type PD, with its number."""
        parts = parse_id(self._need(pd, "PD").id)
        assert parts is not None
        for res, space in self.space_of.items():
            if self._body_number(res, space) == parts.number:
                return res
        return None

    def find_pd(self, name_or_id: str) -> str:
        """The id of the PD with this id or name. ModelError if none or several have it."""
        node = self.nodes.get(name_or_id)
        if node is not None and node.kind == "PD":
            return node.id
        named = sorted(pd for pd in self.pds() if self.nodes[pd].name == name_or_id)
        if not named:
            raise ModelError(f"no PD has the id or name '{name_or_id}'")
        if len(named) > 1:
            raise ModelError(f"several PDs are named '{name_or_id}' ({', '.join(named)}): give the id")
        return named[0]

    def copy(self) -> Model:
        """An independent copy."""
        return Model(
            nodes=dict(self.nodes),
            manager=dict(self.manager),
            space_of=dict(self.space_of),
            holds=self.holds.copy(),
            requests=set(self.requests),
            maps=set(self.maps),
            faults=dict(self.faults),
            links=set(self.links),
            owns=set(self.owns),
            subscribes=self.subscribes.copy(),
        )

    # -- nodes

    def add_pd(self, pd: str, name: str = "", *, pinned: bool = False, extra: str = "") -> None:
        """Adds a PD."""
        self._fresh(pd, "PD")
        _plain(name, "name", pd)
        _plain(extra, "extra text", pd)
        if extra.split(" ")[0] == PINNED:
            raise ModelError(f"{pd}: the extra text cannot begin with {PINNED}, which stands for a pin")
        self.nodes[pd] = Node(pd, "PD", name=name, pinned=pinned, extra=extra)

    def add_space(self, space: str, manager: str, *, extra: str = "") -> None:
        """Adds a space with its manager. Does not add the manager's HOLD."""
        type_name = self._fresh(space, "RESOURCE_SPACE")
        self._need(manager, "PD")
        _plain(extra, "extra text", space)
        if extra.startswith(MANAGER):
            raise ModelError(f"{space}: the extra text cannot begin with {MANAGER}, which names a manager")
        if type_name in CORE_TYPES and manager != ROOT:
            raise ModelError(f"{space} is of a core type: its manager is {ROOT}, not {manager}")
        self.nodes[space] = Node(space, "RESOURCE_SPACE", type=type_name, extra=extra)
        self.manager[space] = manager

    def add_resource(self, res: str, space: str, *, extra: str = "") -> None:
        """Adds a resource to a space. Does not add the manager's HOLD."""
        type_name = self._fresh(res, "RESOURCE")
        self._need(space, "RESOURCE_SPACE")
        _plain(extra, "extra text", res)
        # "At most one body" is what makes body_of a function.
        if (body := self._body_number(res, space)) is not None:
            for other, its_space in self.space_of.items():
                if self._body_number(other, its_space) == body:
                    raise ModelError(f"{res}: {other} stands for the body of {pd_id(body)} already")
        self.nodes[res] = Node(res, "RESOURCE", type=type_name, extra=extra)
        self.space_of[res] = space

    def set_pinned(self, pd: str, pinned: bool) -> None:
        """Pins or unpins a PD."""
        self.nodes[pd] = replace(self._need(pd, "PD"), pinned=pinned)

    def remove_pd(self, pd: str) -> None:
        """Removes a PD with its edges. It must not manage a space, and must not be the root task."""
        self._need(pd, "PD")
        if pd == ROOT:
            raise ModelError(f"{ROOT} is the root task: it cannot go")
        if managed := self.spaces_of(pd):
            raise ModelError(f"{pd} still manages {managed[0]}")
        self.discard({pd})

    def remove_space(self, space: str) -> None:
        """Removes an empty space with its edges."""
        self._need(space, "RESOURCE_SPACE")
        if left := self.resources_in(space):
            raise ModelError(f"{space} still contains {left[0]}")
        self.discard({space})

    def remove_resource(self, res: str) -> None:
        """Removes a resource with its edges, whoever holds it."""
        self._need(res, "RESOURCE")
        self.discard({res})

    def discard(self, gone: Iterable[str]) -> None:
        """Removes nodes and every edge with an end among them, in one pass. Unknown ids are ignored.

        What must go together is the caller's to know: a space's resources are not removed with it.
        """
        dead = set(gone)

        def live(pair: tuple[str, str]) -> bool:
            return pair[0] not in dead and pair[1] not in dead

        self.nodes = {id_: node for id_, node in self.nodes.items() if id_ not in dead}
        self.manager = {space: pd for space, pd in self.manager.items() if space not in dead}
        self.space_of = {res: space for res, space in self.space_of.items() if res not in dead}
        self.holds = Counter({pair: count for pair, count in self.holds.items() if live(pair)})
        self.requests = set(filter(live, self.requests))
        self.maps = set(filter(live, self.maps))
        self.faults = {pd: handler for pd, handler in self.faults.items() if live((pd, handler))}
        self.links = set(filter(live, self.links))
        self.owns = set(filter(live, self.owns))
        self.subscribes = Counter({pair: count for pair, count in self.subscribes.items() if live(pair)})

    # -- edges

    def add_hold(self, pd: str, node: str, count: int = 1) -> None:
        """The PD gets `count` more capabilities to a resource or space."""
        self._need(pd, "PD")
        self._need(node, "RESOURCE", "RESOURCE_SPACE")
        _positive(count)
        self.holds[pd, node] += count

    def drop_hold(self, pd: str, node: str, count: int = 1) -> None:
        """The PD gives `count` capabilities back. ModelError if it has fewer."""
        _take(self.holds, (pd, node), count, "HOLD")

    def cut_hold(self, pd: str, node: str) -> None:
        """The PD loses all its capabilities to the node. ModelError if it has none."""
        _take(self.holds, (pd, node), max(1, self.holds.get((pd, node), 0)), "HOLD")

    def add_request(self, pd: str, space: str) -> None:
        """The PD may ask the space's manager for resources."""
        self._need(pd, "PD")
        self._need(space, "RESOURCE_SPACE")
        _put(self.requests, (pd, space), "REQUEST")

    def drop_request(self, pd: str, space: str) -> None:
        """Takes the REQUEST edge away."""
        _remove(self.requests, (pd, space), "REQUEST")

    def add_map(self, upper: str, lower: str) -> None:
        """`upper` is built on `lower`: two resources or two spaces."""
        kind = self._need(upper, "RESOURCE", "RESOURCE_SPACE").kind
        self._need(lower, kind)
        if upper == lower:
            raise ModelError(f"{upper} cannot map to itself")
        _put(self.maps, (upper, lower), "MAP")

    def drop_map(self, upper: str, lower: str) -> None:
        """Takes the MAP edge away."""
        _remove(self.maps, (upper, lower), "MAP")

    def set_fault(self, pd: str, handler: str) -> None:
        """Makes `handler` the fault handler of a PD that has none. The root task as handler is no edge."""
        self._need(pd, "PD")
        self._need(handler, "PD")
        if pd == ROOT:
            raise ModelError(f"{ROOT} is the root task: nobody handles its faults")
        if pd == handler:
            raise ModelError(f"{pd} cannot handle its own faults")
        if pd in self.faults:
            raise ModelError(f"{pd} already has the fault handler {self.faults[pd]}")
        if handler != ROOT:
            self.faults[pd] = handler

    def drop_fault(self, pd: str) -> None:
        """The root task handles the PD's faults again."""
        if pd not in self.faults:
            raise ModelError(f"there is no FAULT edge from {pd}")
        del self.faults[pd]

    def add_link(self, a: str, b: str) -> None:
        """The two PDs live and die together."""
        self._need(a, "PD")
        self._need(b, "PD")
        if ROOT in (a, b):
            raise ModelError(f"{ROOT} is the root task: it cannot be linked")
        if a == b:
            raise ModelError(f"{a} cannot be linked with itself")
        _put(self.links, (min(a, b), max(a, b)), "LINK")

    def drop_link(self, a: str, b: str) -> None:
        """Takes the LINK edge away; the order of the ends does not matter."""
        _remove(self.links, (min(a, b), max(a, b)), "LINK")

    def add_own(self, creator: str, created: str) -> None:
        """`creator` made `created`."""
        self._need(creator, "PD")
        self._need(created, "PD")
        if created == ROOT:
            raise ModelError(f"{ROOT} is the root task: nobody created it")
        if creator == created:
            raise ModelError(f"{creator} cannot have created itself")
        _put(self.owns, (creator, created), "OWN")

    def drop_own(self, creator: str, created: str) -> None:
        """Takes the OWN edge away."""
        _remove(self.owns, (creator, created), "OWN")

    def add_subscribe(self, pd: str, node: str, count: int = 1) -> None:
        """The PD wants to know before a PD or space goes; `count` subscriptions more."""
        self._need(pd, "PD")
        self._need(node, "PD", "RESOURCE_SPACE")
        if pd == ROOT:
            raise ModelError(f"{ROOT} is the root task: it subscribes to nothing")
        _positive(count)
        self.subscribes[pd, node] += count

    def drop_subscribe(self, pd: str, node: str, count: int = 1) -> None:
        """Takes subscriptions back. ModelError if there are fewer."""
        _take(self.subscribes, (pd, node), count, "SUBSCRIBE")

    # -- legality

    def check_legal(self) -> list[Violation]:
        """Everything that makes the state illegal, sorted; empty if it is legal.

        L1: each resource in exactly one live space, each space with a live manager. L2: a manager holds its
        spaces and every resource in them (the root task holds what is core without edges). L3: no edge has an
        end that is not there, or one of the wrong kind. L4: fault handlers are alive. M-05: the map graph has
        no cycle.
        """
        found: list[Violation] = []

        def bad(rule: str, text: str, *nodes: str) -> None:
            found.append(Violation(rule, nodes, text))

        def is_a(id_: str, *kinds: NodeKind) -> bool:
            return id_ in self.nodes and self.nodes[id_].kind in kinds

        for node in self.nodes.values():
            if node.kind == "RESOURCE" and not is_a(self.space_of.get(node.id, ""), "RESOURCE_SPACE"):
                bad("L1", f"{node.id} is in no live space", node.id)
            if node.kind == "RESOURCE_SPACE":
                manager = self.manager.get(node.id, "")
                core = node.type in CORE_TYPES
                if not is_a(manager, "PD"):
                    bad("L1", f"{node.id} has no live manager", node.id)
                elif core and manager != ROOT:
                    bad("L1", f"{node.id} is of a core type but managed by {manager}", node.id, manager)
                elif not core and manager == ROOT:
                    bad("L1", f"{node.id} is of no core type but managed by {ROOT}", node.id)
                elif not core and (manager, node.id) not in self.holds:
                    bad("L2", f"{manager} manages {node.id} but does not hold it", manager, node.id)
        for res, space in self.space_of.items():
            if not is_a(res, "RESOURCE"):
                bad("L3", f"{res} is in {space} but is no live resource", res, space)
            elif is_a(space, "RESOURCE_SPACE") and self.nodes[space].type not in CORE_TYPES:
                manager = self.manager.get(space, "")
                if is_a(manager, "PD") and manager != ROOT and (manager, res) not in self.holds:
                    bad("L2", f"{manager} manages {space} but does not hold {res}", manager, res)
        for space in self.manager:
            if not is_a(space, "RESOURCE_SPACE"):
                bad("L3", f"{space} has a manager but is no live space", space)

        ends: list[tuple[str, Iterable[tuple[str, str]], tuple[NodeKind, ...], tuple[NodeKind, ...]]] = [
            ("HOLD", self.holds, ("PD",), ("RESOURCE", "RESOURCE_SPACE")),
            ("REQUEST", self.requests, ("PD",), ("RESOURCE_SPACE",)),
            ("MAP", self.maps, ("RESOURCE", "RESOURCE_SPACE"), ("RESOURCE", "RESOURCE_SPACE")),
            ("LINK", self.links, ("PD",), ("PD",)),
            ("OWN", self.owns, ("PD",), ("PD",)),
            ("SUBSCRIBE", self.subscribes, ("PD",), ("PD", "RESOURCE_SPACE")),
        ]
        for name, edges, from_kinds, to_kinds in ends:
            for a, b in edges:
                if not (is_a(a, *from_kinds) and is_a(b, *to_kinds)):
                    bad("L3", f"{name} edge from {a} to {b}: an end is not there or of the wrong kind", a, b)
                elif name == "MAP" and self.nodes[a].kind != self.nodes[b].kind:
                    bad("L3", f"MAP edge from {a} to {b} joins a resource and a space", a, b)
        for pd, handler in self.faults.items():
            if not is_a(pd, "PD"):
                bad("L3", f"FAULT edge from {pd}, which is no live PD", pd, handler)
            elif not is_a(handler, "PD"):
                bad("L4", f"the fault handler of {pd}, {handler}, is not alive", pd, handler)
        for id_ in _on_map_cycles(self.maps):
            bad("M-05", f"{id_} is on a cycle of MAP edges", id_)
        return sorted(found)

    # -- helpers

    def _body_number(self, res: str, space: str) -> int | None:
        """The number of the PD whose body the resource stands for; None if it stands for no body."""
        if not res.startswith("PD_") or self.nodes[space].type not in CORE_TYPES:
            return None
        parts = parse_id(res)
        return parts.number if parts is not None and parts.type == "PD" else None

    def _need(self, id_: str, *kinds: NodeKind) -> Node:
        node = self.nodes.get(id_)
        if node is None:
            raise ModelError(f"there is no {id_}")
        if node.kind not in kinds:
            raise ModelError(f"{id_} is a {node.kind}, expected a {' or '.join(kinds)}")
        return node

    def _fresh(self, id_: str, kind: NodeKind) -> str:
        parts = parse_id(id_)
        if parts is None or parts.kind != kind:
            raise ModelError(f"'{id_}' is no id of a {kind}")
        if id_ in self.nodes:
            raise ModelError(f"{id_} exists already")
        return parts.type


def _plain(text: str, what: str, id_: str) -> None:
    # Names reach consoles, CSV rows and error lines: a line break in one would forge the next line.
    if not text.isprintable():
        raise ModelError(f"{id_}: the {what} has a character that cannot be printed")
    if len(text) > MAX_TEXT:
        raise ModelError(f"{id_}: the {what} is longer than {MAX_TEXT} characters")


def _positive(count: int) -> None:
    if count < 1:
        raise ModelError(f"a count of {count} makes no edge")


def _take(edges: Counter[tuple[str, str]], pair: tuple[str, str], count: int, name: str) -> None:
    _positive(count)
    have = edges.get(pair, 0)
    if have < count:
        raise ModelError(f"{name} edge from {pair[0]} to {pair[1]}: {have} there, {count} to be dropped")
    if have == count:
        del edges[pair]  # a count of 0 would still be a key
    else:
        edges[pair] = have - count


def _put(edges: set[tuple[str, str]], pair: tuple[str, str], name: str) -> None:
    if pair in edges:
        raise ModelError(f"the {name} edge from {pair[0]} to {pair[1]} exists already")
    edges.add(pair)


def _remove(edges: set[tuple[str, str]], pair: tuple[str, str], name: str) -> None:
    if pair not in edges:
        raise ModelError(f"there is no {name} edge from {pair[0]} to {pair[1]}")
    edges.remove(pair)


def _on_map_cycles(maps: set[tuple[str, str]]) -> list[str]:
    """The nodes on cycles, or between two: what is left when those without a way in or out are taken away."""
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
