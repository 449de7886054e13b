# SPDX-License-Identifier: BSD-2-Clause
"""Cleaners that die, what a cleanup leaves, and later runs over it.

A cleaner dies by a fault, an error or a hang, at a step that has begun. The next cleaner, in the
next epoch, repeats this step, or leaves it for later if it was attempted too often (left=1). A
cleaner of a sound root task dies only where the configuration has something fail.

A step that failed too often in the second run over its phase, or in a later run, is left. So are
the steps that depend on it:

- all other steps of the same doomed node: the requests to a space, the resources in it, the space
  itself; the capability to a PD's body, the regions of its address space, and the PD;
- the destruction of a PD whose space is left;
- the destruction of a core resource that a PD holds which is left, or to which something maps that
  is left;
- a notice about a node that is left.

Nothing else may be left. The state is that without all that was destroyed.

What is left is doomed. Other cleanups take it as gone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from cellreap.trace.check.context import Concern, Context, outside
from cellreap.trace.check.independent import touched, without
from cellreap.trace.check.running import DESTROYING, MAX_CLEANUPS, Row, Running
from cellreap.trace.events import Event

if TYPE_CHECKING:
    from cellreap.model.indexed import IndexedModel

from typing import Final

from cellreap.headers import constant
from cellreap.trace.check.running import QUEUEING


def owed(running: Running) -> Counter[Row]:
    """The steps (name, node, pd) of the plan that have not come."""
    steps = running.expected_steps() - running.steps
    for space in running.members.keys() - running.destroyed:
        for asker in running.askers[space] - running.destroyed:
            if (asker, space) not in running.cut:
                steps["cut-request", space, asker] += 1
    return steps


def entry_of(running: Running, step: Row) -> str:
    """The node of the plan that a step belongs to."""
    name, node, pd = step
    if name == "suspend":
        return pd
    entry = running.space_of(node) or node
    return running.regions.get(node, running.dead.get(node, entry))


def remaining(running: Running) -> set[str]:
    """The nodes of the plan that are not destroyed: PDs, spaces, and core resources."""
    return (running.group.keys() | running.core_freed.keys()) - running.destroyed


def blocked(running: Running) -> set[str]:
    """The nodes of the plan that cannot be destroyed because of the steps that failed."""
    found = {entry_of(running, step) for step in running.kept if step[0] != "notify"}
    found.update(running.managers[space] for space in found & running.managers.keys())
    for resource, holders in running.core_freed.items():
        went_before = resource in running.regions and resource in running.destroyed
        if holders & found and not went_before:
            found.add(resource)
    there = running.to_destroy - running.destroyed
    left = {node for node in there if entry_of(running, ("", node, "-")) in found}
    mapped = {lower for upper, lower in running.before.maps if upper in left}
    return found | (mapped & running.core_freed.keys())


def state_of(running: Running) -> IndexedModel:
    """The state in which the current run over the plan leaves the model."""
    model = running.before.copy()
    gone = running.destroyed - running.gone
    for space in gone & running.members.keys():
        model.discard(model.resources_in(space))  # also those of which no STEP came
    model.discard(gone)
    for pd, space in sorted(running.cut):
        if (pd, space) in model.requests:
            model.drop_request(pd, space)
    return model


class Residue(Concern):
    """RECOVER, and what cleanups leave."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.of: dict[int, Running] = {}
        """the cleanups that settled and left something, by number"""
        self.to_retry: set[int] = set()
        """the cleanups whose later run must come before anything else happens"""

    # -- for other concerns

    def check(self, running: Running) -> bool:
        """SETTLED: what the cleanup leaves, if steps failed. Returns whether it is anything."""
        running.kept |= self.waiting(running)
        if not running.kept:
            return False
        running.left = owed(running)
        self._check_causes(running, running.left)
        return True

    def waiting(self, running: Running) -> set[Row]:
        """The ends of PDs that wait for those of their spaces, which another cleanup left."""
        managers = {self.context.model.manager.get(node, "-") for node in self.doomed()}
        there = running.depth.keys() - running.destroyed
        return {("destroy-pd", pd, pd) for pd in managers & there}

    def _later(self) -> set[int]:
        """The cleanups that have later runs."""
        return {number for number, of in self.of.items() if not of.result.for_good}

    def _check_causes(self, running: Running, due: Counter[Row]) -> None:
        must, remain = blocked(running), remaining(running)
        for node in sorted(remain - must):
            self.bad("residue.cause", f"{node} is left, and no step that it depends on failed")
        for node in sorted(must - remain):
            self.bad("residue.waits", f"{node} was destroyed, though a step before that was left")
        for step in sorted(due):
            name, entry = step[0], entry_of(running, step)
            if name in ("suspend", "mark") and step not in running.kept:
                self.bad("residue.cause", f"the STEP {name} of {entry} is left, and did not fail")
            elif name in ("tell", "await") or (name in DESTROYING.values() and entry not in remain):
                text = f"the STEP {name} node={step[1]} never came, and {entry} is not left"
                self.bad("residue.left", text)
        notices = Counter[Row]()
        for to, _, node, dead in running.result.plan["notices"]:
            if (dead or node) in remain and not running.moot["notify", node, to]:
                notices["notify", node, to] += 1
        owes = Counter({step: count for step, count in due.items() if step[0] == "notify"})
        for step in sorted(owes - notices):
            if step not in running.kept:
                text = f"the notice about {step[1]} to {step[2]} is left"
                self.bad("residue.cause", f"{text}, and neither failed nor names what is left")
        for step in sorted(notices - owes):
            self.bad("residue.waits", f"{step[2]} was told that {step[1]} is gone, and it is left")

    def destroyed_by(self, running: Running, node: str) -> None:
        """A cleanup destroys a node. Others that left it, the body of a PD that lived, have no
        more to do with it.
        """
        for other in self.of.values():
            if other is not running:
                other.forget_core(node)

    def settled(self, running: Running, gone: set[str]) -> bool:
        """The cleanup has settled. gone: the nodes that its last run destroyed. Returns whether it
        has a later run.

        If it has settled for the first time, what others left must be tried again.
        """
        number = running.result.number
        for other in self.of.values():
            for step, count in other.left.items():
                if step[0] == "notify" and step[2] in gone and not other.moot[step]:
                    other.moot[step] = count  # its receiver is gone
        if running.run == 0:
            self.to_retry |= self._later() - {number}
        self.of.pop(number, None)
        running.result.lefts.append([list(step) for step in sorted(running.left.elements())])
        if not running.left:
            return False
        running.gone |= gone
        running.result.for_good = running.run == 0 and len(self._later() - {number}) > MAX_CLEANUPS
        self.of[number] = running
        for pd in running.depth.keys() - running.gone:
            self.context.triggers.forget(pd)
            self.context.tickets.forget(pd)
        return not running.result.for_good

    def _around(self, running: Running) -> set[str]:
        """What a later run concerns, from its beginning to its end."""
        model, rest = self.context.model, remaining(running)
        found = touched(model, rest & running.group.keys()) | (rest & running.core_freed.keys())
        for to, _, node, _ in running.result.plan["notices"]:
            if running.left["notify", node, to] and to in model.nodes:
                found.add(to)
        return found

    def keep(self, step: Row) -> None:
        """The current cleanup leaves a step for a later run. A subscriber is not told at all."""
        running = self.context.cleanups.running
        if running is None:
            return
        name, node, pd = step
        if name != "tell":
            running.kept.add(step)
            running.failed.add(step)
            return
        running.untold_for_good[pd, node] += 1
        if running.is_turn(pd, node):
            running.ending.add(pd)
            return
        untold = running.untold.get(running.group.get(node, -1))
        if untold is not None and untold[pd, node]:
            untold[pd, node] -= 1

    def may_lack(self, node: str, pd: str = "-") -> bool:
        """Whether a step that failed for good may have taken the PD's capability to the node.

        Without a PD: the root task's own to it.
        """
        steps = {("destroy-resource", node, "-"), ("cut-request", node, pd)}
        return any(steps & running.failed for running in self.of.values())

    def _rest(self) -> list[Running]:
        """The cleanups that left something, but for the current one."""
        current = self.context.cleanups.running
        return [running for running in self.of.values() if running is not current]

    def doomed(self) -> set[str]:
        """The PDs and spaces that were left, but for those of the current cleanup."""
        if not self.of:
            return set()
        return set().union(*(running.group.keys() - running.destroyed for running in self._rest()))

    def tombstones(self) -> int:
        """The destroyed nodes that stay known because their cleanup is not over."""
        later = (self.of[number] for number in self._later())
        both = (*later, *self.context.cleanups.under_way())
        return sum(len(running.group.keys() & running.gone) for running in both)

    def legal_part(self) -> IndexedModel:
        """The model without what cleanups left: that must be legal."""
        destroying = [each for each in self.context.cleanups.under_way() if each.gone]
        both = (*self.of.values(), *destroying)
        rest = {node for running in both for node in remaining(running)}
        return without(self.context.model, rest) if rest else self.context.model

    def plannable(self, running: Running | None) -> IndexedModel:
        """The model in which a cleanup is planned, None: a new one. What others doom is gone."""
        model = self.context.model
        others = (each for each in self.context.cleanups.under_way() if each is not running)
        besides = {node for other in others for node in other.group} | self.doomed()
        return without(model, besides & model.nodes.keys()) if besides else model

    def see_outside(self, event: Event, fields: Iterable[str]) -> None:
        """Checks that an event outside cleanups changes nothing about what was left."""
        for number, running in self.of.items():
            for name in fields:
                node = event.optional(name)
                if node in self.context.model.nodes and running.dooms(str(node)):
                    text = f"{name}={node}: it is doomed by cleanup {number}, which left it"
                    self.bad("cleanup.doomed", text)

    def demand_retried(self, event: Event) -> None:
        """Checks, when the root task goes on to another message, that it tried what was left."""
        if not self.to_retry:
            return
        for number in sorted(self.to_retry):
            self.bad("residue.retried", f"expected RECOVER n={number} before it")
        self.to_retry.clear()

    # -- events

    @outside("RECOVER")
    def recover(self, event: Event) -> None:
        """RECOVER: a later run over what a cleanup left."""
        number = event.number("n")
        running = self.of.get(number) if number in self._later() else None
        self.to_retry.discard(number)
        self.context.state.demand_printed(event)
        if running is None or self.context.cleanups.number is not None:
            self.bad("residue.run", f"n={number}: no such cleanup has a later run")
            return
        running.touched = self._around(running)
        running.recover(self.context.model, self.plannable(running))
        self.compare("residue.run", run=running.run)
        self.context.cleanups.resume(number, running)


