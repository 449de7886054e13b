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
from cellreap.errors import UsageError
from cellreap.runs.expectation import expected_by
from cellreap.runs.places import places_by
from cellreap.runs.summary import waits_told
from cellreap.trace.events import printable
from cellreap.trace.explain import Explain
from cellreap.trace.reading import read_file
from cellreap.trace.refusals import refusals_told
from cellreap.trace.report import (
    Cleanup,
    Failure,
    Report,
    foreign_told,
    injected_told,
    kernels_word_told,
)
from cellreap.trace.telling import reading_json

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
    trace passes, 1 if it does not, and 2 if the file contains no readable trace. With --image, the
    trace must be of the run that the configuration describes, and 3 means that the run came to
    something else than the configuration expects. A configuration does not say which
    kernel and programs are used, so only an image tells the sizes of PDs.
    """
    expected = None if image is None else expected_by(image)
    with show_progress(trace) as progress:
        reading = read_file(
            trace, progress=progress, expected=expected, explain=explainer(image, programs)
        )
    report = reading.report
    if as_json:
        echo_json("check", reading_json(reading))
    else:
        click.echo("\n".join(summary(report)))
    if not report.passed:
        return ExitCode.FAILED
    return ExitCode.UNEXPECTED if report.unexpected else ExitCode.DONE


def explainer(image: Path | None, programs: Path | None) -> Explain | None:
    """What explains faults: the given image or configuration. UsageError, InputError as there."""
    if image is None:
        if programs is not None:
            raise UsageError("--programs: expected --image with the image of these programs")
        return None
    return places_by(image, programs).explain()


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
    lines += [printable(str(each), 400) for each in report.unreached]
    lines += waits_told(report)
    lines += [f"{_label(each.pd, report)} {each.what}" for each in report.undone]
    lines += [f"not verified: {what}" for what in report.unverified]
    if report.asked:
        lines.append(kernels_word_told(report))
    if report.injected:
        lines.append(injected_told(report))
    if report.foreign_lines:
        lines.append(foreign_told(report.foreign_lines))
    for problem in report.violations:
        lines.append(f"{printable(report.path)}:{problem}")
    if report.more_violations:
        lines.append(f"{printable(report.path)}: {report.more_violations} more")
    lines += [f"{printable(report.path)}:{printable(str(each))}" for each in report.unexpected]
    found = len(report.violations) + report.more_violations
    if not found and report.unexpected:
        return [*lines, f"not as expected: {_count(len(report.unexpected), 'finding')}"]
    verdict = "pass" if report.passed else f"fail: {_count(found, 'violation')}"
    return [*lines, verdict]


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
