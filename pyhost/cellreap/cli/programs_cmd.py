# SPDX-License-Identifier: BSD-2-Clause
"""`cellreap programs`: lists the programs that come with cellreap, and their arguments."""

from __future__ import annotations

import textwrap

import click

from cellreap.cli.echo import echo_json
from cellreap.cli.params import json_option
from cellreap.errors import UsageError, hint
from cellreap.system.compiling import include_folders
from cellreap.system.programs import described


@click.command()
@click.argument("name", required=False)
@click.option(
    "--paths",
    is_flag=True,
    help="Print where the headers and the sources of the programs are, and nothing else.",
)
@json_option
def programs(name: str | None, paths: bool, as_json: bool) -> None:
    """List the programs that come with cellreap, or tell what one does.

    A PD of a configuration runs one with `program = "NAME"`. The text about a program says what the
    numbers in the `args` of the PD mean, from argument 0 on.
    """
    found = {sample.name: sample for sample in described()}
    if name is not None and name not in found:
        known = f"{hint(name, found)}expected one of {', '.join(found)}"
        raise UsageError(f'no program of cellreap is named "{name}"; {known}')
    listed = list(found.values()) if name is None else [found[name]]
    if as_json:
        shown = [
            {
                "name": sample.name,
                "summary": sample.summary,
                "text": sample.text,
                "source": str(sample.source),
            }
            for sample in listed
        ]
        headers = [str(folder) for folder in include_folders()]
        echo_json("programs", {"programs": shown, "headers": headers})
    elif paths:
        for folder in include_folders():
            click.echo(f"headers  {folder}")
        for sample in listed:
            click.echo(f"source   {sample.source}")
    elif name is not None:
        click.echo(listed[0].text)
    else:
        width = max(map(len, found))
        for sample in listed:
            start = f"{sample.name:{width}}  "
            click.echo(
                textwrap.fill(
                    sample.summary,
                    96,
                    initial_indent=start,
                    subsequent_indent=" " * len(start),
                )
            )
        click.echo("\n`cellreap programs NAME` says what a program does with its arguments.")
