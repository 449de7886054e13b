# SPDX-License-Identifier: BSD-2-Clause
"""A model in a C arena, addressed by ids as text."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import Any

from cellreap.errors import UsageError
from cellreap.model.core.library import CoreError, allocator, load_core, names_of
from cellreap.model.ids import CORE_TYPES, REGION, ROOT, parse_id


class Arena:
    """A cr_model in memory of its own.

    The core does not know ids as text, so this class keeps the id of each cr_ref.
    """

    def __init__(self, max_nodes: int, max_edges: int) -> None:
        self.ffi, self.lib = load_core()
        self._ref_type = self.ffi.typeof("cr_ref *")
        self._kinds: dict[str, int] = {}
        size = self.lib.cr_model_bytes(max_nodes, max_edges)
        self._memory = allocator()("uint64_t[]", (size + 7) // 8)
        out = self.ffi.new("cr_model **")
        status = self.lib.cr_model_init(self._memory, size, max_nodes, max_edges, out)
        self._try(status, "making a model")
        self.model = out[0]
        self.arena = self.ffi.buffer(self._memory, size)
        self._each: dict[str, Any] = {}
        self._pds: set[str] = set()
        self._keep: list[Any] = []
        self._by_ref: dict[tuple[int, int], str] = {}
        self._at_once: dict[str, int] = {}
        """node that was made by add_nodes and is not in _each yet -> its position in _made"""
        self._made: Any = None
        self._ordered: list[str] = []
        """the ids of those nodes"""
        self._types: dict[str, int] = {}

    # -- building

    def add_pd(self, id_: str, pinned: bool = False) -> None:
        """Adds a PD. `PD_0` becomes the root task."""
        parts = parse_id(id_)
        if parts is None or parts.kind != "PD":
            raise UsageError(f"'{id_}' is no id of a PD")
        flags = (self.lib.CR_FLAG_ROOT if id_ == ROOT else 0) | (
            self.lib.CR_FLAG_PINNED if pinned else 0
        )
        self._add(id_, lambda out: self.lib.cr_model_add_pd(self.model, parts.number, flags, out))
        self._pds.add(id_)

    def flags_of_space(self, type_: str) -> int:
        """The flags of a space of the type."""
        core: int = self.lib.CR_FLAG_CORE if type_ in CORE_TYPES else 0
        regions: int = self.lib.CR_FLAG_REGIONS if type_ == REGION else 0
        return core | regions

    def add_space(self, id_: str, manager: str) -> None:
        """Adds a space. The type in its id decides whether it is a core space."""
        parts = parse_id(id_)
        if parts is None or parts.kind != "RESOURCE_SPACE":
            raise UsageError(f"'{id_}' is no id of a space")
        number = self._types.setdefault(parts.type, len(self._types))
        flags = self.flags_of_space(parts.type)
        ref = self.ref(manager)
        self._add(
            id_,
            lambda out: self.lib.cr_model_add_space(
                self.model, number, parts.number, flags, ref, out
            ),
        )

    def add_resource(self, id_: str, space: str) -> None:
        """Adds a resource to a space."""
        parts = parse_id(id_)
        if parts is None or parts.kind != "RESOURCE":
            raise UsageError(f"'{id_}' is no id of a resource")
        ref = self.ref(space)
        self._add(
            id_, lambda out: self.lib.cr_model_add_resource(self.model, ref, parts.number, out)
        )

    def add_edge(self, kind: str, from_: str, to: str, count: int = 1, handler: int = 0) -> None:
        """Adds `count` edges of a kind, named as in docs/semantics.md, for example `HOLD`.

        handler: of a SUBSCRIBE edge; else 0.
        """
        if handler:
            self.subscribe(from_, to, handler, count)
            return
        number, a, b = self._kind(kind), self.ref(from_), self.ref(to)
        for _ in range(count):
            if status := self.lib.cr_model_add_edge(self.model, number, a, b):
                self._try(status, f"adding {kind} from {from_} to {to}")

    def drop_edge(self, kind: str, from_: str, to: str) -> None:
        """Subtracts one from the count of an edge."""
        status = self.lib.cr_model_drop_edge(
            self.model, self._kind(kind), self.ref(from_), self.ref(to)
        )
        self._try(status, f"dropping {kind} from {from_} to {to}")

    def subscribe(self, pd: str, node: str, handler: int, count: int = 1) -> None:
        """Adds `count` subscriptions with a handler."""
        for _ in range(count):
            status = self.lib.cr_model_subscribe(self.model, self.ref(pd), self.ref(node), handler)
            self._try(status, f"subscribing {pd} to {node}")

    def unsubscribe(self, pd: str, node: str, handler: int) -> None:
        """Drops one subscription with this handler."""
        status = self.lib.cr_model_unsubscribe(self.model, self.ref(pd), self.ref(node), handler)
        self._try(status, f"dropping the subscription of {pd} to {node}")

    def subscriptions(self, pd: str, node: str) -> dict[int, int]:
        """The counts of a PD's subscriptions to a node by handler."""
        ends = self.ref(pd), self.ref(node)
        counts = {
            handler: int(self.lib.cr_model_subscriptions(self.model, *ends, handler))
            for handler in range(self.lib.CR_HANDLER_COUNT)
        }
        return {handler: count for handler, count in counts.items() if count}

    def handlers(self, pd: str, node: str) -> int:
        """The handlers of a PD's subscriptions to a node: bit n for handler n."""
        return int(self.lib.cr_model_handlers(self.model, self.ref(pd), self.ref(node)))

    def cut_edge(self, kind: str, from_: str, to: str) -> None:
        """Removes an edge whatever its count."""
        status = self.lib.cr_model_cut_edge(
            self.model, self._kind(kind), self.ref(from_), self.ref(to)
        )
        self._try(status, f"cutting {kind} from {from_} to {to}")

    def add_nodes(self, rows: Sequence[tuple[str, int, int, int, int, int]]) -> None:
        """Adds all nodes of an empty arena: (id, kind, type, number, flags, position of the parent)
        of each, as cr_bulk_node has them. The ids must differ.
        """
        ffi, n = self.ffi, len(rows)
        nodes, self._made = array("I"), allocator()("cr_ref[]", max(1, n))
        for row in rows:
            nodes.extend(row[1:])
        made = ffi.new("uint32_t *")
        given = ffi.cast("cr_bulk_node *", ffi.from_buffer(nodes))
        status = self.lib.cr_bulk_nodes(self.model, given, n, self._made, made)
        if status:
            self._try(status, f"adding {rows[made[0]][0]}")
        self._ordered = [row[0] for row in rows]
        self._at_once = {id_: place for place, id_ in enumerate(self._ordered)}
        if any(self._made[place].index != place for place in range(n)):
            self.refs  # noqa: B018 - entries were in use before, and the free ones are in any order
        self._pds.update(row[0] for row in rows if row[1] == self.lib.CR_NODE_PD)

    def add_edges(self, edges: array[int]) -> None:
        """Adds edges between the nodes that add_nodes added, as cr_bulk_edges takes them."""
        ffi, made = self.ffi, self.ffi.new("uint32_t *")
        given = ffi.cast("uint64_t *", ffi.from_buffer(edges))
        n = len(self._ordered)
        status = self.lib.cr_bulk_edges(self.model, given, len(edges), self._made, n, made)
        if status:
            self._try(status, f"adding edge {made[0]} of {len(edges)}")

    # -- queries

    @property
    def refs(self) -> dict[str, Any]:
        """Id -> its cr_ref, of all nodes."""
        if self._at_once:
            for id_, place in self._at_once.items():
                ref = self._each[id_] = self._made[place]
                self._by_ref[ref.index, ref.generation] = id_
            self._at_once = {}
        return self._each

    @property
    def _ids(self) -> dict[tuple[int, int], str]:
        self.refs  # noqa: B018 - those of add_nodes too
        return self._by_ref

    def ref(self, id_: str) -> Any:
        """The cr_ref of a node."""
        try:
            place = self._at_once.get(id_)
            return self._each[id_] if place is None else self._made[place]
        except KeyError:
            raise UsageError(f"there is no {id_}") from None

    def id_of(self, ref: Any) -> str:
        """The id for which a cr_ref was made."""
        if self._at_once and self._made[ref.index].generation == ref.generation:
            return self._ordered[int(ref.index)]
        return self._ids[ref.index, ref.generation]

    def type_number(self, name: str) -> int:
        """The number of a type that a space or resource has."""
        return self._types[name]

    def get(self, id_: str) -> Any:
        """The node's cr_node_info."""
        out = self.ffi.new("cr_node_info *")
        self._try(self.lib.cr_model_get(self.model, self.ref(id_), out), f"looking at {id_}")
        return out

    def count(self, kind: str, from_: str, to: str) -> int:
        """The count of an edge; 0 if there is none."""
        return int(
            self.lib.cr_model_count(self.model, self._kind(kind), self.ref(from_), self.ref(to))
        )

    def edges(self) -> dict[tuple[str, str, str], int]:
        """Every edge with its count, by (kind, from, to). The ends of a LINK are sorted.

        Walks the edge lists from both ends. CoreError if the two directions disagree.
        """
        seen: list[dict[tuple[str, str, str], int]] = [{}, {}]
        info, walk = self.ffi.new("cr_edge_info *"), self.ffi.new("cr_edge_walk *")
        for kind, name in names_of("cr_edge_kind", "CR_EDGE_").items():
            if kind == self.lib.CR_EDGE_KIND_COUNT:
                continue
            for ref in self.refs.values():
                for direction in (self.lib.CR_OUT, self.lib.CR_IN):
                    walk[0] = self.lib.cr_model_walk(self.model, ref, kind, direction)
                    while self.lib.cr_model_next(walk):
                        self._try(
                            self.lib.cr_model_edge(self.model, walk.edge, info),
                            f"looking at edge {walk.edge}",
                        )
                        # `from` is a keyword of Python.
                        ends = [self.id_of(getattr(info, "from")), self.id_of(info.to)]
                        a, b = sorted(ends) if name == "link" else ends
                        key = name.upper() + (f":{info.handler}" if info.handler else ""), a, b
                        seen[direction][key] = info.count
        if seen[0] != seen[1]:
            raise CoreError("CR_ERR_CORRUPT", "walking the edges from both ends")
        return seen[0]

    def touched(self) -> tuple[int, int]:
        """(nodes, edges) that the core has looked at since reset_touched."""
        stats = self.lib.cr_model_get_stats(self.model)
        return stats.touched_nodes, stats.touched_edges

    def reset_touched(self) -> None:
        """Sets the touched counters to 0."""
        self.lib.cr_model_reset_touched(self.model)

    def check(self) -> None:
        """Raises CoreError if an invariant of the arena does not hold."""
        self._try(self.lib.cr_model_check(self.model), "checking the arena")

    # -- helpers

    def _kind(self, kind: str) -> int:
        number = self._kinds.get(kind)
        if number is None:
            number = getattr(self.lib, f"CR_EDGE_{kind}", None)
            if number is None:
                raise UsageError(f"'{kind}' is no kind of edge")
            self._kinds[kind] = number = int(number)
        return number

    def _add(self, id_: str, make: Callable[[Any], int]) -> None:
        if id_ in self.refs:
            raise UsageError(f"{id_} exists already")
        out = self.ffi.new(self._ref_type)
        if status := make(out):
            self._try(status, f"adding {id_}")
        self.refs[id_] = out[0]
        self._ids[out.index, out.generation] = id_
        self._keep.append(out)  # keeps the memory that out[0] refers to

    def _try(self, status: int, doing: str) -> None:
        if status != self.lib.CR_OK:
            raise CoreError(self.ffi.typeof("cr_status").elements[status], doing)
