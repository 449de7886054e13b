# SPDX-License-Identifier: BSD-2-Clause
"""`cellreap report`: a page about a run, for a browser."""

from __future__ import annotations

from pathlib import Path

import click

from cellreap.cli.check_cmd import code_of, read_kept
from cellreap.cli.echo import echo_json
from cellreap.cli.params import image_option, json_option, programs_option
from cellreap.inputs import beside
from cellreap.pictures.nearness import Nearness
from cellreap.pictures.perfetto import perfetto
from cellreap.pictures.runpage import page_of
from cellreap.runs.known import known_of
from cellreap.runs.summary import tell
from cellreap.system.files import refuse_output, write_atomically
from cellreap.trace.check.replay import AroundCleanups
from cellreap.trace.events import printable
from cellreap.trace.report import Report, verdict_json, verdict_of


@click.command()
@click.argument("trace", type=click.Path(path_type=Path), metavar="TRACE")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="PAGE.html",
    help="Default: beside the trace, with the ending .html.",
)
@image_option("The image that was booted, or its configuration: as for `cellreap show`.")
@programs_option
@click.option(
    "--perfetto",
    "perfetto_output",
    type=click.Path(path_type=Path),
    metavar="FILE.json",
    help="Also write the time line for ui.perfetto.dev and chrome://tracing.",
)
@json_option
def report(
    trace: Path,
    output: Path | None,
    image: Path | None,
    programs: Path | None,
    perfetto_output: Path | None,
    as_json: bool,
) -> int:
    """Make a page about a run, which opens in a browser without a network.

    The page has the system at a chosen event, a time line, each cleanup with its steps, how close
    any two PDs are before and after it, what `show` tells, and all events. A trace that fails its
    check gives a page too, which shows where. The exit code is that of `cellreap show`. Graphviz
    (`dot`) places the nodes.
    """
    output = beside(trace, ".html") if output is None else output
    refuse_output(output, trace, image)
    refuse_output(perfetto_output, trace, image, output)
    known = known_of(trace, image, programs)
    checked = Report(str(trace))
    near = Nearness(checked)
    replay = AroundCleanups(checked, near.look, known.expected)
    reading = read_kept(trace, known, replay, keep_events=True)
    found = reading.report
    kernel = f"{printable(found.kernel) or 'an unknown kernel'} ({printable(found.arch)})"
    told = tell(reading, kernel)
    title = printable(found.system) or printable(trace.name)
    page = page_of(reading, told, title, near).encode()
    write_atomically(output, page)
    if perfetto_output is not None:
        write_atomically(perfetto_output, perfetto(reading.events, found).encode())
    if as_json:
        counts = {"events": found.events, "cleanups": len(found.cleanups)}
        shown = {"output": str(output), "bytes": len(page), **verdict_json(found), **counts}
        echo_json("report", shown)
    else:
        size = f"{found.events:,} events, {len(page) >> 10} KiB"
        click.echo(f"{output}: {size}, {verdict_of(found)}")
        for what in found.unverified:
            click.echo(f"not verified: {what}")
    return code_of(found)
