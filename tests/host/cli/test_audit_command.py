# SPDX-License-Identifier: BSD-2-Clause
"""`cellreap audit`: what single crashes would do, against plans of the reference."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import cellreap
from cellreap.api.auditing import Broken
from cellreap.model.csvstate import write_state
from cellreap.model.graph import Model
from cellreap.model.ids import ROOT
from cellreap.model.reference import plan
from kit.command_line import cellreap as run
from kit.command_line import cellreap_json
from kit.core_support import SCENARIO, describe, random_model, system
from kit.paths import DATA
from kit.small_checkout import error_of

STATE = DATA / "scenario.csv"


def broken_by_definition(
    model: Model, crash: str, pd_depth: int | None, rs_depth: int | None
) -> set[Broken]:
    """(survivor, what it holds, what went): every path of maps from every hold is walked."""
    made = plan(model, crash, pd_depth, rs_depth)
    dead = made.doomed()
    gone = dead | {res for res, space in model.space_of.items() if space in dead}
    gone |= set(made.core_freed)
    found = set()
    for pd, held in model.holds:
        if pd == ROOT or pd in dead or held in gone:
            continue
        below = {held}
        while more := {b for a, b in model.maps if a in below} - below:
            below |= more
        found |= {(pd, held, node) for node in below & gone}
    return found


@pytest.mark.behaviour("C-08")
def test_an_audit_says_what_plans_of_the_reference_say() -> None:
    seen = 0
    for seed in range(60):
        model = random_model(random.Random(seed))
        audit = cellreap.audit(model, max_depth=1)
        for finding in audit.findings:
            sizes = {}
            for crash in (pd for pd in model.pds() if pd != ROOT):
                depths = finding.pd_depth, finding.rs_depth
                sizes[crash] = len(plan(model, crash, *depths).destroyed_pds)
                want = broken_by_definition(model, crash, *depths)
                got = finding.broken.get(crash, [])
                # One thing that went is named for each, and every broken hold is there.
                assert {one[:2] for one in got} == {one[:2] for one in want}, describe(model)
                assert set(got) <= want
                seen += len(got)
            most = max(sizes.values())
            assert finding.destroyed == most
            assert finding.worst == [pd for pd, size in sizes.items() if size == most]
    assert seen > 100


def test_the_smallest_depths_of_the_scenario() -> None:
    audit = cellreap.audit(STATE)
    assert audit.smallest == [(0, 2), (2, 0)]
    assert {pd for pd, _, _ in audit.at(0, 0).broken["PD_1"]} == {"PD_3", "PD_4", "PD_5"}
    assert audit.at(1, 0).destroyed == 2
    code, shown = cellreap_json("audit", str(STATE))
    assert (code, shown["smallest"]) == (0, [[0, 2], [2, 0]])
    assert "smallest depths that leave no broken chain: 0/2, 2/0" in run("audit", str(STATE)).stdout


def test_pins_and_single_points() -> None:
    audit = cellreap.audit(
        system("""
            PD_1 manages FILE_SPACE_1 with FILE_1_1
            PD_2 requests FILE_SPACE_1
            PD_3 requests FILE_SPACE_1
            PD_3 pinned
        """)
    )
    assert audit.pins == {"PD_1": ["PD_3"]}
    assert audit.single_points == ["PD_1"]


def test_a_state_that_got_worse_fails(tmp_path: Path) -> None:
    before, after = tmp_path / "before.csv", tmp_path / "after.csv"
    model = system(SCENARIO)
    before.write_text(write_state(model), encoding="utf-8")
    model.add_request("PD_2", "FILE_SPACE_3")
    after.write_text(write_state(model), encoding="utf-8")
    code, shown = cellreap_json("audit", str(after), "--diff", str(before))
    assert code == 1
    assert "PD_1 is a single point of failure" in shown["worse"]
    code, shown = cellreap_json("audit", str(before), "--diff", str(after))
    assert (code, shown["worse"]) == (0, [])
    assert error_of(run("audit", "none.csv")).count("\n") <= 1
