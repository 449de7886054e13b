# SPDX-License-Identifier: BSD-2-Clause
"""What a crash dooms, and the effect on the survivors.

Each test covers one behaviour, on core and reference at once.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cellreap.model.core import CoreError, CoreModel
from cellreap.model.graph import Model
from cellreap.model.ids import ROOT, parse_id, resource_id
from cellreap.model.reference import apply
from cellreap.model.reference import plan as reference_plan
from kit.core_support import DEPTHS, SCENARIO, agree, both, describe, random_model, system
from kit.marks import slow_but, thorough_but


def dead(plan: dict[str, Any]) -> list[str]:
    """Ids of the destroyed PDs."""
    return [pd for pd, _ in plan["destroyed_pds"]]


# -- core against reference


@pytest.mark.slow
@settings(max_examples=1500, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False), st.sampled_from(DEPTHS), st.sampled_from(DEPTHS))
@pytest.mark.behaviour("C-08", "D-01", "D-04", "G-06", "G-07", "G-14")
def test_core_and_reference_agree(
    rng: random.Random, pd_depth: int | None, rs_depth: int | None
) -> None:
    model = random_model(rng)
    core = CoreModel.from_model(model)
    for pd in model.pds():
        if pd != ROOT:
            agree(core, model, pd, pd_depth, rs_depth)


@pytest.mark.behaviour("C-08", "D-01", "D-04", "G-06", "G-07")
@pytest.mark.parametrize("block", [*slow_but(range(3), 0), *thorough_but(range(3, 8))])
def test_core_and_reference_agree_on_larger_systems(block: int) -> None:
    for seed in range(block * 400, block * 400 + 400):
        rng = random.Random(seed)
        model = random_model(rng, scale=rng.choice([1, 1, 2, 4]))
        core = CoreModel.from_model(model)
        crashed = [pd for pd in model.pds() if pd != ROOT]
        for pd in rng.sample(crashed, min(3, len(crashed))):
            for _ in range(3):
                agree(core, model, pd, rng.choice(DEPTHS), rng.choice(DEPTHS))
        core.check()


@pytest.mark.behaviour("D-01")
@pytest.mark.parametrize("block", range(4))
def test_the_doomed_sets_grow_with_either_depth(block: int) -> None:
    for seed in range(block * 100, block * 100 + 100):
        model = random_model(random.Random(seed), scale=2)
        core = CoreModel.from_model(model)
        for pd in list(model.pds())[1:4]:
            doomed = {
                (i, j): set(dead(plan)) | set(plan["deleted_spaces"])
                for i, pd_depth in enumerate(DEPTHS)
                for j, rs_depth in enumerate(DEPTHS)
                for plan in [core.plan_json(pd, pd_depth, rs_depth)]
            }
            for (i, j), those in doomed.items():
                assert those <= doomed[min(i + 1, len(DEPTHS) - 1), j], describe(model)
                assert those <= doomed[i, min(j + 1, len(DEPTHS) - 1)], describe(model)


@pytest.mark.behaviour("C-28", "D-04")
@pytest.mark.parametrize("seed", range(150))
def test_the_order_in_which_things_were_made_does_not_matter(seed: int) -> None:
    """Nodes and edges are added in another order, in an arena with reused slots.

    The plans and the explanations stay equal.
    """
    rng = random.Random(seed)
    model = random_model(rng)
    first = CoreModel.from_model(model)
    size = len(model.nodes) + 20
    second = CoreModel(size, size * 40)
    for number in range(0x1000, 0x1000 + 20):
        second.add_pd(f"PD_{number:x}")
    for number in rng.sample(range(0x1000, 0x1000 + 20), 20):
        ref = second.refs.pop(f"PD_{number:x}")
        for step in (
            second.lib.cr_model_doom,
            second.lib.cr_model_destroy,
            second.lib.cr_model_release,
        ):
            assert step(second.model, ref) == second.lib.CR_OK
    ids = list(model.nodes)
    rng.shuffle(ids)
    second.load(model, ids)
    second.check()
    assert second.edges() == first.edges()
    assert any(second.ref(id_).index != first.ref(id_).index for id_ in ids)
    for pd in model.pds():
        if pd != ROOT:
            depths = rng.choice(DEPTHS), rng.choice(DEPTHS)
            assert second.plan(pd, *depths) == first.plan(pd, *depths), describe(model)


def renamed(model: Model, names: dict[str, str]) -> Model:
    """The same system with other ids."""
    other = Model()
    for node in model.nodes.values():
        if node.kind == "PD":
            other.add_pd(names[node.id], pinned=node.pinned)
    for space, manager in model.manager.items():
        other.add_space(names[space], names[manager])
    for res, space in model.space_of.items():
        other.add_resource(names[res], names[space])
    for (pd, node_), count in model.holds.items():
        other.add_hold(names[pd], names[node_], count)
    for pd, node_ in model.subscribes:
        for handler, count in model.subscriptions(pd, node_).items():
            other.add_subscribe(names[pd], names[node_], count, handler)
    for edges, add in (
        (model.requests, other.add_request),
        (model.maps, other.add_map),
        (model.faults.items(), other.set_fault),
        (model.links, other.add_link),
        (model.owns, other.add_own),
    ):
        for a, b in edges:
            add(names[a], names[b])
    return other


@pytest.mark.behaviour("C-28")
@pytest.mark.parametrize("seed", range(150))
def test_names_do_not_matter(seed: int) -> None:
    """All numbers are permuted. The plan is the same under other names.

    A body has the number of its PD and is renamed with it.
    """
    rng = random.Random(seed)
    model = random_model(rng)
    pds = [int(pd[3:], 16) for pd in model.pds() if pd != ROOT]
    pd_number = dict(zip(pds, rng.sample(pds, len(pds)), strict=True)) | {0: 0}
    spaces = sorted({int(space.rsplit("_", 1)[1], 16) for space in model.spaces()})
    space_number = dict(zip(spaces, rng.sample(spaces, len(spaces)), strict=True))
    names: dict[str, str] = {}
    for id_, node in model.nodes.items():
        if node.kind == "PD":
            names[id_] = f"PD_{pd_number[int(id_[3:], 16)]:x}"
        elif node.kind == "RESOURCE_SPACE":
            names[id_] = f"{node.type}_SPACE_{space_number[int(id_.rsplit('_', 1)[1], 16)]:x}"
        else:
            parts = parse_id(id_)
            assert parts is not None
            assert parts.space is not None
            object_ = pd_number[parts.number] if parts.type == "PD" else parts.number
            names[id_] = resource_id(parts.type, space_number[parts.space], object_)
    core = CoreModel.from_model(renamed(model, names))
    original = CoreModel.from_model(model)
    back = {new: old for old, new in names.items()}

    def old_names(thing: Any) -> Any:
        if isinstance(thing, (list, tuple)):
            return [old_names(item) for item in thing]
        return back.get(thing, thing) if isinstance(thing, str) else thing

    for pd in model.pds():
        if pd == ROOT:
            continue
        depths = rng.choice(DEPTHS), rng.choice(DEPTHS)
        want = original.plan(pd, *depths).outcome()
        got = core.plan(names[pd], *depths).outcome()
        for key, value in want.items():
            mine = old_names(got[key])
            if key == "groups":
                assert [sorted(group) for group in mine] == value
            elif isinstance(value, list):
                assert sorted(mine, key=repr) == sorted(value, key=repr), key
            else:
                assert mine == value


# -- which PDs are doomed


@pytest.mark.behaviour("C-04", "C-08")
def test_dependents_live_on_at_depth_0() -> None:
    plan = both(system(SCENARIO), "PD_3", 0, 0)
    assert dead(plan) == ["PD_3"]
    assert plan["deleted_spaces"] == ["FILE_SPACE_3"]
    assert plan["removed_requests"] == [["PD_4", "FILE_SPACE_3"]]
    assert plan["revoked"] == []


@pytest.mark.behaviour("C-06", "C-09")
@pytest.mark.parametrize(
    ("tie", "dies", "why"),
    [
        ("PD_2 requests BLOCK_SPACE_1", True, ["request", "BLOCK_SPACE_1"]),
        ("PD_2 holds BLOCK_1_1", True, ["hold", "BLOCK_1_1"]),
        ("PD_2 holds BLOCK_SPACE_1", False, None),  # a hold of the space itself is no dependency
        ("PD_2 subscribes PD_1", False, None),
        ("PD_2 owns PD_1", False, None),
        ("PD_1 owns PD_2", False, None),
        # the handler survives the PDs whose faults it handles
        ("PD_1 faults-to PD_2", False, None),
    ],
)
def test_a_request_or_a_hold_alone_suffices_and_nothing_else_does(
    tie: str, dies: bool, why: list[str] | None
) -> None:
    plan = both(system(f"PD_1 manages BLOCK_SPACE_1 with BLOCK_1_1\n{tie}"), "PD_1", 1, 0)
    assert ("PD_2" in dead(plan)) == dies
    assert plan["doomed_why"].get("PD_2") == why


def pd_chain(length: int) -> Model:
    """PD n+1 requests the space of PD n."""
    lines = [f"PD_{n:x} manages A_SPACE_{n:x} with A_{n:x}_1" for n in range(1, length + 1)]
    lines += [
        f"PD_{n + 1:x} {'requests A_SPACE_' if n % 2 else 'holds A_'}{n:x}{'' if n % 2 else '_1'}"
        for n in range(1, length)
    ]
    return system("\n".join(lines))


@pytest.mark.behaviour("C-10", "D-01", "C-07")
@pytest.mark.parametrize("depth", [0, 1, 2, 3, 7, 19, 20, 1000, None])
def test_pd_depth_counts_hops_exactly(depth: int | None) -> None:
    plan = both(pd_chain(20), "PD_1", depth, 0)
    reached = 20 if depth is None else min(depth + 1, 20)
    assert sorted(plan["destroyed_pds"], key=lambda entry: entry[1]) == [
        [f"PD_{n + 1:x}", n] for n in range(reached)
    ]
    assert len(plan["deleted_spaces"]) == reached


@pytest.mark.behaviour("C-11", "C-05", "D-01")
@pytest.mark.parametrize("depth", [0, 1, 2, 3, 7, 19, 20, 1000, None])
def test_rs_depth_counts_hops_exactly(depth: int | None) -> None:
    lines = [f"PD_{n:x} manages A_SPACE_{n:x} with A_{n:x}_1" for n in range(1, 21)]
    lines += [
        f"A_SPACE_{n + 1:x} maps A_SPACE_{n:x}" if n % 2 else f"A_{n + 1:x}_1 maps A_{n:x}_1"
        for n in range(1, 20)
    ]
    plan = both(system("\n".join(lines)), "PD_1", 0, depth)
    reached = 20 if depth is None else min(depth + 1, 20)
    assert plan["deleted_spaces"] == sorted(f"A_SPACE_{n:x}" for n in range(1, reached + 1))
    assert dead(plan) == ["PD_1"]


@pytest.mark.behaviour("D-01")
def test_the_smallest_depth_counts() -> None:
    model = pd_chain(5)
    model.add_request("PD_5", "A_SPACE_1")
    assert ["PD_5", 1] in both(model, "PD_1", None, 0)["destroyed_pds"]
    assert dead(both(model, "PD_1", 1, 0)) == ["PD_1", "PD_2", "PD_5"]


@pytest.mark.behaviour("C-12", "C-13")
def test_spaces_of_dead_servers_do_not_restart_rs_depth_and_rs_depth_kills_no_clients() -> None:
    model = system(SCENARIO)
    assert "TABLE_SPACE_4" not in both(model, "PD_1", 1, 1)["deleted_spaces"]
    plan = both(model, "PD_1", 1, 2)
    assert "TABLE_SPACE_4" in plan["deleted_spaces"]
    assert dead(plan) == ["PD_1", "PD_3"], "DB, who manages it, and APP, who uses it, live"
    assert ["PD_4", "destroy", "TABLE_SPACE_4", None] in plan["notices"]
    assert ["PD_5", "lost", "TABLE_SPACE_4", None] in plan["notices"]


@pytest.mark.behaviour("C-14")
def test_pins_protect_from_policy_only_and_the_root_task_from_everything() -> None:
    model = system(
        """
        PD_1 manages BLOCK_SPACE_1 with BLOCK_1_1
        PD_2 requests BLOCK_SPACE_1
        PD_2 pinned
        PD_2 manages FILE_SPACE_2
        PD_3 requests FILE_SPACE_2
        PD_0 requests BLOCK_SPACE_1
        PD_0 holds BLOCK_1_1
        PD_0 owns PD_1
        """
    )
    plan = both(model, "PD_1", None, None)
    assert dead(plan) == ["PD_1"], "nor does the pinned one pass it on"
    assert plan["removed_requests"] == [["PD_0", "BLOCK_SPACE_1"], ["PD_2", "BLOCK_SPACE_1"]]
    assert plan["revoked"] == []
    assert plan["notices"] == [["PD_2", "lost", "BLOCK_SPACE_1", None]], (
        "the root task needs no notice"
    )
    assert dead(both(model, "PD_2", None, None)) == ["PD_2", "PD_3"], "its own crash is no policy"


@pytest.mark.behaviour("C-15")
def test_who_drops_its_request_beforehand_is_spared() -> None:
    model = system("PD_1 manages BLOCK_SPACE_1\nPD_2 requests BLOCK_SPACE_1")
    core = CoreModel.from_model(model)
    assert dead(agree(core, model, "PD_1", None, None)) == ["PD_1", "PD_2"]
    core.drop_edge("REQUEST", "PD_2", "BLOCK_SPACE_1")
    model.drop_request("PD_2", "BLOCK_SPACE_1")
    assert dead(agree(core, model, "PD_1", None, None)) == ["PD_1"]


@pytest.mark.behaviour("C-16")
@pytest.mark.parametrize("depth", DEPTHS)
def test_linked_pds_die_together_both_ways_transitively_and_across_pins(depth: int | None) -> None:
    model = system(
        "PD_1 links PD_2\nPD_3 links PD_2\nPD_3 links PD_4\nPD_3 pinned\nPD_5 links PD_6"
    )
    for crash in ("PD_1", "PD_2", "PD_3", "PD_4"):
        plan = both(model, crash, depth, depth)
        assert plan["destroyed_pds"] == [["PD_1", 0], ["PD_2", 0], ["PD_3", 0], ["PD_4", 0]]


@pytest.mark.behaviour("C-22")
@pytest.mark.parametrize("depth", DEPTHS)
def test_a_dead_fault_handler_takes_those_it_watches_with_it(depth: int | None) -> None:
    model = system("PD_2 faults-to PD_1\nPD_3 faults-to PD_2\nPD_3 pinned\nPD_1 faults-to PD_4")
    assert dead(both(model, "PD_1", depth, depth)) == ["PD_1", "PD_2", "PD_3"]
    assert dead(both(model, "PD_3", depth, depth)) == ["PD_3"]
    cycle = system("PD_1 faults-to PD_2\nPD_2 faults-to PD_3\nPD_3 faults-to PD_1")
    assert dead(both(cycle, "PD_2", depth, depth)) == ["PD_1", "PD_2", "PD_3"]


@pytest.mark.behaviour("C-16", "C-22", "C-14")
def test_the_closure_holds_at_every_depth_and_at_the_same_depth() -> None:
    model = system(
        """
        PD_1 manages A_SPACE_1
        PD_2 requests A_SPACE_1
        PD_2 links PD_3
        PD_3 pinned
        PD_4 faults-to PD_3
        PD_4 manages B_SPACE_4
        PD_5 requests B_SPACE_4
        """
    )
    assert both(model, "PD_1", 1, 0)["destroyed_pds"] == [
        ["PD_1", 0],
        ["PD_2", 1],
        ["PD_3", 1],
        ["PD_4", 1],
    ]
    plan = both(model, "PD_1", 2, 0)
    assert ["PD_5", 2] in plan["destroyed_pds"]
    assert plan["doomed_why"]["PD_3"] == ["link", "PD_2"]
    assert plan["doomed_why"]["PD_4"] == ["fault", "PD_3"]


@pytest.mark.behaviour("C-17")
def test_a_space_over_two_spaces_dies_whole_with_either() -> None:
    for crash, other in (("PD_1", "PD_2"), ("PD_2", "PD_1")):
        plan = both(system(SCENARIO), crash, 0, 1)
        assert "FILE_SPACE_3" in plan["deleted_spaces"]
        assert [e for e in plan["revoked"] if "FILE" in e[1]] == [
            ["PD_3", "FILE_3_1"],
            ["PD_3", "FILE_3_2"],
        ]
        assert other not in dead(plan)
        assert "FILE_SPACE_3" not in both(system(SCENARIO), crash, 0, 0)["deleted_spaces"]


@pytest.mark.behaviour("C-08")
def test_the_two_depths_are_independent() -> None:
    model = system(
        """
        PD_1 manages A_SPACE_1
        PD_2 manages B_SPACE_2
        B_SPACE_2 maps A_SPACE_1
        PD_3 requests A_SPACE_1
        PD_3 manages C_SPACE_3
        """
    )
    assert both(model, "PD_1", 0, 0)["deleted_spaces"] == ["A_SPACE_1"]
    assert both(model, "PD_1", 1, 0)["deleted_spaces"] == ["A_SPACE_1", "C_SPACE_3"]
    assert both(model, "PD_1", 0, 1)["deleted_spaces"] == ["A_SPACE_1", "B_SPACE_2"]
    assert both(model, "PD_1", 1, 1)["deleted_spaces"] == ["A_SPACE_1", "B_SPACE_2", "C_SPACE_3"]


@pytest.mark.behaviour("D-02")
def test_a_live_server_does_not_depend_on_its_own_space() -> None:
    model = system(
        """
        PD_1 manages A_SPACE_1
        PD_2 manages B_SPACE_2 with B_2_1
        B_SPACE_2 maps A_SPACE_1
        PD_2 requests B_SPACE_2
        """
    )
    plan = both(model, "PD_1", None, None)
    assert dead(plan) == ["PD_1"]
    assert plan["deleted_spaces"] == ["A_SPACE_1", "B_SPACE_2"]
    assert plan["notices"] == [["PD_2", "destroy", "B_SPACE_2", None]], "told once, as manager"


# -- effects on survivors


@pytest.mark.behaviour("C-18")
def test_a_client_s_crash_orphans_nothing() -> None:
    model = system(SCENARIO)
    core = CoreModel.from_model(model)
    plan = carry_out(core, model, "PD_5", None, None)
    assert plan["notices"] == [
        ["PD_4", "disconnect", "TABLE_SPACE_4", "PD_5"],
        ["PD_4", "free", "TABLE_4_1", "PD_5"],
    ]
    for resource, space in model.space_of.items():
        assert core.count("HOLD", model.manager[space], resource) == 1


@pytest.mark.behaviour("C-19")
def test_many_copies_are_one_entry_and_one_notice() -> None:
    model = system(
        "PD_1 manages A_SPACE_1 with A_1_1\nPD_2 manages B_SPACE_2 with B_2_1\nPD_1 owns PD_3"
    )
    model.add_hold("PD_3", "A_1_1", 5)
    model.add_hold("PD_3", "B_2_1", 7)
    assert both(model, "PD_1", 0, 0)["revoked"] == [["PD_3", "A_1_1"]]
    notices = both(model, "PD_3", 0, 0)["notices"]
    assert notices == [["PD_1", "free", "A_1_1", "PD_3"], ["PD_2", "free", "B_2_1", "PD_3"]]


def test_one_lost_notice_a_space_however_much_went() -> None:
    model = system(
        """
        PD_1 manages A_SPACE_1 with A_1_1 A_1_2
        PD_1 manages A_SPACE_2 with A_2_1
        PD_2 requests A_SPACE_1
        PD_2 holds A_1_1 A_1_2 A_SPACE_1 A_2_1
        """
    )
    plan = both(model, "PD_1", 0, 0)
    assert plan["notices"] == [
        ["PD_2", "lost", "A_SPACE_1", None],
        ["PD_2", "lost", "A_SPACE_2", None],
    ]
    assert plan["revoked_spaces"] == [["PD_2", "A_SPACE_1"]]


@pytest.mark.behaviour("N-03")
def test_no_notice_about_what_goes_anyway() -> None:
    model = system(
        """
        PD_1 manages A_SPACE_1 with A_1_1
        PD_2 holds A_1_1
        PD_2 requests A_SPACE_1
        PD_2 manages B_SPACE_2 with B_2_1
        """
    )
    assert both(model, "PD_1", 1, 0)["notices"] == []
    assert both(model, "PD_2", 0, 0)["notices"] == [
        ["PD_1", "disconnect", "A_SPACE_1", "PD_2"],
        ["PD_1", "free", "A_1_1", "PD_2"],
    ]


def test_shared_memory_goes_with_its_last_holder() -> None:
    model = system(
        """
        PD_0 manages MO_SPACE_0 with MO_0_1 MO_0_2 MO_0_3 MO_0_4
        PD_0 holds MO_0_1 MO_0_2
        PD_1 holds MO_0_1 MO_0_2 MO_0_3
        PD_2 holds MO_0_2 MO_0_3
        PD_2 links PD_1
        PD_3 holds MO_0_2
        PD_1 requests MO_SPACE_0
        """
    )
    plan = both(model, "PD_1", 0, 0)
    assert plan["core_freed"] == ["MO_0_1", "MO_0_3"], (
        "the root task's hold keeps nothing, a survivor's does"
    )
    assert plan["notices"] == []
    assert plan["revoked"] == []


@pytest.mark.behaviour("S-01")
def test_what_a_survivor_s_resource_maps_to_stays() -> None:
    """VMRs over MOs, as CellulOS has them. Nobody who lives holds one of the MOs."""
    model = system(
        """
        PD_0 manages MO_SPACE_4 with MO_4_1 MO_4_2 MO_4_3 MO_4_4 MO_4_5 MO_4_6 MO_4_7
        PD_0 manages VMR_SPACE_7 with VMR_7_1 VMR_7_2 VMR_7_3 VMR_7_4 VMR_7_5 VMR_7_6
        PD_0 holds MO_4_1 MO_4_2 MO_4_3 VMR_7_4
        PD_1 holds MO_4_1 MO_4_2 MO_4_3 MO_4_4 MO_4_5 MO_4_6 MO_4_7 VMR_7_1 VMR_7_5 VMR_7_6
        PD_2 holds VMR_7_2 VMR_7_3
        VMR_7_1 maps MO_4_1
        VMR_7_2 maps MO_4_2
        VMR_7_1 maps MO_4_3
        VMR_7_3 maps MO_4_3
        VMR_7_4 maps MO_4_4
        VMR_7_3 maps VMR_7_5
        VMR_7_5 maps MO_4_5
        VMR_7_6 maps MO_4_6
        MO_4_6 maps VMR_7_6
        """
    )
    plan = both(model, "PD_1", 0, 0)
    kept = {"MO_4_2", "MO_4_3", "VMR_7_5", "MO_4_5"}  # for VMR_7_2 and VMR_7_3 of PD_2
    kept |= {"MO_4_4"}  # for the root task's own VMR_7_4
    # VMR_7_1 goes with PD_1, VMR_7_6 and MO_4_6 map to each other, and nothing maps to MO_4_7.
    assert plan["core_freed"] == ["MO_4_1", "MO_4_6", "MO_4_7", "VMR_7_1", "VMR_7_6"]
    assert not kept & set(plan["core_freed"])
    after = apply(model, reference_plan(model, "PD_1", 0, 0))
    assert kept <= after.nodes.keys()
    assert ("VMR_7_3", "VMR_7_5") in after.maps
    last = both(after, "PD_2", 0, 0)["core_freed"]
    assert last == sorted({*kept, "VMR_7_2", "VMR_7_3"} - {"MO_4_4"}), "nobody else refers to it"


@pytest.mark.behaviour("S-01")
def test_memory_that_nobody_holds_goes_with_the_last_that_maps_to_it() -> None:
    text = """
        PD_0 manages MO_SPACE_4 with MO_4_1 MO_4_2 MO_4_3
        PD_0 manages VMR_SPACE_7 with VMR_7_1 VMR_7_2 VMR_7_3
        PD_0 holds MO_4_2
        PD_1 holds VMR_7_1
        PD_3 holds MO_4_3
        VMR_7_1 maps VMR_7_2
        VMR_7_2 maps MO_4_1
        VMR_7_2 maps MO_4_2
        VMR_7_2 maps MO_4_3
        VMR_7_3 maps MO_4_2
        """
    freed = both(system(text), "PD_1", 0, 0)["core_freed"]
    assert freed == ["MO_4_1", "VMR_7_1", "VMR_7_2"], (
        "MO_4_2 is mapped by VMR_7_3, which stays, and PD_3 holds MO_4_3"
    )


@pytest.mark.behaviour("S-01", "E-02")
def test_memory_that_backs_resources_goes_with_them_unless_a_survivor_has_it_mapped() -> None:
    text = """
        PD_0 manages MO_SPACE_4 with MO_4_1 MO_4_2 MO_4_3 MO_4_4
        PD_0 manages VMR_SPACE_7 with VMR_7_1
        PD_1 manages STORE_SPACE_5 with STORE_5_1 STORE_5_2 STORE_5_3 STORE_5_4
        PD_1 holds MO_4_4
        PD_2 holds STORE_5_1 VMR_7_1
        PD_3 holds MO_4_3
        STORE_5_1 maps MO_4_1
        STORE_5_2 maps MO_4_2
        STORE_5_3 maps MO_4_3
        STORE_5_4 maps MO_4_4
        VMR_7_1 maps MO_4_1
        """
    freed = both(system(text), "PD_1", 0, 0)["core_freed"]
    assert freed == ["MO_4_2", "MO_4_4"], "PD_2 has MO_4_1 mapped, and PD_3 holds MO_4_3"


def test_a_body_goes_with_its_pd_even_if_the_creator_holds_it() -> None:
    model = system(
        """
        PD_0 manages PD_SPACE_0 with PD_0_1 PD_0_2
        PD_1 holds PD_0_1 PD_0_2
        PD_2 holds PD_0_2
        PD_1 owns PD_2
        """
    )
    plan = both(model, "PD_2", 0, 0)
    assert plan["revoked_bodies"] == [["PD_1", "PD_0_2"]]
    assert plan["core_freed"] == [], "the body is freed with the PD, not as shared memory"
    assert both(model, "PD_1", 0, 0)["revoked_bodies"] == []


@pytest.mark.behaviour("G-23", "G-28")
def test_subscribers_are_told_once_a_node_unless_suspended() -> None:
    model = system(
        """
        PD_1 manages A_SPACE_1
        PD_2 requests A_SPACE_1
        PD_2 subscribes PD_1 A_SPACE_1 PD_2
        PD_3 subscribes A_SPACE_1 PD_4
        PD_4 links PD_1
        PD_4 subscribes PD_1 PD_4
        """
    )
    model.add_subscribe("PD_3", "A_SPACE_1", 4)
    plan = both(model, "PD_1", 1, 0)
    assert plan["pre_destroy"] == [
        ["PD_2", "A_SPACE_1"],
        ["PD_2", "PD_1"],
        ["PD_2", "PD_2"],
        ["PD_3", "A_SPACE_1"],
        ["PD_3", "PD_4"],
    ]
    assert ["PD_2", "PD_2"] not in both(model, "PD_2", 1, 0)["pre_destroy"], (
        "suspended, so told nothing"
    )


# -- the order of destruction


def group_of(plan: dict[str, Any], node: str) -> int:
    """The number of a node's group."""
    return next(n for n, group in enumerate(plan["groups"]) if node in group)


