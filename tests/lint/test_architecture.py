# SPDX-License-Identifier: BSD-2-Clause
"""The page about the architecture names each folder and each file of the root task."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kit.architecture import PAGE, named_in, purposes
from kit.docs_tables import check_table, table_lines
from kit.paths import ROOT

ROOT_TASK = ROOT / "roottask"
TOPICS = "operations_"
"""The supervisor's operations by topic have one row for all."""


def parts(folder: Path) -> set[str]:
    """The C files of a folder without their ending, and its headers that have no such file."""
    code = {path.stem for path in folder.rglob("*.c")}
    found = {path.stem for path in folder.glob("*.c") if not path.name.startswith(TOPICS)}
    headers = folder.glob("*.h")
    return found | {path.stem if path.stem in code else path.name for path in headers}


FOLDERS = ["kernel", "system", "supervisor", "scenario"]


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_page_says_of_each_file_what_the_file_says(folder: str, rewrite: bool) -> None:
    lines = table_lines(("file", "purpose"), purposes(folder))
    check_table(PAGE, f"files of {folder}", lines, rewrite)


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_page_has_a_row_for_each_file(folder: str) -> None:
    named = named_in(folder)
    assert len(named) == len(set(named))
    assert set(named) == parts(ROOT_TASK / folder)


def test_the_page_has_a_row_for_each_folder() -> None:
    folders = {path.parent for path in ROOT_TASK.rglob("*.c")} - {ROOT_TASK}
    tops = {str(path.relative_to(ROOT_TASK)) for path in folders if "arch" not in path.parts}
    text = PAGE.read_text(encoding="utf-8")
    named = re.findall(r"^\| `([a-z/_]+)/` \|", text.partition("\n### ")[0], re.MULTILINE)
    assert sorted(named) == sorted(tops)
