# SPDX-License-Identifier: BSD-2-Clause
"""Cleanups without a trigger: collections, and the end of the whole system."""

from __future__ import annotations

from typing import Final

from cellreap.model import reference
from cellreap.model.ids import ROOT
from cellreap.trace.check.context import Concern, Context
from cellreap.trace.check.independent import collection, spared
from cellreap.trace.check.running import Running
from cellreap.trace.events import Event, cause_of

COLLECT: Final = "collect"
"""The cause of the cleanup of a collection."""
STOP: Final = "stop"
"""The cause of the cleanup that ends the system."""
RECONCILE: Final = "reconcile"
"""The cause of the cleanup of what the configuration does not name of a saved state."""


class Collections(Concern):
    """TRIGGERs without a PD."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.due = False
        """a collection is to come as soon as it may"""
        self._looks = False  # whether something changed since it was last looked whether it may
        self.pending = False
        """something was found, and its cleanup must begin now"""
        self._cause = COLLECT  # of that cleanup
        self.stops = False
        """the system is about to end"""
        self._created: set[str] = set()

    # -- for other concerns

    def created(self, pd: str) -> None:
        """A PD was created by another one, so a collection does not keep it for itself."""
        self._created.add(pd)

    def plan(self) -> reference.Plan:
        """The plan of a collection, or of the end of the system, in the current state."""
        model = self.context.model
        if self._cause == RECONCILE:
            return self.context.saved.plan()
        if self._cause == STOP:
            return reference.reconcile(self.context.residue.plannable(None), self._all_pds())
        return collection(model, self.roots(), set(self.context.cleanups.doomed()))

    def roots(self) -> set[str]:
        """The PDs that a collection keeps because no PD created them."""
        return set(self.context.model.pds()) - self._created

    def save(self, by: str, pd: str) -> bool:
        """A PD saves another one. Whether the collection spares it."""
        for running in self.context.cleanups.under_way():
            if running.waiting and pd in running.depth:
                # Who cannot be told has its chance.
                told = running.queued[by, "pre-destroy", pd, "-"]
                left = running.untold_for_good[by, pd]
                spares = not running.ending and running.result.cause == COLLECT
                running.saved |= spares and bool(told or left)
                return spares and bool(told or left)
        return False

    def spare(self, running: Running) -> None:
        """All subscribers have answered, and some saved PDs: the plan is made anew."""
        context = self.context
        plannable = context.residue.plannable(running)
        plan = spared(context.model, plannable, running.reference, self.roots())
        running.spare(plan, context.model, plannable)
        for pd in sorted(node for node in running.spared if node in context.model.pds()):
            context.triggers.spared(pd)
            context.tombstones.spared(pd)

    def _all_pds(self) -> set[str]:
        """All but the root task and those that cleanups left."""
        return set(self.context.model.pds()) - {ROOT} - self.context.residue.doomed()

    def begin(self, cause: str) -> None:
        """A cleanup without a trigger begins."""
        if cause != self._cause or not self.pending:
            self.bad("collect.cleanup")
        self.pending = False

    def interrupt(self, event: Event) -> None:
        """Checks that the cleanup comes right after what found its PDs, and no PD after the end."""
        if self.stops and event.told in ("PD", "due RESPAWN", "over RESPAWN"):
            self.bad("stop.last")
        if self.pending and event.name != "CLEANUP":
            self.bad("collect.cleanup", "expected CLEANUP trigger=- before it")
            self.pending = False

    def settled(self, cause: str) -> None:
        """A cleanup has ended. A collection leaves nothing to collect."""
        self._looks = True
        if cause != COLLECT:
            self.due |= self.context.settings.collects

    def reconcile(self, any_: bool) -> None:
        """What of a saved state is not named goes, if there is any."""
        self._cause = RECONCILE
        self.pending = any_

    def _may_begin(self) -> bool:
        """Whether nothing else is under way or may begin."""
        cleanups = self.context.cleanups
        waits = cleanups.awaiting or cleanups.running is not None
        return not waits and not self.context.triggers.may_begin()

    def look(self) -> None:
        """A trigger came or a cleanup ended. A collection that waits may now have to begin."""
        self._looks = True

    def demand_collected(self, event: Event) -> None:
        """Checks, when the root task goes on to something else, that a collection does not wait."""
        if self._looks and cause_of(event) != COLLECT and self._may_begin():
            self._looks = self.due = False
            self.bad("collect.due", "expected TRIGGER collect before it")

    def at_end(self) -> None:
        """The configuration says whether the root task stops all PDs at the end."""
        expected = self.context.expected
        if self.stops and self._all_pds():
            self.bad("stop.last", f"{', '.join(sorted(self._all_pds()))}: left after TRIGGER stop")
        if expected is not None and expected.stops_in_order != self.stops:
            what = "a TRIGGER stop" if expected.stops_in_order else "no TRIGGER stop"
            self.bad("config.system", f"expected {what}, as the configuration says")

    # -- events

    def told(self, event: Event) -> None:
        """TRIGGER without a PD."""
        if cause_of(event) is None:
            self._ask(event)
        elif event["cause"] == COLLECT:
            self._collect()
        else:
            self._stop_all()

    def _collect(self) -> None:
        """The root task looks for what cannot be reached."""
        if not self.due or not self._may_begin():
            self.bad("collect.due")
        self.due = False
        self._cause = COLLECT
        self.pending = bool(self.plan().destroyed_pds)
        if not self.pending:
            self.context.tickets.nothing_to_collect()

    def _ask(self, event: Event) -> None:
        """A PD asks for a collection."""
        by = event["by"]
        self.context.actors.may_act(event, by)
        self.context.authority.demand(by, "collect")
        self.due = self._looks = True

    def _stop_all(self) -> None:
        """The root task ends the system."""
        if self.stops or not self._may_begin():
            self.bad("stop.all")
        self.stops = True
        self._cause = STOP
        self.pending = bool(self._all_pds())
