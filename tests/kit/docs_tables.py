# SPDX-License-Identifier: BSD-2-Clause
"""Tables in the docs that stand between markers and must equal what the C headers say.

    <!-- table: results -->
    | result | meaning |
    ...
    <!-- end of table: results -->

The lines between the markers belong to the test that names the marker: `pytest --rewrite` writes
them.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path


def check_table(path: Path, marker: str, lines: Sequence[str], rewrite: bool) -> None:
    """Asserts that a marker's two lines enclose exactly `lines`. With `rewrite`, writes them
    instead.

    AssertionError: the lines differ (the message shows how), or the marker is not there exactly
    once.
    """
    text = path.read_text(encoding="utf-8").splitlines()
    first = _only(path, text, f"<!-- table: {marker} -->")
    last = _only(path, text, f"<!-- end of table: {marker} -->")
    assert first < last, f"{path.name}: the table {marker} ends before it begins"
    found, wanted = text[first + 1 : last], list(lines)
    if found == wanted:
        return
    if rewrite:
        text[first + 1 : last] = wanted
        path.write_text("\n".join(text) + "\n", encoding="utf-8")
        return
    difference = difflib.unified_diff(found, wanted, str(path), "the C table", lineterm="", n=1)
    raise AssertionError("\n".join(difference) + "\npytest --rewrite writes the table anew")


def table_lines(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A Markdown table, one line for each row. A "|" inside a cell is escaped."""
    cells = [list(head), ["---"] * len(head), *map(list, rows)]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in cells]


def _only(path: Path, text: list[str], line: str) -> int:
    places = [number for number, found in enumerate(text) if found.strip() == line]
    assert len(places) == 1, (
        f"{path.name}: expected the line {line} once, found it {len(places)} times"
    )
    return places[0]
