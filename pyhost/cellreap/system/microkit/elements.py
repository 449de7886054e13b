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
_MAX_INCLUDES = 64
_XINCLUDE = "http://www.w3.org/2001/XInclude"


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
    order: int = 0
    """Its number in the description, all files together."""
    children: list[Element] = field(default_factory=list)
    """The elements in it, in the order of the file."""

    def error(self, expected: str, attribute: str | None = None) -> InputError:
        """What is wrong with it, or with one of its attributes."""
        where = self.tag if attribute is None else f"{self.tag}.{attribute}"
        return InputError(self.path, self.line, where, expected, self.column)


def read_elements(path: Path) -> Element:
    """The element `system` of a description. InputError if the file is no XML, or of another kind.

    Names count without their namespaces, and declarations of namespaces are no attributes, as for
    Microkit. An element `include` of XInclude stands for the root of another file.

    Documents that define entities are refused: a small one can stand for a very large one.
    """
    root = _parsed(path, [], 0)
    if root.tag != "system":
        raise root.error("expected the element system: a Microkit system description")
    waiting, order = [root], 0
    while waiting:
        element = waiting.pop()
        element.order = order = order + 1
        waiting.extend(reversed(element.children))
    return root


def _parsed(path: Path, included: list[Path], depth: int) -> Element:
    """The root of a file. included: all that were included so far. depth: the elements around."""
    raw = _read(path)
    root: list[Element] = []
    opened: list[Element] = []
    parser = expat.ParserCreate(namespace_separator=" ")

    def begin(tag: str, attributes: dict[str, str]) -> None:
        names = {name.rpartition(" ")[2]: value for name, value in attributes.items()}
        row, column = parser.CurrentLineNumber, parser.CurrentColumnNumber + 1
        space, _, name = tag.rpartition(" ")
        element = Element(str(path), row, column, name, names)
        if depth + len(opened) == MAX_DEPTH:
            raise element.error(f"more than {MAX_DEPTH} elements within each other")
        if space == _XINCLUDE:
            if not opened or name != "include":
                raise element.error("of XInclude, expected only include, within system")
            opened[-1].children.append(_included(element, included, depth + len(opened)))
        else:
            (opened[-1].children if opened else root).append(element)
        opened.append(element)

    def end(tag: str) -> None:
        element = opened.pop()
        if tag.startswith(_XINCLUDE) and element.children:
            raise element.children[0].error("is not expected in include; expected nothing")

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
    except (LookupError, ValueError) as error:  # of the codec that the first line names
        raise InputError(str(path), 1, None, f"not valid XML: {error}") from None
    return root[0]


def _included(include: Element, included: list[Path], depth: int) -> Element:
    """What an element of XInclude stands for."""
    for attribute, value in include.attributes.items():
        if attribute != "href" and (attribute, value) != ("parse", "xml"):
            raise include.error('unknown attribute; expected href, or parse="xml"', attribute)
    href = include.attributes.get("href")
    if not href:
        raise include.error("missing: this attribute is required", "href")
    if len(included) == _MAX_INCLUDES:
        raise include.error(f"more than {_MAX_INCLUDES} files are included", "href")
    path = Path(include.path).parent / href
    if not path.is_file():
        raise include.error(f'there is no file "{href}" beside this one', "href")
    included.append(path)
    return _parsed(path, included, depth)


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
