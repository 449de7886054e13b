# SPDX-License-Identifier: BSD-2-Clause
"""What is wrong with a line that looks like a trace line and has a wrong checksum."""

from __future__ import annotations

import re

from cellreap import headers
from cellreap.trace.events import printable
from cellreap.trace.lines import LINE

_LINE_START = re.compile(rb"[0-9]{0,19}|[0-9]{1,19} [0-9a-f]{0,16}|[0-9]{1,19} [0-9a-f]{16} ")


def diagnose(text: bytes) -> tuple[str, str]:
    """(what is wrong with a damaged line, the rule that it breaks). text: what follows the mark."""
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
    known = headers.event_table().fields
    fields = known.get(name)
    if fields is None and any(event.startswith(name) for event in known) and not pairs:
        return "cut line", "line.cut"
    if fields is not None and _cut_short(pairs, fields):
        return (
            f"cut line: {name} with only {len(pairs)} of its {len(fields)} fields",
            "line.cut",
        )
    what = f"event {found.group(1).decode()}, {printable(name, 20)}"
    return f"wrong checksum: {found.group(2).decode()} ({what})", "line.checksum"


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
