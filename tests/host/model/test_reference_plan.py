# SPDX-License-Identifier: BSD-2-Clause
"""The reference alone, against plans made by hand and laws that any plan obeys.

The core is not needed.
"""

from __future__ import annotations

import dataclasses
import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellreap.errors import UsageError
from cellreap.model.csvstate import read_state
from cellreap.model.graph import Model
from cellreap.model.ids import ROOT
from cellreap.model.reference import Plan, apply, check_why, explain, plan
from kit.core_support import SCENARIO, describe, random_model, system
from kit.paths import DATA

DEPTHS = (0, 1, 2, 3, None)


def doomed(
    model: Model, crash: str, pd_depth: int | None = 0, rs_depth: int | None = 0
) -> list[str]:
    """The doomed PDs and spaces, sorted."""
    return sorted(plan(model, crash, pd_depth, rs_depth).doomed())


# What the crash of block server 1 also destroys, and what it deletes, in the reference scenario.
D1, FILES, TABLES = "BLOCK_SPACE_1", "FILE_SPACE_3", "TABLE_SPACE_4"
TABLE: list[tuple[int | None, int | None, list[str], list[str]]] = [
    (0, 0, [], [D1]),
    (0, 1, [], [D1, FILES]),
    (0, 2, [], [D1, FILES, TABLES]),
    (0, None, [], [D1, FILES, TABLES]),
    (1, 0, ["PD_3"], [D1, FILES]),
    (1, 1, ["PD_3"], [D1, FILES]),
    (1, 2, ["PD_3"], [D1, FILES, TABLES]),
    *((2, rs, ["PD_3", "PD_4"], [D1, FILES, TABLES]) for rs in (0, 1, 2, None)),
    *((3, rs, ["PD_3", "PD_4", "PD_5"], [D1, FILES, TABLES]) for rs in (0, 1, 2, None)),
    (None, 0, ["PD_3", "PD_4", "PD_5"], [D1, FILES, TABLES]),
    (None, None, ["PD_3", "PD_4", "PD_5"], [D1, FILES, TABLES]),
]


@pytest.mark.behaviour(
    "C-04", "C-05", "C-06", "C-07", "C-08", "C-10", "C-11", "C-12", "C-13", "D-01"
)
@pytest.mark.parametrize(("pd_depth", "rs_depth", "pds", "spaces"), TABLE)
def test_the_scenario_s_table(
    pd_depth: int | None, rs_depth: int | None, pds: list[str], spaces: list[str]
) -> None:
    model, _ = read_state(DATA / "scenario.csv")
    decided = plan(model, "PD_1", pd_depth, rs_depth)
    assert [pd for pd, _ in decided.destroyed_pds] == ["PD_1", *pds]
    assert [depth for _, depth in decided.destroyed_pds] == list(range(len(pds) + 1))
    assert decided.deleted_spaces == spaces


