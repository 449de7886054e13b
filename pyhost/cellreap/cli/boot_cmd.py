# SPDX-License-Identifier: BSD-2-Clause
"""`cellreap boot`: boots an image on an emulator and records its console."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from cellreap.cli.exit_codes import ExitCode
from cellreap.cli.params import json_option
from cellreap.errors import CellreapError, InputError
from cellreap.progress import Progress
from cellreap.runs.boot import DEFAULT_IDLE, DEFAULT_TIMEOUT, Boot, End, boot_image
from cellreap.runs.qemu import split_arguments
from cellreap.system.image import Image, read_image


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
        click.option(
            "--qemu-arg",
            "qemu_args",
            multiple=True,
            metavar="ARG",
            help="Further arguments for QEMU. One option may hold several words: "
            "--qemu-arg '-icount shift=0'.",
        ),
    ):
        command = option(command)
    return command


def record_image(
    image: Image,
    trace: Path,
    qemu_args: tuple[str, ...],
    timeout: float,
    idle: float,
    progress: Progress,
) -> Boot:
    """Boots an image and writes its console to the file `trace`. CellreapError if that fails.

    timeout, idle: seconds.
    """
    extra = split_arguments(qemu_args)
    kernel = image.manifest.kernel
    with progress.step(
        f"booting {image.manifest.system} on {kernel.name} {kernel.version}"
    ) as update:
        try:
            file = trace.open("wb")
        except OSError as error:
            raise InputError(
                str(trace), None, None, f"cannot be written: {error.strerror}"
            ) from None
        with file:
            boot = boot_image(
                image,
                file,
                extra=extra,
                timeout=timeout,
                idle=idle,
                on_events=lambda count: update(f"{count} events"),
            )
    return refuse_failed(boot)


def refuse_failed(boot: Boot) -> Boot:
    """CellreapError if the run says nothing about the system.

    That is the case if its emulator did not start or was killed. Otherwise returns `boot`.
    """
    if boot.end is End.FAILED:
        raise CellreapError(
            f"QEMU failed after {boot.seconds:.1f} s and {boot.events} events: {boot.detail}"
        )
    return boot


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
    result = record_image(read, trace, qemu_args, timeout, idle, Progress())
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
