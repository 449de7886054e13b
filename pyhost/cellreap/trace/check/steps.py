# SPDX-License-Identifier: BSD-2-Clause
"""The steps of a cleanup, the kernel calls that each needs, by kind, and what is served between
them.

SERVED ends what the operation of one PD did. The cleanup concerns neither the PD nor anything that
the operation names, so its plan is still the reference's plan afterwards.

The numbers of the calls follow from the model, the slots and the notices, and are exact for every
step:

- `suspend`: the PD's thread is suspended. Its endpoint is revoked, which takes all capabilities to
  the PD, and deleted, which restarts the calls that are queued there. The reply object of a passive
  PD, and of one that is called over channels, is deleted too. Calls that give lent time back, and
  those at the door of a PD for Microkit, are not counted. A call that the PD has
  received is found in the registers of the caller, so these are read once for each PD with a slot
  that leads to the stopped one and with a thread that is not suspended. Each PD that is answered
  (THREAD answered) is resumed. These calls count for this step, no matter when the PD was stopped.
- `cut-request`, and `destroy-resource` for each resource: if the server lives on, the messages that
  wait at its endpoint are cancelled, the capabilities of all holders are revoked, and their parent
  is deleted. If the server is stopped, its endpoint is gone, and all of them with it. The server of
  the capability to a PD is the root task, which always lives.
- `destroy-pd`, and `destroy-resource` for memory: the untyped of which everything of it was made is
  revoked.
- `tell`, `notify`: the receiver is signalled if it is not stopped and had nothing to fetch before
  the step. A signal stays until it is received, and the receiver then fetches until nothing is
  left.
- `mark`, `await`, `destroy-space`: only the model changes.

A step that was attempted several times needs at least the calls of one attempt, and at most as many
in each. If it was left before, it may need fewer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from cellreap import headers
from cellreap.model import reference
from cellreap.model.ids import ROOT, is_line, is_memory, number_of, parse_id
from cellreap.trace.check.context import Concern, Context, within
from cellreap.trace.check.independent import stands_for
from cellreap.trace.check.own_slots import has_parent, is_of_microkit
from cellreap.trace.check.running import DESTROYING, MANY, QUEUEING, Running
from cellreap.trace.check.slots import Reservation
from cellreap.trace.events import Event, counts_in, id_fields


class Steps(Concern):
    """STEP, QUEUE (of a cleanup)."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._names = headers.names_of("steps.h", "cr_step_kind", "CR_STEP_")
        self._most = headers.constant("steps.h", "CR_STEP_AT_ONCE")

    def _suspend(self, running: Running, pd: str) -> None:
        """A doomed PD is suspended."""
        if pd not in running.depth:
            self.bad("cleanup.suspend", f"{pd} is not doomed")
        elif pd in running.suspended:
            self.bad("cleanup.suspend", f"{pd} is suspended already")
        elif pd in running.destructors.keys() - running.ended and running.run == 0:
            self.bad("cleanup.destructors", "expected the turn of its destructor before it")
        running.suspended.add(pd)
        if pd not in self.context.freed.stopped:
            self.bad("freed.stop", f"{pd} was not stopped before")
        self.context.actors.suspend(pd)

    @within("STEP")
    def step(self, running: Running, event: Event) -> None:
        """Checks a STEP event."""
        name, node, pd = event["name"], event["node"], event["pd"]
        if name not in self._names:
            self.bad("cleanup.steps", f"expected one of {', '.join(self._names)}")
        self.context.calls.step(running, event)
        count = event.number("count")
        most = self._most if name in MANY else 1
        if not 1 <= count <= most:
            self.bad("cleanup.steps", f"count={count}: expected 1 to {most}")
        if name == "cut-request":
            self._cut(running, pd, node)
        elif name in ("notify", "tell"):
            rows = running.notifying.take((name, node, pd), count)
            running.steps.update(rows or [(name, node, pd)])
            if not rows:
                self.bad("cleanup.beside", "expected it beside the events that tell what it did")
            if name == "tell" and running.is_turn(pd, node):
                self._turn(running, pd)
            elif name == "tell":
                self._tell(running, pd, node)
        elif name in DESTROYING.values():
            nodes = self._together(running, node, count)
            running.steps.update((name, each, pd) for each in nodes)
            for each in nodes:
                self._destroy(running, each)
        else:
            running.steps[name, node, pd] += 1
            if name == "suspend":
                self._suspend(running, pd)
            elif name == "await":
                self._await(running)

    def _together(self, running: Running, node: str, count: int) -> list[str]:
        """What a step destroys. Of a space, the newest resources go first.

        The step ends early for a PD that waits to be served.
        """
        rest, expected = running.left_with(node), self.context.expected
        if len(rest) > count < self._most and (expected is None or expected.runs_between):
            self.context.reports.split(running.result.number)
        if count <= 1:
            return [node]
        nodes = sorted(rest, key=number_of, reverse=True)[:count]
        if nodes[:1] != [node] or len(nodes) != count:
            self.bad("cleanup.beside", f"count={count}: expected as many of one doomed space")
            return [node]
        return nodes

    def _cut(self, running: Running, pd: str, node: str) -> None:
        """A client loses its REQUEST to a doomed space."""
        if pd not in running.askers.get(node, ()) or pd in running.destroyed:
            self.bad("cleanup.cut", "there is no such REQUEST to a doomed space")
        elif (pd, node) in running.cut:
            self.bad("cleanup.cut", "done twice")
        elif node in running.destroyed:
            self.bad("cleanup.cut", "the space is gone already")
        running.cut.add((pd, node))

    def _tell(self, running: Running, pd: str, node: str) -> None:
        """A subscriber is notified. The groups come one by one, the last one first."""
        group = running.group.get(node, -1)
        untold = running.untold.get(group)
        if untold is None or not untold[pd, node]:
            self.bad("cleanup.tell", f"{pd} is not to be told about {node}, or was told before")
            return
        untold[pd, node] -= 1
        if running.to_tell and group != running.to_tell[-1]:
            self.bad(
                "cleanup.tell",
                f"group {group}: expected group {running.to_tell[-1]} next",
            )

    def _await(self, running: Running) -> None:
        """The subscribers that were notified have answered."""
        if running.ending:
            self._had_their_turn(running)
            return
        if not running.to_tell:
            self.bad("cleanup.tell", "nobody was told since the last one")
            return
        group = running.to_tell.pop()
        for (pd, node), count in sorted(running.untold[group].items()):
            if count:
                self.bad("cleanup.tell", f"{pd} was not told about {node} yet")
        for text in self.context.cleanups.awaited(running):
            self.bad("cleanup.awaited", text)
        if not running.to_tell and running.saved:
            self.context.collections.spare(running)
        elif not running.to_tell and running.waited:
            plannable = self.context.residue.plannable(running)
            running.plan_again(self.context.model, plannable)

    def _turn(self, running: Running, pd: str) -> None:
        """A PD is told that the turn of its destructor has come."""
        group = running.destructors[pd]
        before = {node for node, of in running.group.items() if of < group} - running.destroyed
        text = None
        if pd in running.ending | running.ended:
            text = "its turn has come before"
        elif before and not running.leaves:
            text = f"expected {min(before)} to be destroyed first: it is of an earlier group"
        elif any(of == group and node in running.destroyed for node, of in running.group.items()):
            text = "its group is being destroyed already"
        if text is not None:
            self.bad("cleanup.destructors", text)
        running.ending.add(pd)

    def _had_their_turn(self, running: Running) -> None:
        """The PDs of a group have run their destructors."""
        groups = {running.destructors[pd] for pd in running.ending}
        for pd, group in sorted(running.destructors.items()):
            if group in groups and pd not in running.ending:
                self.bad(
                    "cleanup.destructors",
                    f"expected the turn of {pd}, of the same group, before it",
                )
        for text in self.context.cleanups.awaited(running):
            self.bad("cleanup.awaited", text)
        running.ended |= running.ending
        running.ending.clear()

    def _destroy(self, running: Running, node: str) -> None:
        """A node is destroyed."""
        if node not in running.to_destroy:
            self.bad("cleanup.destroy", f"{node} is not to be destroyed by this cleanup")
        elif node in running.destroyed:
            self.bad("cleanup.destroy", f"{node} is destroyed already")
        running.destroyed.add(node)
        running.result.destroyed.append(node)
        body = self.context.memory.body(node)
        if body is not None:
            size, slots = running.result.freed
            running.result.freed = (size + body.bytes, slots + body.slots)
        self.context.residue.destroyed_by(running, node)
        if node in running.group:
            self.context.tombstones.destroyed(running.result.number, node)
        group = running.group.get(node)
        if group is not None:
            reached = running.group_reached
            if group < reached and not running.leaves:
                self.bad("cleanup.groups", f"{node}: group {group}, but {reached} was begun")
            running.group_reached = max(group, reached)
            before = {pd for pd, of in running.destructors.items() if of <= group}
            for pd in sorted(before - running.ended) if running.run == 0 else ():
                self.bad("cleanup.destructors", f"expected the destructor of {pd} before it")
        for other in sorted(running.must_go_before(node) - running.destroyed):
            self.bad("cleanup.parts", f"expected {other} to be destroyed before it")
        if node in running.depth and node not in running.suspended:
            self.bad("cleanup.suspend", f"{node} was not suspended before")
        for asker in sorted(running.askers.get(node, ())):
            if asker not in running.destroyed and (asker, node) not in running.cut:
                self.bad("cleanup.cut", f"before {asker} lost its REQUEST to it (STEP cut-request)")

    @within("QUEUE")
    def queue(self, running: Running, event: Event) -> None:
        """A notice of the plan is queued."""
        to, kind, node, dead = row = (event["to"], event["kind"], event["node"], event["from"])
        running.queued[row] += 1
        owed = running.owed[row]
        if kind == "pre-destroy" and dead == "-":
            owed = running.tells.count((to, node)) + running.is_turn(to, node)
        elif not running.is_in_order(row) and not running.leaves:
            self.bad("cleanup.notice_order", f"expected it before others to {to} about that space")
        if running.queued[row] > owed:
            self.bad("cleanup.notices", "no such notice is owed, or it was queued before")
        step = "tell" if kind == "pre-destroy" else "notify"
        self.context.calls.queue(running, to)
        if not running.notifying.add((step, node, to), to if step == "notify" else None):
            self.bad("cleanup.beside", "expected the STEP of the QUEUE before it first")
        self.context.notices.put(event, running.tag)
        if kind in ("lost", "destroy"):
            reservation = Reservation(event.number("token"), kind == "lost")
            running.reservations[to, node] = reservation
            self.context.slots.told(to, node, reservation.token)


