# SPDX-License-Identifier: BSD-2-Clause
"""How a command says that its source does not tell everything."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import click

from cellreap.cli.exit_codes import ExitCode
from cellreap.cli.params import Decorator
from cellreap.unknown import Unknown

TITLE = "Unknown, since this source does not tell it"

incomplete_option: Decorator = click.option(
    "--incomplete",
    is_flag=True,
    help="Accept a source that does not tell everything, such as a configuration. Without it, the "
    "command says what is unknown and exits with 1.",
)


def concluded(unknown: Sequence[Unknown], accepted: bool) -> ExitCode:
    """FAILED if something is unknown and that was not accepted."""
    return ExitCode.FAILED if unknown and not accepted else ExitCode.DONE


def unknown_lines(unknown: Iterable[Unknown]) -> list[str]:
    """What is unknown, for people. Empty if nothing is."""
    lines = [f"  {each.text}" for each in unknown]
    return ["", TITLE, *lines] if lines else []


def unknown_json(unknown: Iterable[Unknown]) -> list[dict[str, str]]:
    """What is unknown, as `--json` prints it."""
    return [each.to_json() for each in unknown]
