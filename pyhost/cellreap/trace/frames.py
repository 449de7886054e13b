# SPDX-License-Identifier: BSD-2-Clause
"""The text of frames, in which the root task writes the records of a trace.

docs/trace-format.md describes it. The constants and the table of events are those of
roottask/include/cellreap/trace_events.h.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote_to_bytes

from cellreap import headers
from cellreap.headers import event_table
from cellreap.trace.events import MAX_NUMBER, Event, encode, field_type, field_types, printable


def _constant(name: str) -> int:
    return headers.constant("trace_events.h", f"CR_{name}")


MARK: Final = headers.text_constant("trace_events.h", "CR_FRAME_MARK").encode()
_ZERO, _ONE, _TWO, _LONG, _MOST, ALL, SUM_DIGITS, DIGEST = (
    _constant(f"FRAME_{name}")
    for name in ("ZERO", "ONE", "TWO", "LONG", "DIGITS", "ALL_DIGITS", "SUM_DIGITS", "DIGEST")
)
_CLEAR, _DEFINE, PLAIN = (_constant(f"FRAME_{name}") for name in ("CLEAR", "DEFINE", "PLAIN"))
_TEXTS: Final = _constant("DICTIONARY_TEXTS")
_NO_DIGIT: Final = 255
_DIGITS: Final = bytes(
    char - _ZERO if _ZERO <= char < _ZERO + 64 else _NO_DIGIT for char in range(256)
)
"""Character -> its six bits."""
_KEY_BYTES: Final = _constant("TRACE_KEY_BYTES")
_PRIME: Final = 2**61 - 1
_SUMMED: Final = 7
"""Bytes of a word of the checksum."""


class Damage(Exception):
    """Records that are not as the table says. rule: a key of `rules.RULES`."""

    def __init__(self, rule: str, text: str) -> None:
        super().__init__(text)
        self.rule, self.text = rule, text


class Cut(Exception):
    """The characters end within something."""


class _TooLarge(Exception):
    """A number has more than 64 bits."""


class NoDigit(Exception):
    """A character is no digit, where there must be one."""


# ------------------------------------------------------------------------------------------------
# Checksums


@dataclass(frozen=True)
class Key:
    """The key of the checksums of a trace."""

    factor: int
    addend: int

    @classmethod
    def of(cls, key: bytes) -> Key:
        """That of a key of 16 bytes."""
        factor, addend = (int.from_bytes(half, "little") % _PRIME for half in (key[:8], key[8:]))
        return cls(factor, addend)

    def sum_of(self, text: bytes) -> int:
        """The checksum of the characters between the mark and the checksum."""
        total, factor, word = 1, self.factor, int.from_bytes
        for at in range(0, len(text), _SUMMED):
            total = (total * factor + word(text[at : at + _SUMMED], "little")) % _PRIME
        return (total * factor + self.addend) % _PRIME & (1 << 6 * SUM_DIGITS) - 1


def next_digest(digest: int, checksum: int) -> int:
    """END's digest after one more frame with this checksum."""
    return (digest * DIGEST + checksum) & 0xFFFFFFFF


