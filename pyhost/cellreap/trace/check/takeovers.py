# SPDX-License-Identifier: BSD-2-Clause
"""Cleaners that died, and who goes on in their place.

A cleaner dies by a fault, an error or a hang, at a step that has begun. The next cleaner, in the
next epoch, repeats this step, or leaves it for later if it was attempted too often (left=1). A
cleaner of a sound root task dies only where the configuration has something fail.
"""

from __future__ import annotations

from typing import ClassVar, Final

from cellreap.headers import constant
from cellreap.trace.check.context import Concern, Context, Handlers
from cellreap.trace.check.running import QUEUEING, Running
from cellreap.trace.events import Event

Step = tuple[str, str, str]
"""(name, node, pd)"""

PARTS: Final[dict[tuple[str, str], tuple[str, str]]] = {
    ("suspend", "stopped THREAD"): ("pd", "pd"),
    ("suspend", "answered THREAD"): ("by", "pd"),
    ("notify", "QUEUE"): ("to", "pd"),
    ("tell", "QUEUE"): ("to", "pd"),
}
"""(step, event that tells a part of it) -> the event's field that names the step's node or PD.

While a step is repeated, nothing else happens.
"""


class Takeovers(Concern):
    """TAKEOVER. It and INJECTED stand anywhere among the events of a step."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._most = constant("steps.h", "CR_STEP_ATTEMPTS")
        self.death: str | None = None
        """how a step of a cleanup was made to fail, until the TAKEOVER that follows"""
        self.step: tuple[str, Step] | None = None
        """(n, step) that must be repeated"""
        self._attempts = 0
        """how often it was attempted"""
        self.half_suspended: set[str] = set()
        """the PDs in whose suspension a cleaner died: part of it may be done"""
        self._left: set[tuple[str, Step]] = set()
        """(n, step) of the steps that were left and not carried out yet"""
        self._kept: set[tuple[str, Step]] = set()
        """those of them that were left for a later run"""

    # -- for other concerns

    def attempts(self, event: Event) -> int:
        """How often the step of this STEP was attempted."""
        named = (event["n"], (event["name"], event["node"], event["pd"]))
        if self.step != named:
            return 1
        # The last death leaves the signal of a notice, and nothing else, to the main thread.
        last = self._attempts == self._most and event["name"] not in QUEUEING
        return self._attempts + (0 if last else 1)

    def may_shorten(self, event: Event) -> bool:
        """Whether the step of this TAKEOVER may end with a part of its notices or resources: if one
        of them failed, or if no further cleaner attempts it.
        """
        running = self.context.cleanups.running
        if running is None or (event["death"] != "error" and event.number("attempts") < self._most):
            return False
        if event["step"] == "notify":
            return self._has_queued()
        return event["step"] == "destroy-resource" and len(running.left_with(event["node"])) > 1

    def see(self, event: Event) -> None:
        """Any event that is not a TAKEOVER or INJECTED."""
        if self.death is not None:
            self._demand_death(event)
        if self.step is None:
            return
        if event.name == "QUEUE" and self._attempts == self._most:
            self.bad("takeover.attempts", "expected the STEP before it: its last cleaner died")
        n, step = self.step
        shown = f"STEP n={n} name={step[0]} node={step[1]} pd={step[2]}"
        if event.values.get("n", n) != n or not self._is_part(event, step):
            self.bad("takeover.step", f"expected {shown} before it: that step had begun")
            self.step = None

    def done(self, event: Event) -> None:
        """The step of this STEP was carried out."""
        self.step = None
        named = (event["n"], (event["name"], event["node"], event["pd"]))
        self._left.discard(named)
        self._kept.discard(named)

    def settled(self, running: Running, event: Event) -> None:
        """SETTLED: a cleanup ends. A REQUEST may have gone with its PD."""
        for n, step in sorted(self._left):
            moot = step[0] == "cut-request" and step[2] in running.destroyed
            if n == event["n"] and not moot and (n, step) not in self._kept:
                text = f"the STEP {step[0]} node={step[1]} pd={step[2]} that was left never came"
                self.bad("takeover.residue", text)

    def _is_part(self, event: Event, step: Step) -> bool:
        if event.name == "STEP":
            return (event["name"], event["node"], event["pd"]) == step
        fields = PARTS.get((step[0], event.told))
        if fields is None:
            return False
        return event[fields[0]] == {"node": step[1], "pd": step[2]}[fields[1]]

    def _demand_death(self, event: Event) -> None:
        if self.death is not None:
            self.bad("takeover.death", f"expected TAKEOVER death={self.death} before it")
            self.death = None

    # -- events

    def injected(self, event: Event, how: str) -> None:
        """INJECTED: a step of a cleanup is made to fail."""
        self._demand_death(event)
        self.death = how

    def takeover(self, event: Event) -> None:
        """TAKEOVER: a cleaner died, and another one goes on."""
        step, attempts = self._death(event)
        if event["left"] == "1":
            self._residue(event, step, attempts)
            return
        if event["kinds"] != "-":
            self.bad("cleanup.step_calls", "expected kinds=-: the step is not left")
        # The last one may have died behind the step. Then the step is in effect, and not left.
        if attempts > self._most:
            self.bad("takeover.attempts", f"attempts={attempts}: expected at most {self._most}")
        elif attempts == self._most and step[1][0] in QUEUEING and not self._has_queued():
            self.bad("takeover.attempts", f"step={step[1][0]}: nothing is queued: expected left=1")
        self.step, self._attempts = step, attempts

    def _residue(self, event: Event, step: tuple[str, Step], attempts: int) -> None:
        """A cleaner died at a step for the last time, and the step is left for later."""
        if attempts != self._most:
            self.bad("takeover.attempts", f"left=1 attempts={attempts}: expected {self._most}")
        if step[1][0] == "await" or (step[1][0] in QUEUEING and self._has_queued()):
            self.bad("takeover.residue", f"step={step[1][0]}: it is in effect: expected left=0")
        later = self.context.residue.runs_later()
        if step in self._kept and not later:
            self.bad("takeover.residue", f"step={step[1][0]}: it was left before")
        if step in self._left or later or step[1][0] == "tell" or self._is_in_turn(step[1]):
            self._kept.add(step)
            self.context.residue.keep(step[1])
        self._left.add(step)
        self.step = None
        self.context.cleanups.leave(event)
        self.context.interleaved.residue(event)

    def _is_in_turn(self, step: Step) -> bool:
        """Whether the step is the suspending of a PD after its destructor. It has no second try."""
        running = self.context.cleanups.running
        return running is not None and step[0] == "suspend" and step[2] in running.ended

    def _may_be_loud(self, step: Step) -> bool:
        """Whether the step may fail because a device of the PD does not become quiet."""
        config = self.context.configured.edges.configs.get(step[2])
        waits = config is not None and any(each.waits for each in config.maps)
        return step[0] == "suspend" and (waits or self.context.expected is None)

    def _has_queued(self) -> bool:
        """Whether the step of notices that has begun has queued any."""
        running = self.context.cleanups.running
        return running is not None and bool(running.notifying.things)

    def _death(self, event: Event) -> tuple[tuple[str, Step], int]:
        """Checks what every TAKEOVER must have. Returns the step and its attempts."""
        n, death, attempts = event["n"], event["death"], event.number("attempts")
        step = (n, (event["step"], event["node"], event["pd"]))
        if event["step"] == "suspend":
            self.half_suspended.add(event["pd"])
        if event.number("n") != self.context.cleanups.number:
            self.bad("takeover.step", f"n={n}: no such cleanup carries out steps")
        loud = death == "error" and self.death is None and self._may_be_loud(step[1])
        if self.death != death and not loud:
            expected = "none" if self.death is None else f"death={self.death}"
            self.bad("takeover.death", f"death={death}: expected {expected}: that was injected")
        self.death = None
        if self.step is not None and self.step != step:
            text = f"step={step[1][0]}: expected {self.step[1][0]}, which had begun"
            self.bad("takeover.step", text)
        due = self._attempts + 1 if self.step == step else 1
        if attempts != due:
            self.bad("takeover.attempts", f"attempts={attempts}: expected {due}")
        return step, attempts

    handlers: ClassVar[Handlers] = {"TAKEOVER": takeover}
