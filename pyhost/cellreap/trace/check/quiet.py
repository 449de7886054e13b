# SPDX-License-Identifier: BSD-2-Clause
"""What the root task says of PDs when nothing happens, and of those that wait when a run ends."""

from __future__ import annotations

from typing import ClassVar, Final

from cellreap import headers
from cellreap.model.ids import ROOT
from cellreap.trace.check.context import Concern, Context, Handlers
from cellreap.trace.check.rounds import AT_END
from cellreap.trace.events import Event, cause_of
from cellreap.trace.silence import WAITS

LEAST_MS: Final = headers.constant("trace_events.h", "CR_TRACE_SILENCE_MS")
SUSPENDED: Final = ("frozen", "fault", "stopped")
"""States of PDs whose thread the root task suspended."""
ENDING: Final = AT_END | {"STANDS"}
"""Events that may follow when the root task has told who waits at the end, as may the TRIGGER of
the stop of all PDs.
"""


class Quiet(Concern):
    """SILENT, STANDS."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.due: list[str] = []
        """PDs of which STANDS is to follow."""
        self.told: dict[str, tuple[str, str | None]] = {}
        """PDs of which was told at the end: state, and for whom each waits"""
        self._rested: set[str] = set()  # those of them that had the chance to run and rest
        self._ended: set[str] = set()  # those of them when the last was told
        self.waits: set[str] = set()  # those of them that wait for another one

    def see(self, event: Event) -> None:
        """An event while `due` or `told` has anything."""
        if self.due and event.name != "STANDS":
            text = f"{event.told}: expected STANDS of {self.due[0]}, after SILENT"
            self.due = []
            self.context.bad("silence.each", text)
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
        for pd in self.context.model.pds():
            if pd in self.context.blame.held and pd not in self._ended:
                text = f"END: {pd} waits for its fault handler: expected STANDS of it"
                self.context.bad("silence.each", text)

    def _end(self, event: Event) -> None:
        """All were told of who wait at the end."""
        waited_for = {on for state, on in self.told.values() if state in WAITS} - {None, ROOT}
        for pd in sorted(pd for pd in waited_for if pd is not None and pd not in self.told):
            text = f"{event.told}: expected STANDS of {pd}, for which a PD waits"
            self.context.bad("silence.each", text)
        for pd, (state, _) in self.told.items():
            if state not in WAITS and pd not in waited_for:
                text = f"STANDS: pd={pd} state={state}: no SILENT is before it, and it is no wait"
                self.context.bad("silence.each", text)
        for pd in sorted(self._rested):
            self.context.hung.rests(pd, self.told)
        if event.told not in ENDING and cause_of(event) != "stop":
            text = f"{event.told}: STANDS without SILENT is before it: expected the end of the run"
            self.context.bad("silence.each", text)
        self._ended = set(self.told)
        self.waits = {pd for pd, (state, _) in self.told.items() if state in WAITS}
        self.told = {}

    # -- events

    def silent(self, event: Event) -> None:
        """SILENT: for a while nothing happened."""
        if event.number("ms") < LEAST_MS:
            text = f"SILENT: ms={event['ms']}: expected at least {LEAST_MS}"
            self.context.bad("silence.long", text)
        self.due = [pd for pd in self.context.model.pds() if pd != ROOT]

    def stands(self, event: Event) -> None:
        """STANDS: what a PD does."""
        pd, state, on = event["pd"], event["state"], event.optional("on")
        if pd in self.due:
            self.due.remove(pd)
        elif self._is_after_silent() or pd in self.told or pd not in self.context.model.nodes:
            text = f"STANDS: pd={pd}: it is told already, or is not there"
            self.context.bad("silence.each", text)
            return
        else:
            self.told[pd] = state, on
            if event["chance"] == "1":
                self._rested.add(pd)
        actors, blame = self.context.actors, self.context.blame
        if (state in SUSPENDED) != actors.is_suspended(pd) or (
            (state == "fault") != (pd in blame.held)
        ):
            text = f"STANDS: pd={pd} state={state}: the events before it have it otherwise"
            self.context.bad("silence.state", text)
        elif state == "fault" and on != self.context.model.faults.get(pd):
            text = f"STANDS: pd={pd} on={on}: it is not its fault handler"
            self.context.bad("silence.state", text)
        elif state == "call" and on not in (None, ROOT, *self.context.slots.servers_of(pd)):
            text = f"STANDS: pd={pd} on={on}: it has no capability to anything of it"
            self.context.bad("silence.state", text)

    def _is_after_silent(self) -> bool:
        """Whether the event before is of a SILENT and its STANDS."""
        before = self.context.previous
        return before is not None and (
            before.name == "SILENT" or (before.name == "STANDS" and not self.told)
        )

    handlers: ClassVar[Handlers] = {"SILENT": silent, "STANDS": stands}
