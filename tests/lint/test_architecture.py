# SPDX-License-Identifier: BSD-2-Clause
"""The page about the architecture names each folder and each file of the root task."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kit.architecture import named_in
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


@pytest.mark.parametrize("folder", ["kernel", "system", "supervisor", "scenario"])
def test_the_page_has_a_row_for_each_file(folder: str) -> None:
    named = [name for name in named_in(folder) if not name.endswith("/")]
    assert len(named) == len(set(named))
    assert set(named) == parts(ROOT_TASK / folder)


def test_the_page_has_a_row_for_each_folder() -> None:
    folders = {path.parent for path in ROOT_TASK.rglob("*.c")} - {ROOT_TASK}
    tops = {str(path.relative_to(ROOT_TASK)) for path in folders if "arch" not in path.parts}
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| `([a-z/_]+)/` \|", text.partition("\n### ")[0], re.MULTILINE)
    assert sorted(named) == sorted(tops)
