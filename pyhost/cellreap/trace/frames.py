# SPDX-License-Identifier: BSD-2-Clause
"""The text of frames, in which the root task writes the records of a trace.

docs/trace-format.md describes it. The constants and the table of events are those of
roottask/include/cellreap/trace_events.h.
"""

from __future__ import annotations

import functools
import re
import string
import struct
from binascii import a2b_base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import mul
from typing import Final
from urllib.parse import unquote_to_bytes

from cellreap import headers
from cellreap.headers import event_table
from cellreap.platforms import register_names
from cellreap.trace.events import MAX_NUMBER, Event, encode, field_types, printable


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
_ALL_DIGITS: Final = bytes(range(_ZERO, _ZERO + 64))
_LETTERS: Final = string.ascii_uppercase + string.ascii_lowercase
_BASE64: Final = bytes.maketrans(bytes(range(64)), f"{_LETTERS}{string.digits}+/".encode())
"""Six bits -> the digit of Base64 for them."""
_KEY_BYTES: Final = _constant("TRACE_KEY_BYTES")
_PRIME: Final = 2**61 - 1
_SUMMED: Final = 7
"""Bytes of a word of the checksum."""
_LENGTHS: Final = 512
"""Numbers of words whose factors are kept. The root task's lines have fewer words."""


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


_Sum = tuple[Callable[[bytes], tuple[bytes, ...]], list[int], int]
"""What divides a text into words, their factors, and what is added to the products."""


