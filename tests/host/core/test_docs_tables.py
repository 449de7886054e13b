# SPDX-License-Identifier: BSD-2-Clause
"""The tables in the docs are those of the C headers."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit.docs_tables import check_table, table_lines

PAGE = """\
before
<!-- table: one -->
| a | b |
| --- | --- |
| 1 | x |
<!-- end of table: one -->
after
"""


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """A page with one table."""
    path = tmp_path / "page.md"
    path.write_text(PAGE)
    return path


def test_a_table_that_is_right_is_left_alone(page: Path) -> None:
    for rewrite in (False, True):
        check_table(page, "one", table_lines(("a", "b"), [("1", "x")]), rewrite)
        assert page.read_text() == PAGE


def test_a_table_that_differs_is_an_error_and_can_be_rewritten(page: Path) -> None:
    lines = table_lines(("a", "b"), [("1", "x|y")])
    with pytest.raises(AssertionError, match=r"\+\| 1 \| x\\\|y \|"):
        check_table(page, "one", lines, rewrite=False)
    assert page.read_text() == PAGE
    check_table(page, "one", lines, rewrite=True)
    check_table(page, "one", lines, rewrite=False)
    assert page.read_text() == PAGE.replace("| x |", "| x\\|y |")


@pytest.mark.parametrize(("old", "new"), [(": one", ": two"), ("after", "<!-- table: one -->")])
def test_a_marker_must_be_there_once(page: Path, old: str, new: str) -> None:
    page.write_text(PAGE.replace(old, new))
    with pytest.raises(AssertionError, match=r"found it [02] times"):
        check_table(page, "one", [], rewrite=True)
