# SPDX-License-Identifier: BSD-2-Clause
"""The PDs' word: what PDs say themselves, compared with what the events have of them.

statement.h describes the entries of a PD and their sum.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from cellreap import headers
from cellreap.model.digest import stirred
from cellreap.model.ids import number_of, parts_of
from cellreap.trace.check.context import Context
from cellreap.trace.check.memory import asks_to_read
from cellreap.trace.events import Event
from cellreap.trace.statements import LOW, Statement

SEES: Final = frozenset(
    {
        "SAY", "EXIT", "FINISH_WORK", "EDGE", "ALLOW", "REFUSE", "ANSWER",
        "stopped THREAD", "TRUTH",
    }
)  # fmt: skip
"""Events of which entries are made, and others that matter to statements."""


_NUMBERS: Final = {each.word: each.number for each in headers.operations()}
_NAMES: Final = {each.number: each.name for each in headers.operations()}
_RESULTS: Final = headers.printed_names("protocol.h", "CR_WORK_RESULT")
_ENTRY: Final = headers.names_of("statement.h", "cr_entry", "CR_ENTRY_")


def _said(event: Event) -> list[int]:
    data = event["text"].encode("utf-8", "surrogateescape")
    parts = (data[at : at + 8] for at in range(0, len(data), 8))
    return [len(data), *(int.from_bytes(part, "little") for part in parts)]


def _subscribed(event: Event) -> list[int]:
    parts = parts_of(event["to"])
    return [parts.number if parts.kind == "RESOURCE_SPACE" else 0, event.number("number")]


_GIVES: Final = ("give", "send")
"""Those that make an entry only if read only is asked."""
_ASKED: Final[Mapping[str, Callable[[Event], list[int]]]] = {
    "say": _said,
    "exit": lambda event: [event.number("code")],
    "finish_work": lambda event: [event.number("token"), _RESULTS[event["result"]]],
    "subscribe": _subscribed,
    "unsubscribe": _subscribed,
    "allow": lambda event: [event.number("count")],
    **dict.fromkeys(_GIVES, lambda event: [number_of(event["to"])]),
}
"""Operation -> the words of the entry that its event makes."""


@dataclass(slots=True)
class _Entry:
    """An entry of a PD. total: the sum with it. event, line: what the trace has."""

    kind: int
    op: int
    total: int
    event: str
    line: int


@dataclass
class _Pd:
    """What is known of a PD."""

    states: bool = False
    """Whether it makes statements."""
    pending: deque[Statement] = field(default_factory=deque)
    """Those that were not compared yet: their events are printed later."""
    entries: deque[_Entry] = field(default_factory=deque)
    """From `first` on."""
    first: int = 0
    before: int = 0
    """The sum of the entries before."""
    total: int = 0
    """The sum of all."""
    announced: int = 0
    """The number of entries up to the last one that was announced."""
    asked: tuple[int, _Entry] | None = None
    """The last entry of what it asked for, and its number, from 0."""
    refusals: int = 0
    stopped: bool = False
    differs: bool = False
    """Whether the trace has something else. It was reported, and the rest follows from it."""


class Stated:
    """Compares statements with events. Feed it both in the order of the console."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._pds: dict[str, _Pd] = {}
        self._torn = False
        self._asked_kernel = False
        self._most_refusals = headers.constant("limits.h", "CR_REFUSALS_TOLD")

    def _of(self, pd: str) -> _Pd:
        found = self._pds.get(pd)
        if found is None:
            found = self._pds[pd] = _Pd()
        return found

    # -- what PDs say

    def take(self, statement: Statement) -> None:
        """A statement of a PD."""
        if statement.pd == "-":
            self._torn = True
            return
        of = self._of(statement.pd)
        of.states = True
        if of.stopped and not of.differs:
            of.differs = True
            text = f"{statement.pd} says something"
            self._context.bad("statements.stopped", text, statement.line)
        of.pending.append(statement)
        self._compare(of)

    # -- what the trace has

    def see(self, event: Event) -> None:
        """One of SEES."""
        name, word = event.name, event.values.get("op")
        if name == "TRUTH":
            self._asked_kernel = True
        if name == "TRUTH" or (name == "EDGE" and word not in _ASKED):
            return
        word = word or name.lower()
        gives = name == "EDGE" and word in _GIVES
        if gives and not asks_to_read(event):
            return
        of = self._of(event["asker" if gives else "from" if name == "EDGE" else "pd"])
        if event.told == "stopped THREAD":
            of.stopped = True
            return
        if of.refusals >= self._most_refusals:
            return  # its entries have ended
        if name == "REFUSE":
            of.refusals += 1
            self._add(of, event, _ENTRY["refused"], event.number("op"), [event.number("status")])
        elif name == "ANSWER":
            op = _NUMBERS.get(event["op"], 0)
            self._add(of, event, _ENTRY["answered"], op, [int(event["digest"], 16)])
        elif word in _ASKED and (gives or word not in _GIVES):
            self._add(of, event, _ENTRY["asked"], _NUMBERS[word], _ASKED[word](event))

    def _add(self, of: _Pd, event: Event, kind: int, op: int, words: list[int]) -> None:
        of.total = stirred(of.total, kind << 32 | op, *words)
        entry = _Entry(kind, op, of.total, event.told, event.line)
        if kind == _ENTRY["asked"]:
            of.asked = of.first + len(of.entries), entry
        of.entries.append(entry)
        if of.pending:
            self._compare(of)

    # -- both

    def _compare(self, of: _Pd) -> None:
        """Compares what can be compared by now."""
        while of.pending and not of.differs:
            statement = of.pending[0]
            while of.entries and of.first < statement.count:
                of.before = of.entries.popleft().total
                of.first += 1
            if of.first < statement.count:
                return
            fits = self._fits(of, statement)
            if fits is None:
                return
            if not fits:
                self._differ(of, statement)
            of.pending.popleft()

    def _fits(self, of: _Pd, statement: Statement) -> bool | None:
        """Whether the trace has what the PD says. None: what follows in it will show."""
        if statement.op == 0:
            return of.first == statement.count and of.before & LOW == statement.total
        if of.first > statement.count:
            return False
        if not of.entries:
            return None
        if (of.entries[0].kind, of.entries[0].op) == (_ENTRY["refused"], statement.op):
            return True
        for number, entry in enumerate(of.entries):
            if (entry.kind, entry.op) != (_ENTRY["asked"], statement.op):
                break
            if entry.total & LOW == statement.total:
                of.announced = statement.count + number + 1
                return True
        else:
            if len(of.entries) < headers.constant("protocol.h", "CR_WORK_MAX"):
                return None
        return False

    def _differ(self, of: _Pd, statement: Statement) -> None:
        of.differs = True
        says = _NAMES.get(statement.op, "it asked and was told")
        has = "something else"
        if of.entries and of.first == statement.count:
            has = f"the {of.entries[0].event} in line {of.entries[0].line}, or other contents"
        text = f"{statement.pd}: entry {statement.count + 1}: it says {says}: the trace has {has}"
        self._context.bad("statements.same", text, statement.line)

    def finish(self) -> None:
        """The trace has END: no event is missing."""
        report, without = self._context.report, []
        for pd, of in self._pds.items():
            for statement in of.pending:
                if not of.differs and (statement.count > of.first or of.entries):
                    self._differ(of, statement)
            last = of.asked
            unsaid = last is not None and last[0] >= of.announced
            if last is None or not unsaid or of.differs:
                continue
            if of.states and not self._torn:
                text = f"{last[1].event}: {pd} did not say that it would ask for it"
                self._context.bad("statements.announced", text, last[1].line)
            elif not of.states and self._asked_kernel:
                without.append(f"{report.names[pd]} ({pd})")
        if without:
            told = f"requests by PDs that make no statements: {', '.join(without)}"
            report.unverified.append(told)
