# SPDX-License-Identifier: BSD-2-Clause
"""Listeners: what they are told of cleanups is what the trace tells."""

from __future__ import annotations

from typing import Final, NamedTuple

from cellreap import headers
from cellreap.trace.check.context import Concern, Context
from cellreap.trace.events import Event

REPORTED: Final = frozenset({"CLEANUP", "STEP", "TAKEOVER", "WAIT", "SETTLED", "MAKE_FAILED"})
"""Events of which a report is made, or that change later ones."""


class Told(NamedTuple):
    """A report. node: what a step is about, or what is made, if that failed."""

    what: str
    n: str
    about: str
    step: str
    steps: str
    name: str = "-"
    node: str = "-"
    attempts: str = "0"
    result: str = "0"


class Reports(Concern):
    """What LISTEN tells, and the number of steps in CLEANUP and TAKEOVER."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._kept = headers.constant("limits.h", "CR_MAX_REPORTS")
        self._failed = str(headers.constant("protocol.h", "CR_RESULT_FAILED"))
        self._last = 0
        self._told: dict[int, Told] = {}
        self._begun: dict[str, Event] = {}  # n -> CLEANUP
        self._steps: dict[str, int] = {}  # n -> the number of its STEPs
        self._changed: set[str] = set()  # n of the cleanups that need not take the planned steps
        self._split: set[tuple[str, str]] = set()
        """(n, number) of the steps that may have become shorter, so that one more step follows"""

    def see(self, event: Event) -> None:
        """One of REPORTED: makes the report of it, and counts steps."""
        name, n = event.name, event.values.get("n", "0")
        if name == "CLEANUP":
            self._begun[n], self._steps[n] = event, 0
            self._add("starting", n, event["trigger"], "0", event["steps"])
        elif name == "STEP" and n in self._steps:
            self._steps[n] += 1
        elif name == "TAKEOVER" and n in self._steps:
            self._death(event, n)
        elif name == "WAIT":
            self._changed.add(n)
        elif name == "SETTLED" and n in self._begun:
            self._settled(event, n)
        elif name == "MAKE_FAILED":
            rest = (event["step"], "0", event["kind"], event["what"], "0", event["status"])
            self._add("unmade", "0", "-", *rest)

    # -- for other concerns

    def split(self, n: int) -> None:
        """The last STEP of a cleanup may be a part of a planned one."""
        self._split.add((str(n), str(self._steps[str(n)])))

    def progress(self, n: int) -> tuple[int, int]:
        """How many steps a cleanup under way has carried out, and how many its plan had."""
        return self._steps[str(n)], self._begun[str(n)].number("steps")

    def after(self, seen: int) -> tuple[int, Told | None]:
        """The number of the oldest report after that one that is kept, and the report."""
        number = max(seen, self._last - self._kept) + 1
        return number, self._told.get(number)

    def _add(self, *told: str) -> None:
        self._last += 1
        self._told[self._last] = Told(*told)
        self._told.pop(self._last - self._kept, None)

    def _death(self, event: Event, n: str) -> None:
        number = str(self._steps[n] + 1)
        self.compare("reports.step", number=number)
        left = event["left"] == "1"
        if left:
            self._changed.add(n)  # what was left may have gone with its PD
        elif self.context.takeovers.may_shorten(event):
            self._split.add((n, number))
        what = "left" if left else "errored"
        rest = (event["step"], event["node"], event["attempts"], self._failed)
        self._add(what, n, event["pd"], number, self._begun[n]["steps"], *rest)

    def _settled(self, event: Event, n: str) -> None:
        begun, done = self._begun[n], self._steps[n]  # a later run may follow
        most = begun.number("steps") + sum(each == n for each, _ in self._split)
        running = self.context.cleanups.running
        waiting = self.context.residue.waiting
        leaves = running is not None and bool(running.kept or waiting(running))
        same = leaves or n in self._changed or begun.number("steps") <= done <= most
        if not same:
            self.bad("reports.steps", f"n={n}: {done} STEPs, and the plan had {begun['steps']}")
        what, result = ("unfinished", self._failed) if leaves else ("completed", "0")
        self._add(what, n, begun["trigger"], str(done), begun["steps"], "-", "-", "0", result)
