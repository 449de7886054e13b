# SPDX-License-Identifier: BSD-2-Clause
"""`cellreap completion`: prints the script with which a shell completes the command line."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from cellreap.cli.echo import echo_json
from cellreap.cli.params import json_option
from cellreap.errors import CellreapError

_SHELLS = ("bash", "zsh", "fish")
_NAME = "cellreap"
_VARIABLE = "_CELLREAP_COMPLETE"  # click derives it from the program's name


@click.command()
@click.argument("shell", type=click.Choice(_SHELLS))
@json_option
def completion(shell: str, as_json: bool) -> None:
    """Print a script that makes a shell complete the arguments of cellreap.

    In bash, add this line to ~/.bashrc: eval "$(cellreap completion bash)"
    """
    kind = get_completion_class(shell)
    if kind is None:
        raise CellreapError(f"click, which completes arguments, does not know {shell}")
    try:
        script = kind(
            click.get_current_context().find_root().command, {}, _NAME, _VARIABLE
        ).source()
    except (OSError, RuntimeError) as error:  # click runs bash to learn its version
        raise CellreapError(f"{shell}: {error}") from None
    if as_json:
        echo_json("completion", {"shell": shell, "script": script})
    else:
        click.echo(script)
