# SPDX-License-Identifier: BSD-2-Clause
"""The metric policy on the command line and from Python: `plan`, `audit`, configurations."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import cellreap
from cellreap.errors import UsageError
from cellreap.runs.expectation import expected_by
from cellreap.system.config import override
from kit.command_line import cellreap as cli
from kit.paths import CONFIGS, DATA

SCENARIO = str(DATA / "scenario.csv")
CRASH = ("plan", SCENARIO, "--crash", "block_server_1")


@pytest.fixture
def close(tmp_path: Path) -> Path:
    """The scenario with a policy that is a metric."""
    text = (CONFIGS / "block_fs_db_app.toml").read_text()
    policy = '[policy]\npolicy = "both"\nfr_max = 0\nrsi_min = { BLOCK = "1/2" }\npd_depth = 1\n'
    path = tmp_path / "close.toml"
    path.write_text(text.replace("[policy]\npd_depth = 0\n", policy))
    return path


@pytest.mark.behaviour("C-27")
@pytest.mark.parametrize("engine", ["core", "reference"])
def test_plan_takes_a_metric(engine: str) -> None:
    how = ("--policy", "metric", "--rsi-min", "BLOCK=2/3", "--engine", engine)
    shown = json.loads(cli(*CRASH, *how, "--json").stdout)
    assert shown["destroyed_pds"] == [["PD_1", 0], ["PD_4", 1], ["PD_5", 1]]
    assert shown["doomed_why"]["PD_4"] == ["metric", "PD_1"]
    assert shown["closeness"] == {"policy": "metric", "fr_max": None, "rsi_min": {"BLOCK": [2, 3]}}
    said = cli(*CRASH, *how, "--explain", "fs").stdout
    assert "policy metric: RSI of BLOCK at least 2/3" in said
    assert "PD_3 is not close to PD_1 (block_server_1): FR 0, RSI of BLOCK 1/2" in said
    said = cli(*CRASH, *how, "--explain", "db").stdout
    assert "PD_4 (db) is close to PD_1 (block_server_1) (pd depth 1)" in said


@pytest.mark.behaviour("C-27", "X-25")
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--policy", "metric"], "--policy metric: expected --fr-max or --rsi-min too"),
        (["--fr-max", "1"], "expected --policy metric or --policy both too"),
        (["--policy", "depth", "--fr-max", "1"], "expected --policy metric or --policy both too"),
        (["--policy", "both", "--rsi-min", "BLOCK=0/1"], "expected a share"),
        (["--policy", "both", "--rsi-min", "BLOCK=2/1"], "expected a share"),
        (["--policy", "both", "--rsi-min", "1/2"], "expected TYPE=SHARED/ALL"),
        (["--policy", "both", "--rsi-min", "B=1/2", "--rsi-min", "B=1/3"], "each type once"),
        (["--policy", "nearest"], "nearest"),
    ],
)
def test_what_does_not_fit_is_refused(options: list[str], said: str) -> None:
    done = cli(*CRASH, *options)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.behaviour("C-27")
def test_a_configuration_has_its_policy_everywhere(close: Path) -> None:
    plan = cellreap.plan(close, "block_server_1", incomplete=True)
    assert plan.closeness == cellreap.Closeness("both", 0, (("BLOCK", 1, 2),))
    assert expected_by(close).closeness == plan.closeness
    # A configuration has no maps. So nobody follows the type BLOCK, and nobody is close.
    assert [pd for pd, _ in plan.destroyed_pds] == ["PD_1"]
    by_depth = cellreap.plan(
        close, "block_server_1", closeness="depth", pd_depth="inf", incomplete=True
    )
    assert len(by_depth.destroyed_pds) == 4
    audit = cellreap.audit(close, incomplete=True)
    assert {each.destroyed for each in audit.findings} == {1}


@pytest.mark.behaviour("C-27")
def test_audit_by_a_metric_has_no_pd_depth(close: Path) -> None:
    close.write_text(close.read_text().replace('"both"', '"metric"').replace("pd_depth = 1", ""))
    audit = cellreap.audit(close, incomplete=True)
    assert {each.pd_depth for each in audit.findings} == {0}


def test_a_pd_depth_for_a_metric_is_refused(close: Path) -> None:
    close.write_text(close.read_text().replace('"both"', '"metric"').replace("pd_depth = 1", ""))
    config = cellreap.System.read(close).config
    with pytest.raises(UsageError, match="--pd-depth: has no effect"):
        override(config, pd_depth=1)
