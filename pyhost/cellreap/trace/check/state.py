# SPDX-License-Identifier: BSD-2-Clause
"""Printed states: snapshots outside cleanups, and when a state must be printed."""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

from cellreap.model.csvstate import state_rows
from cellreap.trace.check.context import Concern, Context, Handlers
from cellreap.trace.check.rows import compare_rows, with_doomed
from cellreap.trace.events import Event

CHANGES = frozenset(
    {
        "PD",
        "BODY",
        "SPACE",
        "RESOURCE",
        "DELETE",
        "HOLD",
        "UNHOLD",
        "REQUEST",
        "UNREQUEST",
        "MAP",
        "UNMAP",
        "HANDLER",
        "LINK",
        "OWN",
        "SUBSCRIBE",
        "UNSUBSCRIBE",
    }
)
"""Events that change the model."""


class State(Concern):
    """STATE and SETTLED with n=0."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._rows: Counter[str] | None = None  # of the snapshot that is being printed
        self._changed_in: int | None = None  # line of the first change that no printed state shows

    # -- for other concerns

    def note(self, event: Event) -> None:
        """An event outside cleanups."""
        if event.name in CHANGES:
            self._changed_in = event.line

    def demand_printed(self, event: str) -> None:
        """Checks that all changes were printed.

        A change that neither a printed state nor an ACCOUNT shows could be missing from a trace
        unnoticed.
        """
        if self.context.memory.changed:
            text = "memory was given or freed after the last ACCOUNT: expected one before it"
            self.context.bad("memory.account", f"{event}: {text}")
        if self._changed_in is not None:
            line = self._changed_in
            text = f"the model was changed in line {line}, after the state was printed last"
            expected = "expected a snapshot (STATE n=0 ..., SETTLED n=0) before it"
            self.context.bad("state.printed", f"{event}: {text}: {expected}")

    def compare(self, event: Event, rows: Counter[str]) -> None:
        """Compares the rows and sums that the root task printed with those of the replay."""
        self._changed_in = None
        if event.number("rows") != rows.total():
            text = f"rows={event['rows']}, but {rows.total()} STATE events came before it"
            self.context.bad("state.count", f"SETTLED: {text}")
        self.context.memory.check_sums(event)
        marked = with_doomed(self.context.model, self.context.cleanups.doomed())
        compare_rows(self.context, "STATE", rows, state_rows(marked)[1:])

    def interrupt(self, name: str) -> None:
        """Handles an event that cannot stand between the rows of a snapshot."""
        if self._rows is not None:
            text = f"{name} within a snapshot of the state: expected SETTLED n=0 first"
            self.context.bad("state.snapshot", text)
            self._rows = None

    # -- events

    def snapshot(self, event: Event) -> None:
        """STATE n=0 ..., SETTLED n=0."""
        context = self.context
        alone = context.policy.side_by_side or not context.cleanups.waits()
        if context.cleanups.number is not None or not alone:
            context.bad("state.snapshot", f"{event.name} n=0 within a cleanup")
            return
        context.memory.demand_body(f"{event.name} n=0")
        if self._rows is None:
            self._rows = Counter()
        if event.name == "STATE":
            self._rows[event["row"]] += 1
            return
        self.compare(event, self._rows)
        context.legal("in this snapshot")
        self._rows = None

    handlers: ClassVar[Handlers] = {}
