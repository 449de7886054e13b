# SPDX-License-Identifier: BSD-2-Clause
"""What planning is measured against: a bare search, a scan of all PDs, and networkx.

Each finds what a crash dooms at unlimited depths, and nothing else of a plan. All must find what
the planner does.
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

    def to_json(self) -> dict[str, Any]:
        """The object for --json."""
        ratios = {f"plan_to_{name}": value for name, value in self.ratios().items()}
        return {**vars(self), **ratios}

    def ratios(self) -> dict[str, float | None]:
        """What the plan costs, in units of each yardstick."""
        return {
            name: None if value is None else round(self.plan / value, 3)
            for name, value in (
                ("bare", self.bare), ("scan", self.scan), ("networkx", self.networkx)
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


def graph_of(core: CoreModel) -> Any:
    """The edges along which a crash spreads in such a system, as a networkx graph. None without
    networkx.
    """
    networkx = _networkx()
    if networkx is None:
        return None
    graph = networkx.DiGraph()
    for kind, a, b in core.edges():
        if kind == "MANAGE":
            graph.add_edge(a, b)
        elif kind in ("REQUEST", "HOLD", "SUBSET"):
            graph.add_edge(b, a)  # from what goes to who needs it
    return graph


def compare(sizes: Sequence[tuple[int, int]]) -> list[Compared]:
    """Plans and searches for each (affected, unaffected). CellreapError if they do not agree."""
    found = []
    for affected, unaffected in sizes:
        core, nodes, edges, crash = chains(affected, unaffected)
        yardsticks, graph = Yardsticks(core), graph_of(core)
        doomed = sorted(core.plan(crash, None, None).doomed_why)
        for way in ("bare", "scan"):
            if sorted(yardsticks.search(crash, way)) != doomed:
                raise CellreapError(f"the {way} search does not find what the planner finds")
        out = core.ffi.new("cr_plan *")
        depth, ref = core.lib.CR_DEPTH_INF, core.ref(crash)
        asked = core.planner, core.model, ref, depth, depth, out
        by_networkx = None
        if graph is not None:
            networkx = _networkx()
            reached = networkx.descendants(graph, crash) | {crash}
            if {id_ for id_ in reached if id_ in doomed} != set(doomed):
                raise CellreapError("networkx does not find what the planner finds")
            by_networkx = timed(partial(networkx.descendants, graph, crash))
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
                by_networkx,
            )
        )
    return found