TOLD: Final = frozenset(
    {
        "SAY", "RESOURCE", "made HOLD", "dropped HOLD", "made MAP", "dropped MAP",
        "REFUSE", "REFUSED", "MAKE_FAILED",
    }
)  # fmt: skip
"""What is told of what is served, before SERVED."""


class Interleaved(Concern):
    """SERVED."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.open: Running | None = None
        """the cleanup that pauses while an operation is served"""
        self._asker: str | None = None
        """the PD that asks for it, if anything was told of it yet"""
        self._turn: set[str] = set()
        """the PDs that were served since the last step"""
        self._most = 0
        """kernel calls of the last step, or of the last resource that it destroyed"""
        self._left = 0
        """kernel calls of the steps that were left since then"""
        self._follows = False
        """a step was left, and the next one must follow"""

    # -- for other concerns

    def see(self, event: Event) -> None:
        """STEP, one of TOLD, and any event while an operation is served, before it is handled."""
        if event.told not in TOLD:
            if self.open is not None and event.name != "SERVED":
                self.bad("interleaved.over", f"expected SERVED pd={self._asker} before it")
                self.open = None
            if event.name == "STEP":
                self._turn.clear()
                self._most, self._left = self._left + _of_last_thing(event), 0
                self._follows = False
            return
        self.told(event)

    def told(self, event: Event) -> None:
        """One of TOLD, or an ANSWER that tells what a PD asked."""
        if self.open is None and self.context.cleanups.running is not None:
            self._begin(self.context.cleanups.running)
        if self.open is not None:
            self._asks(event.values.get("asker", event.values.get("pd", self._asker)))
            for field in id_fields(event.name):
                self._may_name(self.open, event[field])

    def residue(self, event: Event) -> None:
        """TAKEOVER: a step was left, and another one follows before the cleaner stops."""
        self._left += event.counts("kinds").total()
        self._follows = True

    def settle(self, running: Running) -> None:
        """The cleanup ends. What was served between its steps is there after it."""
        if not running.served:
            return
        plannable = self.context.residue.plannable(running)
        if running.gone or running.run > 0:  # the plan is that of the first run
            running.go_on(self.context.model, plannable)
            return
        plan = reference.replan(plannable, running.reference)
        if plan != running.reference:
            self.bad("interleaved.independent")
        running.before = self.context.model
        running.going = reference.going(self.context.model, plan)
        running.result.broken = reference.hanging(plannable, plan)

    def _may_name(self, running: Running, value: str) -> None:
        if parse_id(value) is not None and stands_for(self.context.model, value) & running.touched:
            self.bad("interleaved.independent", f"{value} concerns the cleanup that pauses")

    def _begin(self, running: Running) -> None:
        """An operation is served between two steps."""
        # Behind a step that plans again comes the new plan.
        follows = ("STEP", "SERVED", "PLAN") if running.waited else ("STEP", "SERVED")
        if self._follows or self.context.previous.name not in follows:
            self.bad("interleaved.place")
        self.open, self._asker = running, None

    def _asks(self, pd: str | None) -> None:
        if self._asker not in (None, pd):
            self.bad("interleaved.over", f"{pd}: expected SERVED pd={self._asker} before it")
        self._asker = pd

    # -- events

    @within("SERVED")
    def served(self, running: Running, event: Event) -> None:
        """SERVED: the PD was answered, and the next step follows."""
        pd, expected = event["pd"], self.context.expected
        if self.open is None:
            self._begin(running)
        if self._asker is None:  # nothing was told of what it did
            self.context.actors.may_act(event, pd)
        self._asks(pd)
        if pd in self._turn:
            self.bad("interleaved.turn")
        if event.number("waited") > self._most:
            self.bad("interleaved.soon", f"the last step made {self._most} calls")
        if expected is not None and not expected.runs_between:
            self.bad("config.system", "expected none without cleaner_priority, or a timer")
        self._may_name(running, pd)
        self._turn.add(pd)
        self.open = None
        running.served = True


def _of_last_thing(step: Event) -> int:
    """How many kernel calls of a STEP may have been for the last thing that it did."""
    calls, others = step.counts("kinds").total(), step.number("count") - 1
    taken = sum(TAKES.values()) * others if step["name"] == "destroy-resource" else 0
    return max(calls - taken, 0)


STOPS: Final = {"suspend": 1, "revoke": 1, "delete": 1}
TAKES: Final = {"cancel-sends": 1, "revoke": 1, "delete": 1}
QUIETS: Final = {"copy": 1, "map": 2, "delete": 1}
"""Of a device, for each entry of its `on_death`."""
TAKES_LINE: Final = {"revoke": 1, "delete": 1}
TAKES_THREAD: Final = {"delete": 1, "copy": 1}
DESTROYS_BODY: Final = {"revoke": 1}
SIGNALS: Final = {"signal": 1}


class Calls(Concern):
    """The `calls` and `kinds` of STEP. Has no events of its own."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._stops: dict[str, Counter[str]] = {}
        """PD that is stopped -> the calls that stopped it"""
        self._revoked: set[str] = set()
        """PDs whose stop was left, but had revoked their endpoint"""
        self._signal: bool | None = None
        """whether the first QUEUE of a step needed a signal, until the STEP comes"""

    # -- for other concerns

    def stop(self, pd: str) -> None:
        """A PD is stopped."""
        context = self.context
        calls = Counter(STOPS)
        for caller in context.slots.callers(pd):
            if caller != pd and not context.actors.is_suspended(caller):
                calls["read-registers"] += 1
        edges = context.configured.edges
        config = edges.config(pd)
        calls["delete"] += bool(config.has_door or context.authority.number(pd, "passive"))
        if config.parent and edges.live(config.parent):
            calls.update(TAKES_THREAD)
        self._stops[pd] = calls + _times(QUIETS, sum(each.quiets for each in config.maps))

    def resume(self, server: str) -> None:
        """A PD is answered because the server was stopped."""
        if server in self._stops:
            self._stops[server]["resume"] += 1

    def forget(self, pd: str) -> None:
        """The PD is destroyed."""
        self._stops.pop(pd, None)

    def queue(self, running: Running, to: str) -> None:
        """A notice of a cleanup will be queued. `running.notifying` has not seen it yet."""
        if not running.notifying:
            self._signal = self._signals(to)

    def step(self, running: Running, event: Event) -> None:
        """Checks the kernel calls of a step, before anything else records the step."""
        made, name = counts_in(event["kinds"]), event["name"]
        running.count_calls(made)
        needs = self._expected(name, event["node"], event["pd"])
        if name == "suspend" and needs is not None and self.context.expected is None:
            # Without the configuration nobody knows what makes its devices quiet.
            needs = Counter(needs) + _times(QUIETS, made.get("map", 0) // QUIETS["map"])
        attempts = self.context.takeovers.attempts(event)
        left = self.context.takeovers.done(event)
        if needs is None:
            return
        things = event.number("count") if name == "destroy-resource" else 1
        due = _times(needs, things)
        if made == due:
            return
        if attempts == 1 and left is None:
            self._bad(_shown(due))
            return
        # The attempts may have failed at the resource behind those that the step destroyed.
        behind = len(running.left_with(event["node"])) > things
        most = _times(needs, things - 1 + attempts + behind)
        all_made = Counter(made) + (left or Counter())
        if not (due <= all_made and Counter(made) <= most):
            self._bad(f"{_shown(due)}, and {_shown(needs)} in each of {attempts} attempts")

    def _bad(self, expected: str) -> None:
        self.bad("cleanup.step_calls", f"{self.context.event}: expected {expected}")

    def residue(self, running: Running, event: Event) -> None:
        """TAKEOVER: a step is left. The kernel calls of its attempts count for the cleanup."""
        kinds = event.counts("kinds")
        running.count_calls(kinds)
        if event["step"] == "suspend":
            if kinds["revoke"]:
                self._revoked.add(event["pd"])
            return  # the calls of its end are not known before it
        needs = (
            {}
            if event["step"] in QUEUEING
            else self._expected(event["step"], event["node"], event["pd"])
        )
        if needs is not None and not kinds <= _times(needs, event.number("attempts")):
            self._bad(f"at most {_shown(needs)} in each attempt")

    # -- what each step needs

    def _expected(self, name: str, node: str, pd: str) -> Mapping[str, int] | None:
        """The calls that a step needs. None if the step itself is wrong."""
        if name == "suspend":
            return self._stops.get(pd)
        if name == "destroy-pd" or is_memory(node):
            return DESTROYS_BODY
        if name == "destroy-resource" and not has_parent(self.context, node):
            return {}
        if name == "destroy-resource" and is_line(node):
            return TAKES_LINE
        if name == "cut-request" and is_of_microkit(self.context, pd):
            return {}  # it stands for no capability
        if name in ("cut-request", "destroy-resource"):
            return TAKES if self._is_served(node) else {}
        if name in ("tell", "notify"):
            signals = self._signals(pd) if self._signal is None else self._signal
            self._signal = None
            return SIGNALS if signals else {}
        return {}

    def _is_served(self, node: str) -> bool:
        """Whether there are capabilities to a space or resource: they go with their server's
        endpoint. For core spaces the server is the root task.
        """
        model = self.context.model
        server = model.manager.get(model.space_of.get(node, node), ROOT)
        return server not in self.context.freed.stopped | self._revoked

    def _signals(self, to: str) -> bool:
        """Whether a notice that is queued now needs a signal."""
        return to not in self.context.freed.stopped and not self.context.notices.work.is_ready(to)


def _times(calls: Mapping[str, int], factor: int) -> Counter[str]:
    return Counter({kind: factor * count for kind, count in calls.items()})


def _shown(calls: Mapping[str, int]) -> str:
    """As `kinds` tells them."""
    return ",".join(f"{kind}:{count}" for kind, count in sorted(calls.items()) if count) or "-"