def linked(*extra: str, pds: int = 2) -> dict[str, Any]:
    """PDs 1 to n, linked so that all are doomed with PD_1, and more lines."""
    return both(
        system("\n".join([*(f"PD_1 links PD_{n}" for n in range(2, pds + 1)), *extra])),
        "PD_1",
        0,
        0,
    )


@pytest.mark.behaviour("G-02", "G-14")
@pytest.mark.parametrize(("subscriber", "publisher"), [("PD_1", "PD_2"), ("PD_2", "PD_1")])
def test_the_publisher_goes_before_its_subscriber(subscriber: str, publisher: str) -> None:
    assert linked(f"{subscriber} subscribes {publisher}")["groups"] == [[publisher], [subscriber]]


@pytest.mark.behaviour("G-03")
@pytest.mark.parametrize(
    "relation",
    [
        "PD_1 owns PD_2",
        "PD_2 owns PD_1",
        "PD_1 holds A_2_1",
        "PD_2 holds A_2_1",
        "PD_3 owns PD_1",
        "",
    ],
)
def test_a_subscription_orders_any_two_whatever_else_ties_them(relation: str) -> None:
    for subscriber, publisher in (("PD_1", "PD_2"), ("PD_2", "PD_1")):
        plan = linked(
            "PD_2 manages A_SPACE_2 with A_2_1",
            relation or "PD_1 owns PD_3",
            f"{subscriber} subscribes {publisher}",
            pds=3,
        )
        assert group_of(plan, publisher) < group_of(plan, subscriber)


