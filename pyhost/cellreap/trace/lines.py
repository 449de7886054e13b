# SPDX-License-Identifier: BSD-2-Clause
"""Finds trace lines in the lines of a console, and tells the root task's lines from all others.

Every PD can print on a debug kernel. So the checksum of a line has a key: the root task draws it at
boot, and prints it in TRACE before any PD exists.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cellreap import headers
from cellreap.trace import frames
from cellreap.trace.events import printable
from cellreap.trace.frames import MARK, Frame, Key

FATAL = re.compile(
    rb"cellreap: panic: [^\r\n]*|cellreap loader: error: [^\r\n]*"
    rb"|seL4 called fail at [^\r\n]*|seL4 failed assertion [^\r\n]*"
    rb"|Debug halt syscall [^\r\n]*|refkernel: halted by [^\r\n]*"
    rb'|=+ KERNEL EXCEPTION =+|in thread [^\r\n]*"rootserver" at address [^\r\n]*'
)
"""Messages with which the kernel or the root task stops, or a PD stops the machine. The last one is
the fault of a thread without a fault handler. PDs can print such a message too. Then an event
follows it.
"""

REACH = 2 * headers.constant("limits.h", "CR_TRACE_LINE_MAX")
"""Bytes at the end of a console line in which a line with a key begins. The root task ends its line
itself, so that nothing can stand behind it. Text of others in front of it may have any length.
"""


_SNAPSHOT: Final = b"Dumping all tcbs!"
_LAST_PART: Final = b"irq maps {"
_TRIED: Final = re.compile(
    rb"(?:\x1b\[\d*m)*<<(?:\x1b\[\d*m)*seL4[^\n]*Untyped Retype: Insufficient memory[^\n]*\n"
)
"""What a debug kernel prints because the root task asks how much memory there is. No PD has memory
of which it could ask for objects.
"""


_COLOUR: Final = re.compile(r"\x1b\[[\d;]*m")


def key_in(frame: Frame) -> bytes | None:
    """The key in a frame with a TRACE whose checksum has that key; else None."""
    head = frames.head_of(frame)
    if head is None or Key(head[1]).sum_of(frame.summed) != frame.checksum:
        return None
    return head[1]


@dataclass
class Lines:
    """Finds the lines of one trace. Feed it the console from its beginning."""

    key: bytes | None = None
    """The key of the trace, once its TRACE is known."""
    _key: Key | None = None
    _marked: bool = False  # whether a line with a mark was seen
    _snapshot: bytes = b""  # what came last of the snapshot that the kernel prints

    @property
    def keyed(self) -> bool:
        """Whether lines without the right key are known to be somebody else's."""
        return self._key is not None

    def find(self, line: bytes) -> tuple[int, Frame] | None:
        """The sound trace line within a console line: its place and its frame.

        Other text may stand in front of it, also the beginnings of other trace lines.
        """
        line = line.rstrip(b"\r")
        at = line.find(MARK, max(0, len(line) - REACH) if self.keyed else 0)
        while at >= 0:
            frame = frames.parse(line[at + len(MARK) :])
            first, self._marked = not self._marked, True
            if frame is not None and self._sound(frame, first):
                return at, frame
            at = line.find(MARK, at + 1)
        return None

    def other(self, line: bytes) -> bytes:
        """What of a console line, with its newline, is of others: not of the trace, and not printed
        by the kernel because the root task asks. The text before that goes on in the next line.
        """
        trace = self.find(line.rstrip(b"\n"))
        text = line if trace is None else line[: trace[0]]
        if trace is None and self._snapshot:
            is_over = self._snapshot == _LAST_PART and text.startswith(b"}")
            if is_over or text.startswith(_LAST_PART):
                self._snapshot = b"" if is_over else _LAST_PART
            return b""
        self._snapshot = _SNAPSHOT if text.startswith(_SNAPSHOT) else b""
        return b"" if self._snapshot else _TRIED.sub(b"", text)

    def without(self, console: Iterable[bytes]) -> bytes:
        """What of the lines of a console is of others, from when the trace begins if it does."""
        rest: list[bytes] = []
        for line in console:
            keyed = self.keyed
            rest.append(self.other(line))
            if self.keyed and not keyed:
                rest.clear()
        return b"".join(rest)

    def _sound(self, frame: Frame, first: bool) -> bool:
        if self._key is not None:
            return frame.checksum == self._key.sum_of(frame.summed)
        # Only the first line of a console can be the beginning with the key. Later ones may be by a
        # PD.
        self.key = key_in(frame) if first else None
        self._key = None if self.key is None else Key(self.key)
        return self.keyed


def others_on(console: Path) -> str:
    """What others than the root task print on a recorded console: PDs for Microkit, drivers, and
    the kernel.
    """
    with console.open("rb") as file:
        return Lines().without(file).decode("utf-8", "replace").replace("\r\n", "\n")


def readable(line: str) -> str:
    """A line that others print, safe for terminals and without its colours."""
    plain = _COLOUR.sub("", line)
    return printable(plain, len(plain))
