# SPDX-License-Identifier: BSD-2-Clause
"""`cellreap flash`: boots an image on a board and records its console."""

from __future__ import annotations

from pathlib import Path

import click

from cellreap.boards.description import find_board, known_boards, load_description
from cellreap.boards.flash import LOG_SUFFIX, Limits, flash_image
from cellreap.cli.boot_cmd import boot_json
from cellreap.cli.echo import echo_json
from cellreap.cli.exit_codes import ExitCode
from cellreap.cli.params import idle_option, json_option, timeout_option
from cellreap.errors import CellreapError
from cellreap.inputs import beside
from cellreap.progress import Progress
from cellreap.runs.boot import End
from cellreap.system.image import read_image


@click.command()
@click.argument("image", type=click.Path(path_type=Path), metavar="IMAGE")
@click.option(
    "--board",
    required=True,
    metavar="NAME|FILE.toml",
    help="The board's description: a file, or a name. Names are those of files in "
    "$XDG_CONFIG_HOME/cellreap/boards, and of the descriptions that come with cellreap: "
    f"{', '.join(known_boards())}.",
)
@timeout_option
@idle_option
@click.option(
    "--retries",
    type=click.IntRange(min=0, max=100),
    default=None,
    metavar="N",
    help="How often to switch the board off and on again if it does not boot.  [default: as "
    "described]",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="TRACE",
    help="Where to write the raw console.  [default: the image's name with .trace]",
)
@json_option
def flash(
    image: Path,
    board: str,
    timeout: float | None,
    idle: float,
    retries: int | None,
    output: Path | None,
    as_json: bool,
) -> int:
    """Boot an image on a board with U-Boot, and record its trace.

    The board is switched on, told to load the image, and switched off again on every way out. What
    U-Boot printed is in a file beside the trace. If no try comes as far as the image, the exit code
    is 2. From the first event of the trace on, everything is as for `cellreap boot`.
    """
    trace = output if output is not None else beside(image, ".trace")
    path = find_board(board)
    description = load_description(path)
    read = read_image(image)
    limits = Limits(timeout, idle, retries)
    flashed = flash_image(read, path, description, trace, limits, Progress())
    result, kernel = flashed.boot, read.manifest.kernel
    if result.end is End.FAILED:
        raise CellreapError(
            f"the console failed after {result.seconds:.1f} s and {result.events} events: "
            f"{result.detail}"
        )
    if as_json:
        shown = {
            "board": {
                "name": path.stem,
                "log": str(trace.with_suffix(LOG_SUFFIX)),
                "tries": flashed.tries,
                "failures": list(flashed.failures),
            },
            "trace": str(trace),
            "kernel": {"name": kernel.name, "version": kernel.version, "arch": kernel.arch},
            **boot_json(result),
        }
        echo_json("flash", shown)
    else:
        tries = f", try {flashed.tries}" if flashed.tries > 1 else ""
        said = f"({kernel.name} {kernel.version}, {kernel.arch}, on {path.stem}{tries})"
        click.echo(f"{trace}: {result} {said}")
    if result.end.is_limit:
        return ExitCode.NO_END
    return ExitCode.DONE if result.end is End.COMPLETE else ExitCode.FAILED
