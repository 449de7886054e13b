# SPDX-License-Identifier: BSD-2-Clause
"""The saved state that the image carries: the root task makes it again, and it goes at once."""

from __future__ import annotations

from typing import Final

from cellreap.model import reference
from cellreap.model.ids import ROOT
from cellreap.trace.check.context import Concern, Context
from cellreap.trace.events import RECONCILED as OP
from cellreap.trace.events import Event

_MAKING: Final = ("SPACE", "RESOURCE")
"""The root task makes these for a manager, which does nothing itself."""


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

    def plan(self) -> reference.Plan:
        """The plan of the cleanup of what the configuration does not name."""
        return reference.reconcile(self.context.model, self.unnamed)

    def demand_begun(self, event: Event) -> None:
        """Checks, when a PD acts and there is anything unnamed, that it goes first."""
        if not self._begun and not (event.name in _MAKING and event["op"] == OP):
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
            made = before is not None and before.name in ("SPACE", "RESOURCE")
            return before is not None and made and before["id"] == what
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
