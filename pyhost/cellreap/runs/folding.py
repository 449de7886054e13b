# SPDX-License-Identifier: BSD-2-Clause
"""Lines about several PDs of which the same is said are one line: 64 clients do not fill a page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Final

from cellreap.model.ids import ROOT, parse_id
from cellreap.trace.events import printable

FEWEST: Final = 3
"""The least number of lines, or of names that count up, that are folded."""
_RANGES: Final = 6
"""The most ranges of names that a line shows."""
_NUMBERED: Final = re.compile(r"(.*?)(\d{1,9})")
_RESOURCE: Final = re.compile(r"\b([A-Z][A-Z0-9_]*_[0-9a-f]+)_[0-9a-f]+\b")
"""The id of a resource. Its last part differs from holder to holder."""


def name_of(node: str, names: Mapping[str, str]) -> str:
    """The node's name in the configuration with its id.

    Several PDs may have had the same name, one after the other.
    """
    if node == ROOT:
        return "the root task"
    parts = parse_id(node)
    if node in names and parts is not None:
        return f"{printable(names[node])} ({node})"
    return node


def folded(rows: Iterable[tuple[str, str]], names: Mapping[str, str]) -> list[str]:
    """The lines of rows, each a node and what is said of it.

    What is said three times or more is said once of all these PDs, or with the number of times, in
    the place of the first. Ids of resources in it then end in `*`.
    """
    groups: dict[str, list[tuple[str, str]]] = {}
    for node, said in rows:
        groups.setdefault(_RESOURCE.sub(r"\1_*", said), []).append((node, said))
    lines = []
    for said, group in groups.items():
        nodes = list(dict.fromkeys(node for node, _ in group))
        if len(group) < FEWEST:
            lines += [f"{name_of(node, names)}{text}" for node, text in group]
        elif len(nodes) < FEWEST:
            times = Counter(node for node, _ in group)
            lines += [
                f"{name_of(node, names)}{said}{f' ({count} times)' if count > 1 else ''}"
                for node, count in times.items()
            ]
        else:
            lines.append(f"{many_of(nodes, names)}{said}")
    return lines


def in_order(rows: Iterable[tuple[str, str]], names: Mapping[str, str]) -> list[str]:
    """As `folded`, but only rows that follow each other are folded: their order tells something."""
    return [
        line
        for _, group in groupby(rows, lambda row: _RESOURCE.sub(r"\1_*", row[1]))
        for line in folded(group, names)
    ]


def many_of(nodes: Sequence[str], names: Mapping[str, str]) -> str:
    """Several nodes as a subject: `client_0 to client_63 (64)`."""
    shown = in_ranges(sorted((printable(names.get(node, node)) for node in nodes), key=natural))
    more = [f"{len(shown) - _RANGES} more"] if len(shown) > _RANGES else []
    return f"{', '.join([*shown[:_RANGES], *more])} ({len(nodes)})"


def in_ranges(names: Sequence[str]) -> list[str]:
    """Names in their order. Three or more in a row that count up are one range.

    >>> in_ranges(["c_1", "c_2", "c_3", "fs"])
    ['c_1 to c_3', 'fs']
    """
    shown: list[str] = []
    for _, group in groupby(enumerate(names), lambda it: _run(*it)):
        found = [name for _, name in group]
        shown += found if len(found) < FEWEST else [f"{found[0]} to {found[-1]}"]
    return shown


def _run(at: int, name: str) -> tuple[str, int]:
    """Equal for names that count up side by side."""
    numbered = _NUMBERED.fullmatch(name)
    return (name, at) if numbered is None else (numbered[1], int(numbered[2]) - at)


def stem_of(name: str) -> str | None:
    """A name without the number at its end. None: it has none."""
    numbered = _NUMBERED.fullmatch(name)
    return None if numbered is None else numbered[1]


def natural(name: str) -> tuple[str, int]:
    """The key by which client_2 comes before client_10."""
    numbered = _NUMBERED.fullmatch(name)
    return (name, -1) if numbered is None else (numbered[1], int(numbered[2]))
