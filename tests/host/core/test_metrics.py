# SPDX-License-Identifier: BSD-2-Clause
"""RSI and FR: core against reference, the laws, and answers that docs/metrics.md states."""

from __future__ import annotations

import random
from collections import deque
from pathlib import Path

import pytest

from cellreap.errors import UsageError
from cellreap.model.core import CoreError, CoreMetrics, CoreModel
from cellreap.model.csvstate import read_state
from cellreap.model.graph import Model
from cellreap.model.ids import ROOT
from cellreap.model.metrics import Metrics, weight_of
from cellreap.model.nodes import Node
from cellreap.model.reference import Measuring, metrics
from kit.core_support import SCENARIO, describe, random_model, system, with_pages
from kit.marks import slow_but
from kit.paths import CELLULOS

STATES = sorted(CELLULOS.glob("*.csv"))
SEEDS = 250  # of each block


def agree(model: Model, *, with_root: bool = False) -> list[Metrics]:
    """Every pair, also of a PD with itself and of the root task. Core and reference must agree."""
    core, reference = (
        CoreMetrics(model, with_root=with_root),
        Measuring(model, with_root=with_root),
    )
    found = []
    for a in model.pds():
        for b in model.pds():
            want = reference.measure(a, b)
            assert core.measure(a, b) == want, f"{a} {b} in\n{describe(model)}"
            found.append(want)
    return found


@pytest.mark.behaviour("F-01", "F-02", "F-03", "F-04", "F-06")
@pytest.mark.parametrize("block", slow_but(range(8), 0))
def test_core_and_reference_agree_on_random_graphs(block: int) -> None:
    for seed in range(block * SEEDS, block * SEEDS + SEEDS):
        rng = random.Random(seed)
        model = with_pages(random_model(rng, scale=rng.choice([1, 1, 2])), rng)
        found = agree(model, with_root=rng.random() < 0.3)
        by_pair = {pair.pds: pair for pair in found}
        for (a, b), pair in by_pair.items():
            assert (pair.fr, pair.rsi) == (by_pair[b, a].fr, by_pair[b, a].rsi)  # symmetric
            if a == b:
                assert pair.fr == 0
                assert all(shared == every for shared, every in pair.rsi.values())


@pytest.mark.skipif(not STATES, reason="the files that CellulOS wrote are not here")
@pytest.mark.behaviour("F-01", "F-02", "F-03")
@pytest.mark.parametrize("path", STATES, ids=lambda path: path.stem)
def test_core_and_reference_agree_on_states_of_cellulos(path: Path) -> None:
    model, _ = read_state(path)
    agree(model)
    agree(model, with_root=True)


# -- the search against another reading of it


def hops_of_paths(model: Model, pd: str, with_root: bool) -> dict[str, int]:
    """FR's search with a set of types for each path: a (PD, set of types) is visited once."""
    held = {node for who, node in model.holds if who == pd}
    start = (pd, frozenset(model.nodes[node].type for node in held))
    seen, queue, hops = {start}, deque([(start, 0)]), {pd: 0}
    while queue:
        (here, types), count = queue.popleft()
        spaces = {space for who, space in model.requests if who == here}
        spaces |= {
            model.space_of[res] for who, res in model.holds if who == here and res in model.space_of
        }
        for space in spaces:
            manager, kind = model.manager[space], model.nodes[space].type
            if kind not in types or (manager == ROOT and not with_root):
                continue
            more = {
                model.nodes[lower].type
                for upper, lower in model.maps
                if model.nodes[upper].type == kind
            }
            state = (manager, types | more)
            hops.setdefault(manager, count + 1)
            if state not in seen:
                seen.add(state)
                queue.append((state, count + 1))
    return hops


@pytest.mark.behaviour("F-03", "F-04")
def test_one_set_of_types_for_a_search_never_measures_more_than_one_for_each_path() -> None:
    equal = 0
    for seed in range(300):
        model = random_model(random.Random(seed))
        measuring = Measuring(model)
        for pd in model.pds():
            ours, paths = measuring.hops(pd), hops_of_paths(model, pd, False)
            assert ours.keys() >= paths.keys()
            assert all(ours[other] <= paths[other] for other in paths)
            equal += ours == paths
    assert equal > 1000


