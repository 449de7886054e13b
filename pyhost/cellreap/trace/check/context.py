# SPDX-License-Identifier: BSD-2-Clause
"""State that the concerns of a replay share: report, model, current event, and the concerns."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import MethodType
from typing import TYPE_CHECKING, Final, TypeVar

from cellreap.model.ids import parts_of
from cellreap.model.indexed import IndexedModel
from cellreap.trace.events import Event, printable
from cellreap.trace.expected import Expected
from cellreap.trace.reader import MAX_PROBLEMS, Problem
from cellreap.trace.report import Report
from cellreap.trace.rules import RULES

if TYPE_CHECKING:
    from cellreap.trace.check.concerns import Context as Context

_WHICH: Final = {
    "TRIGGER": " {cause}",
    "STEP": " {name} node={node} pd={pd}",
    "QUEUE": " {to} {kind} {node} {from}",
}
"""What a message has of an event besides its name."""
_Method = TypeVar("_Method", bound=Callable[..., None])
Handlers = dict[str, Callable[..., None]]
OUTSIDE: Final[Handlers] = {}
"""What an event outside cleanups tells -> the method of a concern that handles it. It may also come
while a cleanup waits.
"""
WITHIN: Final[Handlers] = {}
"""The same of events that are part of a cleanup."""


def handler_in(handlers: Handlers, *told: str) -> Callable[[_Method], _Method]:
    """The method handles the events that tell this. Each event has exactly one handler."""

    def register(method: _Method) -> _Method:
        if twice := handlers.keys() & told:
            raise TypeError(f"{twice} are handled by another method than {method.__qualname__}")
        handlers.update(dict.fromkeys(told, method))
        return method

    return register


def handler_of(context: Context, told: str, handlers: Handlers) -> Callable[..., None] | None:
    """The method for events that tell this, of its concern, which `Context` has by its name."""
    handler = handlers.get(told)
    if handler is None:
        return None
    concern = handler.__qualname__.partition(".")[0].lower()
    return MethodType(handler, getattr(context, concern))


outside: Final = partial(handler_in, OUTSIDE)
within: Final = partial(handler_in, WITHIN)


class Debts(set[tuple[str, ...]]):
    """Events with these values that must come before any others, because the last one requires
    them. None is required twice.
    """

    def owe(self, *what: str) -> None:
        """Requires an event."""
        self.add(what)

    def settle(self, *what: str) -> bool:
        """Records that an event came. Returns whether it was required."""
        due = what in self
        self.discard(what)
        return due


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
        self.previous = Event("", {})
        """the event before the current one; one without a name before the first"""
        self.debts = Debts()
        self.used: dict[str, dict[int, str]] = {"PD": {}, "RESOURCE_SPACE": {}}
        """kind -> number -> the PD or space that has or had it"""

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
        parts = parts_of(node)
        used = self.used[parts.kind]
        if parts.number in used:
            text = f"{node} was used before: ids of PDs and spaces are never given twice"
            self.bad("nodes.fresh", f"{event.told}: {text}")
        used[parts.number] = node


if not TYPE_CHECKING:
    Context = Shared  # for modules that only name it


class Concern:
    """The rules for some events."""

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
