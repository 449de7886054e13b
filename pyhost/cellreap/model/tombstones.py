# SPDX-License-Identifier: BSD-2-Clause
"""What a saved state keeps of destroyed PDs and spaces to which somebody referred."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, unquote

DESTROYED: Final = "DESTROYED"
"""First word of the EXTRA column of a destroyed node."""

_WORDS: Final = re.compile(
    rf"{DESTROYED} how=([a-z]+) code=(0|[1-9][0-9]{{0,19}}) name=(\S+)"
    r"(?: fault=([a-z-]+):(0x[0-9a-f]{1,16}):(0x[0-9a-f]{1,16}))?",
    re.ASCII,
)
FORM: Final = f"{DESTROYED} how=WORD code=NUMBER name=NAME, then fault=KIND:ADDRESS:IP or nothing"


@dataclass(frozen=True)
class Tombstone:
    """How a PD or space came to its end. docs/semantics.md explains it.

    name: "-" if it has none. fault: kind, address and instruction of its last fault.
    """

    id: str
    name: str
    how: str
    code: int = 0
    fault: tuple[str, str, str] | None = None

    def words(self) -> str:
        """The EXTRA column of its row."""
        words = f"{DESTROYED} how={self.how} code={self.code} name={quote(self.name)}"
        return words if self.fault is None else f"{words} fault={':'.join(self.fault)}"


def is_tombstone(extra: str) -> bool:
    """Whether the EXTRA column, without the version, is that of a destroyed node."""
    return extra.split(" ")[0] == DESTROYED


def parse_tombstone(node: str, extra: str) -> Tombstone | None:
    """The tombstone in an EXTRA column. None if it has not the form of `FORM`."""
    found = _WORDS.fullmatch(extra)
    if found is None:
        return None
    how, code, name, kind, address, ip = found.groups()
    fault = None if kind is None else (kind, address, ip)
    return Tombstone(node, unquote(name), how, int(code), fault)