@pytest.mark.behaviour("G-04")
def test_a_cycle_of_subscriptions_is_one_group_and_all_are_told() -> None:
    model = system(
        """
        PD_9 manages A_SPACE_9
        PD_1 requests A_SPACE_9
        PD_2 requests A_SPACE_9
        PD_3 requests A_SPACE_9
        PD_1 subscribes PD_2
        PD_2 subscribes PD_3
        PD_3 subscribes PD_1
        """
    )
    plan = both(model, "PD_9", 1, 0)
    assert plan["groups"] == [["A_SPACE_9"], ["PD_9"], ["PD_1", "PD_2", "PD_3"]]
    assert plan["pre_destroy"] == [["PD_1", "PD_2"], ["PD_2", "PD_3"], ["PD_3", "PD_1"]]


@pytest.mark.behaviour("G-06")
def test_explicit_beats_ownership_beats_implicit_and_opposed_explicit_ones_cancel() -> None:
    owned = "PD_1 owns PD_2"  # destroys PD_2 first
    explicit = "PD_2 subscribes PD_1"  # destroys PD_1 first
    implicit = ("PD_1 manages A_SPACE_1", "PD_2 requests A_SPACE_1")  # destroys PD_1 first
    opposed = "PD_1 subscribes PD_2"

    def first(*lines: str) -> str:
        plan = linked(*lines)
        one, two = group_of(plan, "PD_1"), group_of(plan, "PD_2")
        return "PD_1" if one < two else "PD_2" if two < one else "neither"

    assert first(owned) == "PD_2"
    assert first(explicit) == "PD_1"
    assert first(*implicit) == "PD_1"
    assert first(owned, explicit) == "PD_1"
    assert first(owned, *implicit) == "PD_2"
    assert first("PD_2 manages B_SPACE_2", "PD_1 requests B_SPACE_2", explicit) == "PD_1"
    assert first(explicit, opposed) == "neither"
    assert first(owned, explicit, opposed) == "PD_2", "cancelled ones suppress nothing below them"
    assert first(*implicit, explicit, opposed) == "PD_1"
    assert first(*implicit, explicit, opposed, owned) == "PD_2"


