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
            text = f"{event.told}: expected TRIGGER reconcile before a PD acts"
            self.context.bad("reconcile.first", text)

    def wrong(self, event: Event) -> str | None:
        """What is wrong with a change that makes the saved state. Notes what it makes."""
        if self._begun:
            return f"op={OP}: expected it before TRIGGER reconcile"
        model = self.context.model
        if event.name == "PD":
            if set(model.pds()) - self.pds - {ROOT}:
                return f"op={OP}: expected it before any PD of the configuration"
            self.pds.add(event["id"])
            self.unnamed.add(event["id"])
        elif event.name == "SPACE":
            if event["manager"] == ROOT:
                return f"manager={ROOT}: its spaces are not of a saved state"
            self._spaces.add(event["id"])
            if event["manager"] not in self.pds and event.optional("name") is None:
                self.unnamed.add(event["id"])
        elif event.name == "RESOURCE":
            return None if event["space"] in self._spaces else f"{event['space']} is not saved"
        else:
            return self._wrong_edge(event)
        return None

    def _wrong_edge(self, event: Event) -> str | None:
        """Only what is not named has edges, and what it had to do with."""
        model = self.context.model
        who, what = ends = (event["from"], event["to"])
        kind = event["kind"]
        if kind == "SUBSCRIBE":
            if who in self.pds or not self._goes(what):
                return f"{who} and {what}: expected a PD that is named, and what is not"
            return None
        places = [model.space_of.get(end, end) for end in ends]
        if any(place not in self._spaces and place not in model.nodes for place in places):
            return "it has no such end"  # the model reports it too
        if places[1] not in self._spaces or (kind == "MAP" and places[0] not in self._spaces):
            return f"{what}: expected ends of the saved state"
        manager = model.manager.get(places[1])
        if kind == "HOLD" and who == manager:
            before = self.context.previous
            made = before is not None and before.name in ("SPACE", "RESOURCE")
            if before is None or not made or before["id"] != what:
                return f"expected it right after {what} was made"
            return None
        if kind != "MAP" and who not in self.pds and not self._goes(places[1]):
            return f"{who} and {places[1]} are both named"
        return None

    def _goes(self, node: str) -> bool:
        return node in self.unnamed or self.context.model.manager.get(node) in self.pds

    def reconcile(self) -> None:
        """What is not named goes."""
        if self._begun or not self.unnamed:
            text = "TRIGGER reconcile: expected it once, if there is anything to go"
            self.context.bad("reconcile.once", text)
        expected = self.context.expected
        if expected is not None and not expected.reconciles:
            text = "TRIGGER reconcile: the configuration names no saved state"
            self.context.bad("config.system", text)
        self._begun = True
        self.context.collections.reconcile(bool(self.unnamed))
