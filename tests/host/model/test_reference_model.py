# SPDX-License-Identifier: BSD-2-Clause
"""The model on the host: what it refuses, and which models it reports as illegal."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cellreap.errors import ModelError
from cellreap.model.graph import Model
from cellreap.model.ids import (
    MAX_ID_LENGTH,
    NodeId,
    is_id,
    parse_id,
    pd_id,
    resource_id,
    space_id,
)
from kit.core_support import SCENARIO, system


def test_ids() -> None:
    assert parse_id("PD_1a") == NodeId("PD", "", None, 0x1A)
    assert parse_id("BLOCK_SPACE_c") == NodeId("RESOURCE_SPACE", "BLOCK", None, 0xC)
    assert parse_id("TOY_BLOCK_f_14") == NodeId("RESOURCE", "TOY_BLOCK", 0xF, 0x14)
    assert parse_id("PD_2_5") == NodeId("RESOURCE", "PD", 2, 5)
    assert (pd_id(26), space_id("FILE", 12), resource_id("FILE", 12, 31)) == (
        "PD_1a",
        "FILE_SPACE_c",
        "FILE_c_1f",
    )
    for text in (
        "",
        "PD",
        "PD_",
        "PD_-1",
        "PD_01",
        "PD_1A",
        "PD_1\n",
        "pd_1",
        "_SPACE_1",
        "BLOCK_1",
        "PD_100000000",
    ):
        assert parse_id(text) is None, text
    assert parse_id("PD_ffffffff") is not None
    assert parse_id("T" * MAX_ID_LENGTH + "_1_1") is None


def test_what_is_an_id_of_a_kind_is_parsed_as_one() -> None:
    ends = ("", "1", "0", "01", "a_1", "1_a", "SPACE_1", "SPACE_1_2", "1_SPACE_2", "1\n", "A_1_1")
    starts = ("", "PD", "BLOCK", "TOY_BLOCK", "A_SPACE", "a", "9", "T" * (MAX_ID_LENGTH - 3))
    said = set()
    for text in (f"{start}_{end}" for start in starts for end in ends):
        parts = parse_id(text)
        for kind in ("PD", "RESOURCE_SPACE", "RESOURCE"):
            for type_name in {"PD", "X", *starts, "" if parts is None else parts.type}:
                found = parts is not None and parts.kind == kind
                found &= kind == "PD" or (parts is not None and parts.type == type_name)
                assert is_id(text, kind, type_name) == found, (text, kind, type_name)
                said.add((kind, found))
    assert len(said) == 6


MISUSES: list[Callable[[Model], None]] = [
    lambda m: m.add_pd("PD_1"),
    lambda m: m.add_pd("BLOCK_SPACE_9"),
    lambda m: m.add_pd("nonsense"),
    lambda m: m.add_space("BLOCK_SPACE_1", "PD_1"),
    lambda m: m.add_space("BLOCK_SPACE_9", "PD_9"),
    lambda m: m.add_space("BLOCK_SPACE_9", "BLOCK_SPACE_1"),
    lambda m: m.add_space("MO_SPACE_9", "PD_1"),
    lambda m: m.add_resource("BLOCK_1_1", "BLOCK_SPACE_1"),
    lambda m: m.add_resource("BLOCK_1_9", "BLOCK_SPACE_9"),
    lambda m: m.set_pinned("BLOCK_SPACE_1", True),
    lambda m: m.remove_pd("PD_0"),
    lambda m: m.remove_pd("PD_1"),
    lambda m: m.remove_pd("PD_9"),
    lambda m: m.remove_space("BLOCK_SPACE_1"),
    lambda m: m.remove_resource("BLOCK_SPACE_1"),
    lambda m: m.add_hold("PD_1", "PD_2"),
    lambda m: m.add_hold("PD_1", "BLOCK_1_1", 0),
    lambda m: m.drop_hold("PD_5", "BLOCK_1_1"),
    lambda m: m.drop_hold("PD_1", "BLOCK_1_1", 2),
    lambda m: m.cut_hold("PD_5", "BLOCK_1_1"),
    lambda m: m.add_request("PD_3", "BLOCK_SPACE_1"),
    lambda m: m.add_request("PD_3", "PD_1"),
    lambda m: m.drop_request("PD_5", "BLOCK_SPACE_1"),
    lambda m: m.add_map("FILE_3_1", "BLOCK_SPACE_1"),
    lambda m: m.add_map("FILE_3_1", "FILE_3_1"),
    lambda m: m.add_map("FILE_3_1", "BLOCK_1_1"),
    lambda m: m.drop_map("BLOCK_1_1", "FILE_3_1"),
    lambda m: m.set_fault("PD_0", "PD_1"),
    lambda m: m.set_fault("PD_1", "PD_1"),
    lambda m: m.drop_fault("PD_1"),
    lambda m: m.add_link("PD_1", "PD_1"),
    lambda m: m.add_link("PD_0", "PD_1"),
    lambda m: m.drop_link("PD_1", "PD_2"),
    lambda m: m.add_own("PD_1", "PD_0"),
    lambda m: m.add_own("PD_1", "PD_1"),
    lambda m: m.drop_own("PD_1", "PD_2"),
    lambda m: m.add_subscribe("PD_1", "BLOCK_1_1"),
    lambda m: m.add_subscribe("PD_0", "PD_1"),
    lambda m: m.drop_subscribe("PD_1", "PD_2"),
]


@pytest.mark.parametrize("number", range(len(MISUSES)))
def test_misuse_is_refused_and_changes_nothing(number: int) -> None:
    model = system(SCENARIO)
    before = model.copy()
    with pytest.raises(ModelError):
        MISUSES[number](model)
    assert model == before


def test_edges_come_and_go() -> None:
    model = system(SCENARIO)
    before = model.copy()
    model.add_hold("PD_5", "BLOCK_1_1", 3)
    model.drop_hold("PD_5", "BLOCK_1_1", 2)
    assert model.holds["PD_5", "BLOCK_1_1"] == 1
    model.drop_hold("PD_5", "BLOCK_1_1")
    assert ("PD_5", "BLOCK_1_1") not in model.holds
    model.add_link("PD_5", "PD_1")
    with pytest.raises(ModelError, match="exists already"):
        model.add_link("PD_1", "PD_5")
    model.drop_link("PD_5", "PD_1")
    model.set_fault("PD_5", "PD_0")  # the default, which has no edge
    assert model.faults == {}
    model.set_fault("PD_5", "PD_1")
    with pytest.raises(ModelError, match="already has the fault handler PD_1"):
        model.set_fault("PD_5", "PD_2")
    model.drop_fault("PD_5")
    model.add_own("PD_1", "PD_5")
    model.drop_own("PD_1", "PD_5")
    model.add_subscribe("PD_1", "PD_1", 2)
    model.drop_subscribe("PD_1", "PD_1", 2)
    assert model == before


def test_copy_is_independent() -> None:
    model = system(SCENARIO)
    other = model.copy()
    other.discard(list(other.nodes))
    assert model == system(SCENARIO)
    assert other == Model()


def test_find_pd() -> None:
    model = system(SCENARIO)
    model.add_pd("PD_6", "twin")
    assert model.find_pd("twin") == "PD_6"
    assert model.find_pd("PD_6") == "PD_6"
    model.add_pd("PD_7", "twin")
    with pytest.raises(ModelError, match=r"several PDs are named 'twin' \(PD_6, PD_7\)"):
        model.find_pd("twin")
    with pytest.raises(ModelError, match="no PD has the id or name 'BLOCK_SPACE_1'"):
        model.find_pd("BLOCK_SPACE_1")


def test_body_is_a_core_resource_with_the_number_of_its_pd() -> None:
    model = system(
        "PD_0 manages PD_SPACE_3 with PD_3_2\nPD_1 manages PD_X_SPACE_1 with PD_X_1_1\n"
        "PD_2 holds PD_3_2"
    )
    assert model.body_of("PD_2") == "PD_3_2"
    assert model.body_of("PD_1") is None


ILLEGAL: list[tuple[str, str, Callable[[Model], object]]] = [
    ("L1", "BLOCK_1_1 is in no live space", lambda m: m.space_of.pop("BLOCK_1_1")),
    ("L1", "BLOCK_SPACE_1 has no live manager", lambda m: m.manager.pop("BLOCK_SPACE_1")),
    ("L1", "BLOCK_SPACE_1 has no live manager", lambda m: m.manager.update(BLOCK_SPACE_1="PD_9")),
    ("L1", "BLOCK_SPACE_1 is of no core type", lambda m: m.manager.update(BLOCK_SPACE_1="PD_0")),
    ("L1", "MO_SPACE_8 is of a core type", lambda m: m.manager.update(MO_SPACE_8="PD_1")),
    ("L2", "PD_1 manages BLOCK_SPACE_1 but", lambda m: m.cut_hold("PD_1", "BLOCK_SPACE_1")),
    ("L2", "PD_1 manages BLOCK_SPACE_1 but", lambda m: m.cut_hold("PD_1", "BLOCK_1_1")),
    (
        "L3",
        "HOLD edge from PD_9 to BLOCK_1_1",
        lambda m: m.holds.update({("PD_9", "BLOCK_1_1"): 1}),
    ),
    (
        "L3",
        "HOLD edge from PD_1 to BLOCK_9_9",
        lambda m: m.holds.update({("PD_1", "BLOCK_9_9"): 1}),
    ),
    ("L3", "HOLD edge from PD_1 to PD_2", lambda m: m.holds.update({("PD_1", "PD_2"): 1})),
    ("L3", "REQUEST edge from PD_5 to X_SPACE_9", lambda m: m.requests.add(("PD_5", "X_SPACE_9"))),
    ("L3", "MAP edge from FILE_3_1 to BLOCK_9_9", lambda m: m.maps.add(("FILE_3_1", "BLOCK_9_9"))),
    (
        "L3",
        "MAP edge from FILE_3_1 to BLOCK_SPACE_2 joins",
        lambda m: m.maps.add(("FILE_3_1", "BLOCK_SPACE_2")),
    ),
    ("L3", "LINK edge from PD_1 to PD_9", lambda m: m.links.add(("PD_1", "PD_9"))),
    ("L3", "OWN edge from PD_9 to PD_1", lambda m: m.owns.add(("PD_9", "PD_1"))),
    (
        "L3",
        "SUBSCRIBE edge from PD_1 to PD_9",
        lambda m: m.subscribes.update({("PD_1", "PD_9"): 1}),
    ),
    ("L3", "FAULT edge from PD_9", lambda m: m.faults.update(PD_9="PD_1")),
    (
        "L3",
        "BLOCK_7_7 is in BLOCK_SPACE_1 but",
        lambda m: m.space_of.update(BLOCK_7_7="BLOCK_SPACE_1"),
    ),
    ("L3", "X_SPACE_9 has a manager but", lambda m: m.manager.update(X_SPACE_9="PD_1")),
    ("L4", "the fault handler of PD_1, PD_9", lambda m: m.faults.update(PD_1="PD_9")),
    ("M-05", "BLOCK_1_1 is on a cycle", lambda m: m.add_map("BLOCK_1_1", "TABLE_4_1")),
    ("M-05", "BLOCK_SPACE_1 is on a cycle", lambda m: m.add_map("BLOCK_SPACE_1", "FILE_SPACE_3")),
]


@pytest.mark.behaviour("M-05")
@pytest.mark.parametrize(("rule", "text", "breaks"), ILLEGAL, ids=[text for _, text, _ in ILLEGAL])
def test_what_is_illegal_is_found(rule: str, text: str, breaks: Callable[[Model], object]) -> None:
    model = system(SCENARIO + "PD_0 manages MO_SPACE_8 with MO_8_1\nPD_1 holds MO_8_1")
    assert model.check_legal() == []
    breaks(model)
    assert any(found.rule == rule and found.text.startswith(text) for found in model.check_legal())


@pytest.mark.behaviour("M-05")
def test_map_cycle_names_its_nodes_and_no_others() -> None:
    model = system(SCENARIO)
    model.add_map("BLOCK_1_1", "FILE_3_1")
    assert [found.nodes for found in model.check_legal()] == [("BLOCK_1_1",), ("FILE_3_1",)]
