# SPDX-License-Identifier: BSD-2-Clause
"""What planning is measured against: a bare search, a scan of all PDs, and networkx.

Each finds what a crash dooms at unlimited depths, and nothing else of a plan. A plan is made with
networkx too: what is doomed, what others lose, who is told, and the groups. All must find what the
planner does.
"""

from __future__ import annotations

import importlib
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from cellreap.errors import CellreapError
from cellreap.model.core import CoreModel

UNAFFECTED: Final = ((100, 0), (100, 1_000), (100, 10_000), (100, 100_000))
AFFECTED: Final = ((10, 10_000), (100, 10_000), (1_000, 10_000))
_ENOUGH: Final = 0.2
"""Seconds in which a measurement is repeated. The median is reported."""
_MOST: Final = 50


@dataclass(frozen=True)
class Compared:
    """The processor time of one plan and of its yardsticks, in microseconds."""

    affected: int
    """servers in the chain that is doomed"""
    unaffected: int
    """servers in other chains"""
    nodes: int
    edges: int
    doomed: int
    plan: float
    bare: float
    scan: float | None
    networkx: float | None
    """a search with networkx"""
    networkx_plan: float | None

    def to_json(self) -> dict[str, Any]:
        """The object for --json."""
        ratios = {f"plan_to_{name}": value for name, value in self.ratios().items()}
        return {**vars(self), **ratios}

    def ratios(self) -> dict[str, float | None]:
        """What the plan costs, in units of each yardstick."""
        return {
            name: None if value is None else round(self.plan / value, 3)
            for name, value in (
                ("bare", self.bare), ("scan", self.scan), ("networkx", self.networkx),
                ("networkx_plan", self.networkx_plan),
            )
        }  # fmt: skip


class Yardsticks:
    """The yardsticks for the crashes in one system."""

    def __init__(self, core: CoreModel) -> None:
        self.core, ffi = core, core.ffi
        nodes = int(core.lib.cr_model_get_stats(core.model).max_nodes)
        self._marks = ffi.new("uint32_t[]", nodes)
        self._queue = ffi.new("uint32_t[]", 2 * nodes)
        self._fresh = 0

    def search(self, crash: str, way: str = "bare") -> list[str]:
        """What a crash dooms: `bare` or `scan`."""
        count = self._search(crash, way)
        by_index = {int(ref.index): id_ for id_, ref in self.core.refs.items()}
        return [by_index[self._queue[place]] for place in range(count)]

    def _search(self, crash: str, way: str) -> int:
        self._fresh += 2
        search = getattr(self.core.lib, f"cr_search_{way}")
        asked = self.core.ref(crash), self._marks, self._queue, self._fresh
        return int(search(self.core.model, *asked))

    def timed(self, crash: str, way: str) -> float:
        """Microseconds of a search."""
        return timed(lambda: self._search(crash, way))


def timed(act: Callable[[], object]) -> float:
    """The processor time of an act, in microseconds: the median of several."""
    times: list[float] = []
    while len(times) < 3 or (len(times) < _MOST and sum(times) < _ENOUGH):
        start = time.process_time_ns()
        act()
        times.append((time.process_time_ns() - start) / 1e9)
    return round(statistics.median(times) * 1e6, 1)


def chains(affected: int, unaffected: int) -> tuple[CoreModel, int, int, str]:
    """Two chains of servers with a client each: (core, nodes, edges, the PD that crashes).

    Every server requests the space of the one before it and holds a resource in it, and its own
    resource maps to that one. The crash of the first server of a chain dooms the chain.
    """
    pds = 2 * (affected + unaffected)
    core = CoreModel(max_nodes=2 * pds + 1, max_edges=10 * (affected + unaffected))
    core.add_pd("PD_0")
    edges = 0
    for number in range(1, affected + unaffected + 1):
        server, client = f"PD_{2 * number - 1:x}", f"PD_{2 * number:x}"
        space, resource = f"BLOCK_SPACE_{number:x}", f"BLOCK_{number:x}_1"
        core.add_pd(server)
        core.add_pd(client)
        core.add_space(space, server)
        core.add_resource(resource, space)
        made = [("HOLD", server, space), ("HOLD", server, resource)]
        made += [("HOLD", client, resource), ("REQUEST", client, space)]
        if number not in (1, affected + 1):
            below = f"BLOCK_{number - 1:x}_1"
            made += [("HOLD", server, below), ("REQUEST", server, f"BLOCK_SPACE_{number - 1:x}")]
            made += [("MAP", resource, below)]
        for edge in made:
            core.add_edge(*edge)
        edges += len(made) + 2
    return core, 2 * pds + 1, edges, "PD_1"


def _networkx() -> Any:
    """The library; None without it. Only this comparison uses it."""
    try:
        return importlib.import_module("networkx")
    except ImportError:
        return None


NETWORKX_PLAN: Final = ("groups", "notices", "revoked", "removed_requests")
"""What a plan with networkx has of the planner's."""


