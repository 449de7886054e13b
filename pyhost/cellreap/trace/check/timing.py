# SPDX-License-Identifier: BSD-2-Clause
"""The target's time: no deadline passes without a word, and events have sound times."""

from __future__ import annotations

from typing import ClassVar

from cellreap import headers
from cellreap.trace.check.context import Concern, Context, Handlers
from cellreap.trace.check.work import STRICT
from cellreap.trace.events import Event

SLACK_MS = 100
"""How much later than it should the root task may tell something. It looks every 10 ms, and reads
the time at the end of an interval of the timer.
"""

ERROR = 50
"""The clock of the times may be so exact: by one part in so many. On x86_64 it is measured with the
timer that CLOCK counts by.
"""


class Timing(Concern):
    """CLOCK, HELD_UP."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._step = headers.constant("trace_events.h", "CR_TRACE_CLOCK_MS")
        self._grace = headers.constant("trace_events.h", "CR_TRACE_GRACE_MS")
        self.now = 0
        """the time by the last CLOCK, in milliseconds"""
        self._unheard: dict[str, int] = {}
        """PD -> since this time, at the latest, it has had a notice and nothing was heard of it"""
        self._began: dict[str, int] = {}
        """PD -> at this time, or later, it last finished a notice or was first owed one, but for
        those that are STRICT
        """
        self._told: dict[str, int] = {}
        """PD -> the time of its last HELD_UP, or when it was last owed its first notice"""
        self._queued: dict[int, int] = {}
        """token of a probe or of a notice about a fault -> at this time, or later, it was queued"""
        self._finished: set[int] = set()
        self.clocked = False
        """whether events have times"""
        self._time = 0
        """the time of the event before, in nanoseconds"""
        self._clock: tuple[int, int] | None = None
        """the last CLOCK: its time, and what it tells"""

    # -- for other concerns

    def see(self, event: Event) -> None:
        """An event that has a time, or must have one."""
        time = event.time
        if time is None or not self.clocked:
            self.bad("clock.times")
            return
        if time < self._time:
            self.bad("clock.times", f"at={time}: expected {self._time} at the least")
        self._time = time
        if event.name == "CLOCK":
            now = event.number("ms")
            before, told = self._clock or (time, now)
            passed = (time - before) // 1_000_000
            if now - told > passed + passed // ERROR + SLACK_MS:
                self.bad("clock.times", f"{now - told} ms since the last one, by times {passed} ms")
            self._clock = (time, now)

    def queued(self, pd: str, token: int, kind: str) -> None:
        """A notice is to be queued."""
        if kind in STRICT:
            self._queued[token] = self.now
        elif self.context.notices.oldest(pd) is None:
            self._restart(pd)

    def finished(self, pd: str, token: int, kind: str) -> None:
        """The PD finished a notice."""
        self._unheard.pop(pd, None)
        if kind not in STRICT and token not in self._finished:
            self._finished.add(token)
            self._began[pd] = self._told[pd] = self.now

    def heard(self, pd: str) -> None:
        """The PD resumed a lane, or continues after a fault."""
        self._unheard.pop(pd, None)

    def late(self, event: Event) -> None:
        """A PD is late: so much time has passed."""
        began = self._queued.get(event.number("token"), self._began.get(event["pd"], 0))
        self.has_passed("clock.passed", event.number("ms"), began)

    # -- events

    def clock(self, event: Event) -> None:
        """CLOCK: the time."""
        before, self.now = self.now, event.number("ms")
        if self.now < before + self._step:
            self.bad("clock.order", f"expected ms={before + self._step} at the least")
        self.context.hung.clock(before)
        for pd, deadline in self.context.authority.deadlines():
            self._is_heard_of(pd, deadline, before)

    def held_up(self, event: Event) -> None:
        """HELD_UP: a PD has had a notice for its deadline, and could not run for so long."""
        if event["token"] != "0":
            self.context.hung.unanswered(event)
            return
        pd, ms, ran = event["pd"], event.number("ms"), event.number("ran")
        deadline = self.context.authority.number(pd, "deadline_ms")
        if not self._is_awaited(pd) or deadline == 0 or ms < deadline or ran >= deadline:
            self.bad("clock.held_up", f"{pd} has a deadline of {deadline} ms, or nothing to finish")
        self.has_passed("clock.passed", ms, self._told.get(pd, 0))
        self.has_passed("clock.passed", ran, self._began.get(pd, 0))
        self._told[pd] = self.now
        self._unheard.pop(pd, None)

    def _restart(self, pd: str) -> None:
        self._unheard.pop(pd, None)
        self._began[pd] = self._told[pd] = self.now

    def _is_awaited(self, pd: str) -> bool:
        """Whether the PD has a notice to finish, and is not stopped."""
        context = self.context
        return context.actors.may_answer(pd) and context.notices.oldest(pd) is not None

    def _is_heard_of(self, pd: str, deadline: int, before: int) -> None:
        """before: the last CLOCK. What is due since then is told behind this one."""
        if not self._is_awaited(pd):
            self._unheard.pop(pd, None)
            return
        since = self._unheard.setdefault(pd, self.now)
        if before - since > deadline + self._grace + SLACK_MS:
            text = f"{pd} has finished nothing for {self.now - since} ms, and has {deadline} ms"
            self.bad("clock.late", text)
            self._unheard[pd] = self.now

    def has_passed(self, rule: str, ms: int, began: int) -> None:
        """Checks that so many milliseconds can have passed since then."""
        most = self.now + self._step + SLACK_MS - began
        if ms > most:
            self.bad(rule, f"{ms} ms: at most {most} ms have passed")

    handlers: ClassVar[Handlers] = {"CLOCK": clock, "HELD_UP": held_up}