@pytest.mark.behaviour("G-06")
def test_equal_precedence_that_opposes_itself_is_a_cycle_and_cancelled_pairs_tell_both() -> None:
    assert linked("PD_1 owns PD_2", "PD_2 owns PD_1", "PD_3 subscribes PD_1", pds=3)["groups"] == [
        ["PD_1", "PD_2"],
        ["PD_3"],
    ]
    model = system("PD_1 manages A_SPACE_1\nPD_2 requests A_SPACE_1\nPD_3 requests A_SPACE_1")
    model.add_subscribe("PD_2", "PD_3")
    model.add_subscribe("PD_3", "PD_2")
    plan = both(model, "PD_1", 1, 0)
    assert plan["groups"] == [["A_SPACE_1"], ["PD_1"], ["PD_2", "PD_3"]]
    assert plan["pre_destroy"] == [["PD_2", "PD_3"], ["PD_3", "PD_2"]]


@pytest.mark.behaviour("G-07", "G-08")
def test_what_nothing_orders_shares_a_group_and_every_node_has_exactly_one() -> None:
    plan = linked("PD_4 subscribes PD_2", "PD_4 subscribes PD_3", pds=5)
    assert plan["groups"] == [["PD_1", "PD_2", "PD_3", "PD_5"], ["PD_4"]]
    for seed in range(200):
        model = random_model(random.Random(seed))
        core = CoreModel.from_model(model)
        for pd in list(model.pds())[1:]:
            raw = core.plan_raw(pd, None, None)
            by_index = [raw.doomed[i].group for i in range(raw.n_doomed)]
            assert by_index == sorted(by_index)
            assert set(by_index) == set(range(raw.groups)), "no group is empty"
            nodes = [core.id_of(raw.doomed[i].node) for i in range(raw.n_doomed)]
            assert len(nodes) == len(set(nodes))


