# SPDX-License-Identifier: BSD-2-Clause
"""The yardsticks of tools/bench find what the planner finds, and figures are compared."""

from __future__ import annotations

import cProfile
import json
import random
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from bench import differences, figures, figures_in
from cellreap.cli.plan_cmd import plan
from cellreap.errors import CellreapError, InputError
from cellreap.headers import source_root
from cellreap.model.core import CoreModel
from cellreap.model.ids import ROOT
from kit.core_support import random_model
from on_target import PHASES
from pace import RECORDED, checking_speed, doomed_rows, dooming_speed, reading_speed
from plots import draw
from search import reached
from yardsticks import NETWORKX_PLAN, WithNetworkx, Yardsticks, chains, compare


@pytest.mark.behaviour("X-22")
@pytest.mark.parametrize("way", ["bare", "scan"])
def test_a_search_dooms_what_the_planner_dooms(way: str) -> None:
    rng = random.Random(45)
    sizes = set()
    for _ in range(400):
        model = random_model(rng)
        core = CoreModel.from_model(model)
        yardsticks = Yardsticks(core)
        for crash in sorted(set(model.pds()) - {ROOT}):
            doomed = sorted(core.plan(crash, None, None).doomed_why)
            assert sorted(yardsticks.search(crash, way)) == doomed, crash
            sizes.add(len(doomed))
    assert max(sizes) > 8


@pytest.mark.behaviour("X-22")
def test_a_scan_grows_with_the_system_and_a_plan_does_not_see_more() -> None:
    small, large = compare([(20, 0), (20, 2_000)])
    assert small.doomed == large.doomed == 60
    assert small.scan is not None
    assert large.scan is not None
    assert large.scan > 10 * small.scan
    assert large.scan > 10 * large.plan


def test_a_plan_with_networkx_is_the_planners_for_each_crash() -> None:
    pytest.importorskip("networkx")
    core = chains(6, 2)[0]
    other, told = WithNetworkx(core), 0
    for crash in sorted(id_ for id_ in core.refs if id_.startswith("PD_") and id_ != ROOT):
        plan = core.plan(crash, None, None)
        assert other.plan(crash) == {name: getattr(plan, name) for name in NETWORKX_PLAN}, crash
        told += len(plan.notices)
    assert told > 20


def test_figures_that_differ_are_told_with_how_much(tmp_path: Path) -> None:
    old = {"planning": [{"plan": 10, "same": 1, "text": "a"}], "gone": 2.5, "zero": 0}
    new = {"planning": [{"plan": 15, "same": 1, "text": "b"}], "zero": 3, "made": True, "more": 7}
    path = tmp_path / "old.json"
    path.write_text(json.dumps(old))
    assert differences(figures_in(path), dict(figures(new))) == [
        "planning[0].plan: 10 -> 15 (+50.0%)",
        "gone: gone",
        "zero: 0 -> 3",
        "more: new",
    ]
    assert differences(dict(figures(old)), dict(figures(old))) == []


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '"planning"'])
def test_what_is_no_json_of_the_bench_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "old.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"old\.json"):
        figures_in(path)


ROWS: list[dict[str, Any]] = [
    {
        "kernel": "seL4 16.0.0 (aarch64)",
        "what": what,
        "many": many,
        "instructions": {**dict.fromkeys(PHASES, 1000 * place), "all": 6000 * place},
    }
    for place, (what, many) in enumerate([("a", "0/0"), ("a", "0/1"), ("b", "16")], 1)
]


def test_figures_are_drawn_and_the_same_figures_make_the_same_file(tmp_path: Path) -> None:
    shown = {
        "yardsticks": [each.to_json() for each in compare([(5, 0), (5, 20), (10, 20)])],
        "cleanups": {"aarch64": ROWS},
    }
    made = draw(shown, tmp_path / "one")
    assert [path.name for path in made] == ["planning.svg", "cleanups-aarch64.svg"]
    texts = [path.read_text() for path in made]
    assert all(ElementTree.fromstring(text).tag.endswith("}svg") for text in texts)
    assert [path.read_text() for path in draw(shown, tmp_path / "two")] == texts
    ROWS[2]["instructions"]["steps"] = 9_000
    assert draw(shown, tmp_path / "three")[1].read_text() != texts[1]


def test_a_state_of_about_as_many_rows_as_asked_is_planned(tmp_path: Path) -> None:
    read = reading_speed(tmp_path, rows=10_000)
    assert 10_000 <= read["rows"] < 13_000
    assert read["seconds"] > 0


def test_recorded_boots_are_checked(tmp_path: Path) -> None:
    speed = checking_speed()
    assert set(speed) == {"recorded"}
    assert speed["recorded"]["events"] > 1_000
    damaged = tmp_path / "damaged.trace"
    (whole,) = sorted((source_root() / RECORDED).glob("*.trace"))[:1]
    lines = whole.read_text().splitlines()
    damaged.write_text("\n".join(lines[:-3] + lines[-2:]) + "\n")
    with pytest.raises(CellreapError, match=r"damaged\.trace does not pass"):
        checking_speed(damaged)


@pytest.mark.slow
@pytest.mark.behaviour("S-16")
@pytest.mark.parametrize("engine", ["core", "reference"])
@pytest.mark.parametrize("deep", [False, True])
def test_planning_where_everything_is_doomed_takes_calls_in_proportion_to_the_rows(
    deep: bool, engine: str, tmp_path: Path
) -> None:
    """Calls of Python and C functions, which repeat exactly. Reading, planning and printing."""
    counts = []
    for rows in (4_000, 16_000):
        path = tmp_path / f"{rows}.csv"
        path.write_text("\n".join(doomed_rows(rows, deep=deep)) + "\n")
        profile = cProfile.Profile()
        asked = [str(path), "--crash", "PD_1", "--pd-depth", "inf", "--engine", engine]
        for how in ("", "--json"):
            with profile:
                ran = CliRunner().invoke(plan, [*asked, how] if how else asked)
            assert ran.exit_code == 0, ran.output
        doomed = json.loads(ran.output)["destroyed_pds"]
        assert len(doomed) == reached(str(path), "PD_1") == path.read_text().count("\nPD,") - 1
        counts.append(sum(each.callcount for each in profile.getstats()))
    assert counts[1] < 5 * counts[0], counts


@pytest.mark.slow
@pytest.mark.behaviour("S-16")
def test_the_bench_compares_a_plan_with_a_plain_search(tmp_path: Path) -> None:
    measured = dooming_speed(tmp_path, rows=20_000)
    assert measured["rows"] == 20_000
    for shape in ("wide", "deep"):
        # Most of it is the start of the program, which a million rows make small.
        assert 1 < measured[shape]["times_a_search"] < 1000
