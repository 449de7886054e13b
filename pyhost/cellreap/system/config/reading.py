# SPDX-License-Identifier: BSD-2-Clause
"""Reads a configuration. The first problem in it becomes one InputError."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from cellreap.errors import InputError
from cellreap.system.config.rules import problems
from cellreap.system.config.schema import (
    CONFIG_VERSION,
    SINCE,
    Config,
    Crash,
    Dropped,
    Expect,
    Link,
    Pd,
    Policy,
    Program,
    Quota,
    Space,
    System,
)
from cellreap.system.toml_lines import KeyPath, key_lines, line_of
from cellreap.system.toml_tables import Table, checked, dotted, read_text, toml_values

_TABLES: Mapping[tuple[str, ...], type[Table]] = {
    ("system",): System,
    ("policy",): Policy,
    ("program",): Program,
    ("pd",): Pd,
    ("pd", "space"): Space,
    ("pd", "quota"): Quota,
    ("link",): Link,
    ("dropped",): Dropped,
    ("crash",): Crash,
    ("expect",): Expect,
}
_LISTED = ("pd", "space", "link", "crash", "program", "dropped")


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
    lines = key_lines(text)
    _refuse_later(path, lines, values)
    _refuse_newer(path, lines, values)
    config = checked(values, path, lines, Config, _TABLES, _LISTED)
    for at, message in problems(config):
        raise InputError(str(path), line_of(lines, at), dotted(at), message)
    return config


def _refuse_later(path: Path, lines: dict[KeyPath, int], values: Mapping[str, Any]) -> None:
    """A later version may have keys that are unknown here, so its version is the first problem."""
    system = values.get("system")
    version = system.get("version") if isinstance(system, dict) else None
    if isinstance(version, int) and version > CONFIG_VERSION:
        at: KeyPath = ("system", "version")
        message = (
            f"is {version}, and this program knows versions up to {CONFIG_VERSION}; "
            "expected a file for one of them, or a later cellreap"
        )
        raise InputError(str(path), line_of(lines, at), dotted(at), message)


def _refuse_newer(path: Path, lines: dict[KeyPath, int], values: Mapping[str, Any]) -> None:
    """A file that states its version is for readers of that version, which know no newer keys."""
    system = values.get("system")
    version = system.get("version") if isinstance(system, dict) else None
    if not isinstance(version, int):
        return
    found = [at for at in _keys(values) if SINCE.get(_names_in(at), 1) > version >= 1]
    if found:
        at = min(found, key=lambda at: line_of(lines, at))
        message = (
            f"needs version {SINCE[_names_in(at)]}, and [system] version is {version}; expected "
            "that version, or the file without this key"
        )
        raise InputError(str(path), line_of(lines, at), dotted(at), message)


def _keys(values: Any, at: KeyPath = ()) -> Iterator[KeyPath]:
    """The paths of all keys."""
    inner: Iterable[tuple[str | int, Any]] = ()
    if isinstance(values, dict):
        inner = values.items()
    elif isinstance(values, list):
        inner = enumerate(values)
    for key, value in inner:
        if isinstance(key, str):
            yield (*at, key)
        yield from _keys(value, (*at, key))


def _names_in(at: KeyPath) -> tuple[str, ...]:
    """A path without the positions in lists."""
    return tuple(part for part in at if isinstance(part, str))
