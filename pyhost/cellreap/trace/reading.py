# SPDX-License-Identifier: BSD-2-Clause
"""Reads a trace once for all users: the report of the check, the story and the events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from cellreap.inputs import opened
from cellreap.trace.check.replay import Replay
from cellreap.trace.check.stream import Consumer, check_stream
from cellreap.trace.events import Event, without_text
from cellreap.trace.expected import Expected
from cellreap.trace.explain import Explain
from cellreap.trace.faults import READS as FAULTS
from cellreap.trace.faults import Faults
from cellreap.trace.outcome import Outcome, unexpected
from cellreap.trace.refusals import READS as REFUSALS
from cellreap.trace.refusals import Refusals
from cellreap.trace.report import Report
from cellreap.trace.silence import Listener
from cellreap.trace.story import READS as STORY
from cellreap.trace.story import Story
from cellreap.trace.verdict import found_in


@dataclass
class Reading:
    """The results of one pass over a trace. events: all events, if they were to be kept."""

    report: Report
    story: Story = field(default_factory=Story)
    outcome: Outcome = field(default_factory=Outcome)
    events: list[Event] = field(default_factory=list)


def read_trace(
    stream: BinaryIO,
    path: str,
    *,
    keep_events: bool = False,
    progress: Callable[[int], None] | None = None,
    expected: Expected | None = None,
    explain: Explain | None = None,
    open_end: bool = False,
    replay: Replay | None = None,
) -> Reading:
    """Reads and checks the trace in a console log. InputError if there is no trace in it.

    keep_events: keep all events, which takes memory, without the text of snapshots. progress:
    called with the number of bytes after each piece that was read. expected: what the
    configuration demands, if it is known. explain: what programs and configuration
    tell. open_end: the trace need not have an END. replay: as check_stream has it.
    """
    explain = explain or Explain()
    faults, listener = Faults(explain.fault), Listener(explain.standing)
    refusals = Refusals()
    story = Story()
    outcome = Outcome()
    events: list[Event] = []
    also: list[Consumer] = [
        (faults.take, FAULTS), (refusals.take, REFUSALS), (listener.take, None),
        (story.take, STORY), (outcome.take, None),
    ]  # fmt: skip
    if keep_events:
        also.append((lambda event: events.append(without_text(event)), None))
    report = check_stream(stream, path, progress, also, expected, replay, open_end)
    report.faults = faults.found
    report.refusals = refusals.found
    report.silence = listener.heard() if report.cut_off else None
    report.waits = listener.waits
    report.unexpected = found_in(report)
    if expected is not None:
        alive = [report.names[pd] for pd in report.alive()]
        report.unexpected += unexpected(outcome, expected, alive)
    return Reading(report, story, outcome, events)


def reading_of(report: Report, events: list[Event]) -> Reading:
    """The reading of a trace that was checked before, from its events."""
    story, outcome = Story(), Outcome()
    for event in events:
        story.take(event)
        outcome.take(event)
    return Reading(report, story, outcome, events)


def read_file(
    path: Path,
    *,
    keep_events: bool = False,
    progress: Callable[[int], None] | None = None,
    expected: Expected | None = None,
    explain: Explain | None = None,
    open_end: bool = False,
    replay: Replay | None = None,
) -> Reading:
    """Reads and checks the trace in a file, as read_trace does."""
    with opened(path) as stream:
        return read_trace(
            stream,
            str(path),
            keep_events=keep_events,
            progress=progress,
            expected=expected,
            explain=explain,
            open_end=open_end,
            replay=replay,
        )
