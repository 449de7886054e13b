# SPDX-License-Identifier: BSD-2-Clause
"""Boots with the words of kernel and PDs: one that was recorded, and changes to what is said in it.

`pytest --rewrite tests/boot/test_truth.py` records it anew.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from cellreap.testing import Change, with_system
from cellreap.trace.check import Report, check_stream
from cellreap.trace.check.truth import EVENTS
from cellreap.trace.events import Event
from cellreap.trace.frames import MARK
from cellreap.trace.reader import Reader, read
from cellreap.trace.writer import seal
from kit.paths import TRUTH

WITH_TRUTH: Final[Change] = with_system(truth=True)
"""The system with all of the kernel's word. The check demands that it is there."""
WITHOUT_TRUTH: Final[Change] = with_system(truth=False)
"""The system without it. Most boots of the suite are so: they need no second witness."""
WITH_SOME_TRUTH: Final[Change] = with_system(truth=None)
"""The system as `cellreap run` boots it."""

_ALIGNED = re.compile(rb"(\S.{39})   (.{16})   (.{18})   ( *\d+)")
_NOISE = b"decodeUntypedInvocation"
"""In the kernel's lines about retypes that it refused. They are left out of the recorded console.
What comes before the trace is left out too.
"""


def recorded() -> list[Event]:
    """The events of the recorded boot, with the text of its snapshots."""
    with TRUTH.open("rb") as stream:
        return list(read(Reader(TRUTH.name), stream))


def record(console: bytes) -> None:
    """Makes the console of a boot the recorded one."""
    TRUTH.parent.mkdir(exist_ok=True)
    console = console.replace(b"\r", b"")
    lines = console[console.index(MARK) :].split(b"\n")
    TRUTH.write_bytes(b"\n".join(_in_tabs(line) for line in lines if _NOISE not in line))


def _in_tabs(line: bytes) -> bytes:
    """A line of the list of threads with tabs between its columns, as kernels before 2026 have it.
    The test of the other form is made from it.
    """
    found = _ALIGNED.fullmatch(line)
    if found is None:
        return line
    name, state, ip, priority = (column.strip() for column in found.groups())
    return b"%40b\t%15b\t%b\t%20b\t0" % (name, state, ip, priority)


def report_on(events: list[Event]) -> Report:
    """The report on a console with these events, their snapshots and what PDs say."""
    key = bytes.fromhex(events[0]["key"])
    lines: list[str] = []
    for event, line in zip(events, seal(events), strict=True):
        lines += [*event.text, *(statement.text(key) for statement in event.said), line]
    return check_stream(io.BytesIO("\n".join(lines).encode()), TRUTH.name)


def groups(events: list[Event]) -> list[range]:
    """The places of the events that belong to one answer of the kernel, for each answer."""
    starts = [at for at, event in enumerate(events) if event.name == "TRUTH"]
    ends = [at + 1 for at, event in enumerate(events) if event.name == "UNTYPEDS"]
    return [range(start, end) for start, end in zip(starts, ends, strict=True)]


def of_last(
    events: list[Event], change: Callable[[list[Event]], Iterator[Event] | list[Event]]
) -> list[Event]:
    """The events with a change to the last answer but one: that after the cleanup."""
    where = groups(events)[-2]
    return [*events[: where.start], *change([events[i] for i in where]), *events[where.stop :]]


def with_text(events: list[Event], change: Callable[[list[str]], list[str]]) -> list[Event]:
    """The events with another text of the snapshot after the cleanup."""

    def changed(part: list[Event]) -> list[Event]:
        return [replace(e, text=tuple(change(list(e.text)))) if e.text else e for e in part]

    return of_last(events, changed)


def with_value(
    events: list[Event], name: str, field: str, change: Callable[[str], str], **match: str
) -> list[Event]:
    """The events with another value in the first such event after the cleanup."""

    def changed(part: list[Event]) -> Iterator[Event]:
        left = 1
        for event in part:
            fits = event.name == name and all(event[key] == match[key] for key in match)
            if fits and left:
                left -= 1
                event = replace(event, values={**event.values, field: change(event[field])})
            yield event

    return of_last(events, changed)


def without(events: list[Event], name: str) -> list[Event]:
    """The events without those of this name after the cleanup."""
    return of_last(events, lambda part: [event for event in part if event.name != name])


def line_with(lines: list[str], text: str, last: bool = False) -> int:
    """The first or last line that contains the text."""
    found = [at for at, line in enumerate(lines) if text in line]
    return found[-1 if last else 0]


