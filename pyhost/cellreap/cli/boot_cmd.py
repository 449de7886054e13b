# SPDX-License-Identifier: BSD-2-Clause
"""`cellreap boot`: boots an image on an emulator and records its console."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from cellreap.api.running import Limits, record_image
from cellreap.cli.exit_codes import ExitCode
from cellreap.cli.params import json_option, qemu_option
from cellreap.progress import Progress
from cellreap.runs.boot import DEFAULT_IDLE, DEFAULT_TIMEOUT, Boot, End
from cellreap.system.image import read_image


def boot_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options of every command that boots: --qemu-arg, --timeout, --idle."""
    for option in (
        click.option(
            "--idle",
            type=click.FloatRange(min=0, min_open=True),
            default=DEFAULT_IDLE,
            show_default=True,
            metavar="SECONDS",
            help="End the run if nothing is printed for this time.",
        ),
        click.option(
            "--timeout",
            type=click.FloatRange(min=0, min_open=True),
            default=DEFAULT_TIMEOUT,
            show_default=True,
            metavar="SECONDS",
            help="End the run after this time.",
        ),
        qemu_option,
    ):
        command = option(command)
    return command


@click.command()
@click.argument("image", type=click.Path(path_type=Path), metavar="IMAGE")
@boot_options
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="TRACE",
    help="Where to write the raw console.  [default: the image's name with .trace]",
)
@json_option
def boot(
    image: Path,
    qemu_args: tuple[str, ...],
    timeout: float,
    idle: float,
    output: Path | None,
    as_json: bool,
) -> int:
    """Boot an image and record its trace.

    The run lasts until the trace ends, an error occurs (exit code 1) or a limit is reached
    (exit code 4).
    """
    read = read_image(image)
    trace = output if output is not None else image.with_suffix(".trace")
    result = record_image(read, trace, Limits(timeout, idle, qemu_args), Progress())
    kernel = read.manifest.kernel
    if as_json:
        shown = {
            "trace": str(trace),
            "kernel": {"name": kernel.name, "version": kernel.version, "arch": kernel.arch},
            **boot_json(result),
        }
        click.echo(json.dumps(shown, indent=2))
    else:
        click.echo(f"{trace}: {result} ({kernel.name} {kernel.version}, {kernel.arch})")
    if result.end.is_limit:
        return ExitCode.NO_END
    return ExitCode.DONE if result.end is End.COMPLETE else ExitCode.FAILED


def boot_json(result: Boot) -> dict[str, Any]:
    """The result of a run, for --json."""
    return {
        "end": result.end.name.lower(),
        "detail": result.detail,
        "seconds": round(result.seconds, 3),
        "bytes": result.bytes,
        "events": result.events,
    }
