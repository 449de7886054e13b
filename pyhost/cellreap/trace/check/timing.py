# SPDX-License-Identifier: BSD-2-Clause
"""The target's time: no deadline passes without a word, and events have sound times. PDs that live
and answer nobody: limits, the probes that these have sent, and who has hung.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from cellreap import headers
from cellreap.model.ids import ROOT
from cellreap.trace.check.context import Concern, Context, outside
from cellreap.trace.check.work import STRICT
from cellreap.trace.events import Event
from cellreap.trace.hanging import Hanging
from cellreap.trace.silence import WAITS

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
            self._unheard.pop(pd, None)
            self._began[pd] = self._told[pd] = self.now

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

    @outside("CLOCK")
    def clock(self, event: Event) -> None:
        """CLOCK: the time."""
        before, self.now = self.now, event.number("ms")
        if self.now < before + self._step:
            self.bad("clock.order", f"expected ms={before + self._step} at the least")
        self.context.hung.clock(before)
        for pd, deadline in self.context.authority.deadlines():
            self._is_heard_of(pd, deadline, before)

    @outside("HELD_UP")
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


KEEPS: Final = ("receive", "syscall", "frozen")
"""What a PD does that will never answer a call if nobody can run."""


@dataclass
class Probe:
    """A probe that a limit had a PD sent. by: the PD that waits in a call; None: its heartbeat.
    ms: the time that it has. queued: the time at which it was queued. since: the same, or the time
    at which it was last told of.
    """

    by: str | None
    ms: int
    token: int
    queued: int
    since: int


class Hung(Concern):
    """HELD_UP of a probe, stranded threads, and PDs that have hung."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._grace = headers.constant("trace_events.h", "CR_TRACE_GRACE_MS")
        self.probes: dict[str, Probe] = {}
        """unfinished, by PD"""
        self.acted: dict[str, int] = {}
        """PD -> the time of the last event that shows that it was in no call"""

    # -- for other concerns

    def limits_of(self, pd: str) -> tuple[int, int]:
        """The PD's heartbeat_ms and call_ms; 0: none."""
        number = self.context.authority.number
        return number(pd, "heartbeat_ms"), number(pd, "call_ms")

    def is_probe(self, pd: str, token: int) -> bool:
        """Whether the notice is an unfinished probe that a limit had the PD sent."""
        return pd in self.probes and self.probes[pd].token == token

    def probed(self, event: Event) -> None:
        """A probe with a time is queued: a limit has a PD probed."""
        pd, by, ms = event["to"], event.optional("from"), event.number("number")
        limit = self.limits_of(pd)[0] if by is None else self.limits_of(by)[1]
        if ms != limit or not self.context.actors.may_answer(pd) or pd in self.probes:
            self.bad("hung.probe", f"ms={ms}: the limit is {limit}, or {pd} is down or was probed")
        if by is not None:
            self._calls(pd, by)
            self._has_passed(ms, self.acted.get(by, 0))
        now = self.context.timing.now
        self.probes[pd] = Probe(by, ms, event.number("token"), now, now)

    def finished(self, pd: str, token: int) -> None:
        """The PD finished a notice."""
        if self.is_probe(pd, token):
            del self.probes[pd]

    def forget(self, pd: str) -> None:
        """The PD was stopped."""
        self.probes.pop(pd, None)

    def clock(self, before: int) -> None:
        """CLOCK. before: the last one. What is due since then is told behind this one."""
        now = self.context.timing.now
        for pd, probe in self.probes.items():
            if not self.context.actors.may_answer(pd):
                probe.since = now
            elif before - probe.since > probe.ms + self._grace + SLACK_MS:
                late = f"{pd} has not finished its probe for {now - probe.since} ms"
                self.bad("hung.missing", f"{late}, and has {probe.ms} ms")
                probe.since = now

    def hung(self, event: Event, pd: str) -> None:
        """A PD lives and answers nobody."""
        context = self.context
        by, token, ms = event.optional("by"), event.number("token"), event.number("ms")
        limit = self.limits_of(pd)[0] if by is None else self.limits_of(by)[1]
        least = limit if token else 2 * limit
        if not context.actors.may_answer(pd) or limit == 0 or ms < least:
            self.bad("hung.hung", f"{pd}: ms={ms}: expected {least or 'a limit'} at the least")
        if by is not None and not token and self._has_parent(by):
            self.bad("hung.hung", f"the parent of {by} may have stopped it")
        if token and self.is_probe(pd, token):
            self._has_passed(ms, self.probes[pd].queued)
        elif token:
            self.bad("hung.hung")
        elif by is None and not any(context.blame.can_wait_for(it, pd) for it in self._others(pd)):
            self.bad("hung.waits")
        if by is not None:
            self._calls(pd, by)
            called = 2 * limit if token else max(ms, 2 * limit)
            self._has_passed(called, self.acted.get(by, 0))
        context.report.hung.append(Hanging.of(event))

    def rests(self, pd: str, told: Mapping[str, tuple[str, str | None]]) -> None:
        """The run ends, and nobody can run. told: what PDs do, and for whom each waits."""
        if self.limits_of(pd)[1] == 0 or told[pd][0] != "call":
            return
        at, seen = told[pd][1], {pd}
        while at is not None and at not in seen and told.get(at, ("", None))[0] in WAITS:
            seen.add(at)
            at = told[at][1]
        doing = told.get(at or "", ("", None))[0]
        keeps = doing in KEEPS and not (doing == "receive" and self._has_parent(pd))
        if at in seen or keeps:
            self.bad("hung.missing", f"{pd} waits in a call: expected TRIGGER hung of {at}")

    def _others(self, pd: str) -> set[str]:
        return set(self.context.model.pds()) - {pd, ROOT}

    def _has_parent(self, pd: str) -> bool:
        """Whether it may have been stopped in a call, which then seems to last."""
        return self.context.configured.edges.config(pd).parent is not None

    def _calls(self, pd: str, by: str) -> None:
        """The PD can wait, perhaps through others, for the one that is probed or has hung."""
        context = self.context
        if not (context.actors.may_answer(by) and context.blame.can_wait_for(by, pd)):
            self.bad("hung.waits")

    def _has_passed(self, ms: int, since: int) -> None:
        self.context.timing.has_passed("hung.passed", ms, since)

    # -- events

    def unanswered(self, event: Event) -> None:
        """HELD_UP with a token: a probe is not finished, and its PD has not hung."""
        pd, ms, ran = event["pd"], event.number("ms"), event.number("ran")
        if not self.is_probe(pd, event.number("token")):
            self.bad("hung.unanswered")
            return
        probe = self.probes[pd]
        alone = probe.by is None and not self._has_parent(pd)  # else it may have been stopped
        if ms < probe.ms or (alone and ran >= probe.ms):
            self.bad("hung.unanswered", f"ms={ms} ran={ran}: {pd} has {probe.ms} ms")
        self._has_passed(ms, probe.since)
        probe.since = self.context.timing.now

    @outside("stranded THREAD")
    def stranded(self, event: Event) -> None:
        """stranded THREAD: a passive PD had no time."""
        pd, context = event["pd"], self.context
        if not context.actors.may_answer(pd) or not context.authority.number(pd, "passive"):
            self.bad("hung.stranded")
