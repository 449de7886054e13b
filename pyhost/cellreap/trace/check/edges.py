# SPDX-License-Identifier: BSD-2-Clause
"""Edges of the model that PDs or the configuration make and drop."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from cellreap.model.graph import Model
from cellreap.model.ids import ROOT, is_memory, is_region
from cellreap.trace.check.context import Concern
from cellreap.trace.events import NOBODY, RECONCILED, Event


class Edges(Concern):
    """EDGE."""

    def edge(self, event: Event) -> None:
        """EDGE: folds it into the model, and takes what follows from it."""
        number = event.number("number")
        _FOLDS[event.told](self.context.model, event["from"], event["to"], number)
        if event.told in _FOLLOWS:
            _FOLLOWS[event.told](self, event, event["from"], event["to"])
        if event.told == "made MAP" and is_region(event["from"]):
            self.context.memory.mapped(event, number)
        elif event.told == "made MAP" and is_memory(event["to"]):
            self.context.memory.backed(event["from"], event["to"], number)
        elif number != 0 and event["kind"] not in _NUMBERED:
            self.bad("edges.number", f"number={number}: {event['kind']} has none")

    def _capability(self, event: Event, pd: str, node: str) -> None:
        if is_memory(node):
            self.context.memory.held(event, pd, node)
        else:
            self.context.slots.take(event, pd, node)
        self.context.consent.edge(event, pd)

    def _unhold(self, event: Event, pd: str, node: str) -> None:
        slots, memory = self.context.slots, self.context.memory
        if is_memory(node):
            memory.let_go(event, node)
            return
        slot = slots.give_back(event, pd, node, (pd, node) not in self.context.model.holds)
        if slot and event["asker"] != pd:
            slots.tell(pd, slot, node)
        elif slot:
            memory.free_slots(pd, [slot])

    def _unrequest(self, event: Event, pd: str, space: str) -> None:
        """The manager is owed a notice."""
        self.context.slots.give_back(event, pd, space, True)
        manager = self.context.model.manager[space]
        if manager != ROOT:
            self.context.debts.owe("QUEUE", manager, "disconnect", space, pd)

    def _fault(self, event: Event, pd: str, handler: str) -> None:
        if handler == ROOT:
            self.bad("edges.handler")

    def _own(self, event: Event, creator: str, created: str) -> None:
        if event["op"] != NOBODY:  # else it is a thread of the configuration
            self.context.authority.spawned(event)

    def _subscribe(self, event: Event, pd: str, node: str) -> None:
        if event["op"] != RECONCILED:
            self.context.consent.given(pd)


_FOLDS: Final[Mapping[str, Callable[[Model, str, str, int], None]]] = {
    "made HOLD": lambda model, pd, node, _: model.add_hold(pd, node),
    "dropped HOLD": lambda model, pd, node, _: model.drop_hold(pd, node),
    "made REQUEST": lambda model, pd, space, _: model.add_request(pd, space),
    "dropped REQUEST": lambda model, pd, space, _: model.drop_request(pd, space),
    "made MAP": lambda model, upper, lower, _: model.add_map(upper, lower),
    "dropped MAP": lambda model, upper, lower, _: model.drop_map(upper, lower),
    "made FAULT": lambda model, pd, handler, _: model.set_fault(pd, handler),
    "made LINK": lambda model, a, b, _: model.add_link(a, b),
    "made OWN": lambda model, creator, created, _: model.add_own(creator, created),
    "made SUBSCRIBE": lambda model, pd, node, to: model.add_subscribe(pd, node, handler=to),
    "dropped SUBSCRIBE": lambda model, pd, node, to: model.drop_subscribe(pd, node, handler=to),
}
Edges.handlers = dict.fromkeys(_FOLDS, Edges.edge)
_FOLLOWS: Final[Mapping[str, Callable[[Edges, Event, str, str], None]]] = {
    "made HOLD": Edges._capability,
    "dropped HOLD": Edges._unhold,
    "made REQUEST": Edges._capability,
    "dropped REQUEST": Edges._unrequest,
    "made FAULT": Edges._fault,
    "made OWN": Edges._own,
    "made SUBSCRIBE": Edges._subscribe,
}
_NUMBERED: Final = ("HOLD", "REQUEST", "SUBSCRIBE")
"""The kinds of which `number` tells something."""
