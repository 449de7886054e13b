# SPDX-License-Identifier: BSD-2-Clause
"""Plans without a trigger and with several: collection, reconciliation, termination of a subtree.

Each test covers core and reference at once.
"""

from __future__ import annotations

import random
import threading
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cellreap.errors import UsageError
from cellreap.model import reference
from cellreap.model.core import CoreError, CoreModel
from cellreap.model.graph import Model
from cellreap.model.ids import ROOT
from cellreap.model.plan import Plan
from cellreap.model.reference import check_why
from kit.core_support import DEPTHS, describe, random_model, system
from kit.marks import slow_but


def same(got: Plan, want: Plan, model: Model) -> dict[str, Any]:
    """The plan's JSON. Asserts that core and reference decided the same, for causes that hold."""
    assert got.outcome() == want.outcome(), describe(model)
    assert check_why(model, got) == [], describe(model)
    return got.to_json()


def collected(model: Model, roots: tuple[str, ...] = ()) -> dict[str, Any]:
    """The plan of a collection, by core and reference."""
    return same(CoreModel.from_model(model).collect(roots), reference.collect(model, roots), model)


def dead(plan: dict[str, Any]) -> list[str]:
    """Ids of the destroyed PDs."""
    return [pd for pd, _ in plan["destroyed_pds"]]


# -- core against reference


def rooted(rng: random.Random) -> Model:
    """A random system of which some part is reached from the root task."""
    model = random_model(rng, scale=rng.choice([1, 1, 2]))
    for pd in rng.sample(list(model.pds()), rng.randint(0, 2)):
        if pd != ROOT and (ROOT, pd) not in model.owns:
            model.add_own(ROOT, pd)
    return model


def agree_without_a_trigger(rng: random.Random) -> None:
    """Plans of all kinds of a random system, by core and reference."""
    model = rooted(rng)
    core = CoreModel.from_model(model)
    pds = [pd for pd in model.pds() if pd != ROOT]
    roots = tuple(rng.sample(pds, rng.randint(0, min(2, len(pds)))))
    same(core.collect(roots), reference.collect(model, roots), model)
    spaces = [space for space in model.spaces() if not model.is_core(space)]
    unnamed = rng.sample([*pds, *spaces], rng.randint(0, len(pds) + len(spaces)))
    same(core.reconcile(unnamed), reference.reconcile(model, unnamed), model)
    for pd in rng.sample(pds, min(2, len(pds))):
        depths = rng.choice(DEPTHS), rng.choice(DEPTHS)
        same(core.subtree(pd, *depths), reference.subtree(model, pd, *depths), model)
    core.check()


def agree_on_what_is_spared(rng: random.Random) -> None:
    """Holds are taken while the doomed nodes are marked. Spared: what they reach, nothing else."""
    model = rooted(rng)
    core = CoreModel(len(model.nodes) + 10, 2000)
    core.load(model)
    raw = core.collect_raw()
    first = reference.collect(model)
    if not first.doomed():
        return
    for node in first.doomed():
        assert core.lib.cr_model_doom(core.model, core.ref(node)) == 0
    nodes = [*model.spaces(), *model.resources()]
    for _ in range(rng.randint(0, 3) if nodes else 0):
        pair = rng.choice(list(model.pds())), rng.choice(nodes)
        model.add_hold(*pair)
        core.add_edge("HOLD", *pair)
    if rng.random() < 0.3 and model.owns:  # what becomes unreachable now is for the next one
        gone = rng.choice(sorted(model.owns))
        model.drop_own(*gone)
        core.drop_edge("OWN", *gone)
    second = core.spare(raw)
    same(second, reference.spare(model, first), model)
    assert second.doomed() <= first.doomed()


@pytest.mark.slow
@settings(max_examples=500, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False))
@pytest.mark.behaviour("G-05", "G-17", "G-40", "G-43", "X-19")
def test_core_and_reference_agree(rng: random.Random) -> None:
    agree_without_a_trigger(rng)
    agree_on_what_is_spared(rng)


