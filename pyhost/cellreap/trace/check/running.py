# SPDX-License-Identifier: BSD-2-Clause
"""What a cleanup must do according to the reference's plan, and the events seen of it so far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from enum import Enum
from typing import Final

from cellreap import headers
from cellreap.model import reference
from cellreap.model.digest import of_plan
from cellreap.model.ids import ROOT, is_region, kind_of
from cellreap.model.indexed import IndexedModel
from cellreap.trace.check.independent import touched
from cellreap.trace.check.slots import Reservation
from cellreap.trace.check.work import Tag, lane_of
from cellreap.trace.report import Cleanup

DESTROYING = {
    "PD": "destroy-pd",
    "RESOURCE_SPACE": "destroy-space",
    "RESOURCE": "destroy-resource",
}
"""Kind of node -> the step that destroys it."""

MAX_CLEANUPS: Final = headers.constant("limits.h", "CR_MAX_CLEANUPS")
QUEUEING: Final = frozenset({"notify", "tell"})
"""Steps that queue notices."""
MANY: Final = frozenset({"notify", "destroy-resource"})
"""Steps that may do several things. If cleaners die at one, it may end with what is done, and the
rest has further steps.
"""

Row = tuple[str, ...]


class Phase(Enum):
    """The phases of a cleanup, in order, for people."""

    PLAN = "the plan"
    SUSPEND_FIRST = "the suspending of the PDs at depth 0"
    MARK = "the marking"
    TELL = "the telling of subscribers"
    SUSPEND_REST = "the suspending of the other doomed PDs"
    DESTROY = "the destroying"
    NOTIFY = "the notices"
    SETTLED = "SETTLED"

    def __lt__(self, other: Phase) -> bool:
        order = list(Phase)
        return order.index(self) < order.index(other)


def lacking(wanted: Mapping[Row, int], has: Mapping[Row, int]) -> list[Row]:
    """What is wanted more often than it is there, sorted."""
    return sorted(each for each, count in wanted.items() if has.get(each, 0) < count)


class Together(list[Row]):
    """What the next STEP tells of, if it follows the events that tell its effects.

    A step may have several effects of one kind if they concern the same PD or space.
    """

    _of: str | None = None

    def add(self, thing: Row, of: str | None) -> bool:
        """Records an effect. Returns whether it can be of the same step as those before it.

        of: what it concerns; None if a step has only one such effect.
        """
        fits = not self or (of is not None and of == self._of)
        if not fits:
            self.clear()
        self.append(thing)
        self._of = of
        return fits

    def take(self, first: Row, count: int) -> list[Row]:
        """The effects of a STEP, which tells the first one and their number. Empty: others."""
        things = self.copy()
        self.clear()
        return things if things[:1] == [first] and len(things) == count else []


class Running:
    """A cleanup between CLEANUP and SETTLED: what it must do, and the events seen so far."""

    def __init__(
        self,
        result: Cleanup,
        plan: reference.Plan,
        before: IndexedModel,
        plannable: IndexedModel,
    ) -> None:
        """before: the state. plannable: that without what other cleanups doom."""
        self.result = result
        self.tag: Tag = ("cleanup", result.number)
        self.depth = dict(plan.destroyed_pds)
        self.group = {node: index for index, nodes in enumerate(plan.groups) for node in nodes}
        self.set_plan(plan, before, plannable)
        self.tells = tuple(plan.pre_destroy)
        self.untold: dict[int, Counter[tuple[str, str]]] = {}
        """group -> (subscriber, node) pairs that are not notified yet"""
        for subscriber, node in self.tells:
            self.untold.setdefault(self.group[node], Counter())[subscriber, node] += 1
        self.to_tell = sorted(self.untold)
        """the groups with subscribers that are not awaited yet, the next group last"""
        self.destructors = reference.destructors(before, plan)
        """doomed PD with a destructor -> its group"""
        self.awaits = len(self.to_tell) + len(set(self.destructors.values()))
        self.ending: set[str] = set()
        """the PDs whose destructors have their turn"""
        self.ended: set[str] = set()
        """the PDs whose destructors had their turn"""
        self.touched = touched(before, plan.doomed())
        self.plan_open = True
        self.phase = Phase.PLAN
        self.waiting = False
        self.must_wait = False
        """it waits, and a subscriber could still answer when this was last looked at"""
        self.waited = False
        self.given_up: set[str] = set()
        """subscribers without whose answers it goes on"""
        self.saved = False
        """a subscriber saved a PD from it"""
        self.spared: set[str] = set()
        """the nodes that it does not destroy because subscribers saved PDs"""
        self.leaves = False
        """a step was left for later"""
        self.run = 0
        """the number of later runs over what was left"""
        self.kept: set[Row] = set()
        """the steps (name, node, pd) that this run left for a later one, because they failed"""
        self.failed: set[Row] = set()
        """those of all its runs: they may have taken capabilities"""
        self.left: Counter[Row] = Counter()
        """the steps that this run leaves"""
        self.gone: set[str] = set()
        """the nodes that earlier runs destroyed"""
        self.untold_for_good: Counter[tuple[str, str]] = Counter()
        self.moot: Counter[Row] = Counter()
        """the notices that were left and whose receivers other cleanups destroyed, as steps"""
        """(subscriber, node) pairs that are not notified, because that failed"""
        self.served = False
        """operations were served between its steps"""
        self.destroyed: set[str] = set()
        self.group_reached = 0
        self.suspended: set[str] = set()
        self.queued: Counter[Row] = Counter()
        self.owed_in: dict[tuple[str, str], tuple[int, frozenset[str]]] = {}
        """(receiver, lane) -> the largest depth of a PD of which a notice there is, and the PDs
        whose REQUEST is told
        """
        self.reservations: dict[tuple[str, str], Reservation] = {}
        """(receiver, space) -> its DESTROY or LOST notice"""
        self.cut: set[tuple[str, str]] = set()
        self.steps: Counter[Row] = Counter()
        self.calls = 0
        """the kernel calls of the steps of this run"""
        self.notifying = Together()
        """the notices as (step, node, receiver)"""

    def set_plan(self, plan: reference.Plan, before: IndexedModel, plannable: IndexedModel) -> None:
        """Sets the plan for the current state. plannable: as of a new one."""
        self.reference = plan
        self.result.plan = plan.to_json()
        self.hanging = reference.hanging_on(plannable, plan)
        self.result.broken = sorted((*kept, min(on)) for kept, on in self.hanging.items())
        self.keeps = Counter(pd for pd, _ in self.hanging)
        """survivor -> how much it keeps that is broken, as its `lost` notices tell it"""
        self.before = before
        self.going = reference.going(before, plan)
        """the nodes that are taken out of the model at the end"""
        self.managers = {
            space: before.manager[space]
            for space in plan.deleted_spaces
            if before.manager[space] in self.depth
        }
        """doomed space -> its manager, if that is doomed too"""
        self._space_of = {
            node: space for space in plan.deleted_spaces for node in before.resources_in(space)
        }
        self.rows = of_plan({**self.result.plan, "broken": self.result.broken}, before)
        """what PLAN must tell"""
        self.owed = Counter[Row](
            (to, kind, node, dead or "-") for to, kind, node, dead in self.result.plan["notices"]
        )
        """the notices that the plan owes"""
        spaces = set(plan.deleted_spaces)
        self.members = {space: set(before.resources_in(space)) for space in spaces}
        self.askers: dict[str, set[str]] = {space: set() for space in spaces}
        for pd, space in before.requests:
            if space in spaces:
                self.askers[space].add(pd)
        self.bodies = {pd: before.body_of(pd) for pd in self.depth}
        self.dead = {body: pd for pd, body in self.bodies.items() if body is not None}
        """body resource -> its doomed PD"""
        self.regions: dict[str, str] = {}
        """region that goes -> the doomed PD of whose address space it is a part"""
        self.core_freed: dict[str, set[str]] = {resource: set() for resource in plan.core_freed}
        for pd, node in before.holds:
            if node in self.core_freed and pd in self.depth:
                self.core_freed[node].add(pd)
                if is_region(node):
                    self.regions[node] = pd
        self.to_destroy = {*self.depth, *spaces, *plan.core_freed}
        self.to_destroy.update(body for body in self.bodies.values() if body is not None)
        self.to_destroy.update(*self.members.values())

    def plan_again(self, model: IndexedModel, plannable: IndexedModel) -> None:
        """Recomputes the consequences of the plan for the current model, which may have changed."""
        self.set_plan(reference.replan(plannable, self.reference), model, plannable)
        self.served = False
        self.plan_open = True

    def spare(self, plan: reference.Plan, model: IndexedModel, plannable: IndexedModel) -> None:
        """Takes the new plan of a collection for the current model, in which PDs were saved."""
        groups = {node: index for index, nodes in enumerate(plan.groups) for node in nodes}
        self.spared = self.group.keys() - groups.keys()
        self.depth, self.group = dict(plan.destroyed_pds), groups
        self.destructors = reference.destructors(model, plan)
        self.awaits = len(set(self.untold)) + len(set(self.destructors.values()))
        self.set_plan(plan, model, plannable)
        self.saved = self.served = False
        self.plan_open = True

    def is_in_order(self, row: Row) -> bool:
        """Whether a notice is queued in its place: among those to one PD about one space, those of
        PDs at a smaller depth come first, and of one PD what it held before its REQUEST.
        """
        to, kind, node, dead = row
        lane, depth = (to, lane_of(node)), self.depth.get(dead, 0)
        deepest, left = self.owed_in.get(lane, (0, frozenset()))
        left_now = left | {dead} if kind == "disconnect" else left
        self.owed_in[lane] = max(depth, deepest), left_now
        return depth >= deepest and (kind != "free" or dead not in left)

    def is_turn(self, pd: str, node: str) -> bool:
        """Whether a PD that is told of a node now is told of the turn of its destructor."""
        return pd == node and pd in self.destructors and not self.to_tell

    def go_on(self, model: IndexedModel, plannable: IndexedModel) -> None:
        """Goes on in the current model with the same plan: nodes are destroyed already."""
        self.before = model
        for space, askers in self.askers.items():  # another cleanup may have destroyed one
            askers.intersection_update([pd for pd in askers if (pd, space) in model.requests])
        self._spare_what_is_held_again(plannable)
        self._forget_what_is_gone(model)
        self.going = self.to_destroy - self.gone

    def recover(self, model: IndexedModel, plannable: IndexedModel) -> None:
        """Begins a later run over what is left, in the current model."""
        self.run += 1
        self.go_on(model, plannable)
        self.phase = Phase.SUSPEND_FIRST
        self.kept.clear()
        self.left.clear()
        self.calls = 0

    def _spare_what_is_held_again(self, plannable: IndexedModel) -> None:
        """A core resource that was left, and that a PD was given anew, is not to be freed."""
        for node in self.core_freed.keys() - self.destroyed:
            edges = plannable.edges_at(node)
            holders = {source for kind, source, _ in edges if kind == "HOLD"} - {ROOT}
            if holders - self.group.keys():
                self.forget_core(node)

    def forget_core(self, node: str) -> None:
        """A core resource is not, or no longer, to be freed by this cleanup. It may have freed one
        whose number was given again: that of a PD's thread, which its parent gets anew.
        """
        if node in self.destroyed:
            return
        self.core_freed.pop(node, None)
        self.to_destroy.discard(node)

    def _forget_what_is_gone(self, model: IndexedModel) -> None:
        """A notice that tells a manager what a destroyed PD had is not queued if the manager has
        deleted that.
        """
        for to, kind, node, dead in self.result.plan["notices"]:
            row = (to, kind, node, dead or "-")
            if dead and node not in model.nodes and row not in self.queued and self.owed[row]:
                self.moot["notify", node, to] += 1
                del self.owed[row]

    def count_calls(self, kinds: Mapping[str, int]) -> None:
        """Takes the kernel calls of a step."""
        calls = self.result.kernel_calls
        for kind, count in kinds.items():
            calls[kind] = calls.get(kind, 0) + count
            self.calls += count

    def space_of(self, node: str) -> str | None:
        """The doomed space in which a resource is or was."""
        return self._space_of.get(node)

    def left_with(self, node: str) -> set[str]:
        """What is not destroyed yet of the doomed space in which a resource is or was."""
        return self.members.get(self._space_of.get(node, ""), set()) - self.destroyed

    def dooms(self, node: str) -> bool:
        """Whether the cleanup dooms this node or its space."""
        return node in self.group or self._space_of.get(node) in self.group

    def reservation(self, pd: str, node: str) -> Reservation | str | None:
        """The notice that reserves the slot of a survivor's capability to that node.

        The slot may be given again only after the survivor finished that notice. For a capability
        to a PD: the PD. The notice about it is no part of the cleanup. A doomed PD is not told.
        """
        if node in self.dead:
            return self.dead[node]
        space = self._space_of.get(node, node)
        empty = pd in self.depth or self.owed[pd, "lost", space, "-"] > 0
        return self.reservations.get((pd, space), Reservation(0, True, space) if empty else None)

    def must_go_before(self, node: str) -> set[str]:
        """The nodes that must be destroyed before this node."""
        if node in self.depth:
            of = {**self.dead, **self.regions}
            return {part for part, pd in of.items() if pd == node}
        others = self.members if node in self.members else self.core_freed
        return others.get(node, set()) - {self.regions.get(node, node)}

    def expected_steps(self) -> Counter[Row]:
        """The steps (name, node, pd), except cut-request, which depends on the order."""
        steps: Counter[Row] = Counter()
        steps.update(("suspend", "-", pd) for pd in self.depth)
        steps.update(("mark", node, "-") for node in (*self.group, *self.spared))
        for node in self.to_destroy:
            kind = kind_of(node)
            steps[DESTROYING[kind], node, node if kind == "PD" else "-"] += 1
        for to, _, node, _ in self.result.plan["notices"]:
            steps["notify", node, to] += 1
        for subscriber, node in self.tells:
            steps["tell", node, subscriber] += 1
        steps.update(("tell", pd, pd) for pd in self.destructors)
        for (subscriber, node), count in self.untold_for_good.items():
            steps["tell", node, subscriber] -= count
        steps.subtract(self.moot)
        if self.awaits:
            steps["await", "-", "-"] = self.awaits
        return steps
