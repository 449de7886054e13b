# SPDX-License-Identifier: BSD-2-Clause
"""The frame of a cleanup: its plan, its phases, the events while it waits, and its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from typing import Final

from cellreap.model import reference
from cellreap.model.ids import ROOT
from cellreap.model.indexed import IndexedModel
from cellreap.model.memory import users
from cellreap.model.plan import Plan
from cellreap.trace.check.context import Concern, Context, outside, within
from cellreap.trace.check.residue import state_of
from cellreap.trace.check.running import (
    MAX_CLEANUPS,
    Phase,
    Row,
    Running,
    lacking,
)
from cellreap.trace.check.triggers import TREE
from cellreap.trace.check.work import Notice
from cellreap.trace.events import Event, cause_of
from cellreap.trace.report import Cleanup


def memory_after(context: Context, plan: Plan) -> list[tuple[str, str, int, tuple[str, ...]]]:
    """(word, PD, bytes, other PDs): it is `freed` with a doomed PD and the others; a survivor
    `keeps` what others had, too; and it `loses` what was lent to it, by others.

    The registers of devices are no memory.
    """
    model, memory = context.model, context.memory
    doomed = {pd for pd, _ in plan.destroyed_pds}
    lent = {
        lower: model.manager[space]
        for upper, lower in model.maps
        if (space := model.space_of.get(upper, "")) in plan.deleted_spaces
    }
    found: Counter[tuple[str, str, tuple[str, ...]]] = Counter()
    for node, having in users(model).items():
        dead = tuple(sorted((having | {lent.get(node, ROOT)}) & doomed))
        if memory.is_device(node) or not dead:
            continue
        size = memory.objects.pages(node).bytes
        alive = sorted(having - doomed - {ROOT})
        if not alive:
            found["freed", dead[0], dead[1:]] += size
        for pd in alive:
            loses = node in lent and (pd, node) not in model.holds
            found["loses" if loses else "keeps", pd, dead] += size
    return [(word, pd, size, others) for (word, pd, others), size in sorted(found.items())]


STEP_PHASES = {
    "mark": Phase.MARK,
    "tell": Phase.TELL,
    "await": Phase.TELL,
    "cut-request": Phase.DESTROY,
    "destroy-resource": Phase.DESTROY,
    "destroy-space": Phase.DESTROY,
    "destroy-pd": Phase.DESTROY,
    "notify": Phase.NOTIFY,
}
EVENT_PHASES = {
    "WAIT": Phase.TELL,
    "CONTINUE": Phase.TELL,
    "QUEUE": Phase.NOTIFY,
}
NOT_DOOMED = {
    "SPACE": ("manager",),
    "RESOURCE": ("space",),
    "DELETE": ("node", "by"),
    "EDGE": ("from", "to"),
    "ALLOW": ("pd", "by"),
    "RIGHTS": ("pd",),
    "TRIGGER": ("pd", "by"),
    "CANCEL": ("pd", "of"),
    "EXTRACT": ("by",),
    "SUBGRAPH": ("pd",),
}
"""Event -> its fields that must not name a doomed node while a cleanup waits. A doomed PD may
be late, or hang.
"""


_IN_TURNS: Final = frozenset({"STEP", "WAIT", "CONTINUE"})
"""Events that stand in the destroying if they come while destructors have their turn."""
NO_TRIGGER: Final = "-"
"""The trigger of a collection."""


def _all_done(context: Context, running: Running) -> None:
    """Checks that the cleanup did everything that it had to do."""
    bad = context.breaks
    for pd in sorted(running.depth.keys() - running.suspended):
        bad("cleanup.suspend", f"{pd} was never suspended")
    for node in sorted(running.to_destroy - running.destroyed):
        bad("cleanup.destroy", f"{node} was never destroyed")
    told = Counter[Row]((pd, "pre-destroy", node, "-") for pd, node in running.tells)
    for (pd, node), count in running.untold_for_good.items():
        told[pd, "pre-destroy", node, "-"] -= count
    told.update(running.owed)
    for row in lacking(told, running.queued):
        if running.moot["notify", row[2], row[0]]:
            continue
        bad("cleanup.notices", f"the notice {' '.join(row)} was never queued")
    expected = running.expected_steps()
    for name, node, pd in lacking(expected, running.steps):
        bad("cleanup.steps", f"there was no STEP {name} node={node} pd={pd}")
    for name, node, pd in lacking(running.steps, expected):
        bad("cleanup.steps", f"a STEP {name} node={node} pd={pd} too many")


def _forget(context: Context, running: Running, gone: set[str]) -> None:
    """Removes the destroyed nodes from the replay."""
    pds = [pd for pd in running.depth if pd in gone]
    for pd in pds:
        context.memory.free_body(pd)
    for node in gone:
        context.memory.free_resource(node)
    context.memory.changed = True
    running.gone |= gone
    for pd in pds:
        context.slots.forget(pd)
    context.slots.vacate(gone, running.reservation)
    for pd in pds:
        for each in (
            context.notices.work, context.actors, context.freed, context.calls, context.authority,
            context.consent, context.triggers, context.blame, context.tickets,
        ):  # fmt: skip
            each.forget(pd)


def _go_so_far(context: Context, running: Running) -> None:
    """A cleanup waits for destructors. What it destroyed so far is gone."""
    context.interleaved.settle(running)
    gone = running.destroyed - running.gone
    context.go_on_with(state_of(running))
    _forget(context, running, gone)


def _plan(context: Context, event: Event, model: IndexedModel) -> reference.Plan:
    """The reference's plan of a cleanup that begins. model: `Residue.plannable`."""
    trigger, cause = event["trigger"], event["cause"]
    depths = (event.depth("pd_depth"), event.depth("rs_depth"))
    if trigger != NO_TRIGGER:
        context.triggers.begin(trigger, cause)
        context.authority.cleanup(event)
        if cause == TREE:
            return reference.subtree(model, trigger, *depths)
        return reference.plan(model, trigger, *depths, context.settings.closeness)
    context.collections.begin(cause)
    plan = context.collections.plan()
    if depths != (plan.pd_depth, plan.rs_depth):
        context.breaks("authority.cleanup", "a collection has the depths 0 and 0")
    return plan


