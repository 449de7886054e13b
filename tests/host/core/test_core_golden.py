# SPDX-License-Identifier: BSD-2-Clause
"""The reference scenario, planned by hand.

PDs: block servers 1 and 2, file system 3, database 4, app 5. Block server 1 crashes.
"""

from __future__ import annotations

import pytest

from cellreap.model.core import CoreModel
from cellreap.model.reference import Plan
from cellreap.model.reference import plan as reference_plan
from kit.core_support import SCENARIO, system

DISK, FILES, TABLES = "BLOCK_SPACE_1", "FILE_SPACE_3", "TABLE_SPACE_4"
FS, DB, APP = ("PD_3", 1), ("PD_4", 2), ("PD_5", 3)

ROWS = [
    (0, 0, [], [DISK]),
    (0, 1, [], [DISK, FILES]),
    (0, 2, [], [DISK, FILES, TABLES]),
    (1, 0, [FS], [DISK, FILES]),
    (1, 1, [FS], [DISK, FILES]),
    (1, 2, [FS], [DISK, FILES, TABLES]),
    (2, 0, [FS, DB], [DISK, FILES, TABLES]),
    (2, 1, [FS, DB], [DISK, FILES, TABLES]),
    (2, None, [FS, DB], [DISK, FILES, TABLES]),
    (3, 0, [FS, DB, APP], [DISK, FILES, TABLES]),
    (3, None, [FS, DB, APP], [DISK, FILES, TABLES]),
    (None, None, [FS, DB, APP], [DISK, FILES, TABLES]),
]


def planned(by: str, pd_depth: int | None, rs_depth: int | None, crash: str = "PD_1") -> Plan:
    """The plan of the core or of the reference."""
    model = system(SCENARIO)
    if by == "core":
        return CoreModel.from_model(model).plan(crash, pd_depth, rs_depth)
    return reference_plan(model, crash, pd_depth, rs_depth)


@pytest.mark.behaviour("C-04", "C-05", "C-06", "C-07", "C-10", "C-11", "C-12", "C-13", "D-01")
@pytest.mark.parametrize("by", ["core", "reference"])
@pytest.mark.parametrize(("pd_depth", "rs_depth", "beside", "spaces"), ROWS)
def test_the_table(
    by: str,
    pd_depth: int | None,
    rs_depth: int | None,
    beside: list[tuple[str, int]],
    spaces: list[str],
) -> None:
    plan = planned(by, pd_depth, rs_depth)
    assert plan.destroyed_pds == [("PD_1", 0), *beside]
    assert plan.deleted_spaces == spaces


@pytest.mark.behaviour("C-04")
@pytest.mark.parametrize("by", ["core", "reference"])
def test_only_the_disk_goes_and_the_file_system_hears_of_it(by: str) -> None:
    plan = planned(by, 0, 0)
    assert plan.removed_requests == [("PD_3", "BLOCK_SPACE_1")]
    assert plan.revoked == [("PD_3", "BLOCK_1_1")]
    assert plan.notices == [("PD_3", "lost", "BLOCK_SPACE_1", None)]
    assert plan.groups == [["BLOCK_SPACE_1"], ["PD_1"]]


@pytest.mark.behaviour("C-05", "C-17")
@pytest.mark.parametrize("by", ["core", "reference"])
def test_spaces_above_go_but_their_managers_stay_and_are_told(by: str) -> None:
    plan = planned(by, 0, 2)
    assert plan.removed_requests == [
        ("PD_3", "BLOCK_SPACE_1"),
        ("PD_4", "FILE_SPACE_3"),
        ("PD_5", "TABLE_SPACE_4"),
    ]
    # The managers lose the holds of their own resources too. The file on the other disk is
    # destroyed with its space.
    assert plan.revoked == [
        ("PD_3", "BLOCK_1_1"),
        ("PD_3", "FILE_3_1"),
        ("PD_3", "FILE_3_2"),
        ("PD_4", "TABLE_4_1"),
        ("PD_5", "TABLE_4_1"),
    ]
    assert plan.revoked_spaces == [("PD_3", "FILE_SPACE_3"), ("PD_4", "TABLE_SPACE_4")]
    assert plan.notices == [
        ("PD_3", "destroy", "FILE_SPACE_3", None),
        ("PD_3", "lost", "BLOCK_SPACE_1", None),
        ("PD_4", "destroy", "TABLE_SPACE_4", None),
        ("PD_4", "lost", "FILE_SPACE_3", None),
        ("PD_5", "lost", "TABLE_SPACE_4", None),
    ]
    assert plan.groups == [["BLOCK_SPACE_1"], ["FILE_SPACE_3", "PD_1"], ["TABLE_SPACE_4"]]


@pytest.mark.behaviour("C-06", "N-03")
@pytest.mark.parametrize("by", ["core", "reference"])
def test_the_other_block_server_hears_of_its_dead_client(by: str) -> None:
    plan = planned(by, 1, 0)
    assert plan.removed_requests == [("PD_4", "FILE_SPACE_3")]
    assert plan.revoked == []
    assert plan.notices == [
        ("PD_2", "disconnect", "BLOCK_SPACE_2", "PD_3"),
        ("PD_2", "free", "BLOCK_2_1", "PD_3"),
        ("PD_4", "lost", "FILE_SPACE_3", None),
    ]
    assert plan.groups == [["BLOCK_SPACE_1"], ["FILE_SPACE_3", "PD_1"], ["PD_3"]]


@pytest.mark.behaviour("C-07", "G-15")
@pytest.mark.parametrize("by", ["core", "reference"])
def test_everything_on_that_disk_goes_bottom_up(by: str) -> None:
    plan = planned(by, None, 0)
    assert plan.groups == [
        ["BLOCK_SPACE_1"],
        ["FILE_SPACE_3", "PD_1"],
        ["PD_3", "TABLE_SPACE_4"],
        ["PD_4"],
        ["PD_5"],
    ]
    assert plan.notices == [
        ("PD_2", "disconnect", "BLOCK_SPACE_2", "PD_3"),
        ("PD_2", "free", "BLOCK_2_1", "PD_3"),
    ]
    causes: dict[str, set[tuple[str, str | None]]] = {
        "PD_1": {("trigger", None)},
        "BLOCK_SPACE_1": {("managed", "PD_1")},
        "PD_3": {("request", "BLOCK_SPACE_1"), ("hold", "BLOCK_1_1")},
        "FILE_SPACE_3": {("managed", "PD_3")},
        "PD_4": {("request", "FILE_SPACE_3")},
        "TABLE_SPACE_4": {("managed", "PD_4")},
        "PD_5": {("request", "TABLE_SPACE_4"), ("hold", "TABLE_4_1")},
    }
    assert plan.doomed_why.keys() == causes.keys()
    assert all(why in causes[node] for node, why in plan.doomed_why.items())


@pytest.mark.behaviour("C-18")
@pytest.mark.parametrize("by", ["core", "reference"])
def test_the_app_leaves_alone(by: str) -> None:
    plan = planned(by, None, None, crash="PD_5")
    assert plan.destroyed_pds == [("PD_5", 0)]
    assert plan.deleted_spaces == []
    assert plan.notices == [
        ("PD_4", "disconnect", "TABLE_SPACE_4", "PD_5"),
        ("PD_4", "free", "TABLE_4_1", "PD_5"),
    ]
