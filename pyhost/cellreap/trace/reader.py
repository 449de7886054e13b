# SPDX-License-Identifier: BSD-2-Clause
"""Traces: reading them out of a raw console log, and writing them.

The format is in docs/trace-format.md, the events in roottask/include/cellreap/trace_events.h. A console log
holds other things too: kernel messages before, between and in front of trace lines, carriage returns, noise.
Whatever is no trace line is skipped; whatever was one and is damaged is told, with what happened to it.
"""

from __future__ import annotations

import functools
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from cellreap import headers
from cellreap.errors import InputError
from cellreap.headers import EventTable
from cellreap.model.ids import NodeKind, parse_id

MARK = b"~cr "
MAX_LINE = 65536
"""Bytes of a line, its newline not counted. A SAY of the longest text is below 2 KiB."""
MAX_PROBLEMS = 1000
"""Problems that are kept to be shown; more are only counted."""
MAX_NUMBER = 2**64 - 1

FAULT_KINDS = ("vm-fault", "cap-fault", "user-exception", "unknown-syscall")
CAUSES = {"FAULT": "fault", "EXIT": "exit", "TERMINATE": "terminate", "LATE": "deadline"}
"""Trigger event -> the cause that its cleanup names."""
RESULTS = ("ok", "failed", "each")

_CHUNK = 1 << 16
_OLD_TABLES = Path(__file__).with_name("versions")


@dataclass(frozen=True)
class Problem:
    """Something wrong in a trace. line: from 1, in the console log."""

    line: int
    text: str


@dataclass(frozen=True)
class Event:
    """One event, its values percent-decoded and of the form that their fields demand."""

    name: str
    values: Mapping[str, str]
    line: int = 0
    seq: int = -1

    def __getitem__(self, field_name: str) -> str:
        return self.values[field_name]

    def number(self, field_name: str) -> int:
        """A decimal field, or an address."""
        return int(self.values[field_name], 0)

    def depth(self, field_name: str) -> int | None:
        """A depth; None is "inf"."""
        value = self.values[field_name]
        return None if value == "inf" else int(value)

    def optional(self, field_name: str) -> str | None:
        """A field in which "-" stands for nothing."""
        value = self.values[field_name]
        return None if value == "-" else value

    def __str__(self) -> str:
        return " ".join([self.name, *(f"{name}={encode(value)}" for name, value in self.values.items())])


# ----------------------------------------------------------------------------------------------------
# What the fields hold


@dataclass(frozen=True)
class FieldKind:
    """The form of a field's value: how to say it to a person, and a test for it."""

    expected: str
    accepts: Callable[[str], bool]


def _like(expected: str, pattern: str) -> FieldKind:
    compiled = re.compile(pattern, re.DOTALL | re.ASCII)
    return FieldKind(expected, lambda value: compiled.fullmatch(value) is not None)


def _integer(expected: str, pattern: str) -> FieldKind:
    compiled = re.compile(pattern, re.ASCII)
    return FieldKind(
        expected, lambda value: compiled.fullmatch(value) is not None and abs(int(value, 0)) <= MAX_NUMBER
    )


def _one_of(*words: str) -> FieldKind:
    return FieldKind("one of " + ", ".join(words), lambda value: value in words)


def _node(expected: str, *kinds: NodeKind, none: bool = False) -> FieldKind:
    def accepts(value: str) -> bool:
        parts = parse_id(value)
        return parts.kind in kinds if parts is not None else none and value == "-"

    return FieldKind(expected, accepts)


_DECIMAL = r"(?:0|[1-9][0-9]{0,19})"

_NUMBER_KIND = _integer("a decimal number below 2^64", _DECIMAL)
_ADDRESS_KIND = _integer("an address, 0x and hex digits", r"0x[0-9a-f]{1,16}")
_DEPTH_KIND = _like("a decimal number or inf", r"(?:0|[1-9][0-9]{0,8})|inf")
_TEXT_KIND = FieldKind("a text", lambda value: True)
_WORD_KIND = _like("a word of a-z, 0-9 and -", r"[a-z0-9][a-z0-9-]*")
_PD_KIND = _node("a PD", "PD")
_SPACE_KIND = _node("a space", "RESOURCE_SPACE")
_RESOURCE_KIND = _node("a resource", "RESOURCE")
_NODE_KIND = _node("a PD, space or resource", "PD", "RESOURCE_SPACE", "RESOURCE")
_THING_KIND = _node("a space or resource", "RESOURCE_SPACE", "RESOURCE")
_DOOMABLE_KIND = _node("a PD or space", "PD", "RESOURCE_SPACE")
_PD_OR_NONE_KIND = _node("a PD or -", "PD", none=True)

