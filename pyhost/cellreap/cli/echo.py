# SPDX-License-Identifier: BSD-2-Clause
"""Prints the object of --json."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import click


def echo_json(command: str, shown: Mapping[str, Any]) -> None:
    """Prints the object of a command, whose keys `cellreap.output` defines."""
    click.echo(json_text(command, shown))


def json_text(command: str, shown: Mapping[str, Any]) -> str:
    """The object of a command as text."""
    from cellreap.output import versioned  # takes long, and only --json needs it

    return json.dumps(versioned(command, shown), indent=2)
