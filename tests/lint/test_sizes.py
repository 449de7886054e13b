# SPDX-License-Identifier: BSD-2-Clause
"""Files and classes of the package stay short enough to be read in one go."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.architecture import PAGE, code_lines
from kit.paths import ROOT

PACKAGE = ROOT / "pyhost" / "cellreap"
MOST_LINES_OF_A_FILE = 600
MOST_LINES_OF_A_CLASS = 300


def too_long(path: Path, text: str) -> Iterator[str]:
    """What is too long in a module: the file itself, and each class."""
    lines = len(text.splitlines())
    if lines > MOST_LINES_OF_A_FILE:
        yield f"{path}: {lines} lines"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ClassDef) and node.end_lineno is not None:
            lines = node.end_lineno - node.lineno + 1
            if lines > MOST_LINES_OF_A_CLASS:
                yield f"{path}: class {node.name}: {lines} lines"


def test_no_file_and_no_class_is_too_long() -> None:
    paths = sorted(PACKAGE.rglob("*.py"))
    assert len(paths) > 50
    found = [what for path in paths for what in too_long(path, path.read_text(encoding="utf-8"))]
    assert found == []


def test_the_lines_that_may_not_fail_are_counted() -> None:
    """The number in the documentation is right to 5 %."""
    root_task = ROOT / "roottask"
    folders = ("core", "kernel", "system", "supervisor")
    files = [path for folder in folders for path in (root_task / folder).rglob("*.c")]
    files += [root_task / "main.c", root_task / "setup.c"]
    lines = sum(code_lines(path) for path in files if path.name != "execution.c")
    (said,) = re.findall(r"about\s([\d,]+)\slines\sof\sC", PAGE.read_text(encoding="utf-8"))
    assert abs(lines - int(said.replace(",", ""))) <= lines / 20


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("x = 1\n" * 600, []),
        ("x = 1\n" * 601, ["m.py: 601 lines"]),
        ("class A:\n" + "    x = 1\n" * 299, []),
        ("class A:\n" + "    x = 1\n" * 300, ["m.py: class A: 301 lines"]),
    ],
)
def test_what_is_too_long_is_named(text: str, found: list[str]) -> None:
    assert list(too_long(Path("m.py"), text)) == found
