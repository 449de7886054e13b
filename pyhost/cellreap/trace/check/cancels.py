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
            self.bad("cancel.right")
        if of is None:
            wrong = f"of=- ticket={number}: whose ticket?" if number else None
            wrong = wrong or context.respawns.cancel(name)
        else:
            body = context.model.body_of(of) if of in context.model.nodes else None
            if of != pd and (body is None or (pd, body) not in context.model.holds):
                self.bad("cancel.right")
            wrong = context.tickets.cancel(of, number) if number else self._connect(pd, of, name)
            if wrong is None and not number:
                context.actors.refuse_cancelled(of)
        if wrong is not None or (of is not None and number and name != "-"):
            self.bad("cancel.what", wrong or "")

    def _connect(self, pd: str, of: str, name: str) -> str | None:
        """What is wrong if a PD waited for a space until now; None if nothing."""
        actors, model = self.context.actors, self.context.model
        if of == pd or name == "-":
            return "expected the name of a space for which another PD waits"
        if actors.silence(of) is not None or actors.waiting.get(of) is not None:
            return f"{of} waits for no space"
        for space, manager in model.manager.items():
            there = self.context.report.names.get(space) == name and not model.is_core(space)
            if there and manager in model.nodes and actors.silence(manager) is None:
                return f"{space} is there, so nobody waits for it"
        return None

    handlers: ClassVar[Handlers] = {"CANCEL": cancel}
