# SPDX-License-Identifier: BSD-2-Clause
"""`cellreap check`: replays a trace against the reference model and reports violations."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from cellreap.cli.echo import echo_json
from cellreap.cli.exit_codes import ExitCode
from cellreap.cli.params import image_option, json_option, programs_option
from cellreap.runs.known import Known, known_of
from cellreap.runs.summary import waits_told
from cellreap.trace.check.replay import Replay
from cellreap.trace.events import printable
from cellreap.trace.reading import Reading, reading_json
from cellreap.trace.refusals import refusals_told
from cellreap.trace.report import (
    Cleanup,
    Failure,
    Report,
    Verdict,
    foreign_told,
    injected_told,
    kernels_word_told,
    verdict_of,
    violation_count,
    violation_lines,
)

SHOW_PROGRESS_FROM = 16 << 20
"""Size in bytes from which reading a file takes noticeable time."""


@click.command()
@click.argument("trace", type=click.Path(path_type=Path), metavar="TRACE")
@image_option("Hold the trace against the image that was booted, or against a configuration.")
@programs_option
@json_option
def check(trace: Path, image: Path | None, programs: Path | None, as_json: bool) -> int:
    """Replay a trace against the reference model.

    TRACE is the console log of a run, as `cellreap boot` records it. The exit code is 0 if the
    trace passes, 1 if it does not, 2 if the file contains no readable trace, 3 if the run came to
    something else than the configuration expects, and 4 if the trace has no END and is right as far
    as it goes. The trace must be of the run that the image or configuration of --image describes.
    Without --image, that is NAME.img beside NAME.trace. A configuration does not say which kernel
    and programs are used, so only an image tells the sizes of PDs.
    """
    reading = read_kept(trace, known_of(trace, image, programs))
    if as_json:
        echo_json("check", reading_json(reading))
    else:
        click.echo("\n".join(summary(reading.report)))
    return code_of(reading.report)


def read_kept(
    trace: Path, known: Known, replay: Replay | None = None, *, keep_events: bool = False
) -> Reading:
    """Reads a kept trace, with a progress bar. The arguments are those of `Known.read`."""
    with show_progress(trace) as progress:
        return known.read(trace, keep_events=keep_events, progress=progress, replay=replay)


def code_of(report: Report) -> ExitCode:
    """The exit code for a trace."""
    return {
        Verdict.FAIL: ExitCode.FAILED,
        Verdict.UNEXPECTED: ExitCode.UNEXPECTED,
        Verdict.NO_END: ExitCode.NO_END,
        Verdict.PASS: ExitCode.DONE,
    }[verdict_of(report)]


@contextlib.contextmanager
def show_progress(path: Path) -> Iterator[Callable[[int], None] | None]:
    """A progress bar on stderr, if the file is large and stderr is a terminal."""
    try:
        size = path.stat().st_size if path.is_file() else 0
    except (OSError, ValueError):
        size = 0  # reading it will report the error
    if size < SHOW_PROGRESS_FROM or not sys.stderr.isatty():
        yield None
        return
    with click.progressbar(length=size, label=f"checking {path.name}", file=sys.stderr) as bar:
        yield bar.update


def summary(report: Report) -> list[str]:
    """The report as text, one string a line."""
    kernel = printable(report.kernel) or "an unknown kernel"
    heading = f"{printable(report.path)}: {kernel}, {printable(report.arch)}"
    system = f", system {printable(report.system)}" if report.system else ""
    lines = [f"{heading}{system}: {_count(report.events, 'event')}"]
    for cleanup in report.cleanups:
        lines += _cleanup_lines(cleanup, report)
    for fault in report.faults:
        handler = "" if fault.handler is None else f", told to {_label(fault.handler, report)}"
        lines.append(f"{_label(fault.pd, report)}: {fault.what}, {fault.where}{handler}")
        overflow = fault.overflow_told()
        lines += [f"  {line}" for line in (overflow, *fault.registers_told()) if line]
    for late in report.late:
        about = f"{late.deadline} ms for notice {late.token} ({late.kind} {late.node})"
        lines.append(f"{_label(late.pd, report)} missed its deadline of {about}")
    for hung in report.hung:
        how = hung.told(lambda pd: _label(pd, report))
        lines.append(f"{_label(hung.pd, report)} hung: {how}")
    lines += [failure_line(failure, report) for failure in report.failures]
    for ticket in report.tickets:
        what = f"the end of {_label(ticket.what, report)}" if ticket.what else "an extraction"
        state = ticket.state or "it was told nothing of it"
        lines.append(f"ticket {ticket.ticket} of {_label(ticket.pd, report)}, {what}: {state}")
    for extraction in report.extractions:
        rows = _count(len(extraction.rows), "row")
        pieces = f"{_count(extraction.subgraphs, 'edge')} reported by servers"
        lines.append(
            f"extraction {extraction.number} for {_label(extraction.by, report)}: {rows}, {pieces}"
        )
    lines += refusals_told(report.refusals, lambda pd: _label(pd, report))
    lines += waits_told(report)
    lines += [f"{_label(each.pd, report)} {each.what}" for each in report.undone]
    lines += [f"not verified: {what}" for what in report.unverified]
    if report.asked:
        lines.append(kernels_word_told(report))
    if report.injected:
        lines.append(injected_told(report))
    if report.foreign_lines:
        lines.append(foreign_told(report.foreign_lines))
    lines += [printable(line, 2000) for line in violation_lines(report)]
    lines += [f"{printable(report.path)}:{printable(str(each))}" for each in report.unexpected]
    verdict = verdict_of(report)
    why = {
        Verdict.FAIL: f": {_count(violation_count(report), 'violation')}",
        Verdict.UNEXPECTED: f": {_count(len(report.unexpected), 'finding')}",
        Verdict.NO_END: ": right as far as it goes",
    }
    return [*lines, verdict + why.get(verdict, "")]


def _cleanup_lines(cleanup: Cleanup, report: Report) -> list[str]:
    plan = cleanup.plan

    def named(nodes: list[str]) -> str:
        return ", ".join(_label(node, report) for node in nodes) or "none"

    depths = f"pd_depth {plan['pd_depth']}, rs_depth {plan['rs_depth']}"
    calls = _count(sum(cleanup.kernel_calls.values()), "kernel call")
    return [
        f"cleanup {cleanup.number}: {cleanup.cause} of {_label(cleanup.trigger, report)}, "
        f"{depths}: {calls}",
        f"  destroyed PDs: {named([pd for pd, _ in plan['destroyed_pds']])}",
        f"  deleted spaces: {named(plan['deleted_spaces'])}",
        f"  {_count(len(plan['revoked']), 'capability', 'capabilities')} and "
        f"{_count(len(plan['removed_requests']), 'request')} taken from survivors, "
        f"{_count(len(plan['notices']), 'notice')}",
    ]


def failure_line(failure: Failure, report: Report) -> str:
    """The line that tells an operator about a notice that failed."""
    what = f"failed to deal with notice {failure.token} ({failure.kind} {failure.node})"
    after = "resumed later" if failure.resumed else f"{_count(failure.waiting, 'notice')} behind it"
    return f"{_label(failure.pd, report)} {what}: {after}"


def _label(node: str, report: Report) -> str:
    name = report.names.get(node)
    return f"{node} ({printable(name, 40)})" if name else node


def _count(count: int, one: str, many: str | None = None) -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"
