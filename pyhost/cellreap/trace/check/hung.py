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
    ms: the time that it has. token: None until it is queued. since: the time at which it was
    queued, or last told of. queued: the time at which it was queued.
    """

    by: str | None
    ms: int
    token: int | None = None
    since: int = 0
    queued: int = 0


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
        probe = self._probes.get(pd)
        return probe is not None and probe.token == token

    def has_probe(self, pd: str) -> bool:
        """Whether the PD has such a probe that is queued."""
        probe = self._probes.get(pd)
        return probe is not None and probe.token is not None

    def probe(self, event: Event) -> None:
        """PROBE with a time: a limit has a PD probed."""
        pd, by, ms = event["pd"], event.optional("by"), event.number("ms")
        heartbeat, call = self.limits_of(pd)[0], self.limits_of(by or pd)[1]
        limit, whose = (heartbeat, "heartbeat_ms") if by is None else (call, "call_ms")
        if ms != limit:
            text = f"PROBE: ms={ms}: expected {limit or 'none'}, the {whose} of {by or pd}"
            self.context.bad("hung.probe", text)
        if not self.context.actors.may_answer(pd) or pd in self._probes:
            text = f"PROBE: {pd} is down, or has not finished its last probe of a limit"
            self.context.bad("hung.probe", text)
        if by is not None:
            self._calls(event, by)
            self._lasts(event, by, ms)
        self._probes[pd] = Probe(by, ms)

    def queued(self, pd: str, token: int) -> None:
        """A probe is queued."""
        probe = self._probes.get(pd)
        if probe is not None and probe.token is None:
            probe.token = token
            probe.since = probe.queued = self.context.timing.now

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
                text = f"{pd} has not finished its probe for {now - probe.since} ms"
                expected = f"has {probe.ms} ms: expected TRIGGER hung or HELD_UP before it"
                self.context.bad("hung.missing", f"CLOCK: ms={now}: {text}, and {expected}")
                probe.since = now

    def hung(self, event: Event, pd: str) -> None:
        """A PD lives and answers nobody."""
        context = self.context
        by, token, ms = event.optional("by"), event.number("token"), event.number("ms")
        if not context.actors.may_answer(pd):
            context.bad("hung.hung", f"TRIGGER hung: {pd} {context.actors.silence(pd)}")
        limit = self.limits_of(pd)[0] if by is None else self.limits_of(by)[1]
        least = limit if token else 2 * limit
        if limit == 0 or ms < least:
            text = f"TRIGGER hung: pd={pd} ms={ms}: expected {least or 'a limit'} at the least"
            context.bad("hung.hung", text)
        if token:
            self._is_unanswered(event, pd, token, ms)
        elif by is None and not any(context.blame.can_wait_for(it, pd) for it in self._others(pd)):
            context.bad(
                "hung.waits", f"TRIGGER hung: pd={pd} token=0: no call of any PD can lead to it"
            )
        if by is not None:
            self._calls(event, by)
            self._lasts(event, by, max(ms, 2 * limit) if not token else 2 * limit)
        context.report.hung.append(Hanging.of(event))

    def rests(self, pd: str, told: Mapping[str, tuple[str, str | None]]) -> None:
        """The run ends, and nobody can run. told: what PDs do, and for whom each waits."""
        if self.limits_of(pd)[1] == 0 or told[pd][0] != "call":
            return
        at, seen = told[pd][1], {pd}
        while at is not None and at not in seen and told.get(at, ("", None))[0] in WAITS:
            seen.add(at)
            at = told[at][1]
        if at in seen or (at is not None and told.get(at, ("", None))[0] in KEEPS):
            text = f"STANDS: {pd} waits in a call to {told[pd][1]}: expected TRIGGER hung of {at}"
            self.context.bad("hung.missing", f"{text}, as {pd} has a call_ms")

    def _others(self, pd: str) -> set[str]:
        return set(self.context.model.pds()) - {pd, ROOT}

    def _is_unanswered(self, event: Event, pd: str, token: int, ms: int) -> None:
        """The probe is not finished, and was there so long."""
        probe = self._probes.get(pd)
        if probe is None or probe.token != token:
            text = (
                f"TRIGGER hung: token={token}: no limit had {pd} sent this probe, or it is finished"
            )
            self.context.bad("hung.hung", text)
            return
        self._has_passed(event, ms, probe.queued, "the probe was queued")

    def _calls(self, event: Event, by: str) -> None:
        """The PD can wait, perhaps through others, for the one that the event is about."""
        if not self.context.actors.may_answer(by):
            self.context.bad("hung.waits", f"{event.told}: by={by}: it is down")
        elif not self.context.blame.can_wait_for(by, event["pd"]):
            text = f"{event.told}: pd={event['pd']}: no call of {by} can lead to it"
            self.context.bad("hung.waits", text)

    def _lasts(self, event: Event, by: str, ms: int) -> None:
        """The PD can have been in a call so long."""
        self._has_passed(event, ms, self.acted.get(by, 0), f"{by} did something")

    def _has_passed(self, event: Event, ms: int, since: int, what: str) -> None:
        most = self.context.timing.most_since(since)
        if ms > most:
            text = f"{event.told}: {ms} ms: at most {most} ms have passed since {what}"
            self.context.bad("hung.passed", text)

    # -- events

    def unanswered(self, event: Event) -> None:
        """HELD_UP with a token: a probe is not finished, and its PD has not hung."""
        pd, ms, ran = event["pd"], event.number("ms"), event.number("ran")
        probe = self._probes.get(pd)
        if probe is None or probe.token != event.number("token"):
            text = f"token={event['token']}: no limit had {pd} sent this probe, or it is finished"
            self.context.bad("hung.unanswered", f"HELD_UP: {text}")
            return
        if ms < probe.ms or (probe.by is None and ran >= probe.ms):
            text = f"ms={ms} ran={ran}: {pd} has {probe.ms} ms"
            self.context.bad("hung.unanswered", f"HELD_UP: {text}")
        self._has_passed(event, ms, probe.since, "its last HELD_UP, or the probe")
        probe.since = self.context.timing.now

    def stranded(self, event: Event) -> None:
        """stranded THREAD: a passive PD had no time."""
        pd = event["pd"]
        if not self.context.actors.may_answer(pd) or not self.context.authority.number(
            pd, "passive"
        ):
            self.context.bad("hung.stranded", f"stranded THREAD: {pd} is down, or not passive")

    handlers: ClassVar[Handlers] = {"stranded THREAD": stranded}
