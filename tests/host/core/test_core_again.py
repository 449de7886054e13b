# SPDX-License-Identifier: BSD-2-Clause
"""Replanning after survivors acted during a cleanup: the core against the reference."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cellreap.model import reference
from cellreap.model.core import CoreError, CoreModel
from cellreap.model.graph import Model
from cellreap.model.ids import ROOT
from cellreap.model.reference import Plan, apply
from kit.core_support import DEPTHS, SCENARIO, Survivors, describe, random_model, system
from kit.marks import slow_but


class Cleanup(Survivors):
    """The same system in core and reference, with all doomed nodes marked in the core."""

    def __init__(
        self, model: Model, crash: str, pd_depth: int | None, rs_depth: int | None
    ) -> None:
        core = CoreModel(len(model.nodes) + 200, 2000)
        core.load(model)
        self.raw = core.plan_raw(crash, pd_depth, rs_depth)
        self.first = reference.plan(model, crash, pd_depth, rs_depth)
        super().__init__(model, core, self.first.doomed())
        for node in self.doomed:
            assert core.lib.cr_model_doom(core.model, core.ref(node)) == 0

    def again(self) -> Plan:
        """Replans with both, and asserts that the plans are equal."""
        want = reference.replan(self.model, self.first)
        got = self.core.replan(self.raw)
        assert got.outcome() == want.outcome(), describe(self.model)
        assert got.doomed_why.keys() == self.first.doomed_why.keys()
        return got

    # -- carrying the plan out

    def carry_out(self) -> None:
        """Destroys what the latest plan lists. The remaining edges must equal the reference's."""
        core, lib, raw = self.core, self.core.lib, self.raw
        plan = reference.replan(self.model, self.first)
        gone: list[str] = []
        for i in range(raw.n_doomed):
            id_ = core.id_of(raw.doomed[i].node)
            body = self.model.body_of(id_) if self.model.nodes[id_].kind == "PD" else None
            inside = [res for res, space in self.model.space_of.items() if space == id_]
            gone += [*([body] if body else []), *inside, id_]
        gone += [core.id_of(raw.core_freed[i]) for i in range(raw.n_core_freed)]
        for node in gone:
            assert lib.cr_model_destroy(core.model, core.ref(node)) == 0
        for node in gone:
            assert lib.cr_model_release(core.model, core.refs.pop(node)) == 0
        core.check()
        after = apply(self.model, plan)
        assert set(core.refs) == set(after.nodes)
        assert core.edges() == CoreModel.from_model(after).edges()


@pytest.mark.parametrize("block", slow_but(range(10), 0))
def test_what_survivors_did_meanwhile_is_in_the_second_plan(block: int) -> None:
    changed = 0
    for seed in range(block * 200, block * 200 + 200):
        rng = random.Random(seed)
        model = random_model(rng, scale=rng.choice([1, 2]))
        pds = sorted(pd for pd in model.pds() if pd != ROOT)
        cleanup = Cleanup(
            model, rng.choice(pds), rng.choice([0, 0, *DEPTHS]), rng.choice([0, 0, *DEPTHS])
        )
        assert cleanup.again().outcome() == cleanup.first.outcome(), "nothing happened"
        for _ in range(rng.randint(1, 4)):  # the cleanup waits for one group after the other
            for _ in range(rng.randint(0, 12)):
                cleanup.something(rng)
            changed += cleanup.again().outcome() != cleanup.first.outcome()
        cleanup.carry_out()
    assert changed > 50


def test_nothing_in_the_model_changes_by_planning_again() -> None:
    cleanup = Cleanup(system(SCENARIO), "PD_1", 1, 0)
    cleanup.core.reset_touched()
    before = bytes(cleanup.core.arena)
    cleanup.again()
    assert cleanup.core.touched() > (0, 0)
    cleanup.core.reset_touched()
    assert bytes(cleanup.core.arena) == before


def test_a_free_is_not_owed_for_what_its_manager_deleted_meanwhile() -> None:
    text = "PD_1 holds A_2_1 A_2_2\nPD_2 manages A_SPACE_2 with A_2_1 A_2_2"
    cleanup = Cleanup(system(text), "PD_1", 0, 0)
    assert cleanup.again().notices == [
        ("PD_2", "free", "A_2_1", "PD_1"),
        ("PD_2", "free", "A_2_2", "PD_1"),
    ]
    cleanup.delete_resource("A_2_1")
    assert cleanup.again().notices == [("PD_2", "free", "A_2_2", "PD_1")]


def test_core_memory_that_a_survivor_took_meanwhile_stays_and_what_it_gave_up_goes() -> None:
    text = "PD_0 manages MO_SPACE_9 with MO_9_1 MO_9_2\nPD_1 holds MO_9_1 MO_9_2\nPD_2 holds MO_9_2"
    cleanup = Cleanup(system(text), "PD_1", 0, 0)
    assert cleanup.again().core_freed == ["MO_9_1"]
    cleanup.add_hold("PD_2", "MO_9_1")
    assert cleanup.again().core_freed == []
    cleanup.model.cut_hold("PD_2", "MO_9_2")
    cleanup.core.cut_edge("HOLD", "PD_2", "MO_9_2")
    assert cleanup.again().core_freed == ["MO_9_2"]


