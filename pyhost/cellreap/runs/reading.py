# SPDX-License-Identifier: BSD-2-Clause
"""Reads the trace of a boot, however the boot ended."""

from __future__ import annotations

from pathlib import Path

from cellreap.errors import InputError
from cellreap.runs.boot import Boot, End
from cellreap.trace.expected import NO_END, Expected
from cellreap.trace.explain import Explain
from cellreap.trace.reading import Reading, read_trace
from cellreap.trace.report import Report


def read_run(
    trace: Path,
    boot: Boot,
    expected: Expected,
    *,
    keep_events: bool = False,
    explain: Explain | None = None,
    open_end: bool = False,
) -> Reading:
    """Reads and checks the trace of a boot. InputError if a complete run has no readable trace.

    A boot that ended early may have no event at all. The finding is then how it ended.
    """
    try:
        with trace.open("rb") as stream:
            return read_trace(
                stream,
                trace.name,
                keep_events=keep_events,
                expected=expected,
                explain=explain,
                open_end=open_end,
            )
    except InputError:
        if boot.end is End.COMPLETE:
            raise
        report = Report(trace.name)
        if open_end:  # it was ended before its first event, and nothing is known of it
            report.broken_off = True
            report.unverified.append(NO_END)
        return Reading(report)
