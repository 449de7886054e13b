# SPDX-License-Identifier: BSD-2-Clause
"""Printed states and digests: snapshots outside cleanups, and when a state must be printed."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, ClassVar, Final

from cellreap import headers
from cellreap.model.csvstate import rows_gone, state_rows
from cellreap.trace.check.context import Concern, Context, Handlers
from cellreap.trace.check.rows import compare_rows, with_doomed
from cellreap.trace.digest import Digests
from cellreap.trace.events import Event

if TYPE_CHECKING:
    from cellreap.model.graph import Model
    from cellreap.trace.check.running import Running

GONE_BYTES: Final = headers.constant("limits.h", "CR_GONE_BYTES")

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
        "PIN",
    }
)
"""Events that change the model."""


def _is_too_long(gone: list[str]) -> bool:
    """Whether the root task cannot keep these rows, and prints the whole state instead."""
    return sum(len(row.encode("utf-8", "surrogateescape")) + 1 for row in gone) > GONE_BYTES


class State(Concern):
    """STATE and SETTLED with n=0."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._rows: Counter[str] | None = None  # of the snapshot that is being printed
        self._changed_in: int | None = None  # line of the first change that no printed state shows
        self._digests = Digests()
        self._began = False  # whether there was a snapshot

    # -- for other concerns

    def note(self, event: Event) -> None:
        """An event outside cleanups."""
        if event.name in CHANGES:
            self._changed_in = event.line

    def demand_printed(self, event: Event) -> None:
        """CLEANUP, RECOVER, END: checks that all changes can be seen.

        A change that neither a printed state, a digest nor an ACCOUNT shows could be missing from a
        trace unnoticed.
        """
        context, name = self.context, event.name
        if context.memory.changed:
            text = "memory was given or freed after the last ACCOUNT: expected one before it"
            context.bad("memory.account", f"{name}: {text}")
        expected = "expected a snapshot (STATE n=0 ..., SETTLED n=0) before it"
        if not self._began:
            context.bad("state.whole", f"{name}: {expected}: none came since the beginning")
        if name != "END":
            self._check_digest(event)
        elif self._changed_in is not None:
            text = f"the model was changed in line {self._changed_in}, after the state was printed"
            context.bad("state.printed", f"{name}: {text} last: {expected}")

    def settled(self, event: Event, running: Running, before: Model) -> None:
        """SETTLED of a cleanup: compares what the root task printed with the replay.

        before: the state before the cleanup removed anything.
        """
        context = self.context
        self._changed_in = event.line
        gone = rows_gone(before, context.model)
        whole = _is_too_long(gone)
        if event["whole"] != str(int(whole)):
            text = f"whole={event['whole']}: the rows that the cleanup removed do"
            context.bad("state.whole", f"SETTLED: {text}{'' if whole else ' not'} need more room")
        if whole:
            compare_rows(context, "GONE", running.rows_gone, [])
            self._compare_whole(event, running.rows)
            return
        compare_rows(context, "STATE", running.rows, [])
        self._compare(event, "GONE", running.rows_gone, gone)

    def goes(self, running: Running, before: Model) -> None:
        """WAIT of a cleanup that destroys: compares the rows that it removed so far."""
        gone = rows_gone(before, self.context.model)
        whole = _is_too_long(gone)
        compare_rows(self.context, "GONE", running.rows_gone, [] if whole else gone)
        compare_rows(self.context, "STATE", running.rows, self._whole() if whole else [])
        running.rows.clear()
        running.rows_gone.clear()

    def _whole(self) -> list[str]:
        marked = with_doomed(self.context.model, self.context.cleanups.doomed())
        return state_rows(marked)[1:]

    def _compare_whole(self, event: Event, rows: Counter[str]) -> None:
        self._changed_in = None
        self._compare(event, "STATE", rows, self._whole())

    def _compare(self, event: Event, name: str, rows: Counter[str], expected: list[str]) -> None:
        if event.number("rows") != rows.total():
            text = f"rows={event['rows']}, but {rows.total()} {name} events came before it"
            self.context.bad("state.count", f"SETTLED: {text}")
        self.context.memory.check_sums(event)
        compare_rows(self.context, name, rows, expected)
        self._check_digest(event)

    def _check_digest(self, event: Event) -> None:
        digest = self._digests.of(self.context.model)
        if event["digest"] != digest:
            text = f"digest={event['digest']}: that of the state that the events make is {digest}"
            self.context.bad("state.digest", f"{event.name}: {text}")

    def is_printing(self) -> bool:
        """Whether a snapshot is being printed."""
        return self._rows is not None

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
        if context.cleanups.number is not None:
            context.bad("state.snapshot", f"{event.name} n=0 within a cleanup")
            return
        context.memory.demand_body(f"{event.name} n=0")
        if self._rows is None:
            self._rows = Counter()
        if event.name == "STATE":
            self._rows[event["row"]] += 1
            return
        if event["whole"] != "1":
            context.bad("state.whole", "SETTLED: n=0: whole=0: expected 1")
        self._began = True
        self._compare_whole(event, self._rows)
        context.legal("in this snapshot")
        self._rows = None

    handlers: ClassVar[Handlers] = {}
