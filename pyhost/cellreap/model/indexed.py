# SPDX-License-Identifier: BSD-2-Clause
"""A model state with indexes: the cost of an operation depends on the edges of its node only.

So does that of the digest: it is a sum over nodes and edges, and each change adds to it.

`Model` finds the edges of a node and the resources of a space by a search through all of them. That
is simple and fast enough for one plan. The checker replays long histories and needs the indexes.
What it asks at each change (`asks_for`, `is_client_of`, `depends_on`) does not depend on the number
of edges either.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, Literal, Self

from cellreap.model.digest import label, term
from cellreap.model.graph import Model
from cellreap.model.ids import ROOT

_COUNTED: Final = ("HOLD", "SUBSCRIBE")
"""Kinds of edges that are there several times."""
_Edge = tuple[str, str, str]
"""(kind, source, target)."""
_Tie = Literal["type", "manager", "resources"]
"""A REQUEST ties a PD to the type of the space and to its manager. A HOLD of a resource ties it to
the resource's space. They are told apart: a type may be spelt like the id of a PD.
"""


@dataclass(eq=False)
class IndexedModel(Model):
    """A `Model` that changes through its methods only. A direct change of a dictionary breaks an
    index.
    """

    _members: dict[str, set[str]] = field(default_factory=dict)
    """space -> its resources"""
    _near: dict[str, dict[_Edge, None]] = field(default_factory=dict)
    """node -> the edges that end at it, in the order in which they came: a set of strings would be
    in another order in each process"""
    _ties: Counter[tuple[_Tie, str, str]] = field(default_factory=Counter)
    """(tie, PD, what it is tied to) -> the number of edges that tie it; never 0"""
    _below: dict[str, dict[str, None]] = field(default_factory=dict)
    """node -> the nodes that it maps to"""
    _labels: dict[str, int] = field(default_factory=dict)
    """node -> its label in the digest; also of nodes that are gone, which get no other one"""
    _total: int = 0
    """the sum of the terms of all nodes and edges"""
    rows: int = 0
    """how many rows the text of the state has, without that of the columns"""

    def copy(self) -> Self:
        copied = super().copy()
        copied._members = {space: set(members) for space, members in self._members.items()}
        copied._near = {node: dict(edges) for node, edges in self._near.items()}
        copied._ties = self._ties.copy()
        copied._below = {node: dict(lowers) for node, lowers in self._below.items()}
        copied._labels, copied._total, copied.rows = self._labels, self._total, self.rows
        return copied

    # -- the digest

    def digest(self) -> str:
        """The digest of the state, as an event tells it."""
        return f"{self._total % 2**64:016x}"

    def _tally(self, kind: str, a: str, b: str, times: int = 1, handler: int = 0) -> None:
        """An edge, or so many of it, come; or go, if times is negative."""
        self._total += times * term(kind, self._labels[a], self._labels[b], handler)
        if kind != "MANAGE":  # which follows from others
            self.rows += times

    def _tally_node(self, node: str, times: int = 1) -> None:
        self._total += times * term("NODE", self._labels[node], int(self.nodes[node].pinned))
        self.rows += times

    # -- queries

    def resources_in(self, space: str) -> list[str]:
        return sorted(self._members.get(space, ()))

    def built_on(self, node: str) -> Collection[str]:
        """The nodes to which a node maps."""
        return self._below.get(node, {})

    def edges_at(self, node: str) -> Collection[tuple[str, str, str]]:
        """The edges that end at a node: (kind, source, target)."""
        return self._near.get(node, {})

    def asks_for(self, pd: str, type_name: str) -> bool:
        """Whether the PD has a REQUEST to a space of that type."""
        return ("type", pd, type_name) in self._ties

    def is_client_of(self, pd: str, manager: str) -> bool:
        """Whether the PD has a REQUEST to a space that `manager` manages."""
        return ("manager", pd, manager) in self._ties

    def depends_on(self, pd: str, space: str) -> bool:
        """Whether the PD has a REQUEST to the space, or holds the space or a resource in it."""
        return (
            (pd, space) in self.requests
            or (pd, space) in self.holds
            or ("resources", pd, space) in self._ties
        )

    def sources(self, kind: str, node: str) -> set[str]:
        """The nodes from which an edge of that kind runs to the node."""
        edges = self._near.get(node, ())
        return {source for its, source, target in edges if (its, target) == (kind, node)}

    def counted_holds(self, node: str) -> int:
        """The HOLDs of the node by all PDs, each as often as it is counted."""
        edges = self._near.get(node, ())
        holders = (pd for kind, pd, held in edges if (kind, held) == ("HOLD", node))
        return sum(self.holds[pd, node] for pd in holders)

    def bodies(self) -> int:
        """The number of resources that stand for the bodies of PDs."""
        return len(self._bodies)

    # -- nodes

    def add_pd(self, pd: str, name: str = "", *, pinned: bool = False, extra: str = "") -> None:
        super().add_pd(pd, name, pinned=pinned, extra=extra)
        self._labels[pd] = label(pd, name)
        self._tally_node(pd)

    def add_space(self, space: str, manager: str, *, extra: str = "") -> None:
        super().add_space(space, manager, extra=extra)
        self._labels[space] = label(space, self.nodes[space].type)
        self._tally_node(space)
        self._tally("MANAGE", manager, space)

    def add_resource(self, res: str, space: str, *, extra: str = "") -> None:
        super().add_resource(res, space, extra=extra)
        self._members.setdefault(space, set()).add(res)
        self._labels[res] = label(res, self.nodes[res].type)
        self._tally_node(res)
        self._tally("SUBSET", res, space)

    def set_pinned(self, pd: str, pinned: bool) -> None:
        if self._need(pd, "PD").pinned != pinned:
            self._tally_node(pd, -1)
            super().set_pinned(pd, pinned)
            self._tally_node(pd)

    def discard(self, gone: Iterable[str]) -> None:
        for node in gone:
            for kind, source, target in list(self._near.get(node, ())):
                self._cut(kind, source, target)
            space = self.space_of.pop(node, None)
            if space is not None:
                self._members.get(space, set()).discard(node)
                self._forget_body(node)
                self._tally("SUBSET", node, space, -1)
            manager = self.manager.pop(node, None)
            if manager is not None:
                self._tally("MANAGE", manager, node, -1)
            if node in self.nodes:
                self._tally_node(node, -1)
                del self.nodes[node]
            self._members.pop(node, None)

    def _cut(self, kind: str, source: str, target: str) -> None:
        """Removes an edge whatever its count."""
        if kind == "HOLD":
            self._tally(kind, source, target, -self.holds.pop((source, target)))
        elif kind == "SUBSCRIBE":
            for handler, count in self.subscriptions(source, target).items():
                self.handlers.pop((source, target, handler), None)
                self._tally(kind, source, target, -count, handler)
            del self.subscribes[source, target]
        elif kind == "FAULT":
            del self.faults[source]
        else:
            edges = {
                "REQUEST": self.requests,
                "MAP": self.maps,
                "LINK": self.links,
                "OWN": self.owns,
            }
            edges[kind].remove((source, target))
        self.read_only.discard((source, target))
        self._part(kind, source, target)

    # -- edges

    def _join(self, kind: str, source: str, target: str) -> None:
        if (kind, source, target) in self._near.get(source, {}):
            return  # one more of an edge that is counted
        for end in (source, target):
            self._near.setdefault(end, {})[kind, source, target] = None
        for tie in self._ties_of(kind, source, target):
            self._ties[tie] += 1
        if kind not in _COUNTED:
            self._tally(kind, source, target)
        if kind == "MAP":
            self._below.setdefault(source, {})[target] = None

    def _part(self, kind: str, source: str, target: str) -> None:
        for end in {source, target}:  # a PD may subscribe to itself
            edges = self._near[end]
            del edges[kind, source, target]
            if not edges:
                del self._near[end]
        for tie in self._ties_of(kind, source, target):
            self._ties[tie] -= 1
            if not self._ties[tie]:
                del self._ties[tie]
        if kind not in _COUNTED:
            self._tally(kind, source, target, -1)
        if kind == "MAP":
            del self._below[source][target]
            if not self._below[source]:
                del self._below[source]

    def _ties_of(self, kind: str, source: str, target: str) -> Iterator[tuple[_Tie, str, str]]:
        """What an edge ties its PD to."""
        if kind == "REQUEST":
            yield "type", source, self.nodes[target].type
            yield "manager", source, self.manager[target]
        elif kind == "HOLD" and target in self.space_of:
            yield "resources", source, self.space_of[target]

    def add_hold(self, pd: str, node: str, count: int = 1) -> None:
        super().add_hold(pd, node, count)
        self._join("HOLD", pd, node)
        self._tally("HOLD", pd, node, count)

    def drop_hold(self, pd: str, node: str, count: int = 1) -> None:
        super().drop_hold(pd, node, count)
        self._tally("HOLD", pd, node, -count)
        if (pd, node) not in self.holds:
            self._part("HOLD", pd, node)

    def add_request(self, pd: str, space: str) -> None:
        super().add_request(pd, space)
        self._join("REQUEST", pd, space)

    def drop_request(self, pd: str, space: str) -> None:
        super().drop_request(pd, space)
        self._part("REQUEST", pd, space)

    def add_map(self, upper: str, lower: str) -> None:
        super().add_map(upper, lower)
        self._join("MAP", upper, lower)

    def drop_map(self, upper: str, lower: str) -> None:
        super().drop_map(upper, lower)
        self._part("MAP", upper, lower)

    def set_fault(self, pd: str, handler: str) -> None:
        super().set_fault(pd, handler)
        if handler != ROOT:
            self._join("FAULT", pd, handler)

    def drop_fault(self, pd: str) -> None:
        handler = self.faults.get(pd, "")
        super().drop_fault(pd)
        self._part("FAULT", pd, handler)

    def add_link(self, a: str, b: str) -> None:
        super().add_link(a, b)
        self._join("LINK", min(a, b), max(a, b))

    def drop_link(self, a: str, b: str) -> None:
        super().drop_link(a, b)
        self._part("LINK", min(a, b), max(a, b))

    def add_own(self, creator: str, created: str) -> None:
        super().add_own(creator, created)
        self._join("OWN", creator, created)

    def drop_own(self, creator: str, created: str) -> None:
        super().drop_own(creator, created)
        self._part("OWN", creator, created)

    def add_subscribe(self, pd: str, node: str, count: int = 1, handler: int = 0) -> None:
        super().add_subscribe(pd, node, count, handler)
        self._join("SUBSCRIBE", pd, node)
        self._tally("SUBSCRIBE", pd, node, count, handler)

    def drop_subscribe(self, pd: str, node: str, count: int = 1, handler: int = 0) -> None:
        super().drop_subscribe(pd, node, count, handler)
        self._tally("SUBSCRIBE", pd, node, -count, handler)
        if (pd, node) not in self.subscribes:
            self._part("SUBSCRIBE", pd, node)
