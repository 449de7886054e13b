# SPDX-License-Identifier: BSD-2-Clause
"""The quick way to read an event of the current version: one pattern for the whole line.

A line that the pattern of its event matches, and whose other values have their form, is sound. What
is not matched is read field by field (reader.py), which also accepts what is rarer, and says what
is wrong. So this way may only accept what that one accepts.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from cellreap.headers import event_table
from cellreap.trace.events import field_type, field_types, unescaped
from cellreap.trace.lines import MARK, REACH, SUM_DIGITS, Sums, without_time

_COUNT: Final = "[a-z0-9][a-z0-9-]*:[1-9][0-9]{0,17}"
_PD: Final = "PD_(?:0|[1-9a-f][0-9a-f]{0,7})"
_TEXT: Final = "[!-$&-~]*(?:%[0-9A-Fa-f]{2}[!-$&-~]*)*"
"""Printable ASCII and whole escapes."""
PATTERNS: Final[Mapping[str, str]] = {
    "NUMBER": "0|[1-9][0-9]{0,17}",
    "FLAG": "[01]",
    "ADDRESS": "0x[0-9a-f]{1,16}",
    "DIGEST": "[0-9a-f]{8}",
    "STATE_DIGEST": "[0-9a-f]{16}",
    "TEXT": _TEXT,
    "PD": _PD,
    "PD_OR_NONE": f"{_PD}|-",
    "CALLS": f"-|{_COUNT}(?:,{_COUNT})*",
    "OBJECTS": f"-|{_COUNT}(?:,{_COUNT})*",
}
"""Type of a field -> a pattern of which all matches have the form of the type (events.py)."""
_BEGINS: Final = MARK + b"%d "
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
    texts: tuple[str, ...]
    """The fields whose values may be escaped."""

    def read(self, body: bytes) -> dict[str, str] | None:
        """The values of an event, by field. None: it must be read field by field."""
        found = self.match(body.decode("latin-1"))  # no pattern has a character beyond ASCII
        if found is None:
            return None
        values = found.groups()
        for place, accepts in self.checks:
            if not accepts(values[place]):
                return None
        read = dict(zip(self.fields, values))  # noqa: B905 - as many, by the pattern
        for name in self.texts:
            if "%" in read[name]:
                read[name] = unescaped(read[name])
        return read


@functools.cache
def _known(type_name: str) -> Callable[[str], bool]:
    """Whether values have the form of a type. The last ones are remembered: values repeat."""
    return functools.lru_cache(maxsize=_REMEMBERED)(field_types()[type_name].accepts)


@functools.cache
def fast_forms() -> dict[str, FastForm]:
    """Name of an event -> its form."""
    forms = {}
    for name, fields in event_table().fields.items():
        patterns, checks, texts = [], [], []
        for place, field_name in enumerate(fields):
            kind = field_type(name, field_name)
            pattern = PATTERNS.get(kind.name)
            patterns.append(f" {field_name}=({pattern or _ANY})")
            if pattern is None:
                checks.append((place, _known(kind.name)))
            elif pattern == _TEXT:
                texts.append(field_name)
        match = re.compile(name + "".join(patterns)).fullmatch
        forms[name] = FastForm(tuple(fields), match, tuple(checks), tuple(texts))
    return forms


@functools.cache
def _quick_forms() -> dict[bytes, tuple[str, FastForm]]:
    """Name of an event, as in a line -> the name and its form. END, which is checked, is none."""
    return {name.encode(): (name, form) for name, form in fast_forms().items() if name != "END"}


class QuickLines:
    """Reads the lines of a trace with this key, as they most often are. timed: they have times."""

    def __init__(self, key: bytes, timed: bool) -> None:
        self._sums = Sums(key)
        self._timed = timed

    def read(self, line: bytes, seq: int) -> tuple[str, dict[str, str], bytes, int | None] | None:
        """Name and values of the event of this number in a sound line, the text that its checksum
        covers, and its time. None: the line is something else, or must be read field by field.
        """
        begins = _BEGINS % seq
        body_at = len(begins) + SUM_DIGITS + 1
        if not line.startswith(begins) or len(line) > REACH:
            return None
        body = line[body_at:].rstrip(b"\r")
        text = begins[len(MARK) :] + body
        if line[len(begins) : body_at] != self._sums.of(text) + b" ":
            return None
        time = None
        if self._timed:
            body, time = without_time(body)
            if time is None:
                return None
        known = _quick_forms().get(body[: body.find(b" ")])
        if known is None:
            return None
        name, form = known
        values = form.read(body)
        return None if values is None else (name, values, text, time)