Step = tuple[str, str, str]
"""(name, node, pd)"""

PARTS: Final[dict[tuple[str, str], tuple[str, str]]] = {
    ("suspend", "stopped THREAD"): ("pd", "pd"),
    ("suspend", "answered THREAD"): ("by", "pd"),
    ("notify", "QUEUE"): ("to", "pd"),
    ("tell", "QUEUE"): ("to", "pd"),
}
"""(step, event that tells a part of it) -> the event's field that names the step's node or PD.

While a step is repeated, nothing else happens.
"""


class Takeovers(Concern):
    """TAKEOVER. It and INJECTED stand anywhere among the events of a step."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._most = constant("steps.h", "CR_STEP_ATTEMPTS")
        self.death: str | None = None
        """how a step of a cleanup was made to fail, until the TAKEOVER that follows"""
        self.step: tuple[str, Step] | None = None
        """(n, step) that must be repeated"""
        self._attempts = 0
        """how often it was attempted"""
        self.half_suspended: set[str] = set()
        """the PDs in whose suspension a cleaner died: part of it may be done"""
        self._left: dict[tuple[str, Step], Counter[str]] = {}
        """(n, step) of the steps that were left and not carried out yet -> their kernel calls"""
        self._kept: set[tuple[str, Step]] = set()
        """those of them that were left for a later run"""

    # -- for other concerns

    def attempts(self, event: Event) -> int:
        """How often the step of this STEP was attempted."""
        named = (event["n"], (event["name"], event["node"], event["pd"]))
        if self.step != named:
            return 1
        # The last death leaves the signal of a notice, and nothing else, to the main thread.
        last = self._attempts == self._most and event["name"] not in QUEUEING
        return self._attempts + (0 if last else 1)

    def may_shorten(self, event: Event) -> bool:
        """Whether the step of this TAKEOVER may end with a part of its notices or resources: if one
        of them failed, or if no further cleaner attempts it.
        """
        running = self.context.cleanups.running
        if running is None or (event["death"] != "error" and event.number("attempts") < self._most):
            return False
        if event["step"] == "notify":
            return self._has_queued()
        return event["step"] == "destroy-resource" and len(running.left_with(event["node"])) > 1

    def see(self, event: Event) -> None:
        """Any event that is not a TAKEOVER or INJECTED."""
        if self.death is not None:
            self._demand_death(event)
        if self.step is None:
            return
        if event.name == "QUEUE" and self._attempts == self._most:
            self.bad("takeover.attempts", "expected the STEP before it: its last cleaner died")
        n, step = self.step
        shown = f"STEP n={n} name={step[0]} node={step[1]} pd={step[2]}"
        if event.values.get("n", n) != n or not self._is_part(event, step):
            self.bad("takeover.step", f"expected {shown} before it: that step had begun")
            self.step = None

    def done(self, event: Event) -> Counter[str] | None:
        """The step of this STEP was carried out. Returns the kernel calls that it made before, if
        it was left.
        """
        self.step = None
        named = (event["n"], (event["name"], event["node"], event["pd"]))
        self._kept.discard(named)
        return self._left.pop(named, None)

    def settled(self, running: Running, event: Event) -> None:
        """SETTLED: a cleanup ends. A REQUEST may have gone with its PD."""
        for n, step in sorted(self._left):
            moot = step[0] == "cut-request" and step[2] in running.destroyed
            if n == event["n"] and not moot and (n, step) not in self._kept:
                text = f"the STEP {step[0]} node={step[1]} pd={step[2]} that was left never came"
                self.bad("takeover.residue", text)

    def _is_part(self, event: Event, step: Step) -> bool:
        if event.name == "STEP":
            return (event["name"], event["node"], event["pd"]) == step
        fields = PARTS.get((step[0], event.told))
        if fields is None:
            return False
        return event[fields[0]] == {"node": step[1], "pd": step[2]}[fields[1]]

    def _demand_death(self, event: Event) -> None:
        if self.death is not None:
            self.bad("takeover.death", f"expected TAKEOVER death={self.death} before it")
            self.death = None

    # -- events

    def injected(self, event: Event, how: str) -> None:
        """INJECTED: a step of a cleanup is made to fail."""
        self._demand_death(event)
        self.death = how

    @outside("TAKEOVER")
    def takeover(self, event: Event) -> None:
        """TAKEOVER: a cleaner died, and another one goes on."""
        step, attempts = self._death(event)
        if event["left"] == "1":
            self._residue(event, step, attempts)
            return
        if event["kinds"] != "-":
            self.bad("cleanup.step_calls", "expected kinds=-: the step is not left")
        # The last one may have died behind the step. Then the step is in effect, and not left.
        if attempts > self._most:
            self.bad("takeover.attempts", f"attempts={attempts}: expected at most {self._most}")
        elif attempts == self._most and step[1][0] in QUEUEING and not self._has_queued():
            self.bad("takeover.attempts", f"step={step[1][0]}: nothing is queued: expected left=1")
        self.step, self._attempts = step, attempts

    def _residue(self, event: Event, step: tuple[str, Step], attempts: int) -> None:
        """A cleaner died at a step for the last time, and the step is left for later."""
        if attempts != self._most:
            self.bad("takeover.attempts", f"left=1 attempts={attempts}: expected {self._most}")
        if step[1][0] == "suspend":  # it may have stopped the PD, whose device is not quiet
            self.context.freed.suspending = None
        if step[1][0] == "await" or (step[1][0] in QUEUEING and self._has_queued()):
            self.bad("takeover.residue", f"step={step[1][0]}: it is in effect: expected left=0")
        running = self.context.cleanups.running
        later = running is not None and running.run > 0
        if step in self._kept and not later:
            self.bad("takeover.residue", f"step={step[1][0]}: it was left before")
        if step in self._left or later or step[1][0] == "tell" or self._is_in_turn(step[1]):
            self._kept.add(step)
            self.context.residue.keep(step[1])
        self._left[step] = self._left.get(step, Counter()) + event.counts("kinds")
        self.step = None
        self.context.cleanups.leave(event)
        self.context.interleaved.residue(event)

    def _is_in_turn(self, step: Step) -> bool:
        """Whether the step is the suspending of a PD after its destructor. It has no second try."""
        running = self.context.cleanups.running
        return running is not None and step[0] == "suspend" and step[2] in running.ended

    def _may_be_loud(self, step: Step) -> bool:
        """Whether the step may fail because a device of the PD does not become quiet."""
        config = self.context.configured.edges.configs.get(step[2])
        waits = config is not None and any(each.waits for each in config.maps)
        return step[0] == "suspend" and (waits or self.context.expected is None)

    def _has_queued(self) -> bool:
        """Whether the step of notices that has begun has queued any."""
        running = self.context.cleanups.running
        return running is not None and bool(running.notifying)

    def _death(self, event: Event) -> tuple[tuple[str, Step], int]:
        """Checks what every TAKEOVER must have. Returns the step and its attempts."""
        n, death, attempts = event["n"], event["death"], event.number("attempts")
        step = (n, (event["step"], event["node"], event["pd"]))
        if event["step"] == "suspend":
            self.half_suspended.add(event["pd"])
        if event.number("n") != self.context.cleanups.number:
            self.bad("takeover.step", f"n={n}: no such cleanup carries out steps")
        loud = death == "error" and self.death is None and self._may_be_loud(step[1])
        if self.death != death and not loud:
            expected = "none" if self.death is None else f"death={self.death}"
            self.bad("takeover.death", f"death={death}: expected {expected}: that was injected")
        self.death = None
        if self.step is not None and self.step != step:
            text = f"step={step[1][0]}: expected {self.step[1][0]}, which had begun"
            self.bad("takeover.step", text)
        due = self._attempts + 1 if self.step == step else 1
        if attempts != due:
            self.bad("takeover.attempts", f"attempts={attempts}: expected {due}")
        return step, attempts