class Key:
    """The key of the checksums of a trace. key: its 16 bytes."""

    def __init__(self, key: bytes) -> None:
        self._factor, self._addend = (
            int.from_bytes(half, "little") % _PRIME for half in (key[:8], key[8:])
        )
        self._of_length: dict[int, _Sum] = {}  # by the number of words

    def sum_of(self, text: bytes) -> int:
        """The checksum of the characters between the mark and the checksum."""
        count, word = -(-len(text) // _SUMMED), int.from_bytes
        divide, factors, addend = self._of_length.get(count) or self._for_length(count)
        padded = text.ljust(_SUMMED * count, b"\0")
        words = [word(each, "little") for each in divide(padded)]
        total: int = sum(map(mul, factors, words)) + addend
        return total % _PRIME & (1 << 6 * SUM_DIGITS) - 1

    def _for_length(self, count: int) -> _Sum:
        """h * r + word for each word, and at last h * r + s, as a sum of products."""
        powers = [1]
        for _ in range(count + 1):
            powers.append(powers[-1] * self._factor % _PRIME)
        # A Struct cannot be pickled with its reader. This module keeps the formats in use compiled.
        divide = functools.partial(struct.unpack, f"{_SUMMED}s" * count)
        made = divide, powers[count:0:-1], powers[count + 1] + self._addend
        if len(self._of_length) < _LENGTHS:
            self._of_length[count] = made
        return made


def next_digest(digest: int, checksum: int) -> int:
    """END's digest after one more frame with this checksum."""
    return (digest * DIGEST + checksum) & 0xFFFFFFFF


# ------------------------------------------------------------------------------------------------
# Frames


@dataclass(slots=True)
class Frame:
    """A frame whose checksum has not been looked at. Nobody changes one."""

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
    summed, last = text[:-SUM_DIGITS], text[-SUM_DIGITS:]
    try:
        first, count, at = _head(summed)
    except (Cut, NoDigit):
        return None
    garbled = last.translate(None, _ALL_DIGITS)
    if len(last) < SUM_DIGITS or (garbled and not damaged):
        return None
    checksum = 0 if garbled else _joined(last.translate(_DIGITS))
    return Frame(first, count, summed[at:], checksum, summed)


def _head(text: bytes) -> tuple[int, int, int]:
    """The number of the first record of a frame, how many it has, and the place behind them."""
    head = text[: 2 + ALL].translate(_DIGITS)
    first, at = _number(head, 0)
    if at == len(head):
        raise Cut
    if not 0 < head[at] < _ONE:
        raise NoDigit
    return first, head[at], at + 1


def claims(text: bytes) -> range | None:
    """The numbers that the events of a damaged line have, from what follows its mark."""
    try:
        first, count, _ = _head(text)
    except (Cut, NoDigit):
        return None
    return range(first, first + count)


def head_of(frame: Frame) -> tuple[int, bytes] | None:
    """The version and the key in a frame with a TRACE of any version. None: it has none."""
    some = frame.body.translate(_DIGITS)
    if not frame.is_trace:
        return None
    try:
        version, at = _number(some, len(_TRACE))
        token, at = _number(some, at)
        key, _ = Texts().text(token, some, frame.body, at)
        raw = bytes.fromhex(key)
    except (Cut, IndexError, NoDigit, Damage, ValueError):
        return None
    return (version, raw) if len(raw) == _KEY_BYTES and len(key) == 2 * _KEY_BYTES else None


def begins(text: bytes) -> bool:
    """Whether the characters behind a mark, which are no frame, can be the beginning of one."""
    try:
        _, _, at = _head(text)
    except Cut:
        return True
    except NoDigit:
        return False
    return len(text) - at < SUM_DIGITS


def _joined(some: bytes) -> int:
    """The number that digits make together."""
    if _NO_DIGIT in some:
        raise NoDigit
    fours = b"A" * (-len(some) % 4) + some.translate(_BASE64)
    return int.from_bytes(a2b_base64(fours), "big")


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
    if first > 63:
        raise NoDigit
    count = 1 if first < _LONG else ALL if first == 63 else first - _LONG + 2
    following = some[at + 1 : at + 1 + count]
    value = _joined(following)
    if len(following) < count:
        raise Cut
    return value + (first - _ONE << 6 if first < _LONG else 0), at + 1 + count


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

_MALFORMED: Final = re.compile(rb"%(?![0-9A-Fa-f]{2})")


@functools.cache
def print_forms() -> dict[str, str]:
    """Type of a field -> how it is printed."""
    rows = headers.table("trace_events.h", "CR_TRACE_TYPE")
    return {str(name): str(how) for name, how, _ in rows}


Fields = tuple[tuple[str, str, dict[int, str] | None], ...]
"""Each field with its type, and its values that have the form of the type, by the number that tells
them. None: it is a digest, of digits of its own.
"""

_ANYTHING: Final = ("TEXT", "NUMBER", "ADDRESS")
"""Types of which every value that a frame can tell has the form."""
_NUMBERED: Final[Fields] = (("its number", "NUMBER", None),)


@functools.lru_cache(maxsize=1 << 12)
def _fits(type_name: str, value: str) -> bool:
    return field_types()[type_name].accepts(value)


class Texts:
    """The dictionary of a trace: the texts of which it has only the numbers any more."""

    def __init__(self) -> None:
        self._raw: list[bytes] = []
        self.whole: dict[int, str] = {}
        """The number with which a text of one piece begins -> the text."""
        self.values: list[dict[int, str]] = []
        """The same of those that are values of a type, for each type."""

    def _piece(self, token: int, body: bytes, at: int) -> tuple[bytes, int]:
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
                for known in (self.whole, *self.values):
                    known.clear()
            elif len(self._raw) >= _TEXTS:
                raise Damage("line.value", f"more than {_TEXTS} texts in the dictionary")
            self.whole[2 * len(self._raw)] = raw.decode("utf-8", "surrogateescape")
            self._raw.append(raw)
        return raw, end + 1

    def text(self, token: int, some: bytes, body: bytes, at: int) -> tuple[str, int]:
        """The text that begins with this number, which is in front of the place, and its end."""
        raw, at = self._piece(token >> 1, body, at)
        while token & 1:
            token, at = _number(some, at)
            more, at = self._piece(token >> 1, body, at)
            raw += more
        return raw.decode("utf-8", "surrogateescape"), at


class _NoTexts(Texts):
    """Knows no text, and accepts all numbers of them."""

    def _piece(self, token: int, body: bytes, at: int) -> tuple[bytes, int]:
        if token >= _TEXTS:
            at = body.find(b" ", at) + 1
            if at == 0:
                raise Cut
        return b"", at


class Records:
    """Reads the records of a trace, frame by frame.

    timed: those behind TRACE have times. checks: values must have the form of their fields.
    """

    def __init__(
        self, timed: bool = False, checks: bool = True, texts: Texts | None = None
    ) -> None:
        self.timed = timed
        self._texts = texts or Texts()
        self._checks = checks
        self._time = 0  # of the last record, in nanoseconds
        self._registers: tuple[str, ...] = ()  # of the architecture that TRACE has
        table, values = event_table(), dict[str, dict[int, str] | None]()
        for name, form in print_forms().items():
            values[name] = None if form == "DIGEST" else {}
        self._texts.values = [its for name, its in values.items()
                              if its is not None and print_forms()[name] == "TEXT"]  # fmt: skip
        types = table.types
        self._events: list[tuple[str, Fields]] = [
            (name, tuple((each, types[name, each], values[types[name, each]]) for each in fields))
            for name, fields in table.fields.items()
        ]
        """By the number of an event: its name and its fields."""
        self._at: tuple[str, Fields, Mapping[str, str]] = ("", (), {})
        """the record that is being read: its event, its fields, and the values so far"""

    def read(self, frame: Frame, line: int = 0) -> list[Event]:
        """The records of a frame in this line. Damage: they are not as the table says."""
        try:
            found, at = self.records(frame, line)
        except (Cut, IndexError):
            raise self._damage("line.fields", "{0}: the frame ends within {1}") from None
        except _TooLarge:
            raise self._damage("line.value", "{0}: {1}: expected a number below 2^64") from None
        except NoDigit:
            raise self._damage("line.value", "{0}: {1}: a character that is no digit") from None
        if at != len(frame.body):
            raise Damage("line.fields", f"{found[-1].name}: more behind its last field")
        return found

    def _damage(self, rule: str, text: str) -> Damage:
        name, fields, values = self._at
        field = fields[len(values)][0] if len(values) < len(fields) else "its time"
        return Damage(rule, text.format(name, field))

    def records(self, frame: Frame, line: int) -> tuple[list[Event], int]:
        """The records, and the place behind them. Also raises Cut, NoDigit and IndexError.

        Here the reader spends its time. So numbers of one and two digits are read in place.
        """
        some, known, timed, at = frame.body.translate(_DIGITS), self._events, self.timed, 0
        events = []
        for seq in range(frame.first, frame.first + frame.count):
            values: dict[str, str] = {}
            self._at = f"event {seq}", _NUMBERED, values
            kind = some[at]
            at += 1
            if kind >= _ONE:
                kind, at = _long_number(some, at - 1)
            if kind >= len(known):
                version = event_table().version
                what = f"unknown event {kind}: trace version {version} has no such event"
                raise Damage("order.version", what)
            name, fields = known[kind]
            self._at = name, fields, values
            for field, of, told in fields:
                if told is None:
                    values[field], at = _digest(some, at)
                    continue
                number = some[at]
                at += 1
                if number >= _ONE:
                    if number < _LONG and some[at] < 64:
                        number = number - _ONE << 6 | some[at]
                        at += 1
                    else:
                        number, at = _long_number(some, at - 1)
                value = told.get(number)
                if value is None:
                    value, at = self._value(number, of, told, some, frame.body, at)
                values[field] = value
            if not kind:
                self._registers = register_names(values["arch"])
            time = None
            if timed and kind:
                passed = some[at]
                at += 1
                if passed >= _ONE:
                    passed, at = _long_number(some, at - 1)
                if passed > MAX_NUMBER:
                    raise _TooLarge
                time = self._time = self._time + passed & MAX_NUMBER
            events.append(Event(name, values, line, seq, (), time))
        return events, at

    def _value(
        self, number: int, of: str, told: dict[int, str], some: bytes, body: bytes, at: int
    ) -> tuple[str, int]:
        """The value that begins with this number, which is in front of the place, and its end."""
        form, lasts = print_forms()[of], number < _TWO
        if form == "TEXT":
            value, at = self._texts.text(number, some, body, at)
            lasts = number in self._texts.whole
        elif number > MAX_NUMBER:
            raise _TooLarge
        elif form == "NUMBERS":
            value, at = self._told_registers(number, some, at)
            lasts = False
        elif form == "DEPTH":
            value = str(number - 1) if number else "inf"
        else:
            value = hex(number) if form == "ADDRESS" else str(number)
        if self._checks and of not in _ANYTHING and not _fits(of, value):
            name, fields, values = self._at
            shown, field = printable(encode(value), 60), fields[len(values)][0]
            expected = field_types()[of].expected
            raise Damage("line.value", f"{name}: {field}={shown}: expected {expected}")
        if lasts:
            told[number] = value
        return value, at

    def _told_registers(self, count: int, some: bytes, at: int) -> tuple[str, int]:
        """The registers that are not 0, with their names. count: how many numbers follow."""
        values, names = [], self._registers
        for _ in range(count):
            value, at = _number(some, at)
            if value > MAX_NUMBER:
                raise _TooLarge
            values.append(value)
        if self._checks and count not in (0, len(names)):
            said = f"{count} registers: expected 0 or {len(names)}"
            raise Damage("line.value", f"{self._at[0]}: {said}")
        told = [f"{name}:{value:#x}" for name, value in zip(names, values, strict=False) if value]
        return ",".join(told) or "-", at


def _digest(some: bytes, at: int) -> tuple[str, int]:
    found = some[at : at + ALL]
    if len(found) < ALL:
        raise Cut
    value = _joined(found)
    if value > MAX_NUMBER:
        raise _TooLarge
    return f"{value:016x}", at + ALL


def shape(frame: Frame, timed: bool) -> list[str]:
    """The names of the events in a frame, whatever was before it. Cut, NoDigit: it is damaged.

    Damage: it has an unknown event, or more than its records.
    """
    try:
        found, at = Records(timed, checks=False, texts=_NoTexts()).records(frame, 0)
    except _TooLarge:
        raise NoDigit from None
    except IndexError:
        raise Cut from None
    if at != len(frame.body):
        raise Damage("line.fields", "more behind its last field")
    return [event.name for event in found]
