# SPDX-License-Identifier: BSD-2-Clause
"""Makes the page of a run: one HTML file that needs nothing else.

What is said in words stands in the page as text. The events, and what the script draws of them, are
data in it: JSON, compressed, because there may be 100,000 events.
"""

from __future__ import annotations

import base64
import bisect
import dataclasses
import gzip
import heapq
import html
import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from importlib import resources
from itertools import zip_longest
from typing import Any, Final

from cellreap.pictures.dot import DEPTH_FILLS, EDGE_STYLES
from cellreap.pictures.drawing import (
    FOLD,
    KINDS,
    MAX_LABEL,
    Drawing,
    DrawnEdge,
    DrawnNode,
    NodeDrawn,
)
from cellreap.pictures.history import (
    EdgeKey,
    EdgeSeen,
    History,
    NodeSeen,
    Span,
    history_of,
    kind_of,
)
from cellreap.pictures.lanes import CleanupSeen, Lane, Lanes
from cellreap.pictures.layout import Layout, place
from cellreap.pictures.nearness import Nearness
from cellreap.pictures.words import event_words
from cellreap.runs.folding import in_ranges, natural, stem_of
from cellreap.runs.summary import heading_of, headline, memory_lines
from cellreap.trace.events import Event, printable
from cellreap.trace.reading import Reading
from cellreap.trace.report import Report, Verdict, verdict_of
from cellreap.trace.story import Chapter

MAX_TEXT: Final = 400
_LABELS: Final = frozenset(
    {"where", "registers", "depths", "doomed", "before", "lost", "broken", "memory", "told",
     "order", "freed", "then said"}
)  # fmt: skip
"""What the lines of a summary may be about."""
MANY: Final = 100
"""Of a system with more boxes, only what a cleanup touched is drawn."""
FOLD_PDS: Final = 4
"""PDs of one kind are one box and one lane if there are more of them."""
_LABEL_END: Final = 13  # column of a summary's lines behind the label


def page_of(reading: Reading, told: Sequence[str], title: str, near: Nearness) -> str:
    """The page. reading: with its events. told: the summary as `cellreap show` prints it. near: has
    seen the states of this reading.
    """
    events, report = reading.events, reading.report
    folder = resources.files("cellreap") / "pictures" / "page"
    run = run_data(reading) | {"near": near.data(report.names)}
    data = json.dumps(run, separators=(",", ":"), ensure_ascii=False)
    # mtime: the same trace makes the same page.
    packed = base64.b64encode(gzip.compress(data.encode(), 9, mtime=0)).decode()
    verdict = verdict_of(report)
    words = {
        "title": html.escape(title),
        "verdict": verdict.upper(),
        "verdict_class": "good" if verdict is Verdict.PASS else "bad",
        "kernel": html.escape(
            f"{printable(report.kernel) or 'an unknown kernel'}, {printable(report.arch)}"
        ),
        "count": f"{len(events):,}",
        "last": str(max(0, len(events) - 1)),
        "headline": html.escape(headline(reading)),
        "story": story_html(told),
        "violations": _violations_html(reading),
        "legend": _legend_html(
            {list(KINDS)[edge["kind"]] for edge in run["edges"]},
            broken=any(node["broken"] for node in run["nodes"]),
            stuck=any(node["stuck"] for node in run["nodes"]),
        ),
        "style": (folder / "page.css").read_text(encoding="utf-8"),
        "script": (folder / "page.js").read_text(encoding="utf-8"),
        "data": packed,
    }
    text = (folder / "page.html").read_text(encoding="utf-8")
    parts = text.split("@@")  # every second part is the name of what stands there
    return "".join(words[part] if at % 2 else part for at, part in enumerate(parts))


# -- words


