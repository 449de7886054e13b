# SPDX-License-Identifier: BSD-2-Clause
"""Changes to a trace, one at a time, and which of them a checker must notice.

`conflicts` is the tests' own rule for which events depend on each other. The checker is not asked.
"""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from cellreap.model.ids import ROOT, parse_id
from cellreap.trace.check import Replay, Report
from cellreap.trace.events import Event, id_fields
from kit.records import field_type

_Item = TypeVar("_Item")


@dataclass(frozen=True)
class Mutation:
    """The difference of a trace from its original.

    kind: delete, double, alter or move. at: the event. tail: the events from `keep` on that replace
    the rest. what: for messages. key: the event's name, and the field's if a field is altered.
    changed: the altered value.
    """

    kind: str
    at: int
    keep: int
    what: str
    key: str
    changed: Event | None = None


def deletions(events: Sequence[Event]) -> Iterator[tuple[Mutation, list[Event]]]:
    for i, event in enumerate(events):
        yield Mutation("delete", i, i, str(event), event.told), list(events[i + 1 :])


def doublings(events: Sequence[Event]) -> Iterator[tuple[Mutation, list[Event]]]:
    for i, event in enumerate(events):
        yield Mutation("double", i, i + 1, str(event), event.told), [event, *events[i + 1 :]]


def alterations(events: Sequence[Event]) -> Iterator[tuple[Mutation, list[Event]]]:
    """Every field of every event, set to other values that it could have."""
    nodes = _nodes(events)
    for i, event in enumerate(events):
        for name, value in event.values.items():
            for other in _others(event, name, value, nodes):
                changed = Event(event.name, {**event.values, name: other}, event.line, event.seq)
                what = f"{event.name}.{name} {value} -> {other} in {event}"
                yield (
                    Mutation("alter", i, i, what, f"{event.told}.{name}", changed),
                    [changed, *events[i + 1 :]],
                )


def moves(
    events: Sequence[Event], places: Sequence[int | None]
) -> Iterator[tuple[Mutation, list[Event]]]:
    """Event i moved in front of event places[i], in the order of `keep`.

    None leaves it in its place.
    """
    order = sorted(
        (min(i, to), i, to)
        for i, to in enumerate(places)
        if to is not None and to not in (i, i + 1)
    )
    for keep, i, to in order:
        if to < i:
            tail = [events[i], *events[to:i], *events[i + 1 :]]
        else:
            tail = [*events[i + 1 : to], events[i], *events[to:]]
        crossed = events[to:i] if to < i else events[i + 1 : to]
        if all(_same(other, events[i]) for other in crossed):
            continue  # nothing changes
        what = f"{events[i]} to before {events[to] if to < len(events) else 'nothing'}"
        yield Mutation("move", i, keep, what, events[i].told), tail


def by_distance(events: Sequence[Event], distance: int) -> list[int | None]:
    """Places that many events earlier, or later if the distance is negative."""
    places = (i - distance if distance > 0 else i - distance + 1 for i in range(len(events)))
    return [to if 0 <= to <= len(events) else None for to in places]


def across_dependencies(events: Sequence[Event], earlier: bool) -> list[int | None]:
    """For each event, the place in front of the nearest earlier event that it depends on.

    If not `earlier`: the place behind the nearest later event that depends on it.
    """
    places: list[int | None] = []
    for i in range(len(events)):
        others = range(i - 1, -1, -1) if earlier else range(i + 1, len(events))
        found = next((j for j in others if depends(events, min(i, j), max(i, j), i)), None)
        places.append(found if found is None or earlier else found + 1)
    return places


def _same(a: Event, b: Event) -> bool:
    return a.name == b.name and a.values == b.values