class WithNetworkx:
    """Plans for such a system with networkx, as somebody who has it would write it.

    The graphs are made before: one of all edges, and one of those along which a crash spreads.
    """

    def __init__(self, core: CoreModel) -> None:
        self._networkx = _networkx()
        self._edges = self._networkx.MultiDiGraph()
        self._spreads = self._networkx.DiGraph()
        self._manager: dict[str, str] = {}
        self._space: dict[str, str] = {}
        for kind, a, b in core.edges():
            self._edges.add_edge(a, b, kind)
            if kind == "MANAGE":
                self._spreads.add_edge(a, b)
                self._manager[b] = a
            elif kind in ("REQUEST", "HOLD", "SUBSET"):
                self._spreads.add_edge(b, a)  # from what goes to who needs it
            if kind == "SUBSET":
                self._space[a] = b

    def search(self, crash: str) -> set[str]:
        """All that the crash reaches, and the resources in between."""
        found: set[str] = self._networkx.descendants(self._spreads, crash) | {crash}
        return found

    def plan(self, crash: str) -> dict[str, Any]:
        """NETWORKX_PLAN, for systems without pinned PDs, LINK, FAULT and SUBSCRIBE."""
        doomed = {node for node in self.search(crash) if node not in self._space}
        before = self._networkx.DiGraph()
        before.add_nodes_from(doomed)
        notices: list[tuple[str, str, str, str | None]] = []
        lost: dict[str, list[tuple[str, str]]] = {"HOLD": [], "REQUEST": []}
        for node in doomed:
            manager = self._manager.get(node)
            if manager is not None:
                before.add_edge(node, manager)
                parts = [node, *self._members(node)]
                losers = self._losses(parts, doomed, lost)
                notices += [(pd, "lost", node, None) for pd in losers]
                below = self._below(parts) & doomed - {node}
                before.add_edges_from((low, node) for low in below)
                continue
            for _, held, kind in self._edges.out_edges(node, keys=True):
                space = self._space.get(held) if kind == "HOLD" else held
                if space not in self._manager or kind == "MANAGE":
                    continue
                server = self._manager[space]
                if server in doomed and server != node:
                    before.add_edge(server, node)
                if space not in doomed:
                    told = "free" if kind == "HOLD" else "disconnect"
                    notices.append((server, told, held, node))
        condensed = self._networkx.condensation(before)
        members = condensed.nodes(data="members")
        levels = self._networkx.topological_generations(condensed)
        groups = [sorted(node for each in level for node in members[each]) for level in levels]
        revoked, removed = sorted(lost["HOLD"]), sorted(lost["REQUEST"])
        notices.sort(key=str)
        return dict(zip(NETWORKX_PLAN, (groups, notices, revoked, removed), strict=True))

    def _members(self, space: str) -> list[str]:
        return [node for node, _, kind in self._edges.in_edges(space, keys=True)
                if kind == "SUBSET"]  # fmt: skip

    def _below(self, parts: Sequence[str]) -> set[str]:
        """The spaces that a space maps to. parts: it and its resources."""
        lower = {node for upper in parts
                 for _, node, kind in self._edges.out_edges(upper, keys=True)
                 if kind == "MAP"}  # fmt: skip
        return {self._space.get(node, node) for node in lower}

    def _losses(
        self, parts: Sequence[str], doomed: set[str], lost: dict[str, list[tuple[str, str]]]
    ) -> set[str]:
        """Adds what survivors lose in a space. Returns who loses. parts: it and its resources."""
        found = [(pd, node, kind) for node in parts
                 for pd, _, kind in self._edges.in_edges(node, keys=True)
                 if pd not in doomed and kind in lost]  # fmt: skip
        for pd, node, kind in found:
            lost[kind].append((pd, node))
        return {pd for pd, _, _ in found}


def _by_networkx(
    core: CoreModel, crash: str, doomed: Sequence[str]
) -> tuple[float | None, float | None]:
    """Microseconds of a search and of a plan. CellreapError if they are not the planner's."""
    if _networkx() is None:
        return None, None
    other, plan = WithNetworkx(core), core.plan(crash, None, None)
    if set(doomed) - other.search(crash):
        raise CellreapError("networkx does not find what the planner finds")
    if other.plan(crash) != {name: getattr(plan, name) for name in NETWORKX_PLAN}:
        raise CellreapError("the plan with networkx is not the planner's")
    return timed(partial(other.search, crash)), timed(partial(other.plan, crash))


def compare(sizes: Sequence[tuple[int, int]]) -> list[Compared]:
    """Plans and searches for each (affected, unaffected). CellreapError if they do not agree."""
    found = []
    for affected, unaffected in sizes:
        core, nodes, edges, crash = chains(affected, unaffected)
        yardsticks = Yardsticks(core)
        doomed = sorted(core.plan(crash, None, None).doomed_why)
        for way in ("bare", "scan"):
            if sorted(yardsticks.search(crash, way)) != doomed:
                raise CellreapError(f"the {way} search does not find what the planner finds")
        out = core.ffi.new("cr_plan *")
        depth, ref = core.lib.CR_DEPTH_INF, core.ref(crash)
        asked = core.planner, core.model, ref, depth, depth, out
        found.append(
            Compared(
                affected,
                unaffected,
                nodes,
                edges,
                len(doomed),
                timed(partial(core.lib.cr_plan_crash, *asked)),
                yardsticks.timed(crash, "bare"),
                yardsticks.timed(crash, "scan"),
                *_by_networkx(core, crash, doomed),
            )
        )
    return found
