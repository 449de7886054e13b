# SPDX-License-Identifier: BSD-2-Clause
"""Cancellation of what has not taken effect. docs/operations.md says what that is."""

from __future__ import annotations

from typing import ClassVar

from cellreap.model.ids import ROOT
from cellreap.trace.check.context import Concern, Handlers
from cellreap.trace.events import Event


class Cancels(Concern):
    """CANCEL."""

    def cancel(self, event: Event) -> None:
        """CANCEL: a PD cancels what it, or a PD that it may terminate, asked for."""
        context, number, name = self.context, event.number("ticket"), event["name"]
        pd, of = event["pd"], event.optional("of")
        if not context.actors.may_act(event, pd):
            return
        if pd == ROOT:
            context.bad("cancel.right", f"CANCEL: pd={pd}: the root task asks for nothing")
        if of is None:
            if number:
                context.bad("cancel.what", f"CANCEL: of=- ticket={number}: whose ticket?")
            elif (wrong := context.respawns.cancel(name)) is not None:
                context.bad("cancel.what", f"CANCEL: {wrong}")
            return
        body = context.model.body_of(of) if of in context.model.nodes else None
        if of != pd and (body is None or (pd, body) not in context.model.holds):
            text = f"pd={pd}: it does not hold the capability to the body of {of}"
            context.bad("cancel.right", f"CANCEL: {text}")
        wrong = context.tickets.cancel(of, number) if number else self._connect(pd, of, name)
        if wrong is not None:
            context.bad("cancel.what", f"CANCEL: {wrong}")
        elif not number:
            context.actors.refuse_cancelled(of)
        if number and name != "-":
            context.bad("cancel.what", f"CANCEL: name={name}: expected - beside a ticket")

    def _connect(self, pd: str, of: str, name: str) -> str | None:
        """What is wrong if a PD waited for a space until now; None if nothing."""
        actors, model = self.context.actors, self.context.model
        if of == pd:
            return f"of={of}: who waits asks for nothing"
        if name == "-":
            return "name=-: expected the name of the space"
        silent = actors.silence(of)
        if silent is not None or actors.waiting.get(of) is not None:
            return f"of={of}: it {silent or 'waits for a ticket'}, and for no space"
        for space, manager in model.manager.items():
            there = self.context.report.names.get(space) == name and not model.is_core(space)
            if there and manager in model.nodes and actors.silence(manager) is None:
                return f"name={name}: {space} is there, so nobody waits for it"
        return None

    handlers: ClassVar[Handlers] = {"CANCEL": cancel}
