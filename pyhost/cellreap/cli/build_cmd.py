# SPDX-License-Identifier: BSD-2-Clause
"""`cellreap build`: builds an image from a configuration."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import click

from cellreap.api.running import build_system
from cellreap.api.systems import System, kernel_for
from cellreap.cli.echo import echo_json
from cellreap.cli.params import json_option, kernel_options, trace_key_option
from cellreap.progress import Progress
from cellreap.system.bounds import Bounds
from cellreap.system.files import refuse_output
from cellreap.system.locks import alone


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
@click.option(
    "--memory",
    type=click.IntRange(1, 1 << 24),
    metavar="MIB",
    help="Memory of the machine, if it is not that of the emulated one. What does not fit is "
    "refused.",
)
@trace_key_option
@json_option
def build(
    config: Path,
    arch: str,
    sdk: Path | None,
    output: Path,
    memory: int | None,
    trace_key: bytes | None,
    as_json: bool,
) -> None:
    """Build an image: kernel, root task, PDs and configuration in one file.

    The same input yields the same bytes, except that each user's images have other secrets (see
    --trace-key). What was compiled is kept in $XDG_CACHE_HOME/cellreap and used again. The ELF
    files of the PDs' programs, with debug information, are kept beside the image in a folder with
    the image's name and .programs.
    """
    refuse_output(output, config, regular=True)
    system = System.read(config)
    progress = Progress()
    found = kernel_for(arch, sdk, progress)
    system.check_kernel(found)
    machine_bytes = None if memory is None else memory << 20
    with alone(output):
        bounds = build_system(
            system,
            found,
            output,
            progress,
            trace_key=trace_key,
            keep=True,
            machine_bytes=machine_bytes,
        ).bounds
        sha256 = hashlib.sha256(output.read_bytes()).hexdigest()
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
                "tables": {word: asdict(table) for word, table in bounds.tables.items()},
                "sizes": dict(bounds.sizes),
                "memory": asdict(bounds.memory),
            },
        }
        echo_json("build", shown)
    else:
        click.echo(f"{output}: {system.name} on {found.kernel}")
        for line in _told(bounds):
            click.echo(line)


def _told(bounds: Bounds) -> Iterator[str]:
    name, making = bounds.longest()
    chain = f"{making.steps} steps, at most {making.kernel_calls} kernel calls"
    yield f"longest making: {name}: {chain}"
    cleanup, memory = bounds.cleanup, bounds.memory
    chain = f"{cleanup.steps} steps, {cleanup.kernel_calls} kernel calls"
    room = f"{cleanup.plan_entries} entries of a plan, with room for {cleanup.plan_limit}"
    yield f"largest cleanup: at most {chain}; {room}"
    yield f"tables: {memory.tables} bytes"
    needed = memory.own + memory.bodies + memory.quotas
    yield f"kernel memory: {needed} bytes, {memory.bodies} of them bodies; at most {memory.room}"
    full = {word: table.needed / max(table.limit, 1) for word, table in bounds.tables.items()}
    word = max(full, key=full.__getitem__)
    yield f"fullest table: {bounds.tables[word].needed} of {bounds.tables[word].limit} {word}"