_FIELD_KINDS: dict[str, FieldKind] = {
    "a": _PD_KIND,
    "address": _ADDRESS_KIND,
    "arch": _TEXT_KIND,
    "b": _PD_KIND,
    "by": _PD_KIND,
    "bytes": _NUMBER_KIND,
    "calls": _NUMBER_KIND,
    "cause": _one_of(*CAUSES.values()),
    "code": _integer("a decimal number", rf"-?{_DECIMAL}"),
    "count": _NUMBER_KIND,
    "crash": _NUMBER_KIND,
    "created": _PD_KIND,
    "depth": _NUMBER_KIND,
    "done": _NUMBER_KIND,
    "dropped": _NUMBER_KIND,
    "failed": _NUMBER_KIND,
    "held": _NUMBER_KIND,
    "mode": _one_of("async", "sync"),
    "ms": _NUMBER_KIND,
    "state": _NUMBER_KIND,
    "ticket": _NUMBER_KIND,
    "waiting": _NUMBER_KIND,
    "what": _PD_OR_NONE_KIND,
    "x": _NUMBER_KIND,
    "digest": _like("8 hex digits", r"[0-9a-f]{8}"),
    "group": _NUMBER_KIND,
    "handler": _PD_KIND,
    "cycles": _NUMBER_KIND,
    "ip": _ADDRESS_KIND,
    "kernel": _TEXT_KIND,
    "manager": _PD_KIND,
    "n": _NUMBER_KIND,
    "name": _TEXT_KIND,
    "node": _NODE_KIND,
    "op": _NUMBER_KIND,
    "paddr": _ADDRESS_KIND,
    "pd": _PD_KIND,
    "pd_depth": _DEPTH_KIND,
    "pinned": _one_of("0", "1"),
    "resource": _RESOURCE_KIND,
    "result": _one_of(*RESULTS),
    "row": _TEXT_KIND,
    "rows": _NUMBER_KIND,
    "rs_depth": _DEPTH_KIND,
    "slot": _NUMBER_KIND,
    "slots": _NUMBER_KIND,
    "space": _SPACE_KIND,
    "status": _NUMBER_KIND,
    "system": _TEXT_KIND,
    "text": _TEXT_KIND,
    "token": _NUMBER_KIND,
    "trigger": _PD_KIND,
    "type": _like("a type, of A-Z, 0-9 and _", r"[A-Z][A-Z0-9_]*"),
    "version": _NUMBER_KIND,
}

_OWED_KINDS = ("free", "destroy", "disconnect", "lost")

_EVENT_FIELD_KINDS: dict[tuple[str, str], FieldKind] = {
    ("PD", "id"): _PD_KIND,
    ("SPACE", "id"): _SPACE_KIND,
    ("RESOURCE", "id"): _RESOURCE_KIND,
    ("DELETE", "node"): _THING_KIND,
    ("HOLD", "node"): _THING_KIND,
    ("UNHOLD", "node"): _THING_KIND,
    ("MAP", "from"): _THING_KIND,
    ("MAP", "to"): _THING_KIND,
    ("PIECE", "from"): _THING_KIND,
    ("PIECE", "to"): _THING_KIND,
    ("UNMAP", "from"): _THING_KIND,
    ("UNMAP", "to"): _THING_KIND,
    ("SUBSCRIBE", "node"): _DOOMABLE_KIND,
    ("UNSUBSCRIBE", "node"): _DOOMABLE_KIND,
    ("PRE_DESTROY", "node"): _DOOMABLE_KIND,
    ("FAULT", "kind"): _one_of(*FAULT_KINDS),
    ("OWE", "kind"): _one_of(*_OWED_KINDS),
    ("OWE", "to"): _PD_KIND,
    ("OWE", "from"): _PD_OR_NONE_KIND,
    ("QUEUE", "kind"): _one_of(*_OWED_KINDS, "pre-destroy", "extract"),
    ("QUEUE", "to"): _PD_KIND,
    ("QUEUE", "from"): _PD_OR_NONE_KIND,
    ("STEP", "name"): _WORD_KIND,
    ("STEP", "node"): _node("a PD, space, resource or -", "PD", "RESOURCE_SPACE", "RESOURCE", none=True),
    ("STEP", "pd"): _PD_OR_NONE_KIND,
    ("CALLS", "kind"): _WORD_KIND,
}


