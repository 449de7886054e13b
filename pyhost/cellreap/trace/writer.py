# SPDX-License-Identifier: BSD-2-Clause
"""Writes events as trace lines, as the root task prints them. See docs/trace-format.md."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from typing import Final

from cellreap import headers
from cellreap.trace.events import Event, encode
from cellreap.trace.lines import MARK, keyed_sum

Draft = tuple[str, Mapping[str, object]]
"""An event to be written: its name and its values. `seal` computes END's count and digest."""


NO_SECRET: Final = bytes(16)
"""The key of traces that are made on the host."""


def seal(events: Iterable[Draft | Event], key: bytes | None = None) -> list[str]:
    """The trace lines of these events, without newlines.

    The lines have sequence numbers and checksums, and END has its count and digest. key: of the
    checksums. If None, it is the one in TRACE, else NO_SECRET.
    """
    lines: list[str] = []
    digest = 0
    count = 0
    in_trace = NO_SECRET
    for seq, draft in enumerate(events):
        event = draft if isinstance(draft, Event) else _event(*draft)
        if event.name == "TRACE":
            in_trace = _key_in(event)
        if event.name == "END":
            end = {"count": str(count + 1), "digest": f"{digest:08x}"}
            event = Event("END", end, time=event.time)
        text = f"{seq} {_text(event)}"
        if event.time is not None:
            text += f" at={event.time}"
        lines.append(_line(text, key or in_trace))
        if event.name != "END":
            digest = zlib.crc32(text.encode("ascii") + b"\n", digest)
            count += 1
    return lines


def _key_in(event: Event) -> bytes:
    try:
        return bytes.fromhex(event.values.get("key", "")) or NO_SECRET
    except ValueError:
        return NO_SECRET


def _line(text: str, key: bytes) -> str:
    """The line of the text "<seq> <event> ..."."""
    checksum = keyed_sum(key, text.encode("ascii"))
    seq, _, rest = text.partition(" ")
    return f"{MARK.decode()}{seq} {checksum.decode()} {rest}"


def _event(name: str, values: Mapping[str, object]) -> Event:
    return Event(name, {field: str(value) for field, value in values.items()})


def _text(event: Event) -> str:
    """The event as a line: the table's fields in their order, then all others."""
    fields = headers.event_table().fields.get(event.name, tuple(event.values))
    ordered = [known for known in fields if known in event.values]
    ordered += [surplus for surplus in event.values if surplus not in fields]
    return " ".join([event.name, *(f"{known}={encode(event[known])}" for known in ordered)])
