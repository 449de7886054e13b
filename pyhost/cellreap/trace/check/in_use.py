# SPDX-License-Identifier: BSD-2-Clause
"""The entries of the root task's tables: nothing stays in use that the model does not have."""

from __future__ import annotations

from typing import ClassVar

from cellreap.model.graph import Model
from cellreap.trace.check.context import Concern, Context, Handlers
from cellreap.trace.events import Event


def _subscriptions(model: Model) -> int:
    """The edges of subscriptions: one for each handler."""
    if not model.handlers:
        return len(model.subscribes)
    return sum(len(model.subscriptions(*pair)) for pair in model.subscribes)


class InUse(Concern):
    """IN_USE."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._told: bool | None = None  # None: there was no ACCOUNT yet
        self._own_blocks: int | None = None

    def interrupt(self, event: Event) -> None:
        """Before any other event: what must follow directly has followed."""
        before = self.context.previous
        if before is None or before.name != "ACCOUNT":
            if event.name == "IN_USE":
                self.context.bad("memory.in_use_told", "IN_USE: expected it after ACCOUNT")
            return
        if self._told is None:
            self._told = event.name == "IN_USE"
        if self._told != (event.name == "IN_USE"):
            self.context.bad("memory.in_use_told", f"{event.name}: expected IN_USE before it")

    def count(self, event: Event) -> None:
        """IN_USE: the entries of the tables."""
        context, model = self.context, self.context.model
        bodies = context.memory.bodies()
        if self._own_blocks is None:
            self._own_blocks = event.number("blocks") - bodies
        # Of the edges of a space or resource to its manager and space, and of a PD to its body,
        # the model keeps only the ends.
        edges = (
            len(model.holds) + len(model.requests) + len(model.maps) + len(model.faults)
            + len(model.links) + len(model.owns) + _subscriptions(model)
            + len(model.manager) + len(model.space_of) + model.bodies()
        )  # fmt: skip
        tombstones = context.residue.tombstones() + context.tombstones.count()
        for field, has in (
            ("nodes", len(model.nodes) + tombstones),
            ("edges", edges),
            ("notices", context.notices.count()),
            ("blocks", self._own_blocks + bodies),
        ):
            if event.number(field) != has:
                text = f"{field}={event[field]}, but {has} are in use by the events before it"
                context.bad("memory.in_use", f"IN_USE: {text}")
        for use, has in context.memory.slots_by_use().items():
            if event.number(use) != has:
                text = f"{use}={event[use]}, but {has} slots are by the events before it"
                context.bad("memory.in_use", f"IN_USE: {text}")
        fewest, most = context.tickets.in_use()
        if not fewest <= event.number("tickets") <= most:
            text = f"tickets={event['tickets']}, but {most} are in use by the events before it"
            context.bad("memory.in_use", f"IN_USE: {text}")

    handlers: ClassVar[Handlers] = {"IN_USE": count}
