# SPDX-License-Identifier: BSD-2-Clause
"""The C core with a planner: loads a model of the host into it and returns its plans as `Plan`."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from cellreap.errors import UsageError
from cellreap.model.bulk import no_collection
from cellreap.model.closeness import Closeness
from cellreap.model.core.arena import Arena
from cellreap.model.core.library import CoreError, allocator, names_of
from cellreap.model.graph import Edge, Model
from cellreap.model.ids import ROOT
from cellreap.model.metrics import weight_of
from cellreap.model.plan import Broken, Plan

_FIRST_ROOM: Final = 4096
"""Entries in each list of a plan, before a plan needs more."""


class CoreModel(Arena):
    """A model in a C arena with a planner.

    Raises CoreError for errors of the core, and UsageError for ids that are unknown, malformed or
    already in use. PDs, spaces and resources together are at most `max_nodes`. Besides the edges of
    the model, a space takes one edge for its manager and a resource one edge for its space.
    """

    def __init__(self, max_nodes: int, max_edges: int, max_items: int | None = None) -> None:
        """`max_items` limits the length of a plan's lists. By default the lists of a plan are as
        long as it needs.
        """
        super().__init__(max_nodes, max_edges)
        self._max_nodes = max_nodes
        self._grows = max_items is None
        items = min(max_nodes + max_edges, _FIRST_ROOM) if max_items is None else max_items
        self._make_planner([items] * 4)

    def _make_planner(self, lengths: Sequence[int]) -> None:
        """A planner with this room: doomed nodes, pairs in order, losses, notices."""
        room = self.ffi.new("cr_plan_room *", list(lengths))
        size = self.lib.cr_planner_bytes_for(self._max_nodes, room)
        self._planner_memory = None  # frees the memory of the planner before
        self._planner_memory = allocator()("uint64_t[]", (size + 7) // 8)
        self.planner_bytes = size
        out = self.ffi.new("cr_planner **")
        status = self.lib.cr_planner_init_for(
            self._planner_memory, size, self._max_nodes, room, out
        )
        self._try(status, "making a planner")
        self.planner = out[0]

    @classmethod
    def from_model(cls, model: Model) -> CoreModel:
        """A CoreModel with the same state. Its arena has no room for more."""
        edges = len(model.body_pairs()) + sum(
            map(
                len,
                (
                    model.holds, model.requests, model.maps, model.faults, model.links, model.owns,
                    model.subscribes, model.handlers, model.manager, model.space_of,
                ),
            )
        )  # fmt: skip
        core = cls(max(1, len(model.nodes)), max(1, edges))
        with no_collection():
            core.load(model)
        return core

    def load(self, model: Model, order: Sequence[str] | None = None) -> None:
        """Adds all nodes and edges of a model.

        order: the ids of all nodes. Nodes, then edges, are made in that order, except that a node
        comes after the nodes that it needs: a space after its manager, a resource after its space.
        The order does not change plans, and a test asserts that.
        """
        places = {id_: place for place, id_ in enumerate(model.nodes if order is None else order)}
        for type_name in sorted({node.type for node in model.nodes.values()}):
            self._types.setdefault(type_name, len(self._types))
        if self.lib.cr_model_get_stats(self.model).nodes == 0:
            self._load_at_once(model, places)
            return
        for id_ in places:
            self._make(model, id_)
        self._make_edges(model, places)

    def _load_at_once(self, model: Model, places: dict[str, int]) -> None:
        """As one node and edge after the other, in the same order, in few calls of the core."""
        lib, ordered = self.lib, _parents_first(model, places)
        in_order = ordered == list(places)
        at = places if in_order else {id_: place for place, id_ in enumerate(ordered)}
        pd, space, resource = lib.CR_NODE_PD, lib.CR_NODE_SPACE, lib.CR_NODE_RESOURCE
        root, pinned = lib.CR_FLAG_ROOT, lib.CR_FLAG_PINNED
        rows = []
        for id_ in ordered:
            node = model.nodes[id_]
            number = int(id_[id_.rindex("_") + 1 :], 16)
            if node.kind == "PD":
                flags = (root if id_ == ROOT else 0) | (pinned if node.pinned else 0)
                rows.append((id_, pd, 0, number, flags, 0))
            elif node.kind == "RESOURCE_SPACE":
                flags = self.flags_of_space(node.type)
                parent = at[model.manager[id_]]
                rows.append((id_, space, self._types[node.type], number, flags, parent))
            else:
                rows.append((id_, resource, 0, number, 0, at[model.space_of[id_]]))
        self.add_nodes(rows)
        self.add_edges(self._edges_of(model, places, at))
        for (subscriber, subject, handler), count in model.handlers.items():
            self.subscribe(subscriber, subject, handler, count)

    def _edges_of(self, model: Model, places: dict[str, int], at: dict[str, int]) -> array[int]:
        """The edges of a model, in the order of `places` of their ends. at: in the core."""
        edges: list[int] = []
        from_shift, to_shift = self.lib.CR_BULK_FROM, self.lib.CR_BULK_TO
        for name, pairs in (
            ("HOLD", model.holds.elements()),
            ("REQUEST", model.requests),
            ("MAP", model.maps),
            ("FAULT", model.faults.items()),
            ("LINK", model.links),
            ("OWN", model.owns),
            ("SUBSCRIBE", _plain_subscriptions(model)),
            ("BODY", model.body_pairs()),
        ):
            kind = self._kind(name)
            edges += [at[a] << from_shift | at[b] << to_shift | kind for a, b in pairs]
        edges.sort()
        if at is not places:
            place, mask = [places[id_] for id_ in at], (1 << from_shift - to_shift) - 1
            edges.sort(key=lambda e: (place[e >> from_shift], place[e >> to_shift & mask]))
        return array("Q", edges)

    # -- planning

    def plan(
        self,
        crash: str,
        pd_depth: int | None,
        rs_depth: int | None,
        closeness: CoreCloseness | None = None,
    ) -> Plan:
        """The plan for the crash of a PD.

        Depths: 0, 1, 2, ... or None for unlimited. UsageError if the id is not that of a PD that
        can crash.
        """
        found = Plan.from_json(self.plan_json(crash, pd_depth, rs_depth, closeness))
        return found if closeness is None else replace(found, closeness=closeness.closeness)

    def plan_raw(
        self,
        crash: str,
        pd_depth: int | None,
        rs_depth: int | None,
        closeness: CoreCloseness | None = None,
    ) -> Any:
        """The cr_plan itself. Its arrays are valid until the next plan."""
        by = self.ffi.NULL if closeness is None else closeness.raw
        asked = self.ref(crash), self._depth(pd_depth), self._depth(rs_depth), by
        return self._planned(self.lib.cr_plan_close, asked, f"planning the crash of {crash}")

    def _planned(self, make: Callable[..., int], asked: tuple[Any, ...], what: str) -> Any:
        """The cr_plan that a function of the core makes, in as much memory as it needs."""
        out = self.ffi.new("cr_plan *")
        status = make(self.planner, self.model, *asked, out)
        while status == self.lib.CR_ERR_FULL_PLAN and self._grows:
            wanted = self.lib.cr_planner_wanted(self.planner)
            self._make_planner([wanted.nodes, wanted.order, wanted.losses, wanted.notices])
            status = make(self.planner, self.model, *asked, out)
        self._try(status, what)
        return out

    def subtree(self, top: str, pd_depth: int | None, rs_depth: int | None) -> Plan:
        """The plan for the termination of a PD with all PDs that it created, transitively."""
        asked = self.ref(top), self._depth(pd_depth), self._depth(rs_depth)
        what = f"planning the termination of all that {top} created"
        return Plan.from_json(self._json(self._planned(self.lib.cr_plan_subtree, asked, what)))

    def collect(self, roots: Iterable[str] = ()) -> Plan:
        """The plan of a collection. roots: PDs that are kept for a reason that is no edge."""
        return Plan.from_json(self._json(self.collect_raw(roots)))

    def collect_raw(self, roots: Iterable[str] = ()) -> Any:
        """The cr_plan of a collection, for `spare`."""
        return self._planned(self.lib.cr_plan_collect, self._refs(roots), "planning a collection")

    def spare(self, raw: Any, roots: Iterable[str] = ()) -> Plan:
        """The last plan, a collection, without what is reached by now. Changes `raw`."""
        status = self.lib.cr_plan_spare(self.planner, self.model, *self._refs(roots), raw)
        self._try(status, "planning a collection anew")
        return Plan.from_json(self._json(raw))

    def reconcile(self, unnamed: Iterable[str]) -> Plan:
        """The plan that dooms these PDs and spaces, and the spaces of these PDs."""
        asked = self._refs(unnamed)
        made = self._planned(self.lib.cr_plan_reconcile, asked, "planning a reconciliation")
        return Plan.from_json(self._json(made))

    def replan(self, raw: Any) -> Plan:
        """The last plan, with its consequences computed anew for the current model.

        Changes `raw`. CoreError if `raw` is not the last plan.
        """
        self._try(self.lib.cr_plan_again(self.planner, self.model, raw), "planning again")
        return Plan.from_json(self._json(raw))

    def broken(self, raw: Any) -> tuple[list[Broken], dict[tuple[str, str], int]]:
        """What survivors keep that is built on what goes in this plan, and what each `lost` notice
        (receiver, space) tells of it.
        """
        kept = [
            (self.id_of(one.pd), self.id_of(one.node), self.id_of(one.on))
            for one in raw.broken[0 : raw.n_broken]
        ]
        told = {
            (self.id_of(one.to), self.id_of(one.node)): int(one.number)
            for one in raw.notices[0 : raw.n_notices]
            if one.kind == self.lib.CR_NOTICE_LOST
        }
        return sorted(kept), told

    def plan_json(
        self,
        crash: str,
        pd_depth: int | None,
        rs_depth: int | None,
        closeness: CoreCloseness | None = None,
    ) -> dict[str, Any]:
        """The plan as `plan --json` prints it."""
        return self._json(self.plan_raw(crash, pd_depth, rs_depth, closeness))

    def _json(self, raw: Any) -> dict[str, Any]:
        pds: list[list[Any]] = []
        spaces: list[str] = []
        groups: list[list[str]] = [[] for _ in range(raw.groups)]
        why: dict[str, list[str | None]] = {}
        for i in range(raw.n_doomed):
            doomed = raw.doomed[i]
            id_ = self.id_of(doomed.node)
            if id_ in self._pds:
                pds.append([id_, doomed.pd_depth])
            else:
                spaces.append(id_)
            groups[doomed.group].append(id_)
            why[id_] = [names_of("cr_why", "CR_WHY_")[doomed.why], self._id_or_none(doomed.cause)]
        kinds = names_of("cr_notice_kind", "CR_NOTICE_")
        notices = [
            [
                self.id_of(notice.to),
                kinds[notice.kind],
                self.id_of(notice.node),
                self._id_or_none(getattr(notice, "from")),
            ]
            for notice in raw.notices[0 : raw.n_notices]
        ]
        return {
            "trigger": self._id_or_none(raw.trigger),
            "pd_depth": self._depth_name(raw.pd_depth),
            "rs_depth": self._depth_name(raw.rs_depth),
            "destroyed_pds": sorted(pds),
            "deleted_spaces": sorted(spaces),
            "removed_requests": self._pairs(raw.removed_requests, raw.n_removed_requests),
            "revoked": self._pairs(raw.revoked, raw.n_revoked),
            "revoked_spaces": self._pairs(raw.revoked_spaces, raw.n_revoked_spaces),
            "revoked_bodies": self._pairs(raw.revoked_bodies, raw.n_revoked_bodies),
            "core_freed": sorted(self.id_of(ref) for ref in raw.core_freed[0 : raw.n_core_freed]),
            "notices": sorted(notices),
            "pre_destroy": self._pairs(raw.pre_destroy, raw.n_pre_destroy),
            "groups": [sorted(group) for group in groups],
            "doomed_why": dict(sorted(why.items())),
        }

    # -- helpers

    def _refs(self, ids: Iterable[str]) -> tuple[Any, int]:
        refs = [self.ref(id_) for id_ in sorted(set(ids))]
        array = self.ffi.new("cr_ref[]", max(1, len(refs)))
        for place, ref in enumerate(refs):
            array[place] = ref
        return array, len(refs)

    def _pairs(self, pairs: Any, count: int) -> list[list[str]]:
        return sorted([self.id_of(pair.pd), self.id_of(pair.node)] for pair in pairs[0:count])

    def _id_or_none(self, ref: Any) -> str | None:
        return None if ref.index == self.lib.CR_NONE else self.id_of(ref)

    def _depth(self, depth: int | None) -> int:
        if depth is None:
            return int(self.lib.CR_DEPTH_INF)
        if not 0 <= depth < self.lib.CR_DEPTH_INF:
            raise UsageError(f"a depth of {depth}: expected 0, 1, 2, ... or inf")
        return depth

    def _depth_name(self, depth: int) -> int | str:
        return "inf" if depth == self.lib.CR_DEPTH_INF else depth

    def _make(self, model: Model, id_: str) -> None:
        if id_ in self.refs:
            return
        node = model.nodes[id_]
        if node.kind == "PD":
            self.add_pd(id_, node.pinned)
        elif node.kind == "RESOURCE_SPACE":
            self._make(model, model.manager[id_])
            self.add_space(id_, model.manager[id_])
        else:
            self._make(model, model.space_of[id_])
            self.add_resource(id_, model.space_of[id_])

    def _make_edges(self, model: Model, place: dict[str, int]) -> None:
        edges = [*model.edges(), *(Edge("BODY", pd, body) for pd, body in model.body_pairs())]
        edges.sort(key=lambda edge: (place[edge.source], place[edge.target]))
        for edge in edges:
            self.add_edge(edge.kind, edge.source, edge.target, edge.times, edge.handler)


class CoreCloseness:
    """A policy other than depth alone, as the core takes it, for one CoreModel of this model."""

    def __init__(self, core: CoreModel, model: Model, closeness: Closeness) -> None:
        self.closeness = closeness
        ffi, lib = core.ffi, core.lib
        types = {node.type for node in model.nodes.values()}
        nodes = int(lib.cr_model_get_stats(core.model).max_nodes)
        size = lib.cr_metrics_bytes(nodes, len(types) + 1)
        self._memory = allocator()("uint64_t[]", (size + 7) // 8)
        out = ffi.new("cr_metrics **")
        status = lib.cr_metrics_init(self._memory, size, nodes, len(types) + 1, out)
        if status != lib.CR_OK:
            raise CoreError(ffi.typeof("cr_status").elements[status], "making metrics")
        self._resources = ffi.new("cr_metric_resource[]", nodes)
        for res in model.space_of:
            counted_as = self._resources[core.ref(res).index]
            counted_as.type = core.type_number(model.nodes[res].type)
            counted_as.weight = weight_of(model.nodes[res])
        self._least = ffi.new("cr_rsi_min[]", max(1, len(closeness.rsi_min)))
        for least, (name, shared, every) in zip(self._least, closeness.rsi_min, strict=False):
            least.type = core.type_number(name) if name in types else lib.CR_NONE
            least.shared, least.all = shared, every
        self.raw = ffi.new("cr_closeness *")
        self.raw.policy = getattr(lib, f"CR_POLICY_{closeness.policy.upper()}")
        self.raw.fr_max = lib.CR_FR_UNLIMITED if closeness.fr_max is None else closeness.fr_max
        self.raw.n_rsi_min = len(closeness.rsi_min)
        self.raw.rsi_min = self._least
        self.raw.metrics = out[0]
        self.raw.resources = self._resources


def _parents_first(model: Model, ids: Iterable[str]) -> list[str]:
    """The nodes in this order, except that what a node needs comes before it."""
    ordered: dict[str, None] = {}
    for id_ in ids:
        space = model.space_of.get(id_)
        if space is None or space not in ordered:
            manager = model.manager.get(space or id_)
            if manager is not None:
                ordered[manager] = None
            if space is not None:
                ordered[space] = None
        ordered[id_] = None
    return list(ordered)


def _plain_subscriptions(model: Model) -> Iterable[tuple[str, str]]:
    """(PD, PD or space) of each subscription that names no handler."""
    if not model.handlers:
        return model.subscribes.elements()
    plain = {pair: model.subscriptions(*pair).get(0, 0) for pair in model.subscribes}
    return Counter(plain).elements()
