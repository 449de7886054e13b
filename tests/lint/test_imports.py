# SPDX-License-Identifier: BSD-2-Clause
"""What test modules may import: the package, the tools, and the kit, but never each other."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.paths import TESTS

KIT = TESTS / "kit"
MODULES = sorted(path for path in TESTS.rglob("*.py") if not path.is_relative_to(KIT))
KITS = sorted(KIT.rglob("*.py"))


def imported(tree: ast.AST) -> Iterator[str]:
    """The dotted names of all modules that a module imports, in any place."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")


def of_tests(name: str) -> bool:
    """Whether a dotted name stands for a test module, a conftest, or something relative to one."""
    parts = name.split(".")
    return name.startswith(".") or any(
        part.startswith("test_") or part == "conftest" for part in parts
    )


def offending(text: str) -> list[str]:
    """The imports in a module's text that a test module must not have."""
    return [name for name in imported(ast.parse(text)) if of_tests(name)]


def test_the_rule_finds_every_form_of_import() -> None:
    """Otherwise a module that breaks the rule could pass."""
    text = (
        "from __future__ import annotations\nimport os, test_a\nfrom test_b import x\n"
        "from host.core.test_c import y\nfrom . import z\nfrom kit.paths import ROOT\n"
        "def f():\n    import conftest\n"
    )
    assert offending(text) == ["test_a", "test_b", "host.core.test_c", ".", "conftest"]


def test_there_are_modules_to_look_at() -> None:
    """The lists above are found by a pattern, which might find nothing."""
    assert len(MODULES) > 50
    assert len(KITS) > 8


@pytest.mark.parametrize("path", [*MODULES, *KITS], ids=lambda path: str(path.relative_to(TESTS)))
def test_no_module_imports_from_a_test_module(path: Path) -> None:
    """Code that two test modules share belongs in tests/kit/ or in a fixture."""
    assert offending(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(TESTS)))
def test_no_test_module_works_out_a_path_from_its_own_place(path: Path) -> None:
    """Paths come from kit.paths, so that a module can be moved."""
    names = {
        node.id for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Name)
    }
    assert "__file__" not in names


def test_basenames_are_unique() -> None:
    """pytest imports test modules by their basename."""
    names = [path.name for path in MODULES if path.name.startswith("test_")]
    assert sorted(set(names)) == sorted(names)


def test_every_test_module_is_in_a_room() -> None:
    """tests/host/ mirrors the package. No file lies beside its folders."""
    beside = [path.name for path in (TESTS / "host").iterdir() if path.is_file()]
    assert beside == []
