# SPDX-License-Identifier: BSD-2-Clause
"""The elements of a system description, with their places in the file."""

from __future__ import annotations

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
    column: int
    """Where it begins in the line, from 1."""
    tag: str
    """Its name."""
    attributes: dict[str, str]
    """Its attributes, in the order of the file."""
    children: list[Element] = field(default_factory=list)
    """The elements in it, in the order of the file."""

    def error(self, expected: str, attribute: str | None = None) -> InputError:
        """What is wrong with it, or with one of its attributes."""
        where = self.tag if attribute is None else f"{self.tag}.{attribute}"
        return InputError(self.path, self.line, where, expected, self.column)


def read_elements(path: Path) -> Element:
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
        row, column = parser.CurrentLineNumber, parser.CurrentColumnNumber + 1
        element = Element(str(path), row, column, tag.rpartition(" ")[2], names)
        if len(opened) == MAX_DEPTH:
            raise element.error(f"more than {MAX_DEPTH} elements within each other")
        (opened[-1].children if opened else root).append(element)
        opened.append(element)

    def end(_: str) -> None:
        opened.pop()

    def text(characters: str) -> None:
        if characters.strip():
            line, column = parser.CurrentLineNumber, parser.CurrentColumnNumber + 1
            before = len(characters) - len(characters.lstrip())
            where = opened[-1].tag if opened else None
            expected = f'expected elements, got the text "{characters.strip()}"'
            raise InputError(str(path), line, where, expected, column + before)

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
        raise InputError(
            str(path), error.lineno, None, f"not valid XML: {message}", error.offset + 1
        ) from None
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
