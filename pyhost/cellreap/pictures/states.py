# SPDX-License-Identifier: BSD-2-Clause
"""The states before and after a cleanup of a trace."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cellreap.errors import UsageError
from cellreap.model.graph import Model
from cellreap.model.plan import Plan
from cellreap.runs.known import Known
from cellreap.trace.check.replay import Replay
from cellreap.trace.events import Event
from cellreap.trace.expected import Expected
from cellreap.trace.report import Report


@dataclass(frozen=True)
class Around:
    """A cleanup. after: None if the trace ends before the cleanup does."""

    number: int
    before: Model
    plan: Plan
    after: Model | None
    report: Report


def around(path: Path, number: int, known: Known) -> Around | None:
    """The states around a cleanup. None: the trace has no cleanup, and 1 is asked for.

    known: what the trace is held against.
    """
    replay = _Copying(Report(str(path)), known.expected, number)
    models = replay.models
    report = known.read(path, replay=replay).report
    found = next((each for each in report.cleanups if each.number == number), None)
    if found is None or "CLEANUP" not in models:
        if number == 1:
            return None
        count = len(report.cleanups)
        have = f"{count} cleanup{'' if count == 1 else 's'}"
        raise UsageError(f"--cleanup {number}: expected a cleanup of {path}, which has {have}")
    plan = Plan.from_json(found.plan)
    return Around(number, models["CLEANUP"], plan, models.get("SETTLED"), report)


class _Copying(Replay):
    """A replay that copies the model at the begin and at the end of a cleanup."""

    def __init__(self, report: Report, expected: Expected | None, number: int) -> None:
        super().__init__(report, expected)
        self.models: dict[str, Model] = {}
        """CLEANUP, SETTLED: the model after the event."""
        self._number = number

    def feed(self, event: Event) -> None:
        super().feed(event)
        if event.name in ("CLEANUP", "SETTLED") and event.number("n") == self._number:
            self.models.setdefault(event.name, self.model.copy())
