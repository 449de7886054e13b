# SPDX-License-Identifier: BSD-2-Clause
"""The model state that a trace tells."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from cellreap.api.states import TRACE, State
from cellreap.errors import UsageError
from cellreap.model.graph import Model
from cellreap.runs.known import known_of
from cellreap.trace.check.replay import Replay
from cellreap.trace.events import Event
from cellreap.trace.expected import Expected
from cellreap.trace.report import Report, violation_count, violation_lines
from cellreap.unknown import Unknown

NO_END: Final = (Unknown("trace", "what happened after the last line: the trace has no END"),)


def of_trace(path: Path, after: int | None = None, *, strict: bool = False) -> State:
    """The state that a trace tells. See `state_of`."""
    known = known_of(path, None, None)
    replay = _Copying(Report(str(path)), known.expected, after)
    report = known.read(path, replay=replay).report
    model = replay.model if after is None else replay.found
    if model is None:
        count = len(report.cleanups)
        have = f"{count} cleanup{'' if count == 1 else 's'}"
        wanted = "at least one cleanup" if after == 0 else f"cleanup {after}"
        raise UsageError(f"--after {after}: expected {wanted} in {path}, which has {have}")
    notes: tuple[str, ...] = ()
    unknown: tuple[Unknown, ...] = ()
    if report.broken_off and (after is None or not report.passed):
        unknown = NO_END
        if strict:
            raise UsageError(f"{path}: {NO_END[0].text}")
    if not report.passed:
        found = violation_count(report)
        more = f" (the first of {found})" if found > 1 else ""
        said = f"{violation_lines(report)[0]}{more}: the state may be wrong"
        if strict:
            raise UsageError(said)
        unknown = (*unknown, Unknown("trace", said))
        notes = (said,)
    model.unknown = unknown
    spaces = {id_: name for id_, name in report.names.items() if id_ in model.manager}
    depths_of = replay.context.authority.depths_of
    kept = frozenset(replay.uncreated & model.nodes.keys())
    gone = {
        key: f"cleanup {number} destroyed it, and --after N is the state after an earlier one"
        for key, number in replay.destroyed.items()
    }
    close = replay.context.settings.closeness
    return State(model, TRACE, depths_of, kept, close, spaces, notes, gone=gone, check=report)


class _Copying(Replay):
    """A replay that copies the model as it is after a cleanup."""

    def __init__(self, report: Report, expected: Expected | None, after: int | None) -> None:
        super().__init__(report, expected)
        self.found: Model | None = None
        self.uncreated: set[str] = set()
        """The PDs that no PD created: the root task did."""
        self.destroyed: dict[str, int] = {}
        """The cleanup that destroyed a PD, by the PD's id and by its name. The last one counts."""
        self._after = after

    def feed(self, event: Event) -> None:
        begins = self._after == 0 and event.name == "CLEANUP"
        if begins and self.found is None:
            self.found = self.model.copy()
        if event.name == "STEP" and event["name"] == "destroy-pd" and self.found is None:
            node = self.model.nodes.get(event["pd"])
            if node is not None:
                self.destroyed |= dict.fromkeys((node.id, node.name), event.number("n"))
        super().feed(event)
        if event.name == "PD":
            self.uncreated.add(event["id"])
        elif event.made("OWN") and event["op"] == "spawn":
            self.uncreated.discard(event["to"])
        if self._after and event.name == "SETTLED" and event.number("n") == self._after:
            self.found = self.model.copy()
