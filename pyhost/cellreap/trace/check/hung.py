# SPDX-License-Identifier: BSD-2-Clause
"""PDs that live and answer nobody: limits, the probes that these have sent, and who has hung."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from cellreap import headers
from cellreap.model.ids import ROOT
from cellreap.trace.check.context import Concern, Context, Handlers
from cellreap.trace.check.timing import SLACK_MS
from cellreap.trace.events import Event
from cellreap.trace.hanging import Hanging
from cellreap.trace.silence import WAITS

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
        self._probes: dict[str, Probe] = {}  # unfinished, by PD
        self.acted: dict[str, int] = {}
        """PD -> the time of the last event that shows that it was in no call"""

    # -- for other concerns

    def limits_of(self, pd: str) -> tuple[int, int]:
        """The PD's heartbeat_ms and call_ms; 0: none."""
        number = self.context.authority.number
        return number(pd, "heartbeat_ms"), number(pd, "call_ms")

    def is_probe(self, pd: str, token: int) -> bool:
        """Whether the notice is an unfinished probe that a limit had the PD sent."""
        return self.has_probe(pd) and self._probes[pd].token == token

    def has_probe(self, pd: str) -> bool:
        """Whether the PD has such a probe."""
        return pd in self._probes

    def probed(self, event: Event) -> None:
        """A probe with a time is queued: a limit has a PD probed."""
        pd, by, ms = event["to"], event.optional("from"), event.number("number")
        limit = self.limits_of(pd)[0] if by is None else self.limits_of(by)[1]
        if ms != limit or not self.context.actors.may_answer(pd) or pd in self._probes:
            self.bad("hung.probe", f"ms={ms}: the limit is {limit}, or {pd} is down or was probed")
        if by is not None:
            self._calls(pd, by)
            self._lasts(by, ms)
        now = self.context.timing.now
        self._probes[pd] = Probe(by, ms, event.number("token"), now, now)

    def finished(self, pd: str, token: int) -> None:
        """The PD finished a notice."""
        if self.is_probe(pd, token):
            del self._probes[pd]

    def forget(self, pd: str) -> None:
        """The PD was stopped."""
        self._probes.pop(pd, None)

    def clock(self, before: int) -> None:
        """CLOCK. before: the last one. What is due since then is told behind this one."""
        now = self.context.timing.now
        for pd, probe in self._probes.items():
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
        if token:
            self._is_unanswered(pd, token, ms)
        elif by is None and not any(context.blame.can_wait_for(it, pd) for it in self._others(pd)):
            self.bad("hung.waits")
        if by is not None:
            self._calls(pd, by)
            self._lasts(by, max(ms, 2 * limit) if not token else 2 * limit)
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

    def _is_unanswered(self, pd: str, token: int, ms: int) -> None:
        """The probe is not finished, and was there so long."""
        if self.is_probe(pd, token):
            self._has_passed(ms, self._probes[pd].queued)
        else:
            self.bad("hung.hung")

    def _calls(self, pd: str, by: str) -> None:
        """The PD can wait, perhaps through others, for the one that is probed or has hung."""
        context = self.context
        if not (context.actors.may_answer(by) and context.blame.can_wait_for(by, pd)):
            self.bad("hung.waits")

    def _lasts(self, by: str, ms: int) -> None:
        """The PD can have been in a call so long."""
        self._has_passed(ms, self.acted.get(by, 0))

    def _has_passed(self, ms: int, since: int) -> None:
        self.context.timing.has_passed("hung.passed", ms, since)

    # -- events

    def unanswered(self, event: Event) -> None:
        """HELD_UP with a token: a probe is not finished, and its PD has not hung."""
        pd, ms, ran = event["pd"], event.number("ms"), event.number("ran")
        if not self.is_probe(pd, event.number("token")):
            self.bad("hung.unanswered")
            return
        probe = self._probes[pd]
        if ms < probe.ms or (probe.by is None and ran >= probe.ms):
            self.bad("hung.unanswered", f"ms={ms} ran={ran}: {pd} has {probe.ms} ms")
        self._has_passed(ms, probe.since)
        probe.since = self.context.timing.now

    def stranded(self, event: Event) -> None:
        """stranded THREAD: a passive PD had no time."""
        pd, context = event["pd"], self.context
        if not context.actors.may_answer(pd) or not context.authority.number(pd, "passive"):
            self.bad("hung.stranded")

    handlers: ClassVar[Handlers] = {"stranded THREAD": stranded}
