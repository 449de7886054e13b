# SPDX-License-Identifier: BSD-2-Clause
"""Reads a configuration. The first problem in it becomes one InputError."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cellreap.errors import InputError
from cellreap.system.config.rules import problems
from cellreap.system.config.schema import (
    CONFIG_VERSION,
    Bench,
    Channel,
    Config,
    Crash,
    Drive,
    Dropped,
    End,
    Expect,
    Interrupt,
    Link,
    Map,
    OnDeath,
    Pd,
    Policy,
    Port,
    Program,
    Quota,
    Region,
    Space,
    System,
)
from cellreap.system.toml_lines import KeyPath, Lines
from cellreap.system.toml_tables import Table, checked, dotted, read_text, toml_values

_TABLES: Mapping[tuple[str, ...], type[Table]] = {
    ("system",): System,
    ("policy",): Policy,
    ("program",): Program,
    ("pd",): Pd,
    ("pd", "space"): Space,
    ("pd", "quota"): Quota,
    ("link",): Link,
    ("region",): Region,
    ("region", "map"): Map,
    ("region", "on_death"): OnDeath,
    ("channel",): Channel,
    ("channel", "end"): End,
    ("interrupt",): Interrupt,
    ("port",): Port,
    ("drive",): Drive,
    ("dropped",): Dropped,
    ("crash",): Crash,
    ("expect",): Expect,
    ("bench",): Bench,
}
_LISTED = (
    *("pd", "space", "link", "crash", "program", "region", "map", "channel", "end"),
    *("interrupt", "port", "drive", "on_death", "dropped"),
)


def load_config(path: Path) -> Config:
    """Reads and checks a configuration. InputError for the first problem."""
    return parse_config(read_text(path), path)


def parse_config(text: str, path: Path) -> Config:
    """Checks a configuration's text. `path` is for messages. InputError for the first problem."""
    values = toml_values(text, path)
    if not values:
        raise InputError(
            str(path), 1, None, "the file is empty: expected [system] and at least one [[pd]]"
        )
    lines = Lines(text)
    _refuse_later(path, lines, values)
    config = checked(values, path, lines, Config, _TABLES, _LISTED)
    for at, message in problems(config):
        raise InputError(str(path), lines.of(at), dotted(at), message)
    return config


def _refuse_later(path: Path, lines: Lines, values: Mapping[str, Any]) -> None:
    """A later version may have keys that are unknown here, so its version is the first problem."""
    system = values.get("system")
    version = system.get("version") if isinstance(system, dict) else None
    if isinstance(version, int) and version > CONFIG_VERSION:
        at: KeyPath = ("system", "version")
        message = (
            f"is {version}, and this program knows version {CONFIG_VERSION}; "
            "expected a file for that one, or a later cellreap"
        )
        raise InputError(str(path), lines.of(at), dotted(at), message)
