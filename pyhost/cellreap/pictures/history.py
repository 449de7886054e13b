# SPDX-License-Identifier: BSD-2-Clause
"""The model of a run over time: when each node and edge was there, was doomed, or was lost.

Times are positions of events in the trace, from 0. A span ends at the event that ends it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from cellreap.model.ids import CORE_TYPES, ROOT, parse_id
from cellreap.model.plan import Plan
from cellreap.pictures.drawing import BY, LOST
from cellreap.trace.check.running import DESTROYING
from cellreap.trace.events import Event, printable
from cellreap.trace.report import Report

EdgeKey = tuple[str, str, str]
"""Its kind, source and target."""


GOES: Final = {
    "fault": "crashes",
    "exit": "exits",
    "terminate": "is terminated",
    "subtree": "is terminated",
    "late": "is late",
    "hung": "hangs",
}
"""What a cleanup's trigger does, by the cause of the cleanup."""


@dataclass
class Span:
    """From one event up to, and without, another. end: None: until the trace ends."""

    begin: int
    end: int | None = None
    text: str = ""
    depth: int | None = None


@dataclass
class NodeSeen:
    """A node that was there at some time. spans: one, as ids are given once."""

    id: str
    name: str
    space: str | None
    span: Span
    doomed: list[Span] = field(default_factory=list)
    broken: list[Span] = field(default_factory=list)
    """when a survivor keeps it though something that it is built on goes or went; text: who does"""


@dataclass
class EdgeSeen:
    """An edge that was there at some time. why: when it doomed a node. lost: when a survivor was
    to lose it. broken: as of a node.
    """

    spans: list[Span] = field(default_factory=list)
    why: list[Span] = field(default_factory=list)
    lost: list[Span] = field(default_factory=list)
    broken: list[Span] = field(default_factory=list)

    def alive(self) -> bool:
        """Whether it is there now."""
        return bool(self.spans) and self.spans[-1].end is None