def test_who_subscribes_while_it_goes_is_not_told_any_more() -> None:
    cleanup = Cleanup(system("PD_2 subscribes PD_1\nPD_3 owns PD_4"), "PD_1", 0, 0)
    cleanup.subscribe("PD_3", "PD_1")
    assert cleanup.again().pre_destroy == [("PD_2", "PD_1")]


def test_only_the_plan_made_last_is_made_again() -> None:
    core = CoreModel.from_model(system(SCENARIO))
    old = core.plan_raw("PD_5", 0, 0)
    raw = core.plan_raw("PD_1", 0, 0)
    with pytest.raises(CoreError, match="CR_ERR_ARG"):
        core.replan(old)
    alone = core.plan_raw("PD_5", 0, 0)
    core.plan_raw("PD_5", None, None)  # dooms as many
    with pytest.raises(CoreError, match="CR_ERR_ARG"):
        core.replan(alone)
    other = core.plan_raw("PD_1", 0, 1)
    with pytest.raises(CoreError, match="CR_ERR_ARG"):
        core.replan(raw)
    assert core.replan(other).deleted_spaces == ["BLOCK_SPACE_1", "FILE_SPACE_3"]


def test_a_plan_whose_doomed_nodes_are_gone_is_not_made_again() -> None:
    core = CoreModel.from_model(system("PD_1 owns PD_2"))
    raw = core.plan_raw("PD_1", 0, 0)
    assert core.lib.cr_model_doom(core.model, core.ref("PD_1")) == 0
    assert core.lib.cr_model_destroy(core.model, core.ref("PD_1")) == 0
    with pytest.raises(CoreError, match="CR_ERR_CORRUPT"):
        core.replan(raw)
    with pytest.raises(CoreError, match="CR_ERR_ARG"):
        core.replan(raw)


def test_a_second_plan_too_large_for_its_memory_is_refused_and_dooms_nobody() -> None:
    model = system(
        "PD_1 manages A_SPACE_1\nPD_2 manages B_SPACE_2 with B_2_1 B_2_2 B_2_3 B_2_4\n"
        "PD_1 holds B_2_1"
    )
    core = CoreModel(20, 60, max_items=3)
    core.load(model)
    raw = core.plan_raw("PD_1", 0, 0)
    core.add_edge("HOLD", "PD_1", "B_2_2")
    core.add_edge("HOLD", "PD_1", "B_2_3")
    assert len(core.replan(raw).notices) == 3
    core.add_edge("HOLD", "PD_1", "B_2_4")
    with pytest.raises(CoreError, match="CR_ERR_FULL_PLAN"):
        core.replan(raw)
    assert core.lib.cr_plan_dooms(core.planner, raw, core.ref("PD_1")) == 0
    core.drop_edge("HOLD", "PD_1", "B_2_4")
    raw = core.plan_raw("PD_1", 0, 0)
    assert len(core.replan(raw).notices) == 3


def test_planning_again_costs_what_is_doomed() -> None:
    """A server with more and more clients: replanning for the crash of one costs the same."""
    costs: set[Any] = set()
    for others in (10, 1000):
        core = CoreModel(3 * others + 10, 8 * others + 20)
        core.add_pd(ROOT)
        core.add_pd("PD_1")
        core.add_space("BLOCK_SPACE_1", "PD_1")
        for n in range(2, others + 2):
            core.add_pd(f"PD_{n:x}")
            core.add_resource(f"BLOCK_1_{n:x}", "BLOCK_SPACE_1")
            core.add_edge("HOLD", f"PD_{n:x}", f"BLOCK_1_{n:x}")
            core.add_edge("REQUEST", f"PD_{n:x}", "BLOCK_SPACE_1")
        raw = core.plan_raw("PD_5", 0, 0)
        core.reset_touched()
        assert len(core.replan(raw).notices) == 2
        costs.add(core.touched())
    assert len(costs) == 1


# -- which subscribers a plan tells, and in which order


@pytest.mark.parametrize("block", range(5))
def test_subscribers_are_listed_by_group_the_last_first(block: int) -> None:
    several = 0
    for seed in range(block * 60, block * 60 + 60):
        rng = random.Random(seed)
        model = random_model(rng, scale=2)
        core = CoreModel.from_model(model)
        crash = rng.choice([pd for pd in model.pds() if pd != ROOT])
        raw = core.plan_raw(crash, None, None)
        group_of = {
            core.id_of(raw.doomed[i].node): raw.doomed[i].group for i in range(raw.n_doomed)
        }
        groups = [raw.pre_destroy_groups[i] for i in range(raw.n_pre_destroy)]
        assert groups == [
            group_of[core.id_of(raw.pre_destroy[i].node)] for i in range(raw.n_pre_destroy)
        ]
        assert groups == sorted(groups, reverse=True)
        several += len(set(groups)) > 1
    assert several > 5
