# SPDX-License-Identifier: BSD-2-Clause
"""Several plans of one planner: the plan of a cleanup that waited is taken up again."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cellreap.headers import enums
from cellreap.model import reference
from cellreap.model.core import CoreModel
from cellreap.model.ids import ROOT
from cellreap.model.plan import Plan
from cellreap.trace.check.independent import without
from kit.core_support import DEPTHS, SCENARIO, Survivors, describe, random_model, system
from kit.marks import slow_but

STATUS = enums("status.h")["cr_status"]


class Kept:
    """A plan whose cleanup waits: its doomed nodes are marked, and its arrays are copied."""

    def __init__(self, core: CoreModel, raw: Any, first: Plan) -> None:
        ffi = core.ffi
        self.core, self.raw, self.first = core, raw, first
        self.doomed = ffi.new("cr_doomed[]", list(raw.doomed[0 : raw.n_doomed]))
        told = raw.n_pre_destroy
        self.pre_destroy = ffi.new("cr_pair[]", list(raw.pre_destroy[0:told]))
        self.groups = ffi.new("uint32_t[]", list(raw.pre_destroy_groups[0:told]))
        for node in first.doomed():
            assert core.lib.cr_model_doom(core.model, core.ref(node)) == STATUS["CR_OK"]

    def restore(self, **changed: Any) -> int:
        """The status of cr_plan_restore, with other arrays if these are given."""
        arrays = [
            changed.get(name, getattr(self, name)) for name in ("doomed", "pre_destroy", "groups")
        ]
        core = self.core
        return int(core.lib.cr_plan_restore(core.planner, core.model, self.raw, *arrays))


def kept(
    model: Any, core: CoreModel, crash: str, pd_depth: int | None, rs_depth: int | None
) -> Kept:
    first = reference.plan(model, crash, pd_depth, rs_depth)
    return Kept(core, core.plan_raw(crash, pd_depth, rs_depth), first)


def concerned(plan: Plan) -> set[str]:
    """The nodes that a cleanup dooms, and the PDs that lose something or are told something."""
    pairs = [*plan.removed_requests, *plan.revoked, *plan.revoked_spaces, *plan.revoked_bodies]
    found = {pd for pd, _ in [*pairs, *plan.pre_destroy]} | {to for to, *_ in plan.notices}
    return (found | plan.doomed()) - {ROOT}


@pytest.mark.behaviour("J-14")
@pytest.mark.parametrize("block", slow_but(range(6), 0))
def test_a_restored_plan_is_made_again_as_if_it_had_been_the_last(block: int) -> None:
    """Meanwhile the planner makes other plans, some of which are taken up too, and survivors act.
    The reference remembers nothing but the first plan.
    """
    waited = changed = 0
    for seed in range(block * 120, block * 120 + 120):
        rng = random.Random(seed)
        model = random_model(rng, scale=2)
        core = CoreModel(len(model.nodes) + 200, 2000)
        core.load(model)
        waiting: list[Kept] = []
        doomed: set[str] = set()
        taken: set[str] = set()
        pds = sorted(pd for pd in model.pds() if pd != ROOT)
        for pd in rng.sample(pds, len(pds)):
            depths = rng.choice([0, 0, *DEPTHS]), rng.choice([0, 0, *DEPTHS])
            its = concerned(reference.plan(model, pd, *depths))
            if its & taken:
                continue  # it would wait for its turn
            waiting.append(kept(model, core, pd, *depths))
            doomed |= waiting[-1].first.doomed()
            taken |= its
        survivors = Survivors(model, core, doomed)
        for _ in range(rng.randint(0, 10)):
            survivors.something(rng)
        rng.shuffle(waiting)
        for plan in [*waiting, *waiting[:1]]:
            others = [pd for pd in model.pds() if pd != ROOT and pd not in doomed]
            if others:
                core.plan_raw(rng.choice(others), rng.choice(DEPTHS), rng.choice(DEPTHS))
            assert plan.restore() == STATUS["CR_OK"]
            got = core.replan(plan.raw)
            rest = without(model, doomed - plan.first.doomed())
            want = reference.replan(rest, plan.first)
            assert got.outcome() == want.outcome(), describe(model)
            for node in core.refs:
                if not node.startswith(("FILE_", "BLOCK_", "TOY_")) or "_SPACE_" in node:
                    dooms = core.lib.cr_plan_dooms(core.planner, plan.raw, core.ref(node))
                    assert bool(dooms) == (node in plan.first.doomed())
            changed += got.outcome() != plan.first.outcome()
        waited += len(waiting) > 1
    assert waited > 30
    assert changed > 10


def test_a_restored_plan_has_no_consequences_before_it_is_made_again() -> None:
    core = CoreModel.from_model(system(SCENARIO))
    plan = kept(system(SCENARIO), core, "PD_1", 0, 0)
    core.plan_raw("PD_5", 0, 0)
    assert plan.raw.n_removed_requests > 0
    assert plan.restore() == STATUS["CR_OK"]
    raw = plan.raw
    counts = (raw.n_removed_requests, raw.n_revoked, raw.n_revoked_spaces, raw.n_notices)
    assert (*counts, raw.n_core_freed, raw.n_revoked_bodies) == (0, 0, 0, 0, 0, 0)
    assert core.replan(raw).outcome() == plan.first.outcome()


@pytest.mark.behaviour("J-14")
def test_the_notices_of_a_restored_plan_tell_of_the_nearest_pd_first() -> None:
    """PD_6 is nearer to the trigger than PD_5, but in a later group."""
    model = system("""
        PD_1 manages FILE_SPACE_1
        PD_3 manages FILE_SPACE_3
        PD_4 manages FILE_SPACE_4
        PD_5 manages FILE_SPACE_5
        PD_3 requests FILE_SPACE_1
        PD_4 requests FILE_SPACE_3 FILE_SPACE_1
        PD_5 requests FILE_SPACE_4 FILE_SPACE_1
        PD_6 requests FILE_SPACE_3 FILE_SPACE_5 FILE_SPACE_1
    """)
    core = CoreModel.from_model(model)
    plan = kept(model, core, "PD_3", 2, 0)
    core.plan_raw("PD_1", 0, 0)
    assert plan.restore() == STATUS["CR_OK"]
    core.replan(plan.raw)
    notices = plan.raw.notices[0 : plan.raw.n_notices]
    told = [core.id_of(getattr(one, "from")) for one in notices if core.id_of(one.to) == "PD_1"]
    assert (told[0], sorted(told[1:3]), told[3]) == ("PD_3", ["PD_4", "PD_6"], "PD_5")


def test_what_is_no_plan_of_this_planner_is_not_restored() -> None:
    """The planner then has no last plan, or still the one before."""
    core = CoreModel.from_model(system(SCENARIO))
    plan = kept(system(SCENARIO), core, "PD_1", 1, 0)
    other = core.ffi.new("cr_doomed[]", list(plan.doomed))
    for doomed in other:
        is_trigger = doomed.why == core.lib.CR_WHY_TRIGGER
        doomed.why = core.lib.CR_WHY_REQUEST if is_trigger else core.lib.CR_WHY_TRIGGER
    assert plan.restore(doomed=other) == STATUS["CR_ERR_CORRUPT"]
    unknown = core.ffi.new("cr_doomed[]", list(plan.doomed))
    unknown[0].node.generation += 1
    assert plan.restore(doomed=unknown) == STATUS["CR_ERR_CORRUPT"]
    assert plan.restore() == STATUS["CR_OK"]
    count = plan.raw.n_doomed
    for wrong in (0, 100_000):
        plan.raw.n_doomed = wrong
        assert plan.restore() == STATUS["CR_ERR_ARG"]
    plan.raw.n_doomed = count
    plan.raw.n_pre_destroy = 100_000
    assert plan.restore() == STATUS["CR_ERR_ARG"]
    plan.raw.n_pre_destroy = 0
    assert plan.restore() == STATUS["CR_OK"]
    assert core.replan(plan.raw).outcome() == plan.first.outcome()