@pytest.mark.behaviour("G-12")
def test_a_child_that_depends_on_its_parent_goes_after_it() -> None:
    assert linked("PD_1 owns PD_2", "PD_2 subscribes PD_1")["groups"] == [["PD_1"], ["PD_2"]]


@pytest.mark.behaviour("G-13")
def test_a_parent_that_depends_on_its_child_goes_after_it() -> None:
    assert linked("PD_1 owns PD_2", "PD_1 subscribes PD_2")["groups"] == [["PD_2"], ["PD_1"]]
    # The same where ownership does not already say so:
    assert linked("PD_1 manages A_SPACE_1", "PD_2 requests A_SPACE_1", "PD_1 subscribes PD_2")[
        "groups"
    ] == [
        ["A_SPACE_1", "PD_2"],
        ["PD_1"],
    ]


@pytest.mark.behaviour("G-15")
def test_without_dependencies_the_deepest_goes_first() -> None:
    lines = [f"PD_{n} owns PD_{n + 1}" for n in range(1, 6)]
    plan = linked(*lines, "PD_6 manages A_SPACE_6", pds=6)
    assert plan["groups"] == [
        ["A_SPACE_6"],
        ["PD_6"],
        ["PD_5"],
        ["PD_4"],
        ["PD_3"],
        ["PD_2"],
        ["PD_1"],
    ]


