# SPDX-License-Identifier: BSD-2-Clause
"""Printed states and digests: snapshots outside cleanups, and when a state must be printed."""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

from cellreap.model.csvstate import state_rows
from cellreap.trace.check.context import Concern, Context, Handlers
from cellreap.trace.check.rows import compare_rows, with_doomed
from cellreap.trace.events import Event

CHANGES = frozenset({"PD", "BODY", "SPACE", "RESOURCE", "DELETE", "EDGE", "RIGHTS"})
"""Events that change the model."""


class State(Concern):
    """STATE and SETTLED with n=0."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.rows: Counter[str] | None = None  # of the snapshot that is being printed
        self._changed_in: int | None = None  # line of the first change that no printed state shows
        self._began = False  # whether there was a snapshot

    # -- for other concerns

    def note(self, event: Event) -> None:
        """One of CHANGES, outside cleanups."""
        self._changed_in = event.line

    def demand_printed(self, event: Event) -> None:
        """CLEANUP, RECOVER, END: checks that all changes can be seen.

        A change that neither a printed state, a digest nor a USAGE shows could be missing from a
        trace unnoticed.
        """
        context, name = self.context, event.name
        if context.memory.changed:
            text = "memory was given or freed after the last USAGE: expected one before it"
            context.bad("memory.usage", f"{name}: {text}")
        expected = "expected a snapshot (STATE ..., SETTLED n=0) before it"
        if not self._began:
            context.bad("state.whole", f"{name}: {expected}: none came since the beginning")
        if name != "END":
            self._check_digest(event)
        elif self._changed_in is not None:
            text = f"the model was changed in line {self._changed_in}, after the state was printed"
            context.bad("state.printed", f"{name}: {text} last: {expected}")

    def settled(self, event: Event, gone: int) -> None:
        """SETTLED of a cleanup: compares the number of rows that it removed, and the digest.

        gone: how many it removed, or since its last WAIT.
        """
        self._changed_in = event.line
        if event.number("rows") != gone:
            text = f"rows={event['rows']}, but the cleanup removed {gone} from the state"
            self.context.bad("state.count", f"SETTLED: {text}")
        self.context.memory.check_sums(event)
        self._check_digest(event)

    def _check_digest(self, event: Event) -> None:
        digest = self.context.model.digest()
        if event["digest"] != digest:
            text = f"digest={event['digest']}: that of the state that the events make is {digest}"
            self.context.bad("state.digest", f"{event.told}: {text}")

    def interrupt(self, name: str) -> None:
        """Handles an event that cannot stand between the rows of a snapshot."""
        if self.rows is not None:
            text = f"{name} within a snapshot of the state: expected SETTLED n=0 first"
            self.context.bad("state.snapshot", text)
            self.rows = None

    # -- events

    def snapshot(self, event: Event) -> None:
        """STATE ..., SETTLED n=0."""
        context = self.context
        if context.cleanups.number is not None:
            context.bad("state.snapshot", f"{event.name} n=0 within a cleanup")
            return
        context.memory.demand_body(f"{event.name} n=0")
        if self.rows is None:
            self.rows = Counter()
        if event.name == "STATE":
            self.rows[event["row"]] += 1
            return
        self._began = True
        self._changed_in = None
        if event.number("rows") != self.rows.total():
            text = f"rows={event['rows']}, but {self.rows.total()} STATE events came before it"
            context.bad("state.count", f"SETTLED: {text}")
        if event["calls"] != "0":
            text = f"SETTLED: calls={event['calls']}: a snapshot has no steps"
            context.bad("cleanup.calls", text)
        context.memory.check_sums(event)
        marked = with_doomed(context.model, context.cleanups.doomed())
        compare_rows(context, "STATE", self.rows, state_rows(marked)[1:])
        self._check_digest(event)
        context.legal("in this snapshot")
        self.rows = None

    handlers: ClassVar[Handlers] = {}