class History:
    """Takes the events of a trace in order. Core spaces and what is in them are left out."""

    def __init__(self, report: Report) -> None:
        self.nodes: dict[str, NodeSeen] = {}
        self.edges: dict[EdgeKey, EdgeSeen] = {}
        self._plans = {each.number: Plan.from_json(each.plan) for each in report.cleanups}
        self._broken = {each.number: list(each.broken) for each in report.cleanups}
        self._destroyed = {each.number: iter(each.destroyed) for each in report.cleanups}
        self._at = -1
        self._counts: Counter[EdgeKey] = Counter()
        self._of: dict[str, set[EdgeKey]] = {}  # node -> its living edges
        self._managers: dict[str, str] = {}
        self._open: dict[int, list[Span]] = {}  # cleanup -> what ends with it

    def take(self, event: Event) -> None:
        """Takes the next event."""
        self._at += 1
        handler = _HANDLERS.get(event.name)
        if handler is not None:
            handler(self, event)

    # -- nodes

    def _pd(self, event: Event) -> None:
        if event["id"] != ROOT:
            self._node(event["id"], event["name"], None)

    def _space(self, event: Event) -> None:
        if event["type"] in CORE_TYPES:
            return
        name = "" if event["name"] == "-" else event["name"]
        self._node(event["id"], name, event["id"])
        self._managers[event["id"]] = event["manager"]
        self._join("MANAGE", event["manager"], event["id"])

    def _resource(self, event: Event) -> None:
        if event["space"] in self.nodes:
            self._node(event["id"], "", event["space"])

    def _node(self, id_: str, name: str, space: str | None) -> None:
        self.nodes[id_] = NodeSeen(id_, printable(name, 40), space, Span(self._at))
        self._of[id_] = set()

    def _delete(self, event: Event) -> None:
        self._gone(event["node"])

    def _step(self, event: Event) -> None:
        if event["name"] in DESTROYING.values():
            rest = self._destroyed.get(event.number("n"), iter(()))
            for node in islice(rest, event.number("count")):
                self._gone(node)

    def _gone(self, id_: str) -> None:
        """The node goes with all its edges."""
        node = self.nodes.get(id_)
        if node is None:
            return
        node.span.end = self._at
        for span in (*node.doomed, *node.broken):
            span.end = self._at if span.end is None else span.end
        for key in sorted(self._of[node.id]):
            self._counts.pop(key, None)
            self._end(key)

    # -- edges

    def _join(self, kind: str, source: str, target: str) -> None:
        if source not in self._of or target not in self._of:
            return
        within = self.nodes[target].space
        if kind == "HOLD" and within is not None and self._managers.get(within) == source:
            return  # is part of MANAGE
        key = (kind, source, target)
        self._counts[key] += 1
        seen = self.edges.setdefault(key, EdgeSeen())
        if not seen.alive():
            seen.spans.append(Span(self._at))
            self._of[source].add(key)
            self._of[target].add(key)

    def _part(self, kind: str, source: str, target: str) -> None:
        key = (kind, source, target)
        if key in self._counts:
            self._counts[key] -= 1
            if not self._counts[key]:
                del self._counts[key]
                self._end(key)

    def _end(self, key: EdgeKey) -> None:
        seen = self.edges[key]
        seen.spans[-1].end = self._at
        for span in (*seen.why, *seen.lost, *seen.broken):
            span.end = self._at if span.end is None else span.end
        for node in key[1:]:
            self._of[node].discard(key)

    # -- cleanups

    def _cleanup(self, event: Event) -> None:
        number = event.number("n")
        plan = self._plans.get(number)
        if plan is None:
            return
        opened = self._open.setdefault(number, [])
        doomed = plan.doomed()
        depths = dict(plan.destroyed_pds)
        for id_ in doomed & self.nodes.keys():
            goes = GOES.get(event["cause"], "") if id_ == event["trigger"] else ""
            span = Span(self._at, depth=depths.get(id_), text=goes)
            self.nodes[id_].doomed.append(span)
            opened.append(span)
            if id_ in self._managers:
                self._lose(id_, doomed, opened)
        for id_, (word, cause) in plan.doomed_why.items():
            if cause is None or id_ not in self.nodes or cause not in self.nodes:
                continue
            kind, told = BY[word]
            text = told.format(*(self.nodes[each].name or each for each in (id_, cause)))
            for key in self._condemning(kind, id_, cause):
                span = Span(self._at, text=text)
                self.edges[key].why.append(span)
                opened.append(span)
        self._keep(number)

    def _lose(self, space: str, doomed: set[str], opened: list[Span]) -> None:
        within = {space, *(each.id for each in self._members(space))}
        for node in within:
            for key in self._of[node]:
                if key[0] in LOST and key[2] == node and key[1] not in doomed:
                    span = Span(self._at, text="lost")
                    self.edges[key].lost.append(span)
                    opened.append(span)

    def _members(self, space: str) -> list[NodeSeen]:
        return [
            node
            for node in self.nodes.values()
            if node.space == space and node.span.end is None and node.id != space
        ]

    def _condemning(self, kind: str, node: str, cause: str) -> list[EdgeKey]:
        ends = (cause, node) if kind == "MANAGE" else (node, cause)
        found = [
            key
            for key in ((kind, *ends), (kind, *ends[::-1]))
            if key in self.edges and self.edges[key].alive()
        ]
        if found or kind != "MAP":
            return found[:1]
        # A space maps to another one also by what is in them.
        return [
            key
            for member in self._members(node)
            for key in self._of[member.id]
            if key[0] == "MAP" and key[1] == member.id and self.nodes[key[2]].space == cause
        ]

    def _keep(self, cleanup: int) -> None:
        """Marks what survivors keep that is built on what goes. What is not there yet waits: a PD
        may take it while subscribers are told.
        """
        waiting = []
        for pd, held, on in self._broken.get(cleanup, ()):
            node = self.nodes.get(held)
            if node is None or pd not in self.nodes:
                waiting.append((pd, held, on))
                continue
            key = ("HOLD", pd, held)
            if key not in self._counts and self._managers.get(node.space or "") == pd:
                key = ("MANAGE", pd, node.space or "")
            if key not in self._counts:
                waiting.append((pd, held, on))
                continue
            below = self.nodes[on].name if on in self.nodes else ""
            text = f"{self.nodes[pd].name or pd} keeps {node.name or held}, built on {below or on}"
            span = Span(self._at, text=text)
            # One span, so that it ends with the node as well as with the hold.
            node.broken.append(span)
            self.edges[key].broken.append(span)
        self._broken[cleanup] = waiting

    def _edge(self, event: Event) -> None:
        ends = [event["from"], event["to"]]
        if event["kind"] == "LINK":
            ends.sort()  # a pair without a direction, of which the model has one order
        (self._join if event["change"] == "made" else self._part)(event["kind"], *ends)

    def _settled(self, event: Event) -> None:
        self._keep(event.number("n"))
        for span in self._open.pop(event.number("n"), []):
            span.end = self._at if span.end is None else span.end


_HANDLERS: Final[dict[str, Callable[[History, Event], None]]] = {
    "PD": History._pd,
    "SPACE": History._space,
    "RESOURCE": History._resource,
    "DELETE": History._delete,
    "STEP": History._step,
    "EDGE": History._edge,
    "CLEANUP": History._cleanup,
    "SETTLED": History._settled,
}


def history_of(events: Sequence[Event], report: Report) -> History:
    """The history that all events of a trace tell."""
    history = History(report)
    for event in events:
        history.take(event)
    return history


def kind_of(id_: str) -> str:
    """`pd`, `space` or `resource`."""
    parts = parse_id(id_)
    assert parts is not None
    return {"PD": "pd", "RESOURCE_SPACE": "space", "RESOURCE": "resource"}[parts.kind]
