# SPDX-License-Identifier: BSD-2-Clause
"""The arena: references, edges, counts, limits, states, and bytes that are no arena."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cellreap.errors import UsageError
from cellreap.model.core import CoreError, CoreMissing, CoreModel, library_path, load_core
from kit.core_support import SCENARIO, random_model, system


@pytest.fixture
def core() -> CoreModel:
    """A root task with its memory space, servers 1 and 2, and client 3.

    Each server has a space and a resource.
    """
    made = CoreModel(40, 80)
    for pd in ("PD_0", "PD_1", "PD_2", "PD_3"):
        made.add_pd(pd)
    made.add_space("BLOCK_SPACE_1", "PD_1")
    made.add_space("FILE_SPACE_2", "PD_2")
    made.add_space("MO_SPACE_3", "PD_0")
    made.add_resource("BLOCK_1_1", "BLOCK_SPACE_1")
    made.add_resource("FILE_2_1", "FILE_SPACE_2")
    made.add_resource("MO_3_1", "MO_SPACE_3")
    return made


def refused(status: str, call: Callable[[], object]) -> None:
    """Asserts that the call fails with this status."""
    with pytest.raises(CoreError) as caught:
        call()
    assert caught.value.status == status


def status_name(core: CoreModel, status: int) -> str:
    """The enumerator of a raw status."""
    return str(core.ffi.typeof("cr_status").elements[status])


def add_pd_raw(core: CoreModel) -> Any:
    """Adds a PD and returns its bare reference."""
    out = core.ffi.new("cr_ref *")
    assert core.lib.cr_model_add_pd(core.model, 0x99, 0, out) == core.lib.CR_OK
    return out


def end_node(core: CoreModel, ref: Any) -> None:
    """Dooms, destroys and releases a node."""
    for step in (core.lib.cr_model_doom, core.lib.cr_model_destroy, core.lib.cr_model_release):
        assert status_name(core, step(core.model, ref)) == "CR_OK"


# -- references


@pytest.mark.behaviour("X-06")
def test_a_reference_to_a_released_node_never_names_its_successor(core: CoreModel) -> None:
    old = add_pd_raw(core)
    index, generation = old.index, old.generation
    end_node(core, old[0])
    new = add_pd_raw(core)
    assert new.index == index, "the slot is used again, else this test shows nothing"
    assert new.generation == generation + 1
    info = core.ffi.new("cr_node_info *")
    edge = core.lib.CR_EDGE_OWN
    other = core.ref("PD_1")
    lib, model = core.lib, core.model
    for status in (
        lib.cr_model_get(model, old[0], info),
        lib.cr_model_add_edge(model, edge, old[0], other),
        lib.cr_model_add_edge(model, edge, other, old[0]),
        lib.cr_model_drop_edge(model, edge, other, old[0]),
        lib.cr_model_cut_edge(model, edge, other, old[0]),
        lib.cr_model_add_space(model, 0, 9, 0, old[0], core.ffi.new("cr_ref *")),
        lib.cr_model_set_pinned(model, old[0], 1),
        lib.cr_model_doom(model, old[0]),
        lib.cr_model_spare(model, old[0]),
        lib.cr_model_destroy(model, old[0]),
        lib.cr_model_release(model, old[0]),
        lib.cr_plan_crash(core.planner, model, old[0], 0, 0, core.ffi.new("cr_plan *")),
    ):
        assert status_name(core, status) == "CR_ERR_STALE"
    assert lib.cr_model_count(model, edge, other, old[0]) == 0
    assert lib.cr_model_first(model, old[0], edge, lib.CR_OUT) == lib.CR_NONE
    assert lib.cr_model_get(model, new[0], info) == lib.CR_OK
    assert info.state == lib.CR_STATE_ACTIVE


@pytest.mark.behaviour("X-06")
def test_an_empty_model_can_be_left_few_uses_of_each_node() -> None:
    core = CoreModel(6, 8)
    lib = core.lib
    assert lib.cr_model_age(core.model, 0) == lib.CR_ERR_ARG
    assert lib.cr_model_age(core.model, lib.CR_GENERATION_MAX + 1) == lib.CR_ERR_ARG
    assert lib.cr_model_age(core.model, 2) == lib.CR_OK
    core.check()
    most = lib.cr_model_get_stats(core.model).max_nodes
    for retired in range(2 * most):
        node = add_pd_raw(core)
        assert lib.cr_model_age(core.model, 2) == lib.CR_ERR_STATE
        end_node(core, node[0])
        assert lib.cr_model_get_stats(core.model).retired == (retired + 1) // 2
    core.check()
    out = core.ffi.new("cr_ref *")
    assert lib.cr_model_add_pd(core.model, 1, 0, out) == lib.CR_ERR_FULL_NODES


@pytest.mark.behaviour("X-06")
def test_a_slot_whose_generations_are_used_up_is_retired(core: CoreModel) -> None:
    most = core.lib.CR_GENERATION_MAX
    first = add_pd_raw(core)
    end_node(core, first[0])
    # Releasing the node set the free slot's generation to 2. The test changes it to that of a slot
    # that has been used as often as possible.
    before = bytes(core.arena)
    probe = add_pd_raw(core)
    end_node(core, probe[0])
    after = bytes(core.arena)
    words = [
        at
        for at in range(0, len(before), 4)
        if struct.unpack_from("I", before, at)[0] == 2
        and struct.unpack_from("I", after, at)[0] == 3
    ]
    assert len(words) == 1
    struct.pack_into("I", core.arena, words[0], most)
    core.check()
    last = add_pd_raw(core)
    assert (last.index, last.generation) == (first.index, most)
    end_node(core, last[0])
    core.check()
    taken = set()
    out = core.ffi.new("cr_ref *")
    while core.lib.cr_model_add_pd(core.model, 1, 0, out) == core.lib.CR_OK:
        taken.add(out.index)
    assert last.index not in taken
    assert len(taken) == 40 - 10 - 1, "one slot fewer, and no more than one"


def test_a_reference_of_zeros_names_nothing(core: CoreModel) -> None:
    info = core.ffi.new("cr_node_info *")
    assert (
        core.lib.cr_model_get(core.model, core.ffi.new("cr_ref *")[0], info)
        == core.lib.CR_ERR_STALE
    )


@pytest.mark.behaviour("G-19", "X-06")
def test_a_tombstone_tells_its_attributes_and_takes_nothing(core: CoreModel) -> None:
    core.add_edge("HOLD", "PD_3", "BLOCK_1_1")
    lib = core.lib
    assert lib.cr_model_destroy(core.model, core.ref("BLOCK_1_1")) == lib.CR_OK
    info = core.get("BLOCK_1_1")
    assert (info.state, info.kind, info.number) == (lib.CR_STATE_DESTROYED, lib.CR_NODE_RESOURCE, 1)
    assert info.space.index == core.ref("BLOCK_SPACE_1").index
    refused("CR_ERR_STATE", lambda: core.add_edge("HOLD", "PD_3", "BLOCK_1_1"))
    assert (
        lib.cr_model_at(core.model, core.ref("BLOCK_1_1").index, core.ffi.new("cr_ref *"))
        == lib.CR_ERR_ABSENT
    )
    assert lib.cr_model_destroy(core.model, core.ref("BLOCK_1_1")) == lib.CR_ERR_STATE
    assert ("HOLD", "PD_3", "BLOCK_1_1") not in core.edges()
    core.check()


def test_a_node_tells_what_it_was_made_with(core: CoreModel) -> None:
    lib = core.lib
    out = core.ffi.new("cr_ref *")
    manager = core.ref("PD_1")
    assert lib.cr_model_add_space(core.model, 77, 0xABC, 0, manager, out) == lib.CR_OK
    space = core.ffi.new("cr_ref *", out[0])
    assert lib.cr_model_add_resource(core.model, space[0], 0xDEF, out) == lib.CR_OK
    info = core.ffi.new("cr_node_info *")
    assert lib.cr_model_get(core.model, space[0], info) == lib.CR_OK
    assert (info.kind, info.state, info.flags) == (lib.CR_NODE_SPACE, lib.CR_STATE_ACTIVE, 0)
    assert (info.type, info.number) == (77, 0xABC)
    assert (info.holders, info.members) == (0, 1)
    assert (info.manager.index, info.manager.generation) == (manager.index, manager.generation)
    assert info.space.index == lib.CR_NONE
    assert lib.cr_model_get(core.model, out[0], info) == lib.CR_OK
    assert (info.kind, info.type, info.number) == (lib.CR_NODE_RESOURCE, 77, 0xDEF)
    assert (info.space.index, info.space.generation) == (space.index, space.generation)
    assert (info.manager.index, info.manager.generation) == (manager.index, manager.generation)
    pd = core.get("PD_3")
    assert (pd.kind, pd.type, pd.number, pd.flags) == (lib.CR_NODE_PD, 0, 3, 0)
    assert pd.manager.index == pd.space.index == lib.CR_NONE
    assert core.get("PD_0").flags == lib.CR_FLAG_ROOT
    assert core.get("MO_SPACE_3").flags == lib.CR_FLAG_CORE
    core.reset_touched()
    assert core.touched() == (0, 0)


# -- edges


def walked(core: CoreModel, model: Any, ref: Any, kind: int, direction: int) -> list[int]:
    """The indices of the edges that a walk finds, each with this node at one end."""
    lib, edge = core.lib, core.ffi.new("cr_edge_info *")
    walk = core.ffi.new("cr_edge_walk *", lib.cr_model_walk(model, ref, kind, direction))
    indices = []
    while lib.cr_model_next(walk):
        assert lib.cr_model_edge(model, walk.edge, edge) == lib.CR_OK
        ends = [(end.index, end.generation) for end in (getattr(edge, "from"), edge.to)]
        ends.remove((ref.index, ref.generation))
        assert ends == [(walk.other.index, walk.other.generation)]
        indices.append(walk.edge)
    return indices


def test_an_edge_is_found_by_its_ends_until_it_goes(core: CoreModel) -> None:
    lib = core.lib
    core.add_edge("LINK", "PD_3", "PD_1")
    one, three = core.ref("PD_1"), core.ref("PD_3")
    found = lib.cr_model_find(core.model, lib.CR_EDGE_LINK, one, three)
    assert found != lib.CR_NONE
    assert found == lib.cr_model_find(core.model, lib.CR_EDGE_LINK, three, one)
    assert found == lib.cr_model_first(core.model, one, lib.CR_EDGE_LINK, lib.CR_OUT)
    info = core.ffi.new("cr_edge_info *")
    assert lib.cr_model_edge(core.model, found, info) == lib.CR_OK
    assert (info.kind, info.count) == (lib.CR_EDGE_LINK, 1)
    assert {getattr(info, "from").index, info.to.index} == {one.index, three.index}
    core.drop_edge("LINK", "PD_1", "PD_3")
    assert lib.cr_model_find(core.model, lib.CR_EDGE_LINK, one, three) == lib.CR_NONE
    assert lib.cr_model_edge(core.model, found, info) == lib.CR_ERR_ABSENT


@pytest.mark.behaviour("C-19")
def test_holds_are_counted_within_a_pd_and_holders_across_pds(core: CoreModel) -> None:
    for _ in range(3):
        core.add_edge("HOLD", "PD_3", "BLOCK_1_1")
    core.add_edge("HOLD", "PD_2", "BLOCK_1_1")
    assert core.count("HOLD", "PD_3", "BLOCK_1_1") == 3
    assert core.get("BLOCK_1_1").holders == 2
    edges = core.lib.cr_model_get_stats(core.model).edges
    core.drop_edge("HOLD", "PD_3", "BLOCK_1_1")
    core.drop_edge("HOLD", "PD_3", "BLOCK_1_1")
    assert core.count("HOLD", "PD_3", "BLOCK_1_1") == 1
    assert core.get("BLOCK_1_1").holders == 2
    core.drop_edge("HOLD", "PD_3", "BLOCK_1_1")
    assert core.get("BLOCK_1_1").holders == 1
    refused("CR_ERR_ABSENT", lambda: core.drop_edge("HOLD", "PD_3", "BLOCK_1_1"))
    assert core.lib.cr_model_get_stats(core.model).edges == edges - 1
    core.check()


@pytest.mark.behaviour("C-19")
def test_cutting_or_dying_drops_all_copies_at_once(core: CoreModel) -> None:
    for pd in ("PD_2", "PD_3"):
        for _ in range(5):
            core.add_edge("HOLD", pd, "BLOCK_1_1")
    core.cut_edge("HOLD", "PD_2", "BLOCK_1_1")
    assert (core.count("HOLD", "PD_2", "BLOCK_1_1"), core.get("BLOCK_1_1").holders) == (0, 1)
    assert core.lib.cr_model_doom(core.model, core.ref("PD_3")) == core.lib.CR_OK
    assert core.lib.cr_model_destroy(core.model, core.ref("PD_3")) == core.lib.CR_OK
    assert (core.count("HOLD", "PD_3", "BLOCK_1_1"), core.get("BLOCK_1_1").holders) == (0, 0)
    core.check()


def test_a_link_is_one_edge_from_both_ends(core: CoreModel) -> None:
    core.add_edge("LINK", "PD_3", "PD_1")
    refused("CR_ERR_EXISTS", lambda: core.add_edge("LINK", "PD_1", "PD_3"))
    core.add_edge("LINK", "PD_1", "PD_2")
    assert core.count("LINK", "PD_1", "PD_3") == core.count("LINK", "PD_3", "PD_1") == 1
    core.check()
    core.drop_edge("LINK", "PD_1", "PD_3")
    assert [key for key in core.edges() if key[0] == "LINK"] == [("LINK", "PD_1", "PD_2")]
    core.check()


def test_a_walk_over_what_is_not_there_ends_at_once(core: CoreModel) -> None:
    lib, model, none = core.lib, core.model, core.lib.CR_NONE
    core.add_edge("OWN", "PD_1", "PD_2")
    one, two, three = (core.ref(f"PD_{n}") for n in (1, 2, 3))
    edge = lib.cr_model_first(model, one, lib.CR_EDGE_OWN, lib.CR_OUT)
    core.add_edge("OWN", "PD_1", "PD_3")
    newer = lib.cr_model_first(model, one, lib.CR_EDGE_OWN, lib.CR_OUT)
    assert walked(core, model, one, lib.CR_EDGE_OWN, lib.CR_OUT) == [newer, edge]
    assert walked(core, model, two, lib.CR_EDGE_OWN, lib.CR_IN) == [edge]
    assert walked(core, model, one, lib.CR_EDGE_OWN, lib.CR_IN) == []
    assert walked(core, model, one, lib.CR_EDGE_OWN, 7) == []
    nobody = core.ffi.new("cr_ref *")[0]
    assert walked(core, model, nobody, lib.CR_EDGE_OWN, lib.CR_OUT) == []
    for kind, direction in (
        (lib.CR_EDGE_KIND_COUNT, lib.CR_OUT),
        (lib.CR_EDGE_OWN, 7),
        (0xFFFFFFFF, lib.CR_OUT),
    ):
        assert lib.cr_model_first(model, one, kind, direction) == none
    assert lib.cr_model_count(model, lib.CR_EDGE_KIND_COUNT, one, three) == 0
    info = core.ffi.new("cr_edge_info *")
    assert lib.cr_model_edge(model, none, info) == lib.CR_ERR_ABSENT
    assert lib.cr_model_edge(model, 80, info) == lib.CR_ERR_ABSENT


def test_a_walk_ends_where_the_list_was_changed(core: CoreModel) -> None:
    """The present edge may be dropped. A next one that has gone meanwhile is never returned."""
    lib, model = core.lib, core.model
    for other in ("PD_2", "PD_3"):
        core.add_edge("OWN", "PD_1", other)
    one, two, three = (core.ref(f"PD_{n}") for n in (1, 2, 3))
    for dropped, found in ((three, [three, two]), (two, [three])):
        walk = core.ffi.new(
            "cr_edge_walk *", lib.cr_model_walk(model, one, lib.CR_EDGE_OWN, lib.CR_OUT)
        )
        others = []
        while lib.cr_model_next(walk):
            others.append(walk.other.index)
            if len(others) == 1:
                assert lib.cr_model_drop_edge(model, lib.CR_EDGE_OWN, one, dropped) == lib.CR_OK
        assert others == [ref.index for ref in found]
        assert (walk.next == lib.CR_NONE) == (dropped is three)
        core.add_edge("OWN", "PD_1", "PD_3" if dropped is three else "PD_2")


def test_the_space_of_what_is_no_resource_is_none(core: CoreModel) -> None:
    lib, model = core.lib, core.model
    space = lib.cr_model_space(model, core.ref("BLOCK_1_1"))
    assert space.index == core.ref("BLOCK_SPACE_1").index
    for ref in (core.ref("PD_1"), core.ref("BLOCK_SPACE_1"), core.ffi.new("cr_ref *")[0]):
        assert lib.cr_model_space(model, ref).index == lib.CR_NONE


@pytest.mark.parametrize(
    ("kind", "from_", "to", "status"),
    [
        ("HOLD", "PD_1", "PD_2", "CR_ERR_KIND"),
        ("HOLD", "BLOCK_1_1", "BLOCK_SPACE_1", "CR_ERR_KIND"),
        ("REQUEST", "PD_1", "BLOCK_1_1", "CR_ERR_KIND"),
        ("MAP", "BLOCK_1_1", "FILE_SPACE_2", "CR_ERR_KIND"),
        ("MAP", "PD_1", "PD_2", "CR_ERR_KIND"),
        ("MAP", "BLOCK_1_1", "BLOCK_1_1", "CR_ERR_ARG"),
        ("FAULT", "PD_1", "PD_1", "CR_ERR_ARG"),
        ("FAULT", "PD_0", "PD_1", "CR_ERR_ROOT"),
        ("FAULT", "PD_1", "BLOCK_SPACE_1", "CR_ERR_KIND"),
        ("LINK", "PD_1", "PD_1", "CR_ERR_ARG"),
        ("LINK", "PD_1", "PD_0", "CR_ERR_ROOT"),
        ("OWN", "PD_1", "PD_1", "CR_ERR_ARG"),
        ("OWN", "PD_1", "PD_0", "CR_ERR_ROOT"),
        ("SUBSCRIBE", "PD_1", "BLOCK_1_1", "CR_ERR_KIND"),
        ("SUBSCRIBE", "PD_0", "PD_1", "CR_ERR_ROOT"),
        ("BODY", "PD_1", "BLOCK_1_1", "CR_ERR_KIND"),
        ("MANAGE", "PD_1", "BLOCK_SPACE_1", "CR_ERR_ARG"),
        ("SUBSET", "BLOCK_1_1", "BLOCK_SPACE_1", "CR_ERR_ARG"),
    ],
)
def test_an_edge_that_makes_no_sense_is_refused_and_changes_nothing(
    core: CoreModel, kind: str, from_: str, to: str, status: str
) -> None:
    core.reset_touched()
    before = bytes(core.arena)
    refused(status, lambda: core.add_edge(kind, from_, to))
    core.reset_touched()
    assert bytes(core.arena) == before


def test_uncounted_edges_and_single_ones_are_refused_twice(core: CoreModel) -> None:
    core.add_edge("REQUEST", "PD_3", "BLOCK_SPACE_1")
    refused("CR_ERR_EXISTS", lambda: core.add_edge("REQUEST", "PD_3", "BLOCK_SPACE_1"))
    core.add_edge("FAULT", "PD_3", "PD_1")
    refused("CR_ERR_EXISTS", lambda: core.add_edge("FAULT", "PD_3", "PD_2"))
    core.add_edge("BODY", "PD_3", "MO_3_1")
    refused("CR_ERR_EXISTS", lambda: core.add_edge("BODY", "PD_2", "MO_3_1"))
    core.add_resource("MO_3_2", "MO_SPACE_3")
    refused("CR_ERR_EXISTS", lambda: core.add_edge("BODY", "PD_3", "MO_3_2"))
    core.add_edge("SUBSCRIBE", "PD_3", "PD_3")
    core.add_edge("SUBSCRIBE", "PD_3", "PD_3")
    assert core.count("SUBSCRIBE", "PD_3", "PD_3") == 2
    core.check()


def handlers_of(core: CoreModel) -> dict[int, int]:
    """The subscriptions of PD_3 to itself. The set of their handlers must agree."""
    counts = core.subscriptions("PD_3", "PD_3")
    assert core.handlers("PD_3", "PD_3") == sum(1 << handler for handler in counts)
    core.check()
    return counts


@pytest.mark.behaviour("G-23", "G-24", "G-25", "G-26", "G-27")
def test_a_subscription_is_dropped_only_with_its_own_handler(core: CoreModel) -> None:
    core.subscribe("PD_3", "PD_3", 5, 2)
    core.subscribe("PD_3", "PD_3", 31)
    core.subscribe("PD_3", "BLOCK_SPACE_1", 7)
    assert handlers_of(core) == {5: 2, 31: 1}
    for wrong in (0, 7, 30):
        refused("CR_ERR_ABSENT", partial(core.unsubscribe, "PD_3", "PD_3", wrong))
    refused("CR_ERR_ABSENT", lambda: core.drop_edge("SUBSCRIBE", "PD_3", "PD_3"))
    refused("CR_ERR_ARG", lambda: core.subscribe("PD_3", "PD_3", 32))
    assert handlers_of(core) == {5: 2, 31: 1}
    core.unsubscribe("PD_3", "PD_3", 5)
    assert handlers_of(core) == {5: 1, 31: 1}
    core.unsubscribe("PD_3", "PD_3", 5)
    refused("CR_ERR_ABSENT", lambda: core.unsubscribe("PD_3", "PD_3", 5))
    core.add_edge("SUBSCRIBE", "PD_3", "PD_3")
    assert handlers_of(core) == {0: 1, 31: 1}
    core.unsubscribe("PD_3", "PD_3", 31)
    core.unsubscribe("PD_3", "PD_3", 0)
    assert handlers_of(core) == {}
    assert core.subscriptions("PD_3", "BLOCK_SPACE_1") == {7: 1}


# -- limits


@pytest.mark.behaviour("M-11")
def test_every_limit_is_an_error_and_then_there_is_room_again_after_release() -> None:
    core = CoreModel(4, 3)
    for pd in ("PD_0", "PD_1", "PD_2"):
        core.add_pd(pd)
    core.add_space("BLOCK_SPACE_1", "PD_1")
    refused("CR_ERR_FULL_NODES", lambda: core.add_pd("PD_3"))
    refused("CR_ERR_FULL_NODES", lambda: core.add_space("BLOCK_SPACE_2", "PD_1"))
    refused("CR_ERR_FULL_NODES", lambda: core.add_resource("BLOCK_1_1", "BLOCK_SPACE_1"))
    core.add_edge("OWN", "PD_1", "PD_2")
    core.add_edge("HOLD", "PD_2", "BLOCK_SPACE_1")
    core.add_edge("HOLD", "PD_2", "BLOCK_SPACE_1")  # a further count needs no new edge
    refused("CR_ERR_FULL_EDGES", lambda: core.add_edge("REQUEST", "PD_2", "BLOCK_SPACE_1"))
    core.check()
    end_node(core, core.ref("PD_2"))
    core.add_pd("PD_3")
    core.add_edge("REQUEST", "PD_3", "BLOCK_SPACE_1")
    core.check()


@pytest.mark.behaviour("M-11")
def test_a_space_or_resource_without_an_edge_left_is_refused_whole() -> None:
    core = CoreModel(10, 1)
    core.add_pd("PD_1")
    core.add_space("BLOCK_SPACE_1", "PD_1")
    before = core.lib.cr_model_get_stats(core.model).nodes
    refused("CR_ERR_FULL_EDGES", lambda: core.add_space("BLOCK_SPACE_2", "PD_1"))
    refused("CR_ERR_FULL_EDGES", lambda: core.add_resource("BLOCK_1_1", "BLOCK_SPACE_1"))
    assert core.lib.cr_model_get_stats(core.model).nodes == before
    core.check()


@pytest.mark.behaviour("M-11")
def test_a_count_stops_at_its_limit(core: CoreModel) -> None:
    most = core.lib.CR_COUNT_MAX
    core.add_edge("HOLD", "PD_3", "BLOCK_1_1", most)
    refused("CR_ERR_FULL_EDGES", lambda: core.add_edge("HOLD", "PD_3", "BLOCK_1_1"))
    assert core.count("HOLD", "PD_3", "BLOCK_1_1") == most


@pytest.mark.behaviour("M-11")
@pytest.mark.parametrize(
    ("nodes", "edges"), [(0, 1), (1, 0), (1 << 31, 1), (1, 1 << 31), (0xFFFFFFFF, 0xFFFFFFFF)]
)
def test_limits_out_of_range_need_no_memory_and_make_no_model(nodes: int, edges: int) -> None:
    ffi, lib = load_core()
    assert lib.cr_model_bytes(nodes, edges) == 0
    memory = ffi.new("uint64_t[]", 64)
    assert lib.cr_model_init(memory, 512, nodes, edges, ffi.new("cr_model **")) == lib.CR_ERR_ARG


@pytest.mark.behaviour("M-11")
def test_memory_too_small_or_misaligned_is_refused() -> None:
    ffi, lib = load_core()
    size = lib.cr_model_bytes(4, 4)
    memory = ffi.new("uint64_t[]", size // 8 + 2)
    out = ffi.new("cr_model **")
    assert lib.cr_model_init(memory, size - 1, 4, 4, out) == lib.CR_ERR_MEMORY
    assert lib.cr_model_init(ffi.cast("char *", memory) + 4, size, 4, 4, out) == lib.CR_ERR_MEMORY
    assert lib.cr_model_init(memory, size, 4, 4, out) == lib.CR_OK
    size = lib.cr_planner_bytes(4, 4)
    memory = ffi.new("uint64_t[]", size // 8 + 2)
    out = ffi.new("cr_planner **")
    assert lib.cr_planner_init(memory, size - 1, 4, 4, out) == lib.CR_ERR_MEMORY
    assert lib.cr_planner_init(ffi.cast("char *", memory) + 4, size, 4, 4, out) == lib.CR_ERR_MEMORY
    assert lib.cr_planner_init(memory, size, 4, 4, out) == lib.CR_OK
    assert lib.cr_planner_bytes(0, 4) == lib.cr_planner_bytes(4, 1 << 30) == 0


# -- states


def test_states_move_only_along_their_arrows(core: CoreModel) -> None:
    lib, model = core.lib, core.model
    pd = core.ref("PD_3")
    assert lib.cr_model_destroy(model, pd) == lib.CR_ERR_STATE
    assert lib.cr_model_release(model, pd) == lib.CR_ERR_STATE
    assert lib.cr_model_spare(model, pd) == lib.CR_ERR_STATE
    assert lib.cr_model_doom(model, pd) == lib.CR_OK
    assert lib.cr_model_doom(model, pd) == lib.CR_ERR_STATE
    assert lib.cr_model_spare(model, pd) == lib.CR_OK
    assert lib.cr_model_doom(model, pd) == lib.CR_OK
    assert lib.cr_model_destroy(model, pd) == lib.CR_OK
    assert lib.cr_model_spare(model, pd) == lib.CR_ERR_STATE
    assert lib.cr_model_release(model, pd) == lib.CR_OK
    assert lib.cr_model_release(model, pd) == lib.CR_ERR_STALE
    core.check()


@pytest.mark.behaviour("C-14")
def test_the_root_task_is_one_and_stays(core: CoreModel) -> None:
    lib, model, root = core.lib, core.model, core.ref("PD_0")
    for step in (lib.cr_model_doom, lib.cr_model_spare, lib.cr_model_destroy):
        assert step(model, root) == lib.CR_ERR_ROOT
    out = core.ffi.new("cr_ref *")
    assert lib.cr_model_add_pd(model, 7, lib.CR_FLAG_ROOT, out) == lib.CR_ERR_EXISTS
    refused("CR_ERR_ROOT", lambda: core.plan_raw("PD_0", 0, 0))


def test_a_manager_or_a_space_with_something_in_it_is_busy(core: CoreModel) -> None:
    lib, model = core.lib, core.model
    for id_ in ("PD_1", "BLOCK_SPACE_1"):
        assert lib.cr_model_doom(model, core.ref(id_)) == lib.CR_OK
        assert lib.cr_model_destroy(model, core.ref(id_)) == lib.CR_ERR_BUSY
    for id_ in ("BLOCK_1_1", "BLOCK_SPACE_1", "PD_1"):
        assert lib.cr_model_destroy(model, core.ref(id_)) == lib.CR_OK
    core.check()


def test_flags_fit_their_node(core: CoreModel) -> None:
    lib, model, out = core.lib, core.model, core.ffi.new("cr_ref *")
    assert lib.cr_model_add_pd(model, 7, lib.CR_FLAG_CORE, out) == lib.CR_ERR_ARG
    assert (
        lib.cr_model_add_space(model, 0, 7, lib.CR_FLAG_PINNED, core.ref("PD_1"), out)
        == lib.CR_ERR_ARG
    )
    assert (
        lib.cr_model_add_space(model, 0, 7, lib.CR_FLAG_CORE, core.ref("PD_1"), out)
        == lib.CR_ERR_ARG
    )
    assert lib.cr_model_add_space(model, 0, 7, 0, core.ref("MO_SPACE_3"), out) == lib.CR_ERR_KIND
    assert lib.cr_model_set_pinned(model, core.ref("MO_SPACE_3"), 1) == lib.CR_ERR_KIND
    assert lib.cr_model_set_pinned(model, core.ref("PD_1"), 1) == lib.CR_OK
    assert core.get("PD_1").flags == lib.CR_FLAG_PINNED
    assert lib.cr_model_set_pinned(model, core.ref("PD_1"), 0) == lib.CR_OK
    assert core.get("PD_1").flags == 0


# -- the whole model against a dictionary

OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(["add", "add", "add", "drop", "cut"]),
        st.sampled_from(["HOLD", "REQUEST", "MAP", "FAULT", "LINK", "OWN", "SUBSCRIBE"]),
        st.integers(0, 9),
        st.integers(0, 9),
    ),
    max_size=120,
)


@settings(max_examples=150)
@given(OPERATIONS)
def test_edges_behave_like_a_dictionary(operations: list[tuple[str, str, int, int]]) -> None:
    core = CoreModel(16, 30)
    ids = ["PD_0", "PD_1", "PD_2", "PD_3", "PD_4"]
    for pd in ids:
        core.add_pd(pd)
    core.add_space("BLOCK_SPACE_1", "PD_1")
    core.add_space("FILE_SPACE_2", "PD_2")
    core.add_resource("BLOCK_1_1", "BLOCK_SPACE_1")
    core.add_resource("FILE_2_1", "FILE_SPACE_2")
    core.add_resource("FILE_2_2", "FILE_SPACE_2")
    ids += ["BLOCK_SPACE_1", "FILE_SPACE_2", "BLOCK_1_1", "FILE_2_1", "FILE_2_2"]
    want = core.edges()
    for what, kind, a, b in operations:
        ends = sorted((ids[a], ids[b])) if kind == "LINK" else [ids[a], ids[b]]
        key = (kind, ends[0], ends[1])
        status = "CR_OK"
        try:
            getattr(core, f"{what}_edge")(kind, ids[a], ids[b])
        except CoreError as error:
            status = error.status
        if what != "add":
            assert status == ("CR_OK" if key in want else "CR_ERR_ABSENT")
        elif status == "CR_ERR_FULL_EDGES":
            assert len(want) == 30
        if status != "CR_OK":
            continue
        if what == "add":
            want[key] = want.get(key, 0) + 1
            assert want[key] == 1 or kind in ("HOLD", "SUBSCRIBE")
        elif what == "cut" or want[key] == 1:
            del want[key]
        else:
            want[key] -= 1
    assert core.edges() == want
    core.check()


@pytest.mark.behaviour("D-03", "M-07", "D-04")
@pytest.mark.parametrize("seed", range(60))
def test_destroying_nodes_leaves_no_edge_that_names_them(seed: int) -> None:
    """Random nodes are destroyed in random order, as far as permitted.

    Slots are reused in between.
    """
    rng = random.Random(seed)
    model = random_model(rng)
    core = CoreModel.from_model(model)
    lib = core.lib
    alive = set(core.refs)
    for id_ in rng.sample(sorted(alive), len(alive)):
        ref = core.ref(id_)
        status = lib.cr_model_doom(core.model, ref)
        if id_ == "PD_0":
            assert status == lib.CR_ERR_ROOT
            continue
        status = lib.cr_model_destroy(core.model, ref)
        if status == lib.CR_ERR_BUSY:
            assert lib.cr_model_spare(core.model, ref) == lib.CR_OK
            continue
        assert status == lib.CR_OK
        alive.discard(id_)
        if rng.random() < 0.5:
            assert lib.cr_model_release(core.model, ref) == lib.CR_OK
            if rng.random() < 0.5:
                add_pd_raw(core)
        core.check()
        dead_free = {
            key: n for key, n in core.edges().items() if key[0] not in ("MANAGE", "SUBSET", "BODY")
        }
        assert all(a in alive and b in alive for _, a, b in dead_free)
    holds = {(a, b): n for (kind, a, b), n in core.edges().items() if kind == "HOLD"}
    assert holds == {pair: n for pair, n in model.holds.items() if set(pair) <= alive}


# -- arbitrary bytes


def reopen(core: CoreModel, data: bytes) -> tuple[str, Any, Any]:
    """Opens a copy of these bytes: (status, model, memory that must be kept)."""
    memory = core.ffi.new("uint64_t[]", (len(data) + 7) // 8)
    core.ffi.memmove(memory, data, len(data))
    out = core.ffi.new("cr_model **")
    status = core.lib.cr_model_open(memory, len(data), out)
    return status_name(core, status), out[0], memory


def test_an_arena_opens_at_another_address_and_plans_the_same() -> None:
    core = CoreModel.from_model(system(SCENARIO))
    want = core.plan_json("PD_1", None, None)
    status, model, memory = reopen(core, bytes(core.arena))
    assert status == "CR_OK"
    assert memory is not None
    core.model = model
    assert core.plan_json("PD_1", None, None) == want


@pytest.mark.behaviour("G-20")
def test_a_tombstone_is_still_one_after_saving_and_loading(core: CoreModel) -> None:
    assert core.lib.cr_model_destroy(core.model, core.ref("FILE_2_1")) == core.lib.CR_OK
    status, model, memory = reopen(core, bytes(core.arena))
    assert status == "CR_OK"
    assert memory is not None
    core.model = model
    assert core.get("FILE_2_1").state == core.lib.CR_STATE_DESTROYED
    refused("CR_ERR_STATE", lambda: core.add_edge("HOLD", "PD_1", "FILE_2_1"))


@pytest.mark.parametrize("cut", [0, 1, 55, 56, 100, -1])
def test_bytes_cut_short_are_refused(core: CoreModel, cut: int) -> None:
    status, _, _ = reopen(core, bytes(core.arena)[:cut])
    assert status == "CR_ERR_MEMORY"


def live_refs(core: CoreModel, model: Any) -> list[Any]:
    """References to all nodes that are not destroyed."""
    lib, out = core.lib, core.ffi.new("cr_ref *")
    found = []
    for index in range(lib.cr_model_get_stats(model).max_nodes + 2):
        if lib.cr_model_at(model, index, out) == lib.CR_OK:
            found.append(core.ffi.new("cr_ref *", out[0])[0])
    return found


def assert_sound(core: CoreModel, model: Any) -> None:
    """What callers rely on: values in range, and every edge on the lists of two existing nodes."""
    ffi, lib = core.ffi, core.lib
    info, above, edge = (
        ffi.new("cr_node_info *"),
        ffi.new("cr_node_info *"),
        ffi.new("cr_edge_info *"),
    )
    stats = lib.cr_model_get_stats(model)
    refs = live_refs(core, model)
    there = {(ref.index, ref.generation) for ref in refs}
    seen = 0
    roots = 0
    for ref in refs:
        assert lib.cr_model_get(model, ref, info) == lib.CR_OK
        assert 1 <= ref.generation <= lib.CR_GENERATION_MAX
        assert info.kind in (lib.CR_NODE_PD, lib.CR_NODE_SPACE, lib.CR_NODE_RESOURCE)
        assert info.state in (lib.CR_STATE_ACTIVE, lib.CR_STATE_DOOMED)
        roots += info.flags & lib.CR_FLAG_ROOT
        if info.kind == lib.CR_NODE_RESOURCE:
            assert lib.cr_model_get(model, info.space, above) == lib.CR_OK
            assert info.type == above.type
        if info.kind != lib.CR_NODE_PD:
            assert (info.manager.index, info.manager.generation) in there
        for kind in range(lib.CR_EDGE_KIND_COUNT):
            for direction in (lib.CR_OUT, lib.CR_IN):
                edges = walked(core, model, ref, kind, direction)
                for at in edges:
                    assert lib.cr_model_edge(model, at, edge) == lib.CR_OK
                    ends = [getattr(edge, "from"), edge.to]
                    assert edge.kind == kind
                    assert {(end.index, end.generation) for end in ends} <= there
                    assert 1 <= edge.count <= lib.CR_COUNT_MAX
                    if kind in (lib.CR_EDGE_MANAGE, lib.CR_EDGE_SUBSET):
                        assert lib.cr_model_find(model, kind, *ends) == lib.CR_NONE
                    elif edge.handler == 0:
                        assert lib.cr_model_find(model, kind, *ends) == at
                    else:
                        assert kind == lib.CR_EDGE_SUBSCRIBE
                        named = lib.cr_model_subscriptions(model, *ends, edge.handler)
                        assert named == edge.count
                length = len(edges)
                seen += 0 if kind == lib.CR_EDGE_LINK and direction == lib.CR_IN else length
                if kind == lib.CR_EDGE_HOLD and direction == lib.CR_IN:
                    assert info.holders == length
                if kind == lib.CR_EDGE_SUBSET and direction == lib.CR_IN:
                    assert info.members == length
    assert seen == 2 * stats.edges
    assert len(refs) <= stats.nodes
    assert roots <= 1


def use_everything(core: CoreModel, model: Any) -> None:
    """Calls on a model that was accepted. No call may crash, hang, or leave an unsound arena."""
    ffi, lib = core.ffi, core.lib
    assert_sound(core, model)
    out, info, raw = ffi.new("cr_ref *"), ffi.new("cr_node_info *"), ffi.new("cr_plan *")
    refs = live_refs(core, model)
    for ref in refs:
        assert lib.cr_model_get(model, ref, info) == lib.CR_OK
        if info.kind == lib.CR_NODE_PD and not info.flags & lib.CR_FLAG_ROOT:
            status = lib.cr_plan_crash(
                core.planner, model, ref, lib.CR_DEPTH_INF, lib.CR_DEPTH_INF, raw
            )
            assert status_name(core, status) in ("CR_OK", "CR_ERR_STATE", "CR_ERR_FULL_PLAN")
    for kind in range(lib.CR_EDGE_KIND_COUNT):
        lib.cr_model_add_edge(model, kind, refs[kind % len(refs)], refs[-1])
    lib.cr_model_add_pd(model, 5, 0, out)
    taken, at, count = ffi.new("cr_edge_taken[2]"), ffi.new("uint32_t *"), ffi.new("uint32_t *")
    for ref in refs[::2]:
        lib.cr_model_doom(model, ref)
        at[0] = 0
        if lib.cr_model_take_edges(model, ref, at, taken, 2, count) == lib.CR_OK:
            gone = at[0] == lib.CR_NONE  # with the last edge the node is destroyed
            assert lib.cr_model_destroy(model, ref) == (lib.CR_ERR_STATE if gone else lib.CR_OK)
        lib.cr_model_destroy(model, ref)
        lib.cr_model_release(model, ref)
    for _ in range(3):
        lib.cr_model_add_pd(model, 6, 0, out)
    assert lib.cr_model_check(model) == lib.CR_OK
    assert_sound(core, model)


@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.integers(0, 30),
    st.lists(
        st.tuples(
            st.integers(0, 1 << 20),
            st.sampled_from(
                [0, 1, 2, 3, 4, 5, 9, 10, 17, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF]
            ),
        ),
        min_size=1,
        max_size=4,
    ),
)
def test_an_altered_arena_is_refused_or_sound(seed: int, changes: list[tuple[int, int]]) -> None:
    core = CoreModel.from_model(random_model(random.Random(seed)))
    data = bytearray(core.arena)
    for at, value in changes:
        # Limits stay within what is allocated for the planner. Another rule refuses larger models.
        struct.pack_into("I", data, (at * 4) % (len(data) // 4 * 4), value)
    status, model, memory = reopen(core, bytes(data))
    assert memory is not None
    if status == "CR_OK" and core.lib.cr_model_get_stats(model).max_nodes <= 200:
        use_everything(core, model)


@settings(max_examples=200)
@given(st.binary(max_size=600))
def test_bytes_that_are_no_arena_are_refused(data: bytes) -> None:
    core = CoreModel(2, 2)
    status, _, _ = reopen(core, data)
    assert status in ("CR_ERR_CORRUPT", "CR_ERR_MEMORY")


def with_tombstone() -> CoreModel:
    """The scenario with free room, a link, and a tombstone."""
    model = system(SCENARIO + "PD_6 links PD_5\nPD_6 faults-to PD_5\nPD_6 subscribes PD_6")
    core = CoreModel(len(model.nodes) + 3, 64)
    core.load(model)
    assert core.lib.cr_model_destroy(core.model, core.ref("FILE_3_2")) == core.lib.CR_OK
    core.reset_touched()
    return core


@pytest.mark.slow
def test_every_single_word_of_the_graph_matters() -> None:
    """A changed word of an arena in use is either detected or only an attribute.

    An arena that opens must be sound throughout. Most changes must be detected, or the check would
    be useless.
    """
    core = with_tombstone()
    original = bytes(core.arena)
    stats = core.lib.cr_model_get_stats(core.model)
    noticed = tried = 0
    for word in range(len(original) // 4):
        was = struct.unpack_from("I", original, word * 4)[0]
        for value in {0, 1, 2, 3, was + 1, stats.max_nodes, stats.max_edges, 0xFFFFFFFF} - {was}:
            data = bytearray(original)
            struct.pack_into("I", data, word * 4, value & 0xFFFFFFFF)
            if data == original:
                continue
            status, model, memory = reopen(core, bytes(data))
            assert memory is not None
            tried += 1
            if status == "CR_OK":
                use_everything(core, model)
            else:
                noticed += 1
    assert noticed > 0.55 * tried


def test_every_word_of_the_hash_table_is_noticed() -> None:
    """The buckets are at the end of the arena. An arena of 64 edges has 64 buckets."""
    core = with_tombstone()
    original = bytes(core.arena)
    for word in range(len(original) // 4 - 64, len(original) // 4):
        was = struct.unpack_from("I", original, word * 4)[0]
        for value in {0, 3, 40, 63, 64, 0xFFFFFFFF} - {was}:
            data = bytearray(original)
            struct.pack_into("I", data, word * 4, value)
            assert reopen(core, bytes(data))[0] == "CR_ERR_CORRUPT"


# -- the binding


def test_the_library_has_every_function_that_the_headers_declare() -> None:
    ffi, lib = load_core()
    declared = [name for name in dir(lib) if name.startswith("cr_")]
    assert len(declared) > 25
    for name in declared:
        assert ffi.typeof(getattr(lib, name)).kind == "function"


def test_ids_that_make_no_sense_are_usage_errors(core: CoreModel) -> None:
    for call in (
        lambda: core.add_pd("BLOCK_1_1"),
        lambda: core.add_pd("PD_1"),
        lambda: core.add_space("PD_9", "PD_1"),
        lambda: core.add_space("FILE_SPACE_9", "PD_9"),
        lambda: core.add_resource("PD_9", "FILE_SPACE_2"),
        lambda: core.add_edge("HUG", "PD_1", "PD_2"),
        lambda: core.plan("PD_77", 0, 0),
        lambda: core.plan("PD_1", -1, 0),
    ):
        with pytest.raises(UsageError):
            call()


def test_a_missing_core_says_what_to_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CELLREAP_CORE_LIB", "/nowhere/libcellreap_core.so")
    with pytest.raises(CoreMissing, match=r"/nowhere/libcellreap_core.so.*tools/setup"):
        library_path()


def test_a_core_that_cannot_be_loaded_is_told_by_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = tmp_path / "libcellreap_core.so"
    library.write_text("no library\n")
    monkeypatch.setenv("CELLREAP_CORE_LIB", str(library))
    with pytest.raises(CoreMissing, match=f"{library}: cannot be loaded"):
        load_core(())


def edge_info(core: CoreModel, index: int) -> tuple[int, ...]:
    out = core.ffi.new("cr_edge_info *")
    assert core.lib.cr_model_edge(core.model, index, out) == core.lib.CR_OK
    return told(out)


def told(edge: Any) -> tuple[int, ...]:
    ends = (getattr(edge, "from"), edge.to)
    parts = (part for end in ends for part in (end.index, end.generation))
    return (edge.kind, edge.count, edge.handler, *parts)


@pytest.mark.parametrize("room", [1, 2, 16])
@pytest.mark.parametrize("seed", range(30))
def test_edges_are_taken_as_destroying_removes_them(seed: int, room: int) -> None:
    """By kind, then by direction, each once. What cannot be destroyed keeps its edges.

    Each call takes as many as it has room for, or less because a subscription is the last one.
    """
    rng = random.Random(seed)
    core = CoreModel.from_model(random_model(rng))
    lib, ffi, model = core.lib, core.ffi, core.model
    for id_ in rng.sample(sorted(core.refs), len(core.refs)):
        ref = core.ref(id_)
        out, at = ffi.new("cr_edge_taken[]", room), ffi.new("uint32_t *")
        count = ffi.new("uint32_t *")
        refused = lib.cr_model_doom(model, ref)
        wanted: list[tuple[int, ...]] = []
        indices: list[int] = []
        for kind in range(lib.CR_EDGE_KIND_COUNT):
            for direction in (lib.CR_OUT, lib.CR_IN):
                if kind == lib.CR_EDGE_LINK and direction == lib.CR_IN:
                    continue  # every link is on the OUT list
                for index in walked(core, model, ref, kind, direction):
                    wanted.append(edge_info(core, index))
                    indices.append(index)
        before = core.edges()
        at[0] = 0
        first = refused or lib.cr_model_take_edges(model, ref, at, out, room, count)
        if refused or first == lib.CR_ERR_BUSY:
            status = lib.cr_model_take_edges(model, ref, at, out, room, count)
            assert (status, count[0]) == (refused or lib.CR_ERR_BUSY, 0)
            assert core.edges() == before
            continue
        taken: list[tuple[int, ...]] = []
        had: list[int] = []
        while True:
            some = out[0 : count[0]]
            assert len(some) <= room
            kinds = [each.info.kind for each in some]
            assert lib.CR_EDGE_SUBSCRIBE not in kinds[:-1]
            taken += [told(each.info) for each in some]
            had += [each.index for each in some]
            if at[0] == lib.CR_NONE:
                break
            assert len(some) == room or kinds[-1] == lib.CR_EDGE_SUBSCRIBE
            assert lib.cr_model_take_edges(model, ref, at, out, room, count) == lib.CR_OK
        assert taken == list(dict.fromkeys(wanted))
        assert had == list(dict.fromkeys(indices))
        assert lib.cr_model_destroy(model, ref) == lib.CR_ERR_STATE, "it is destroyed"
        assert lib.cr_model_take_edges(model, ref, at, out, room, count) == lib.CR_ERR_STATE
        core.check()