# ------------------------------------------------------------------------------------------------
# Frames


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame whose checksum has not been looked at."""

    first: int
    """the number of its first record"""
    count: int
    body: bytes
    """its records"""
    checksum: int
    summed: bytes
    """what its checksum covers"""

    @property
    def is_trace(self) -> bool:
        """Whether it can be the first of a trace, which is TRACE alone."""
        return self.first == 0 and self.count == 1 and self.body.startswith(_TRACE)

    @property
    def is_end(self) -> bool:
        """Whether it is the last of a trace, which is END alone."""
        return self.count == 1 and self.body.startswith(_END)


def parse(text: bytes, damaged: bool = False) -> Frame | None:
    """The frame in the characters behind a mark; None: they cannot be one.

    damaged: what stands in the place of the checksum may be anything.
    """
    summed, last = text[:-SUM_DIGITS], text[-SUM_DIGITS:].translate(_DIGITS)
    head = summed[: 2 + ALL].translate(_DIGITS)
    try:
        first, at = _number(head, 0)
        count = head[at]
    except (Cut, IndexError, NoDigit):
        return None
    if not 0 < count < _ONE or len(last) < SUM_DIGITS or (_NO_DIGIT in last and not damaged):
        return None
    return Frame(first, count, summed[at + 1 :], _joined(last), summed)


def claims(text: bytes) -> range | None:
    """The numbers that the events of a damaged line have, from what follows its mark."""
    some = text[: 2 + ALL].translate(_DIGITS)
    try:
        first, at = _number(some, 0)
    except (Cut, NoDigit):
        return None
    count = some[at] if at < len(some) else 1
    return range(first, first + count) if 0 < count < _ONE and at < len(text) else None


def head_of(frame: Frame) -> tuple[int, bytes] | None:
    """The version and the key in a frame with a TRACE of any version. None: it has none."""
    some = frame.body.translate(_DIGITS)
    if not frame.is_trace:
        return None
    try:
        version, at = _number(some, len(_TRACE))
        key, _ = Texts().text(some, frame.body, at)
        raw = bytes.fromhex(key)
    except (Cut, IndexError, NoDigit, Damage, ValueError):
        return None
    return (version, raw) if len(raw) == _KEY_BYTES and len(key) == 2 * _KEY_BYTES else None


def begins(text: bytes) -> bool:
    """Whether the characters behind a mark, which are no frame, can be the beginning of one."""
    some = text.translate(_DIGITS)
    try:
        _, at = _number(some, 0)
    except Cut:
        return True
    except NoDigit:
        return False
    return at >= len(some) or (0 < some[at] < _ONE and len(some) - at <= SUM_DIGITS)


def _joined(some: bytes) -> int:
    value = 0
    for digit in some:
        value = value << 6 | digit
    return value


def _number(some: bytes, at: int) -> tuple[int, int]:
    """The number that begins there, and the place behind it."""
    if at >= len(some):
        raise Cut
    first = some[at]
    if first < _ONE:
        return first, at + 1
    return _long_number(some, at)


def _long_number(some: bytes, at: int) -> tuple[int, int]:
    first = some[at]
    if first < _LONG:
        count, value = 1, first - _ONE
    elif first < 64:
        count, value = (ALL if first == 63 else first - _LONG + 2), 0
    else:
        raise NoDigit
    end = at + 1 + count
    following = some[at + 1 : end]
    if _NO_DIGIT in following:
        raise NoDigit
    if len(following) < count:
        raise Cut
    return value << 6 * count | _joined(following) if value else _joined(following), end


def number(value: int) -> bytes:
    """A number as a frame has it."""
    if value < _ONE:
        return digits(value, 1)
    if value < _TWO:
        return digits((_ONE << 6) + value, 2)
    for count in range(2, _MOST + 1):
        if value >> 6 * count == 0:
            return digits(_LONG + count - 2, 1) + digits(value, count)
    return digits(63, 1) + digits(value, ALL)


def digits(value: int, count: int) -> bytes:
    """The last so many digits of a number."""
    return bytes(_ZERO + (value >> 6 * at & 63) for at in range(count - 1, -1, -1))


_TRACE, _END = (number(list(event_table().fields).index(name)) for name in ("TRACE", "END"))

# ------------------------------------------------------------------------------------------------
# Records

_TEXT, _DIGEST_FORM, _NUMBER, _ADDRESS, _DEPTH = range(5)
_FORMS: Final = {
    "TEXT": _TEXT, "DIGEST": _DIGEST_FORM, "NUMBER": _NUMBER, "ADDRESS": _ADDRESS, "DEPTH": _DEPTH,
}  # fmt: skip
_SMALL: Final = tuple(map(str, range(_TWO)))
_MALFORMED: Final = re.compile(rb"%(?![0-9A-Fa-f]{2})")
_REMEMBERED: Final = 1 << 12

Check = Callable[[str], bool]


@functools.cache
def print_forms() -> dict[str, str]:
    """Type of a field -> how it is printed."""
    rows = headers.table("trace_events.h", "CR_TRACE_TYPE")
    return {str(name): str(how) for name, how, _ in rows}


@functools.cache
def _accepts(type_name: str) -> Check | None:
    """Whether values have the form of a type. None: all have. The last ones are remembered."""
    if type_name in ("TEXT", "NUMBER", "ADDRESS", "STATE_DIGEST"):
        return None
    return functools.lru_cache(maxsize=_REMEMBERED)(field_types()[type_name].accepts)


@functools.cache
def _events() -> tuple[tuple[str, tuple[tuple[str, int, Check | None], ...]], ...]:
    """By the number of an event: its name, and its fields, each with its form and check."""
    table, forms = event_table(), print_forms()
    return tuple(
        (
            name,
            tuple(
                (field, _FORMS[forms[kind]], _accepts(kind))
                for field in fields
                for kind in (table.types[name, field],)
            ),
        )
        for name, fields in table.fields.items()
    )


class Texts:
    """The dictionary of a trace: the texts of which it has only the numbers any more."""

    def __init__(self) -> None:
        self._raw: list[bytes] = []
        self._texts: list[str] = []

    def read(self, token: int, body: bytes, at: int) -> tuple[bytes, int]:
        """The piece of a text that a token tells, or that follows it."""
        if token < _TEXTS:
            if token >= len(self._raw):
                raise Damage("line.value", f"text {token} of the dictionary was never sent")
            return self._raw[token], at
        end = body.find(b" ", at)
        if end < 0:
            raise Cut
        raw = body[at:end]
        if b"%" in raw:
            if _MALFORMED.search(raw):
                shown = printable(raw.decode("latin-1"), 60)
                raise Damage("line.value", f"{shown}: expected %XX after every '%'")
            raw = unquote_to_bytes(raw)
        if token != PLAIN:
            if token == _CLEAR:
                self._raw.clear()
                self._texts.clear()
            elif len(self._raw) >= _TEXTS:
                raise Damage("line.value", f"more than {_TEXTS} texts in the dictionary")
            self._raw.append(raw)
            self._texts.append(raw.decode("utf-8", "surrogateescape"))
        return raw, end + 1

    def text(self, some: bytes, body: bytes, at: int) -> tuple[str, int]:
        """The text that begins there, and the place behind it."""
        token = some[at]
        at += 1
        if token >= _ONE:
            token, at = _long_number(some, at - 1)
        if not token & 1 and token >> 1 < len(self._texts):
            return self._texts[token >> 1], at
        raw, at = self.read(token >> 1, body, at)
        while token & 1:
            token, at = _number(some, at)
            more, at = self.read(token >> 1, body, at)
            raw += more
        return raw.decode("utf-8", "surrogateescape"), at


class _NoTexts(Texts):
    """Knows no text, and accepts all numbers of them."""

    def read(self, token: int, body: bytes, at: int) -> tuple[bytes, int]:
        """See Texts."""
        if token >= _TEXTS:
            at = body.find(b" ", at) + 1
            if at == 0:
                raise Cut
        return b"", at


class Records:
    """Reads the records of a trace, frame by frame.

    timed: those behind TRACE have times. checks: values must have the form of their fields.
    """

    def __init__(self, timed: bool = False, checks: bool = True) -> None:
        self.timed = timed
        self._texts = Texts()
        self._checks = checks
        self._time = 0  # of the last record, in nanoseconds
        self._in = "", ""  # the event and the field that are being read

    def read(self, frame: Frame, line: int = 0) -> list[Event]:
        """The records of a frame in this line. Damage: they are not as the table says."""
        try:
            found, at = self._read(frame, line)
        except (Cut, IndexError):
            name, field = self._in
            raise Damage("line.fields", f"{name}: the frame ends within {field}") from None
        except _TooLarge:
            name, field = self._in
            raise Damage("line.value", f"{name}: {field}: expected a number below 2^64") from None
        except NoDigit:
            name, field = self._in
            raise Damage("line.value", f"{name}: {field}: a character that is no digit") from None
        if at != len(frame.body):
            raise Damage("line.fields", f"{found[-1].name}: more behind its last field")
        return found

    def _read(self, frame: Frame, line: int) -> tuple[list[Event], int]:
        """The records, and the place behind them."""
        body, events, known = frame.body, [], _events()
        some, at = body.translate(_DIGITS), 0
        for seq in range(frame.first, frame.first + frame.count):
            self._in = f"event {seq}", "its number"
            kind, at = _number(some, at)
            if kind >= len(known):
                version = event_table().version
                what = f"unknown event {kind}: trace version {version} has no such event"
                raise Damage("order.version", what)
            name, fields = known[kind]
            values: dict[str, str] = {}
            for field, form, accepts in fields:
                self._in = name, field
                if form == _TEXT:
                    value, at = self._texts.text(some, body, at)
                elif form == _DIGEST_FORM:
                    value, at = _digest(some, at)
                else:
                    found = some[at]
                    at += 1
                    if found >= _ONE:
                        found, at = _long_number(some, at - 1)
                    small = form == _NUMBER and found < _TWO
                    value = _SMALL[found] if small else _told(found, form)
                if accepts is not None and self._checks and not accepts(value):
                    raise _bad(name, field, value)
                values[field] = value
            time = None
            if self.timed and kind:
                self._in = name, "its time"
                passed, at = _number(some, at)
                _told(passed, _NUMBER)
                time = self._time = self._time + passed & MAX_NUMBER
            events.append(Event(name, values, line, seq, time=time))
        return events, at


def _bad(name: str, field: str, value: str) -> Damage:
    shown, expected = printable(encode(value), 60), field_type(name, field).expected
    return Damage("line.value", f"{name}: {field}={shown}: expected {expected}")


def _told(value: int, form: int) -> str:
    """A number as people read it."""
    if value > MAX_NUMBER:
        raise _TooLarge
    if form == _ADDRESS:
        return hex(value)
    if form == _DEPTH:
        return str(value - 1) if value else "inf"
    return str(value)


def _digest(some: bytes, at: int) -> tuple[str, int]:
    end = at + ALL
    found = some[at:end]
    if len(found) < ALL:
        raise Cut
    if _NO_DIGIT in found:
        raise NoDigit
    return f"{int(_told(_joined(found), _NUMBER)):016x}", end


def shape(frame: Frame, timed: bool) -> list[str]:
    """The names of the events in a frame, whatever was before it. Cut, NoDigit: it is damaged.

    Damage: it has an unknown event, or more than its records.
    """
    records = Records(timed, checks=False)
    records._texts = _NoTexts()
    try:
        found, at = records._read(frame, 0)
    except _TooLarge:
        raise NoDigit from None
    if at != len(frame.body):
        raise Damage("line.fields", "more behind its last field")
    return [event.name for event in found]
