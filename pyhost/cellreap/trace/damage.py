# SPDX-License-Identifier: BSD-2-Clause
"""What is wrong with a line that looks like a trace line and has a wrong checksum."""

from __future__ import annotations

import re

from cellreap import headers
from cellreap.headers import EventTable
from cellreap.trace.events import printable
from cellreap.trace.lines import LINE, crc_of, summed
from cellreap.trace.upgrade import table_of

TRACE_VERSION = re.compile(rb"TRACE version=([0-9]+)(?: .*)?", re.DOTALL)
"""A TRACE event, with its version."""
_LINE_START = re.compile(
    rb"[0-9]{0,19}|[0-9]{1,19} [0-9a-f]{0,16}|[0-9]{1,19} (?:[0-9a-f]{8}|[0-9a-f]{16}) "
)


def diagnose(text: bytes, table: EventTable | None) -> tuple[str, str]:
    """(what is wrong with a damaged line, the rule that it breaks).

    text: what follows the mark. table: of the trace's version, if that is known.
    """
    if _LINE_START.fullmatch(text):
        return "cut line", "line.cut"
    found = LINE.fullmatch(text)
    if found is None:
        shown = printable(text.decode("latin-1"), 60)
        return (
            f"garbled line: {shown!r}: expected a number, a checksum and an event",
            "line.form",
        )
    name, *pairs = found.group(3).decode("latin-1").split(" ")
    table = table or _table_named(found.group(3)) or headers.event_table()
    fields = table.fields.get(name)
    if fields is None and any(known.startswith(name) for known in table.fields) and not pairs:
        return "cut line", "line.cut"
    if fields is not None and _cut_short(pairs, fields):
        return (
            f"cut line: {name} with only {len(pairs)} of its {len(fields)} fields",
            "line.cut",
        )
    what = f"event {found.group(1).decode()}, {printable(name, 20)}"
    text_sum = found.group(2).decode()
    if len(text_sum) > len(crc_of(b"")):
        return f"wrong checksum: {text_sum} ({what})", "line.checksum"
    has = crc_of(summed(found)).decode()
    return f"wrong checksum: {text_sum}, but the line has {has} ({what})", "line.checksum"


def _table_named(body: bytes) -> EventTable | None:
    """The table of the version that a TRACE event names."""
    found = TRACE_VERSION.fullmatch(body)
    return table_of(int(found.group(1))) if found and len(found.group(1)) <= 9 else None


def _cut_short(pairs: list[str], fields: tuple[str, ...]) -> bool:
    """Whether these are the first of the fields. The last one may be incomplete."""
    if len(pairs) >= len(fields):
        return False
    for index, pair in enumerate(pairs):
        name, equals, _ = pair.partition("=")
        whole = name == fields[index] and equals == "="
        if not whole and not (index == len(pairs) - 1 and f"{fields[index]}=".startswith(pair)):
            return False
    return True
