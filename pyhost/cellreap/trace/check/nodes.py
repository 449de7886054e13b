# SPDX-License-Identifier: BSD-2-Clause
"""The creation and deletion of PDs, spaces and resources, and the edges that PDs or the
configuration make and drop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from cellreap.model.graph import Model
from cellreap.model.ids import ROOT, is_memory, is_region, parts_of
from cellreap.trace.check.context import Concern, Context, outside
from cellreap.trace.events import NOBODY, RECONCILED, Event

ROOT_NAME = "ROOT_TASK"


class Nodes(Concern):
    """PD, SPACE, RESOURCE, DELETE."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.deleting: tuple[str, str] | None = None
        """(space, manager) while the resources of a space are deleted together with it"""

    def interrupt(self, event: Event) -> None:
        """Checks that the event may come after the deletion of a part of a space."""
        if self.deleting is None:
            return
        space, by = self.deleting
        node = event.optional("node") if event.name == "DELETE" else None
        if node is None or self.context.model.space_of.get(node, node) != space:
            self.bad("nodes.part", f"expected the DELETE of {space}, whose resources are deleted")
            self.deleting = None
        else:
            self.compare("nodes.part", by=by)

    @outside("PD")
    def pd(self, event: Event) -> None:
        """A PD is created. Its BODY must follow."""
        context = self.context
        pd, name = event["id"], event["name"]
        if ROOT not in context.model.nodes and (pd, name) != (ROOT, ROOT_NAME):
            self.bad("nodes.root")
        if pd == ROOT:
            context.settings.complete()
        context.first_use(event, pd)
        context.model.add_pd(pd, name, pinned=pd == ROOT)
        context.report.names[pd] = name
        if pd != ROOT:
            context.memory.bodyless = pd
            context.authority.rightless = pd

    @outside("SPACE")
    def space(self, event: Event) -> None:
        """A space is created."""
        context = self.context
        space, manager = event["id"], event["manager"]
        if parts_of(space).type != event["type"]:
            self.bad("nodes.type")
        context.first_use(event, space)
        context.model.add_space(space, manager)
        if (manager == ROOT) != context.model.is_core(space):
            self.bad("nodes.manager")
        if event.optional("name") is not None:
            context.report.names[space] = event["name"]

    @outside("RESOURCE")
    def resource(self, event: Event) -> None:
        """A resource is created in a space."""
        context = self.context
        resource, space = event["id"], event["space"]
        mine, its = parts_of(resource), parts_of(space)
        if (mine.type, mine.space) != (its.type, its.number):
            self.bad("nodes.type")
        context.model.add_resource(resource, space)
        context.memory.give_resource(resource, event.number("slots"))
        if is_memory(resource):
            context.memory.bodyless = resource

    @outside("DELETE")
    def delete(self, event: Event) -> None:
        """A manager deletes a resource or an empty space."""
        context, model = self.context, self.context.model
        node, by, part = event["node"], event["by"], event.optional("part") == "1"
        space = model.space_of.get(node)
        manager = model.manager.get(space or node)
        if by == ROOT or by != manager or (manager, node) not in model.holds:
            self.bad("nodes.delete", f"{node} is managed by {manager}, which must hold it")
        if part and space is None:
            self.bad("nodes.part")
        if space is not None:
            lower = tuple(model.built_on(node))  # the view empties with the node
            model.remove_resource(node)
            context.memory.free_resource(node)
            for memory in filter(is_memory, lower):
                context.memory.unheld(memory)
        else:
            model.remove_space(node)
        self.deleting = (space, by) if part and space is not None else None
        # The losers are told about the node or its space.
        about = node if self.deleting is None else self.deleting[0]
        context.slots.vacate((node,), lambda pd, _: None if pd == manager else about)


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


class Edges(Concern):
    """EDGE."""

    @outside(*_FOLDS)
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
            self.context.report.spawned.add(created)
            self.context.authority.spawned(event)

    def _subscribe(self, event: Event, pd: str, node: str) -> None:
        if event["op"] != RECONCILED:
            self.context.consent.given(pd)


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
