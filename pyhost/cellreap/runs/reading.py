# SPDX-License-Identifier: BSD-2-Clause
"""Reads the trace of a boot, however the boot ended."""

from __future__ import annotations

from pathlib import Path

from cellreap.errors import InputError
from cellreap.runs.boot import Boot, End
from cellreap.trace.expected import NO_END, Expected
from cellreap.trace.explain import Explain
from cellreap.trace.outcome import unexpected
from cellreap.trace.reading import Reading, read_trace
from cellreap.trace.report import Report


def read_run(
    trace: Path,
    boot: Boot,
    expected: Expected,
    *,
    keep_events: bool = False,
    explain: Explain | None = None,
) -> Reading:
    """Reads and checks the trace of a boot. InputError if a complete run has no readable trace.

    A boot that ended early may have no event at all. Then nothing is known of it but that.
    """
    try:
        with trace.open("rb") as stream:
            reading = read_trace(
                stream,
                trace.name,
                keep_events=keep_events,
                expected=expected,
                explain=explain,
                open_end=True,
            )
    except InputError:
        if boot.end is End.COMPLETE:
            raise
        report = Report(trace.name)
        report.broken_off = True
        report.unverified.append(NO_END)
        report.stopped = boot.detail if boot.end is End.FATAL else ""
        reading = Reading(report)
        report.unexpected = unexpected(reading.outcome, expected)
        return reading
    report = reading.report
    if boot.end is End.FATAL and report.broken_off and not report.stopped:
        report.stopped = boot.detail  # a board's own word, which no console of QEMU has
    return reading