@pytest.mark.behaviour("C-04", "C-12")
def test_whole_plan_worked_out_by_hand() -> None:
    model, _ = read_state(DATA / "scenario.csv")
    model.add_subscribe("PD_5", "TABLE_SPACE_4")
    model.add_subscribe("PD_3", "PD_1", 2)
    model.add_subscribe("PD_1", "PD_3")
    model.add_hold("PD_5", "FILE_SPACE_3")
    assert plan(model, "PD_1", 1, 2).to_json() == {
        "trigger": "PD_1",
        "pd_depth": 1,
        "rs_depth": 2,
        "destroyed_pds": [["PD_1", 0], ["PD_3", 1]],
        "deleted_spaces": ["BLOCK_SPACE_1", "FILE_SPACE_3", "TABLE_SPACE_4"],
        "removed_requests": [["PD_4", "FILE_SPACE_3"], ["PD_5", "TABLE_SPACE_4"]],
        "revoked": [["PD_4", "TABLE_4_1"], ["PD_5", "TABLE_4_1"]],
        "revoked_spaces": [["PD_4", "TABLE_SPACE_4"], ["PD_5", "FILE_SPACE_3"]],
        "revoked_bodies": [],
        "core_freed": [],
        "notices": [
            ["PD_2", "disconnect", "BLOCK_SPACE_2", "PD_3"],
            ["PD_2", "free", "BLOCK_2_2", "PD_3"],
            ["PD_4", "destroy", "TABLE_SPACE_4", None],
            ["PD_4", "lost", "FILE_SPACE_3", None],
            ["PD_5", "lost", "FILE_SPACE_3", None],
            ["PD_5", "lost", "TABLE_SPACE_4", None],
        ],
        # PD_1 is suspended and is told nothing. PD_3 still runs and is told.
        "pre_destroy": [["PD_3", "PD_1"], ["PD_5", "TABLE_SPACE_4"]],
        # PD_1 and PD_3 subscribe to each other, which cancels: PD_1 is destroyed first because PD_3
        # is its client.
        "groups": [["BLOCK_SPACE_1"], ["FILE_SPACE_3", "PD_1"], ["PD_3", "TABLE_SPACE_4"]],
        "doomed_why": {
            "BLOCK_SPACE_1": ["managed", "PD_1"],
            "FILE_SPACE_3": ["managed", "PD_3"],
            "PD_1": ["trigger", None],
            "PD_3": ["hold", "BLOCK_1_1"],
            "TABLE_SPACE_4": ["map", "FILE_SPACE_3"],
        },
    }


@pytest.mark.behaviour("C-09")
@pytest.mark.parametrize(
    ("line", "dies"),
    [
        ("PD_2 requests DISK_SPACE_1", True),
        ("PD_2 holds DISK_1_1", True),
        ("PD_2 holds DISK_SPACE_1", False),
        ("PD_2 owns PD_1", False),
        ("PD_1 owns PD_2", False),
        ("PD_2 subscribes PD_1", False),
        ("PD_2 subscribes DISK_SPACE_1", False),
        ("PD_1 requests FILE_SPACE_2", False),
        ("FILE_SPACE_2 maps DISK_SPACE_1", False),
    ],
)
def test_what_makes_a_dependent(line: str, dies: bool) -> None:
    servers = "PD_1 manages DISK_SPACE_1 with DISK_1_1\nPD_2 manages FILE_SPACE_2 with FILE_2_1\n"
    assert ("PD_2" in doomed(system(servers + line), "PD_1", None, None)) == dies
    assert "PD_2" not in doomed(system(servers + line), "PD_1", 0, None)


@pytest.mark.behaviour("C-14")
def test_root_task_and_pinned_pds_outlive_policy() -> None:
    model = system(SCENARIO + "PD_0 requests BLOCK_SPACE_1\nPD_0 holds BLOCK_1_1\nPD_4 pinned")
    decided = plan(model, "PD_1", None, None)
    # without PD_5, which PD_4 shields
    assert [pd for pd, _ in decided.destroyed_pds] == ["PD_1", "PD_3"]
    assert ("PD_0", "BLOCK_SPACE_1") in decided.removed_requests
    assert "PD_0" not in {pd for pd, _ in decided.revoked} | {
        notice[0] for notice in decided.notices
    }
    assert "PD_4" in doomed(model, "PD_4")


@pytest.mark.behaviour("C-15")
def test_who_lets_go_in_time_leaves_the_blast() -> None:
    model = system(SCENARIO)
    model.drop_request("PD_3", "BLOCK_SPACE_1")
    assert "PD_3" in doomed(model, "PD_1", 1)
    model.cut_hold("PD_3", "BLOCK_1_1")
    assert "PD_3" not in doomed(model, "PD_1", 1)


@pytest.mark.behaviour("C-16", "C-22")
@pytest.mark.parametrize("pd_depth", DEPTHS)
def test_links_and_fault_handlers_ignore_depths_and_pins(pd_depth: int | None) -> None:
    model = system(
        """
        PD_2 links PD_1
        PD_3 links PD_2
        PD_4 faults-to PD_3
        PD_3 pinned
        PD_4 pinned
        PD_1 faults-to PD_5
        PD_4 manages DISK_SPACE_1 with DISK_1_1
        """
    )
    decided = plan(model, "PD_1", pd_depth, 0)
    assert decided.destroyed_pds == [("PD_1", 0), ("PD_2", 0), ("PD_3", 0), ("PD_4", 0)]
    assert decided.deleted_spaces == ["DISK_SPACE_1"]