@pytest.mark.skipif(not STATES, reason="the files that CellulOS wrote are not here")
@pytest.mark.behaviour("F-03", "F-04")
@pytest.mark.parametrize("path", STATES, ids=lambda path: path.stem)
def test_both_readings_of_the_search_are_equal_on_states_of_cellulos(path: Path) -> None:
    model, _ = read_state(path)
    for with_root in (False, True):
        measuring = Measuring(model, with_root=with_root)
        for pd in model.pds():
            assert measuring.hops(pd) == hops_of_paths(model, pd, with_root)


# -- laws


@pytest.mark.behaviour("F-06")
def test_a_further_shared_resource_never_lowers_rsi() -> None:
    made = 0
    for seed in range(400):
        rng = random.Random(seed)
        model = with_pages(random_model(rng), rng)
        pds = [pd for pd in model.pds() if pd != ROOT]
        spaces = sorted(model.spaces())
        if len(pds) < 2 or not spaces:
            continue
        a, b = rng.sample(pds, 2)
        space = rng.choice(spaces)
        kind = model.nodes[space].type
        before = metrics(model, a, b).share(kind)
        resource = f"{kind}_{space.split('_')[-1]}_fff"
        model.add_resource(resource, space)
        model.add_hold(a, resource)
        model.add_hold(b, resource)
        made += 1
        for after in (metrics(model, a, b), CoreMetrics(model).measure(a, b)):
            assert after.share(kind) >= before, describe(model)
            assert after.share(kind) > 0
    assert made > 200


@pytest.mark.behaviour("F-06")
def test_a_further_edge_never_raises_fr() -> None:
    lowered = 0
    for seed in range(500):
        rng = random.Random(seed)
        model = random_model(rng)
        before = Measuring(model)
        pds = list(model.pds())
        pairs = [(a, b) for a in pds for b in pds]
        old = {pair: before.measure(*pair).fr for pair in pairs}
        add_some_edge(model, rng)
        after = CoreMetrics(model)
        for pair in pairs:
            new = after.measure(*pair).fr
            was = old[pair]
            assert was is None or (new is not None and new <= was), describe(model)
            lowered += new != was
    assert lowered > 20


def add_some_edge(model: Model, rng: random.Random) -> None:
    """Adds an edge of a random kind, if the model has room for it."""
    pds, spaces, resources = list(model.pds()), sorted(model.spaces()), sorted(model.resources())
    kind = rng.choice(["hold", "request", "map", "hold space", "map space"])
    if kind == "request" and spaces:
        pair = rng.choice(pds), rng.choice(spaces)
        if pair not in model.requests:
            model.add_request(*pair)
    elif kind.startswith("hold") and (nodes := spaces if "space" in kind else resources):
        model.add_hold(rng.choice(pds), rng.choice(nodes))
    elif kind.startswith("map") and (nodes := spaces if "space" in kind else resources):
        upper, lower = rng.choice(nodes), rng.choice(nodes)
        if upper != lower and (upper, lower) not in model.maps:
            model.add_map(upper, lower)


# -- stated answers


def fr(text: str, a: str, b: str, *, with_root: bool = False) -> int | None:
    model = system(text)
    found = metrics(model, a, b, with_root=with_root)
    assert CoreMetrics(model, with_root=with_root).measure(a, b) == found
    return found.fr


@pytest.mark.behaviour("F-05")
def test_a_cycle_of_requests_ends() -> None:
    cycle = """
        PD_1 manages FILE_SPACE_1 with FILE_1_1
        PD_2 manages FILE_SPACE_2 with FILE_2_1
        PD_1 requests FILE_SPACE_2
        PD_2 requests FILE_SPACE_1
        PD_3 requests FILE_SPACE_1
        PD_4 requests FILE_SPACE_2
        PD_3 holds FILE_1_1
        PD_4 holds FILE_2_1
        PD_5 holds FILE_SPACE_1
    """
    assert fr(cycle, "PD_1", "PD_2") == 0
    assert fr(cycle, "PD_3", "PD_4") == 1
    assert fr(cycle, "PD_3", "PD_5") is None  # to hold a space is not to request from it


