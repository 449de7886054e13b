# SPDX-License-Identifier: BSD-2-Clause
"""What the page of a run needs to measure pairs of PDs: the edges that docs/metrics.md speaks of,
in the states before and after each cleanup.

The page measures the one pair that was chosen. All pairs would be too many for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

from cellreap.model.ids import ROOT
from cellreap.model.indexed import IndexedModel
from cellreap.model.metrics import MAX_MAPS, weight_of
from cellreap.model.plan import Plan
from cellreap.trace.events import Event, printable
from cellreap.trace.report import Report

KINDS: Final = ("HOLD", "REQUEST", "MAP", "MANAGE", "WITHIN")
"""Of the edges: MANAGE is from a PD to its space, WITHIN from a resource to its space."""


class Nearness:
    """Takes the states around cleanups, as AroundCleanups shows them, up to the first violation.

    What comes after one may be wrong.
    """

    def __init__(self, report: Report) -> None:
        self._report = report
        self._states: list[tuple[int, Literal["before", "after"]]] = []
        self._nodes: dict[str, int] = {}
        self._about: list[list[Any]] = []
        self._types: dict[str, int] = {}
        self._edges: dict[tuple[int, int, int], list[int]] = {}
        """An edge -> the states that begin and end its times, in turn."""
        self._there: set[tuple[int, int, int]] = set()
        self._pds: dict[int, list[int]] = {}
        self._living: set[int] = set()
        self._triggers: dict[int, str] = {}

    def look(self, when: Literal["before", "after"], event: Event, model: IndexedModel) -> None:
        """Takes the next state."""
        if self._report.violations:
            return
        state = len(self._states)
        self._states.append((event.number("n"), when))
        if when == "before":
            self._triggers[event.number("n")] = event["trigger"]
        pds = {self._node(pd, model) for pd in model.pds() if pd != ROOT}
        edges = set()
        pairs = (model.holds, model.requests, model.maps)
        for kind, ends in enumerate((*pairs, _managing(model), model.space_of.items())):
            for source, target in sorted(ends):
                edges.add((kind, self._node(source, model), self._node(target, model)))
        _turn(self._pds, self._living, pds, state)
        _turn(self._edges, self._there, edges, state)
        self._living, self._there = pds, edges

    def data(self, names: Mapping[str, str]) -> dict[str, Any]:
        """The states for the page. Nodes, types and states are named by their positions."""
        ids = list(self._nodes)
        plans = {each.number: Plan.from_json(each.plan) for each in self._report.cleanups}
        return {
            "states": self._states,
            "kinds": KINDS,
            "maps": MAX_MAPS,
            "types": list(self._types),
            "nodes": self._about,
            "root": self._nodes.get(ROOT, -1),
            "pds": [
                [node, ids[node], printable(names.get(ids[node], ""), 40), times]
                for node, times in self._pds.items()
            ],
            "edges": [[*edge, times] for edge, times in self._edges.items()],
            "blasts": [
                [
                    number,
                    self._nodes.get(trigger, -1),
                    [
                        self._nodes[pd]
                        for pd, _ in plans[number].destroyed_pds
                        if pd != trigger and pd in self._nodes
                    ],
                ]
                for number, trigger in self._triggers.items()
                if number in plans
            ],
            "all": not self._report.violations,
        }

    def _node(self, id_: str, model: IndexedModel) -> int:
        known = self._nodes.get(id_)
        if known is None:
            known = self._nodes[id_] = len(self._nodes)
            node = model.nodes[id_]
            kind = self._types.setdefault(node.type, len(self._types))
            self._about.append([kind, weight_of(node)])
        return known


def _managing(model: IndexedModel) -> list[tuple[str, str]]:
    return [(pd, space) for space, pd in model.manager.items()]


def _turn(times: dict[Any, list[int]], before: set[Any], now: set[Any], state: int) -> None:
    """Notes what came and what went. In order, so that the same trace makes the same page."""
    for each in sorted(before ^ now):
        times.setdefault(each, []).append(state)