@pytest.mark.behaviour("C-17")
def test_a_space_over_two_dies_whole_with_one() -> None:
    model = system(SCENARIO)
    for crash in ("PD_1", "PD_2"):
        assert FILES in doomed(model, crash, 0, 1)
        assert ("PD_3", "FILE_3_1") in plan(model, crash, 0, 1).revoked
        assert ("PD_3", "FILE_3_2") in plan(model, crash, 0, 1).revoked
    # A MAP between resources has the effect of a MAP between their spaces.
    model.drop_map(FILES, "BLOCK_SPACE_1")
    assert FILES in doomed(model, "PD_1", 0, 1)
    model.drop_map("FILE_3_1", "BLOCK_1_1")
    assert FILES not in doomed(model, "PD_1", 0, 1)


@pytest.mark.behaviour("C-18")
def test_a_client_s_crash_orphans_nothing() -> None:
    model = system(SCENARIO)
    decided = plan(model, "PD_5", None, None)
    after = apply(model, decided)
    assert decided.doomed() == {"PD_5"}
    assert decided.notices == [
        ("PD_4", "disconnect", "TABLE_SPACE_4", "PD_5"),
        ("PD_4", "free", "TABLE_4_1", "PD_5"),
    ]
    assert set(after.resources()) == set(model.resources())
    assert after.check_legal() == []


@pytest.mark.behaviour("D-02")
def test_a_live_server_is_no_dependent_of_its_own_space() -> None:
    model = system(SCENARIO)
    assert "PD_4" not in doomed(model, "PD_1", 1, None)
    assert TABLES in doomed(model, "PD_1", 1, None)


def test_core_spaces_stay_and_their_resources_go_with_the_last_holder() -> None:
    model = system(
        """
        PD_0 manages MO_SPACE_4 with MO_4_1 MO_4_2 MO_4_3
        PD_0 manages PD_SPACE_5 with PD_5_1 PD_5_2 PD_5_3
        PD_3 links PD_1
        PD_1 holds MO_4_1 MO_4_2 PD_5_1 PD_5_3
        PD_2 holds MO_4_2 PD_5_1 PD_5_2
        PD_0 holds MO_4_1
        PD_1 manages DISK_SPACE_1 with DISK_1_1
        DISK_SPACE_1 maps MO_SPACE_4
        MO_SPACE_4 maps DISK_SPACE_1
        """
    )
    decided = plan(model, "PD_1", 0, None)
    assert decided.deleted_spaces == ["DISK_SPACE_1"]
    assert decided.core_freed == [
        "MO_4_1"
    ]  # MO_4_2 has another holder, MO_4_3 had none, and PD_5_3 is a body
    assert decided.revoked_bodies == [("PD_2", "PD_5_1")]
    after = apply(model, decided)
    assert sorted(after.resources()) == ["MO_4_2", "MO_4_3", "PD_5_2"]
    assert after.check_legal() == []


def test_bad_arguments() -> None:
    model = system(SCENARIO)
    for crash in ("PD_9", "BLOCK_SPACE_1", ROOT):
        with pytest.raises(UsageError, match=crash):
            plan(model, crash, 0, 0)
    for depths in ((-1, 0), (0, -1)):
        with pytest.raises(UsageError, match="depth of -1"):
            plan(model, "PD_1", *depths)
    with pytest.raises(UsageError, match="there is no PD_9"):
        explain(model, plan(model, "PD_1", 0, 0), "PD_9")


# -- laws


