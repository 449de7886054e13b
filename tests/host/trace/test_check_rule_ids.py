# SPDX-License-Identifier: BSD-2-Clause
"""For every rule of the check a trace breaks it, the violation names it, and the docs list it."""

from __future__ import annotations

import pytest

from cellreap.trace.report import report_json
from cellreap.trace.rules import RULES
from kit.broken_traces import BROKEN
from kit.docs_tables import check_table, table_lines
from kit.paths import ROOT


def test_there_is_a_broken_trace_for_each_rule() -> None:
    assert set(BROKEN) == set(RULES)


@pytest.mark.behaviour("M-06", "H-10")
@pytest.mark.parametrize("rule", RULES)
def test_a_trace_that_breaks_a_rule_is_told_of_by_its_id(rule: str) -> None:
    report = BROKEN[rule]()
    assert rule in {violation.rule for violation in report.violations}
    assert {violation.rule for violation in report.violations} <= set(RULES)
    shown = report_json(report)
    assert shown["verdict"] == "fail"
    assert any(f": {rule}: " in text for text in shown["violations"])


def test_the_docs_list_the_rules(rewrite: bool) -> None:
    rows = [(f"`{rule}`", demand) for rule, demand in RULES.items()]
    lines = table_lines(("rule", "demand"), rows)
    check_table(ROOT / "docs" / "trace-rules.md", "rules", lines, rewrite)
