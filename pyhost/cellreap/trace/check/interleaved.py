# SPDX-License-Identifier: BSD-2-Clause
"""Operations that are served between the steps of a cleanup.

PAUSE begins what the operation of one PD does, and RESUME ends it. The cleanup concerns neither the
PD nor anything that the operation names, so its plan is still the reference's plan afterwards.
"""

from __future__ import annotations

from typing import ClassVar, Final

from cellreap.model import reference
from cellreap.model.ids import parse_id
from cellreap.trace.check.calls import TAKES
from cellreap.trace.check.context import Concern, Context, WithinHandlers
from cellreap.trace.check.independent import stands_for
from cellreap.trace.check.running import Running
from cellreap.trace.events import Event

SERVED: Final = frozenset(
    {
        "SAY", "RESOURCE", "made HOLD", "dropped HOLD", "made MAP", "dropped MAP",
        "REFUSE", "REFUSED", "MAKE_FAILED",
    }
)  # fmt: skip
"""What is told of what is served."""


class Interleaved(Concern):
    """PAUSE and RESUME."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.open: tuple[str, Running] | None = None
        """the PD that is served now, and the cleanup that pauses"""
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
        """Any event, before it is handled."""
        if event.name == "STEP":
            self._turn.clear()
            self._most, self._left = self._left + _of_last_thing(event), 0
            self._follows = False
        if self.open is None or event.name == "RESUME":
            return
        pd, running = self.open
        if event.told not in SERVED:
            self.bad("interleaved.over", f"expected RESUME pd={pd} before it")
            self.open = None
            return
        asked = event.optional("asker") if "asker" in event.values else event.optional("pd")
        if asked != pd and "what" not in event.values:
            self.bad("interleaved.over", f"{asked} asks for it: expected RESUME pd={pd} before it")
        for value in event.values.values():
            self._may_name(running, value)

    def residue(self, event: Event) -> None:
        """RESIDUE: a step was left, and another one follows before the cleaner stops."""
        self._left += event.number("calls")
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

    # -- events

    def pause(self, running: Running, event: Event) -> None:
        """PAUSE: an operation is served between two steps."""
        pd, before, expected = event["pd"], self.context.previous, self.context.expected
        # Behind a step that plans again comes the new plan.
        follows = ("STEP", "RESUME", "PLAN") if running.waited else ("STEP", "RESUME")
        if self._follows or before is None or before.name not in follows:
            self.bad("interleaved.place")
        if pd in self._turn:
            self.bad("interleaved.turn")
        if event.number("calls") > self._most:
            self.bad("interleaved.soon", f"calls={event['calls']}: the last step made {self._most}")
        if expected is not None and not expected.runs_between:
            self.bad("config.system", "expected none without cleaner_priority, or a timer")
        self.context.actors.may_act(event, pd)
        self._may_name(running, pd)
        self._turn.add(pd)
        self.open = (pd, running)
        running.served = True

    def resume(self, _running: Running, event: Event) -> None:
        """RESUME: the PD was answered, and the next step follows."""
        if self.open is None or self.open[0] != event["pd"]:
            self.bad("interleaved.over")
        if event.counts("kinds").total() != event.number("calls"):
            self.bad("interleaved.calls")
        self.open = None

    within: ClassVar[WithinHandlers] = {"PAUSE": pause, "RESUME": resume}


def _of_last_thing(step: Event) -> int:
    """How many kernel calls of a STEP may have been for the last thing that it did."""
    calls, others = step.number("calls"), step.number("count") - 1
    taken = sum(TAKES.values()) * others if step["name"] == "destroy-resource" else 0
    return max(calls - taken, 0)
