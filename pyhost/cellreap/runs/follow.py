# SPDX-License-Identifier: BSD-2-Clause
"""Follows a run while it goes on: tells its story as it happens, and ends it when it is to end."""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from cellreap import headers
from cellreap.errors import UsageError
from cellreap.model.ids import ROOT
from cellreap.runs.folding import name_of
from cellreap.runs.summary import chapter_lines
from cellreap.trace.check.replay import Replay
from cellreap.trace.events import Event, printable
from cellreap.trace.expected import Expected
from cellreap.trace.explain import Explain
from cellreap.trace.faults import Faults
from cellreap.trace.hanging import Hanging
from cellreap.trace.lines import Lines, readable
from cellreap.trace.reader import MAX_LINE, Events, Reader
from cellreap.trace.refusals import refusal_of
from cellreap.trace.report import Report
from cellreap.trace.story import Story

_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION: Final = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?)(ms|s|m|h)")


@dataclass(frozen=True)
class Until:
    """When a run ends. seconds: after this time; else at the first event with these values."""

    seconds: float | None = None
    event: str = ""
    values: tuple[tuple[str, str], ...] = ()

    def is_it(self, event: Event) -> bool:
        """Whether the run ends at this event."""
        return event.name == self.event and all(
            event[field] == value for field, value in self.values
        )


def parse_until(text: str) -> Until:
    """The value of --until. UsageError if it is neither a duration nor an event."""
    duration = _DURATION.fullmatch(text)
    if duration is not None:
        return Until(seconds=float(duration[1]) * _UNITS[duration[2]])
    name, _, rest = text.partition(":")
    fields = headers.event_table().fields.get(name)
    if fields is None:
        raise UsageError(
            f"--until {text}: expected a duration such as 30s (ms, s, m, h), or an event of the "
            "trace such as SETTLED, SETTLED:n=2 or SAY:text=ready"
        )
    values = []
    for each in rest.split(",") if rest else ():
        field, equals, value = each.partition("=")
        if not equals or field not in fields:
            known = ", ".join(fields)
            raise UsageError(f"--until {text}: {each}: expected FIELD=VALUE with one of {known}")
        values.append((field, value))
    return Until(event=name, values=tuple(values))


class Follower:
    """Gets the console of a run piece by piece."""

    def __init__(
        self,
        until: Until | None,
        expected: Expected,
        explain: Explain,
        tell: Callable[[str], None] | None,
        others: bool = False,
    ) -> None:
        """tell: called with each line of the story. None: the story is not told. others: the story
        has what others print on the console, as PDs for Microkit do.
        """
        self._until = until
        self._tell = tell
        self._others = Lines() if others and tell is not None else None
        self._begun = b""
        """What others began to print in a line."""
        self._reader = Reader("the console")
        self._events = Events(self._reader)
        self._replay = Replay(Report("the console"), expected)
        self._story = Story(self._replay.report)
        self._faults = Faults(self._replay.report, explain.fault)
        self._rest = b""
        self._line = 0
        self._start = time.monotonic()
        self.told = 0
        """The number of cleanups that were told."""

    def take(self, data: bytes) -> bool:
        """Takes the next bytes. Returns whether the run is to end."""
        if self._tell is None and (self._until is None or not self._until.event):
            return False
        *lines, rest = (self._rest + data).split(b"\n")
        self._rest = rest[-MAX_LINE:]
        over = False
        for line in lines:
            self._line += 1
            if self._others is not None:
                self._hear(self._others, line + b"\n")
            for event in self._events.feed(self._line, line):
                self._happened(event)
                over = over or (self._until is not None and self._until.is_it(event))
        return over

    def _hear(self, others: Lines, line: bytes) -> None:
        *whole, begun = (self._begun + others.other(line)).split(b"\n")
        self._begun = begun[-MAX_LINE:] if others.keyed else b""
        for text in whole if others.keyed else ():
            self._at_once(readable(text.rstrip(b"\r").decode("utf-8", "replace")))

    def _at_once(self, text: str) -> None:
        assert self._tell is not None
        self._tell(f"[{time.monotonic() - self._start:7.1f} s] {text}")

    def _happened(self, event: Event) -> None:
        if self._tell is None:
            return
        self._replay.feed(event)
        self._story.take(event)
        self._faults.take(event)
        report = self._replay.report
        names = report.names
        said = _said(event, names)
        if event.name in ("FAULT", "FAULT_HELD") and report.faults:
            fault = report.faults[-1]
            said = f"{name_of(fault.pd, names)}: {fault.what}, {fault.where}"
        if said:
            self._at_once(said)
        if event.name == "SETTLED":
            rest = self._story.chapters[self.told :]
            for chapter in itertools.takewhile(lambda each: each.of("SETTLED"), rest):
                for line in chapter_lines(chapter, report, report.faults, at_once=True):
                    self._tell(line)
                self.told += 1


def _said(event: Event, names: dict[str, str]) -> str:
    """What the story tells at once of an event. Empty: nothing."""

    def name(field: str = "pd") -> str:
        return name_of(event[field], names)

    match event.told:
        case "PD" if event["id"] != ROOT:
            return f"{name('id')} was created"
        case "SAY":
            return f"{name()}: {printable(event['text'])}"
        case "EXIT":
            return f"{name()}: exit with code {event['code']}"
        case "REFUSE":
            return f"{name()}: refused {refusal_of(event).why()}"
        case "TRIGGER":
            return _triggered(event, name)
        case "CANCEL":
            what = f"ticket {event['ticket']}" if event["ticket"] != "0" else event["name"]
            return f"{name()}: cancelled {printable(what)}"
        case "due RESPAWN":
            return f"{printable(event['name'])} is respawned in {event['delay_ms']} ms"
        case "over RESPAWN":
            return f"{printable(event['name'])} stays down: its budget is used up"
    return ""


def _triggered(event: Event, name: Callable[..., str]) -> str:
    """A TRIGGER in words. Empty: no PD is concerned."""
    match event["cause"], event["when"]:
        case "terminate", "now":
            return f"{name()}: terminated by {name('by')}"
        case "terminate", "later":
            return f"{name()}: will be terminated for {name('by')}"
        case "terminate", _:
            return f"{name()}: goes on, as its end would destroy a protected PD"
        case "subtree", _:
            return f"{name()}: terminated by {name('by')}, with all that it created"
        case "late", _:
            return f"{name()}: missed its deadline for notice {event['token']}"
        case "hung", _:
            return f"{name()}: hung: {Hanging.of(event).told(lambda _: name('by'))}"
    return ""
