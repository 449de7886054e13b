# SPDX-License-Identifier: BSD-2-Clause
"""Scans console output for trace events, the end of the trace, and fatal messages."""

from __future__ import annotations

import re
import zlib

_MAX_LINE = 1 << 16  # longer lines are not events and are read in pieces

_EVENT = re.compile(rb"~cr (\d+) ([0-9a-f]{8}) ([A-Z_]+)((?: [^\r\n]*)?)\r?\n")
# The last pattern: the fault of a thread without a fault handler, for example the root task.
_FATAL = re.compile(
    rb"cellreap: panic: [^\r\n]*|cellreap loader: error: [^\r\n]*"
    rb"|seL4 called fail at [^\r\n]*|seL4 failed assertion [^\r\n]*"
    rb'|=+ KERNEL EXCEPTION =+|in thread [^\r\n]*"rootserver" at address [^\r\n]*'
)


class Console:
    """Finds events and fatal messages in the stream."""

    def __init__(self, finish: re.Pattern[bytes] | None) -> None:
        self.finish = finish
        self.bytes = 0
        self.events = 0
        self.complete = False
        self.fatal = ""
        self._line = b""

    def take(self, data: bytes) -> None:
        """Scans the next bytes."""
        self.bytes += len(data)
        self._line += data
        whole, newline, rest = self._line.rpartition(b"\n")
        if not newline and len(rest) < _MAX_LINE:
            return
        self._look(whole + newline if newline else rest)
        self._line = rest if newline else b""

    def _look(self, lines: bytes) -> None:
        for event in _EVENT.finditer(lines):
            text = event[1] + b" " + event[3] + event[4]
            if zlib.crc32(text) == int(event[2], 16):
                self.events += 1
                self.complete = self.complete or event[3] == b"END"
        if self.finish is not None and self.finish.search(lines):
            self.complete = True
        if not self.fatal and (found := _FATAL.search(lines)):
            self.fatal = found[0].decode("ascii", "replace")
