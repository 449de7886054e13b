# SPDX-License-Identifier: BSD-2-Clause
"""The line of each key in a TOML file.

tomllib gives values without positions, so error messages take their line numbers from this module.
The file must be valid TOML: tomllib has read it before.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tree_sitter

KeyPath = tuple[str | int, ...]
"""Keys and list indices from the document to a value: ("pd", 0, "space", 1, "name")."""


class Lines:
    """The line of each key in a text. They are looked for when a message wants the first."""

    def __init__(self, text: str) -> None:
        self._text = text

    @functools.cached_property
    def _all(self) -> dict[KeyPath, int]:
        return _key_lines(self._text)

    def of(self, path: KeyPath) -> int:
        """The line of `path`, or of the innermost item around it; 1 if there is none."""
        while path:
            if path in self._all:
                return self._all[path]
            path = path[:-1]
        return 1


def _key_lines(text: str) -> dict[KeyPath, int]:
    """The line, from 1, of every key, table and list item in `text`, by its path."""
    import tree_sitter  # only for messages
    import tree_sitter_toml

    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_toml.language()))
    lines: dict[KeyPath, int] = {}
    next_item: dict[KeyPath, int] = {}
    root = parser.parse(text.encode()).root_node
    for node in root.named_children:
        if node.type == "table":
            path = _resolve(_key_parts(node.named_children[0]), next_item)
            _table(node, path, lines)
        elif node.type == "table_array_element":
            listed = _resolve(_key_parts(node.named_children[0]), next_item, last_is_list=True)
            index = next_item.get(listed, 0)
            next_item[listed] = index + 1
            lines.setdefault(listed, _line(node))
            _table(node, (*listed, index), lines)
        elif node.type == "pair":
            _pair(node, (), lines)
    return lines


def _line(node: tree_sitter.Node) -> int:
    return node.start_point.row + 1


def _resolve(parts: KeyPath, next_item: dict[KeyPath, int], last_is_list: bool = False) -> KeyPath:
    """A header's key as a path, with the index of the latest element after each list of tables."""
    path: KeyPath = ()
    for position, part in enumerate(parts):
        path = (*path, part)
        if path in next_item and not (last_is_list and position == len(parts) - 1):
            path = (*path, next_item[path] - 1)
    return path


def _key_parts(node: tree_sitter.Node) -> KeyPath:
    parts: list[str] = []
    stack = [node]
    while stack:  # dotted keys nest to the left
        current = stack.pop()
        if current.type == "dotted_key":
            stack.extend(reversed(current.named_children))
        else:
            parts.append(_key_name(current))
    return tuple(parts)


def _key_name(node: tree_sitter.Node) -> str:
    written = (node.text or b"").decode()
    if node.type == "quoted_key":
        return next(iter(tomllib.loads(f"{written} = 0")))
    return written


def _pairs(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    return (child for child in node.named_children if child.type == "pair")


def _table(node: tree_sitter.Node, path: KeyPath, lines: dict[KeyPath, int]) -> None:
    lines.setdefault(path, _line(node))
    for pair in _pairs(node):
        _pair(pair, path, lines)


def _pair(node: tree_sitter.Node, prefix: KeyPath, lines: dict[KeyPath, int]) -> None:
    work = [(node, prefix)]
    while work:
        pair, around = work.pop()
        path = around
        for part in _key_parts(pair.named_children[0]):
            path = (*path, part)
            lines.setdefault(path, _line(pair))
        values = [(pair.named_children[-1], path)]
        while values:
            value, at = values.pop()
            if value.type == "inline_table":
                work.extend((child, at) for child in _pairs(value))
            elif value.type == "array":
                items = [child for child in value.named_children if child.type != "comment"]
                for index, item in enumerate(items):
                    lines.setdefault((*at, index), _line(item))
                    values.append((item, (*at, index)))