class Cleanups(Concern):
    """CLEANUP, the plan, WAIT, CONTINUE, SETTLED."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.number: int | None = None
        """number of the current cleanup: the one that is under way and does not wait"""
        self.running: Running | None = None  # None while skipping one
        self.awaiting: dict[int, Running] = {}
        """the cleanups that wait, by number"""
        self._count = 0

    # -- for other concerns

    def under_way(self) -> list[Running]:
        """The cleanups that are not over, without those that left something."""
        current = [] if self.running is None else [self.running]
        return [*self.awaiting.values(), *current]

    def doomed(self) -> Collection[str]:
        """The nodes that the cleanups under way have doomed."""
        under_way = self.under_way()
        found = {node for running in under_way for node in running.group.keys() - running.gone}
        return found | self.context.residue.doomed()

    def dooms_pd(self, pd: str) -> bool:
        """Whether a cleanup under way dooms the PD."""
        if self.awaiting or self.context.residue.of:
            under_way = any(pd in running.depth for running in self.under_way())
            return under_way or pd in self.context.residue.doomed()
        return self.may_stop(pd)

    def may_stop(self, pd: str) -> bool:
        """Whether the current cleanup may stop the PD now."""
        return self.running is not None and pd in self.running.depth

    def leave(self, event: Event) -> None:
        """TAKEOVER: the current cleanup leaves a step. Its groups need not come in order."""
        if self.running is not None:
            self.running.leaves = True
            self.context.calls.residue(self.running, event)

    def has_room(self) -> bool:
        """Whether one more cleanup can wait."""
        return len(self.awaiting) < MAX_CLEANUPS

    def touched(self) -> set[str]:
        """What the cleanups that wait concern."""
        return set().union(*(running.touched for running in self.awaiting.values()))

    def outstanding(self, running: Running) -> Iterator[Notice]:
        """The unfinished notices of a cleanup whose receivers can act."""
        for notice in self.context.notices.work.unfinished(running.tag):
            if self.context.actors.may_answer(notice.to) and notice.to not in running.given_up:
                yield notice

    def awaited(self, running: Running) -> list[str]:
        """The subscribers that have not answered yet and can answer."""
        return [
            f"{notice.to} has not acknowledged {notice.token} ({notice.kind} {notice.node}) yet"
            for notice in self.outstanding(running)
            if not self.context.tickets.may_wait(notice.to)
        ]

    def give_up(self, pd: str) -> bool:
        """The cleanup that awaits the PD goes on without its answers. Whether there is one."""
        for running in self.under_way():
            if any(notice.to == pd for notice in self.outstanding(running)):
                running.given_up.add(pd)
                return True
        return False

    def demand_continued(self, event: Event) -> None:
        """Checks that no cleanup waits for nobody when a PD acts again."""
        for number, running in self.awaiting.items():
            if running.must_wait and next(self.outstanding(running), None) is None:
                running.must_wait = False
                text = f"expected CONTINUE n={number} before it: the cleanup waits for nobody"
                self.bad("cleanup.needless", text)

    def at_end(self) -> None:
        """The trace ends."""
        if self.number is not None or self.awaiting:
            self.bad("cleanup.within", "within a cleanup: expected its SETTLED")

    # -- outside and inside cleanups

    def see_outside(self, event: Event) -> None:
        """Checks whether an event that is not part of a cleanup may come now."""
        if self.number is not None and self.context.interleaved.open is None:
            self.bad("cleanup.within", f"expected SETTLED n={self.number} first")
        fields = NOT_DOOMED.get(event.name, ()) if cause_of(event) not in ("late", "hung") else ()
        for number, running in self.awaiting.items():
            for name in fields:
                node = event.optional(name)
                if node is not None and running.dooms(node):
                    text = f"{name}={node}: it is doomed by cleanup {number}, which waits"
                    self.bad("cleanup.doomed", text)
        if self.context.residue.of:
            self.context.residue.see_outside(event, fields)

    def enter(self, event: Event) -> Running | None:
        """The cleanup of an event that is part of one. None if there is no such cleanup."""
        number = int(event.values["n"])
        if self.number is None and number in self.awaiting:
            self.number, self.running = number, self.awaiting.pop(number)
        running = self.running
        if running is None:
            if self.number != number:
                self.bad("cleanup.number", f"n={number}: no such cleanup is under way")
            elif event.name == "SETTLED":
                self.number = None
            return None
        if number != self.number:
            self.bad("cleanup.number", f"n={number}: cleanup {self.number} is under way")
            return None
        if running.waiting and event.name != "CONTINUE":
            expected = f"expected CONTINUE n={number} first"
            self.bad("cleanup.wait", f"n={number}: the cleanup waits: {expected}")
            running.waiting = False
        if event.name not in ("PLAN", "SERVED"):  # which stands in any phase that has steps
            self._phase(running, event)
        return running

    def _phase(self, running: Running, event: Event) -> None:
        """Checks that the phases follow each other."""
        name = event.name
        if name == "STEP" and event["name"] == "suspend":
            first = running.depth.get(event["pd"]) == 0
            phase = Phase.SUSPEND_FIRST if first else Phase.SUSPEND_REST
            if event["pd"] in running.destructors and running.run == 0:
                phase = Phase.DESTROY
        elif name in _IN_TURNS and running.ending:
            phase = Phase.DESTROY
        elif name == "STEP":
            phase = STEP_PHASES.get(event["name"], running.phase)
            if event["name"] == "tell" and running.is_turn(event["pd"], event["node"]):
                phase = Phase.DESTROY
        elif name == "QUEUE" and event["kind"] == "pre-destroy":
            phase = Phase.DESTROY if running.is_turn(event["to"], event["node"]) else Phase.TELL
        else:
            phase = EVENT_PHASES.get(name, Phase.SETTLED)
        if running.plan_open:
            self.bad("cleanup.plan", "expected PLAN before it")
            running.plan_open = False
        if phase < running.phase:
            text = f"after {running.phase.value}: expected it in {phase.value}"
            self.bad("cleanup.phases", text)
        else:
            running.phase = phase

    # -- the plan

    @outside("CLEANUP")
    def cleanup(self, event: Event) -> None:
        """CLEANUP: a cleanup begins."""
        context = self.context
        number, trigger, cause = event.number("n"), event["trigger"], event["cause"]
        if number != self._count + 1:
            self.bad("cleanup.number", f"n={number}: expected {self._count + 1}")
        self._count = number
        context.state.demand_printed(event)
        self.number, self.running = number, None
        plannable = context.residue.plannable(None)
        plan = _plan(context, event, plannable)
        result = Cleanup(number, event.line, trigger, cause, plan.to_json())
        result.memory = memory_after(context, plan)
        context.report.cleanups.append(result)
        context.tombstones.planned(cause, plan)
        self.running = Running(result, plan, context.model, plannable)
        self._apart(self.running)
        if trigger == NO_TRIGGER:
            context.tickets.begin_collection(self.running.tag)
        else:
            context.tickets.begin(trigger, self.running.tag)

    def _apart(self, begun: Running) -> None:
        """Checks that a cleanup that begins touches none that waits."""
        if (begun.tells or begun.destructors) and not self.has_room():
            text = f"{len(self.awaiting)} cleanups wait already"
            self.bad("cleanup.independent", text)
        for other, waiting in self.awaiting.items():
            shared = sorted(waiting.touched & begun.touched)
            if shared:
                text = f"{shared[0]} concerns cleanup {other} too, which waits"
                self.bad("cleanup.independent", text)

    def resume(self, number: int, running: Running) -> None:
        """A later run over what a cleanup left begins."""
        self.number, self.running = number, running

    @within("PLAN")
    def plan(self, running: Running, event: Event) -> None:
        """PLAN: the plan that was made, or made anew."""
        if not running.plan_open:
            self.bad("cleanup.phases", "expected it once, behind CLEANUP")
            return
        running.plan_open = False
        self.compare("cleanup.plan", rows=running.rows[0], digest=running.rows[1])

    # -- waiting

    @within("WAIT")
    def wait(self, running: Running, event: Event) -> None:
        """WAIT: the cleanup waits for subscribers that were notified."""
        running.must_wait = next(self.outstanding(running), None) is not None
        if not running.must_wait:
            self.bad("cleanup.wait", f"n={event['n']}: there is nobody to await")
        if running.ending:
            _go_so_far(self.context, running)
        running.waiting = running.waited = True
        self.awaiting[event.number("n")] = running
        self.number = self.running = None

    @within("CONTINUE")
    def go_on(self, running: Running, event: Event) -> None:
        """CONTINUE: the cleanup continues."""
        if not running.waiting:
            self.bad("cleanup.wait", f"n={event['n']}: the cleanup does not wait")
        running.waiting = False
        self.context.memory.demand_body()
        for text in self.awaited(running):
            self.bad("cleanup.awaited", text)
        if running.ending:
            running.go_on(self.context.model, self.context.residue.plannable(running))

    # -- the end

    @within("SETTLED")
    def settled(self, running: Running, event: Event) -> None:
        """SETTLED: the cleanup ends."""
        context = self.context
        context.triggers.look()
        context.consent.settled()
        context.collections.settled(running.result.cause)
        context.interleaved.settle(running)
        leaves = context.residue.check(running)
        if not leaves:
            _all_done(context, running)
        if event.number("calls") != running.calls:
            text = f"calls={event['calls']}, but {running.calls} in the steps"
            self.bad("cleanup.calls", text)
        context.takeovers.settled(running, event)
        running.result.cycles += event.number("cycles")
        gone = running.destroyed & running.to_destroy if leaves else running.to_destroy
        gone -= running.gone
        rows = context.model.rows
        if leaves:
            context.go_on_with(state_of(running))
        else:
            context.model.discard(running.going)
        _forget(context, running, gone)
        context.tickets.settle(running.tag)
        later = context.residue.settled(running, gone)
        unfinished = (*context.residue.of.values(), *self.under_way())
        context.memory.free_let_go({node for each in unfinished for node in each.core_freed})
        context.tombstones.settled(running, later)
        self.number = self.running = None
        context.state.settled(event, rows - context.model.rows)
        context.legal(f"after cleanup {running.result.number}")