@pytest.mark.slow
@settings(max_examples=150)
@given(st.randoms(use_true_random=False), st.sampled_from(DEPTHS), st.sampled_from(DEPTHS))
@pytest.mark.behaviour("C-28", "D-03", "M-05", "X-22")
def test_laws_of_any_plan(rng: random.Random, pd_depth: int | None, rs_depth: int | None) -> None:
    model = random_model(rng)
    before = model.copy()
    for crash in sorted(set(model.pds()) - {ROOT}):
        decided = plan(model, crash, pd_depth, rs_depth)
        after = apply(model, decided)
        assert model == before, "planning and applying changed the model"
        assert Plan.from_json(decided.to_json()) == decided
        assert check_why(model, decided) == []
        assert plan(rebuilt(model, rng), crash, pd_depth, rs_depth) == decided, describe(model)

        gone = set(model.nodes) - set(after.nodes)
        assert decided.doomed() <= gone
        assert sorted(node for group in decided.groups for node in group) == sorted(
            decided.doomed()
        )
        assert set(after.check_legal()) <= set(model.check_legal()), describe(model)
        # A PD that loses something is told, unless it is the root task.
        for pd, node in model.holds.keys() | model.requests:
            space = model.space_of.get(node, node)
            if pd in after.nodes and pd != ROOT and space in decided.deleted_spaces:
                kind = "destroy" if model.manager[space] == pd else "lost"
                assert (pd, kind, space, None) in decided.notices
        assert len(set(decided.notices)) == len(decided.notices)
        assert all(to in after.nodes and to != ROOT for to, *_ in decided.notices)


def rebuilt(model: Model, rng: random.Random) -> Model:
    """An equal model with all its mappings in another order."""
    other = model.copy()
    mappings: list[dict[Any, Any]] = [
        other.nodes,
        other.manager,
        other.space_of,
        other.holds,
        other.faults,
        other.subscribes,
    ]
    for mapping in mappings:
        items = list(mapping.items())
        rng.shuffle(items)
        mapping.clear()
        mapping.update(items if not isinstance(mapping, Counter) else dict(items))
    assert other == model
    return other


def test_wrong_causes_are_found() -> None:
    model = system(SCENARIO + "PD_6 links PD_1\nPD_7 faults-to PD_1")
    decided = plan(model, "PD_1", 2, 2)
    assert check_why(model, decided) == []
    for node, why, cause in [
        ("PD_1", "link", "PD_3"),
        ("PD_3", "trigger", None),
        ("PD_3", "request", "BLOCK_SPACE_2"),  # requested, but its manager lives
        ("PD_3", "hold", "BLOCK_2_1"),
        ("PD_3", "hold", "FILE_3_1"),  # the PD's own, and not one of a PD one level up
        ("PD_4", "hold", "TABLE_4_1"),
        ("PD_6", "link", "PD_7"),
        ("PD_7", "fault", "PD_6"),
        ("TABLE_SPACE_4", "map", "BLOCK_SPACE_1"),
        ("TABLE_SPACE_4", "managed", "PD_3"),
        ("PD_5", "request", "TABLE_SPACE_4"),  # lives
        ("PD_3", "whim", "PD_1"),
    ]:
        forged = dataclasses.replace(decided, doomed_why={**decided.doomed_why, node: (why, cause)})
        assert check_why(model, forged) == [f"{node}: {why} {cause} does not hold"]
    silent = dataclasses.replace(decided, doomed_why={"PD_1": ("trigger", None)})
    assert "PD_3 has no cause" in check_why(model, silent)


# -- explanations


