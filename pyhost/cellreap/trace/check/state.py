# SPDX-License-Identifier: BSD-2-Clause
"""Printed states and digests: snapshots outside cleanups, and when a state must be printed. Their
rows are those of the replay's model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from typing import Final

from cellreap.model.csvstate import state_rows
from cellreap.model.graph import DOOMED, MANAGER
from cellreap.model.indexed import IndexedModel
from cellreap.trace.check.context import Concern, Context
from cellreap.trace.events import Event

_LINK: Final = ",LINK,"


def with_doomed(model: IndexedModel, doomed: Collection[str]) -> IndexedModel:
    """The model with the nodes marked that a cleanup under way has doomed."""
    if not doomed:
        return model
    marked = model.copy()
    for node in doomed:
        extra = marked.nodes[node].extra
        extra = f"{extra} {DOOMED}" if extra else DOOMED
        marked.nodes[node] = replace(marked.nodes[node], extra=extra)
    return marked


def _sorted_ends(row: str) -> str:
    """The row of a LINK with its ends in their order."""
    fields = row.split(",")
    return ",".join([*fields[:4], *sorted(fields[4:6]), *fields[6:]]) if _LINK in row else row


def _printed(row: str) -> str:
    """A row as the root task prints it: without the MANAGER= that a file may need."""
    head, _, extra = row.rpartition(",")
    return f"{head},{extra.partition(' ')[2]}" if extra.startswith(MANAGER) else row


def compare_rows(context: Context, rows: Counter[str], expected: list[str]) -> None:
    """Checks that the rows that were printed are the expected ones, in any order."""
    if Counter(expected).items() != rows.items():
        wanted, has = Counter(map(_printed, expected)), Counter(map(_sorted_ends, rows.elements()))
        for row in sorted(wanted - has):
            context.bad("state.rows", f"STATE: the row {row} is missing")
        for row in sorted(has - wanted):
            text = f"the row {row} is not in the state that the events make"
            context.bad("state.rows", f"STATE: {text}")


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
        compare_rows(context, self.rows, state_rows(marked)[1:])
        self._check_digest()
        context.legal("in this snapshot")
        self.rows = None
