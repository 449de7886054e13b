# SPDX-License-Identifier: BSD-2-Clause
"""PDs that are stopped, and the PDs that are freed by that: they were in a call to a stopped PD."""

from __future__ import annotations

from typing import Final

from cellreap.trace.check.context import Concern, Context, outside
from cellreap.trace.events import Event

_AMONG_STOPS: Final = frozenset(
    {"stopped THREAD", "answered THREAD", "TICKET", "withdrawn NOTICE", "REFUSED", "USAGE"}
)
"""Events that may stand between the TRIGGER of a subtree and the last of its stops."""


class Freed(Concern):
    """THREAD stopped, answered."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.stopped: set[str] = set()
        self._freed: set[str] = set()
        """PDs that were freed since the last stop"""
        self.suspending: str | None = None
        """the PD that its cleanup has just stopped, until its STEP"""
        self.beginning: str | None = None
        """the PD that was terminated later and has just been stopped, until its CLEANUP"""

    # -- for other concerns

    def keeps_endpoint(self, pd: str, there: bool) -> bool:
        """Whether a slot of the kernel must have the PD's own endpoint. there: it has something.

        A cleaner that died in the suspension of the PD may have revoked it before.
        """
        half = pd in self.context.takeovers.half_suspended
        return pd not in self.stopped and (there or not half)

    def interrupt(self, event: Event) -> None:
        """Handles an event that cannot stand between the stop and `suspend` of a PD, or its
        CLEANUP, or among the stops of a subtree.
        """
        to_stop = self.context.triggers.to_stop
        if to_stop and event.told not in _AMONG_STOPS:
            self.bad("freed.stop", f"expected stopped THREAD pd={min(to_stop)} before it")
            to_stop.clear()
        if self.beginning is not None and event.told not in ("answered THREAD", "REFUSED", "USAGE"):
            if event.name != "CLEANUP" or event["trigger"] != self.beginning:
                self.bad("freed.stop", f"expected CLEANUP trigger={self.beginning} before it")
            self.beginning = None
        pd = self.suspending
        if pd is not None and event.told != "answered THREAD":
            if event.name != "STEP" or (event["name"], event["pd"]) != ("suspend", pd):
                self.bad("freed.stop", f"expected STEP suspend pd={pd} before it")
            self.suspending = None

    def forget(self, pd: str) -> None:
        """The PD is destroyed."""
        self.stopped.discard(pd)

    # -- events

    @outside("stopped THREAD")
    def stop(self, event: Event) -> None:
        """stopped THREAD: a PD is stopped, because it is a trigger or its cleanup suspends it."""
        context, pd = self.context, event["pd"]
        self._freed.clear()
        if pd not in context.model.nodes:
            self.bad("actors.there")
            return
        if pd in self.stopped:
            self.bad("freed.stop", f"{pd} is stopped already")
        if not context.debts.settle("stopped THREAD", pd):
            if pd in context.triggers.to_stop:
                context.triggers.stopped_with_creator(pd)
            elif context.cleanups.may_stop(pd):
                self.suspending = pd
            elif pd in context.triggers.later:
                context.triggers.stopped_late(pd)
                self.beginning = pd
            else:
                self.bad("freed.stop", "expected it right after a trigger, or before STEP suspend")
                return
        self.stopped.add(pd)
        context.memory.objects.stopped(pd)
        context.calls.stop(pd)
        context.actors.suspend(pd)
        context.notices.work.forget(pd)
        context.hung.forget(pd)
        context.tombstones.forget(pd)
        context.tickets.note(context.notices.work.take_changed())

    @outside("answered THREAD")
    def server_died(self, event: Event) -> None:
        """answered THREAD: a PD was in a call to a PD that was stopped."""
        context, before = self.context, self.context.previous
        pd, server = event["pd"], event["by"]
        stopped = {"stopped THREAD": "pd", "answered THREAD": "by"}
        last = stopped.get(before.told)
        if last is None or before[last] != server:
            self.bad("freed.when")
        if pd in self._freed:
            self.bad("freed.once")
        self._freed.add(pd)
        context.calls.resume(server)
        if context.actors.may_act(event, pd) and server not in context.slots.servers_of(pd):
            self.bad("freed.client")
