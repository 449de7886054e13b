# SPDX-License-Identifier: BSD-2-Clause
"""`cellreap init`: makes a project that works."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click

import cellreap
from cellreap.cli.echo import echo_json
from cellreap.cli.params import json_option
from cellreap.errors import UsageError
from cellreap.system.files import write_atomically

_TEMPLATE = Path(cellreap.__file__).resolve().parent / "template"
_PLACE = "@NAME@"
_MAX_NAME = 31


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@json_option
def init(folder: Path, as_json: bool) -> None:
    """Make a project in DIR: a server, a client, a configuration and tests.

    DIR must not exist or be empty. Its name becomes the name of the system.
    """
    name = re.sub(r"[^a-z0-9_-]+", "-", folder.resolve().name.lower()).strip("-")[:_MAX_NAME]
    if not name[:1].isalpha():
        raise UsageError(f"{folder}: expected a folder whose name begins with a letter")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise UsageError(f"{folder}: is not empty; expected a new folder")
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror}; expected a new folder") from None
    made = sorted(path for path in _TEMPLATE.iterdir() if path.is_file())
    for path in made:
        text = path.read_text(encoding="utf-8").replace(_PLACE, name)
        write_atomically(folder / path.name, text.encode())
    if as_json:
        files = [str(folder / path.name) for path in made]
        echo_json("init", {"folder": str(folder), "name": name, "files": files})
        return
    click.echo(f"made {folder}: {', '.join(path.name for path in made)}")
    click.echo(f"next: cd {shlex.quote(str(folder))} && pytest, or cellreap run system.toml")
    click.echo("the pages: cellreap docs")
