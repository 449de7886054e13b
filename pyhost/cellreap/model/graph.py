# SPDX-License-Identifier: BSD-2-Clause
"""The model state on the host: the live PDs, spaces and resources, and the edges between them.

A `Model` holds live nodes only. A node that a cleanup destroyed is not in it. Other code may read
the dictionaries but must change them through the methods, which refuse invalid changes.
`check_legal` lists everything that makes the state as a whole illegal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Self, TypeVar

from cellreap.errors import ModelError
from cellreap.model.ids import ROOT
from cellreap.model.legal import Violation, violations
from cellreap.model.nodes import DOOMED, MANAGER, PINNED, Node, Nodes
from cellreap.model.tombstones import Tombstone
from cellreap.unknown import Unknown

__all__ = ["DOOMED", "MANAGER", "PINNED", "Edge", "Model", "Node", "Violation"]


HANDLERS: Final = 32
"""The numbers of handlers: from 0, which is none, to this number less 1."""
DESTRUCTOR: Final = 31
"""The handler with which a PD that has a destructor subscribes to itself."""

_AnyModel = TypeVar("_AnyModel", bound="Model")


class Edge(NamedTuple):
    """An edge of a model.

    kind: its name in `edges.EDGE_KINDS`. times: its count; 1 unless the kind is counted. handler:
    of a SUBSCRIBE edge; else 0. read_only: to a memory object, without the right to write.
    """

    kind: str
    source: str
    target: str
    times: int = 1
    handler: int = 0
    read_only: bool = False


@dataclass
class Model(Nodes):
    """The state. Keys and values of all mappings are node ids."""

    holds: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(PD, resource or space) -> count; never 0"""
    requests: set[tuple[str, str]] = field(default_factory=set)
    """(PD, space)"""
    maps: set[tuple[str, str]] = field(default_factory=set)
    """(built, built on): both resources or both spaces"""
    read_only: set[tuple[str, str]] = field(default_factory=set)
    """those of `holds` and `maps` to a memory object that come without the right to write"""
    faults: dict[str, str] = field(default_factory=dict)
    """PD -> its fault handler; no entry if the root task handles its faults"""
    links: set[tuple[str, str]] = field(default_factory=set)
    """pairs of PDs, each pair sorted and only once"""
    owns: set[tuple[str, str]] = field(default_factory=set)
    """(creator, created)"""
    subscribes: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(PD, PD or space) -> count, with whatever handler; never 0"""
    handlers: Counter[tuple[str, str, int]] = field(default_factory=Counter)
    """(PD, PD or space, handler) -> count of those of the subscriptions that name a handler, which
    is at least 1; never 0"""
    tombstones: dict[str, Tombstone] = field(default_factory=dict)
    """what is still known of destroyed nodes, by id; they are no nodes of the state"""
    unknown: tuple[Unknown, ...] = field(default=(), compare=False)
    """what the source of the state leaves open; empty if it tells everything"""
    possible: frozenset[tuple[str, str]] = field(default=frozenset(), compare=False)
    """those of `requests` that PDs may make, and of which it is not known whether they do"""

    def copy(self) -> Self:
        """An independent copy."""
        return self._copied(type(self))

    def _copied(self, kind: type[_AnyModel]) -> _AnyModel:
        return kind(
            _bodies=dict(self._bodies),
            nodes=dict(self.nodes),
            manager=dict(self.manager),
            space_of=dict(self.space_of),
            holds=self.holds.copy(),
            requests=set(self.requests),
            maps=set(self.maps),
            read_only=set(self.read_only),
            faults=dict(self.faults),
            links=set(self.links),
            owns=set(self.owns),
            subscribes=self.subscribes.copy(),
            handlers=self.handlers.copy(),
            tombstones=dict(self.tombstones),
            unknown=self.unknown,
            possible=self.possible,
        )

    def certain(self) -> Self:
        """A copy without the requests of which it is not known whether PDs make them."""
        model = self.copy()
        for pd, space in self.possible:
            model.drop_request(pd, space)
        return model

    def plain_copy(self) -> Model:
        """An independent copy without indexes."""
        return self._copied(Model)

    def remove_pd(self, pd: str) -> None:
        """Removes a PD with its edges.

        The PD must not manage a space and must not be the root task.
        """
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
        """Removes a resource with its edges, even if PDs hold it."""
        self._need(res, "RESOURCE")
        self.discard({res})

    def discard(self, gone: Iterable[str]) -> None:
        """Removes nodes and every edge that ends at one of them, in one pass. Unknown ids are
        ignored.

        The caller must name all nodes to be removed: the resources of a space are not removed with
        it.
        """
        dead = set(gone)

        def live(pair: tuple[str, str]) -> bool:
            return pair[0] not in dead and pair[1] not in dead

        self.nodes = {id_: node for id_, node in self.nodes.items() if id_ not in dead}
        self.manager = {space: pd for space, pd in self.manager.items() if space not in dead}
        self.space_of = {res: space for res, space in self.space_of.items() if res not in dead}
        for node in dead:
            self._forget_body(node)
        self.holds = Counter({pair: count for pair, count in self.holds.items() if live(pair)})
        self.requests = set(filter(live, self.requests))
        self.maps = set(filter(live, self.maps))
        self.read_only = set(filter(live, self.read_only))
        self.faults = {pd: handler for pd, handler in self.faults.items() if live((pd, handler))}
        self.links = set(filter(live, self.links))
        self.owns = set(filter(live, self.owns))
        self.subscribes = Counter(
            {pair: count for pair, count in self.subscribes.items() if live(pair)}
        )
        self.handlers = Counter(
            {key: count for key, count in self.handlers.items() if live((key[0], key[1]))}
        )

    # -- edges

    def add_hold(self, pd: str, node: str, count: int = 1) -> None:
        """Adds `count` capabilities of the PD to a resource or space."""
        self._need(pd, "PD")
        self._need(node, "RESOURCE", "RESOURCE_SPACE")
        _positive(count)
        self.holds[pd, node] += count

    def drop_hold(self, pd: str, node: str, count: int = 1) -> None:
        """Takes `count` capabilities to the node from the PD. ModelError if it has fewer."""
        _take(self.holds, (pd, node), count, "HOLD")
        if (pd, node) not in self.holds:
            self.read_only.discard((pd, node))

    def cut_hold(self, pd: str, node: str) -> None:
        """Removes all capabilities of the PD to the node. ModelError if it has none."""
        self.drop_hold(pd, node, max(1, self.holds.get((pd, node), 0)))

    def add_request(self, pd: str, space: str) -> None:
        """Allows the PD to ask the space's manager for resources."""
        self._need(pd, "PD")
        self._need(space, "RESOURCE_SPACE")
        _put(self.requests, (pd, space), "REQUEST")

    def drop_request(self, pd: str, space: str) -> None:
        """Removes the REQUEST edge. ModelError if there is none."""
        _remove(self.requests, (pd, space), "REQUEST")

    def add_map(self, upper: str, lower: str) -> None:
        """Records that `upper` is built on `lower`. Both are resources or both are spaces."""
        kind = self._need(upper, "RESOURCE", "RESOURCE_SPACE").kind
        self._need(lower, kind)
        if upper == lower:
            raise ModelError(f"{upper} cannot map to itself")
        _put(self.maps, (upper, lower), "MAP")

    def drop_map(self, upper: str, lower: str) -> None:
        """Removes the MAP edge. ModelError if there is none."""
        _remove(self.maps, (upper, lower), "MAP")
        self.read_only.discard((upper, lower))

    def tell_right(self, user: str, memory: str, may_write: bool) -> None:
        """Sets whether a PD that holds a memory object, or a resource that maps it, may write."""
        if (user, memory) not in self.holds and (user, memory) not in self.maps:
            raise ModelError(f"there is no edge from {user} to {memory}")
        self.read_only.discard((user, memory))
        if not may_write:
            self.read_only.add((user, memory))

    def set_fault(self, pd: str, handler: str) -> None:
        """Makes `handler` the fault handler of a PD that has none.

        If `handler` is the root task, no edge is added.
        """
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
        """Makes the root task the fault handler of the PD again."""
        if pd not in self.faults:
            raise ModelError(f"there is no FAULT edge from {pd}")
        del self.faults[pd]

    def add_link(self, a: str, b: str) -> None:
        """Links two PDs: a cleanup that dooms one dooms the other."""
        self._need(a, "PD")
        self._need(b, "PD")
        if ROOT in (a, b):
            raise ModelError(f"{ROOT} is the root task: it cannot be linked")
        if a == b:
            raise ModelError(f"{a} cannot be linked with itself")
        _put(self.links, (min(a, b), max(a, b)), "LINK")

    def drop_link(self, a: str, b: str) -> None:
        """Removes the LINK edge. The order of the ends does not matter."""
        _remove(self.links, (min(a, b), max(a, b)), "LINK")

    def add_own(self, creator: str, created: str) -> None:
        """Records that `creator` created `created`."""
        self._need(creator, "PD")
        self._need(created, "PD")
        if created == ROOT:
            raise ModelError(f"{ROOT} is the root task: nobody created it")
        if creator == created:
            raise ModelError(f"{creator} cannot have created itself")
        _put(self.owns, (creator, created), "OWN")

    def drop_own(self, creator: str, created: str) -> None:
        """Removes the OWN edge. ModelError if there is none."""
        _remove(self.owns, (creator, created), "OWN")

    def add_subscribe(self, pd: str, node: str, count: int = 1, handler: int = 0) -> None:
        """Adds `count` subscriptions: the PD is notified before the PD or space is destroyed.

        handler: what the notice names; 0 if the subscription has none.
        """
        self._need(pd, "PD")
        self._need(node, "PD", "RESOURCE_SPACE")
        if pd == ROOT:
            raise ModelError(f"{ROOT} is the root task: it subscribes to nothing")
        _positive(count)
        if not 0 <= handler < HANDLERS:
            raise ModelError(f"the handler {handler} is not from 0 to {HANDLERS - 1}")
        self.subscribes[pd, node] += count
        if handler:
            self.handlers[pd, node, handler] += count

    def drop_subscribe(self, pd: str, node: str, count: int = 1, handler: int = 0) -> None:
        """Removes subscriptions with this handler. ModelError if there are fewer."""
        _positive(count)
        have = self.subscriptions(pd, node).get(handler, 0)
        if have < count:
            raise ModelError(
                f"SUBSCRIBE edge from {pd} to {node} with handler {handler}: {have} there, {count} "
                "to be dropped"
            )
        _take(self.subscribes, (pd, node), count, "SUBSCRIBE")
        if handler:
            self.handlers[pd, node, handler] -= count
            if have == count:
                del self.handlers[pd, node, handler]

    def subscriptions(self, pd: str, node: str) -> dict[int, int]:
        """The counts of a PD's subscriptions to a node by handler, in ascending order; never 0."""
        every = self.subscribes.get((pd, node), 0)
        if not self.handlers:
            return {0: every} if every else {}
        named = {
            handler: self.handlers[pd, node, handler]
            for handler in range(1, HANDLERS)
            if (pd, node, handler) in self.handlers
        }
        plain = every - sum(named.values())
        return {0: plain, **named} if plain else named

    def handlers_told(self, pd: str, node: str) -> int:
        """The handlers that the notice before the end of a node names: bit n for handler n."""
        return sum(1 << handler for handler in self.subscriptions(pd, node))

    # -- the whole state

    def edges(self) -> Iterator[Edge]:
        """All edges except SUBSET (`space_of`) and the manager of a space (`manager`)."""
        reads = self.read_only
        yield from (Edge("HOLD", *at, count, 0, at in reads) for at, count in self.holds.items())
        yield from (Edge("REQUEST", pd, space) for pd, space in self.requests)
        yield from (Edge("MAP", *at, 1, 0, at in reads) for at in self.maps)
        yield from (Edge("FAULT", pd, handler) for pd, handler in self.faults.items())
        yield from (Edge("LINK", a, b) for a, b in self.links)
        yield from (Edge("OWN", creator, created) for creator, created in self.owns)
        yield from (
            Edge("SUBSCRIBE", pd, node, count, handler)
            for pd, node in self.subscribes
            for handler, count in self.subscriptions(pd, node).items()
        )

    def check_legal(self) -> list[Violation]:
        """Everything that makes the state illegal, sorted; empty if it is legal."""
        return violations(self)


def _positive(count: int) -> None:
    if count < 1:
        raise ModelError(f"a count of {count} makes no edge")


def _take(edges: Counter[tuple[str, str]], pair: tuple[str, str], count: int, name: str) -> None:
    _positive(count)
    have = edges.get(pair, 0)
    if have < count:
        raise ModelError(
            f"{name} edge from {pair[0]} to {pair[1]}: {have} there, {count} to be dropped"
        )
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
