# SPDX-License-Identifier: BSD-2-Clause
"""A replay that shows the states around the cleanups of a trace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from cellreap.model.indexed import IndexedModel
from cellreap.trace.check.independent import without
from cellreap.trace.check.replay import Replay
from cellreap.trace.events import Event
from cellreap.trace.expected import Expected
from cellreap.trace.report import Report

Look = Callable[[Literal["before", "after"], Event, IndexedModel], None]
"""Gets a state, without what a cleanup that runs beside dooms, and the event CLEANUP or SETTLED."""


class AroundCleanups(Replay):
    """Calls `look` before and after each cleanup."""

    def __init__(self, report: Report, look: Look, expected: Expected | None = None) -> None:
        super().__init__(report, expected)
        self._look = look

    def feed(self, event: Event) -> None:
        if event.name == "CLEANUP":
            self._look("before", event, self._state())
        super().feed(event)
        if event.name == "SETTLED":
            self._look("after", event, self._state())

    def _state(self) -> IndexedModel:
        return without(self.model, self.context.cleanups.doomed())
