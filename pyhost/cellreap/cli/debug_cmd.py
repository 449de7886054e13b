# SPDX-License-Identifier: BSD-2-Clause
"""`cellreap debug`: boots a system that waits for a debugger."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click

from cellreap.api.running import Limits, build_system, record_image
from cellreap.api.systems import System, kernel_for
from cellreap.cli.echo import echo_json
from cellreap.cli.exit_codes import ExitCode
from cellreap.cli.params import json_option, kernel_options, qemu_option
from cellreap.progress import Progress
from cellreap.runs.boot import End, Watch
from cellreap.runs.debugging import free_port, stub_arguments, write_files
from cellreap.runs.evidence import make_output
from cellreap.runs.expectation import is_image
from cellreap.runs.live import Live
from cellreap.runs.places import Places, places_of_image
from cellreap.system.image import Image, read_image


@click.command()
@click.argument("system", type=click.Path(path_type=Path), metavar="IMAGE|CONFIG.toml")
@kernel_options("Architecture to build a configuration for.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=1234,
    show_default=True,
    help="The port of the stub on this machine. 0: any that is free.",
)
@qemu_option
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Keep the ELF files, the script for gdb and the trace in this directory.",
)
@json_option
def debug(
    system: Path,
    arch: str,
    sdk: Path | None,
    port: int,
    qemu_args: tuple[str, ...],
    output: Path | None,
    as_json: bool,
) -> int:
    """Boot a system with the gdb stub of QEMU, stopped at its first instruction.

    Says how to attach, and then shows the console. The command lasts until the trace ends, QEMU is
    ended by the debugger, or Ctrl-C. There is no limit of time. The exit code is 1 if the kernel or
    the root task stopped. With --json, stdout says how to attach, and stderr shows the console.
    """
    progress = Progress()
    port = free_port(port)
    with _folder(output) as folder:
        image, places = _system(system, arch, sdk, folder, progress)
        attaching = write_files(image, places, folder, port)
        if as_json:
            echo_json("debug", attaching.to_json())
        else:
            click.echo("\n".join(attaching.lines()))
        sys.stdout.flush()
        out = sys.stderr.buffer if as_json else sys.stdout.buffer
        live = Live()

        def show(data: bytes) -> bool:
            out.write(live.take(data))
            out.flush()
            return False

        words = (*qemu_args, *stub_arguments(port))
        trace = folder / f"{image.manifest.system}.trace"
        limits = Limits(None, None, words)
        result = record_image(image, trace, limits, progress, Watch(show, shows=True))
    click.echo(str(result), err=as_json)
    return ExitCode.FAILED if result.end is End.FATAL else ExitCode.DONE


def _system(
    path: Path, arch: str, sdk: Path | None, folder: Path, progress: Progress
) -> tuple[Image, Places]:
    """The image, built in the folder if the path is a configuration, and what is known of it."""
    if is_image(path):
        image = read_image(path)
        return image, places_of_image(image)
    found = System.read(path)
    kernel = kernel_for(arch, sdk, progress)
    found.check_kernel(kernel)
    made = folder / f"{found.name}.img"
    build_system(found, kernel, made, progress, keep=True)
    image = read_image(made)
    return image, places_of_image(image)


@contextlib.contextmanager
def _folder(kept: Path | None) -> Iterator[Path]:
    if kept is None:
        with tempfile.TemporaryDirectory(prefix="cellreap-debug-") as name:
            yield Path(name)
        return
    make_output(kept)
    yield kept
