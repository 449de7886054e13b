# SPDX-License-Identifier: BSD-2-Clause
"""Events that add and remove edges of the model."""

from __future__ import annotations

from typing import ClassVar

from cellreap.model.ids import ROOT
from cellreap.trace.check.context import Concern, Handlers
from cellreap.trace.events import RECONCILED, Event


class Edges(Concern):
    """HOLD, REQUEST, MAP, HANDLER, LINK, OWN, SUBSCRIBE, and the events that remove such edges."""

    def hold(self, event: Event) -> None:
        """A PD gets a capability to a space or resource."""
        pd, node = event["pd"], event["node"]
        self.context.model.add_hold(pd, node)
        self.context.slots.take(event, pd, node, "HOLD")
        self.context.consent.edge(event, pd, node)

    def unhold(self, event: Event) -> None:
        """A PD gives back a capability to a space or resource."""
        context, pd, node = self.context, event["pd"], event["node"]
        model = context.model
        by = event.optional("by") or pd
        manager = model.manager.get(model.space_of.get(node, node))
        if by not in (pd, manager) or by == ROOT:
            context.bad("edges.unhold", f"UNHOLD: by={by}: expected {pd} or the manager")
        elif by != pd:
            context.actors.may_act(event, by)
        model.drop_hold(pd, node)
        slot = context.slots.give_back(event, pd, node, "HOLD", (pd, node) not in model.holds)
        if slot and by != pd:
            context.slots.tell(pd, slot, node)

    def request(self, event: Event) -> None:
        """A PD may ask the manager of a space for resources."""
        pd, space = event["pd"], event["space"]
        self.context.model.add_request(pd, space)
        self.context.slots.take(event, pd, space, "REQUEST")
        self.context.consent.edge(event, pd, space)

    def unrequest(self, event: Event) -> None:
        """A PD loses its REQUEST edge. The manager is owed a notice."""
        pd, space = event["pd"], event["space"]
        context = self.context
        context.model.drop_request(pd, space)
        context.slots.give_back(event, pd, space, "REQUEST", True)
        manager = context.model.manager[space]
        if manager != ROOT:
            context.debts.owe("QUEUE", manager, "disconnect", space, pd)

    def map(self, event: Event) -> None:
        """A space or resource is built on another."""
        self.context.model.add_map(event["from"], event["to"])

    def unmap(self, event: Event) -> None:
        """A space or resource is no longer built on another."""
        self.context.model.drop_map(event["from"], event["to"])

    def handler(self, event: Event) -> None:
        """A PD becomes the fault handler of another."""
        if event["handler"] == ROOT:
            text = f"handler={ROOT}: the root task handles faults unless told otherwise"
            self.context.bad("edges.handler", f"HANDLER: {text}")
        self.context.model.set_fault(event["pd"], event["handler"])

    def link(self, event: Event) -> None:
        """Two PDs are linked."""
        self.context.model.add_link(event["a"], event["b"])

    def own(self, event: Event) -> None:
        """A PD created another."""
        self.context.model.add_own(event["pd"], event["created"])
        self.context.authority.spawned(event)

    def subscribe(self, event: Event) -> None:
        """A PD subscribes to a node and is notified before it is destroyed."""
        pd, reconciled = event["pd"], event["op"] == RECONCILED
        if reconciled or self.context.actors.may_act(event, pd):
            self.context.model.add_subscribe(pd, event["node"], handler=event.number("handler"))
        if not reconciled:
            self.context.consent.given(event, pd)

    def unsubscribe(self, event: Event) -> None:
        """A PD drops one of its subscriptions to a node."""
        if self.context.actors.may_act(event, event["pd"]):
            self.context.model.drop_subscribe(
                event["pd"], event["node"], handler=event.number("handler")
            )

    handlers: ClassVar[Handlers] = {
        "HOLD": hold,
        "UNHOLD": unhold,
        "REQUEST": request,
        "UNREQUEST": unrequest,
        "MAP": map,
        "UNMAP": unmap,
        "HANDLER": handler,
        "LINK": link,
        "OWN": own,
        "SUBSCRIBE": subscribe,
        "UNSUBSCRIBE": unsubscribe,
    }