def _extra_cap(lines: list[str]) -> list[str]:
    """The first PD has its capability to the root task also in slot 200."""
    at = line_with(lines, "0x4: ")
    return [*lines[: at + 1], lines[at].replace("0x4: ", "0xc8: "), *lines[at + 1 :]]


def _without_line(text: str) -> Callable[[list[str]], list[str]]:
    def change(lines: list[str]) -> list[str]:
        at = line_with(lines, text)
        return [*lines[:at], *lines[at + 1 :]]

    return change


def _more(text: str) -> str:
    return str(int(text) + 4096)


def with_times(
    events: list[Event], changed: Mapping[str, tuple[str, str]], passive: Sequence[str] = ()
) -> list[Event]:
    """The events as of a kernel with MCS.

    changed: PD -> who has its time after the cleanup, and whom it calls. Each other PD has its own.
    """
    after = groups(events)[-2]
    timed: list[Event] = []
    for at, event in enumerate(events):
        if event.name == "RIGHTS" and event["pd"] in passive:
            event = valued(event, passive="1")
        if event.name == "OWN_CAPS" and events[at - 1].name == "CAPS":
            start = max(group.start for group in groups(events) if group.start < at)
            pds = dict.fromkeys(e["pd"] for e in events[start:at] if e.name == "CAPS")
            for pd in pds:
                has, calls = changed.get(pd, (pd, "-")) if at in after else (pd, "-")
                values = {"pd": pd, "at": has, "calls": calls}
                timed.append(replace(event, name="TIME", values=values, said=(), text=()))
        timed.append(event)
    return timed


def place(events: list[Event], name: str, *, last: bool = False, **values: str) -> int:
    """Where the first or last event of this name with these values is."""
    found = [
        at
        for at, event in enumerate(events)
        if name in (event.name, event.told) and values.items() <= event.values.items()
    ]
    return found[-1 if last else 0]


def valued(event: Event, **values: str) -> Event:
    """The event with other values."""
    return replace(event, values={**event.values, **values})


def retold(events: list[Event], at: int, *instead: Event) -> list[Event]:
    """The events with others in place of one. What PDs say stays where it is."""
    rest = [*(replace(event, said=()) for event in instead), *events[at + 1 :]]
    rest[0] = replace(rest[0], said=(*events[at].said, *rest[0].said))
    return [*events[:at], *rest]


def _another_text(events: list[Event]) -> list[Event]:
    at = place(events, "SAY")
    return retold(events, at, valued(events[at], text="something else"))


def _one_more(events: list[Event]) -> list[Event]:
    at = place(events, "SAY", last=True)
    return retold(events, at, events[at], events[at])


def _from_the_dead(events: list[Event]) -> list[Event]:
    stop = place(events, "stopped THREAD")
    said = [said for event in events for said in event.said if said.pd == events[stop]["pd"]]
    return [*events[:-1], replace(events[-1], said=(said[-1],))]


def reports() -> dict[str, Callable[[], Report]]:
    """Rule -> the report on a trace in which the kernel says something that breaks it."""

    def on(change: Callable[[list[Event]], list[Event]]) -> Callable[[], Report]:
        return lambda: report_on(change(recorded()))

    return {
        "truth.form": on(lambda events: without(events, "OWN_CAPS")),
        "truth.when": on(
            lambda events: of_last(events, lambda part: [e for e in part if e.name not in EVENTS])
        ),
        "truth.snapshot": on(lambda events: with_text(events, lambda lines: lines[:-1])),
        "truth.threads": on(lambda events: with_text(events, _without_line("rootserver\t"))),
        "truth.caps": on(lambda events: with_text(events, _extra_cap)),
        "truth.tables": on(lambda events: with_text(events, _without_line(": frame_"))),
        "truth.walk": on(
            lambda events: with_value(events, "CAPS", "caps", lambda caps: f"{caps},e60")
        ),
        "truth.own": on(
            lambda events: with_value(events, "OWN_CAPS", "endpoints", _more, cnode="pool")
        ),
        "truth.time": on(lambda events: with_times(events, {"PD_5": ("PD_4", "PD_4")})),
        "statements.same": on(_another_text),
        "statements.announced": on(_one_more),
        "statements.stopped": on(_from_the_dead),
        "truth.memory": on(lambda events: with_value(events, "UNTYPEDS", "bytes", _more)),
    }
