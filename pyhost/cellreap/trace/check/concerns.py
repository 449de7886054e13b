# SPDX-License-Identifier: BSD-2-Clause
"""The concerns of a replay: each has the rules for some events."""

from __future__ import annotations

from cellreap.trace.check.accounts import Accounts
from cellreap.trace.check.actors import Actors
from cellreap.trace.check.answers import Answers
from cellreap.trace.check.authority import Authority
from cellreap.trace.check.blame import Blame
from cellreap.trace.check.causes import Causes, Consent
from cellreap.trace.check.cleanup import Cleanups
from cellreap.trace.check.collections import Collections, Saved
from cellreap.trace.check.configured import Configured
from cellreap.trace.check.context import Shared
from cellreap.trace.check.extractions import Extractions
from cellreap.trace.check.memory import Memory
from cellreap.trace.check.nodes import Edges, Nodes
from cellreap.trace.check.notices import Notices
from cellreap.trace.check.quiet import Quiet, Rounds
from cellreap.trace.check.reports import Reports
from cellreap.trace.check.residue import Residue, Takeovers
from cellreap.trace.check.respawns import Respawns
from cellreap.trace.check.settings import Making, Settings
from cellreap.trace.check.slots import Slots
from cellreap.trace.check.staged import Staged
from cellreap.trace.check.state import State
from cellreap.trace.check.steps import Calls, Interleaved, Steps
from cellreap.trace.check.tickets import Tickets
from cellreap.trace.check.timing import Hung, Timing
from cellreap.trace.check.tombstones import Tombstones
from cellreap.trace.check.triggers import Freed, Triggers
from cellreap.trace.check.truth import Truth
from cellreap.trace.expected import Expected
from cellreap.trace.report import Report


class Context(Shared):
    """What the concerns share, and the concerns."""

    def __init__(self, report: Report, expected: Expected | None) -> None:
        super().__init__(report, expected)
        self.memory = Memory(self)
        self.accounts = Accounts(self)
        self.nodes = Nodes(self)
        self.edges = Edges(self)
        self.slots = Slots(self)
        self.actors = Actors(self)
        self.staged = Staged(self)
        self.authority = Authority(self)
        self.settings = Settings(self)
        self.consent = Consent(self)
        self.triggers = Triggers(self)
        self.blame = Blame(self)
        self.hung = Hung(self)
        self.freed = Freed(self)
        self.calls = Calls(self)
        self.respawns = Respawns(self)
        self.notices = Notices(self)
        self.tickets = Tickets(self)
        self.extractions = Extractions(self)
        self.timing = Timing(self)
        self.rounds = Rounds(self)
        self.quiet = Quiet(self)
        self.cleanups = Cleanups(self)
        self.collections = Collections(self)
        self.interleaved = Interleaved(self)
        self.steps = Steps(self)
        self.state = State(self)
        self.truth = Truth(self)
        self.configured = Configured(self)
        self.causes = Causes(self)
        self.takeovers = Takeovers(self)
        self.residue = Residue(self)
        self.saved = Saved(self)
        self.making = Making(self)
        self.tombstones = Tombstones(self)
        self.answers = Answers(self)
        self.reports = Reports(self)

    def legal(self, when: str) -> None:
        """Checks that the model is legal. when: for the message."""
        for violation in self.residue.legal_part().check_legal():
            text = f"the state is not legal {when}: {violation.rule}: {violation.text}"
            self.bad("state.legal", text)