def story_html(told: Sequence[str]) -> str:
    """The lines of a summary as headings, lists and paragraphs."""
    found: list[str] = []
    within = ""  # the list that is open

    def close(wanted: str) -> None:
        nonlocal within
        if within != wanted:
            found.append(f"</{within}>" if within else "")
            found.append(f"<{wanted}>" if wanted else "")
            within = wanted

    for line in told:
        label = line[2 : _LABEL_END - 1].rstrip()
        text = html.escape(line.strip())
        if not line.strip():
            close("")
        elif line[:2].strip():
            close("")
            heading = line.startswith("Crash")
            found.append(f"<h3>{text}</h3>" if heading else f"<p>{text}</p>")
        elif label in _LABELS or (within == "dl" and not label):
            close("dl")
            if label:
                found.append(f"<dt>{html.escape(label)}</dt>")
            found.append(f"<dd>{html.escape(line[_LABEL_END:].strip())}</dd>")
        else:
            close("ul")
            found.append(f"<li>{text}</li>")
    close("")
    return "\n".join(filter(None, found))


def _violations_html(reading: Reading) -> str:
    report = reading.report
    stopped = [report.stopped] if report.stopped else []
    found = [*map(str, report.violations), *stopped, *map(str, report.unexpected)]
    if not found and report.broken_off:
        return "<p>None so far: the trace has no END, and is right as far as it goes.</p>"
    if not found:
        return "<p>None: everything is as the reference model has it.</p>"
    places = _places(reading.events, report)
    places += [None] * (len(found) - len(places))
    items = []
    for text, at in zip(found, places, strict=True):
        told = html.escape(printable(text, MAX_TEXT))
        if at is not None:
            told = f'<button type="button" class="jump" data-at="{at}">Event {at}</button> {told}'
        items.append(f"<li>{told}</li>")
    if report.more_violations:
        items.append(f"<li>{report.more_violations} more</li>")
    return f"<ol>{''.join(items)}</ol>"


def _places(events: Sequence[Event], report: Report) -> list[int | None]:
    """The position of the event at which each violation was found."""
    lines = [event.line for event in events]
    places: list[int | None] = []
    for problem in report.violations:
        at = problem.event
        if at is None or not 0 <= at < len(events):  # as in events that were not read from a trace
            at = max(0, bisect.bisect_right(lines, problem.line) - 1) if lines else None
        places.append(at)
    return places


def _legend_html(kinds: Collection[str], *, broken: bool, stuck: bool) -> str:
    edges = [
        f'<li><svg width="44" height="12" aria-hidden="true"><path class="e k-{kind}" '
        f'd="M2 6 L34 6" marker-end="url(#h-{kind})"/></svg> {html.escape(KINDS[kind])}</li>'
        for kind in EDGE_STYLES
        if kind in kinds
    ]
    boxes = [
        f'<li><svg width="44" height="12" aria-hidden="true"><rect class="{sign}" x="4" y="1" '
        f'width="30" height="10" rx="{4 if sign == "broken" else 0}"/></svg> {told}</li>'
        for sign, told, seen in (
            ("broken", "is built on what went", broken),
            ("stuck", "waits in a call that nobody answers", stuck),
        )
        if seen
    ]
    return f'<ul class="legend">{"".join(edges + boxes)}</ul>'


# -- data


