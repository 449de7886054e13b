# SPDX-License-Identifier: BSD-2-Clause
"""The elements of a system description, with their lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from cellreap.errors import InputError
from cellreap.inputs import read_at_most

MAX_FILE_BYTES = 16 << 20
MAX_DEPTH = 64
"""PDs within PDs. Microkit has at most 63 PDs."""


@dataclass
class Element:
    """An element of the file."""

    path: str
    """The file, for messages."""
    line: int
    """Its line, from 1."""
    tag: str
    """Its name."""
    attributes: dict[str, str]
    """Its attributes, in the order of the file."""
    children: list[Element] = field(default_factory=list)
    """The elements in it, in the order of the file."""

    def of(self, tag: str) -> list[Element]:
        """The elements of this name that are directly in it."""
        return [child for child in self.children if child.tag == tag]

    def walk(self) -> Iterator[Element]:
        """It and all elements in it, in the order of the file."""
        waiting = [self]
        while waiting:
            element = waiting.pop()
            yield element
            waiting.extend(reversed(element.children))

    def error(self, expected: str, attribute: str | None = None) -> InputError:
        """What is wrong with it, or with one of its attributes."""
        where = self.tag if attribute is None else f"{self.tag}.{attribute}"
        return InputError(self.path, self.line, where, expected)

    def text(self, attribute: str) -> str:
        """An attribute that it must have. InputError if it does not, or if it is empty."""
        value = self.attributes.get(attribute)
        if not value:
            problem = "missing" if value is None else "empty"
            raise self.error(f"{problem}: this attribute is required", attribute)
        return value

    def number(self, attribute: str, default: int | None, least: int, most: int) -> int:
        """A number, decimal or with 0x, whose digits _ may divide. default: None: required."""
        value = self.attributes.get(attribute)
        if value is None and default is not None:
            return default
        plain = self.text(attribute).replace("_", "").lower()
        digits, base = (plain[2:], 16) if plain.startswith("0x") else (plain, 10)
        known = "0123456789abcdef"[:base]
        if digits and len(digits) <= 20 and all(digit in known for digit in digits):
            number = int(digits, base)
            if least <= number <= most:
                return number
        raise self.error(f'expected a number from {least} to {most}, got "{value}"', attribute)

    def flag(self, attribute: str, default: bool) -> bool:
        """An attribute that is true or false."""
        value = self.attributes.get(attribute)
        if value not in (None, "true", "false"):
            raise self.error(f'expected true or false, got "{value}"', attribute)
        return default if value is None else value == "true"


def read_system(path: Path) -> Element:
    """The element `system` of a description. InputError if the file is no XML, or of another kind.

    Names count without their namespaces, and declarations of namespaces are no attributes, as for
    Microkit.

    Documents that define entities are refused: a small one can stand for a very large one.
    """
    raw = _read(path)
    root: list[Element] = []
    opened: list[Element] = []
    parser = expat.ParserCreate(namespace_separator=" ")

    def begin(tag: str, attributes: dict[str, str]) -> None:
        names = {name.rpartition(" ")[2]: value for name, value in attributes.items()}
        element = Element(str(path), parser.CurrentLineNumber, tag.rpartition(" ")[2], names)
        if len(opened) == MAX_DEPTH:
            raise element.error(f"more than {MAX_DEPTH} elements within each other")
        (opened[-1].children if opened else root).append(element)
        opened.append(element)

    def end(_: str) -> None:
        opened.pop()

    def text(characters: str) -> None:
        if characters.strip():
            line = parser.CurrentLineNumber
            where = opened[-1].tag if opened else None
            raise InputError(
                str(path), line, where, f'expected elements, got the text "{characters.strip()}"'
            )

    def entity(*_: object) -> None:
        raise InputError(
            str(path), parser.CurrentLineNumber, None, "expected no definition of an entity"
        )

    parser.StartElementHandler = begin
    parser.EndElementHandler = end
    parser.CharacterDataHandler = text
    parser.EntityDeclHandler = entity
    try:
        parser.Parse(raw, True)
    except expat.ExpatError as error:
        message = expat.ErrorString(error.code)
        raise InputError(str(path), error.lineno, None, f"not valid XML: {message}") from None
    if root[0].tag != "system":
        raise root[0].error("expected the element system: a Microkit system description")
    return root[0]


def _read(path: Path) -> bytes:
    raw = read_at_most(path, MAX_FILE_BYTES)
    if len(raw) > MAX_FILE_BYTES:
        raise InputError(
            str(path),
            None,
            None,
            f"larger than {MAX_FILE_BYTES} bytes: not a system description",
        )
    if not raw.strip():
        raise InputError(str(path), 1, None, "the file is empty: expected <system>")
    return raw
