# SPDX-License-Identifier: BSD-2-Clause
"""`cellreap show`: tells the story of a kept trace."""

from __future__ import annotations

from pathlib import Path

import click

from cellreap.cli.check_cmd import explainer, show_progress
from cellreap.cli.echo import echo_json
from cellreap.cli.exit_codes import ExitCode
from cellreap.cli.params import image_option, json_option, programs_option
from cellreap.runs.expectation import expected_by
from cellreap.runs.summary import tell
from cellreap.trace.events import printable
from cellreap.trace.reading import read_file
from cellreap.trace.telling import reading_json


@click.command()
@click.argument("trace", type=click.Path(path_type=Path), metavar="TRACE")
@image_option(
    "The image that was booted, or its configuration: shows the source lines of faults, and "
    "what was not as expected."
)
@programs_option
@json_option
def show(trace: Path, image: Path | None, programs: Path | None, as_json: bool) -> int:
    """Tell the story of a kept trace, as `cellreap run` does.

    A trace without END, of a run that broke off, is told as far as it goes. The exit code is that
    of `cellreap check`, except that a missing END alone is no failure.
    """
    expected = None if image is None else expected_by(image)
    with show_progress(trace) as progress:
        reading = read_file(
            trace,
            progress=progress,
            expected=expected,
            explain=explainer(image, programs),
            open_end=True,
        )
    report = reading.report
    kernel = f"{printable(report.kernel) or 'an unknown kernel'} ({printable(report.arch)})"
    complaints = [str(problem) for problem in report.violations]
    if as_json:
        echo_json("show", reading_json(reading))
    else:
        for line in tell(reading, kernel, complaints, None):
            click.echo(line)
    if not report.passed:
        return ExitCode.FAILED
    return ExitCode.UNEXPECTED if report.unexpected else ExitCode.DONE
