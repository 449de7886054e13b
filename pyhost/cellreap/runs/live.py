# SPDX-License-Identifier: BSD-2-Clause
"""Shows a console while a run goes on: the lines of the trace as records, all else as it is."""

from __future__ import annotations

from cellreap.trace.events import record_text
from cellreap.trace.frames import MARK
from cellreap.trace.reader import MAX_LINE, Reader


class Live:
    """Gets the console of a run piece by piece. What is damaged is shown as it is."""

    def __init__(self) -> None:
        self._reader = Reader("the console")
        self._line = 0
        self._rest = b""
        self._begun = False  # the beginning of the line has been shown

    def take(self, data: bytes) -> bytes:
        """What is to be shown after the next bytes."""
        *lines, rest = (self._rest + data).split(b"\n")
        shown = b"".join(self._shown(line) for line in lines)
        may_be_a_line = MARK[:1] in rest and len(rest) <= MAX_LINE
        self._rest = rest if may_be_a_line else b""
        self._begun |= not may_be_a_line and bool(rest)
        return shown if may_be_a_line else shown + rest

    def _shown(self, line: bytes) -> bytes:
        self._line += 1
        begun, self._begun = self._begun, False
        events = self._reader.feed(self._line, line)
        if not events:
            return line + b"\n"
        before = line[: line.index(MARK)]
        texts = (f"{record_text(event)}\n".encode() for event in events)
        return b"".join([before + b"\n" * (begun or bool(before)), *texts])
