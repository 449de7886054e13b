# SPDX-License-Identifier: BSD-2-Clause
"""Reads files in TOML as tables that pydantic checks. The first problem becomes one InputError.

Every message names the file, the line, the key and the expected value.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from pydantic_core import PydanticCustomError

from cellreap.errors import InputError, closest, hint
from cellreap.inputs import read_at_most
from cellreap.system.toml_lines import KeyPath, Lines

MAX_FILE_BYTES = 1 << 20  # much more than a configuration of thousands of PDs needs


class Table(BaseModel):
    """A table of the file.

    Unknown keys are errors, values are not converted, and tables are immutable.
    """

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, defer_build=True)


class Expecting:
    """For any error in a value, the message names the expected value.

    An error in an entry of a table names the entry, and what is expected there.
    """

    def __init__(self, expected: str | Callable[[], str]) -> None:
        self._expected = expected

    @property
    def what(self) -> str:
        """The expected value."""
        return self._expected if isinstance(self._expected, str) else self._expected()

    def __call__(self, value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
        try:
            return handler(value)
        except ValidationError:
            if isinstance(value, dict):
                raise
            raise PydanticCustomError("expected", "expected {what}", {"what": self.what}) from None


def expect(expected: str | Callable[[], str]) -> WrapValidator:
    """Annotates a type: its errors name the expected value."""
    return WrapValidator(Expecting(expected))


_KEY: Final = "[key]"
"""How pydantic marks an error in a key, and not in its value."""
_WANTED: Final = {
    "model_type": "a table",
    "tuple_type": "a list",
    "too_short": "a list that is not empty",
}
"""What is expected, by the type of pydantic's error."""

Checked = TypeVar("Checked", bound=Table)


def read_text(path: Path) -> str:
    """The text of a file, unchecked. InputError if the file cannot be read as text."""
    raw = read_at_most(path, MAX_FILE_BYTES)
    if len(raw) > MAX_FILE_BYTES:
        raise InputError(
            str(path), None, None, f"larger than {MAX_FILE_BYTES} bytes: expected a text"
        )
    try:
        return raw.decode("utf-8-sig")  # editors of some systems begin a file with its mark
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InputError(str(path), line, None, "not UTF-8 text: expected a TOML file") from None


def toml_values(text: str, path: Path) -> dict[str, Any]:
    """The values of a file in TOML. `path` is for messages. InputError if it is not TOML."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        if text.lstrip().startswith("<"):
            raise InputError(str(path), 1, None, "is XML: expected a TOML file") from None
        line, message = _toml_position(str(error), text)
        raise InputError(str(path), line, None, f"not valid TOML: {message}") from None
    except (ValueError, RecursionError) as error:
        # A number with thousands of digits, or brackets that are nested too deep.
        reason = "nested too deep" if isinstance(error, RecursionError) else "a number is too long"
        raise InputError(str(path), None, None, f"not valid TOML: {reason}") from None


def checked(
    values: Mapping[str, Any],
    path: Path,
    lines: Lines,
    whole: type[Checked],
    tables: Mapping[tuple[str, ...], type[Table]],
    listed: Collection[str] = (),
) -> Checked:
    """The values as tables. InputError for the problem that comes first in the file.

    tables: those in `whole` by their path, without indices. listed: the keys
    of lists of tables.
    """
    try:
        return whole.model_validate(values)
    except ValidationError as error:
        known: dict[tuple[str, ...], type[Table]] = {(): whole, **tables}
        problems = [dict(problem) for problem in error.errors(include_url=False)]
        found = [
            _shape_problem(problem, known, listed)
            for problem in problems
            if not _is_misspelt(problem, problems)
        ]
        at, message = min(found, key=lambda problem: lines.of(problem[0]))
        raise InputError(str(path), lines.of(at), dotted(at), message) from None


def _toml_position(message: str, text: str) -> tuple[int, str]:
    """(line, message without the position) of an error of tomllib.

    In Python 3.11, tomllib gives the position only in the text of its message.
    """
    said, _, position = message.rpartition(" (at ")
    said = said.replace("Illegal character '\\n'", "a string is not closed in its line")
    if position.startswith("line "):
        return int(position.removeprefix("line ").split(",")[0]), said
    return text.count("\n") + (not text.endswith("\n")), f"{said} at the end of the file"


def _is_misspelt(problem: dict[str, Any], problems: list[dict[str, Any]]) -> bool:
    """Whether a key is missing because it is there with a typing error, which is told instead."""
    *table, key = problem["loc"]
    if problem["type"] != "missing":
        return False
    unknown = [
        other["loc"][-1]
        for other in problems
        if other["type"] == "extra_forbidden" and list(other["loc"][:-1]) == table
    ]
    return any(closest(str(name), [str(key)]) for name in unknown)


def _shape_problem(
    problem: dict[str, Any],
    tables: Mapping[tuple[str, ...], type[Table]],
    listed: Collection[str],
) -> tuple[KeyPath, str]:
    at: KeyPath = tuple(part for part in problem["loc"] if part != _KEY)
    kind = problem["type"]
    if kind == "missing":
        return at, "missing: this key is required"
    if kind == "extra_forbidden":
        table = tables[tuple(part for part in at[:-1] if isinstance(part, str))]
        known = [field.alias or name for name, field in table.model_fields.items()]
        return at, f"unknown key; {hint(str(at[-1]), known)}expected one of {', '.join(known)}"
    if kind == "expected":
        return at, f"{problem['msg']}, got {_shown(problem['input'])}"
    wanted = _WANTED.get(kind, problem["msg"])
    if at and at[-1] in listed:
        wanted = f"[[{'.'.join(part for part in at if isinstance(part, str))}]] tables"
    return at, f"expected {wanted}, got {_shown(problem['input'])}"


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
