# SPDX-License-Identifier: BSD-2-Clause
"""The states before and after a cleanup of a trace."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cellreap.errors import UsageError
from cellreap.inputs import opened
from cellreap.model.graph import Model
from cellreap.model.plan import Plan
from cellreap.trace.check.replay import Replay
from cellreap.trace.check.stream import check_stream
from cellreap.trace.events import Event
from cellreap.trace.report import Report


@dataclass(frozen=True)
class Around:
    """A cleanup. after: None if the trace ends before the cleanup does."""

    number: int
    before: Model
    plan: Plan
    after: Model | None
    report: Report


def around(path: Path, number: int) -> Around | None:
    """The states around a cleanup. None: the trace has no cleanup, and 1 is asked for."""
    replay = Replay(Report(str(path)))
    models: dict[str, Model] = {}

    def look(event: Event) -> None:
        if event.name in ("CLEANUP", "SETTLED") and event.number("n") == number:
            models.setdefault(event.name, replay.model.copy())

    with opened(path) as stream:
        report = check_stream(stream, str(path), also=[look], replay=replay, open_end=True)
    found = next((each for each in report.cleanups if each.number == number), None)
    if found is None or "CLEANUP" not in models:
        if number == 1:
            return None
        count = len(report.cleanups)
        have = f"{count} cleanup{'' if count == 1 else 's'}"
        raise UsageError(f"--cleanup {number}: expected a cleanup of {path}, which has {have}")
    plan = Plan.from_json(found.plan)
    return Around(number, models["CLEANUP"], plan, models.get("SETTLED"), report)
