# SPDX-License-Identifier: BSD-2-Clause
"""Finds trace lines in the lines of a console, and tells the root task's lines from all others.

Every PD can print on a debug kernel. So the checksum of a line has a key: the root task draws it at
boot, and prints it in TRACE before any PD exists.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from cellreap import headers

MARK = b"~cr "

LINE = re.compile(rb"(0|[1-9][0-9]{0,18}) ([0-9a-f]{16}) ([A-Z_]+(?: .*)?)", re.DOTALL)
"""What follows the mark: the number, the checksum, and the event with its fields."""
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
_TIME = re.compile(rb"(.*) at=(0|[1-9][0-9]{0,18})", re.DOTALL)
_TRACE_KEY = re.compile(rb"TRACE (?:.* )?key=([0-9a-f]{32})(?: .*)?", re.DOTALL)

_SUM_BYTES = headers.constant("trace_events.h", "CR_TRACE_SUM_BYTES")
SUM_DIGITS = 2 * _SUM_BYTES
"""Characters of a checksum with a key."""
REACH = 2 * headers.constant("limits.h", "CR_TRACE_LINE_MAX")
"""Bytes at the end of a console line in which a line with a key begins. The root task ends its line
itself, so that nothing can stand behind it. Text of others in front of it may have any length.
"""


def without_time(body: bytes) -> tuple[bytes, int | None]:
    """An event with its fields, and the time behind them in nanoseconds. None: there is none."""
    found = _TIME.fullmatch(body)
    return (body, None) if found is None else (found.group(1), int(found.group(2)))


def summed(found: re.Match[bytes]) -> bytes:
    """The text of a line (a match of LINE) that its checksum covers."""
    return found.group(1) + b" " + found.group(3)


def keyed_sum(key: bytes, text: bytes) -> bytes:
    """The checksum of a line with a key of 16 bytes."""
    return hashlib.blake2s(text, digest_size=_SUM_BYTES, key=key).hexdigest().encode()


class Sums:
    """Makes the checksums of lines with one key, as `keyed_sum` does. The key is set up once."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._begun = hashlib.blake2s(digest_size=_SUM_BYTES, key=key)

    def of(self, text: bytes) -> bytes:
        """The checksum of a text."""
        hashed = self._begun.copy()
        hashed.update(text)
        return hashed.hexdigest().encode()

    def __reduce__(self) -> tuple[type[Sums], tuple[bytes]]:
        return Sums, (self._key,)


def key_in(found: re.Match[bytes]) -> bytes | None:
    """The key in a line (a match of LINE) with a TRACE whose checksum has that key; else None."""
    trace = _TRACE_KEY.fullmatch(found.group(3))
    if trace is None:
        return None
    key = bytes.fromhex(trace.group(1).decode())
    return key if found.group(2) == keyed_sum(key, summed(found)) else None


@dataclass
class Lines:
    """Finds the lines of one trace. Feed it the console from its beginning."""

    key: bytes | None = None
    """The key of the trace, once its TRACE is known."""
    _marked: bool = False  # whether a line with a mark was seen

    @property
    def keyed(self) -> bool:
        """Whether lines without the right key are known to be somebody else's."""
        return self.key is not None

    def find(self, line: bytes) -> tuple[int, re.Match[bytes]] | None:
        """The sound trace line within a console line: its place and a match of LINE.

        Other text may stand in front of it, also the beginnings of other trace lines.
        """
        line = line.rstrip(b"\r")
        at = line.find(MARK, max(0, len(line) - REACH) if self.keyed else 0)
        while at >= 0:
            found = LINE.fullmatch(line, at + len(MARK))
            first, self._marked = not self._marked, True
            if found is not None and self._sound(found, first):
                return at, found
            at = line.find(MARK, at + 1)
        return None

    def _sound(self, found: re.Match[bytes], first: bool) -> bool:
        if self.key is not None:
            return found.group(2) == keyed_sum(self.key, summed(found))
        # Only the first line of a console can be the beginning with the key. Later ones may be by a
        # PD.
        self.key = key_in(found) if first else None
        return self.keyed
