# SPDX-License-Identifier: BSD-2-Clause
"""`cellreap metrics` as its user sees it."""

from __future__ import annotations

from pathlib import Path

import pytest

import cellreap
from kit.command_line import cellreap as run
from kit.command_line import cellreap_json
from kit.paths import BOOT_CONFIGS, DATA
from kit.small_checkout import error_of

SCENARIO = str(DATA / "scenario.csv")
# Block server 1 crashed, and nothing else was destroyed.
TRACE = str(DATA / "goldens" / "block_fs_db_app-0-0.trace")


@pytest.mark.behaviour("F-01", "F-03", "F-05")
def test_one_pair_and_all_pairs_of_a_state() -> None:
    assert run("metrics", SCENARIO, "app", "PD_3").stdout == (
        "app (PD_5)  fs (PD_3)  FR 0  RSI(BLOCK) 1/2  RSI(FILE) 1/2\n"
    )
    code, shown = cellreap_json("metrics", SCENARIO)
    assert code == 0
    assert len(shown["pairs"]) == 10
    assert shown["pairs"][0] == {"pds": ["PD_1", "PD_2"], "fr": "inf", "rsi": {"BLOCK": [0, 2]}}
    assert shown["names"]["PD_5"] == "app"
    _, other = cellreap_json("metrics", SCENARIO, "--engine", "reference")
    assert other == shown
    _, rooted = cellreap_json("metrics", SCENARIO, "--with-root")
    assert len(rooted["pairs"]) == 15


@pytest.mark.behaviour("E-07")
def test_regions_of_a_configuration_count_by_their_pages() -> None:
    """Those of two pages and of one page. By regions, the first two would share a half."""
    _, shown = cellreap_json("metrics", str(BOOT_CONFIGS / "shared_pages.toml"))
    pages = {tuple(pair["pds"]): pair["rsi"]["MO"] for pair in shown["pairs"]}
    assert pages == {("PD_1", "PD_2"): [2, 3], ("PD_1", "PD_3"): [1, 3], ("PD_2", "PD_3"): [0, 3]}


@pytest.mark.behaviour("F-08")
def test_how_far_each_cleanup_of_a_trace_reached(tmp_path: Path) -> None:
    code, shown = cellreap_json("metrics", TRACE, "--cleanups", "--within", "0")
    assert (code, shown["within"]) == (0, True)
    (cleanup,) = shown["cleanups"]
    assert cleanup["trigger"] == "PD_1"
    assert cleanup["destroyed"] == []
    assert [pair["pds"][1] for pair in cleanup["survivors"]] == ["PD_2", "PD_3", "PD_4", "PD_5"]
    assert [pair["fr"] for pair in cleanup["survivors"]] == ["inf", 0, 0, 0]
    assert all(pair["rsi"].get("BLOCK", [0, 1])[0] <= 1 for pair in cleanup["after"])
    assert len(cleanup["after"]) == 6
    deep = str(DATA / "goldens" / "block_fs_db_app-inf-inf.trace")
    done = run("metrics", deep, "--cleanups", "--within", "0")
    assert "cleanup 1: block_server_1 (PD_1) went down\n  destroyed  " in done.stdout
    assert "every blast stayed inside FR <= 0: yes" in done.stdout


@pytest.mark.behaviour("F-08")
def test_a_blast_that_reaches_farther_than_permitted_fails() -> None:
    pair = cellreap.Metrics(("PD_1", "PD_2"), 2)
    far = cellreap.Metrics(("PD_1", "PD_3"), None)
    blast = cellreap.Blast(1, "PD_1", [pair], [far], [])
    assert [blast.stays_within(k) for k in (1, 2, 3, "inf")] == [False, True, True, True]
    assert not cellreap.Blast(1, "PD_1", [far], [], []).stays_within(9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("none.csv",), "none.csv: cannot be read"),
        ((SCENARIO, "app"), "expected two PDs, or none"),
        ((SCENARIO, "app", "nix"), "no PD has the id or name 'nix'"),
        ((SCENARIO, "--within", "1"), "--within: expected --cleanups too"),
        ((SCENARIO, "--cleanups"), "no trace in it"),
        ((TRACE, "--cleanups", "--after", "1"), "expected no PDs and no --after"),
        ((TRACE, "--after", "9"), "expected cleanup 9"),
        ((SCENARIO, "--after", "1"), "is no trace"),
        (
            (TRACE, "app", "block_server_1"),
            "no PD has the id or name 'block_server_1': cleanup 1 destroyed it, and --after N",
        ),
    ],
)
def test_what_is_wrong_is_one_line(arguments: tuple[str, ...], message: str) -> None:
    done = run("metrics", *arguments)
    assert done.returncode == 2
    assert message in error_of(done)
