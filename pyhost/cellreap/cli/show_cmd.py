# SPDX-License-Identifier: BSD-2-Clause
"""`cellreap show`: tells the story of a kept trace."""

from __future__ import annotations

from pathlib import Path

import click

from cellreap.cli.check_cmd import code_of, read_kept
from cellreap.cli.echo import echo_json
from cellreap.cli.exit_codes import ExitCode
from cellreap.cli.params import image_option, json_option, programs_option
from cellreap.cli.story import echo_story
from cellreap.errors import UsageError
from cellreap.inputs import opened
from cellreap.runs.known import known_of
from cellreap.runs.summary import said_lines, tell
from cellreap.trace.events import printable, record_text
from cellreap.trace.lines import others_on, readable
from cellreap.trace.reader import Reader, read
from cellreap.trace.reading import reading_json


def _show_records(trace: Path) -> int:
    """Prints the records of a trace. Damage is told on stderr."""
    reader = Reader(str(trace))
    with opened(trace) as stream:
        for event in read(reader, stream):
            click.echo(record_text(event))
    for problem in reader.problems:
        click.echo(f"{trace}:{problem}", err=True)
    return ExitCode.FAILED if reader.problems else ExitCode.DONE


@click.command()
@click.argument("trace", type=click.Path(path_type=Path), metavar="TRACE")
@image_option(
    "The image that was booted: shows the source lines of faults, and what was not as expected. Or "
    "its configuration: shows the latter."
)
@programs_option
@click.option(
    "--records",
    "as_records",
    is_flag=True,
    help="Print the records of the trace instead, one a line: number, event, fields, time.",
)
@click.option(
    "--said",
    is_flag=True,
    help="Print what PDs said instead, one a line, in order, with a line for each cleanup.",
)
@click.option(
    "--console",
    is_flag=True,
    help="Print what is on the console instead, without the trace: what PDs for Microkit print, "
    "and the kernel.",
)
@json_option
def show(
    trace: Path,
    image: Path | None,
    programs: Path | None,
    as_records: bool,
    said: bool,
    console: bool,
    as_json: bool,
) -> int:
    """Tell the story of a kept trace, as `cellreap run` does.

    A trace without END, of a run that broke off, is told as far as it goes. Verdict and exit code
    are those of `cellreap check`. With --records, the exit code is 1 if the trace is damaged; the
    records before the damage are printed.
    """
    forms = {"--records": as_records, "--said": said, "--console": console, "--json": as_json}
    chosen = [option for option, given in forms.items() if given]
    if len(chosen) > 1:
        what = f"prints text of its own, so it does not go with {chosen[1]}"
        raise UsageError(f"{chosen[0]}: {what}")
    if as_records:
        return _show_records(trace)
    reading = read_kept(trace, known_of(trace, image, programs))
    report = reading.report
    kernel = f"{printable(report.kernel) or 'an unknown kernel'} ({printable(report.arch)})"
    if said:
        click.echo("".join(f"{line}\n" for line in said_lines(reading)), nl=False)
    elif console:
        for line in others_on(trace).splitlines():
            click.echo(readable(line))
    elif as_json:
        echo_json("show", reading_json(reading))
    else:
        echo_story(tell(reading, kernel))
    return code_of(report)
