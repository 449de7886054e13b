# SPDX-License-Identifier: BSD-2-Clause
"""One reading of a trace, for everybody: the check's report, the story, the events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import BinaryIO

from cellreap.trace.check.stream import Consumer, check_stream
from cellreap.trace.events import Event
from cellreap.trace.report import Report
from cellreap.trace.story import Story


@dataclass
class Reading:
    """What one pass over a trace yields. events: all of them, if they were to be kept."""

    report: Report
    story: Story = field(default_factory=Story)
    events: list[Event] = field(default_factory=list)


def read_trace(
    stream: BinaryIO,
    path: str,
    *,
    keep_events: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Reading:
    """Reads and checks the trace in a console log. InputError if there is none in it.

    keep_events: for those who look at single events; they take memory. progress: called with the
    number of bytes after each piece read.
    """
    story = Story()
    events: list[Event] = []
    also: list[Consumer] = [story.take]
    if keep_events:
        also.append(events.append)
    return Reading(check_stream(stream, path, progress, also), story, events)
