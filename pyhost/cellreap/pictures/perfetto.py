# SPDX-License-Identifier: BSD-2-Clause
"""Writes a run as JSON that ui.perfetto.dev and chrome://tracing open.

In a trace without times, the event at position n stands at n microseconds, and the file says so.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from cellreap.pictures.history import Span
from cellreap.pictures.lanes import Lanes
from cellreap.trace.events import Event, printable
from cellreap.trace.report import Report

_PDS: Final = 1
_CLEANUPS: Final = 2
_STEPS: Final = 3
Entry = dict[str, Any]


def perfetto(events: Sequence[Event], report: Report) -> str:
    """The file. PDs are the threads of one process, cleanups and their steps those of others."""
    lanes = Lanes()
    for event in events:
        lanes.take(event)
    entries = [*_pds(lanes, events, report.names), *_cleanups(lanes, len(events))]
    timed = any(event.time for event in events)
    if timed:
        _put_times(entries, [event.time or 0 for event in events])
    untimed = "1 us for each event: the trace has the order of events, not their times"
    about = {
        "system": printable(report.system),
        "kernel": printable(report.kernel),
        "time": "since the first event" if timed else untimed,
    }
    shown = {"traceEvents": entries, "displayTimeUnit": "ns", "otherData": about}
    return json.dumps(shown, separators=(",", ":")) + "\n"


def _put_times(entries: list[Entry], times: Sequence[int]) -> None:
    """Replaces the places of events by their times in microseconds."""

    def at(place: int) -> float:
        return times[min(place, len(times) - 1)] / 1000

    for entry in entries:
        if "ts" in entry:
            begin = entry["ts"]
            entry["ts"] = at(begin)
            if "dur" in entry:
                entry["dur"] = at(begin + entry["dur"]) - at(begin)


def _pds(lanes: Lanes, events: Sequence[Event], names: Mapping[str, str]) -> Iterator[Entry]:
    yield _named("process_name", _PDS, 0, "protection domains")
    threads = {pd: number for number, pd in enumerate(lanes.lanes, 1)}
    count = len(events)
    asynchronous = 0
    for pd, lane in lanes.lanes.items():
        tid = threads[pd]
        name = printable(names.get(pd, ""), 40)
        yield _named("thread_name", _PDS, tid, f"{name} ({pd})" if name else pd)
        yield {"ph": "M", "name": "thread_sort_index", "pid": _PDS, "tid": tid,
               "args": {"sort_index": tid}}  # fmt: skip
        yield _slice("lives", _PDS, tid, lane.life, count, {"pd": pd})
        # Waits of one PD overlap, and slices of one thread must not.
        for wait in lane.waits:
            asynchronous += 1
            common = {"cat": "wait", "name": wait.text, "id": asynchronous, "pid": _PDS, "tid": tid}
            end = count if wait.end is None else wait.end
            yield {"ph": "b", "ts": wait.begin, **common}
            yield {"ph": "e", "ts": end, **common}
        for at, what in lane.marks:
            told = {"event": printable(str(events[at]), 400)}
            yield {"ph": "i", "s": "t", "cat": "event", "name": lanes.says[what], "ts": at,
                   "pid": _PDS, "tid": tid, "args": told}  # fmt: skip
    for arrow in lanes.arrows.values():
        source, to = threads.get(arrow.source), threads.get(arrow.to)
        if arrow.taken is None or source is None or to is None:
            continue
        # An arrow begins in a slice: in that of the root task if the PD is gone.
        life = lanes.lanes[arrow.source].life
        if life.end is not None and arrow.queued >= life.end:
            source = 1
        common = {"cat": "notice", "name": f"{arrow.kind} {arrow.node}", "id": arrow.token}
        yield {"ph": "s", "ts": arrow.queued, "pid": _PDS, "tid": source, **common}
        yield {"ph": "f", "bp": "e", "ts": arrow.taken, "pid": _PDS, "tid": to, **common}


def _cleanups(lanes: Lanes, count: int) -> Iterator[Entry]:
    if lanes.cleanups:
        yield _named("process_name", _CLEANUPS, 0, "cleanups")
        yield _named("process_name", _STEPS, 0, "steps of cleanups")
    for number, cleanup in lanes.cleanups.items():
        yield _named("thread_name", _CLEANUPS, number, f"cleanup {number}")
        about = {"trigger": cleanup.trigger, "calls": cleanup.calls, "cycles": cleanup.cycles}
        yield _slice(f"cleanup {number}", _CLEANUPS, number, cleanup.span, count, about)
        for phase in cleanup.phases:
            yield _slice(phase.text, _CLEANUPS, number, phase, count, {})
        begin = cleanup.span.begin  # a step is recorded when it is done
        if cleanup.steps:
            yield _named("thread_name", _STEPS, number, f"steps of cleanup {number}")
        for at, name, node, pd, kinds, things in cleanup.steps:
            told = {"node": node, "pd": pd, "kinds": kinds, "count": things}
            yield _slice(name, _STEPS, number, Span(begin, at), count, told)
            begin = at


def _named(what: str, pid: int, tid: int, name: str) -> Entry:
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": name}}


def _slice(
    name: str, pid: int, tid: int, span: Span, count: int, about: Mapping[str, object]
) -> Entry:
    end = count if span.end is None else span.end
    return {"ph": "X", "cat": "cellreap", "name": name, "pid": pid, "tid": tid, "ts": span.begin,
            "dur": end - span.begin, "args": dict(about)}  # fmt: skip
