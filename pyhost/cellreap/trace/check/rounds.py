# SPDX-License-Identifier: BSD-2-Clause
"""Rounds of work: the run ends only after the PDs that work in rounds were dismissed."""

from __future__ import annotations

from typing import ClassVar

from cellreap.trace.check.context import Concern, Context, Handlers
from cellreap.trace.events import Event, cause_of
from cellreap.trace.report import Undone


class Rounds(Concern):
    """THREAD in-rounds, dismissed, unfinished."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._working: dict[str, None] = {}
        self._dismissed: set[str] = set()
        self.ending = False

    def at_end(self) -> None:
        """The trace ends."""
        for pd in self._working:
            if pd in self.context.model.nodes and self.context.actors.may_answer(pd):
                self.bad("rounds.end", f"{pd} works in rounds")

    def see(self, event: Event) -> None:
        """Nothing happens between `unfinished` and the end, or the stop of all PDs, but what is
        printed then.
        """
        if event.told not in AT_END:
            if cause_of(event) != "stop":
                self.bad("rounds.end", "after unfinished THREAD: expected END")
            self.ending = False

    # -- events

    def begin(self, event: Event) -> None:
        """in-rounds THREAD: a PD came to the end of its first round."""
        pd = event["pd"]
        if self.context.actors.may_act(event, pd):
            if pd in self._working or pd in self._dismissed:
                self.bad("rounds.known")
            self._working[pd] = None

    def dismiss(self, event: Event) -> None:
        """dismissed THREAD: a PD was told to stop."""
        if self._leaves(event):
            self._dismissed.add(event["pd"])
            self.context.staged.demand_none_left()

    def unfinished(self, event: Event) -> None:
        """unfinished THREAD: a PD did not come to the end of its round."""
        if self._leaves(event):
            doing = self.context.quiet.doing(event["pd"])
            what = f"left its rounds: {doing or self.context.actors.last_of(event['pd'])}"
            self.context.report.undone.append(Undone(event["pd"], what))
            self.ending = True

    def _leaves(self, event: Event) -> bool:
        works = event["pd"] in self._working
        if not works:
            self.bad("rounds.known")
        self._working.pop(event["pd"], None)
        return works

    handlers: ClassVar[Handlers] = {
        "in-rounds THREAD": begin,
        "dismissed THREAD": dismiss,
        "unfinished THREAD": unfinished,
    }


AT_END = frozenset(
    {"unfinished THREAD", "REFUSED", "USAGE", "MAKE_FAILED", "STATE", "SETTLED", "END"}
)
"""Events that come after it. What could not be made is tried again until the end."""
