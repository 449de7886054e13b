# SPDX-License-Identifier: BSD-2-Clause
"""The creation and deletion of PDs, spaces and resources."""

from __future__ import annotations

from typing import ClassVar

from cellreap.model.ids import ROOT, is_memory, parse_id
from cellreap.trace.check.context import Concern, Context, Handlers
from cellreap.trace.events import Event

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

    def space(self, event: Event) -> None:
        """A space is created."""
        context = self.context
        space, manager = event["id"], event["manager"]
        parts = parse_id(space)
        if parts is None or parts.type != event["type"]:
            self.bad("nodes.type")
        if manager != ROOT and not context.actors.may_act(event, manager):
            return
        context.first_use(event, space)
        context.model.add_space(space, manager)
        if (manager == ROOT) != context.model.is_core(space):
            self.bad("nodes.manager")
        if event.optional("name") is not None:
            context.report.names[space] = event["name"]

    def resource(self, event: Event) -> None:
        """A resource is created in a space."""
        context = self.context
        resource, space = event["id"], event["space"]
        mine, its = parse_id(resource), parse_id(space)
        if mine is None or its is None or (mine.type, mine.space) != (its.type, its.number):
            self.bad("nodes.type")
        manager = context.model.manager.get(space)
        if manager is not None and manager != ROOT:
            context.actors.may_act(event, manager)
        context.model.add_resource(resource, space)
        context.memory.give_resource(resource, event.number("slots"))
        if is_memory(resource):
            context.memory.bodyless = resource

    def delete(self, event: Event) -> None:
        """A manager deletes a resource or an empty space."""
        context, model = self.context, self.context.model
        node, by, part = event["node"], event["by"], event.optional("part") == "1"
        space = model.space_of.get(node)
        manager = model.manager.get(space or node)
        wrong = by == ROOT or (context.actors.may_act(event, by) and by != manager)
        if wrong or (manager not in (None, ROOT) and (manager, node) not in model.holds):
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

    handlers: ClassVar[Handlers] = {
        "PD": pd,
        "SPACE": space,
        "RESOURCE": resource,
        "DELETE": delete,
    }
