# SPDX-License-Identifier: BSD-2-Clause
"""Scans console output for trace events, the end of the trace, and fatal messages."""

from __future__ import annotations

import re

from cellreap.trace.lines import FATAL, Lines

_MAX_LINE = 1 << 16  # longer lines are not events and are read in pieces


class Console:
    """Finds events and fatal messages in the stream."""

    def __init__(
        self, finish: re.Pattern[bytes] | None, fatal: re.Pattern[bytes] | None = None
    ) -> None:
        """finish: a line that ends the run. fatal: a message that is as fatal as the kernel's."""
        self.finish = finish
        self._also_fatal = fatal
        self.bytes = 0
        self.events = 0
        self.complete = False
        self.fatal = ""
        """The first fatal message since the last event. An event shows that a PD printed the
        messages before it."""
        self._lines = Lines()
        self._line = b""

    @property
    def begun(self) -> bool:
        """Whether the trace has begun, so that PDs may print too."""
        return self._lines.keyed

    def take(self, data: bytes) -> None:
        """Scans the next bytes."""
        self.bytes += len(data)
        self._line += data
        *whole, rest = self._line.split(b"\n")
        for line in whole:
            self._look(line, ended=True)
        if len(rest) >= _MAX_LINE:
            self._look(rest, ended=False)
            rest = rest[-_MAX_LINE // 2 :]
        self._line = rest

    def _look(self, line: bytes, *, ended: bool) -> None:
        found = self._lines.find(line) if ended else None
        if found is not None:
            self.events += found[1].count
            self.complete = self.complete or found[1].is_end
            self.fatal = ""
        if self.finish is not None and self.finish.search(line + b"\n" * ended):
            self.complete = True
        if found is None and not self.fatal and (fatal := self._is_fatal(line)):
            self.fatal = fatal[0].decode("ascii", "replace")

    def _is_fatal(self, line: bytes) -> re.Match[bytes] | None:
        also = self._also_fatal
        return FATAL.search(line) or (also.search(line) if also is not None else None)