def run_data(reading: Reading) -> dict[str, Any]:
    """What the script draws. Events are named by their position in the trace."""
    events, report = reading.events, reading.report
    history = history_of(events, report)
    lanes = Lanes()
    for event in events:
        lanes.take(event)
    stuck = {pd: lane.stuck for pd, lane in lanes.lanes.items() if lane.stuck}
    graph = _Graph(history, stuck)
    places = place(graph.drawing())
    names = report.names
    # Who is there one after the other has one lane, and so have those that are alike.
    shared: dict[str, list[Lane]] = {}
    for pd, lane in lanes.lanes.items():
        shared.setdefault(graph.alike.get(pd, graph.seats.of.get(pd, pd)), []).append(lane)
    at = {lane.pd: number for number, each in enumerate(shared.values()) for lane in each}
    chapters = {chapter.number: chapter for chapter in reading.story.chapters}
    return {
        "events": [event_words(event, names) for event in events],
        "records": [_record(event) for event in events],
        "lines": [event.line for event in events],
        "passed": _passed(events),
        "size": [places.width, places.height],
        "fills": list(DEPTH_FILLS),
        "kinds": list(KINDS),
        "means": list(KINDS.values()),
        **graph.data(places),
        "lanes": [
            {
                "name": graph.alike.get(each[0].pd) or names.get(each[0].pd) or each[0].pd,
                "many": len({names.get(lane.pd) for lane in each}),
                "lives": [[*_span(lane.life), lane.pd] for lane in each],
                "waits": [[*_span(wait), wait.text] for lane in each for wait in lane.waits],
                "marks": [mark for lane in each for mark in lane.marks],
            }
            for each in shared.values()
        ],
        "says": lanes.says,
        "arrows": [
            [
                arrow.token,
                arrow.kind,
                arrow.node,
                at.get(arrow.source, 0),
                at.get(arrow.to, 0),
                arrow.queued,
                arrow.taken,
                arrow.end,
                arrow.result,
            ]
            for arrow in lanes.arrows.values()
        ],
        "cleanups": [
            _cleanup_data(cleanup, at, chapters.get(cleanup.number), report)
            for cleanup in lanes.cleanups.values()
        ],
        "clock": lanes.clock,
        "bad": [
            [where, printable(str(problem), MAX_TEXT)]
            for where, problem in zip(_places(events, report), report.violations, strict=True)
        ],
    }


def _passed(events: Sequence[Event]) -> list[int] | None:
    """For each event, the nanoseconds since the one before. None: the trace has no times."""
    times = [event.time or 0 for event in events]
    if not any(times):
        return None
    return [time - before for before, time in zip([0, *times], times, strict=False)]


def _record(event: Event) -> str:
    values = " ".join(f"{name}={printable(value, 200)}" for name, value in event.values.items())
    return f"{event.name} {values}".rstrip()


def _span(span: Span) -> list[int | None]:
    return [span.begin, span.end]


def _cleanup_data(
    cleanup: CleanupSeen, at: Mapping[str, int], chapter: Chapter | None, report: Report
) -> dict[str, Any]:
    number = f"Cleanup {cleanup.number}"
    return {
        "n": cleanup.number,
        "span": _span(cleanup.span),
        "lane": at.get(cleanup.trigger, 0),
        "phases": [[*_span(phase), phase.text] for phase in cleanup.phases],
        "steps": cleanup.steps,
        "calls": cleanup.calls,
        "told": number if chapter is None else heading_of(chapter, report.names),
        "memory": memory_lines(cleanup.number, report),
    }


