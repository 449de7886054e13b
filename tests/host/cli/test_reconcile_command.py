# SPDX-License-Identifier: BSD-2-Clause
"""Plans without a crash as their user sees them: `plan --collect`, `--subtree`, `reconcile`."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import cellreap as api
from kit.command_line import cellreap
from kit.paths import CONFIGS, DATA

SAVED = DATA / "unreached.csv"
SCENARIO = DATA / "scenario.csv"
ENGINES = ("core", "reference")
BAD = sorted((DATA / "bad_models").glob("*.csv"))[::16]  # `plan` is tested with all


def run(*args: object) -> subprocess.CompletedProcess[str]:
    return cellreap(*map(str, args))


def planned(*args: object, engine: str) -> dict[str, Any]:
    """The object that a command prints."""
    result = run(*args, "--engine", engine, "--json")
    assert (result.returncode, result.stderr) == (0, "")
    shown: dict[str, Any] = json.loads(result.stdout)
    return shown


def dead(plan: dict[str, Any]) -> list[str]:
    return [pd for pd, _ in plan["destroyed_pds"]]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.behaviour("G-33", "G-35", "G-40", "G-44", "X-19")
def test_a_saved_state_s_collection_and_a_subtree(engine: str) -> None:
    """The shell is pinned and created a worker, which created a helper. A logger and a cache refer
    to each other, and nobody else to them. The store serves the worker.
    """
    plan = planned("plan", SAVED, "--collect", engine=engine)
    assert (plan["kind"], plan["trigger"]) == ("collect", None)
    assert plan["destroyed_pds"] == [["PD_5", 1], ["PD_6", 1]]
    assert plan["deleted_spaces"] == ["CACHE_SPACE_4", "LOG_SPACE_3"]
    assert plan["notices"] == [
        ["PD_4", "disconnect", "STORE_SPACE_2", "PD_5"],
        ["PD_4", "free", "STORE_2_2", "PD_5"],
    ]
    plan = planned("plan", SAVED, "--subtree", "worker", engine=engine)
    assert (plan["kind"], plan["trigger"]) == ("subtree", "PD_2")
    assert plan["destroyed_pds"] == [["PD_2", 0], ["PD_3", 0]]


def test_explanations_of_a_collection() -> None:
    def why(node: str) -> Sequence[str]:
        shown = planned("plan", SAVED, "--collect", "--explain", node, engine="core")
        lines: list[str] = shown["explain"]["lines"]
        return lines

    assert why("store") == [
        "PD_4 (store) lives",
        "PD_1 (shell) is pinned",
        "PD_1 (shell) created PD_2 (worker)",
        "PD_2 (worker) holds STORE_2_1, which needs PD_4 (store)",
    ]
    assert why("LOG_SPACE_3")[-1] == "LOG_SPACE_3 is managed by PD_5 (logger)"


@pytest.mark.behaviour("X-19")
def test_a_subtree_is_terminated_and_has_not_crashed() -> None:
    shown = run("plan", SAVED, "--subtree", "worker", "--explain", "PD_3").stdout
    assert "PD_2 (worker)  depth 0  is terminated" in shown
    assert "PD_2 (worker) is terminated (pd depth 0)" in shown
    assert "crashed" not in shown


def test_text_for_people_and_nothing_to_do() -> None:
    result = run("plan", SAVED, "--collect")
    assert "PD_5 (logger)  depth 1  is not reached" in result.stdout
    result = run("plan", CONFIGS / "block_fs_db_app.toml", "--collect")
    assert "goes: nothing\n\nUnknown, since this source" in result.stdout


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.behaviour("G-42")
def test_reconciling_a_saved_state_with_a_configuration(engine: str, tmp_path: Path) -> None:
    """The new system has no app and no second block server, and a file system without a space."""
    text = (CONFIGS / "block_fs_db_app.toml").read_text()
    assert (
        planned("reconcile", SCENARIO, CONFIGS / "block_fs_db_app.toml", engine=engine)["groups"]
        == []
    )
    config = tmp_path / "new.toml"
    config.write_text(
        """
[system]
name = "new"
description = "Smaller"

[[pd]]
name = "block_server_1"
program = "block_server"

[[pd.space]]
name = "disk1"
type = "BLOCK"

[[pd]]
name = "fs"
program = "file_server"
requests = ["disk1"]

[[pd]]
name = "db"
program = "idler"
start = "boot"
"""
    )
    assert "app" in text
    plan = planned("reconcile", SCENARIO, config, engine=engine)
    assert dead(plan) == ["PD_2", "PD_5"]
    assert plan["deleted_spaces"] == ["BLOCK_SPACE_2", "FILE_SPACE_3", "TABLE_SPACE_4"]
    assert plan["doomed_why"]["FILE_SPACE_3"] == ["unnamed", None]
    assert ["PD_3", "destroy", "FILE_SPACE_3", None] in plan["notices"]
    assert ["PD_3", "lost", "BLOCK_SPACE_2", None] in plan["notices"]


@pytest.mark.behaviour("G-42")
def test_the_state_of_a_trace_is_reconciled_and_spawned_pds_go() -> None:
    """What a run left is a saved state. The PDs that a PD spawned are in no configuration."""
    trace = DATA / "goldens" / "block_fs_db_app-0-0.trace"
    plan = api.reconcile(trace, CONFIGS / "block_fs_db_app.toml")
    assert plan.doomed() == set()
    assert [pd for pd, _ in api.reconcile(SAVED, CONFIGS / "counter.toml").destroyed_pds] == [
        f"PD_{n}" for n in range(1, 7)
    ]
    twice = api.state(SCENARIO)
    twice.add_pd("PD_9", "db")
    assert api.reconcile(twice, CONFIGS / "block_fs_db_app.toml").doomed() == {"PD_9"}


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_a_bad_state_ends_with_one_line_and_exit_2(path: Path) -> None:
    message = path.with_suffix(".err").read_text().strip().replace("{path}", str(path))
    for args in (
        ("plan", path, "--collect"),
        ("reconcile", path, CONFIGS / "counter.toml", "--json"),
    ):
        result = run(*args)
        assert (result.returncode, result.stdout) == (2, "")
        assert result.stderr == f"cellreap: error: {message}\n"


def test_a_bad_configuration_ends_with_one_line_and_exit_2(tmp_path: Path) -> None:
    config = tmp_path / "bad.toml"
    for text, wrong in (("[system]\nname = 3\n", "1"), ("[system\n", "1")):
        config.write_text(text)
        result = run("reconcile", SAVED, config)
        assert result.returncode == 2
        assert result.stderr.startswith(f"cellreap: error: {config}:{wrong}:"), result.stderr
        assert result.stderr.count("\n") == 1
    result = run("reconcile", SAVED, SCENARIO)
    assert (result.returncode, result.stderr.count("\n")) == (2, 1)
