# SPDX-License-Identifier: BSD-2-Clause
"""A model state with indexes: the cost of an operation depends on the edges of its node only.

`Model` finds the edges of a node, the resources of a space and the body of a PD by a search through
all of them. That is simple and fast enough for one plan. The checker replays long histories and
needs the indexes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Self

from cellreap.model.graph import Model
from cellreap.model.ids import ROOT, parse_id

_Edge = tuple[str, str, str]
"""(kind, source, target)."""


@dataclass(eq=False)
class IndexedModel(Model):
    """A `Model` that changes through its methods only. A direct change of a dictionary breaks an
    index.
    """

    _members: dict[str, set[str]] = field(default_factory=dict)
    """space -> its resources"""
    _bodies: dict[int, str] = field(default_factory=dict)
    """number of a PD -> the resource that stands for its body"""
    _near: dict[str, set[_Edge]] = field(default_factory=dict)
    """node -> the edges that end at it"""
    _below: dict[str, dict[str, None]] = field(default_factory=dict)
    """node -> the nodes that it maps to"""

    def copy(self) -> Self:
        copied = super().copy()
        copied._members = {space: set(members) for space, members in self._members.items()}
        copied._bodies = dict(self._bodies)
        copied._near = {node: set(edges) for node, edges in self._near.items()}
        copied._below = {node: dict(lowers) for node, lowers in self._below.items()}
        return copied

    # -- queries

    def resources_in(self, space: str) -> list[str]:
        return sorted(self._members.get(space, ()))

    def built_on(self, node: str) -> Collection[str]:
        """The nodes to which a node maps."""
        return self._below.get(node, {})

    def edges_at(self, node: str) -> Collection[tuple[str, str, str]]:
        """The edges that end at a node: (kind, source, target)."""
        return self._near.get(node, ())

    def bodies(self) -> int:
        """The number of resources that stand for the bodies of PDs."""
        return len(self._bodies)

    def _body_resource(self, number: int) -> str | None:
        return self._bodies.get(number)

    # -- nodes

    def add_resource(self, res: str, space: str, *, extra: str = "") -> None:
        super().add_resource(res, space, extra=extra)
        self._members.setdefault(space, set()).add(res)
        number = self._body_number(res, space)
        if number is not None:
            self._bodies[number] = res

    def discard(self, gone: Iterable[str]) -> None:
        for node in gone:
            for kind, source, target in list(self._near.get(node, ())):
                self._cut(kind, source, target)
            space = self.space_of.pop(node, None)
            if space is not None:
                self._members.get(space, set()).discard(node)
                parts = parse_id(node)
                if parts is not None and self._bodies.get(parts.number) == node:
                    del self._bodies[parts.number]
            self.manager.pop(node, None)
            self.nodes.pop(node, None)
            self._members.pop(node, None)

    def _cut(self, kind: str, source: str, target: str) -> None:
        """Removes an edge whatever its count."""
        if kind == "HOLD":
            del self.holds[source, target]
        elif kind == "SUBSCRIBE":
            for handler in self.subscriptions(source, target):
                self.handlers.pop((source, target, handler), None)
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
        self._part(kind, source, target)

    # -- edges

    def _join(self, kind: str, source: str, target: str) -> None:
        for end in (source, target):
            self._near.setdefault(end, set()).add((kind, source, target))
        if kind == "MAP":
            self._below.setdefault(source, {})[target] = None

    def _part(self, kind: str, source: str, target: str) -> None:
        for end in {source, target}:  # a PD may subscribe to itself
            edges = self._near[end]
            edges.discard((kind, source, target))
            if not edges:
                del self._near[end]
        if kind == "MAP":
            del self._below[source][target]
            if not self._below[source]:
                del self._below[source]

    def add_hold(self, pd: str, node: str, count: int = 1) -> None:
        super().add_hold(pd, node, count)
        self._join("HOLD", pd, node)

    def drop_hold(self, pd: str, node: str, count: int = 1) -> None:
        super().drop_hold(pd, node, count)
        if (pd, node) not in self.holds:
            self._part("HOLD", pd, node)

    def cut_hold(self, pd: str, node: str) -> None:
        super().cut_hold(pd, node)
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

    def drop_subscribe(self, pd: str, node: str, count: int = 1, handler: int = 0) -> None:
        super().drop_subscribe(pd, node, count, handler)
        if (pd, node) not in self.subscribes:
            self._part("SUBSCRIBE", pd, node)