def field_kind(event: str, field_name: str) -> FieldKind | None:
    """What the values of a field look like; None for a field that nothing is known of."""
    return _EVENT_FIELD_KINDS.get((event, field_name)) or _FIELD_KINDS.get(field_name)


# ----------------------------------------------------------------------------------------------------
# Versions


@functools.cache
def table_of(version: int) -> EventTable | None:
    """The events of a trace version; None if no table of it is kept here.

    The current version's table is the header of the C sources. When the version is raised, the header as it
    was goes to versions/v<version>.h beside this module, so that older traces are read for good.
    """
    current = headers.event_table()
    if version == current.version:
        return current
    old = _OLD_TABLES / f"v{version}.h"
    if not old.is_file():
        return None
    return headers.parse_event_table(headers.strip(old.read_text(encoding="utf-8")), str(old))


def known_versions() -> list[int]:
    """The versions that table_of knows, ascending."""
    kept = {int(path.stem[1:]) for path in _OLD_TABLES.glob("v*.h") if path.stem[1:].isdecimal()}
    return sorted(kept | {headers.event_table().version})


# ----------------------------------------------------------------------------------------------------
# Text of values


def encode(value: str) -> str:
    """A value as it stands in a line: bytes outside 0x21..0x7e, and '%', as %XX."""
    raw = value.encode("utf-8", "surrogateescape")
    return "".join(chr(byte) if 0x21 <= byte <= 0x7E and byte != 0x25 else f"%{byte:02X}" for byte in raw)


_ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})|%")


def decode(value: bytes) -> str | None:
    """The value that `encode` made this of; None if an escape in it is broken."""
    if b"%" in value:
        if any(found.group(1) is None for found in _ESCAPE.finditer(value)):
            return None
        value = _ESCAPE.sub(lambda found: bytes((int(found.group(1), 16),)), value)
    return value.decode("utf-8", "surrogateescape")


def printable(text: str, limit: int = 120) -> str:
    """Text that came from a target, safe on a terminal: no control characters, not longer than limit."""
    shown = "".join(char if char.isprintable() and not 0xD800 <= ord(char) < 0xE000 else "?" for char in text)
    return shown if len(shown) <= limit else shown[: limit - 3] + "..."


# ----------------------------------------------------------------------------------------------------
# Reading


@dataclass
class _Gap:
    """Sequence numbers first..last that have not come; `line` is where that was noticed."""

    first: int
    last: int
    line: int


_LINE = re.compile(rb"(0|[1-9][0-9]{0,18}) ([0-9a-f]{8}) ([A-Z_]+(?: .*)?)", re.DOTALL)
_LINE_START = re.compile(rb"[0-9]{0,19}|[0-9]{1,19} [0-9a-f]{0,8}|[0-9]{1,19} [0-9a-f]{8} ")
_TRACE_VERSION = re.compile(rb"TRACE version=([0-9]+)(?: .*)?", re.DOTALL)


def split_lines(
    stream: BinaryIO, progress: Callable[[int], None] | None = None
) -> Iterator[tuple[int, bytes, bool]]:
    """The lines of a console log: (line number, line, was a trace line too long dropped in front of it).

    Of a line longer than MAX_LINE only the end is given, from its last mark on if that fits.
    progress: called with the number of bytes after each piece read.
    """
    rest = bytearray()
    number = 1
    overlong = False
    while chunk := stream.read(_CHUNK):
        if progress is not None:
            progress(len(chunk))
        rest += chunk
        start = 0
        while (end := rest.find(b"\n", start)) >= 0:
            overlong |= end - start > MAX_LINE and MARK in rest[start : end - MAX_LINE]
            yield number, bytes(rest[max(start, end - MAX_LINE) : end]), overlong
            overlong = False
            number += 1
            start = end + 1
        del rest[:start]
        if len(rest) > MAX_LINE:
            at = rest.rfind(MARK)
            keep = len(rest) - at if at >= 0 else len(MARK) - 1
            if keep > MAX_LINE:
                keep = len(MARK) - 1
            overlong |= MARK in rest[: len(rest) - keep]
            del rest[: len(rest) - keep]
    if rest:
        yield number, bytes(rest), overlong


