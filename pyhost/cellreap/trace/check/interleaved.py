# SPDX-License-Identifier: BSD-2-Clause
"""Operations that are served between the steps of a cleanup.

SERVED ends what the operation of one PD did. The cleanup concerns neither the PD nor anything that
the operation names, so its plan is still the reference's plan afterwards.
"""

from __future__ import annotations

from typing import Final

from cellreap.model import reference
from cellreap.model.ids import parse_id
from cellreap.trace.check.calls import TAKES
from cellreap.trace.check.context import Concern, Context, within
from cellreap.trace.check.independent import stands_for
from cellreap.trace.check.running import Running
from cellreap.trace.events import Event, id_fields

TOLD: Final = frozenset(
    {
        "SAY", "RESOURCE", "made HOLD", "dropped HOLD", "made MAP", "dropped MAP",
        "REFUSE", "REFUSED", "MAKE_FAILED",
    }
)  # fmt: skip
"""What is told of what is served, before SERVED."""


class Interleaved(Concern):
    """SERVED."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.open: Running | None = None
        """the cleanup that pauses while an operation is served"""
        self._asker: str | None = None
        """the PD that asks for it, if anything was told of it yet"""
        self._turn: set[str] = set()
        """the PDs that were served since the last step"""
        self._most = 0
        """kernel calls of the last step, or of the last resource that it destroyed"""
        self._left = 0
        """kernel calls of the steps that were left since then"""
        self._follows = False
        """a step was left, and the next one must follow"""

    # -- for other concerns

    def see(self, event: Event) -> None:
        """STEP, one of TOLD, and any event while an operation is served, before it is handled."""
        if event.told not in TOLD:
            if self.open is not None and event.name != "SERVED":
                self.bad("interleaved.over", f"expected SERVED pd={self._asker} before it")
                self.open = None
            if event.name == "STEP":
                self._turn.clear()
                self._most, self._left = self._left + _of_last_thing(event), 0
                self._follows = False
            return
        self.told(event)

    def told(self, event: Event) -> None:
        """One of TOLD, or an ANSWER that tells what a PD asked."""
        if self.open is None and self.context.cleanups.running is not None:
            self._begin(self.context.cleanups.running)
        if self.open is not None:
            self._asks(event.values.get("asker", event.values.get("pd", self._asker)))
            for field in id_fields(event.name):
                self._may_name(self.open, event[field])

    def residue(self, event: Event) -> None:
        """TAKEOVER: a step was left, and another one follows before the cleaner stops."""
        self._left += event.counts("kinds").total()
        self._follows = True

    def settle(self, running: Running) -> None:
        """The cleanup ends. What was served between its steps is there after it."""
        if not running.served:
            return
        plannable = self.context.residue.plannable(running)
        if running.gone:
            running.go_on(self.context.model, plannable)
            return
        plan = reference.replan(plannable, running.reference)
        if plan != running.reference:
            self.bad("interleaved.independent")
        running.before = self.context.model
        running.going = reference.going(self.context.model, plan)
        running.result.broken = reference.hanging(plannable, plan)

    def _may_name(self, running: Running, value: str) -> None:
        if parse_id(value) is not None and stands_for(self.context.model, value) & running.touched:
            self.bad("interleaved.independent", f"{value} concerns the cleanup that pauses")

    def _begin(self, running: Running) -> None:
        """An operation is served between two steps."""
        # Behind a step that plans again comes the new plan.
        follows = ("STEP", "SERVED", "PLAN") if running.waited else ("STEP", "SERVED")
        if self._follows or self.context.previous.name not in follows:
            self.bad("interleaved.place")
        self.open, self._asker = running, None

    def _asks(self, pd: str | None) -> None:
        if self._asker not in (None, pd):
            self.bad("interleaved.over", f"{pd}: expected SERVED pd={self._asker} before it")
        self._asker = pd

    # -- events

    @within("SERVED")
    def served(self, running: Running, event: Event) -> None:
        """SERVED: the PD was answered, and the next step follows."""
        pd, expected = event["pd"], self.context.expected
        if self.open is None:
            self._begin(running)
        if self._asker is None:  # nothing was told of what it did
            self.context.actors.may_act(event, pd)
        self._asks(pd)
        if pd in self._turn:
            self.bad("interleaved.turn")
        if event.number("waited") > self._most:
            self.bad("interleaved.soon", f"the last step made {self._most} calls")
        if expected is not None and not expected.runs_between:
            self.bad("config.system", "expected none without cleaner_priority, or a timer")
        self._may_name(running, pd)
        self._turn.add(pd)
        self.open = None
        running.served = True


def _of_last_thing(step: Event) -> int:
    """How many kernel calls of a STEP may have been for the last thing that it did."""
    calls, others = step.counts("kinds").total(), step.number("count") - 1
    taken = sum(TAKES.values()) * others if step["name"] == "destroy-resource" else 0
    return max(calls - taken, 0)
