# SPDX-License-Identifier: BSD-2-Clause
"""Triggers: faults, exits, terminations and missed deadlines. PDs that are stopped, and those that
are freed by that: they were in a call to a stopped PD.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from cellreap.model.ids import ROOT
from cellreap.trace.check.context import Concern, Context, outside
from cellreap.trace.check.independent import beyond, concerns, first_independent
from cellreap.trace.events import Event, asks, cause_of
from cellreap.trace.report import Lateness

WHY_SILENT = {
    "fault": "has faulted or exited",
    "exit": "has faulted or exited",
    "terminate": "was terminated",
    "late": "missed its deadline",
    "hung": "has hung",
    "subtree": "was terminated",
}
"""Cause -> why the PD of the trigger can no longer act."""
TREE: Final = "subtree"
"""The cause of a cleanup that dooms all that the PD created, too."""
_COLUMNS: Final = {
    ("terminate", "now"): ({"pd", "by"}, {"pd", "by"}),
    ("terminate", "later"): ({"pd", "by"}, {"pd", "by"}),
    ("terminate", "never"): ({"pd"}, {"pd"}),
    ("subtree", "now"): ({"pd", "by"}, {"pd", "by"}),
    ("late", "now"): ({"pd", "token", "ms"}, {"pd", "token", "ms"}),
    ("hung", "now"): ({"pd", "ms"}, {"pd", "by", "token", "ms"}),
    ("collect", "now"): (set[str](), set[str]()),
    ("collect", "later"): ({"by"}, {"by"}),
    ("stop", "now"): (set[str](), set[str]()),
    ("reconcile", "now"): (set[str](), set[str]()),
}
"""The cause and `when` of a TRIGGER -> the columns that it has at least, and at most. The others
are - or 0.
"""


@dataclass(frozen=True)
class Trigger:
    """A trigger whose cleanup has not begun. line: in the trace."""

    pd: str
    cause: str
    line: int

    def __str__(self) -> str:
        return f"the {self.cause} of {self.pd} in line {self.line}"


class Triggers(Concern):
    """TRIGGER, FAULT and EXIT."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._pending: OrderedDict[str, Trigger] = OrderedDict()  # by PD, oldest first
        self.later: set[str] = set()
        """the PDs in the queue that go on until their cleanup begins"""
        self.to_stop: dict[str, int] = {}
        """what the PD of a subtree created, until it is stopped -> line of that event"""
        self._doomed: dict[str, Trigger] = {}
        """the doomed PDs that were stopped, and why"""
        self.looks = False
        """whether a trigger that waits may now have to begin"""

    # -- for other concerns

    def begin(self, pd: str, cause: str) -> None:
        """A cleanup begins and names this PD and cause."""
        if not self._pending:
            self.bad("triggers.cleanup")
            return
        due, first = self.due(), next(iter(self._pending.values()))
        if due is None or (due.pd, due.cause) != (pd, cause):
            self.bad("triggers.order", f"expected {'it later' if due is None else due}")
        del self._pending[pd if pd in self._pending else (due or first).pd]
        if pd in self.later:
            self.bad("freed.stop", f"expected stopped THREAD pd={pd} right before it")
            self.later.discard(pd)

    def due(self) -> Trigger | None:
        """The trigger whose cleanup begins next. None if all must wait.

        The cleanup of a trigger touches none that waits, and that of no trigger before it.
        """
        cleanups, queue = self.context.cleanups, self._pending
        if not cleanups.awaiting:
            return next(iter(queue.values()), None)
        pd = first_independent(self.concerns(), cleanups.touched(), cleanups.has_room())
        return None if pd is None else queue[pd]

    def concerns(self) -> Iterator[tuple[str, bool, set[str]]]:
        """The PDs in the queue, as `independent.concerns` has them."""
        context, queue = self.context, self._pending
        doomed, depths_of = set(context.cleanups.doomed()), context.authority.depths_of
        rest = ((pd, depths_of(pd)) for pd in queue if pd not in doomed)
        trees = {trigger.pd for trigger in queue.values() if trigger.cause == TREE}
        return concerns(context.model, rest, doomed, context.settings.closeness, trees)

    def look(self) -> None:
        """A trigger came or a cleanup ended. A trigger that waits may now have to begin."""
        self.looks = True
        self.context.collections.looks = True

    def demand_begun(self) -> None:
        """Checks that no trigger waits needlessly when a PD acts again."""
        self.looks = False
        due = self.due()
        if due is not None:
            self.bad("triggers.needless", f"expected the CLEANUP of {due} before it")

    def forget(self, pd: str) -> None:
        """The PD is destroyed. It is no longer a trigger."""
        self._pending.pop(pd, None)
        self._doomed.pop(pd, None)
        self.later.discard(pd)

    def stopped_with_creator(self, pd: str) -> None:
        """The PD is stopped. From here on it is a trigger of its own, too."""
        line = self.to_stop.pop(pd)
        self.context.blame.forget(pd)
        self.context.actors.stop(pd, WHY_SILENT[TREE])
        self.later.discard(pd)  # it keeps its place in the queue
        self._pending.setdefault(pd, Trigger(pd, "terminate", line))
        self.context.tombstones.terminated(pd)
        self.look()

    def spared(self, pd: str) -> None:
        """The PD is no longer doomed. If it was stopped in the meantime, it is a trigger now."""
        trigger = self._doomed.pop(pd, None)
        if trigger is not None:
            self._pending[pd] = trigger
            self.look()

    def stopped_late(self, pd: str) -> None:
        """The PD is stopped because its cleanup begins."""
        if self.context.authority.would_destroy(pd) is not None:
            self.bad("authority.protected")
        self.later.discard(pd)
        self.context.blame.forget(pd)

    def cancel(self, pd: str) -> None:
        """The PD is no trigger any more."""
        self.forget(pd)
        self.look()

    def at_end(self) -> None:
        """The trace ends."""
        for trigger in self._pending.values():
            self.bad("triggers.end", f"{trigger} was never cleaned up")

    # -- events

    @outside("TRIGGER")
    def told(self, event: Event) -> None:
        """TRIGGER."""
        cause, when = event["cause"], event["when"]
        columns = _COLUMNS.get((cause, when))
        has = {name for name in ("pd", "by", "token", "ms") if event[name] not in ("-", "0")}
        if columns is None or not columns[0] <= has <= columns[1]:
            self.bad("triggers.columns")
            return
        if cause == "reconcile":
            self.context.saved.reconcile()
        elif "pd" not in columns[1]:
            self.context.collections.told(event)
        elif when == "never":
            self._prevented(event)
        else:
            self.trigger(event)
        if asks(event):
            self.context.tickets.accept(event)

    @outside("FAULT", "EXIT")
    def trigger(self, event: Event) -> None:
        """A PD becomes a trigger, now or later."""
        context = self.context
        pd, cause = event["pd"], cause_of(event)
        if pd == ROOT:
            self.bad("triggers.root")
            return
        if pd not in context.model.nodes:
            self.bad("actors.there")
            return
        if pd in self._pending and (cause is None or pd not in self.later):
            self.bad("triggers.once")
            return
        if cause in ("terminate", TREE, None):
            self._terminated(event, pd, event["by"])
        elif cause == "late":
            self._late(event, pd)
        elif cause == "hung":
            context.hung.hung(event, pd)
        elif not (cause == "fault" and context.blame.fault(event)):
            context.actors.may_act(event, pd)
        if cause is None:
            self.later.add(pd)
            self._pending[pd] = Trigger(pd, "terminate", event.line)
            self.look()
            return
        context.blame.ends(event)
        context.actors.stop(pd, WHY_SILENT[cause])
        context.debts.owe("stopped THREAD", pd)
        if cause == TREE:
            self._terminated_tree(event, pd)
        elif pd in self.later:
            self.later.discard(pd)  # it keeps its place in the queue
        elif not context.cleanups.dooms_pd(pd):
            self._pending[pd] = Trigger(pd, cause, event.line)
            self.look()
        else:
            self._doomed[pd] = Trigger(pd, cause, event.line)

    def _terminated(self, event: Event, pd: str, by: str) -> None:
        context = self.context
        if by == ROOT and cause_of(event) == "terminate":
            context.staged.by_root(event)
        elif context.actors.may_act(event, by):
            body = context.model.body_of(pd)
            if body is None or (by, body) not in context.model.holds:
                self.bad("triggers.right")
            tree = event["cause"] == TREE
            if not context.cleanups.dooms_pd(pd) and context.authority.would_destroy(pd, tree=tree):
                self.bad("authority.protected")

    def _terminated_tree(self, event: Event, top: str) -> None:
        """The PD keeps its place in the queue if it has one. What it created, transitively, is
        stopped after it, except what is doomed or was stopped before.
        """
        context = self.context
        self.later.discard(top)
        self._pending[top] = Trigger(top, TREE, event.line)
        self.look()
        # Each lives until it is stopped itself: it may be in a call to one that is stopped first.
        for pd in sorted(beyond(top, self._created_by) - {top} - context.freed.stopped):
            self.to_stop[pd] = event.line

    def _created_by(self, creator: str) -> list[str]:
        """What the PD created, but for what is doomed."""
        created = [pd for its, pd in self.context.model.owns if its == creator]
        return [pd for pd in created if not self.context.cleanups.dooms_pd(pd)]

    def _prevented(self, event: Event) -> None:
        """A PD that was to be terminated later goes on."""
        pd, context = event["pd"], self.context
        due = self.due()
        if pd not in self.later or due is None or due.pd != pd:
            self.bad("triggers.order", f"expected it where the cleanup of {pd} is due")
        if context.authority.would_destroy(pd) is None:
            self.bad("authority.protected")
        self.cancel(pd)
        context.tickets.prevent(pd)

    def _late(self, event: Event, pd: str) -> None:
        context, work = self.context, self.context.notices.work
        token, ms = event.number("token"), event.number("ms")
        deadline = context.authority.number(pd, "deadline_ms")
        context.timing.late(event)
        notice = context.notices.waiting(pd, token)
        oldest = context.notices.oldest(pd)
        if (
            notice is None or not context.actors.may_answer(pd) or deadline == 0 or ms < deadline
            or work.is_held(notice) or context.hung.is_probe(pd, token)
            or not (context.blame.is_strict(notice) or token == oldest)
        ):  # fmt: skip
            self.bad("triggers.late", f"deadline_ms={deadline}, the oldest notice is {oldest}")
        if notice is not None:
            late = Lateness(pd, token, notice.kind, notice.node, deadline, ms)
            context.report.late.append(late)


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