def read(reader: Reader, stream: BinaryIO, progress: Callable[[int], None] | None = None) -> Iterator[Event]:
    """The events in a console log, up to the first place from which on something is missing or out of place:
    what comes after that means nothing. The rest is still read for damage, which `reader` then tells.

    InputError if there is no trace in it.
    """
    for number, line, overlong in split_lines(stream, progress):
        event = reader.feed(number, line, overlong)
        if event is not None:
            yield event
    reader.finish()


@dataclass
class Reader:
    """Finds the trace in the lines of a console log: feed it all lines, finish it and look at `problems`.

    Keeps nothing of the lines, so its memory does not grow with the trace.
    """

    path: str
    problems: list[Problem] = field(default_factory=list)
    more_problems: int = 0
    """Problems beyond MAX_PROBLEMS."""
    broken_at: int | None = None
    """The line of the first damage that ended the replay."""
    last_line: int = 0
    table: EventTable | None = None
    """The events of the trace's version, once TRACE was read."""

    _next: int = 0
    _count: int = 0
    _digest: int = 0
    _gaps: list[_Gap] = field(default_factory=list)
    _claimed: list[int] = field(default_factory=list)  # sequence numbers that damaged lines bear
    _unclaimed: int = 0  # damaged lines that do not tell their number
    _first_damage: Problem | None = None
    _ended: int | None = None
    _marked: bool = False

    def feed(self, number: int, line: bytes, overlong: bool = False) -> Event | None:
        """The event in a line, or None: there is none, or it is damaged, or something before it is."""
        self.last_line = number
        if overlong:
            self._marked = True
            self._damaged(number, b"", f"a trace line is longer than {MAX_LINE} bytes")
        at = line.find(MARK)
        if at < 0:
            return None
        self._marked = True
        event = self._line(number, line[at:].rstrip(b"\r"))
        return event if self.broken_at is None else None

    # -- lines

    def _line(self, number: int, line: bytes) -> Event | None:
        """What a line that begins with the mark holds; damage is noted."""
        text = line[len(MARK) :]
        if self._sound(text):
            return self._accept(number, text)
        # A cut line and the next one run together: the later mark begins a line of its own.
        at = line.find(MARK, 1)
        while at >= 0:
            later = line[at + len(MARK) :]
            if self._sound(later):
                self._damaged(number, line[len(MARK) : at], "cut line: the next one begins within it")
                return self._accept(number, later)
            at = line.find(MARK, at + 1)
        self._damaged(number, text, self._diagnose(text))
        return None

    @staticmethod
    def _sound(text: bytes) -> bool:
        found = _LINE.fullmatch(text)
        return found is not None and zlib.crc32(_summed(found)) == int(found.group(2), 16)

    def _diagnose(self, text: bytes) -> str:
        """What is wrong with a line that is not sound."""
        if _LINE_START.fullmatch(text):
            return "cut line"
        found = _LINE.fullmatch(text)
        if found is None:
            shown = printable(text.decode("latin-1"), 60)
            return f"garbled line: {shown!r}: expected a number, a checksum and an event"
        name, *pairs = found.group(3).decode("latin-1").split(" ")
        table = self.table or headers.event_table()
        fields = table.fields.get(name)
        if fields is None and any(known.startswith(name) for known in table.fields) and not pairs:
            return "cut line"
        if fields is not None and _cut_short(pairs, fields):
            return f"cut line: {name} with only {len(pairs)} of its {len(fields)} fields"
        has = zlib.crc32(_summed(found))
        what = f"event {found.group(1).decode()}, {printable(name, 20)}"
        return f"wrong checksum: {found.group(2).decode()}, but the line has {has:08x} ({what})"

    # -- order

    def _accept(self, number: int, text: bytes) -> Event | None:
        """A sound line: its place in the sequence, then its meaning."""
        found = _LINE.fullmatch(text)
        assert found is not None
        seq = int(found.group(1))
        name = found.group(3).split(b" ", 1)[0].decode("ascii")
        if self._ended is not None:
            again = "; did the machine start again?" if name == "TRACE" else ""
            self._problem(number, f"event {seq} ({name}) after END in line {self._ended}{again}")
            return None
        if seq < self._next:
            self._late(number, seq, name)
            return self._parse(number, seq, text) if name == "TRACE" and self.table is None else None
        if seq > self._next:
            self._missing(number, seq)
        self._claimed.clear()
        self._unclaimed = 0
        self._next = seq + 1
        event = self._parse(number, seq, text)
        summed = _summed(found)
        if name == "END":
            self._ended = number
            if event is not None and self.broken_at is None:
                self._check_end(event)
        else:
            self._count += 1
            self._digest = zlib.crc32(summed + b"\n", self._digest)
        return event

    def _late(self, number: int, seq: int, name: str) -> None:
        for gap in self._gaps:
            if gap.first <= seq <= gap.last:
                self._gaps.remove(gap)
                if gap.first < seq:
                    self._gaps.append(_Gap(gap.first, seq - 1, gap.line))
                if seq < gap.last:
                    self._gaps.append(_Gap(seq + 1, gap.last, gap.line))
                self._break(number)
                self._problem(number, f"reordered: event {seq} ({name}) comes after event {self._next - 1}")
                return
        again = "; did the machine start again?" if name == "TRACE" else ""
        self._problem(number, f"doubled: event {seq} ({name}) was there already{again}")

    def _missing(self, number: int, seq: int) -> None:
        """The numbers _next..seq-1 have not come: damaged lines account for some, the others are a gap."""
        self._break(number)
        pieces: list[tuple[int, int]] = []
        first = self._next
        for claimed in sorted(set(self._claimed)):
            if first <= claimed < seq:
                if first < claimed:
                    pieces.append((first, claimed - 1))
                first = claimed + 1
        if first < seq:
            pieces.append((first, seq - 1))
        stray = sum(1 for claimed in self._claimed if not self._next <= claimed < seq)
        if sum(last - low + 1 for low, last in pieces) <= self._unclaimed + stray:
            return
        for low, last in pieces:
            if len(self._gaps) < MAX_PROBLEMS:
                self._gaps.append(_Gap(low, last, number))
            else:
                self.more_problems += 1

    def _damaged(self, number: int, text: bytes, what: str) -> None:
        self._break(number)
        problem = Problem(number, what)
        self._first_damage = self._first_damage or problem
        found = re.match(rb"(0|[1-9][0-9]{0,18}) ", text)
        if found and self._next <= int(found.group(1)) < self._next + 1000 and len(self._claimed) < 1000:
            self._claimed.append(int(found.group(1)))
        else:
            self._unclaimed += 1
        self._problem(number, what)

    # -- meaning

    def _parse(self, number: int, seq: int, text: bytes) -> Event | None:
        found = _LINE.fullmatch(text)
        assert found is not None
        body = found.group(3)
        name = body.split(b" ", 1)[0].decode("ascii")
        if self.table is None:
            if name != "TRACE":
                if seq == 0:
                    self._break(number)
                    self._problem(number, f"the first event is {name}: expected TRACE")
                return None
            self.table = self._version(number, body)
        fields = self.table.fields.get(name)
        if fields is None:
            self._break(number)
            self._problem(
                number, f"unknown event {name}: trace version {self.table.version} has no such event"
            )
            return None
        values: dict[str, str] = {}
        pairs = body.split(b" ")[1:]
        written = [pair.partition(b"=")[0].decode("latin-1") for pair in pairs]
        if written != list(fields) or not all(b"=" in pair for pair in pairs):
            self._break(number)
            has = printable(" ".join(written))
            self._problem(number, f"{name}: its fields are {has!r}: expected {' '.join(fields)!r}")
            return None
        for field_name, pair in zip(fields, pairs, strict=True):
            raw = pair.partition(b"=")[2]
            value = decode(raw)
            kind = field_kind(name, field_name)
            if value is None or (kind is not None and not kind.accepts(value)):
                self._break(number)
                expected = "%XX after every '%'" if value is None or kind is None else kind.expected
                shown = printable(raw.decode("latin-1"), 60)
                self._problem(number, f"{name}: {field_name}={shown}: expected {expected}")
                return None
            values[field_name] = value
        return Event(name, values, number, seq)

    def _version(self, number: int, body: bytes) -> EventTable:
        found = _TRACE_VERSION.fullmatch(body)
        if found is None or len(found.group(1)) > 9:
            raise InputError(self.path, number, "TRACE", "no version=<number> as its first field")
        version = int(found.group(1))
        table = table_of(version)
        if table is None:
            known = ", ".join(str(known) for known in known_versions())
            newer = ", so a newer cellreap wrote it" if version > max(known_versions()) else ""
            expected = f"{version} is no version that this cellreap reads ({known}){newer}"
            raise InputError(self.path, number, "TRACE: version", expected)
        return table

    def _check_end(self, end: Event) -> None:
        if end.number("count") != self._count + 1:
            self._problem(end.line, f"END: count={end['count']}, but it is event number {self._count + 1}")
        if int(end["digest"], 16) != self._digest:
            self._problem(end.line, f"END: digest={end['digest']}, but the events have {self._digest:08x}")

    def finish(self) -> None:
        """There are no more lines. InputError if there was no trace in them."""
        if self.table is None:
            if self.last_line == 0:
                raise InputError(self.path, None, None, "empty: expected a trace")
            if not self._marked:
                expected = f"no trace in it: expected lines with {MARK.decode().strip()!r}"
                raise InputError(self.path, None, None, expected)
            damage = self._first_damage
            if damage is not None:
                raise InputError(self.path, damage.line, "no sound TRACE line", damage.text)
            raise InputError(self.path, None, None, "no TRACE line: expected one before all other events")
        for gap in self._gaps:
            one = gap.first == gap.last
            what = f"event {gap.first} is" if one else f"events {gap.first} to {gap.last} are"
            self._problem(gap.line, f"lost: {what} missing before this line")
        if self._ended is None:
            self._break(self.last_line)
            self._problem(self.last_line, f"cut off: no END after event {self._next - 1}")
        self.problems.sort(key=lambda problem: problem.line)

    def _break(self, number: int) -> None:
        if self.broken_at is None:
            self.broken_at = number

    def _problem(self, number: int, text: str) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(Problem(number, text))
        else:
            self.more_problems += 1


