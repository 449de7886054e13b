# SPDX-License-Identifier: BSD-2-Clause
"""Cleanups without a trigger: collections, the end of the whole system, and what the configuration
does not name of the saved state that the image carries, which the root task makes again.
"""

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
        self.looks = False
        """whether something changed since it was last looked whether it may"""
        self.pending = False
        """something was found, and its cleanup must begin now"""
        self._cause = COLLECT  # of that cleanup
        self.stops = False
        """the system is about to end"""

    # -- for other concerns

    def plan(self) -> reference.Plan:
        """The plan of a collection, or of the end of the system, in the current state."""
        model = self.context.model
        if self._cause == RECONCILE:
            return reference.reconcile(model, self.context.saved.unnamed)
        if self._cause == STOP:
            return reference.reconcile(self.context.residue.plannable(None), self._all_pds())
        return collection(model, self.roots(), set(self.context.cleanups.doomed()))

    def roots(self) -> set[str]:
        """The PDs that a collection keeps because no PD created them."""
        return set(self.context.model.pds()) - self.context.report.spawned

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
        self.looks = True
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
        return not waits and self.context.triggers.due() is None

    def demand_collected(self, event: Event) -> None:
        """Checks, when the root task goes on to something else, that a collection does not wait."""
        if self.looks and cause_of(event) != COLLECT and self._may_begin():
            self.looks = self.due = False
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
        self.due = self.looks = True

    def _stop_all(self) -> None:
        """The root task ends the system."""
        if self.stops or not self._may_begin():
            self.bad("stop.all")
        self.stops = True
        self._cause = STOP
        self.pending = bool(self._all_pds())


class Saved(Concern):
    """The changes that make a saved state, and the cleanup of what of it is not named."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.pds: set[str] = set()
        self._spaces: set[str] = set()
        self.unnamed: set[str] = set()
        """PDs and spaces that the configuration does not name"""
        self._taken: set[str] = set()
        self._begun = False

    # -- for other concerns

    def take(self, space: str) -> bool:
        """Whether its manager may create the space though it exists. It does so once."""
        may = space in self._spaces - self.unnamed - self._taken
        self._taken.add(space)
        return may

    def demand_begun(self) -> None:
        """Checks, when a PD acts and there is anything unnamed, that it goes first."""
        if not self._begun:
            self._begun = True
            self.bad("reconcile.first", "expected TRIGGER reconcile before a PD acts")

    def may_be(self, event: Event) -> bool:
        """Whether a change may be that makes the saved state. Notes what it makes."""
        if self._begun:
            return False
        if event.name == "PD":
            if set(self.context.model.pds()) - self.pds - {ROOT}:
                return False  # It comes before any PD of the configuration.
            self.pds.add(event["id"])
            self.unnamed.add(event["id"])
        elif event.name == "SPACE":
            if event["manager"] == ROOT:
                return False
            self._spaces.add(event["id"])
            if event["manager"] not in self.pds and event.optional("name") is None:
                self.unnamed.add(event["id"])
        elif event.name == "RESOURCE":
            return event["space"] in self._spaces
        else:
            return self._may_be_edge(event)
        return True

    def _may_be_edge(self, event: Event) -> bool:
        """Only what is not named has edges, and what it had to do with."""
        model = self.context.model
        who, what, kind = event["from"], event["to"], event["kind"]
        if kind == "SUBSCRIBE":
            return who not in self.pds and self._goes(what)
        upper, lower = (model.space_of.get(end, end) for end in (who, what))
        if any(place not in self._spaces and place not in model.nodes for place in (upper, lower)):
            return False  # the model reports it too
        if lower not in self._spaces or (kind == "MAP" and upper not in self._spaces):
            return False
        if kind == "HOLD" and who == model.manager.get(lower):
            before = self.context.previous
            return before.name in ("SPACE", "RESOURCE") and before["id"] == what
        return kind == "MAP" or who in self.pds or self._goes(lower)

    def _goes(self, node: str) -> bool:
        return node in self.unnamed or self.context.model.manager.get(node) in self.pds

    def reconcile(self) -> None:
        """What is not named goes."""
        if self._begun or not self.unnamed:
            self.bad("reconcile.once")
        expected = self.context.expected
        if expected is not None and not expected.reconciles:
            self.bad("config.system", "the configuration names no saved state")
        self._begun = True
        self.context.collections.reconcile(bool(self.unnamed))
