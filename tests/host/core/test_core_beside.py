# SPDX-License-Identifier: BSD-2-Clause
"""Plans beside what an earlier cleanup left: the core against the reference.

What was left is doomed. The plan is that of the system without it.
"""

from __future__ import annotations

import random

import pytest

from cellreap.model import reference
from cellreap.model.core import CoreModel
from cellreap.model.ids import ROOT
from cellreap.trace.check.independent import without
from kit.core_support import DEPTHS, describe, random_model
from kit.marks import slow_but


@pytest.mark.behaviour("S-11")
@pytest.mark.parametrize("block", slow_but(range(10), 0))
def test_a_plan_takes_what_was_left_as_gone(block: int) -> None:
    touched = 0  # plans that what was left changes
    for seed in range(block * 200, block * 200 + 200):
        rng = random.Random(seed)
        model = random_model(rng, scale=rng.choice([1, 2]))
        pds = sorted(pd for pd in model.pds() if pd != ROOT)
        first = reference.plan(model, rng.choice(pds), rng.choice(DEPTHS), rng.choice(DEPTHS))
        left = first.doomed()
        rest = without(model, left)
        pds = sorted(pd for pd in rest.pds() if pd != ROOT)
        if not pds:
            continue
        core = CoreModel.from_model(model)
        for node in left:
            assert core.lib.cr_model_doom(core.model, core.ref(node)) == 0
        trigger, depths = rng.choice(pds), (rng.choice(DEPTHS), rng.choice(DEPTHS))
        plan = reference.plan(rest, trigger, *depths)
        shown = f"{trigger} beside {sorted(left)} in\n{describe(model)}"
        assert core.plan(trigger, *depths).outcome() == plan.outcome(), shown
        broken, _ = core.broken(core.plan_raw(trigger, *depths))
        kept = {(pd, node) for pd, node, _ in reference.hanging(rest, plan)}
        assert {(pd, node) for pd, node, _ in broken} == kept, shown
        assert core.reconcile(pds).outcome() == reference.reconcile(rest, pds).outcome(), shown
        touched += plan.notices != reference.plan(model, trigger, *depths).notices
    assert touched > 20
