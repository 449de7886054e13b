# SPDX-License-Identifier: BSD-2-Clause
"""Reads a trace once for all users: the report of the check, the story and the events. All that is
known of a run is one object for --json.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, BinaryIO

from cellreap.trace.check.replay import Replay
from cellreap.trace.check.stream import Consumer, check_stream
from cellreap.trace.events import Event, without_text
from cellreap.trace.expected import Expected
from cellreap.trace.explain import Explain
from cellreap.trace.faults import READS as FAULTS
from cellreap.trace.faults import Faults
from cellreap.trace.outcome import READS as OUTCOME
from cellreap.trace.outcome import Outcome, unexpected
from cellreap.trace.refusals import READS as REFUSALS
from cellreap.trace.refusals import Refusals
from cellreap.trace.report import Cleanup, Report, found_in, report_json
from cellreap.trace.silence import Listener
from cellreap.trace.story import READS as STORY
from cellreap.trace.story import Chapter, Story


class Reading:
    """The results of one pass over a trace. events: all events, if they were to be kept."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.story = Story(report)
        self.outcome = Outcome(report)
        self.events: list[Event] = []


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
    replay = replay or Replay(Report(path), expected)
    report = replay.report
    reading, listener = Reading(report), Listener(explain.standing)
    also: list[Consumer] = [
        (Faults(report, explain.fault).take, FAULTS), (Refusals(report).take, REFUSALS),
        (listener.take, None), (reading.story.take, STORY), (reading.outcome.take, OUTCOME),
    ]  # fmt: skip
    if keep_events:
        also.append((lambda event: reading.events.append(without_text(event)), None))
    check_stream(stream, path, progress, also, replay=replay, open_end=open_end)
    report.silence = listener.heard() if report.cut_off else None
    report.waits = listener.waits
    report.unexpected = found_in(report)
    if expected is not None:
        report.unexpected += unexpected(reading.outcome, expected)
    return reading


def reading_of(report: Report, events: list[Event]) -> Reading:
    """The reading of a trace that was checked before, from its events."""
    reading = Reading(report)
    for event in events:
        reading.story.take(event)
        reading.outcome.take(event)
    reading.events = events
    return reading


def reading_json(reading: Reading) -> dict[str, Any]:
    """The keys of `cellreap.output.Report`."""
    report, story = reading.report, reading.story
    shown = report_json(report)
    chapters = {chapter.number: chapter for chapter in story.chapters}
    cleanups = []
    for cleanup, plain in zip(report.cleanups, shown["cleanups"], strict=True):
        silent = Chapter(cleanup.number, cleanup.trigger, cleanup.cause, ("", ""), 0)
        cleanups.append({**plain, **_cleanup(chapters.get(cleanup.number, silent), cleanup)})
    alive = report.alive()
    return {
        **shown,
        "alive": alive,
        "dead": [pd for pd in report.pds() if pd not in alive],
        "exits": dict(sorted(reading.outcome.exits.items())),
        "said": [{"pd": pd, "text": text, "after": after} for pd, text, after in story.said],
        "in_use": None if story.in_use is None else _amount(*story.in_use),
        "events": report.events,
        "cleanups": cleanups,
    }


def _cleanup(chapter: Chapter, checked: Cleanup) -> dict[str, Any]:
    settled = chapter.of("SETTLED")
    end = settled[-1] if settled else None
    return {
        "number": chapter.number,
        "how": chapter.how,
        "order": checked.destroyed,
        "freed": _amount(*checked.freed),
        "in_use": None if end is None else _amount(end.number("bytes"), end.number("slots")),
        "cycles": sum(event.number("cycles") for event in settled),
        "acknowledged": {
            "owed": len(checked.plan["notices"]),
            "ok": chapter.finished["ok"],
            "failed": chapter.finished["failed"],
        },
        "before": {"owed": len(checked.plan["pre_destroy"]), "answered": chapter.answered},
    }


def _amount(size: int, slots: int) -> dict[str, int]:
    return {"bytes": size, "slots": slots}