def test_a_group_is_the_longest_path_not_the_shortest() -> None:
    plan = linked(
        "PD_2 subscribes PD_1",
        "PD_3 subscribes PD_2",
        "PD_4 subscribes PD_1",
        "PD_4 subscribes PD_3",
        pds=4,
    )
    assert plan["groups"] == [["PD_1"], ["PD_2"], ["PD_3"], ["PD_4"]]


def test_holding_a_space_itself_orders_nothing_but_a_resource_in_it_does() -> None:
    space = "PD_1 manages A_SPACE_1 with A_1_1"
    assert linked(space, "PD_2 holds A_SPACE_1")["groups"] == [["A_SPACE_1", "PD_2"], ["PD_1"]]
    assert linked(space, "PD_2 holds A_1_1")["groups"] == [["A_SPACE_1"], ["PD_1"], ["PD_2"]]


# -- planning changes nothing, and its cost depends on what it dooms


@pytest.mark.behaviour("X-22")
@pytest.mark.parametrize("seed", range(40))
def test_planning_changes_nothing(seed: int) -> None:
    model = random_model(random.Random(seed), scale=2)
    core = CoreModel.from_model(model)
    core.reset_touched()
    before = bytes(core.arena)
    for pd in model.pds():
        for depth in DEPTHS:
            if pd == ROOT:
                with pytest.raises(CoreError, match="CR_ERR_ROOT"):
                    core.plan(pd, depth, depth)
            else:
                core.plan(pd, depth, depth)
    assert core.touched() > (0, 0)
    core.reset_touched()
    assert bytes(core.arena) == before


