# SPDX-License-Identifier: BSD-2-Clause
"""Reads a system description as Microkit does: typed rows that keep Microkit's rules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

from cellreap.system.microkit.board import ANY_BOARD, Board
from cellreap.system.microkit.elements import Element, read_elements
from cellreap.system.microkit.rows import Row, System
from cellreap.system.microkit.rules import problems
from cellreap.system.microkit.values import Value

_R = TypeVar("_R", bound=Row)
_ELSEWHERE = {
    "domain_schedule": "; Microkit has it in the element domains",
    "pp": "; since Microkit 2.0, the end that calls has it",
}
"""Where descriptions for other tools have it at another place: what Microkit has."""


@dataclass(frozen=True)
class _Children:
    """A field of a row for elements in it."""

    name: str
    kinds: tuple[type[Row], ...]
    many: bool
    required: bool


@dataclass(frozen=True)
class _Shape:
    """What may be in an element."""

    values: dict[str, tuple[Value, bool]]
    """Attribute -> how it is read, and whether it is required."""
    children: tuple[_Children, ...]


_SHAPES: dict[type[Row], _Shape] = {}


def _shape(kind: type[Row]) -> _Shape:
    if kind not in _SHAPES:
        _SHAPES[kind] = _read_shape(kind)
    return _SHAPES[kind]


def _read_shape(kind: type[Row]) -> _Shape:
    values: dict[str, tuple[Value, bool]] = {}
    children: list[_Children] = []
    hints = get_type_hints(kind, include_extras=True)
    for each in fields(kind):
        hint = hints[each.name]
        required = each.default is MISSING
        if get_origin(hint) is Annotated:
            values[each.name] = (hint.__metadata__[0], required)
        elif each.name != "element":
            children.append(
                _Children(each.name, tuple(_rows_in(hint)), get_origin(hint) is tuple, required)
            )
    return _Shape(values, tuple(children))


def _rows_in(hint: Any) -> Iterator[type[Row]]:
    if isinstance(hint, type) and issubclass(hint, Row):
        yield hint
    for inner in get_args(hint):
        if inner is not NoneType:
            yield from _rows_in(inner)


def read_system(
    path: Path, board: Board = ANY_BOARD, prefills: tuple[Path, ...] | None = None
) -> System:
    """The description at `path`, for this board. InputError if Microkit refuses it.

    prefills: the folders in which the files are that regions are filled from. None: they are not
    looked for.
    """
    system = _row(System, read_elements(path), board)
    for found in problems(system, board, prefills):
        raise found.row.error(found.expected, found.attribute)
    return system


def _row(kind: type[_R], element: Element, board: Board) -> _R:
    shape = _shape(kind)
    _require_arch(element, None, kind.arches, board)
    given: dict[str, Any] = {"element": element}
    for name, text in element.attributes.items():
        if name not in shape.values:
            if kind.open_:
                continue
            known = ", ".join(shape.values) or "no attribute"
            hint = _ELSEWHERE.get(name, "")
            raise element.error(f"unknown attribute; expected {known}{hint}", name)
        _require_arch(element, name, kind.only.get(name, ()), board)
        try:
            given[name] = shape.values[name][0].read(text)
        except ValueError as error:
            raise element.error(str(error), name) from None
    for name, (_, required) in shape.values.items():
        if required and name not in given:
            raise element.error("missing: this attribute is required", name)
    given.update(_children(shape, element, board))
    return kind(**given)


def _require_arch(
    element: Element, attribute: str | None, arches: tuple[str, ...], board: Board
) -> None:
    if arches and board.arch not in (None, *arches):
        raise element.error(f"is for {' and '.join(arches)} only, not for {board.arch}", attribute)


def _children(shape: _Shape, element: Element, board: Board) -> dict[str, object]:
    slots = {kind.tag: slot for slot in shape.children for kind in slot.kinds}
    found: dict[str, list[Row]] = {slot.name: [] for slot in shape.children}
    for child in element.children:
        slot = slots.get(child.tag)
        if slot is None:
            known = ", ".join(slots) or "nothing"
            hint = _ELSEWHERE.get(child.tag, "")
            raise child.error(f"is not expected in {element.tag}; expected {known}{hint}")
        found[slot.name].append(_row(_kind_of(slot, child), child, board))
    given: dict[str, object] = {}
    for slot in shape.children:
        rows = found[slot.name]
        if slot.many:
            given[slot.name] = tuple(rows)
            continue
        tag = slot.kinds[0].tag
        if len(rows) > 1 or (slot.required and not rows):
            where = rows[1] if rows else element
            most = "one" if slot.required else "at most one"
            raise where.error(f"expected {most} element {tag} in {element.tag}, got {len(rows)}")
        given[slot.name] = rows[0] if rows else None
    return given


def _kind_of(slot: _Children, child: Element) -> type[Row]:
    of_tag = [kind for kind in slot.kinds if kind.tag == child.tag]
    for kind in of_tag:
        if kind.key is None or kind.key in child.attributes:
            return kind
    keys = ", ".join(str(kind.key) for kind in of_tag)
    raise child.error(f"expected one of the attributes {keys}")