@pytest.mark.parametrize("block", slow_but(range(8), 0))
@pytest.mark.behaviour("G-05", "G-17", "G-40", "G-43", "X-19")
def test_core_and_reference_agree_on_many_systems(block: int) -> None:
    for seed in range(block * 400, block * 400 + 400):
        agree_without_a_trigger(random.Random(seed))
        agree_on_what_is_spared(random.Random(seed))


# -- what is reached


KNOT = """
PD_1 manages BLOCK_SPACE_1 with BLOCK_1_1
PD_2 manages FILE_SPACE_2 with FILE_2_1
PD_1 requests FILE_SPACE_2
PD_2 holds BLOCK_1_1
PD_3 manages TABLE_SPACE_3 with TABLE_3_1
"""


@pytest.mark.behaviour("G-39", "G-40", "G-43", "G-44")
def test_what_nobody_refers_to_goes_and_so_does_a_cycle() -> None:
    plan = collected(system(KNOT))
    assert plan["destroyed_pds"] == [["PD_1", 1], ["PD_2", 1], ["PD_3", 1]]
    assert plan["deleted_spaces"] == ["BLOCK_SPACE_1", "FILE_SPACE_2", "TABLE_SPACE_3"]
    assert plan["trigger"] is None
    assert plan["doomed_why"]["PD_3"] == ["unreached", None]
    assert plan["notices"] == []
    assert dead(collected(system(KNOT), ("PD_3",))) == ["PD_1", "PD_2"]


@pytest.mark.parametrize(
    ("tie", "kept"),
    [
        ("PD_9 requests BLOCK_SPACE_1", True),
        ("PD_9 holds BLOCK_1_1", True),
        ("PD_9 holds BLOCK_SPACE_1", True),
        ("PD_9 faults-to PD_1", True),
        ("PD_9 links PD_1", True),
        ("PD_1 links PD_9", True),
        ("PD_9 owns PD_1", False),  # it has released the capability
        ("PD_9 owns PD_1\nPD_9 holds PD_7_1", True),
        ("PD_0 owns PD_1", True),
        ("PD_0 holds BLOCK_1_1", True),
        ("PD_0 requests BLOCK_SPACE_1", True),
        ("PD_1 pinned", True),
        ("PD_9 holds PD_7_1", True),  # the capability to its body
        # these refer the other way, or not at all
        ("PD_1 requests OTHER_SPACE_9", False),
        ("PD_1 holds OTHER_9_1", False),
        ("PD_1 faults-to PD_9", False),
        ("PD_1 owns PD_9", False),
        ("PD_9 subscribes PD_1", False),
        ("PD_1 subscribes PD_9", False),
        ("OTHER_SPACE_9 maps BLOCK_SPACE_1", False),
        ("PD_0 holds PD_7_1", False),  # the root task made every body
    ],
)
@pytest.mark.behaviour("G-33", "G-35", "G-39")
def test_each_reference_keeps_and_nothing_else_does(tie: str, kept: bool) -> None:
    model = system(
        f"""
        PD_0 manages PD_SPACE_7 with PD_7_1
        PD_1 manages BLOCK_SPACE_1 with BLOCK_1_1
        PD_9 manages OTHER_SPACE_9 with OTHER_9_1
        PD_9 pinned
        {tie}
        """
    )
    assert (dead(collected(model)) == []) == kept


@pytest.mark.behaviour("G-33", "G-41")
def test_what_a_kept_client_of_a_kept_client_needs_stays() -> None:
    text = f"{KNOT}\nPD_3 requests BLOCK_SPACE_1\nPD_4 owns PD_3"
    assert dead(collected(system(text), ("PD_4",))) == []
    assert dead(collected(system(text), ("PD_3",))) == ["PD_4"]
    assert dead(collected(system(text))) == ["PD_1", "PD_2", "PD_3", "PD_4"]


