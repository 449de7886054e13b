# SPDX-License-Identifier: BSD-2-Clause
"""The metric policy: core against reference, and what docs/semantics.md says of it."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from cellreap.model.closeness import Closeness
from cellreap.model.core import CoreCloseness, CoreError, CoreModel
from cellreap.model.graph import Model
from cellreap.model.ids import ROOT
from cellreap.model.metrics import Metrics
from cellreap.model.reference import check_why, metrics, plan
from kit.core_support import SCENARIO, describe, random_model, system, with_pages

SEEDS = 1500


def some(rng: random.Random, model: Model) -> Closeness:
    """A policy with thresholds that some PDs pass and others do not."""
    types = [*sorted({node.type for node in model.nodes.values() if node.type}), "NONE_SUCH"]
    count = rng.choice([0, 1, 1, 2])
    chosen = rng.sample(types, min(count, len(types)))
    fr_max = rng.choice([None, 0, 0, 1, 2]) if chosen else rng.choice([0, 1, 2])
    shares = [(1, 7), (1, 3), (1, 2), (2, 3), (1, 1), (4294967294, 4294967295), (1, 4294967295)]
    least = tuple((name, *rng.choice(shares)) for name in chosen)
    return Closeness(rng.choice(["metric", "both"]), fr_max, least)


@pytest.mark.behaviour("C-27")
def test_core_and_reference_agree_on_random_graphs() -> None:
    doomed, spared = 0, 0
    for seed in range(SEEDS):
        rng = random.Random(seed)
        model = with_pages(random_model(rng, scale=rng.choice([1, 2])), rng)
        crashes = [pd for pd in model.pds() if pd != ROOT]
        crash = rng.choice(crashes)
        depths = rng.choice([0, 1, 2, None]), rng.choice([0, 1, None])
        closeness = some(rng, model)
        want = plan(model, crash, *depths, closeness)
        core = CoreModel.from_model(model)
        got = core.plan(crash, *depths, CoreCloseness(core, model, closeness))
        where = f"seed {seed}: {closeness.text()}, {crash} at {depths} in\n{describe(model)}"
        assert got.outcome() == want.outcome(), where
        assert check_why(model, got) == [], where
        assert check_why(model, want) == [], where
        doomed += len(want.destroyed_pds) > 1
        spared += len(want.destroyed_pds) < len(crashes)
    assert doomed > SEEDS // 4
    assert spared > SEEDS // 4


@pytest.mark.behaviour("C-27")
def test_both_dooms_a_part_of_depth_and_only_who_is_close_or_goes_with_somebody() -> None:
    smaller = 0
    for seed in range(400):
        rng = random.Random(seed)
        model = random_model(rng)
        crash = rng.choice([pd for pd in model.pds() if pd != ROOT])
        closeness = Closeness("both", rng.choice([0, 1]))
        by_depth = plan(model, crash, None, 0).doomed()
        decided = plan(model, crash, None, 0, closeness)
        assert decided.doomed() <= by_depth
        smaller += decided.doomed() < by_depth
        for pd, _ in decided.destroyed_pds:
            word, _ = decided.doomed_why[pd]
            tied = word in ("trigger", "link", "fault")
            assert tied or closeness.holds(metrics(model, crash, pd))
            assert tied or not model.nodes[pd].pinned
    assert smaller > 20


@pytest.mark.behaviour("C-27")
@pytest.mark.parametrize(
    ("closeness", "pd_depth", "doomed"),
    [
        # fs, db and app reach block server 1 by requests: FR is 0.
        (Closeness("metric", 0), 0, "fs db app"),
        # Block server 2 and block server 1 have nothing in common.
        (Closeness("metric", 7), 0, "fs db app"),
        (Closeness("both", 0), 0, ""),
        (Closeness("both", 0), 1, "fs"),
        (Closeness("both", 0), 2, "fs db"),
        # fs reaches the blocks of both disks, so it shares half of them only.
        (Closeness("metric", None, (("BLOCK", 1, 2),)), 0, "fs db app"),
        (Closeness("metric", None, (("BLOCK", 2, 3),)), 0, "db app"),
        # db is no client of block server 1, and fs, over which depth would come to it, is not close
        (Closeness("both", None, (("BLOCK", 2, 3),)), None, ""),
        (Closeness("metric", None, (("FILE", 1, 2), ("NONE_SUCH", 1, 4294967295))), 0, ""),
    ],
    ids=lambda value: value.text() if isinstance(value, Closeness) else None,
)
def test_in_the_scenario(closeness: Closeness, pd_depth: int | None, doomed: str) -> None:
    model = system(SCENARIO)
    core = CoreModel.from_model(model)
    want = plan(model, "PD_1", pd_depth, 0, closeness)
    got = core.plan("PD_1", pd_depth, 0, CoreCloseness(core, model, closeness))
    assert got.outcome() == want.outcome()
    names = {"fs": "PD_3", "db": "PD_4", "app": "PD_5"}
    assert {pd for pd, _ in got.destroyed_pds} == {"PD_1", *(names[n] for n in doomed.split())}


@pytest.mark.behaviour("C-27")
def test_shares_are_compared_exactly() -> None:
    """RSI of 1/3 against shares that a floating point number would not tell from it."""
    model = system("PD_1 manages DISK_SPACE_1 with DISK_1_1 DISK_1_2 DISK_1_3\nPD_2 holds DISK_1_1")
    assert metrics(model, "PD_1", "PD_2").rsi == {"DISK": (1, 3)}
    core = CoreModel.from_model(model)
    seen = set()
    for every in (*range(1, 40), *range(4294967280, 4294967296)):
        for shared in {1, every // 3, every // 3 + 1, every} - {0}:
            if shared > every:
                continue
            closeness = Closeness("metric", None, (("DISK", shared, every),))
            got = core.plan("PD_1", 0, 0, CoreCloseness(core, model, closeness))
            is_close = len(got.destroyed_pds) == 2
            assert is_close == (Fraction(1, 3) >= Fraction(shared, every))
            seen.add(is_close)
    assert seen == {True, False}


@pytest.mark.behaviour("C-27")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("policy", 3),
        ("fr_max", 0xFFFF_FFFF),  # no threshold is left
        ("n_rsi_min", 17),
        ("n_rsi_min", 1),  # its share is 0 / 0
        ("metrics", None),
    ],
)
def test_the_core_refuses_what_is_impossible(field: str, value: int | None) -> None:
    model = system(SCENARIO)
    core = CoreModel.from_model(model)
    closeness = CoreCloseness(core, model, Closeness("metric", 1))
    setattr(closeness.raw, field, core.ffi.NULL if value is None else value)
    with pytest.raises(CoreError, match="CR_ERR_ARG"):
        core.plan("PD_5", 0, 0, closeness)


def test_no_metrics_are_close_without_any_dependency() -> None:
    assert not Closeness("metric", 5).holds(Metrics(("PD_1", "PD_2"), None))
