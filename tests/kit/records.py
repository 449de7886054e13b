# SPDX-License-Identifier: BSD-2-Clause
"""The records of a trace as text, which people read and tests edit, and their lines again.

A record is `EVENT field=value ... [at=NANOSECONDS]`, with values as `encode` has them.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import unquote_to_bytes

from cellreap.headers import event_table
from cellreap.trace import frames
from cellreap.trace.events import Event, FieldType, field_types
from cellreap.trace.frames import MARK
from cellreap.trace.reader import Reader, read
from cellreap.trace.writer import NO_SECRET, framed, record


def event_of(text: str) -> Event:
    """The event of a record."""
    name, *pairs = text.split(" ")
    values = dict(pair.split("=", 1) for pair in pairs)
    time = values.pop("at", None)
    read = {field: unescaped(value) for field, value in values.items()}
    return Event(name, read, time=None if time is None else int(time))


def unescaped(value: str) -> str:
    """The value that `encode` encoded as this text, in which no escape is malformed."""
    return unquote_to_bytes(value).decode("utf-8", "surrogateescape")


def field_type(event: str, field: str) -> FieldType:
    """The type of a field."""
    return field_types()[event_table().types[event, field]]


def fits(values: Mapping[str, object], wanted: Mapping[str, object]) -> bool:
    """Whether fields have these values. A field named like a keyword has a trailing underscore."""
    return all(str(values[key.rstrip("_")]) == str(value) for key, value in wanted.items())


def line_of(seq: int, text: str, key: bytes = NO_SECRET) -> str:
    """The line of one record with this number. Its time, if it has one, is since the last one."""
    event = event_of(text)
    return framed(record(event, event.time), seq, key)[0]


def events_in(log: bytes) -> tuple[list[Event], Reader]:
    """The events in a console, and what reads it."""
    reader = Reader("log")
    return list(read(reader, io.BytesIO(log))), reader


def log_of(lines: Iterable[str]) -> bytes:
    """The console with these lines."""
    return "".join(f"{line}\n" for line in lines).encode()


def names_in(line: bytes | str) -> list[str]:
    """The names of the events in a line of a trace without times. A line of others has none."""
    raw = line.encode() if isinstance(line, str) else line
    _, mark, text = raw.rstrip(b"\r\n").partition(MARK)
    frame = frames.parse(text) if mark else None
    return [] if frame is None else frames.shape(frame, timed=False)


def line_with(lines: Sequence[bytes | str], name: str) -> int:
    """The place of the first line that has an event of this name."""
    return next(at for at, line in enumerate(lines) if name in names_in(line))


def up_to(console: str, name: str) -> str:
    """The console before the first line that has an event of this name."""
    lines = console.splitlines(keepends=True)
    return "".join(lines[: line_with(lines, name)])