@pytest.mark.behaviour("F-05")
def test_an_empty_pd_and_a_pd_with_itself() -> None:
    model = system(SCENARIO + "PD_6 owns PD_7")
    for pair in (metrics(model, "PD_6", "PD_1"), CoreMetrics(model).measure("PD_6", "PD_1")):
        assert pair.fr is None
        assert pair.share("FILE") == 0  # nobody reaches one: the union is empty
        assert pair.rsi == {"BLOCK": (0, 1)}
    itself = CoreMetrics(model).measure("PD_6", "PD_6")
    assert (itself.fr, itself.rsi) == (0, {})
    assert CoreMetrics(model).measure("PD_4", "PD_4").rsi == {
        "BLOCK": (1, 1),
        "FILE": (1, 1),
        "TABLE": (1, 1),
    }


@pytest.mark.behaviour("F-04")
def test_the_search_follows_types_that_it_holds_or_that_map() -> None:
    chain = """
        PD_1 manages BLOCK_SPACE_1 with BLOCK_1_1
        PD_2 manages FILE_SPACE_2 with FILE_2_1
        PD_2 requests BLOCK_SPACE_1
        PD_3 requests FILE_SPACE_2
        PD_3 holds FILE_2_1
        PD_4 requests BLOCK_SPACE_1
        PD_4 holds BLOCK_1_1
    """
    # PD_3 has files, and what files are built on is not known: it does not come to the blocks.
    assert fr(chain, "PD_3", "PD_4") is None
    assert fr(chain + "FILE_2_1 maps BLOCK_1_1", "PD_3", "PD_4") == 1
    assert fr(chain + "FILE_SPACE_2 maps BLOCK_SPACE_1", "PD_3", "PD_4") == 1


@pytest.mark.behaviour("F-04")
def test_a_request_without_anything_of_its_type_is_not_followed() -> None:
    text = """
        PD_1 manages BLOCK_SPACE_1 with BLOCK_1_1
        PD_2 manages FILE_SPACE_2 with FILE_2_1
        PD_2 requests BLOCK_SPACE_1
        PD_3 requests FILE_SPACE_2
    """
    assert fr(text, "PD_3", "PD_2") is None
    assert fr(text + "PD_3 holds FILE_2_1", "PD_3", "PD_2") == 0
    built = text + "PD_3 holds FILE_2_1\nFILE_2_1 maps BLOCK_1_1"
    assert fr(built, "PD_3", "PD_1") == 0, "the client of a client"


@pytest.mark.behaviour("F-05")
def test_the_root_task_is_a_meeting_point_only_if_asked_for() -> None:
    text = "PD_0 manages MO_SPACE_1 with MO_1_1\nPD_1 holds MO_1_1\nPD_2 holds MO_1_1"
    assert fr(text, "PD_1", "PD_2") is None
    assert fr(text, "PD_1", "PD_2", with_root=True) == 1
    assert fr(text, "PD_0", "PD_0") == 0


@pytest.mark.behaviour("F-01")
def test_rsi_follows_three_maps_and_no_more() -> None:
    text = """
        PD_1 manages FILE_SPACE_1 with FILE_1_1 FILE_1_2 FILE_1_3 FILE_1_4 FILE_1_5
        FILE_1_1 maps FILE_1_2
        FILE_1_2 maps FILE_1_3
        FILE_1_3 maps FILE_1_4
        FILE_1_4 maps FILE_1_5
        PD_2 holds FILE_1_1
    """
    model = system(text)
    for pair in (metrics(model, "PD_1", "PD_2"), CoreMetrics(model).measure("PD_1", "PD_2")):
        assert pair.rsi == {"FILE": (4, 5)}


