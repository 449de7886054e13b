# SPDX-License-Identifier: BSD-2-Clause
"""State that the concerns of a replay share: report, model, current event, and the concerns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final

from cellreap.model.indexed import IndexedModel
from cellreap.trace.events import Event, printable
from cellreap.trace.expected import Expected
from cellreap.trace.reader import MAX_PROBLEMS, Problem
from cellreap.trace.report import Report
from cellreap.trace.rules import RULES

if TYPE_CHECKING:
    from cellreap.trace.check.concerns import Context as Context
    from cellreap.trace.check.running import Running

_WHICH: Final = {
    "TRIGGER": " {cause}",
    "STEP": " {name} node={node} pd={pd}",
    "QUEUE": " {to} {kind} {node} {from}",
}
"""What a message has of an event besides its name."""
Handlers = Mapping[str, Callable[[Any, Event], None]]
"""Event name -> the method of a concern that handles it."""
WithinHandlers = Mapping[str, Callable[[Any, "Running", Event], None]]
"""Event name -> the method of a concern that handles it as part of a cleanup."""


class Debts:
    """Events that must come before any others, because the last event requires them."""

    def __init__(self) -> None:
        self.open: Counter[tuple[str, ...]] = Counter()

    def __bool__(self) -> bool:
        return bool(self.open)

    def owe(self, *what: str) -> None:
        """Requires an event with these values."""
        self.open[what] += 1

    def settle(self, *what: str) -> bool:
        """Records that an event came. Returns whether it was required."""
        if what not in self.open:
            return False
        self.open[what] -= 1
        if not self.open[what]:
            del self.open[what]
        return True

    def has(self, *what: str) -> bool:
        """Whether an event with these values is required."""
        return what in self.open

    def forgive(self) -> list[str]:
        """Drops all debts. Returns them as text."""
        texts = [" ".join(owed) for owed in sorted(self.open)]
        self.open.clear()
        return texts


class Shared:
    """The state that the concerns share."""

    def __init__(self, report: Report, expected: Expected | None) -> None:
        self.report = report
        self.model = report.model
        """the model state that the events so far make"""
        self.expected = expected
        """what the configuration demands; None: not known"""
        self.event = Event("", {})
        """the current event"""
        self.previous: Event | None = None
        """the event before the current one"""
        self.debts = Debts()
        self.used_ids: set[str] = set()

    def go_on_with(self, model: IndexedModel) -> None:
        """Another state takes the place of the one so far."""
        self.model = self.report.model = model

    def bad(self, rule: str, text: str, line: int | None = None) -> None:
        """Reports that the current event breaks a rule. KeyError if there is no such rule.

        line: of the console, if that is not the event's.
        """
        if rule not in RULES:
            raise KeyError(rule)
        if len(self.report.violations) < MAX_PROBLEMS:
            at = self.event.line if line is None else line
            problem = Problem(at, printable(text, 400), rule, self.event.seq)
            self.report.violations.append(problem)
        else:
            self.report.more_violations += 1

    def breaks(self, rule: str, text: str = "") -> None:
        """Reports that the current event breaks a rule, behind the event. text: what is wrong.
        Without it, the message has what the rule demands, and all of the event.
        """
        event = self.event
        which = _WHICH.get(event.name, "").format_map(event.values)
        self.bad(rule, f"{event.told}{which}: {text or f'{RULES[rule]} Found: {event}'}")

    def first_use(self, event: Event, node: str) -> None:
        """Checks that the id of a PD or space that is created is new."""
        if node in self.used_ids:
            text = f"{node} was used before: ids of PDs and spaces are never given twice"
            self.bad("nodes.fresh", f"{event.told}: {text}")
        self.used_ids.add(node)


if not TYPE_CHECKING:
    Context = Shared  # for modules that only name it


class Concern:
    """The rules for some events. A subclass lists these events with their methods."""

    handlers: ClassVar[Handlers] = {}
    within: ClassVar[WithinHandlers] = {}
    """The events of the concern that are part of a cleanup."""

    def __init__(self, context: Context) -> None:
        self.context = context

    def bad(self, rule: str, text: str = "") -> None:
        """As `Shared.breaks` has it."""
        self.context.breaks(rule, text)

    def compare(self, rule: str, **wanted: object) -> None:
        """Checks fields of the current event."""
        event = self.context.event
        for field, value in wanted.items():
            if event[field] != str(value):
                self.bad(rule, f"{field}={event[field]}: expected {value}")
