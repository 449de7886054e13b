# SPDX-License-Identifier: BSD-2-Clause
"""What tools/bench measures on a kernel is what the trace tells."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit.counted import COUNTED
from kit.stack import CALLS
from on_target import PHASES, Staged, measure, stage, tables

STACK = [each for each in stage() if each.config == "stack"]


@pytest.mark.behaviour("X-22")
@pytest.mark.slow
@pytest.mark.thorough
def test_the_phases_of_a_cleanup_add_up_and_its_calls_are_those_that_are_known(
    arch: str, tmp_path: Path
) -> None:
    said: list[str] = []
    rows = measure(arch, tmp_path, 2, STACK, said.append)
    assert [(row["what"], row["many"]) for row in rows] == [(s.what, s.many) for s in STACK]
    assert len(said) == len(STACK)
    for row, rs_depth in zip(rows, (0, 2), strict=True):
        costs = row["instructions"]
        assert sum(costs[phase] for phase in PHASES) == costs["all"]
        assert min(costs.values()) > 0
        assert row["by_kind"] == CALLS[rs_depth]
    assert rows[1]["instructions"]["steps"] > rows[0]["instructions"]["steps"]
    assert len(list(tables(rows))) == 2
    assert rows == measure(arch, tmp_path / "again", 2, STACK, said.append)


def test_what_is_measured_has_names_of_its_own() -> None:
    staged: list[Staged] = list(stage())
    assert len({(each.what, each.many) for each in staged}) == len(staged)
    assert COUNTED[0] == "-icount"