@pytest.mark.parametrize(
    ("pd_depth", "rs_depth", "node", "lines"),
    [
        (
            1,
            0,
            "FILE_SPACE_3",
            [
                "FILE_SPACE_3 is doomed",
                "PD_1 crashed (pd depth 0)",
                "BLOCK_SPACE_1 is managed by PD_1",
                "PD_3 holds BLOCK_1_1 in BLOCK_SPACE_1 (pd depth 1)",
                "FILE_SPACE_3 is managed by PD_3",
            ],
        ),
        (
            1,
            2,
            "TABLE_4_1",
            [
                "TABLE_4_1 goes with TABLE_SPACE_4",
                "TABLE_SPACE_4 is doomed",
                "PD_1 crashed (pd depth 0)",
                "BLOCK_SPACE_1 is managed by PD_1",
                "FILE_SPACE_3 maps to BLOCK_SPACE_1",
                "TABLE_SPACE_4 maps to FILE_SPACE_3",
            ],
        ),
        (
            0,
            0,
            "PD_3",
            [
                "PD_3 lives",
                "PD_3 holds BLOCK_1_1 in BLOCK_SPACE_1 of PD_1, which is doomed at depth 0, "
                "but pd_depth is 0",
                "PD_3 requests BLOCK_SPACE_1 of PD_1, which is doomed at depth 0, but "
                "pd_depth is 0",
            ],
        ),
        (
            0,
            0,
            "FILE_SPACE_3",
            [
                "FILE_SPACE_3 lives",
                "its manager PD_3 lives",
                "FILE_SPACE_3 maps to BLOCK_SPACE_1 at rs depth 0, but rs_depth is 0",
            ],
        ),
        (
            1,
            1,
            "TABLE_SPACE_4",
            [
                "TABLE_SPACE_4 lives",
                "its manager PD_4 lives",
                "TABLE_SPACE_4 maps to FILE_SPACE_3 at rs depth 1, but rs_depth is 1",
            ],
        ),
        (
            1,
            0,
            "TABLE_SPACE_4",
            [
                "TABLE_SPACE_4 lives",
                "its manager PD_4 lives",
                "TABLE_SPACE_4 maps to FILE_SPACE_3, which goes only because PD_3 does: "
                "rs depth counts from the spaces of the crash",
            ],
        ),
        (0, 0, "PD_0", ["PD_0 lives", "PD_0 is the root task: it never dies"]),
        (
            0,
            0,
            "MO_SPACE_8",
            ["MO_SPACE_8 lives", "MO_SPACE_8 is a core space: the root task serves it"],
        ),
        (
            0,
            0,
            "PD_6",
            [
                "PD_6 is doomed",
                "PD_1 crashed (pd depth 0)",
                "PD_6 is linked with PD_1 (pd depth 0)",
            ],
        ),
        (
            0,
            0,
            "PD_7",
            [
                "PD_7 is doomed",
                "PD_1 crashed (pd depth 0)",
                "PD_7 has its faults handled by PD_1 (pd depth 0)",
            ],
        ),
        (1, 0, "PD_8", ["PD_8 lives", "PD_8 requests BLOCK_SPACE_1 of PD_1, but PD_8 is pinned"]),
        (0, 0, "MO_8_1", ["MO_8_1 is freed: nobody but doomed PDs and the root task holds it"]),
    ],
)
def test_explanation(pd_depth: int, rs_depth: int, node: str, lines: list[str]) -> None:
    model = system(
        SCENARIO
        + """
        PD_6 links PD_1
        PD_7 faults-to PD_1
        PD_8 requests BLOCK_SPACE_1
        PD_8 pinned
        PD_0 manages MO_SPACE_8 with MO_8_1
        PD_1 holds MO_8_1
        """
    )
    assert explain(model, plan(model, "PD_1", pd_depth, rs_depth), node) == lines


@settings(max_examples=100)
@given(st.randoms(use_true_random=False), st.sampled_from(DEPTHS), st.sampled_from(DEPTHS))
def test_every_node_can_be_explained(
    rng: random.Random, pd_depth: int | None, rs_depth: int | None
) -> None:
    model = random_model(rng)
    crash = rng.choice(sorted(set(model.pds()) - {ROOT}))
    decided = plan(model, crash, pd_depth, rs_depth)
    gone = set(model.nodes) - set(apply(model, decided).nodes)
    for node in model.nodes:
        lines = explain(model, decided, node)
        assert (lines[0] == f"{node} lives") == (node not in gone)
        assert len(lines) > 1 or "is freed" in lines[0]
        if node in decided.doomed():
            assert lines[1] == f"{crash} crashed (pd depth 0)"
            assert lines[-1].startswith(node)
