# SPDX-License-Identifier: BSD-2-Clause
"""State that the concerns of a replay share: report, model, current event, and the concerns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from cellreap.model.indexed import IndexedModel
from cellreap.trace.events import Event, printable
from cellreap.trace.expected import Expected
from cellreap.trace.reader import MAX_PROBLEMS, Problem
from cellreap.trace.report import Report
from cellreap.trace.rules import RULES

if TYPE_CHECKING:
    from cellreap.trace.check.accounts import Accounts
    from cellreap.trace.check.actors import Actors
    from cellreap.trace.check.answers import Answers
    from cellreap.trace.check.authority import Authority
    from cellreap.trace.check.blame import Blame
    from cellreap.trace.check.calls import Calls
    from cellreap.trace.check.cleanup import Cleanups
    from cellreap.trace.check.collections import Collections
    from cellreap.trace.check.configured import Configured
    from cellreap.trace.check.consent import Consent
    from cellreap.trace.check.extractions import Extractions
    from cellreap.trace.check.freed import Freed
    from cellreap.trace.check.hung import Hung
    from cellreap.trace.check.interleaved import Interleaved
    from cellreap.trace.check.making import Making
    from cellreap.trace.check.memory import Memory
    from cellreap.trace.check.nodes import Nodes
    from cellreap.trace.check.notices import Notices
    from cellreap.trace.check.quiet import Quiet
    from cellreap.trace.check.reports import Reports
    from cellreap.trace.check.residue import Residue
    from cellreap.trace.check.respawns import Respawns
    from cellreap.trace.check.running import Running
    from cellreap.trace.check.saved import Saved
    from cellreap.trace.check.settings import Settings
    from cellreap.trace.check.slots import Slots
    from cellreap.trace.check.staged import Staged
    from cellreap.trace.check.state import State
    from cellreap.trace.check.takeovers import Takeovers
    from cellreap.trace.check.tickets import Tickets
    from cellreap.trace.check.timing import Timing
    from cellreap.trace.check.tombstones import Tombstones
    from cellreap.trace.check.triggers import Triggers

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


class Context:
    """The state that the concerns share. `Replay` creates it and sets the concerns."""

    memory: Memory
    nodes: Nodes
    accounts: Accounts
    slots: Slots
    actors: Actors
    staged: Staged
    authority: Authority
    settings: Settings
    consent: Consent
    triggers: Triggers
    blame: Blame
    hung: Hung
    freed: Freed
    calls: Calls
    interleaved: Interleaved
    notices: Notices
    tickets: Tickets
    timing: Timing
    extractions: Extractions
    cleanups: Cleanups
    collections: Collections
    state: State
    takeovers: Takeovers
    residue: Residue
    saved: Saved
    making: Making
    respawns: Respawns
    tombstones: Tombstones
    quiet: Quiet
    configured: Configured
    answers: Answers
    reports: Reports

    def __init__(self, report: Report, expected: Expected | None) -> None:
        self.report = report
        self.model = report.model
        """the model state that the events so far make"""
        self.expected = expected
        """what the configuration demands; None: not known"""
        self.line = 0
        self.seq: int | None = None
        self.previous: Event | None = None
        """the event before the current one"""
        self.debts = Debts()
        self.used_ids: set[str] = set()

    def go_on_with(self, model: IndexedModel) -> None:
        """Another state takes the place of the one so far."""
        self.model = self.report.model = model

    def bad(self, rule: str, text: str) -> None:
        """Reports that the current event breaks a rule. KeyError if there is no such rule."""
        if rule not in RULES:
            raise KeyError(rule)
        if len(self.report.violations) < MAX_PROBLEMS:
            problem = Problem(self.line, printable(text, 400), rule, self.seq)
            self.report.violations.append(problem)
        else:
            self.report.more_violations += 1

    def legal(self, when: str) -> None:
        """Checks that the model is legal. when: for the message."""
        for violation in self.residue.legal_part().check_legal():
            text = f"the state is not legal {when}: {violation.rule}: {violation.text}"
            self.bad("state.legal", text)

    def first_use(self, event: Event, node: str) -> None:
        """Checks that the id of a PD or space that is created is new."""
        if node in self.used_ids:
            text = f"{node} was used before: ids of PDs and spaces are never given twice"
            self.bad("nodes.fresh", f"{event.told}: {text}")
        self.used_ids.add(node)


class Concern:
    """The rules for some events. A subclass lists these events with their methods."""

    handlers: ClassVar[Handlers] = {}
    within: ClassVar[WithinHandlers] = {}
    """The events of the concern that are part of a cleanup."""

    def __init__(self, context: Context) -> None:
        self.context = context
