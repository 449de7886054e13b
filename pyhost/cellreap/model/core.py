# SPDX-License-Identifier: BSD-2-Clause
"""The C core on the host: the root task's own model and planner, loaded through cffi.

Layouts and numbers come from the C headers, which cffi parses; nothing of them is written again here. The
core knows no text ids: `CoreModel` keeps the ids beside the arena and turns plans back into them.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import cffi

from cellreap.errors import CellreapError, UsageError
from cellreap.headers import expand_enums, read_header, source_root
from cellreap.model.graph import Model
from cellreap.model.ids import CORE_TYPES, ROOT, parse_id
from cellreap.model.reference import Plan

LIBRARY_VARIABLE: Final = "CELLREAP_CORE_LIB"
HEADERS: Final = ("status.h", "model.h", "policy.h")
_BUILT: Final = Path("build/host/libcellreap_core.so")


class CoreMissing(CellreapError):
    """The core has not been built, or the library named is none."""


class CoreError(CellreapError):
    """The core refused. `status` is the enumerator's name, `CR_ERR_STALE` say."""

    def __init__(self, status: str, doing: str) -> None:
        self.status = status
        super().__init__(f"core: {doing}: {status}")


def library_path() -> Path:
    """The core's library: $CELLREAP_CORE_LIB, else build/host of the checkout. CoreMissing if it is not
    there."""
    named = os.environ.get(LIBRARY_VARIABLE)
    path = Path(named) if named else source_root() / _BUILT
    if not path.is_file():
        where = f"{LIBRARY_VARIABLE}={path}" if named else str(path)
        raise CoreMissing(f"{where}: no such library; run tools/setup to build the core")
    return path


def declarations(header: str) -> str:
    """A public header as cffi wants it: without comments and preprocessor lines."""
    lines = expand_enums(read_header(header)).splitlines()
    return "\n".join(line for line in lines if not line.lstrip().startswith("#"))


@functools.cache
def load_core(headers: tuple[str, ...] = HEADERS) -> tuple[Any, Any]:
    """cffi's (ffi, lib) for the core, with what these headers declare."""
    ffi = cffi.FFI()
    ffi.cdef("\n".join(declarations(header) for header in headers))
    path = library_path()
    try:
        return ffi, ffi.dlopen(str(path))
    except OSError as error:
        raise CoreMissing(f"{path}: cannot be loaded: {error}") from error


@functools.cache
def _names(enum: str, prefix: str) -> dict[int, str]:
    """number -> name in JSON, of an enum of the headers: CR_NOTICE_PRE_DESTROY -> "pre_destroy"."""
    ffi, _ = load_core()
    elements: dict[int, str] = ffi.typeof(enum).elements
    return {number: name.removeprefix(prefix).lower() for number, name in elements.items()}


@functools.cache
def _allocator() -> Any:
    """ffi.new without the zeroing: the core initialises what it uses, and large limits should cost no
    memory."""
    ffi, _ = load_core()
    return ffi.new_allocator(should_clear_after_alloc=False)


