# SPDX-License-Identifier: BSD-2-Clause
"""A run that collects after each cleanup and when a PD asks: nothing, and what nobody reaches."""

from __future__ import annotations

from collections.abc import Callable

from cellreap.model import reference
from cellreap.trace.writer import Draft
from kit.trace_simulator import Target

COLLECTION = "(a collection)"


class Collecting(Target):
    """A target that collects after each cleanup."""

    def __init__(self) -> None:
        super().__init__(0, 0)
        self.setting("collect")
        self.spawned: set[str] = set()
        self.saved = False
        """a subscriber saved a PD from the collection that waits"""

    def child(self, creator: str) -> str:
        """A PD that another one spawns."""
        pd = self.pd("child", creator=creator)
        self.spawned.add(pd)
        return pd

    def ask(self, by: str) -> int:
        """A PD asks for a collection. Returns its ticket."""
        self.trigger("collect", by=by, when="later")
        number = self._ticket(by, "-")
        self.tickets[number].what = COLLECTION
        return number

    def save(self, by: str, pd: str) -> None:
        """A PD that was told of the end of another saves it."""
        cause = {"asker": by, "op": "save"}
        body = self.body(pd, **cause)
        self.model.add_hold(by, body)
        slot = self._slot(by, "HOLD", body)
        self.edge("made", "HOLD", by, body, slot, **cause)
        self.saved = True

    def roots(self) -> set[str]:
        """The PDs that no PD created."""
        return set(self.model.pds()) - self.spawned

    def plan_again(self, n: int, plan: reference.Plan) -> reference.Plan:
        if not self.saved:
            return super().plan_again(n, plan)
        self.saved = False
        made = reference.spare(self.model, plan, self.roots())
        self.doomed -= plan.doomed() - made.doomed()
        self.tell_plan(n, made)
        return made

    def collect(self, meanwhile: Callable[[Target], None] | None = None) -> None:
        """Looks for what cannot be reached, and destroys it.

        meanwhile: what PDs do when it waits for subscribers.
        """
        asked = [t for t in self.tickets.values() if t.what == COLLECTION and t.tag is None]
        plan = reference.collect(self.model, self.roots())
        self.trigger("collect")
        if not plan.destroyed_pds:
            for ticket in asked:
                ticket.tag, ticket.settled = ("cleanup", 0), True
            return
        for ticket in asked:
            ticket.tag = ("cleanup", self.cleanups + 1)
        self.cleanup_alone(plan, "collect", meanwhile)


def collect_run() -> list[Draft]:
    """A parent and another PD fault. The parent leaves three children. A PD that holds one of them
    drops it. Another PD asks for collections. The last one finds two PDs, and who subscribed to
    both saves one, which holds a third.
    """
    target = Collecting()
    disk = target.pd("disk")
    target.core_request(disk, "RESSPC")
    blocks = target.space(disk, "BLOCK", "blocks")
    parent, other, third = target.pd("parent"), target.pd("other"), target.pd("third")
    asker = target.pd("asker", rights={"collect"})
    target.request(parent, blocks)
    target.child(parent)
    target.child(parent)
    kept = target.child(parent)
    target.body_cap(other, kept)
    target.child(other)
    target.quiet()
    target.fault(third)
    target.cleanup()
    target.collect()
    target.say(other, "here")
    target.fault(parent)
    target.cleanup()
    target.collect()
    target.serve_all()
    target.account()
    nothing = target.ask(asker)
    target.collect()
    target.told(nothing)
    body = target.model.body_of(kept)
    assert body is not None
    target.unhold(other, body)
    one = target.ask(asker)
    target.collect()
    target.told(one)
    target.quiet()
    maker = target.pd("maker")
    saved, lost, needed = (target.child(maker) for _ in range(3))
    target.body_cap(saved, needed)
    for pd in (saved, lost):
        body = target.body_cap(asker, pd)
        target.subscribe(asker, pd)
        target.unhold(asker, body)
    target.account()
    target.fault(maker)
    target.cleanup()
    target.collect(lambda _: target.save(asker, saved))
    target.serve_all()
    target.quiet()
    return target.end()
