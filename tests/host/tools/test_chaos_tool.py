# SPDX-License-Identifier: BSD-2-Clause
"""Random systems: the same seed makes the same valid one, and what fails is made smaller."""

from __future__ import annotations

import copy

import pytest

from chaos_runs import kinds
from kit.chaos import Table
from kit.disturbed import disturbed, is_valid, shrunk, smaller

SEEDS = range(1, 9)


@pytest.mark.behaviour("S-15")
def test_a_seed_makes_the_same_valid_system() -> None:
    made = [disturbed(seed) for seed in SEEDS]
    assert all(map(is_valid, made))
    assert made == [disturbed(seed) for seed in SEEDS]
    names = {crash["how"] for table in made for crash in table["crash"]}
    assert len(names) > 3
    assert any(table["inject"] for table in made)


@pytest.mark.behaviour("S-15")
def test_what_is_smaller_names_nothing_that_was_left_out() -> None:
    table = disturbed(3)
    assert any(is_valid(each) for each in smaller(table))
    for each in smaller(table):
        assert len(repr(each)) < len(repr(table))
        if len(each["pd"]) < len(table["pd"]):
            assert is_valid(each) or not each["pd"]


@pytest.mark.behaviour("S-15")
def test_a_system_is_made_smaller_as_long_as_it_fails() -> None:
    whole = next(
        table
        for table in map(disturbed, SEEDS)
        if len(table["pd"]) > 3 and any(pd["program"] == "fuzzer" for pd in table["pd"])
    )
    before = copy.deepcopy(whole)
    culprit = next(pd["name"] for pd in whole["pd"] if pd["program"] == "fuzzer")
    kept: list[Table] = []

    def fails(table: Table) -> bool:
        return any(pd["name"] == culprit for pd in table["pd"])

    found = shrunk(whole, fails, 500, kept.append)
    assert found["pd"] == [{"name": culprit, "program": "fuzzer"}]
    assert (found["crash"], found["inject"]) == ([], [])
    assert kept[-1] == found
    assert whole == before


def test_two_failures_are_the_same_if_they_violate_a_rule_in_common() -> None:
    assert kinds(["cell.trace:12: clock.late: CLOCK", "a crash"]) == {"clock.late"}
    assert kinds(["the run did not come to its end"]) == {"the run did not come to its end"}
