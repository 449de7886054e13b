# SPDX-License-Identifier: BSD-2-Clause
"""How long receivers are awaited, and the receivers that are given up."""

from __future__ import annotations

from typing import ClassVar

from cellreap.trace.check.context import Concern, Handlers
from cellreap.trace.check.work import Notice
from cellreap.trace.events import Event


class Progress(Concern):
    """GIVE_UP."""

    def give_up(self, event: Event) -> None:
        """GIVE_UP: the PD's notices up to a token are awaited by nobody any more."""
        context = self.context
        pd = event["pd"]
        if pd not in context.model.nodes or not context.actors.may_answer(pd):
            self.bad("progress.awaited")
            return
        self._in_time(event, pd)
        running = context.cleanups.give_up(pd)
        given_up = context.notices.give_up(pd, event.number("token"))
        if not any(self._was_awaited(notice, running) for notice in given_up):
            self.bad("progress.awaited")

    def _in_time(self, event: Event, pd: str) -> None:
        """A PD has await_ms to itself, and twice its deadline or await_ms with its calls."""
        await_ms = self.context.settings.await_ms
        deadline = self.context.authority.number(pd, "deadline_ms")
        longest = 2 * max(deadline, await_ms)
        alone = deadline == 0 and event.number("ran") >= await_ms
        if await_ms and not alone and event.number("held_up") < longest:
            self.bad("progress.early", f"pd={pd}: expected held_up={longest} at the least")

    def _was_awaited(self, notice: Notice, cleanup: bool) -> bool:
        """Whether somebody awaited the notice. cleanup: a cleanup that told its receiver did."""
        context = self.context
        tag = notice.given_up
        if tag is None:
            return False
        return (
            (cleanup and notice.kind == "pre-destroy")
            or (tag[0] == "extraction" and tag[1] in context.extractions.running)
            or context.tickets.awaits(tag, notice.to)
        )

    handlers: ClassVar[Handlers] = {"GIVE_UP": give_up}
