# SPDX-License-Identifier: BSD-2-Clause
"""Reads a configuration. The first problem in it becomes one InputError."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from cellreap.errors import InputError
from cellreap.system.config.rules import problems
from cellreap.system.config.schema import (
    CONFIG_VERSION,
    Config,
    Crash,
    Expect,
    Link,
    Pd,
    Policy,
    Program,
    Quota,
    Space,
    System,
    Table,
)
from cellreap.system.toml_lines import KeyPath, key_lines, line_of

MAX_FILE_BYTES = 1 << 20  # much more than a configuration of thousands of PDs needs


def load_config(path: Path) -> Config:
    """Reads and checks a configuration. InputError for the first problem."""
    return parse_config(read_text(path), path)


def parse_config(text: str, path: Path) -> Config:
    """Checks a configuration's text. `path` is for messages. InputError for the first problem."""
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line, message = _toml_position(str(error), text)
        raise InputError(str(path), line, None, f"not valid TOML: {message}") from None
    except (ValueError, RecursionError) as error:
        # A number with thousands of digits, or brackets that are nested too deep.
        reason = "nested too deep" if isinstance(error, RecursionError) else "a number is too long"
        raise InputError(str(path), None, None, f"not valid TOML: {reason}") from None
    if not values:
        raise InputError(
            str(path), 1, None, "the file is empty: expected [system] and at least one [[pd]]"
        )
    lines = key_lines(text)
    _refuse_later(path, lines, values)
    try:
        config = Config.model_validate(values)
    except ValidationError as error:
        found = [
            _shape_problem(dict(problem), values) for problem in error.errors(include_url=False)
        ]
        at, message = min(found, key=lambda problem: line_of(lines, problem[0]))
        raise InputError(str(path), line_of(lines, at), dotted(at), message) from None
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


def read_text(path: Path) -> str:
    """The text of a configuration, unchecked. InputError if the file cannot be read as text."""
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise InputError(str(path), None, None, error.strerror or "cannot be read") from None
    if len(raw) > MAX_FILE_BYTES:
        raise InputError(
            str(path), None, None, f"larger than {MAX_FILE_BYTES} bytes: not a configuration"
        )
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InputError(str(path), line, None, "not UTF-8 text: expected a TOML file") from None


def _toml_position(message: str, text: str) -> tuple[int, str]:
    """(line, message without the position) of an error of tomllib.

    In Python 3.11, tomllib gives the position only in the text of its message.
    """
    said, _, position = message.rpartition(" (at ")
    if position.startswith("line "):
        return int(position.removeprefix("line ").split(",")[0]), said
    return text.count("\n") + (not text.endswith("\n")), f"{said} at the end of the file"


def _shape_problem(problem: dict[str, Any], values: Mapping[str, Any]) -> tuple[KeyPath, str]:
    at: KeyPath = tuple(problem["loc"])
    kind = problem["type"]
    if kind == "missing":
        return at, "missing: this key is required"
    if kind == "extra_forbidden":
        known = ", ".join(_known_keys(at[:-1]))
        return at, f"unknown key; expected one of {known}"
    if kind == "expected":
        return at, f"{problem['msg']}, got {_shown(problem['input'])}"
    wanted = {"model_type": "a table", "tuple_type": "a list"}.get(kind, problem["msg"])
    if at and at[-1] in ("pd", "space", "link", "crash", "program"):
        wanted = f"[[{'.'.join(part for part in at if isinstance(part, str))}]] tables"
    return at, f"expected {wanted}, got {_shown(problem['input'])}"


def _known_keys(at: KeyPath) -> list[str]:
    """The keys that the table at `at` may have."""
    tables: dict[tuple[str, ...], type[Table]] = {
        (): Config,
        ("system",): System,
        ("policy",): Policy,
        ("program",): Program,
        ("pd",): Pd,
        ("pd", "space"): Space,
        ("pd", "quota"): Quota,
        ("link",): Link,
        ("crash",): Crash,
        ("expect",): Expect,
    }
    table = tables[tuple(part for part in at if isinstance(part, str))]
    return [field.alias or name for name, field in table.model_fields.items()]


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        shown = f"[{', '.join(_shown(item) for item in value[:8])}]"
        return shown if len(value) <= 8 and len(shown) <= 60 else "a list"
    text = f'"{value}"' if isinstance(value, str) else str(value)
    text = "".join(letter if letter.isprintable() else "?" for letter in text)
    return text if len(text) <= 60 else f"{text[:57]}..."


def dotted(at: KeyPath) -> str:
    """The path ("pd", 0, "space", 1, "name") as pd[0].space[1].name. Indices count from 0."""
    text = ""
    for part in at:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text
