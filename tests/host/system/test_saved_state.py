# SPDX-License-Identifier: BSD-2-Clause
"""What an image carries of a saved state."""

from __future__ import annotations

import fnmatch
from pathlib import Path

import pytest

from cellreap.errors import InputError
from cellreap.system.config import load_config
from cellreap.system.programs import Source
from cellreap.system.saved import NOTHING, Saved, saved_of
from kit.paths import BAD_SAVED, BOOT_CONFIGS, CONFIGS

SPACES = ("BLOCK", "FILE", "TABLE", "LOG")
BAD = sorted(BAD_SAVED.glob("*.toml"))


def saved(path: Path) -> Saved:
    return saved_of(Source(load_config(path), path.read_text(), path))


@pytest.mark.behaviour("G-42")
def test_it_is_what_is_not_named_and_what_that_has_to_do_with() -> None:
    found = saved(BOOT_CONFIGS / "reconciled.toml")
    assert [(node.kind, node.id) for node in found.nodes] == [
        *(("GONE", pd) for pd in ("PD_1", "PD_4", "PD_5", "PD_11")),
        ("NAMED", "PD_3"),
        *(("SPACE", f"{kind}_SPACE_{n}") for kind, n in zip(SPACES, (3, 5, 6, 7), strict=True)),
        *(("RESOURCE", id_) for id_ in ("BLOCK_3_1", "FILE_5_7", "TABLE_6_1", "LOG_7_1")),
    ]
    edges = {
        (edge.kind, found.nodes[edge.source].id, found.nodes[edge.target].id, edge.count)
        for edge in found.edges
    }
    assert edges == {
        ("REQUEST", "PD_3", "BLOCK_SPACE_3", 1),
        ("REQUEST", "PD_4", "FILE_SPACE_5", 1),
        ("REQUEST", "PD_5", "TABLE_SPACE_6", 1),
        ("REQUEST", "PD_11", "FILE_SPACE_5", 1),
        ("HOLD", "PD_3", "BLOCK_3_1", 1),
        ("HOLD", "PD_5", "LOG_7_1", 1),
        ("HOLD", "PD_5", "TABLE_6_1", 1),
        ("HOLD", "PD_11", "FILE_5_7", 2),
        ("MAP", "FILE_SPACE_5", "BLOCK_SPACE_3", 1),
        ("MAP", "TABLE_SPACE_6", "FILE_SPACE_5", 1),
    }
    spaces = {node.id: (node.name, node.next) for node in found.nodes if node.kind == "SPACE"}
    assert spaces == {
        "BLOCK_SPACE_3": ("-", 2),
        "FILE_SPACE_5": ("files", 8),
        "TABLE_SPACE_6": ("-", 2),
        "LOG_SPACE_7": ("-", 2),
    }


@pytest.mark.behaviour("G-42")
def test_without_one_and_if_all_is_named_there_is_nothing(tmp_path: Path) -> None:
    scenario = CONFIGS / "block_fs_db_app.toml"
    assert saved(scenario) == NOTHING
    text = scenario.read_text().replace("[system]", '[system]\nreconcile = "a.csv"')
    (tmp_path / "a.toml").write_text(text)
    (tmp_path / "a.csv").write_text(
        (BOOT_CONFIGS / "reconciled.csv").read_text().replace("PD,PD_11,app", "PD,PD_11,guest")
    )
    found = saved(tmp_path / "a.toml")
    assert [node.id for node in found.gone()] == ["PD_11"]
    header = "NODE_TYPE,NODE_ID,DATA,EDGE_TYPE,EDGE_FROM,EDGE_TO,EXTRA\n"
    (tmp_path / "a.csv").write_text(f"{header}PD,PD_0,root_task,,,,\nPD,PD_7,app,,,,\n")
    assert saved(tmp_path / "a.toml") == NOTHING


@pytest.mark.behaviour("G-42")
def test_what_the_root_task_holds_is_not_carried(tmp_path: Path) -> None:
    config, state = (BOOT_CONFIGS / f"reconciled.{end}" for end in ("toml", "csv"))
    (tmp_path / config.name).write_text(config.read_text())
    held = state.read_text() + ",,NONE,HOLD,PD_0,BLOCK_3_1,\n,,NONE,HOLD,PD_0,FILE_5_7,\n"
    (tmp_path / state.name).write_text(held)
    assert saved(tmp_path / config.name) == saved(config)


@pytest.mark.behaviour("G-42")
@pytest.mark.parametrize(("caps", "bits"), [(24, 5), (25, 6)])
def test_a_gone_pd_has_a_slot_for_each_capability(tmp_path: Path, caps: int, bits: int) -> None:
    config, state = (BOOT_CONFIGS / f"reconciled.{end}" for end in ("toml", "csv"))
    (tmp_path / config.name).write_text(config.read_text())
    more = "".join(
        f"RESOURCE,FILE_5_{n},FILE,,,,\n,,NONE,SUBSET,FILE_5_{n},FILE_SPACE_5,\n"
        f",,NONE,HOLD,PD_3,FILE_5_{n},\n,,NONE,HOLD,PD_11,FILE_5_{n},\n"
        for n in range(8, 6 + caps)
    )
    (tmp_path / state.name).write_text(state.read_text() + more)
    found = saved(tmp_path / config.name)
    assert {node.id: node.bits for node in found.gone()}["PD_11"] == bits


@pytest.mark.behaviour("G-42", "X-25")
@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_what_cannot_be_carried_is_refused(path: Path) -> None:
    with pytest.raises(InputError) as caught:
        saved(path)
    said = caught.value.line().replace(f"{path.parent}/", "")
    expected = path.with_suffix(".err").read_text().strip().replace("[", "[[]")
    assert fnmatch.fnmatchcase(said, expected), said


@pytest.mark.behaviour("G-42")
def test_the_room_that_a_state_needs_is_counted(tmp_path: Path) -> None:
    """Two edges of each space and resource, each hold, and two of a subscription."""
    things, holders = range(1, 501), range(2, 7)
    rows = [
        "NODE_TYPE,NODE_ID,DATA,EDGE_TYPE,EDGE_FROM,EDGE_TO,EXTRA",
        *("PD,PD_0,root_task,,,,", "PD,PD_1,disk,,,,", "RESOURCE_SPACE,THING_SPACE_4,THING,,,,"),
        *(f"PD,PD_{pd:x},old{pd},,,," for pd in (*holders, 7)),
        *(f"RESOURCE,THING_4_{n:x},THING,,,," for n in things),
        *(f",,NONE,SUBSET,THING_4_{n:x},THING_SPACE_4," for n in things),
        *(f",,NONE,HOLD,PD_7,THING_4_{n:x}," for n in things),
        *(f",,NONE,HOLD,PD_{pd:x},THING_4_{n:x}," for pd in holders for n in things),
        *(",,NONE,HOLD,PD_7,THING_SPACE_4,", ",,NONE,SUBSCRIBE,PD_1,THING_SPACE_4,"),
    ]
    (tmp_path / "many.csv").write_text("\n".join(rows) + "\n")
    config = tmp_path / "many.toml"
    text = (BAD_SAVED / "too_many_lost.toml").read_text()
    config.write_text(text.replace("too_many_lost", "many"))
    edges = 2 * (1 + len(things)) + len(holders) * len(things) + 2
    with pytest.raises(InputError, match=f"the saved state needs {edges} edges"):
        saved(config)
