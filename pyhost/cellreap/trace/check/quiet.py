# SPDX-License-Identifier: BSD-2-Clause
"""What the root task says of PDs when nothing happens."""

from __future__ import annotations

from typing import ClassVar, Final

from cellreap import headers
from cellreap.model.ids import ROOT
from cellreap.trace.check.context import Concern, Context, Handlers
from cellreap.trace.events import Event

LEAST_MS: Final = headers.constant("trace_events.h", "CR_TRACE_SILENCE_MS")
SUSPENDED: Final = ("frozen", "fault", "stopped")
"""States of PDs whose thread the root task suspended."""


class Quiet(Concern):
    """SILENT, STANDS."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.due: list[str] = []
        """PDs of which STANDS is to follow."""

    def see(self, event: Event) -> None:
        """Every event but STANDS: nothing is to follow any more."""
        if self.due and event.name != "STANDS":
            text = f"{event.name}: expected STANDS of {self.due[0]}, after SILENT"
            self.due = []
            self.context.bad("silence.each", text)

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
        if pd not in self.due:
            text = f"STANDS: pd={pd}: no SILENT is before it, it is told already, or is not there"
            self.context.bad("silence.each", text)
            return
        self.due.remove(pd)
        actors, blame = self.context.actors, self.context.blame
        if (state in SUSPENDED) != actors.is_suspended(pd) or (
            (state == "fault") != blame.is_held(pd)
        ):
            text = f"STANDS: pd={pd} state={state}: the events before it have it otherwise"
            self.context.bad("silence.state", text)
        elif state == "fault" and on != self.context.model.faults.get(pd):
            text = f"STANDS: pd={pd} on={on}: it is not its fault handler"
            self.context.bad("silence.state", text)
        elif state == "call" and on not in (None, ROOT, *self.context.slots.servers_of(pd)):
            text = f"STANDS: pd={pd} on={on}: it has no capability to anything of it"
            self.context.bad("silence.state", text)

    handlers: ClassVar[Handlers] = {"SILENT": silent, "STANDS": stands}
