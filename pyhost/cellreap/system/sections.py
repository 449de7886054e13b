# SPDX-License-Identifier: BSD-2-Clause
"""The sections and symbols of 64-bit ELF files, read with struct.

The linker's tables of a root task have thousands of symbols, and a build looks up a handful. They
are read once.
"""

from __future__ import annotations

import struct
from collections import Counter
from functools import cached_property, lru_cache
from typing import NamedTuple

from cellreap.errors import CellreapError

_HEADER = struct.Struct("<40xQ10xHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_NOBITS = 8


class SectionsError(CellreapError):
    """The sections or symbols of a file cannot be read."""


class Section(NamedTuple):
    """A section. Sizes in bytes."""

    name: str
    kind: int
    address: int
    offset: int
    bytes: int
    link: int


class Symbol(NamedTuple):
    """A symbol. section: its number; those from 0xff00 on are none."""

    value: int
    bytes: int
    section: int


@lru_cache(maxsize=4)
def sections_of(raw: bytes) -> Sections:
    """The sections of an ELF file. SectionsError if they cannot be read.

    The tables of the files that were asked for last are kept.
    """
    return Sections(raw)


class Sections:
    """The sections of one file, and its symbols when they are needed first."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        try:
            start, size, count, names = _HEADER.unpack_from(raw)
            if count and size != _SECTION.size:
                raise SectionsError(f"section headers of {size} bytes")
            table = memoryview(raw)[start : start + size * count] if count else b""
            rows = list(_SECTION.iter_unpack(table))
            if len(rows) != count or names >= max(count, 1):
                raise SectionsError("the section headers are cut")
        except struct.error as error:
            raise SectionsError(str(error)) from None
        self.all: list[Section] = []
        if not rows:
            return
        at, length = rows[names][4], rows[names][5]
        texts = raw[at : at + length]
        for name, kind, _flags, address, offset, length, link, *_rest in rows:
            self.all.append(Section(_name(texts, name), kind, address, offset, length, link))

    def get(self, name: str) -> Section | None:
        """The first section of this name."""
        return next((section for section in self.all if section.name == name), None)

    def data(self, section: Section) -> bytes:
        """The contents of a section. SectionsError if they are cut."""
        if section.kind == _NOBITS:
            return bytes(section.bytes)
        data = self._raw[section.offset : section.offset + section.bytes]
        if len(data) != section.bytes:
            raise SectionsError(f"{section.name} is cut")
        return data

    @cached_property
    def symbols(self) -> dict[str, Symbol]:
        """The symbols by name, the first of each. SectionsError if they cannot be read."""
        return dict(reversed(self._symbols))

    @cached_property
    def counts(self) -> Counter[str]:
        """How many symbols have each name."""
        return Counter(name for name, _ in self._symbols)

    @cached_property
    def _symbols(self) -> list[tuple[str, Symbol]]:
        table = self.get(".symtab")
        if table is None:
            return []
        if table.link >= len(self.all) or table.bytes % _SYMBOL.size:
            raise SectionsError(".symtab is damaged")
        texts = self.data(self.all[table.link])
        return [
            (_name(texts, name), Symbol(value, size, section))
            for name, _info, _other, section, value, size in _SYMBOL.iter_unpack(self.data(table))
        ]


def _name(texts: bytes, start: int) -> str:
    end = texts.find(b"\0", start)
    return texts[start : end if end >= 0 else len(texts)].decode("utf-8", "replace")
