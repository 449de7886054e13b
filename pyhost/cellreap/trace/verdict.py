# SPDX-License-Identifier: BSD-2-Clause
"""The verdict about a trace in words. Every command that reads a trace has it from here."""

from __future__ import annotations

from collections.abc import Sequence

from cellreap.trace.events import printable
from cellreap.trace.report import (
    Report,
    Unexpected,
    Verdict,
    Word,
    counted,
    verdict_of,
    violation_count,
    violation_lines,
)

_SHOWN = 10


def verdict_lines(report: Report, seconds: float | None = None, ended: bool = False) -> list[str]:
    """The last lines of a summary: what was not verified, the verdict, and its reasons.

    seconds: the duration of the run; None: it is not known. ended: the user ended it.
    """
    lines = []
    for what in report.unverified:
        lines += [f"Not verified: {what}.", ""]
    verdict = verdict_of(report)
    complaints = violation_lines(report)
    took = "" if seconds is None else f" in {seconds:.1f} s"
    count = f"{report.events} events{took}"
    findings = list(map(str, report.unexpected))
    match verdict:
        case Verdict.FAIL:
            lines.append(f"FAIL: {counted(violation_count(report), 'violation')}, {count}")
            lines += _reasons(complaints)
        case Verdict.NO_END:
            how = "ENDED AS ASKED" if ended else "NO END"
            lines.append(f"{how}: right as far as it goes; {count}")
        case Verdict.PASS:
            waits = sum(each.waits for each in report.waits)
            also = f"; {counted(waits, 'PD')} still waiting for an answer" if waits else ""
            lines.append(f"PASS: everything as the reference model has it{also}; {count}")
    if findings:
        so_far = " so far" if report.broken_off else ""
        also = f"; the cleanups are as the reference model has them{so_far}; {count}"
        also = "" if complaints else also
        lines.append(f"NOT AS EXPECTED: {counted(len(findings), 'finding')}{also}")
        lines += _reasons(findings)
    return lines


def _reasons(texts: Sequence[str]) -> list[str]:
    return [f"  {printable(text, 400)}" for text in first_of(texts)]


def first_of(lines: Sequence[str]) -> list[str]:
    """The first ten lines, and how many there are more."""
    more = [f"... and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
    return [*lines[:_SHOWN], *more]


def found_in(report: Report) -> list[Unexpected]:
    """How a run was not what its configuration demands, as its trace alone shows it."""
    found = [Unexpected(Word.NOT_CRASHED, str(each)) for each in report.unreached]
    for cleanup in report.cleanups:
        if cleanup.left:
            text = f"cleanup {cleanup.number} left {counted(len(cleanup.left), 'step')}"
            text += " for good" if cleanup.for_good else ""
            steps = ", ".join(_step(report, *step) for step in cleanup.left[:_SHOWN])
            more = ", ..." if len(cleanup.left) > _SHOWN else ""
            found.append(Unexpected(Word.LEFT, f"{text}: {steps}{more}"))
    return found


def _step(report: Report, name: str, node: str, pd: str) -> str:
    """A step that was left: "destroy-pd server (PD_1)"."""
    about = pd if node == "-" else node
    named = report.names.get(about)
    return f"{name} {named} ({about})" if named else f"{name} {about}"
