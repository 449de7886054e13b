# SPDX-License-Identifier: BSD-2-Clause
"""`cellreap boot`: boots an image on an emulator and records its console."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from cellreap.api.running import Limits, record_image, record_root_task
from cellreap.cli.echo import echo_json
from cellreap.cli.exit_codes import ExitCode
from cellreap.cli.params import (
    idle_option,
    json_option,
    qemu_option,
    sdk_option,
    timeout_option,
    typed_option,
)
from cellreap.errors import InputError, UsageError
from cellreap.inputs import beside, read_at_most
from cellreap.progress import Progress
from cellreap.runs.boot import Boot, End, drives_beside
from cellreap.system.elf import is_elf
from cellreap.system.files import refuse_output
from cellreap.system.image import KernelEntry, read_image
from cellreap.system.sdk import Kernel


def boot_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options of every command that boots: --qemu-arg, --timeout, --idle."""
    for option in (idle_option, timeout_option, qemu_option):
        command = option(command)
    return command


@click.command()
@click.argument("image", type=click.Path(path_type=Path), metavar="IMAGE|ROOTTASK.elf")
@sdk_option
@boot_options
@typed_option
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
    sdk: Path | None,
    qemu_args: tuple[str, ...],
    timeout: float | None,
    idle: float,
    typed: Path | None,
    output: Path | None,
    as_json: bool,
) -> int:
    """Boot an image, or another root task, and record its trace.

    An image contains its kernel. A root task of your own that includes the component is an ELF
    file, and boots on the kernel of the SDK.

    The run lasts until the trace ends, an error occurs (exit code 1) or a limit is reached
    (exit code 4).
    """
    trace = output if output is not None else beside(image, ".trace")
    refuse_output(trace, image)
    limits, progress = Limits(timeout, idle, qemu_args, typed), Progress()
    kernel: Kernel | KernelEntry
    drives: dict[str, Path] = {}
    if _begins_as_elf(image):
        result, kernel = record_root_task(image, sdk, trace, limits, progress)
    elif sdk is not None:
        raise UsageError(f"--sdk: {image} is an image, which contains its kernel")
    else:
        read = read_image(image)
        result, kernel = record_image(read, trace, limits, progress), read.manifest.kernel
        drives = drives_beside(read, trace)
    if as_json:
        shown = {
            "trace": str(trace),
            "kernel": {"name": kernel.name, "version": kernel.version, "arch": kernel.arch},
            **boot_json(result),
        }
        echo_json("boot", shown)
    else:
        click.echo(f"{trace}: {result} ({kernel.name} {kernel.version}, {kernel.arch})")
        for name, path in drives.items():
            click.echo(f"drive {name}: {path}")
    if result.end.is_limit:
        return ExitCode.NO_END
    return ExitCode.DONE if result.end is End.COMPLETE else ExitCode.FAILED


def _begins_as_elf(path: Path) -> bool:
    try:
        return is_elf(read_at_most(path, 4))
    except InputError:
        return False  # read_image tells what is wrong


def boot_json(result: Boot) -> dict[str, Any]:
    """The result of a run, for --json."""
    return {
        "end": result.end.name.lower(),
        "detail": result.detail,
        "seconds": round(result.seconds, 3),
        "bytes": result.bytes,
        "events": result.events,
    }
