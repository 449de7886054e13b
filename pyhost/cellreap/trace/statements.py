# SPDX-License-Identifier: BSD-2-Clause
"""What PDs say themselves: the lines on the console that the library of PDs prints.

statement.h describes the lines. Other text may come into the middle of one, because a PD prints it
character by character: a line of the root task, or a whole line of a PD of a higher priority.
"""

from __future__ import annotations

import functools
import hashlib
import re
from dataclasses import dataclass
from typing import Final

from cellreap.model.digest import stirred

_MARK: Final = b"~pd "
_FORM: Final = re.compile(
    rb"~pd ([1-9a-f][0-9a-f]{0,7}) (0|[1-9a-f][0-9a-f]{0,7}) (0|[1-9a-f][0-9a-f]?)"
    rb" ([0-9a-f]{8}) ([0-9a-f]{8})"
)
_KEPT: Final = 256
"""Bytes of a text in which beginnings of statements are looked for."""
LOW: Final = 2**32 - 1


@dataclass(slots=True)
class Statement:
    """What a PD says before it asks the root task for something. Nobody changes one.

    line: of the console, from 1. pd: -: what may be left of a statement, or is forged. count: how
    many entries the PD had before. op: the number of the operation; 0: none. total: the low half of
    the sum with what the PD asks for.
    """

    line: int
    pd: str
    count: int = 0
    op: int = 0
    total: int = 0

    def seal(self, key: bytes) -> int:
        """What ends the line in a run with this key."""
        return stirred(_secret(key, self.pd), self.count << 32 | self.op, self.total) & LOW

    def text(self, key: bytes) -> str:
        """The line as the PD prints it in a run with this key."""
        said = f"~pd {self.pd[3:]} {self.count:x} {self.op:x} {self.total:08x}"
        return f"{said} {self.seal(key):08x}"


@functools.lru_cache(maxsize=1 << 12)
def _secret(key: bytes, pd: str) -> int:
    hashed = hashlib.blake2s(pd.encode(), digest_size=8, key=key)
    return int.from_bytes(hashed.digest(), "little")


class Statements:
    """Finds statements in the lines of a console. Feed it all of them, in order."""

    def __init__(self) -> None:
        self._begun = b""
        """What may be the beginnings of statements, which others came into the middle of."""

    def feed(self, number: int, text: bytes, key: bytes, whole: bool) -> Statement | None:
        """The statement that ends in a line of the console.

        text: the line without an event of the root task. whole: it had none, so the text has an
        end. key: that of the trace.
        """
        if not self._begun and b"~" not in text:
            return None
        text = self._begun + text.rstrip(b"\r")
        at = text.rfind(_MARK)
        found = _FORM.fullmatch(text, at) if whole and at >= 0 else None
        self._begun = (
            b"" if whole and found is None else _tail(text if found is None else text[:at])
        )
        if found is None:
            return Statement(number, "-") if whole else None
        pd, count, op, total, seal = found.groups()
        said = Statement(number, f"PD_{pd.decode()}", int(count, 16), int(op, 16), int(total, 16))
        return said if said.seal(key) == int(seal, 16) else Statement(number, "-")


def _tail(text: bytes) -> bytes:
    """The end of a text in which statements may begin."""
    at = text.find(b"~", max(0, len(text) - _KEPT))
    return b"" if at < 0 else text[at:]
