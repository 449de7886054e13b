# SPDX-License-Identifier: BSD-2-Clause
"""`cellreap build`: builds an image from a configuration."""

from __future__ import annotations

import hashlib
from dataclasses import asdict
from pathlib import Path

import click

from cellreap.api.running import build_system
from cellreap.api.systems import System, kernel_for
from cellreap.cli.echo import echo_json
from cellreap.cli.params import json_option, kernel_options, trace_key_option
from cellreap.progress import Progress
from cellreap.runs.expectation import config_of
from cellreap.system.bounds import Bounds, bounds_of
from cellreap.system.image import Image, read_image


def bounds_of_image(image: Image) -> Bounds:
    """The bounds of the system in an image."""
    return bounds_of(config_of(image), image.programs(), image.target(), image.options)


@click.command()
@click.argument("config", type=click.Path(path_type=Path), metavar="CONFIG.toml")
@kernel_options("Architecture to build for.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="IMAGE",
    required=True,
    help="Where to write the image.",
)
@trace_key_option
@json_option
def build(
    config: Path,
    arch: str,
    sdk: Path | None,
    output: Path,
    trace_key: bytes | None,
    as_json: bool,
) -> None:
    """Build an image: kernel, root task, PDs and configuration in one file.

    The same input yields the same bytes, except that each user's images have other secrets (see
    --trace-key). What was compiled is kept in $XDG_CACHE_HOME/cellreap and used again. The ELF
    files of the PDs' programs, with debug information, are kept beside the image in a folder with
    the image's name and .programs.
    """
    system = System.read(config)
    progress = Progress()
    found = kernel_for(arch, sdk, progress)
    system.check_kernel(found)
    build_system(system, found, output, progress, trace_key=trace_key, keep=True)
    sha256 = hashlib.sha256(output.read_bytes()).hexdigest()
    bounds = bounds_of_image(read_image(output))
    if as_json:
        kernel = {
            "name": found.kernel.name,
            "version": found.kernel.version,
            "arch": found.kernel.arch,
        }
        shown = {
            "image": str(output),
            "sha256": sha256,
            "system": system.name,
            "kernel": kernel,
            "bounds": {
                "making": {name: asdict(chain) for name, chain in bounds.pds.items()},
                "spawning": {name: asdict(chain) for name, chain in bounds.spawned.items()},
                "cleanup": asdict(bounds.cleanup),
            },
        }
        echo_json("build", shown)
    else:
        click.echo(f"{output}: {system.name} on {found.kernel}")
        name, making = bounds.longest()
        chain = f"{making.steps} steps, at most {making.kernel_calls} kernel calls"
        click.echo(f"longest making: {name}: {chain}")
        cleanup = bounds.cleanup
        chain = f"{cleanup.steps} steps, {cleanup.kernel_calls} kernel calls"
        room = f"{cleanup.plan_entries} entries of a plan, with room for {cleanup.plan_limit}"
        click.echo(f"largest cleanup: at most {chain}; {room}")
