# SPDX-License-Identifier: BSD-2-Clause
"""Checks whole traces, given as events, console logs or files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import BinaryIO

from cellreap.inputs import opened
from cellreap.trace.check.replay import Replay
from cellreap.trace.events import Event
from cellreap.trace.expected import NO_END, Expected
from cellreap.trace.reader import MAX_PROBLEMS, Reader, read, stop_message
from cellreap.trace.report import Report

Consumer = tuple[Callable[[Event], None], Collection[str] | None]
"""A function that takes events of a trace, in order; and what those tell. None: it takes all."""


def check(events: Iterable[Event], path: str = "trace", expected: Expected | None = None) -> Report:
    """Replays the events of a complete trace, in order. `path` is for messages only."""
    replay = Replay(Report(path), expected)
    for event in events:
        replay.feed(event)
    replay.finish()
    return replay.report


def check_stream(
    stream: BinaryIO,
    path: str,
    progress: Callable[[int], None] | None = None,
    also: Iterable[Consumer] = (),
    expected: Expected | None = None,
    replay: Replay | None = None,
    open_end: bool = False,
) -> Report:
    """Checks the trace in a console log. InputError if there is no trace in it.

    progress: called with the number of bytes after each piece that was read. also: consumers that
    get each event after the replay. expected: what the configuration demands, if it is known.
    replay: a new one of this path and `expected`, if a consumer looks into it. open_end: the trace
    need not have an END, because the run was ended from outside.

    The replay ends where the trace is damaged, because events after a lost one cannot be
    interpreted. Damage after that place is still reported.
    """
    reader = Reader(path)
    replay = replay or Replay(Report(path), expected)
    consumers: list[Consumer] = [(replay.feed, None), *also]
    by_told: dict[str, list[Callable[[Event], None]]] = {}
    for event in read(reader, stream, progress):
        told = event.told
        takers = by_told.get(told)
        if takers is None:
            takers = [take for take, whose in consumers if whose is None or told in whose]
            by_told[told] = takers
        for take in takers:
            take(event)
    report = replay.report
    report.foreign_lines = reader.foreign
    if reader.broken_at is None:
        replay.finish()
    report.cut_off = reader.cut_off and reader.broken_at == reader.last_line
    if reader.cut_off:
        report.unverified.append(NO_END)
        report.stopped = stop_message(reader)
    if open_end and reader.cut_off:
        _accept_cut(reader, report)
    violations = [*reader.problems, *report.violations]
    report.violations = sorted(violations, key=lambda problem: problem.line)
    report.more_violations += reader.more_problems + max(0, len(report.violations) - MAX_PROBLEMS)
    del report.violations[MAX_PROBLEMS:]
    return report


def _accept_cut(reader: Reader, report: Report) -> None:
    """A trace that ends without END is no damage, nor is a last line of which a part is there,
    nor what a PD prints behind the last event."""
    last = ("line.cut", "line.form", "line.checksum", "line.cut_off")
    reader.problems = [
        problem
        for problem in reader.problems
        if problem.line not in reader.at_end or problem.rule not in last
    ]
    report.broken_off = True


def check_file(path: str | Path) -> Report:
    """Checks the trace in a file. InputError if there is no trace in it or it cannot be read."""
    with opened(path) as stream:
        return check_stream(stream, str(path))
