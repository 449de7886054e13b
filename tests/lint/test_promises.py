# SPDX-License-Identifier: BSD-2-Clause
"""docs/promises.md: each promise stands on its page, and the tests and rules that show it exist."""

from __future__ import annotations

import ast
import re

import pytest

from cellreap.trace.rules import RULES
from kit.paths import ROOT

ROW = re.compile(r"^\| ([\w/.-]+\.md) \| (.+) \| (.+) \|$")
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
RULE = re.compile(r"rule `([\w.]+)`")

ROWS = [
    match.groups()
    for line in (ROOT / "docs" / "promises.md").read_text().splitlines()
    if (match := ROW.match(line))
]


def test_there_are_promises() -> None:
    assert len(ROWS) >= 20


@pytest.mark.parametrize(("page", "promise", "shown"), ROWS)
def test_each_promise_stands_on_its_page_and_is_shown(page: str, promise: str, shown: str) -> None:
    text = " ".join((ROOT / page).read_text().split())
    assert promise in text, f"{page} does not say this"
    tests, rules = TEST.findall(shown), RULE.findall(shown)
    assert tests or rules
    for path, name in tests:
        functions = ast.parse((ROOT / path).read_text()).body
        names = {node.name for node in functions if isinstance(node, ast.FunctionDef)}
        assert name in names, f"{path} has no {name}"
    assert set(rules) <= set(RULES)
