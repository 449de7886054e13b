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
        if self.context.memory.changed:
            self.bad("memory.usage", "memory was given or freed: expected USAGE before it")
        if not self._began:
            self.bad("state.whole", "expected a snapshot (STATE ..., SETTLED n=0) before it")
        if event.name != "END":
            self._check_digest()
        elif self._changed_in is not None:
            text = f"line {self._changed_in} changed the model after the state was printed"
            self.bad("state.printed", text)

    def settled(self, event: Event, gone: int) -> None:
        """SETTLED of a cleanup: compares the number of rows that it removed, and the digest.

        gone: how many it removed, or since its last WAIT.
        """
        self._changed_in = event.line
        self.compare("state.count", rows=gone)
        self.context.memory.check_sums(event)
        self._check_digest()

    def _check_digest(self) -> None:
        self.compare("state.digest", digest=self.context.model.digest())

    def interrupt(self) -> None:
        """Handles an event that cannot stand between the rows of a snapshot."""
        self.bad("state.snapshot", "within a snapshot of the state: expected SETTLED n=0 first")
        self.rows = None

    # -- events

    def snapshot(self, event: Event) -> None:
        """STATE ..., SETTLED n=0."""
        context = self.context
        if context.cleanups.number is not None:
            self.bad("state.snapshot")
            return
        context.memory.demand_body()
        if self.rows is None:
            self.rows = Counter()
        if event.name == "STATE":
            self.rows[event["row"]] += 1
            return
        self._began = True
        self._changed_in = None
        self.compare("state.count", rows=self.rows.total())
        self.compare("cleanup.calls", calls=0)
        context.memory.check_sums(event)
        marked = with_doomed(context.model, context.cleanups.doomed())
        compare_rows(context, "STATE", self.rows, state_rows(marked)[1:])
        self._check_digest()
        context.legal("in this snapshot")
        self.rows = None

    handlers: ClassVar[Handlers] = {}