class _Graph:
    """All nodes and edges that a run ever had. Many resources of a space are one node.

    A node that comes when one of the same name has gone, as a PD does that is created anew, has its
    place.
    """

    def __init__(self, history: History, stuck: Mapping[str, Sequence[Span]]) -> None:
        self.history = history
        self._stuck = stuck
        self.seats = _Seats(history)
        sizes = Counter(
            node.space for node in history.nodes.values() if node.space not in (None, node.id)
        )
        self._folded = {space for space, count in sizes.items() if count > FOLD}
        self.alike = _alike(history, self.seats)
        self._sizes = sizes
        self._drawn: dict[str, str] = {}
        self._members: dict[str, list[str]] = {}
        self._seats: dict[str, str] = {}  # what is drawn -> at whose place
        for id_, node in history.nodes.items():
            folds = node.space in self._folded and id_ != node.space
            key = f"{node.space} resources" if folds else self.alike.get(id_, id_)
            self._drawn[id_] = key
            self._members.setdefault(key, []).append(id_)
            place = self.seats.of.get(node.space or key if folds else key, key)
            self._seats[key] = f"{place} resources" if folds else place
        self._edges: dict[EdgeKey, list[EdgeSeen]] = {}
        for (kind, source, target), seen in history.edges.items():
            drawn = (kind, self._drawn[source], self._drawn[target])
            self._edges.setdefault(drawn, []).append(seen)
        self.rest = self._leave_out() if len(self._members) > MANY else []

    def _leave_out(self) -> list[NodeSeen]:
        """Leaves out what no cleanup touched, if one touched anything. Returns these nodes."""
        nodes, drawn = self.history.nodes, self._drawn
        kept = {drawn[id_] for id_, node in nodes.items() if node.doomed or node.broken}
        for (_, *ends), seen in self._edges.items():
            if any(each.why or each.lost or each.broken for each in seen):
                kept.update(ends)
        kept |= {
            drawn[space] for id_ in nodes if drawn[id_] in kept and (space := nodes[id_].space)
        }
        kept |= {
            source for kind, source, space in self._edges if kind == "MANAGE" and space in kept
        }
        if not kept:
            return []
        rest = [node for id_, node in nodes.items() if drawn[id_] not in kept]
        self._members = {key: ids for key, ids in self._members.items() if key in kept}
        self._edges = {key: seen for key, seen in self._edges.items() if kept.issuperset(key[1:])}
        return rest

    def drawing(self) -> Drawing:
        """With room for what a node says when it is doomed. A place has the room for all that are
        there one after the other.
        """
        nodes: dict[str, DrawnNode] = {}
        for key, members in self._members.items():
            node = self._node(key, members)
            known = nodes.setdefault(node.id, node)
            label = zip_longest(known.label, node.label, fillvalue="")
            widest = tuple(max(each, key=len) for each in label)
            nodes[node.id] = dataclasses.replace(known, label=widest)
        edges: dict[EdgeKey, DrawnEdge] = {}
        for ends, seen in self._edges.items():
            edge = self._edge(self._placed(ends), seen)
            known_edge = edges.setdefault(self._placed(ends), edge)
            why = max(known_edge.why, edge.why, key=len)
            lost = known_edge.lost or edge.lost
            edges[self._placed(ends)] = dataclasses.replace(known_edge, why=why, lost=lost)
        return Drawing("", tuple(nodes.values()), tuple(edges.values()))

    def _placed(self, key: EdgeKey) -> EdgeKey:
        kind, source, target = key
        return kind, self._seats[source], self._seats[target]

    def _edge(self, key: EdgeKey, seen: Sequence[EdgeSeen]) -> DrawnEdge:
        why = max((span.text for each in seen for span in each.why), key=len, default="")
        return DrawnEdge(*key, why=why, lost=any(each.lost for each in seen))

    def _node(self, key: str, members: Sequence[str]) -> DrawnNode:
        node = self.history.nodes[members[0]]
        seat = self._seats[key]
        space = None if node.space is None else self._seats[node.space]
        if key != node.id:
            kind: NodeDrawn = "resource" if node.space else "pd"
            return DrawnNode(seat, kind, self._label(key, members), space)
        label: tuple[str, ...] = (node.name, node.id) if node.name else (node.id,)
        if node.doomed and kind_of(key) != "resource":
            label = (*label, "doomed at depth 9" if kind_of(key) == "pd" else "doomed")
        if key in self._stuck:
            label = (*label, max((span.text for span in self._stuck[key]), key=len))
        if kind_of(key) == "pd":
            return DrawnNode(seat, "pd", label)
        return DrawnNode(seat, "space" if key == node.space else "resource", label, space)

    def _label(self, key: str, members: Sequence[str]) -> tuple[str, ...]:
        """What stands for several nodes: how many resources of a space, or which PDs."""
        nodes = [self.history.nodes[each] for each in members]
        if nodes[0].space:
            return (f"{len(members):,} resources",)
        return key, f"{len({node.name for node in nodes})} protection domains"

    def data(self, places: Layout) -> dict[str, Any]:
        """Nodes and edges with their places and their times."""
        keys = {key: number for number, key in enumerate(self._members)}
        nodes = []
        for key, members in self._members.items():
            seen = [self.history.nodes[each] for each in members]
            folded = key != members[0]
            kind = kind_of(members[0])
            nodes.append(
                {
                    "id": key,
                    "kind": kind,
                    "label": list(self._label(key, members))
                    if folded
                    else [each for each in (seen[0].name, key) if each],
                    "members": [_span(each.span) for each in seen] if folded else [],
                    "box": places.nodes[self._seats[key]],
                    "spans": _merged(each.span for each in seen),
                    "next": None if folded else self.seats.next.get(key),
                    "doomed": [
                        [*_span(span), -1 if span.depth is None else span.depth, span.text]
                        for each in (seen if kind == "pd" else seen[:1])
                        for span in each.doomed
                    ],
                    "broken": [[*_span(span), span.text] for each in seen for span in each.broken],
                    "stuck": [
                        [*_span(span), span.text]
                        for each in members
                        for span in self._stuck.get(each, ())
                    ],
                    "space": keys.get(seen[0].space or "", -1),
                    "cluster": places.clusters.get(self._seats[key]),
                }
            )
        edges = [
            {
                "kind": list(KINDS).index(kind),
                "ends": [keys[source], keys[target]],
                "curve": places.curves.get(self._placed((kind, source, target)), []),
                "label": places.labels.get(self._placed((kind, source, target)), []),
                "spans": _merged(span for each in seen for span in each.spans),
                "why": [[*_span(span), span.text] for each in seen for span in each.why],
                "lost": _merged(span for each in seen for span in each.lost),
                "broken": _merged(span for each in seen for span in each.broken),
            }
            for (kind, source, target), seen in self._edges.items()
        ]
        rest = [[kind_of(node.id), *_span(node.span)] for node in self.rest]
        return {"nodes": nodes, "edges": edges, "rest": rest}


