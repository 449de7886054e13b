# SPDX-License-Identifier: BSD-2-Clause
"""What survivors keep that is built on what goes: the core against the reference."""

from __future__ import annotations

import random

import pytest

from cellreap.model import reference
from cellreap.model.core import CoreModel
from cellreap.model.graph import Model
from cellreap.model.ids import ROOT
from cellreap.model.plan import Broken, Plan
from kit.core_support import DEPTHS, SCENARIO, Survivors, describe, random_model, system
from kit.marks import slow_but


def told(core: CoreModel, model: Model, raw: object, plan: Plan) -> list[Broken]:
    """What the core found, which is right by the reference."""
    kept, counts = core.broken(raw)
    right = reference.hanging_on(model, plan)
    assert [one[:2] for one in kept] == sorted(right), describe(model)
    assert all(on in right[pd, node] for pd, node, on in kept), describe(model)
    assert counts == {
        (to, space): sum(pd == to for pd, _ in right)
        for to, kind, space, _ in plan.notices
        if kind == "lost"
    }
    return kept


@pytest.mark.behaviour("D-01")
@pytest.mark.parametrize("block", slow_but(range(8), 0))
def test_core_and_reference_find_the_same_broken_chains(block: int) -> None:
    found = counted = 0
    for seed in range(block * 400, block * 400 + 400):
        rng = random.Random(seed)
        model = random_model(rng, scale=rng.choice([1, 1, 2, 4]))
        crashed = [pd for pd in model.pds() if pd != ROOT]
        for pd in rng.sample(crashed, min(3, len(crashed))):
            core = CoreModel(len(model.nodes) + 200, 4000)
            core.load(model)
            depths = rng.choice(DEPTHS), rng.choice(DEPTHS)
            raw, plan = core.plan_raw(pd, *depths), reference.plan(model, pd, *depths)
            found += len(told(core, model, raw, plan))
            counted += any(core.broken(raw)[1].values())
            survivors = Survivors(model.copy(), core, plan.doomed())
            for _ in range(rng.randint(0, 6)):
                survivors.something(rng)
            core.replan(raw)
            again = reference.replan(survivors.model, plan)
            found += len(told(core, survivors.model, raw, again))
    assert found > 400
    assert counted > 10


def test_the_nearest_of_what_goes_is_named_and_holders_of_what_goes_lose_it() -> None:
    model = system(SCENARIO)
    core = CoreModel.from_model(model)
    kept, counts = core.broken(core.plan_raw("PD_1", 0, 0))
    assert kept == reference.hanging(model, reference.plan(model, "PD_1", 0, 0))
    assert ("PD_5", "TABLE_4_1", "BLOCK_1_1") in kept
    assert counts == {("PD_3", "BLOCK_SPACE_1"): 2}


def test_what_is_built_on_a_body_is_broken_and_memory_of_the_dead_stays_for_it() -> None:
    model = system("""
        PD_0 manages MO_SPACE_9 with MO_9_1 MO_9_2
        PD_0 manages PD_SPACE_8 with PD_8_1
        PD_1 holds MO_9_1 MO_9_2
        PD_2 manages A_SPACE_2 with A_2_1 A_2_2 A_2_3 A_2_4
        PD_3 holds MO_9_2 A_2_1 A_2_4
        A_2_1 maps MO_9_1
        A_2_2 maps MO_9_2
        A_2_3 maps A_2_4
        A_2_4 maps PD_8_1
    """)
    core = CoreModel.from_model(model)
    raw = core.plan_raw("PD_1", 0, 0)
    assert raw.n_core_freed == 0
    kept, _ = core.broken(raw)
    assert kept == [
        ("PD_2", "A_2_3", "PD_8_1"),
        ("PD_2", "A_2_4", "PD_8_1"),
        ("PD_3", "A_2_4", "PD_8_1"),
    ]


def test_the_search_looks_only_at_what_is_built_on_what_goes() -> None:
    def looked_at(more: int) -> tuple[int, int]:
        rows = ["PD_1 manages A_SPACE_1 with A_1_1", "PD_2 manages B_SPACE_2 with B_2_1"]
        rows += ["PD_3 holds B_2_1", "B_2_1 maps A_1_1"]
        for n in range(more):
            rows += [f"PD_{16 + n:x} manages C_SPACE_{16 + n:x} with C_{16 + n:x}_1"]
            rows += [f"PD_3 holds C_{16 + n:x}_1"]
            if n:
                rows += [f"C_{16 + n:x}_1 maps C_{15 + n:x}_1"]
        core = CoreModel.from_model(system("\n".join(rows)))
        core.reset_touched()
        assert len(core.broken(core.plan_raw("PD_1", 0, 0))[0]) == 2
        return core.touched()

    assert looked_at(0) == looked_at(100)
