# SPDX-License-Identifier: BSD-2-Clause
"""The steps of a cleanup."""

from __future__ import annotations

from typing import ClassVar

from cellreap import headers
from cellreap.model.ids import number_of
from cellreap.trace.check.context import Concern, Context, WithinHandlers
from cellreap.trace.check.running import DESTROYING, MANY, Running
from cellreap.trace.check.slots import Reservation
from cellreap.trace.events import Event


class Steps(Concern):
    """STEP, QUEUE (of a cleanup)."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._names = headers.names_of("steps.h", "cr_step_kind", "CR_STEP_")
        self._most = headers.constant("steps.h", "CR_STEP_AT_ONCE")

    def _suspend(self, running: Running, shown: str, pd: str) -> None:
        """A doomed PD is suspended."""
        bad = self.context.bad
        if pd not in running.depth:
            bad("cleanup.suspend", f"{shown}: {pd} is not doomed")
        elif pd in running.suspended:
            bad("cleanup.suspend", f"{shown}: {pd} is suspended already")
        elif pd in running.destructors.keys() - running.ended and running.run == 0:
            text = f"{shown}: expected the turn of its destructor before it"
            bad("cleanup.destructors", text)
        running.suspended.add(pd)
        self.context.freed.suspended(shown, pd)
        self.context.actors.suspend(pd)

    def step(self, running: Running, event: Event) -> None:
        """Checks a STEP event."""
        name, node, pd = event["name"], event["node"], event["pd"]
        shown = f"STEP {name} node={node} pd={pd}"
        if name not in self._names:
            text = f"STEP: name={name}: expected one of {', '.join(self._names)}"
            self.context.bad("cleanup.steps", text)
        self.context.calls.step(running, event)
        count = event.number("count")
        most = self._most if name in MANY else 1
        if not 1 <= count <= most:
            text = f"{shown}: count={count}: expected 1 to {most}"
            self.context.bad("cleanup.steps", text)
        if name == "cut-request":
            self._cut(running, shown, pd, node)
        elif name in ("notify", "tell"):
            rows = running.notifying.take((name, node, pd), count)
            running.steps.update(rows or [(name, node, pd)])
            self._beside(shown, count, bool(rows))
            if name == "tell" and running.is_turn(pd, node):
                self._turn(running, shown, pd)
            elif name == "tell":
                self._tell(running, shown, pd, node)
        elif name in DESTROYING.values():
            nodes = self._together(running, shown, node, count)
            running.steps.update((name, each, pd) for each in nodes)
            for each in nodes:
                self._destroy(running, shown, each)
        else:
            running.steps[name, node, pd] += 1
            if name == "suspend":
                self._suspend(running, shown, pd)
            elif name == "await":
                self._await(running, shown)

    def _together(self, running: Running, shown: str, node: str, count: int) -> list[str]:
        """What a step destroys. Of a space, the newest resources go first."""
        if count <= 1:
            return [node]
        space = self.context.freed.space_of_stopped(running, node)
        rest = running.members.get(space or "", set()) - running.destroyed
        nodes = sorted(rest, key=number_of, reverse=True)[:count]
        if nodes[:1] != [node] or len(nodes) != count:
            text = f"{shown}: count={count}: expected as many of one space, whose server is stopped"
            self.context.bad("cleanup.beside", f"{text}, the newest first")
            return [node]
        return nodes

    def _beside(self, shown: str, count: int, fits: bool) -> None:
        if not fits:
            text = f"expected it beside the events that tell what it did, count={count}"
            self.context.bad("cleanup.beside", f"{shown}: {text}")

    def _cut(self, running: Running, shown: str, pd: str, node: str) -> None:
        """A client loses its REQUEST to a doomed space."""
        bad = self.context.bad
        if pd not in running.askers.get(node, ()) or pd in running.destroyed:
            bad("cleanup.cut", f"{shown}: there is no such REQUEST to a doomed space")
        elif (pd, node) in running.cut:
            bad("cleanup.cut", f"{shown}: done twice")
        elif node in running.destroyed:
            bad("cleanup.cut", f"{shown}: the space is gone already")
        running.cut.add((pd, node))

    def _tell(self, running: Running, shown: str, pd: str, node: str) -> None:
        """A subscriber is notified. The groups come one by one, the last one first."""
        group = running.group.get(node, -1)
        untold = running.untold.get(group)
        if untold is None or not untold[pd, node]:
            text = f"{pd} is not to be told about {node}, or was told before"
            self.context.bad("cleanup.tell", f"{shown}: {text}")
            return
        untold[pd, node] -= 1
        if running.to_tell and group != running.to_tell[-1]:
            text = f"{node} is of group {group}: expected group {running.to_tell[-1]} next"
            self.context.bad("cleanup.tell", f"{shown}: {text}")

    def _await(self, running: Running, shown: str) -> None:
        """The subscribers that were notified have answered."""
        bad = self.context.bad
        if running.ending:
            self._had_their_turn(running, shown)
            return
        if not running.to_tell:
            bad("cleanup.tell", f"{shown}: nobody was told since the last one")
            return
        group = running.to_tell.pop()
        for (pd, node), count in sorted(running.untold[group].items()):
            if count:
                bad("cleanup.tell", f"{shown}: {pd} was not told about {node} yet")
        for text in self.context.cleanups.awaited(running):
            bad("cleanup.awaited", f"{shown}: {text}")
        if not running.to_tell and running.saved:
            self.context.collections.spare(running)
        elif not running.to_tell and running.waited:
            plannable = self.context.residue.plannable(running)
            running.plan_again(self.context.model, plannable)

    def _turn(self, running: Running, shown: str, pd: str) -> None:
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
            self.context.bad("cleanup.destructors", f"{shown}: {text}")
        running.ending.add(pd)

    def _had_their_turn(self, running: Running, shown: str) -> None:
        """The PDs of a group have run their destructors."""
        groups = {running.destructors[pd] for pd in running.ending}
        for pd, group in sorted(running.destructors.items()):
            if group in groups and pd not in running.ending:
                text = f"expected the turn of {pd} before it: it is of the same group"
                self.context.bad("cleanup.destructors", f"{shown}: {text}")
        for text in self.context.cleanups.awaited(running):
            self.context.bad("cleanup.awaited", f"{shown}: {text}")
        running.ended |= running.ending
        running.ending.clear()

    def _destroy(self, running: Running, shown: str, node: str) -> None:
        """A node is destroyed."""
        bad = self.context.bad
        if node not in running.to_destroy:
            bad("cleanup.destroy", f"{shown}: {node} is not to be destroyed by this cleanup")
        elif node in running.destroyed:
            bad("cleanup.destroy", f"{shown}: {node} is destroyed already")
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
                text = f"{node} is of group {group}, but group {reached} was begun"
                bad("cleanup.groups", f"{shown}: {text}")
            running.group_reached = max(group, reached)
            for pd in sorted(running.destructors_before(group)) if running.run == 0 else ():
                text = f"{shown}: expected the turn of the destructor of {pd} before it"
                bad("cleanup.destructors", text)
        for other in sorted(running.must_go_before(node) - running.destroyed):
            bad("cleanup.parts", f"{shown}: expected {other} to be destroyed before it")
        if node in running.depth and node not in running.suspended:
            bad("cleanup.suspend", f"{shown}: {node} was not suspended before")
        for asker in sorted(running.askers.get(node, ())):
            if asker not in running.destroyed and (asker, node) not in running.cut:
                text = f"before {asker} lost its REQUEST to it (STEP cut-request)"
                bad("cleanup.cut", f"{shown}: {text}")

    def queue(self, running: Running, event: Event) -> None:
        """A notice of the plan is queued."""
        bad = self.context.bad
        to, kind, node, dead = row = (event["to"], event["kind"], event["node"], event["from"])
        running.queued[row] += 1
        owed = running.owed[row]
        if kind == "pre-destroy" and dead == "-":
            owed = running.tells.count((to, node)) + running.is_turn(to, node)
        elif not running.is_in_order(row) and not running.leaves:
            text = f"QUEUE {' '.join(row)}: expected it before others to {to} about that space"
            bad("cleanup.notice_order", text)
        if running.queued[row] > owed:
            text = f"QUEUE {' '.join(row)}: no such notice is owed, or it was queued before"
            bad("cleanup.notices", text)
        broken = running.keeps[to] if kind == "lost" else 0
        if event.number("broken") != broken:
            text = f"QUEUE {' '.join(row)}: broken={event['broken']}: {to} keeps {broken} of those"
            bad("cleanup.notices", text)
        step = "tell" if kind == "pre-destroy" else "notify"
        self.context.calls.queue(running, to)
        if not running.notifying.add((step, node, to), to if step == "notify" else None):
            text = f"QUEUE {' '.join(row)}: expected the STEP of the QUEUE before it first"
            bad("cleanup.beside", text)
        self.context.notices.put(event, running.tag)
        if kind in ("lost", "destroy"):
            reservation = Reservation(event.number("token"), kind == "lost")
            running.reservations[to, node] = reservation
            self.context.slots.told(to, node, reservation.token)

    within: ClassVar[WithinHandlers] = {"STEP": step, "QUEUE": queue}
