# SPDX-License-Identifier: BSD-2-Clause
"""The quick way to read an event of the current version: one pattern for the whole line.

A line that the pattern of its event matches, and whose other values have their form, is sound. What
is not matched is read field by field (reader.py), which also accepts what is rarer, such as escaped
text, and says what is wrong. So this way may only accept what that one accepts.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from cellreap.headers import event_table
from cellreap.trace.events import field_type, field_types
from cellreap.trace.lines import MARK, REACH, Sums

_COUNT: Final = "[a-z0-9][a-z0-9-]*:[1-9][0-9]{0,17}"
_PD: Final = "PD_(?:0|[1-9a-f][0-9a-f]{0,7})"
PATTERNS: Final[Mapping[str, str]] = {
    "NUMBER": "0|[1-9][0-9]{0,17}",
    "FLAG": "[01]",
    "ADDRESS": "0x[0-9a-f]{1,16}",
    "DIGEST": "[0-9a-f]{8}",
    "STATE_DIGEST": "[0-9a-f]{16}|-",
    "TEXT": "[!-$&-~]*",
    "PD": _PD,
    "PD_OR_NONE": f"{_PD}|-",
    "CALLS": f"-|{_COUNT}(?:,{_COUNT})*",
    "OBJECTS": f"-|{_COUNT}(?:,{_COUNT})*",
}
"""Type of a field -> a pattern of which all matches have the form of the type (events.py)."""
_MARK_WORD: Final = MARK.rstrip()
_REMEMBERED: Final = 1 << 12
_ANY: Final = "[!-$&-~]*"
"""Printable ASCII that is no escape, so that it stands for itself."""


@dataclass(frozen=True)
class FastForm:
    """The pattern of an event, and what it does not say of the values."""

    fields: tuple[str, ...]
    match: Callable[[str], re.Match[str] | None]
    checks: tuple[tuple[int, Callable[[str], bool]], ...]
    """Place of a value -> whether it has the form of its field."""

    def read(self, body: bytes) -> dict[str, str] | None:
        """The values of an event, by field. None: it must be read field by field."""
        return self.read_text(body.decode("ascii")) if body.isascii() else None

    def read_text(self, body: str) -> dict[str, str] | None:
        """As `read`, from text of ASCII characters."""
        found = self.match(body)
        if found is None:
            return None
        values = found.groups()
        for place, accepts in self.checks:
            if not accepts(values[place]):
                return None
        return dict(zip(self.fields, values))  # noqa: B905 - as many, by the pattern


@functools.cache
def _known(type_name: str) -> Callable[[str], bool]:
    """Whether values have the form of a type. The last ones are remembered: values repeat."""
    return functools.lru_cache(maxsize=_REMEMBERED)(field_types()[type_name].accepts)


@functools.cache
def fast_forms() -> dict[str, FastForm]:
    """Name of an event -> its form. For the current version only."""
    forms = {}
    for name, fields in event_table().fields.items():
        patterns, checks = [], []
        for place, field_name in enumerate(fields):
            kind = field_type(name, field_name)
            pattern = PATTERNS.get(kind.name)
            patterns.append(f" {field_name}=({pattern or _ANY})")
            if pattern is None:
                checks.append((place, _known(kind.name)))
        match = re.compile(name + "".join(patterns)).fullmatch
        forms[name] = FastForm(tuple(fields), match, tuple(checks))
    return forms


class QuickLines:
    """Reads the lines of a trace of the current version that has a key, as they most often are."""

    def __init__(self, key: bytes) -> None:
        self._sums = Sums(key)

    def read(self, line: bytes, seq: int) -> tuple[str, dict[str, str], bytes] | None:
        """Name and values of the event of this number in a sound line, and the text that its
        checksum covers. None: the line is something else, or must be read field by field.
        """
        parts = line.rstrip(b"\r").split(b" ", 3)
        if len(parts) != 4 or len(line) > REACH or parts[0] != _MARK_WORD:
            return None
        if parts[1] != b"%d" % seq or not line.isascii():
            return None
        text = parts[1] + b" " + parts[3]
        if self._sums.of(text) != parts[2].decode():
            return None
        body = parts[3].decode()
        name = body[: body.find(" ")]
        form = fast_forms().get(name)
        values = None if form is None or name == "END" else form.read_text(body)
        return None if values is None else (name, values, text)


def quick_lines(key: bytes | None) -> QuickLines | None:
    """A reader of lines with this key. None if the trace has no key."""
    return None if key is None else QuickLines(key)
