# SPDX-License-Identifier: BSD-2-Clause
"""The objects and capabilities of a description in capDL, with their lines.

It reads what python-capdl-tool, CAmkES and cellreap write. Arrays of objects and capabilities with
names, which only people write, are refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from cellreap.errors import InputError
from cellreap.inputs import read_at_most

MAX_FILE_BYTES = 64 << 20
_TOKEN = re.compile(
    r"(?P<space>\s+|--[^\n]*|/\*.*?\*/)"
    r'|(?P<word>"[^"\n]*"|[\w@.]+(?:-(?!-)[\w@.]+)*)|(?P<sign>[{}()=,:\[\]])',
    re.DOTALL,
)
_OPEN, _CLOSE = "([{", ")]}"
_IGNORED = ("irq", "cdt", "asid_slots")
"""Sections that say nothing about who depends on whom."""


@dataclass(frozen=True)
class Cap:
    """A capability in a slot. `words` has rights, `values` what has a key: badge, guard."""

    line: int
    target: str
    words: tuple[str, ...]
    values: dict[str, str]

    def may(self, right: str) -> bool:
        """Whether it has a right: R, W, G or P."""
        rights = (word for word in self.words if re.fullmatch("[RWGXP]+", word))
        return any(right in word for word in rights)

    def number(self, key: str) -> int:
        """A number among its values; 0 if it is not there."""
        return number(self.values.get(key, "0")) or 0


@dataclass
class Object:
    """An object, and the capabilities in it by slot."""

    line: int
    name: str
    kind: str
    words: tuple[str, ...]
    values: dict[str, str]
    files: tuple[str, ...]
    """The files that fill it."""
    caps: dict[str, Cap] = field(default_factory=dict)

    def bits(self) -> int:
        """N of `(N bits)`. 0 if it is not there."""
        found = next((word for word in self.words if word.endswith(" bits")), "0 bits")
        return number(found.split()[0]) or 0


def number(text: str) -> int | None:
    """A number, as capDL writes it. None: it is something else, such as the name of a slot."""
    try:
        return int(text, 0)
    except ValueError:
        return None


class _Reader:
    def __init__(self, path: str, text: str) -> None:
        self._path = path
        self._tokens: list[tuple[int, str]] = []
        self._at = 0
        at, line = 0, 1
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None:
                raise InputError(path, line, None, f"{text[at]!r}: expected a description in capDL")
            if found.lastgroup != "space":
                self._tokens.append((line, found[0]))
            line += found[0].count("\n")
            at = found.end()
        self._last = line
        self.objects: dict[str, Object] = {}
        self.skipped: list[tuple[int, str]] = []

    # -- tokens

    def _line(self) -> int:
        return self._tokens[self._at][0] if self._at < len(self._tokens) else self._last

    def _peek(self, ahead: int = 0) -> str:
        at = self._at + ahead
        return self._tokens[at][1] if at < len(self._tokens) else ""

    def _error(self, expected: str) -> InputError:
        got = f"{self._peek()!r}" if self._peek() else "the end of the file"
        return InputError(self._path, self._line(), None, f"expected {expected}, got {got}")

    def _take(self, *wanted: str) -> bool:
        for ahead, word in enumerate(wanted):
            if self._peek(ahead) != word:
                return False
        self._at += len(wanted)
        return True

    def _expect(self, sign: str) -> None:
        if not self._take(sign):
            raise self._error(f'"{sign}"')

    def _word(self, what: str) -> str:
        word = self._peek()
        if not word or word in _OPEN + _CLOSE + "=,:":
            raise self._error(what)
        self._at += 1
        return word

    def _group(self) -> list[str]:
        """The tokens of a bracket, which is next, without the bracket itself."""
        begin, open_brackets = self._line(), ""
        found = []
        while self._peek():
            word = self._peek()
            if word in _CLOSE:
                if _OPEN.index(open_brackets[-1]) != _CLOSE.index(word):
                    raise self._error(f'"{_CLOSE[_OPEN.index(open_brackets[-1])]}"')
                open_brackets = open_brackets[:-1]
            elif word in _OPEN:
                open_brackets += word
            self._at += 1
            found.append(word)
            if not open_brackets:
                return found[1:-1]
        raise InputError(self._path, begin, None, "this bracket is not closed")

    def _parameters(self) -> tuple[tuple[str, ...], dict[str, str], tuple[str, ...]]:
        """Words, values and files of `( ... )`, if that is next."""
        if self._peek() != "(":
            return (), {}, ()
        items: list[list[str]] = [[]]
        depth = 0
        for word in self._group():
            depth += (word in _OPEN) - (word in _CLOSE)
            if word == "," and not depth:
                items.append([])
            else:
                items[-1].append(word)
        keyed = {item[0]: " ".join(item[2:]) for item in items if item[1:2] == [":"]}
        words = tuple(" ".join(item) for item in items if item and item[1:2] != [":"])
        files = re.findall(r'CDL_FrameFill_FileData "([^"]*)"', keyed.get("fill", ""))
        return words, keyed, tuple(files)

    # -- sections

    def read(self) -> None:
        """Reads all of it."""
        if not self._take("arch"):
            raise self._error('"arch", with which a description in capDL begins')
        self._word("an architecture")
        while self._peek():
            line, name = self._line(), self._word("a section")
            if name == "irq":
                self._take("maps")
            if name == "objects":
                self._expect("{")
                self._declarations()
            elif name == "caps":
                self._expect("{")
                while not self._take("}"):
                    self._filled()
            elif name in _IGNORED and self._peek() == "{":
                if self._group() and name == "irq":
                    self.skipped.append((line, "irq maps"))
            else:
                raise InputError(
                    self._path, line, name, "unknown section; expected objects, caps, irq maps, cdt"
                )

    def _declarations(self) -> None:
        """Objects up to the bracket. Those in an untyped are objects like others."""
        depth = 1
        while depth:
            if self._take("}"):
                depth -= 1
                continue
            if self._take(","):
                continue
            line, name = self._line(), self._word("an object")
            if self._peek() == "[":
                raise self._error("an object: arrays are not read")
            if not self._take("="):
                continue  # the name of an object in an untyped
            kind = self._word("a type")
            words, values, files = self._parameters()
            if name in self.objects:
                before = self.objects[name].line
                raise InputError(self._path, line, name, f"is also the object of line {before}")
            self.objects[name] = Object(line, name, kind, words, values, files)
            depth += self._take("{")

    def _filled(self) -> None:
        line, name = self._line(), self._word("an object")
        found = self.objects.get(name)
        if found is None:
            raise InputError(self._path, line, name, "is not among the objects of this file")
        self._expect("{")
        while not self._take("}"):
            if self._take(","):
                continue
            line, slot = self._line(), self._word("a slot")
            place = number(slot)
            slot = slot if place is None else str(place)
            self._expect(":")
            target = self._word("an object")
            if self._peek() == "=":
                raise self._error("a capability: capabilities with names are not read")
            words, values, _ = self._parameters()
            if target not in self.objects:
                raise InputError(self._path, line, target, "is not among the objects of this file")
            if slot in found.caps:
                before = found.caps[slot].line
                raise InputError(self._path, line, name, f"slot {slot} is filled in line {before}")
            found.caps[slot] = Cap(line, target, words, values)


def read_capdl(path: Path) -> tuple[dict[str, Object], list[tuple[int, str]]]:
    """The objects of a description by name, and sections that are not read. InputError."""
    raw = read_at_most(path, MAX_FILE_BYTES)
    if len(raw) > MAX_FILE_BYTES:
        raise InputError(str(path), None, None, f"expected at most {MAX_FILE_BYTES} bytes")
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise InputError(str(path), None, None, "not UTF-8 text: expected capDL") from None
    reader = _Reader(str(path), text)
    reader.read()
    return reader.objects, reader.skipped
