# SPDX-License-Identifier: BSD-2-Clause
"""`cellreap import`: makes a configuration of a description for Microkit, or in capDL."""

from __future__ import annotations

from pathlib import Path

import click

from cellreap.api.described import first_policy
from cellreap.cli.echo import echo_json
from cellreap.cli.exit_codes import ExitCode
from cellreap.cli.params import json_option, sdk_options
from cellreap.errors import UsageError
from cellreap.system.capdl_import import import_capdl
from cellreap.system.files import refuse_output, write_atomically
from cellreap.system.importing import counted
from cellreap.system.microkit.board import ANY_BOARD, board_facts
from cellreap.system.microkit.importing import import_system
from cellreap.system.sdk import kernel_options
from cellreap.trace.events import printable


@click.command("import")
@click.argument("system", type=click.Path(path_type=Path), metavar="SYSTEM")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="CONFIG.toml",
    help="Default: stdout.",
)
@click.option(
    "--strict", is_flag=True, help="Exit with 1 if something of SYSTEM is not in the configuration."
)
@click.option(
    "--write-policy",
    type=click.Path(path_type=Path),
    metavar="FILE.toml",
    help="Write a first policy for SYSTEM, a description for Microkit. Without -o, --json and "
    "--strict, make no configuration.",
)
@sdk_options("The SDK whose kernel says what SYSTEM may have, for Microkit. Default: any.")
@json_option
def import_command(
    system: Path,
    output: Path | None,
    strict: bool,
    write_policy: Path | None,
    sdk: Path | None,
    as_json: bool,
) -> int:
    """Make a configuration of a Microkit system description, or of one in capDL.

    SYSTEM is the XML file that the Microkit tool reads, or a file NAME.cdl in capDL. PDs, their
    priorities and stacks, protected procedures, child PDs and capabilities to PDs become a
    configuration; of capDL, threads, endpoints and capabilities to threads. stderr tells what has
    no counterpart, with its line. What Microkit refuses is refused.
    """
    refuse_output(output, system)
    refuse_output(write_policy, system, output)
    folder = Path.cwd() if output is None else output.parent
    if system.suffix == ".cdl":
        for option, given in (("--sdk", sdk), ("--write-policy", write_policy)):
            if given is not None:
                raise UsageError(f"{option}: is for descriptions for Microkit, not for capDL")
        found = import_capdl(system, folder)
    else:
        if write_policy is not None:
            if write_policy.exists():
                raise UsageError(f"--write-policy {write_policy}: exists; expected a new file")
            write_atomically(write_policy, first_policy(system).encode())
            if output is None and not as_json and not strict:
                return ExitCode.DONE
        board = ANY_BOARD if sdk is None else board_facts(kernel_options(sdk))
        found = import_system(system, folder, board)
    if output is not None:
        write_atomically(output, found.text.encode())
    if as_json:
        notes = [
            {"line": note.line, "where": note.where, "text": note.text} for note in found.notes
        ]
        dropped = [
            {"line": it.line, "kind": it.kind, "name": it.name, "between": list(it.between)}
            for it in found.dropped
        ]
        shown = {"names": found.names, "notes": notes, "dropped": dropped, "config": found.text}
        echo_json("import", shown)
    else:
        if found.dropped:
            said = f"{system}:1: connections: {counted(found.dropped)}"
            click.echo(printable(said, len(said)), err=True)
        for note in found.notes:
            said = f"{system}:{note.line}: {note.where}: {note.text}"
            click.echo(printable(said, len(said)), err=True)
        if output is None:
            click.echo(found.text, nl=False)
    return ExitCode.FAILED if strict and found.notes else ExitCode.DONE
