# SPDX-License-Identifier: BSD-2-Clause
"""The content of a run's summary, by cleanup, collected from the events of a trace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from cellreap.model.graph import DESTRUCTOR
from cellreap.trace.events import Event
from cellreap.trace.faults import describe_fault
from cellreap.trace.hanging import Hanging
from cellreap.trace.report import Report

MAX_SAYS = 120
"""Maximum number of SAY lines that are kept after each cleanup."""
MAX_SAID = 100_000
"""Maximum number of SAY lines that are kept in all."""
PARTS = frozenset({"TAKEOVER", "RECOVER", "SETTLED"})
"""The events of a cleanup that a chapter keeps."""


@dataclass
class Chapter:
    """A cleanup and the events after it, up to the next cleanup.

    finished: notices by result, ok or failed. answered: subscribers that acknowledged their
    pre-destroy notice. says: (PD, text).
    """

    number: int
    trigger: str
    how: str
    depths: tuple[str, str]
    steps: int
    """How many its plan has; 0: the trace does not tell."""
    events: list[Event] = field(default_factory=list)
    finished: Counter[str] = field(default_factory=Counter)
    answered: int = 0
    ends: list[str] = field(default_factory=list)
    """the PDs whose destructors had their turns, in order"""
    meanwhile: dict[str, str] = field(default_factory=dict)
    """doomed PD that was stopped before its turn, not by this cleanup -> how"""
    says: list[tuple[str, str]] = field(default_factory=list)
    back: dict[str, str] = field(default_factory=dict)
    """doomed PD of the configuration -> the PD that was created in its place"""

    def of(self, *names: str) -> list[Event]:
        """The kept events of these names."""
        return [event for event in self.events if event.name in names]


class Story:
    """Collects the content of a summary from the events of a trace. Takes the events in order."""

    def __init__(self, report: Report) -> None:
        """report: of the check, which takes each event first."""
        self._report = report
        self.chapters: list[Chapter] = []
        self.said: list[tuple[str, str, int]] = []
        """(PD, text, number of the last cleanup that had begun), in order"""
        self.in_use: tuple[int, int] | None = None
        """bytes and slots, as the root task last counted them"""
        self.unmade: Counter[tuple[str, str, str]] = Counter()
        """what could not be made, its name or the PD that was to get it, and the kind of step that
        failed"""
        self._how: dict[str, str] = {}
        self._deadlines: dict[str, str] = {}
        self._numbered: dict[int, Chapter] = {}
        self._owed: dict[str, Chapter] = {}  # by token
        self._instance: dict[str, str] = {}  # name in the configuration -> the last PD
        self._doomed_in: dict[str, Chapter] = {}  # by PD
        self._told_before: dict[str, Chapter] = {}  # by token of the pre-destroy notice

    def take(self, event: Event) -> None:
        """Takes the next event."""
        handler = _HANDLERS.get(event.told)
        if handler is not None:
            handler(self, event)
        chapter = self._under_way(event) if event.name in PARTS else None
        if chapter is not None:
            chapter.events.append(event)

    def _under_way(self, event: Event) -> Chapter | None:
        """The cleanup of which the event is a part."""
        return self._numbered.get(event.number("n"))

    # -- the run

    def _pd(self, event: Event) -> None:
        if event["op"] != "spawn":
            before = self._instance.get(event["name"], "")
            if before in self._doomed_in:
                self._doomed_in[before].back[before] = event["id"]
            self._instance[event["name"]] = event["id"]

    def _rights(self, event: Event) -> None:
        self._deadlines[event["pd"]] = event["deadline_ms"]

    def _say(self, event: Event) -> None:
        if len(self.said) < MAX_SAID:
            after = self.chapters[-1].number if self.chapters else 0
            self.said.append((event["pd"], event["text"], after))
        if self.chapters and len(self.chapters[-1].says) <= MAX_SAYS:
            self.chapters[-1].says.append((event["pd"], event["text"]))

    def _count(self, event: Event) -> None:
        """USAGE, SETTLED: what is in use."""
        self.in_use = event.number("bytes"), event.number("slots")

    def _make_failed(self, event: Event) -> None:
        self.unmade[event["what"], event["name"], event["kind"]] += 1

    # -- triggers

    def _fault(self, event: Event) -> None:
        what = describe_fault(event, self._report.arch)
        self._stops(event["pd"], f"{what}, instruction at {event['ip']}")

    def _exit(self, event: Event) -> None:
        self._stops(event["pd"], f"exit with code {event['code']}")

    def _trigger(self, event: Event) -> None:
        if event["cause"] == "late":
            self._late(event)
        elif event["cause"] == "hung":
            self._hung(event)
        elif event["by"] != "-" and event["pd"] != "-":  # else a PD asked for a collection
            self._stops(event["pd"], f"terminated by {event['by']}", later=event["when"] != "now")

    def _stops(self, pd: str, how: str, *, later: bool = False) -> None:
        """The PD is stopped. If a cleanup under way dooms it, it is no trigger."""
        self._how[pd] = how
        chapter = self._doomed_in.get(pd)
        if chapter is not None and not later and not chapter.of("SETTLED"):
            chapter.meanwhile[pd] = how

    def _late(self, event: Event) -> None:
        deadline = self._deadlines.get(event["pd"])
        of = f" of {deadline} ms" if deadline not in (None, "0") else ""
        about = f"notice {event['token']}, not acknowledged for {event['ms']} ms"
        self._stops(event["pd"], f"missed its deadline{of} for {about}")

    def _hung(self, event: Event) -> None:
        self._stops(event["pd"], f"hung: {Hanging.of(event).told()}")

    # -- cleanups

    def _cleanup(self, event: Event) -> None:
        how = self._how.get(event["trigger"], event["cause"])
        depths = (event["pd_depth"], event["rs_depth"])
        steps = event.number("steps")
        chapter = Chapter(event.number("n"), event["trigger"], how, depths, steps)
        self.chapters.append(chapter)
        self._numbered[chapter.number] = chapter

    def _step(self, event: Event) -> None:
        chapter = self._under_way(event)
        if event["name"] == "mark" and chapter is not None:
            self._doomed_in[event["node"]] = chapter

    def _queue(self, event: Event) -> None:
        chapter = self._under_way(event)
        if chapter is None:
            return
        own = event["kind"] == "pre-destroy" and event["to"] == event["node"]
        if own and event.number("number") == 1 << DESTRUCTOR:
            if event["to"] not in chapter.meanwhile:
                chapter.ends.append(event["to"])
            return
        told = self._told_before if event["kind"] == "pre-destroy" else self._owed
        told[event["token"]] = chapter

    def _finish_work(self, event: Event) -> None:
        token = event["token"]
        if token in self._owed:
            self._owed[token].finished[event["result"]] += 1
        elif token in self._told_before:
            self._told_before[token].answered += 1


_HANDLERS: dict[str, Callable[[Story, Event], None]] = {
    "PD": Story._pd,
    "RIGHTS": Story._rights,
    "SAY": Story._say,
    "MAKE_FAILED": Story._make_failed,
    "USAGE": Story._count,
    "SETTLED": Story._count,
    "FAULT": Story._fault,
    "EXIT": Story._exit,
    "TRIGGER": Story._trigger,
    "CLEANUP": Story._cleanup,
    "STEP": Story._step,
    "QUEUE": Story._queue,
    "FINISH_WORK": Story._finish_work,
}
READS: Final = frozenset({*_HANDLERS, *PARTS})
"""The events that `Story` reads."""