@pytest.mark.behaviour("X-22")
def test_a_plan_too_large_for_its_memory_is_refused_and_the_next_one_is_right() -> None:
    model = system(SCENARIO)
    want = CoreModel.from_model(model).plan("PD_1", None, None)
    small = CoreModel.from_model(model).plan("PD_5", 0, 0)
    fitted = 0
    for items in range(1, 30):
        core = CoreModel(20, 60, max_items=items)
        core.load(model)
        core.reset_touched()
        before = bytes(core.arena)
        out = core.ffi.new("cr_plan *")
        inf = core.lib.CR_DEPTH_INF
        status = core.lib.cr_plan_crash(core.planner, core.model, core.ref("PD_1"), inf, inf, out)
        core.reset_touched()
        assert bytes(core.arena) == before
        if status == core.lib.CR_OK:
            fitted += 1
            assert core.plan("PD_1", None, None) == want
        else:
            assert status == core.lib.CR_ERR_FULL_PLAN
            assert fitted == 0, "more memory never fits less"
            assert core.lib.cr_plan_dooms(core.planner, out, core.ref("PD_1")) == 0
        if items >= 3:
            assert core.plan("PD_5", 0, 0) == small
    assert 0 < fitted < 29


@pytest.mark.behaviour("X-22")
def test_a_plan_gets_the_room_that_it_needs_and_no_more() -> None:
    core = crowd(5000, shared=False)
    fixed = core.planner_bytes
    leaf = core.plan("PD_2", 0, 0)
    assert core.planner_bytes == fixed
    lost = core.plan("PD_1", 0, 0)
    assert len(lost.notices) == len(lost.revoked) == len(lost.removed_requests) == 5000
    gone = core.plan("PD_1", 1, 0)
    assert len(gone.destroyed_pds) == 5001
    assert fixed < core.planner_bytes < 4 * fixed
    assert core.plan("PD_2", 0, 0) == leaf
    assert core.plan("PD_1", 0, 0) == lost


@pytest.mark.behaviour("X-22")
def test_a_million_nodes_and_ten_million_edges_fit_their_memory() -> None:
    """Also if all nodes are doomed and each goes before two others."""
    core = CoreModel(1, 1)
    nodes, edges = 10**6, 10**7
    room = core.ffi.new("cr_plan_room *", [nodes, 2 * nodes, 4096, 4096])
    used = core.lib.cr_model_bytes(nodes, edges) + core.lib.cr_planner_bytes_for(nodes, room)
    assert 0 < used <= 300 * nodes + 40 * edges