@pytest.mark.behaviour("G-05", "G-02")
def test_the_rest_is_as_after_a_crash_and_the_doomed_are_told() -> None:
    model = system(
        """
        PD_9 pinned
        PD_9 manages BLOCK_SPACE_9 with BLOCK_9_1
        PD_9 subscribes PD_1
        PD_1 requests BLOCK_SPACE_9
        PD_1 holds BLOCK_9_1
        PD_1 manages FILE_SPACE_1
        PD_2 requests FILE_SPACE_1
        PD_2 subscribes FILE_SPACE_1
        """
    )
    plan = collected(model)
    assert plan["notices"] == [
        ["PD_9", "disconnect", "BLOCK_SPACE_9", "PD_1"],
        ["PD_9", "free", "BLOCK_9_1", "PD_1"],
    ]
    assert plan["pre_destroy"] == [["PD_2", "FILE_SPACE_1"], ["PD_9", "PD_1"]]
    assert plan["groups"] == [["FILE_SPACE_1"], ["PD_1"], ["PD_2"]]
    assert reference.apply(model, reference.collect(model)).check_legal() == []


@pytest.mark.behaviour("G-17")
def test_a_hold_in_the_notify_phase_saves_a_node_and_what_it_needs_and_no_more() -> None:
    model = system(f"{KNOT}\nPD_9 pinned\nPD_9 subscribes PD_1")
    core = CoreModel(50, 200)
    core.load(model)
    raw, first = core.collect_raw(), reference.collect(model)
    for node in first.doomed():
        assert core.lib.cr_model_doom(core.model, core.ref(node)) == 0
    model.add_hold("PD_3", "BLOCK_1_1")  # one doomed node does not save another
    core.add_edge("HOLD", "PD_3", "BLOCK_1_1")
    assert same(core.spare(raw), reference.spare(model, first), model)["deleted_spaces"] == [
        "BLOCK_SPACE_1",
        "FILE_SPACE_2",
        "TABLE_SPACE_3",
    ]
    model.add_hold("PD_9", "FILE_2_1")
    core.add_edge("HOLD", "PD_9", "FILE_2_1")
    plan = same(core.spare(raw), reference.spare(model, first), model)
    assert dead(plan) == ["PD_3"]
    assert plan["notices"] == [["PD_1", "free", "BLOCK_1_1", "PD_3"]]
    with pytest.raises(CoreError, match="CR_ERR_ARG"):
        core.spare(core.plan_raw("PD_9", 0, 0))  # a crash spares nothing


# -- reconciliation


@pytest.mark.behaviour("G-42")
def test_a_reconciliation_dooms_what_it_is_given_and_its_spaces() -> None:
    model = system(f"{KNOT}\nPD_3 faults-to PD_1\nPD_3 links PD_1\nPD_3 requests BLOCK_SPACE_1")
    core = CoreModel.from_model(model)
    plan = same(core.reconcile(["PD_1"]), reference.reconcile(model, ["PD_1"]), model)
    assert (dead(plan), plan["deleted_spaces"]) == (["PD_1"], ["BLOCK_SPACE_1"])
    assert ["PD_3", "lost", "BLOCK_SPACE_1", None] in plan["notices"]
    spaces = ["TABLE_SPACE_3", "BLOCK_SPACE_1"]
    plan = same(core.reconcile(spaces), reference.reconcile(model, spaces), model)
    assert (dead(plan), plan["deleted_spaces"]) == ([], sorted(spaces))
    assert ["PD_3", "destroy", "TABLE_SPACE_3", None] in plan["notices"]
    for wrong in ("PD_0", "BLOCK_1_1"):
        with pytest.raises(CoreError):
            core.reconcile([wrong])
        with pytest.raises(UsageError):
            reference.reconcile(model, [wrong])


# -- a subtree