class CoreModel:
    """A model in a C arena, addressed by text ids.

    Errors of the core are raised as CoreError; ids that are unknown, malformed or taken as UsageError.
    Limits are the arena's: PDs, spaces and resources together are at most `max_nodes`. A space takes one
    edge for its manager, a resource one for its space.
    """

    def __init__(self, max_nodes: int, max_edges: int, max_items: int | None = None) -> None:
        """`max_items` bounds each list of a plan; by default no plan can exceed it."""
        self.ffi, self.lib = load_core()
        size = self.lib.cr_model_bytes(max_nodes, max_edges)
        self._memory = _allocator()("uint64_t[]", (size + 7) // 8)
        out = self.ffi.new("cr_model **")
        self._try(self.lib.cr_model_init(self._memory, size, max_nodes, max_edges, out), "making a model")
        self.model = out[0]
        self.arena = self.ffi.buffer(self._memory, size)
        items = max_items if max_items is not None else max_nodes + max_edges
        size = self.lib.cr_planner_bytes(max_nodes, items)
        self._planner_memory = _allocator()("uint64_t[]", (size + 7) // 8)
        out = self.ffi.new("cr_planner **")
        self._try(
            self.lib.cr_planner_init(self._planner_memory, size, max_nodes, items, out), "making a planner"
        )
        self.planner = out[0]
        self.refs: dict[str, Any] = {}
        self._pds: set[str] = set()
        self._keep: list[Any] = []
        self._ids: dict[tuple[int, int], str] = {}
        self._types: dict[str, int] = {}

    @classmethod
    def from_model(cls, model: Model) -> CoreModel:
        """The same state in C, in an arena that it just fills."""
        edges = (
            len(model.manager)
            + len(model.space_of)
            + len(model.holds)
            + len(model.requests)
            + len(model.maps)
            + len(model.faults)
            + len(model.links)
            + len(model.owns)
            + len(model.subscribes)
            + sum(1 for res in model.space_of if _body_number(model, res) is not None)
        )
        core = cls(max(1, len(model.nodes)), max(1, edges))
        core.load(model)
        return core

    # -- building

    def load(self, model: Model, order: Sequence[str] | None = None) -> None:
        """Adds all of a model.

        order: the ids of all its nodes, to make nodes and then edges in that order; what a node needs
        first, a space its manager, is made before it. Plans do not depend on it, and a test says so.
        """
        places = {id_: place for place, id_ in enumerate(model.nodes if order is None else order)}
        for type_name in sorted({node.type for node in model.nodes.values()}):
            self._types.setdefault(type_name, len(self._types))
        for id_ in places:
            self._make(model, id_)
        self._make_edges(model, places)

    def add_pd(self, id_: str, pinned: bool = False) -> None:
        """A new PD; `PD_0` becomes the root task."""
        parts = parse_id(id_)
        if parts is None or parts.kind != "PD":
            raise UsageError(f"'{id_}' is no id of a PD")
        flags = (self.lib.CR_FLAG_ROOT if id_ == ROOT else 0) | (self.lib.CR_FLAG_PINNED if pinned else 0)
        self._add(id_, lambda out: self.lib.cr_model_add_pd(self.model, parts.number, flags, out))
        self._pds.add(id_)

    def add_space(self, id_: str, manager: str) -> None:
        """A new space. Its type is in its id and says whether it is core."""
        parts = parse_id(id_)
        if parts is None or parts.kind != "RESOURCE_SPACE":
            raise UsageError(f"'{id_}' is no id of a space")
        number = self._types.setdefault(parts.type, len(self._types))
        flags = self.lib.CR_FLAG_CORE if parts.type in CORE_TYPES else 0
        ref = self.ref(manager)
        self._add(
            id_, lambda out: self.lib.cr_model_add_space(self.model, number, parts.number, flags, ref, out)
        )

    def add_resource(self, id_: str, space: str) -> None:
        """A new resource in a space."""
        parts = parse_id(id_)
        if parts is None or parts.kind != "RESOURCE":
            raise UsageError(f"'{id_}' is no id of a resource")
        ref = self.ref(space)
        self._add(id_, lambda out: self.lib.cr_model_add_resource(self.model, ref, parts.number, out))

    def add_edge(self, kind: str, from_: str, to: str, count: int = 1) -> None:
        """`count` times an edge of a kind as the page names it, `HOLD` say."""
        number, a, b = self._kind(kind), self.ref(from_), self.ref(to)
        for _ in range(count):
            self._try(
                self.lib.cr_model_add_edge(self.model, number, a, b), f"adding {kind} from {from_} to {to}"
            )

    def drop_edge(self, kind: str, from_: str, to: str) -> None:
        """Takes one from the count of an edge."""
        status = self.lib.cr_model_drop_edge(self.model, self._kind(kind), self.ref(from_), self.ref(to))
        self._try(status, f"dropping {kind} from {from_} to {to}")

    def cut_edge(self, kind: str, from_: str, to: str) -> None:
        """Drops an edge whatever its count."""
        status = self.lib.cr_model_cut_edge(self.model, self._kind(kind), self.ref(from_), self.ref(to))
        self._try(status, f"cutting {kind} from {from_} to {to}")

    # -- looking

    def ref(self, id_: str) -> Any:
        """The cr_ref of a node."""
        try:
            return self.refs[id_]
        except KeyError:
            raise UsageError(f"there is no {id_}") from None

    def id_of(self, ref: Any) -> str:
        """The id that a cr_ref was made for."""
        return self._ids[ref.index, ref.generation]

    def get(self, id_: str) -> Any:
        """The node's cr_node_info."""
        out = self.ffi.new("cr_node_info *")
        self._try(self.lib.cr_model_get(self.model, self.ref(id_), out), f"looking at {id_}")
        return out

    def count(self, kind: str, from_: str, to: str) -> int:
        """How often an edge is there."""
        return int(self.lib.cr_model_count(self.model, self._kind(kind), self.ref(from_), self.ref(to)))

    def edges(self) -> dict[tuple[str, str, str], int]:
        """Every edge with its count: (kind, from, to), a LINK with its ends sorted. Walks the lists from
        both ends and raises CoreError if they disagree."""
        seen: list[dict[tuple[str, str, str], int]] = [{}, {}]
        info = self.ffi.new("cr_edge_info *")
        for kind, name in _names("cr_edge_kind", "CR_EDGE_").items():
            if kind == self.lib.CR_EDGE_KIND_COUNT:
                continue
            for ref in self.refs.values():
                for direction in (self.lib.CR_OUT, self.lib.CR_IN):
                    edge = self.lib.cr_model_first(self.model, ref, kind, direction)
                    while edge != self.lib.CR_NONE:
                        self._try(self.lib.cr_model_edge(self.model, edge, info), f"looking at edge {edge}")
                        # `from` is a word of Python's own
                        ends = [self.id_of(getattr(info, "from")), self.id_of(info.to)]
                        a, b = sorted(ends) if name == "link" else ends
                        seen[direction][name.upper(), a, b] = info.count
                        edge = self.lib.cr_model_next(self.model, edge, ref, direction)
        if seen[0] != seen[1]:
            raise CoreError("CR_ERR_CORRUPT", "walking the edges from both ends")
        return seen[0]

    def touched(self) -> tuple[int, int]:
        """(nodes, edges) looked at since reset_touched."""
        stats = self.lib.cr_model_get_stats(self.model)
        return stats.touched_nodes, stats.touched_edges

    def reset_touched(self) -> None:
        """Sets the touched counters to 0."""
        self.lib.cr_model_reset_touched(self.model)

    def check(self) -> None:
        """CoreError if an invariant of the arena does not hold."""
        self._try(self.lib.cr_model_check(self.model), "checking the arena")

    # -- planning

    def plan(self, crash: str, pd_depth: int | None, rs_depth: int | None) -> Plan:
        """What the crash of a PD dooms. Depths: None is unlimited. UsageError if the id is no PD's that can
        crash."""
        return Plan.from_json(self.plan_json(crash, pd_depth, rs_depth))

    def plan_raw(self, crash: str, pd_depth: int | None, rs_depth: int | None) -> Any:
        """The cr_plan itself; its arrays hold until the next plan."""
        out = self.ffi.new("cr_plan *")
        status = self.lib.cr_plan_crash(
            self.planner, self.model, self.ref(crash), self._depth(pd_depth), self._depth(rs_depth), out
        )
        self._try(status, f"planning the crash of {crash}")
        return out

    def replan(self, raw: Any) -> Plan:
        """The plan made last, its consequences computed anew for the model as it is now; changes `raw`.
        CoreError if it is another plan."""
        self._try(self.lib.cr_plan_again(self.planner, self.model, raw), "planning again")
        return Plan.from_json(self._json(raw))

    def plan_json(self, crash: str, pd_depth: int | None, rs_depth: int | None) -> dict[str, Any]:
        """The plan as `plan --json` prints it."""
        return self._json(self.plan_raw(crash, pd_depth, rs_depth))

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
            why[id_] = [_names("cr_why", "CR_WHY_")[doomed.why], self._id_or_none(doomed.cause)]
        kinds = _names("cr_notice_kind", "CR_NOTICE_")
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
            "trigger": self.id_of(raw.trigger),
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

    def _kind(self, kind: str) -> int:
        number = getattr(self.lib, f"CR_EDGE_{kind}", None)
        if number is None:
            raise UsageError(f"'{kind}' is no kind of edge")
        return int(number)

    def _add(self, id_: str, make: Callable[[Any], int]) -> None:
        if id_ in self.refs:
            raise UsageError(f"{id_} exists already")
        out = self.ffi.new("cr_ref *")
        self._try(make(out), f"adding {id_}")
        self.refs[id_] = out[0]
        self._ids[out.index, out.generation] = id_
        self._keep.append(out)  # out[0] is a view of it

    def _try(self, status: int, doing: str) -> None:
        if status != self.lib.CR_OK:
            raise CoreError(self.ffi.typeof("cr_status").elements[status], doing)

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
        edges: list[tuple[str, str, str, int]] = []
        edges += (("HOLD", pd, node, count) for (pd, node), count in model.holds.items())
        edges += (("SUBSCRIBE", pd, node, count) for (pd, node), count in model.subscribes.items())
        edges += (("REQUEST", pd, space, 1) for pd, space in model.requests)
        edges += (("MAP", upper, lower, 1) for upper, lower in model.maps)
        edges += (("FAULT", pd, handler, 1) for pd, handler in model.faults.items())
        edges += (("LINK", a, b, 1) for a, b in model.links)
        edges += (("OWN", creator, created, 1) for creator, created in model.owns)
        bodies: dict[int, str] = {}
        for res in model.space_of:
            number = _body_number(model, res)
            if number is not None:
                bodies.setdefault(number, res)
        for pd in model.pds():
            parts = parse_id(pd)
            if parts is not None and parts.number in bodies:
                edges.append(("BODY", pd, bodies[parts.number], 1))
        edges.sort(key=lambda edge: (place[edge[1]], place[edge[2]]))
        for kind, from_, to, count in edges:
            self.add_edge(kind, from_, to, count)


def _body_number(model: Model, res: str) -> int | None:
    """The number of the PD whose body the resource stands for; None if it is no such resource."""
    parts = parse_id(res)
    if parts is None or parts.type != "PD" or model.nodes[model.space_of[res]].type not in CORE_TYPES:
        return None
    return parts.number