def _alike(history: History, seats: _Seats) -> dict[str, str]:
    """PD -> the name of the box that it shares with its like: those whose names differ in a number,
    that had edges with the same others, and that were doomed together.
    """
    edges: dict[str, set[tuple[str, str, bool]]] = {}
    for kind, source, target in history.edges:
        source, target = seats.of[source], seats.of[target]
        edges.setdefault(source, set()).add((kind, target, True))
        edges.setdefault(target, set()).add((kind, source, False))
    dooms: dict[str, set[tuple[int, int | None]]] = {}
    for id_, node in history.nodes.items():
        found = {(span.begin, span.depth) for span in node.doomed}
        dooms.setdefault(seats.of[id_], set()).update(found)
    groups: dict[object, list[str]] = {}
    for id_, node in history.nodes.items():
        seat, stem = seats.of[id_], stem_of(node.name)
        if node.space is None and stem is not None:
            ends = (stem, frozenset(edges.get(seat, ())), frozenset(dooms[seat]))
            groups.setdefault(ends, []).append(id_)
    alike: dict[str, str] = {}
    for group in groups.values():
        names = {history.nodes[id_].name for id_ in group}
        if len(names) > FOLD_PDS:
            key = ", ".join(in_ranges(sorted(names, key=natural)))
            key = f"{key[:MAX_LABEL]}..." if len(key) > MAX_LABEL else key
            alike |= dict.fromkeys(group, key)
    return alike


class _Seats:
    """Who has whose place in the picture. of: node -> the first node that had its place. next: node
    -> the event at which the next one has its place.
    """

    def __init__(self, history: History) -> None:
        self.of: dict[str, str] = {}
        self.next: dict[str, int] = {}
        left: dict[tuple[str, str, str], list[tuple[int, str]]] = {}  # who went when, by likeness
        for id_, node in history.nodes.items():
            within = "" if node.space in (None, id_) else self.of[node.space or ""]
            self.of[id_] = id_
            if not node.name and not within:
                continue
            alike = left.setdefault((kind_of(id_), node.name, within), [])
            if alike and alike[0][0] <= node.span.begin:
                before = heapq.heappop(alike)[1]
                self.of[id_] = self.of[before]
                self.next[before] = node.span.begin
            if node.span.end is not None:
                heapq.heappush(alike, (node.span.end, id_))


def _merged(spans: Iterable[Span]) -> list[list[int | None]]:
    """The spans in order, with those that meet as one."""
    found: list[list[int | None]] = []
    for span in sorted(spans, key=lambda span: span.begin):
        last = found[-1] if found else None
        if last is not None and (last[1] is None or span.begin <= last[1]):
            last[1] = None if last[1] is None or span.end is None else max(last[1], span.end)
        else:
            found.append([span.begin, span.end])
    return found