def _summed(found: re.Match[bytes]) -> bytes:
    """What a line's checksum is over."""
    return found.group(1) + b" " + found.group(3)


def _cut_short(pairs: list[str], fields: tuple[str, ...]) -> bool:
    """Are these the first of the fields, the last one perhaps not whole?"""
    if len(pairs) >= len(fields):
        return False
    for index, pair in enumerate(pairs):
        name, equals, _ = pair.partition("=")
        whole = name == fields[index] and equals == "="
        if not whole and not (index == len(pairs) - 1 and f"{fields[index]}=".startswith(pair)):
            return False
    return True


# ----------------------------------------------------------------------------------------------------
# Writing

Draft = tuple[str, Mapping[str, object]]
"""An event to be written: its name and its values. END's count and digest are made when it is sealed."""


def seal(events: Iterable[Draft | Event]) -> list[str]:
    """Trace lines, without newlines, of these events: numbered, summed, END with its count and digest."""
    lines: list[str] = []
    digest = 0
    count = 0
    for seq, event in enumerate(events):
        name, values = (event.name, event.values) if isinstance(event, Event) else event
        if name == "END":
            values = {"count": count + 1, "digest": f"{digest:08x}"}
        fields = headers.event_table().fields.get(name, tuple(values))
        ordered = [known for known in fields if known in values]
        ordered += [surplus for surplus in values if surplus not in fields]
        text = " ".join([str(seq), name, *(f"{known}={encode(str(values[known]))}" for known in ordered)])
        crc = zlib.crc32(text.encode("ascii"))
        lines.append(f"{MARK.decode()}{seq} {crc:08x} {text.partition(' ')[2]}")
        if name != "END":
            digest = zlib.crc32(text.encode("ascii") + b"\n", digest)
            count += 1
    return lines
