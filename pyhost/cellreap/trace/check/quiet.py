# SPDX-License-Identifier: BSD-2-Clause
"""What the root task says of PDs when nothing happens, and of those that wait when a run ends. It
ends only after the PDs that work in rounds were dismissed.
"""

from __future__ import annotations

from typing import Final

from cellreap import headers
from cellreap.model.ids import ROOT
from cellreap.trace.check.context import Concern, Context, outside
from cellreap.trace.events import Event, cause_of
from cellreap.trace.report import Undone
from cellreap.trace.silence import WAITS


class Rounds(Concern):
    """THREAD in-rounds, dismissed, unfinished."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._working: dict[str, None] = {}
        self._dismissed: set[str] = set()
        self.ending = False

    def at_end(self) -> None:
        """The trace ends."""
        for pd in self._working:
            if pd in self.context.model.nodes and self.context.actors.may_answer(pd):
                self.bad("rounds.end", f"{pd} works in rounds")

    def see(self, event: Event) -> None:
        """Nothing happens between `unfinished` and the end, or the stop of all PDs, but what is
        printed then.
        """
        if event.told not in AT_END:
            if cause_of(event) != "stop":
                self.bad("rounds.end", "after unfinished THREAD: expected END")
            self.ending = False

    # -- events

    @outside("in-rounds THREAD")
    def begin(self, event: Event) -> None:
        """in-rounds THREAD: a PD came to the end of its first round."""
        pd = event["pd"]
        if self.context.actors.may_act(event, pd):
            if pd in self._working or pd in self._dismissed:
                self.bad("rounds.known")
            self._working[pd] = None

    @outside("dismissed THREAD")
    def dismiss(self, event: Event) -> None:
        """dismissed THREAD: a PD was told to stop."""
        if self._leaves(event):
            self._dismissed.add(event["pd"])
            self.context.staged.demand_none_left()

    @outside("unfinished THREAD")
    def unfinished(self, event: Event) -> None:
        """unfinished THREAD: a PD did not come to the end of its round."""
        if self._leaves(event):
            doing = self.context.quiet.doing(event["pd"])
            what = f"left its rounds: {doing or self.context.actors.last_of(event['pd'])}"
            self.context.report.undone.append(Undone(event["pd"], what))
            self.ending = True

    def _leaves(self, event: Event) -> bool:
        works = event["pd"] in self._working
        if not works:
            self.bad("rounds.known")
        self._working.pop(event["pd"], None)
        return works


AT_END = frozenset(
    {"unfinished THREAD", "REFUSED", "USAGE", "MAKE_FAILED", "STATE", "SETTLED", "END"}
)
"""Events that come after it. What could not be made is tried again until the end."""


LEAST_MS: Final = headers.constant("trace_events.h", "CR_TRACE_SILENCE_MS")
SUSPENDED: Final = ("frozen", "fault", "stopped")
"""States of PDs whose thread the root task suspended."""
ENDING: Final = AT_END | {"STANDS"}
"""Events that may follow when the root task has told who waits at the end, as may the TRIGGER of
the stop of all PDs.
"""


class Quiet(Concern):
    """STANDS."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.due: list[str] = []
        """PDs of which STANDS is to follow, as nothing has happened for this time"""
        self._ms = "0"
        self.told: dict[str, tuple[str, str | None]] = {}
        """PDs of which was told at the end: state, and for whom each waits"""
        self._rested: set[str] = set()  # those of them that had the chance to run and rest
        self._ended: set[str] = set()  # those of them when the last was told
        self.waits: set[str] = set()  # those of them that wait for another one

    def see(self, event: Event) -> None:
        """An event while `due` or `told` has anything."""
        if self.due and event.values.get("ms", "0") != self._ms:
            self.bad("silence.each", f"expected STANDS of {self.due[0]}, as of the others")
            self.due = []
        if self.told and event.told not in ("STANDS", "unfinished THREAD"):
            self._end(event)

    def doing(self, pd: str) -> str | None:
        """What the PD does, if the root task has just told so."""
        state, on = self.told.get(pd, (None, None))
        if state not in WAITS or on is None:
            return None
        name = self.context.report.names.get(on, on)
        return f"it waits in a call to {name}" if state == "call" else f"{name} has its fault"

    def at_end(self) -> None:
        """END: whoever is known to wait for its fault handler was told of."""
        untold = set(self.context.model.pds()) - self._ended
        if untold & self.context.blame.held.keys():
            self.bad("silence.each")

    def _end(self, event: Event) -> None:
        """All were told of who wait at the end."""
        self.waits = {pd for pd, (state, _) in self.told.items() if state in WAITS}
        waited_for = {on for state, on in self.told.values() if state in WAITS} - {None, ROOT}
        if waited_for - self.told.keys() or self.told.keys() - self.waits - waited_for:
            self.bad("silence.each", "expected STANDS of those who wait, and for whom they wait")
        for pd in sorted(self._rested):
            self.context.hung.rests(pd, self.told)
        if event.told not in ENDING and cause_of(event) != "stop":
            self.bad("silence.each", "expected the end of the run")
        self._ended = set(self.told)
        self.told = {}

    # -- events

    def _begin(self, event: Event) -> None:
        """The first STANDS after a while in which nothing happened."""
        if event.number("ms") < LEAST_MS:
            self.bad("silence.long")
        if self.context.previous.name != "STANDS":
            self.due = [pd for pd in self.context.model.pds() if pd != ROOT]
            self._ms = event["ms"]

    @outside("STANDS")
    def stands(self, event: Event) -> None:
        """STANDS: what a PD does."""
        pd, state, on = event["pd"], event["state"], event.optional("on")
        if event["ms"] != "0" and not self.due:
            self._begin(event)
        if pd in self.due:
            self.due.remove(pd)
        elif event["ms"] != "0" or pd in self.told or pd not in self.context.model.nodes:
            self.bad("silence.each")
            return
        else:
            self.told[pd] = state, on
            if event["chance"] == "1":
                self._rested.add(pd)
        context, held = self.context, pd in self.context.blame.held
        may_be_on = {
            "fault": (context.model.faults.get(pd),),
            "call": (None, ROOT, *context.slots.servers_of(pd)),
        }.get(state, (on,))
        suspended = context.actors.is_suspended(pd)
        if (state in SUSPENDED, state == "fault") != (suspended, held) or on not in may_be_on:
            self.bad("silence.state")
