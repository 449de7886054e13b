# SPDX-License-Identifier: BSD-2-Clause
"""`cellreap campaign`: boots every combination of a matrix, and goes on where it was ended."""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cellreap.cli.echo import echo_json
from cellreap.cli.exit_codes import ExitCode
from cellreap.cli.params import json_option
from cellreap.errors import UsageError
from cellreap.system.files import refuse_output, write_atomically

if TYPE_CHECKING:
    from cellreap.campaign.running import Result, Standing

_NEEDED = ("taskflow", "sqlalchemy", "alembic")
_WATCH_SECONDS = 0.5


@click.command()
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE.toml")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Where the campaign keeps its state, traces and images: by default NAME.campaign.",
)
@click.option(
    "-j",
    "--workers",
    type=click.IntRange(min=1, max=1024),
    metavar="N",
    help="Cells that run at a time: by default as many as the machine has cores.",
)
@click.option("--resume", is_flag=True, help="Go on with what DIR has, also after a kill.")
@click.option("--again", is_flag=True, help="Forget what DIR or the server has, and run all anew.")
@click.option("--watch", is_flag=True, help="Show how far the campaign is that another one runs.")
@click.option("--tasks", is_flag=True, help="Show how far the tasks of each cell are.")
@click.option("--clear", is_flag=True, help="With --jobboard: delete what the server has of it.")
@click.option(
    "--jobboard",
    metavar="URL",
    help="Run it with all machines that run this command with the same file and URL: "
    "zookeeper://HOST:PORT or redis://HOST:PORT.",
)
@click.option(
    "--junit",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the results as JUnit XML.",
)
@click.option(
    "--tap",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the results as TAP.",
)
@json_option
def campaign(
    file: Path,
    output: Path | None,
    workers: int | None,
    resume: bool,
    again: bool,
    watch: bool,
    tasks: bool,
    clear: bool,
    jobboard: str | None,
    junit: Path | None,
    tap: Path | None,
    as_json: bool,
) -> int:
    """Build, boot and check every combination of a matrix.

    Ctrl-C ends the emulators. What is done stays done: --resume goes on, and runs nothing again
    that has a result, unless what the cell is made from has changed. The exit code is 1 if a cell
    did not pass, and 130 after Ctrl-C.
    """
    for name in _NEEDED:
        if importlib.util.find_spec(name) is None:
            raise UsageError(
                f"campaigns need {', '.join(_NEEDED)}: pip install 'cellreap[campaign]'"
            )
    from cellreap.campaign import reports  # TaskFlow takes half a second to import
    from cellreap.campaign.effort import Effort, cores
    from cellreap.campaign.identity import identified
    from cellreap.campaign.matrix import read_campaign
    from cellreap.campaign.running import run_campaign, tasks_in_folder

    modes = {"--watch": watch, "--tasks": tasks, "--clear": clear, "--again": again}
    asked = [name for name, given in modes.items() if given]
    if len(asked) > 1 or (asked and resume):
        others = ", ".join([*asked, *(["--resume"] if resume else [])])
        raise UsageError(f"{others}: expected one of them")
    if clear and jobboard is None:
        raise UsageError("--clear: expected --jobboard with the server to clear")
    read = read_campaign(file)
    folder = output or Path(f"{read.settings.name}.campaign")
    refuse_output(junit, file)
    refuse_output(tap, file, junit)
    count = workers or cores()
    begin = Effort.now()
    head = {"campaign": read.settings.name, "folder": str(folder)}
    if watch and jobboard is None:
        return _watch(folder)
    if jobboard is not None:
        from cellreap.campaign.address import parse_address
        from cellreap.campaign.shared import (
            clear_shared,
            run_shared,
            tasks_on_server,
            watch_shared,
        )

        address = parse_address(jobboard)
        if clear:
            cleared = clear_shared(read, address)
            if as_json:
                echo_json("campaign", {**head, "cleared": cleared})
            else:
                click.echo(f"{cleared} results deleted from {address.shown()}")
            return ExitCode.DONE
        read = identified(read)
        if watch:
            watched = watch_shared(read, address, _tell_watcher)
            done, every = len(watched.results), len(watched.cells)
            click.echo(f"the campaign is done: {done} of {every} results")
            return ExitCode.DONE
        if not tasks:
            standing = run_shared(
                read,
                folder.absolute(),
                count,
                address,
                resume=resume,
                again=again,
                on_result=_tell,
                on_note=lambda note: click.echo(note, err=True),
            )
    else:
        read = identified(read)
        if not tasks:
            standing = run_campaign(
                read, folder.absolute(), count, resume=resume, again=again, on_result=_tell
            )
    if tasks:
        found = tasks_on_server(read, address) if jobboard else tasks_in_folder(read, folder)
        if as_json:
            echo_json("campaign", {**head, "tasks": reports.shown_tasks(found)})
        else:
            for line in reports.tasks_table(found):
                click.echo(line)
        return ExitCode.DONE
    effort = Effort.now().since(begin)
    results, not_run = standing.in_order(), standing.not_run()
    if junit is not None:
        write_atomically(junit, reports.junit(read.settings.name, results).encode())
    if tap is not None:
        write_atomically(tap, reports.tap(results).encode())
    if as_json:
        told = reports.shown(read.settings.name, str(folder), results, not_run)
        echo_json("campaign", {**told, "effort": reports.shown_effort(effort)})
    else:
        for line in reports.table(results, not_run):
            click.echo(line)
        click.echo(f"{_duration(effort.seconds)} here, {reports.busy(effort)}")
    passed = all(result.passed for result in results) and not not_run
    return ExitCode.DONE if passed else ExitCode.FAILED


def _tell(standing: Standing, result: Result) -> None:
    """A line on stderr for each cell that has ended."""
    done, every = len(standing.results), len(standing.cells)
    left = standing.seconds_left()
    rest = f", {_duration(left)} left" if left and done < every else ""
    click.echo(f"{done}/{every} {result.verdict} {result.cell.title}{rest}", err=True)


def _tell_watcher(standing: Standing, result: Result) -> None:
    """A line for each result, of a campaign that others run."""
    done = len(standing.results)
    click.echo(f"{done}/{len(standing.cells)} {result.verdict} {result.cell.title}")
    sys.stdout.flush()


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def _watch(folder: Path, pause: Callable[[float], None] = time.sleep) -> int:
    """Shows each result once, until the campaign has ended."""
    from cellreap.campaign.running import read_state

    told = 0
    while True:
        state = read_state(folder)
        results, ended = state["results"], state["state"]
        lines = [f"{state['cells']} {it['verdict']} {it['cell']}" for it in results]
        for number, line in enumerate(lines[told:], told + 1):
            click.echo(f"{number}/{line}")
        told = len(results)
        sys.stdout.flush()
        if ended != "running":
            click.echo(f"the campaign is {ended}: {told} of {state['cells']} results")
            return ExitCode.DONE
        pause(_WATCH_SECONDS)
