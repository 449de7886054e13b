# SPDX-License-Identifier: BSD-2-Clause
"""What each PD of a run does over time, which notices go where, and the phases of cleanups."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from cellreap.model.ids import ROOT
from cellreap.pictures.history import Span
from cellreap.trace.events import Event, asks
from cellreap.trace.refusals import refusal_of

PHASES: Final = {
    "suspend": "mark",
    "mark": "mark",
    "tell": "notify",
    "await": "notify",
    "cut-request": "destroy",
    "destroy-resource": "destroy",
    "destroy-space": "destroy",
    "destroy-pd": "destroy",
    "notify": "settle",
    "settle": "settle",
}
"""Step -> the phase of a cleanup that it is part of. Before the first step, it is planned."""
MARKS: Final = {
    "FAULT": "fault",
    "EXIT": "exit",
    "terminate": "terminated",
    "later": "to be terminated",
    "subtree": "terminated with all that it created",
    "never": "goes on",
    "CANCEL": "cancels",
    "late": "late",
    "hung": "hung",
    "SAY": "says",
    "answered THREAD": "answered: server died",
    "REFUSE": "refused",
    "STANDS": "stands",
    "GIVE_UP": "given up",
}
"""Events that are marked in the lane of their PD, and what they are in words. A TRIGGER has its
cause here, or its `when` if that is not now.
"""


@dataclass
class Lane:
    """A PD. life: when it was there. waits: with `text` what it waits for or does."""

    pd: str
    life: Span
    waits: list[Span] = field(default_factory=list)
    stuck: list[Span] = field(default_factory=list)
    """Those of `waits` in which it was seen in a call that nobody answers."""
    marks: list[tuple[int, str]] = field(default_factory=list)


@dataclass
class Arrow:
    """A notice. source: the PD that it is about, or the root task. taken: the event at which the
    receiver fetched it, or None.
    """

    token: int
    kind: str
    node: str
    source: str
    to: str
    queued: int
    taken: int | None = None
    end: int | None = None
    result: str = ""


@dataclass
class CleanupSeen:
    """A cleanup. phases: in order, with `text` the phase. steps: (event, name, node, pd, kinds,
    count).
    """

    number: int
    span: Span
    trigger: str
    phases: list[Span] = field(default_factory=list)
    steps: list[tuple[int, str, str, str, str, int]] = field(default_factory=list)
    calls: int = 0
    cycles: int = 0


class Lanes:
    """Takes the events of a trace in order."""

    def __init__(self) -> None:
        self.lanes: dict[str, Lane] = {}
        self.arrows: dict[int, Arrow] = {}
        self.cleanups: dict[int, CleanupSeen] = {}
        self.clock: list[tuple[int, int]] = []
        """(event, ms) of each CLOCK"""
        self.says = dict(MARKS)
        """What each kind of mark is in words. Refused operations are kinds of their own."""
        self._at = -1
        self._open: dict[tuple[str, str], Span] = {}  # (PD, what) -> a wait that goes on
        self._tickets: dict[int, str] = {}

    def take(self, event: Event) -> None:
        """Takes the next event."""
        self._at += 1
        if event.name != "STANDS":
            self._end(event.values.get("pd", ""), "call")  # it went on
        handler = _HANDLERS.get(event.told)
        if handler is not None:
            handler(self, event)
        lane = self.lanes.get(event.values.get("pd", ""))
        kind = event.told
        if kind == "TRIGGER":
            kind = event["cause"] if event["when"] == "now" else event["when"]
        if kind in MARKS and lane is not None:
            if kind == "REFUSE":
                kind = f"REFUSE {event['op']} {event['status']}"
                self.says[kind] = f"refused {refusal_of(event).why()}"
            lane.marks.append((self._at, kind))

    # -- waits

    def _begin(self, pd: str, what: str, text: str) -> None:
        lane = self.lanes.get(pd)
        if lane is not None and (pd, what) not in self._open:
            span = self._open[pd, what] = Span(self._at, text=text)
            lane.waits.append(span)
            if what == "call":
                lane.stuck.append(span)

    def _end(self, pd: str, what: str) -> None:
        span = self._open.pop((pd, what), None)
        if span is not None:
            span.end = self._at

    def _pd(self, event: Event) -> None:
        self.lanes[event["id"]] = Lane(event["id"], Span(self._at))

    def _destroy(self, pd: str) -> None:
        lane = self.lanes.get(pd)
        if lane is not None:
            lane.life.end = self._at
            for pd, what in [key for key in self._open if key[0] == lane.pd]:
                self._end(pd, what)

    def _stop(self, event: Event) -> None:
        self._begin(event["pd"], "stop", "stopped")

    def _freeze(self, event: Event) -> None:
        self._begin(event["pd"], "freeze", "frozen by the scenario")

    def _fault_held(self, event: Event) -> None:
        self._begin(event["pd"], "fault", f"waits for its fault handler {event['handler']}")

    def _fault_over(self, event: Event) -> None:
        self._end(event["pd"], "fault")

    def _stands(self, event: Event) -> None:
        if event["state"] == "call" and event["on"] != "-":
            self._begin(event["pd"], "call", f"waits in a call to {event['on']}")

    def _ask(self, event: Event) -> None:
        if asks(event):
            number, pd = len(self._tickets) + 1, event.values.get("pd", "-")
            self._tickets[number] = event["by"]
            what = f"the end of {pd}" if pd != "-" else "what it asked for"
            self._begin(event["by"], f"ticket {number}", f"has ticket {number} for {what}")

    def _ticket(self, event: Event) -> None:
        number = event.number("ticket")
        if not event.number("waiting"):
            self._end(self._tickets.get(number, ""), f"ticket {number}")

    # -- notices

    def _queue(self, event: Event) -> None:
        token, source = event.number("token"), event.optional("from") or ROOT
        arrow = Arrow(token, event["kind"], event["node"], source, event["to"], self._at)
        self.arrows[token] = arrow
        text = f"has notice {token} ({arrow.kind} {arrow.node}) to fetch"
        self._begin(event["to"], f"notice {token}", text)

    def _get_work(self, event: Event) -> None:
        token, pd = event.number("token"), event["pd"]
        arrow = self.arrows.get(token)
        if arrow is not None:
            arrow.taken = self._at
            self._end(pd, f"notice {token}")
            text = f"deals with notice {token} ({arrow.kind} {arrow.node})"
            self._begin(pd, f"work {token}", text)

    def _finish_work(self, event: Event) -> None:
        token = event.number("token")
        self._end(event["pd"], f"work {token}")
        if token in self.arrows:
            self.arrows[token].end, self.arrows[token].result = self._at, event["result"]

    def _withdraw(self, event: Event) -> None:
        token = event.number("token")
        self._end(event["pd"], f"notice {token}")
        if token in self.arrows:
            self.arrows[token].end, self.arrows[token].result = self._at, "withdrawn"

    # -- cleanups

    def _cleanup(self, event: Event) -> None:
        number = event.number("n")
        phases = [Span(self._at, text="plan")]
        self.cleanups[number] = CleanupSeen(number, Span(self._at), event["trigger"], phases)

    def _step(self, event: Event) -> None:
        cleanup = self.cleanups.get(event.number("n"))
        name, node, pd = event["name"], event["node"], event["pd"]
        if name == "destroy-pd":
            self._destroy(pd)
        if cleanup is None:
            return
        cleanup.steps.append((self._at, name, node, pd, event["kinds"], event.number("count")))
        phase = PHASES.get(name, cleanup.phases[-1].text)
        if name == "suspend" and cleanup.phases[-1].text != "plan":
            return  # PDs at depth 1 and up are suspended when they have been told
        if phase != cleanup.phases[-1].text:
            self._phase(cleanup, phase)

    def _phase(self, cleanup: CleanupSeen, phase: str) -> None:
        cleanup.phases[-1].end = self._at
        cleanup.phases.append(Span(self._at, text=phase))

    def _settled(self, event: Event) -> None:
        cleanup = self.cleanups.get(event.number("n"))
        if cleanup is not None:
            if cleanup.phases[-1].text != "settle":
                self._phase(cleanup, "settle")
            cleanup.span.end = cleanup.phases[-1].end = self._at
            cleanup.calls += event.number("calls")
            cleanup.cycles = event.number("cycles")

    def _clock(self, event: Event) -> None:
        self.clock.append((self._at, event.number("ms")))


_HANDLERS: Final[dict[str, Callable[[Lanes, Event], None]]] = {
    "PD": Lanes._pd,
    "stopped THREAD": Lanes._stop,
    "frozen THREAD": Lanes._freeze,
    "STANDS": Lanes._stands,
    "FAULT_HELD": Lanes._fault_held,
    "resumed THREAD": Lanes._fault_over,
    "FAULT": Lanes._fault_over,
    "TRIGGER": Lanes._ask,
    "EXTRACT": Lanes._ask,
    "TICKET": Lanes._ticket,
    "QUEUE": Lanes._queue,
    "fetched NOTICE": Lanes._get_work,
    "FINISH_WORK": Lanes._finish_work,
    "withdrawn NOTICE": Lanes._withdraw,
    "CLEANUP": Lanes._cleanup,
    "STEP": Lanes._step,
    "SETTLED": Lanes._settled,
    "CLOCK": Lanes._clock,
}
