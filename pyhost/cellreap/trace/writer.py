# SPDX-License-Identifier: BSD-2-Clause
"""Writes events as the root task prints them, each in a frame. See docs/trace-format.md.

The frames have no dictionary: each text is in its place.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Final

from cellreap import headers
from cellreap.platforms import with_registers
from cellreap.trace import frames
from cellreap.trace.events import MAX_NUMBER, Event, encode
from cellreap.trace.frames import MARK, Key, number

Draft = tuple[str, Mapping[str, object]]
"""An event to be written: what it tells, as `Event.told` or its name, and its values. `seal`
computes END's count and digest.
"""


NO_SECRET: Final = b"nobody's secret!"
"""The key of traces that are made on the host."""


def seal(events: Iterable[Draft | Event]) -> list[str]:
    """The trace lines of these events, without newlines: each event has one.

    The lines have sequence numbers and checksums, and END has its count and digest. The key of the
    checksums is the one in TRACE, else NO_SECRET. ValueError: a value that no line can have.
    """
    lines: list[str] = []
    digest = count = time = 0
    in_trace = NO_SECRET
    for seq, draft in enumerate(events):
        event = draft if isinstance(draft, Event) else event_of(*draft)
        if event.name == "TRACE" and seq == 0:
            in_trace = _key_in(event)
        if event.name == "END":
            end = {"count": str(count + 1), "digest": f"{digest:08x}"}
            event = Event("END", end, time=event.time)
        passed = None
        if event.time is not None:
            passed, time = event.time - time & MAX_NUMBER, event.time
        line, checksum = framed(record(event, passed), seq, in_trace)
        lines.append(line)
        if event.name != "END":
            digest = frames.next_digest(digest, checksum)
            count += 1
    return lines


def framed(body: bytes, first: int, key: bytes) -> tuple[str, int]:
    """The line of a frame with this record, and its checksum. first: its number."""
    text = number(first) + frames.digits(1, 1) + body
    checksum = Key(key).sum_of(text)
    line = MARK + text + frames.digits(checksum, frames.SUM_DIGITS)
    return line.decode("ascii"), checksum


def record(event: Event, passed: int | None = None) -> bytes:
    """An event as a frame has it. passed: since the one before it, in nanoseconds.

    Fields that the table has not are written as texts behind the others.
    """
    table = headers.event_table()
    known = table.fields.get(event.name, ())
    out = number(_numbers().get(event.name, len(_numbers())))
    for field in known:
        if field in event.values:
            out += _value(event[field], frames.print_forms()[table.types[event.name, field]])
    for field in event.values.keys() - set(known):
        out += _text(event[field])
    return out if passed is None else out + number(passed)


@functools.cache
def _numbers() -> dict[str, int]:
    return {name: at for at, name in enumerate(headers.event_table().fields)}


def _value(value: str, form: str) -> bytes:
    match form:
        case "TEXT":
            return _text(value)
        case "DIGEST":
            return frames.digits(int(value, 16), frames.ALL)
        case "NUMBERS":
            return _registers(value)
        case "DEPTH":
            return number(0 if value == "inf" else int(value) + 1)
    return number(int(value, 0))


def _text(value: str) -> bytes:
    return number(2 * frames.PLAIN) + encode(value).encode("ascii") + b" "


def _registers(value: str) -> bytes:
    told = dict(pair.split(":", 1) for pair in value.split(",") if value != "-")
    names = with_registers(told) if told else ()
    values = [int(told.get(name, "0"), 0) for name in names]
    return number(len(values)) + b"".join(map(number, values))


def _key_in(event: Event) -> bytes:
    try:
        return bytes.fromhex(event.values.get("key", "")) or NO_SECRET
    except ValueError:
        return NO_SECRET


def event_of(told: str, values: Mapping[str, object]) -> Event:
    """A draft as an event."""
    change, _, name = told.rpartition(" ")
    said = {**({"change": change} if change else {}), **values}
    known = headers.event_table().fields.get(name, ())
    ordered = [*(field for field in known if field in said), *(said.keys() - set(known))]
    return Event(name, {field: str(said[field]) for field in ordered})