@pytest.mark.behaviour("X-19")
def test_a_subtree_is_one_plan_and_all_of_it_are_triggers() -> None:
    model = system(
        """
        PD_1 owns PD_2 PD_3
        PD_3 owns PD_4 PD_1
        PD_4 pinned
        PD_5 owns PD_1
        PD_4 manages FILE_SPACE_4 with FILE_4_1
        PD_6 requests FILE_SPACE_4
        PD_7 links PD_2
        PD_7 owns PD_8
        BLOCK_SPACE_5 maps FILE_SPACE_4
        PD_5 manages BLOCK_SPACE_5
        """
    )
    core = CoreModel.from_model(model)

    def plan(pd_depth: int, rs_depth: int) -> dict[str, Any]:
        want = reference.subtree(model, "PD_1", pd_depth, rs_depth)
        return same(core.subtree("PD_1", pd_depth, rs_depth), want, model)

    first = plan(0, 0)
    assert first["destroyed_pds"] == [[f"PD_{n}", 0] for n in (1, 2, 3, 4, 7)]
    assert first["deleted_spaces"] == ["FILE_SPACE_4"]
    assert first["trigger"] == "PD_1"
    assert first["doomed_why"]["PD_4"] == ["own", "PD_3"]
    assert plan(1, 1)["destroyed_pds"] == sorted([*first["destroyed_pds"], ["PD_6", 1]])
    assert plan(0, 1)["deleted_spaces"] == ["BLOCK_SPACE_5", "FILE_SPACE_4"]


# -- size


def large(kind: str) -> CoreModel:
    """A knot of 1,000 PDs, each of which requests the space of every 30th, or a chain of 10,000."""
    count = 1_000 if kind == "knot" else 10_000
    core = CoreModel(2 * count + 2, 60 * count)
    core.add_pd(ROOT)
    for n in range(1, count + 1):
        core.add_pd(f"PD_{n:x}")
        core.add_space(f"A_SPACE_{n:x}", f"PD_{n:x}")
        core.add_edge("HOLD", f"PD_{n:x}", f"A_SPACE_{n:x}")
    for n in range(1, count + 1):
        if kind == "chain" and n < count:
            core.add_edge("REQUEST", f"PD_{n + 1:x}", f"A_SPACE_{n:x}")
            core.add_edge("OWN", f"PD_{n:x}", f"PD_{n + 1:x}")
        for step in range(1, 31) if kind == "knot" else ():
            other = (n - 1 + step * 33) % count + 1
            core.add_edge("REQUEST", f"PD_{n:x}", f"A_SPACE_{other:x}")
    return core


@pytest.mark.parametrize(("kind", "pds", "groups"), [("knot", 1_000, 2), ("chain", 10_000, 10_001)])
@pytest.mark.behaviour("G-40", "D-04")
def test_a_large_knot_and_a_long_chain_are_planned_in_memory_known_before(
    kind: str, pds: int, groups: int
) -> None:
    """The planner's memory is given when it is made; a recursion as deep would overflow the stack
    of the thread that plans, which has 64 KiB.
    """
    core = large(kind)
    raw: list[Any] = []

    def plan() -> None:
        raw.append(core.collect_raw())
        raw.append(core.ffi.new("cr_plan *"))
        top = core.ref("PD_1")
        depth = core.lib.CR_DEPTH_INF
        assert core.lib.cr_plan_subtree(core.planner, core.model, top, depth, 0, raw[1]) == 0

    before = threading.stack_size(64 * 1024)
    try:
        thread = threading.Thread(target=plan)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert [(plan.n_doomed, plan.groups) for plan in raw] == [(2 * pds, groups)] * 2
    core.check()


LET_GO = """
PD_0 manages PD_SPACE_7 with PD_7_1 PD_7_2 PD_7_3
PD_9 pinned
PD_9 owns PD_1
PD_9 owns PD_2
PD_9 owns PD_3
PD_1 holds PD_7_2
PD_2 holds PD_7_1
PD_8 holds PD_7_3
PD_8 pinned
"""


@pytest.mark.behaviour("S-09")
def test_what_a_creator_has_released_goes_in_a_knot_too() -> None:
    assert dead(collected(system(LET_GO))) == ["PD_1", "PD_2"]
    assert dead(collected(system(LET_GO + "PD_9 holds PD_7_1"))) == []


@pytest.mark.behaviour("S-09")
def test_a_cleanup_does_not_make_forgotten_that_a_creator_has_released() -> None:
    """The last holder of a body goes. Its record stays as long as the creator does."""
    model = system(LET_GO)
    plan = CoreModel.from_model(model).plan("PD_8", 0, 0)
    same(plan, reference.plan(model, "PD_8", 0, 0), model)
    assert plan.core_freed == []
    assert dead(collected(reference.apply(model, plan))) == ["PD_1", "PD_2", "PD_3"]
