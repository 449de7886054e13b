# SPDX-License-Identifier: BSD-2-Clause
"""The rules about respawns."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kit.broken_respawns import CASES, broken, respawned
from kit.broken_traces import of_drafts
from kit.trace_simulator import Target


def test_a_pd_is_respawned_within_its_budget_and_then_stays_down() -> None:
    report = of_drafts(respawned().end())
    assert report.violations == []


@pytest.mark.parametrize(("rule", "of"), CASES, ids=[of.__name__.strip("_") for _, of in CASES])
def test_each_other_course_is_a_violation(rule: str, of: Callable[[Target], None]) -> None:
    report = of_drafts(broken(of)().end())
    assert {problem.rule for problem in report.violations} == {rule}
