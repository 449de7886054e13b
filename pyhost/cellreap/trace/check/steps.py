# SPDX-License-Identifier: BSD-2-Clause
"""The steps of a cleanup."""

from __future__ import annotations

from cellreap import headers
from cellreap.model.ids import number_of
from cellreap.trace.check.context import Concern, Context, within
from cellreap.trace.check.running import DESTROYING, MANY, Running
from cellreap.trace.check.slots import Reservation
from cellreap.trace.events import Event


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