def stride(length: int, thorough: bool = False) -> int:
    """1 for a short trace, or if the test is thorough.

    The cost of trying everything grows with the square of the length.
    """
    return 1 if thorough else max(1, (length // 60) ** 2)


def every(step: int, items: Iterable[_Item]) -> Iterator[_Item]:
    """The first item and each `step`-th after it."""
    return itertools.islice(items, 0, None, step)


def passing(
    events: Sequence[Event],
    mutations: Iterable[tuple[Mutation, list[Event]]],
    thorough: bool = False,
) -> Iterator[tuple[Mutation, bool]]:
    """Each mutation, and whether the trace that it makes passes the check.

    This is fast if `mutations` come with rising `keep`: their common beginning is replayed once. Of
    a long trace only some are tried, evenly spread, unless the test is thorough.
    """
    replay = Replay(Report("mutated"))
    fed = -1
    saved = b""
    for mutation, tail in every(stride(len(events), thorough), mutations):
        if mutation.keep < fed:
            replay, fed = Replay(Report("mutated")), -1
        if mutation.keep != fed:
            for event in events[max(0, fed) : mutation.keep]:
                replay.feed(event)
            fed = mutation.keep
            saved = pickle.dumps(replay)  # several times as fast as copy.deepcopy
        yield mutation, _passes(pickle.loads(saved), tail)


def _passes(replay: Replay, tail: Iterable[Event]) -> bool:
    for event in tail:
        replay.feed(event)
        if not replay.report.passed:
            return False
    replay.finish()
    return replay.report.passed


# -- values


def _nodes(events: Sequence[Event]) -> dict[str, list[str]]:
    """The ids in a trace by kind, in the order of their creation."""
    nodes: dict[str, list[str]] = {"PD": [], "RESOURCE_SPACE": [], "RESOURCE": []}
    for event in events:
        if event.name in ("PD", "SPACE", "RESOURCE"):
            parts = parse_id(event["id"])
            assert parts is not None
            if event["id"] not in nodes[parts.kind]:
                nodes[parts.kind].append(event["id"])
    return nodes


def _others(event: Event, name: str, value: str, nodes: dict[str, list[str]]) -> list[str]:
    """Other values that have the field's form, for example the two neighbours of a number."""
    kind = field_type(event.name, name)
    if event.name == "END":
        return []  # made anew when the trace is sealed
    parts = parse_id(value)
    if parts is not None and name in id_fields(event.name):
        same = nodes[parts.kind]
        at = same.index(value) if value in same else 0
        candidates = [same[at - 1], same[(at + 1) % len(same)], f"{value}9", ROOT, "-"]
    elif name in ("address", "ip", "paddr"):
        number = int(value, 16)
        candidates = [hex(number + 1), hex(number ^ 0x40000), hex(number + 0x100000000)]
    elif value.isdecimal() and not kind.accepts("x"):
        candidates = [
            str(int(value) + 1),
            str(max(0, int(value) - 1)),
            str(int(value) * 2 + 64),
            "inf",
            "1",
            "0",
        ]
    elif kind.name == "OP_OR_NONE":
        candidates = ["-", "give", "send", "connect", "create_space", "spawn"]
    elif value == "inf":
        candidates = ["0", "1", "7"]
    elif name == "kinds":
        first, *rest = value.split(",")
        candidates = [",".join(rest), first, f"{value},signal:1", f"{value}0", "signal:1", "-"]
    elif name == "objects":
        first, *rest = value.split(",")
        candidates = [",".join(rest), first, f"{value},frame:1", f"{value}0", "frame:1", "-"]
    elif name == "row":
        candidates = [value + "x", value.replace("PD_1", "PD_2"), value.replace("_1", "_2")]
    else:
        candidates = list(kind.words)
        candidates += [value + "x", value[:-1], "-", "PD_1", "mark", "copy"]
    valid = dict.fromkeys(other for other in candidates if other != value and kind.accepts(other))
    return list(valid)


# -- which events depend on each other

_FRAME = {"TRACE", "SETTING", "CLEANUP", "SETTLED", "END"}
_MODEL = {
    "PD", "BODY", "SPACE", "RESOURCE", "DELETE", "EDGE",
}  # fmt: skip
_TRIGGERS = {"FAULT", "EXIT", "TRIGGER"}
_ACTS = {
    "SAY": "pd",
    "REFUSE": "pd",
    "ANSWER": "pd",
    "fetched NOTICE": "pd",
    "FINISH_WORK": "pd",
    "FAULT": "pd",
    "EXIT": "pd",
    "TRIGGER": "by",
}
_PHASES = {
    "PLAN": 0, "suspend": 1, "mark": 2, "tell": 3,
    "await": 3, "WAIT": 3, "CONTINUE": 3, "cut-request": 4, "destroy-resource": 4,
    "destroy-space": 4, "destroy-pd": 4,
    "notify": 6, "QUEUE": 6,
}  # fmt: skip


def depends(events: Sequence[Event], first: int, second: int, moved: int) -> bool:
    """Whether the trace's meaning changes if one of the two, `moved`, is moved beyond the other."""
    a, b = events[first], events[second]
    if not conflicts(a, b):
        return False
    if a.told == b.told and a.told in ("fetched NOTICE", "FINISH_WORK"):
        if events[0]["version"] == "1":
            return a.told == "fetched NOTICE"
        return _lane(events, a) == _lane(events, b)
    crossed = events[first : second + 1] if moved == first else events[first:second]
    if events[moved].name == "USAGE" and not {a.name, b.name} & _FRAME:
        return sum(map(_memory, crossed)) != 0
    if a.dropped("HOLD", "SUBSCRIBE") and b.made(a["kind"]):
        return False
    if b.dropped("HOLD", "SUBSCRIBE") and a.made(b["kind"]):
        # Only if the dropped one is the only one.
        told = [e["change"] for e in events[:second] if e.name == "EDGE" and _edge(e) == _edge(b)]
        return told.count("made") - told.count("dropped") == 1
    return True


def _edge(event: Event) -> list[str]:
    return [event[field] for field in ("kind", "from", "to", "number")]


_BETWEEN = ("SAY", "CLOCK", "HELD_UP", "in-rounds THREAD", "dismissed THREAD", "unfinished THREAD")
"""Events that may come before or after any cleanup, but not in its middle."""


def leapt_cleanups(events: Sequence[Event], crossed: range, moved: int) -> frozenset[int]:
    """The crossed events of cleanups that the moved event is free to happen before or after.

    The clock and the rounds are free, and what a PD says, and the depths of others than the
    trigger. A notice's receiver is, with a notice that another cleanup queued: it fetches and
    acknowledges it when it runs. It does so before or after a cleanup, or while that waits. What is
    served behind a step may be served before it.
    """
    event = events[moved]
    names = [events[j].name for j in crossed]
    if event.name == "STEP" and names[-1] == "SERVED" and "STEP" not in names:
        return frozenset(crossed)
    sets_depths = event.values.get("op") == "set_depth"
    if not sets_depths and event.told not in ("fetched NOTICE", "FINISH_WORK", *_BETWEEN):
        return frozenset()
    parts: dict[str, list[int]] = {}
    for j in crossed:
        if events[j].values.get("n", "0") != "0":
            parts.setdefault(events[j]["n"], []).append(j)
    return frozenset(
        j
        for part in parts.values()
        if events[part[0]].name in ("CLEANUP", "CONTINUE")
        and events[part[-1]].name in ("WAIT", "SETTLED")
        and event.values.get("pd") != events[part[0]].values.get("trigger")
        and not any(
            events[j].name == "QUEUE" and events[j]["token"] == event.values.get("token")
            for j in part
        )
        for j in part
    )


def _lane(events: Sequence[Event], event: Event) -> int:
    """The number of the space that a fetched or acknowledged notice is about. 0: a PD."""
    queued = next(e for e in events if e.name == "QUEUE" and e["token"] == event["token"])
    parts = parse_id(queued["node"])
    assert parts is not None
    if parts.kind == "PD":
        return 0
    return parts.number if parts.space is None else parts.space


def _memory(event: Event) -> int:
    """A number that is not 0 if the event changes what is in use.

    Different changes have different numbers.
    """
    if event.name in ("BODY", "RESOURCE"):
        return (
            event.number("slots") + event.number("bytes")
            if event.name == "BODY"
            else event.number("slots")
        )
    parts = parse_id(event["node"]) if event.name == "DELETE" else None
    return -1 if parts is not None and parts.kind == "RESOURCE" else 0


def conflicts(first: Event, second: Event) -> bool:
    """Whether the order of the two matters.

    Both are from one trace, in this order, and near each other.
    """
    names = {first.name, second.name}
    if names & {"TRACE", "SETTING", "END"}:
        return first.values.get("what") != second.values.get("what")
    for one, other in ((first, second), (second, first)):
        if one.name == "QUEUE" and one["n"] == "0":
            # Of no cleanup: behind the REQUEST that is dropped, before the GET_WORK.
            if other.dropped("REQUEST"):
                return (one["node"], one["from"]) == (other["to"], other["from"])
            return other.values.get("token") == one["token"]
    in_cleanup = [event.name in _PHASES or event.name == "STEP" for event in (first, second)]
    if all(in_cleanup):
        return _conflict_within(first, second)
    if any(in_cleanup):
        outside, inside = (second, first) if in_cleanup[0] else (first, second)
        return inside["n"] != "0" or outside.name in _MODEL
    if names & {"CLEANUP", "SETTLED"}:
        other, frame = (second, first) if first.name in ("CLEANUP", "SETTLED") else (first, second)
        if frame["n"] == "0":
            return other.name in _MODEL
        return other.name not in ("SAY", "REFUSE", "UNREACHED")
    if "USAGE" in names:
        return _memory(first) != 0 or _memory(second) != 0
    if first.name in _TRIGGERS and second.name in _TRIGGERS:
        return True
    if _acting(first, second) or _acting(second, first):
        return True
    if (
        first.told in ("fetched NOTICE", "FINISH_WORK")
        and second.told in ("fetched NOTICE", "FINISH_WORK")
        and first["pd"] == second["pd"]
    ):
        return first.told == second.told or first["token"] == second["token"]
    return _makes(first, second) or _unmakes(first, second)


def _phase(event: Event) -> int:
    if event.name == "QUEUE" and event["kind"] == "pre-destroy":
        return _PHASES["tell"]
    return _PHASES[event["name"] if event.name == "STEP" else event.name]


def _conflict_within(first: Event, second: Event) -> bool:
    if first["n"] != second["n"]:
        return True
    phases = [_phase(event) for event in (first, second)]
    if phases[0] != phases[1]:
        return True
    return first.name == second.name == "QUEUE"


def _acting(trigger: Event, other: Event) -> bool:
    """Whether `other` creates the PD that `trigger` stops, or is caused by that PD."""
    if trigger.name in ("FAULT", "EXIT"):
        if other.told in _ACTS:
            return other[_ACTS[other.told]] == trigger["pd"]
        if other.name == "EDGE" and other["kind"] == "SUBSCRIBE":
            return other["from"] == trigger["pd"]
        if other.name == "RESOURCE":
            return False  # depends on the manager of its space, which the event does not name
    return False


def _ids(event: Event) -> set[str]:
    return {value for value in event.values.values() if parse_id(value) is not None}


def _makes(first: Event, second: Event) -> bool:
    """Whether the first creates what the second names."""
    if first.name in ("PD", "SPACE", "RESOURCE"):
        return first["id"] in _ids(second) or (
            second.name == "BODY" and second["of"] == first["id"]
        )
    if first.name == "BODY":
        return second.name == "PD" or (second.name in _TRIGGERS and second["pd"] == first["of"])
    return False


def _unmakes(first: Event, second: Event) -> bool:
    """Whether the second is about the first's edge, or about the node that the first deleted."""
    for one, other in ((first, second), (second, first)):
        if one.name == "DELETE" and one["node"] in _ids(other):
            return True
    both = first.name == second.name == "EDGE"
    return both and first["change"] != second["change"] and _edge(first) == _edge(second)