@pytest.mark.behaviour("F-02")
@pytest.mark.parametrize(
    ("extra", "pages"),
    [("0x6af7f000_1051_12", 1051), ("40000000_256_21", 256), ("0x0_0_12", 0), ("", 1), ("x", 1)],
)
def test_a_memory_object_counts_as_many_times_as_it_has_pages(extra: str, pages: int) -> None:
    assert weight_of(Node("MO_1_1", "RESOURCE", type="MO", extra=extra)) == pages
    assert weight_of(Node("FILE_1_1", "RESOURCE", type="FILE", extra=extra)) == 1


# -- bounds and refusals


@pytest.mark.behaviour("F-07")
def test_a_measurement_looks_at_what_the_two_reach_and_not_at_the_system() -> None:
    def cost(others: int) -> int:
        text = SCENARIO + "".join(
            f"PD_{n:x} manages FILE_SPACE_{n:x} with FILE_{n:x}_1\n" for n in range(16, 16 + others)
        )
        measuring = CoreMetrics(system(text))
        measuring.core.reset_touched()
        measuring.measure("PD_5", "PD_4")
        return sum(measuring.core.touched())

    assert cost(0) == cost(500) > 0


@pytest.mark.behaviour("F-07")
def test_the_core_refuses_what_it_has_no_room_for() -> None:
    core = CoreModel.from_model(system(SCENARIO))
    lib, ffi = core.lib, core.ffi
    assert lib.cr_metrics_bytes(0, 1) == lib.cr_metrics_bytes(1, 0) == 0
    assert lib.cr_metrics_bytes(1, lib.CR_METRIC_TYPES_MAX + 1) == 0
    size = lib.cr_metrics_bytes(100, 2)
    memory, out = ffi.new("uint64_t[]", size // 8 + 1), ffi.new("cr_metrics **")
    assert lib.cr_metrics_init(memory, size - 1, 100, 2, out) == lib.CR_ERR_MEMORY
    assert lib.cr_metrics_init(memory, size, 100, 2, out) == lib.CR_OK
    assert lib.cr_metrics_first(out[0], core.ref("PD_1")) == lib.CR_ERR_ARG  # not begun
    # The scenario has more than two types.
    assert lib.cr_metrics_begin(out[0], core.model, ffi.NULL, 0) == lib.CR_ERR_ARG
    assert lib.cr_metrics_init(memory, lib.cr_metrics_bytes(4, 9), 4, 9, out) == lib.CR_OK
    assert lib.cr_metrics_begin(out[0], core.model, ffi.NULL, 0) == lib.CR_ERR_ARG  # more nodes
    fr_out = ffi.new("uint32_t *")
    assert lib.cr_metrics_fr(out[0], fr_out) == lib.CR_ERR_ARG


@pytest.mark.behaviour("F-05")
def test_what_is_no_pd_is_refused() -> None:
    model = system(SCENARIO)
    for bad in ("FILE_SPACE_3", "PD_99"):
        with pytest.raises((UsageError, CoreError)):
            CoreMetrics(model).measure("PD_1", bad)
        with pytest.raises(UsageError):
            metrics(model, bad, "PD_1")


@pytest.mark.behaviour("F-07")
def test_what_is_doomed_counts_as_absent() -> None:
    model = system(SCENARIO)
    measuring = CoreMetrics(model)
    core, lib = measuring.core, measuring.lib
    for node in ("PD_1", "BLOCK_SPACE_1"):
        assert lib.cr_model_doom(core.model, core.ref(node)) == lib.CR_OK
    rest = model.copy()
    rest.discard({"PD_1", "BLOCK_SPACE_1", "BLOCK_1_1"})
    for a in ("PD_2", "PD_3", "PD_4", "PD_5"):
        for b in ("PD_2", "PD_3", "PD_4", "PD_5"):
            got, want = measuring.measure(a, b), metrics(rest, a, b)
            assert (got.fr, got.rsi) == (want.fr, want.rsi)
    with pytest.raises(CoreError):
        measuring.measure("PD_1", "PD_2")