def test_a_model_larger_than_the_planner_is_refused() -> None:
    core = CoreModel(20, 60)
    size = core.lib.cr_planner_bytes(19, 10)
    memory = core.ffi.new("uint64_t[]", size // 8)
    out = core.ffi.new("cr_planner **")
    assert core.lib.cr_planner_init(memory, size, 19, 10, out) == core.lib.CR_OK
    core.add_pd("PD_1")
    plan = core.ffi.new("cr_plan *")
    assert (
        core.lib.cr_plan_crash(out[0], core.model, core.ref("PD_1"), 0, 0, plan)
        == core.lib.CR_ERR_ARG
    )


def test_is_doomed_answers_for_the_last_plan() -> None:
    core = CoreModel.from_model(system(SCENARIO))
    raw = core.plan_raw("PD_1", 1, 0)
    doomed = {
        id_ for id_, ref in core.refs.items() if core.lib.cr_plan_dooms(core.planner, raw, ref)
    }
    assert doomed == {"PD_1", "PD_3", "BLOCK_SPACE_1", "FILE_SPACE_3"}
    raw = core.plan_raw("PD_5", 0, 0)
    doomed = {
        id_ for id_, ref in core.refs.items() if core.lib.cr_plan_dooms(core.planner, raw, ref)
    }
    assert doomed == {"PD_5"}


def test_what_is_doomed_already_is_neither_doomed_again_nor_told() -> None:
    model = system(
        "PD_1 manages A_SPACE_1 with A_1_1\nPD_2 holds A_1_1\nPD_3 holds A_1_1\n"
        "PD_2 subscribes PD_1"
    )
    core = CoreModel.from_model(model)
    assert core.lib.cr_model_doom(core.model, core.ref("PD_2")) == core.lib.CR_OK
    plan = core.plan_json("PD_1", None, 0)
    assert dead(plan) == ["PD_1", "PD_3"]
    assert plan["pre_destroy"] == []
    assert core.plan_json("PD_1", 0, 0)["notices"] == [["PD_3", "lost", "A_SPACE_1", None]]
    with pytest.raises(CoreError, match="CR_ERR_STATE"):
        core.plan("PD_2", 0, 0)
    with pytest.raises(CoreError, match="CR_ERR_KIND"):
        core.plan("A_SPACE_1", 0, 0)


def crowd(clients: int, *, shared: bool) -> CoreModel:
    """One server, and clients that each request its space and hold one resource of it.

    PD_0 owns all. `shared`: all hold the same core memory and subscribe to the server as well.
    """
    core = CoreModel(2 * clients + 10, 8 * clients + 20)
    core.add_pd(ROOT)
    core.add_pd("PD_1")
    core.add_space("BLOCK_SPACE_1", "PD_1")
    core.add_space("MO_SPACE_2", ROOT)
    core.add_resource("MO_2_1", "MO_SPACE_2")
    for n in range(2, clients + 2):
        pd, resource = f"PD_{n:x}", f"BLOCK_1_{n:x}"
        core.add_pd(pd)
        core.add_resource(resource, "BLOCK_SPACE_1")
        core.add_edge("HOLD", "PD_1", resource)
        core.add_edge("HOLD", pd, resource)
        core.add_edge("REQUEST", pd, "BLOCK_SPACE_1")
        core.add_edge("OWN", ROOT, pd)
        if shared:
            core.add_edge("HOLD", pd, "MO_2_1")
            core.add_edge("SUBSCRIBE", pd, "PD_1")
    return core


@pytest.mark.slow
def test_carrying_out_a_leaf_s_end_costs_the_same_too() -> None:
    """The costs differ slightly because the chains of the hash table differ."""
    costs = []
    for clients in (9, 99_999):
        core = crowd(clients, shared=True)
        core.reset_touched()
        assert core.lib.cr_model_doom(core.model, core.ref("PD_5")) == core.lib.CR_OK
        assert core.lib.cr_model_destroy(core.model, core.ref("PD_5")) == core.lib.CR_OK
        costs.append(core.touched())
    assert costs[0][0] == costs[1][0] == 2
    for _, edges in costs:
        assert 5 <= edges < 40, "five edges, their neighbours on the lists, and a few on the chains"


@pytest.mark.slow
@pytest.mark.parametrize("shared", [False, True])
def test_a_leaf_s_crash_costs_the_same_among_10_pds_and_among_100000(shared: bool) -> None:
    costs = []
    for clients in (9, 99_999):
        core = crowd(clients, shared=shared)
        for leaf in ("PD_2", "PD_5", f"PD_{clients + 1:x}"):
            core.reset_touched()
            plan = core.plan_json(leaf, None, None)
            costs.append(core.touched())
            assert dead(plan) == [leaf]
            assert plan["core_freed"] == []
            assert len(plan["notices"]) == 2
    # The leaf that is the last holder on the list has one more edge looked at.
    assert costs[:3] == costs[3:]
    assert max(costs) < (60, 20)


def test_the_cost_is_proportional_to_what_is_doomed() -> None:
    small, large = crowd(100, shared=True), crowd(10_000, shared=True)
    for core in (small, large):
        core.plan_raw("PD_1", None, None)  # takes the room
        core.reset_touched()
        core.plan_raw("PD_1", None, None)
    for few, many in zip(small.touched(), large.touched(), strict=True):
        assert 80 * few < many < 110 * few


# -- carrying a plan out


def carry_out(
    core: CoreModel, model: Model, crash: str, pd_depth: int | None, rs_depth: int | None
) -> dict[str, Any]:
    """Marks and destroys what the plan lists, in the plan's order, then releases the tombstones.

    Returns the plan.
    """
    lib = core.lib
    raw = core.plan_raw(crash, pd_depth, rs_depth)
    plan = core.plan_json(crash, pd_depth, rs_depth)
    doomed = [core.id_of(raw.doomed[i].node) for i in range(raw.n_doomed)]
    gone = []
    for id_ in doomed:
        assert lib.cr_model_doom(core.model, core.ref(id_)) == lib.CR_OK
    for id_ in doomed:
        inside = sorted(res for res, space in model.space_of.items() if space == id_)
        if id_ in model.nodes and model.nodes[id_].kind == "PD":
            body = model.body_of(id_)
            inside = [] if body is None else [body]
        for node in [*inside, id_]:
            assert lib.cr_model_destroy(core.model, core.ref(node)) == lib.CR_OK, node
            gone.append(node)
    for node in plan["core_freed"]:
        assert lib.cr_model_destroy(core.model, core.ref(node)) == lib.CR_OK
        gone.append(node)
    core.check()
    for node in gone:
        assert lib.cr_model_release(core.model, core.refs.pop(node)) == lib.CR_OK
    core.check()
    return plan


@pytest.mark.behaviour("D-03", "M-07", "D-04", "C-04")
@pytest.mark.parametrize("block", range(6))
def test_after_a_cleanup_no_edge_names_what_is_gone(block: int) -> None:
    """Crash after crash in one arena. The remaining edges equal the reference's each time."""
    for seed in range(block * 40, block * 40 + 40):
        rng = random.Random(seed)
        model = random_model(rng)
        core = CoreModel.from_model(model)
        for _ in range(3):
            crash = rng.choice([pd for pd in model.pds() if pd != ROOT] or [ROOT])
            if crash == ROOT:
                break
            depths = rng.choice(DEPTHS), rng.choice(DEPTHS)
            agree(core, model, crash, *depths)
            plan = core.plan(crash, *depths)
            carry_out(core, model, crash, *depths)
            model = apply(model, plan)
            assert set(core.refs) == set(model.nodes)
            assert core.edges() == CoreModel.from_model(model).edges()
