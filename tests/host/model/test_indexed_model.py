# SPDX-License-Identifier: BSD-2-Clause
"""The model with indexes does what the plain one does, for whatever is done to it."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellreap.errors import CellreapError
from cellreap.model import legal
from cellreap.model.graph import Model
from cellreap.model.ids import ROOT
from cellreap.model.indexed import IndexedModel
from kit.model_acts import PDS, SPACES, random_act


def outcome(act: Callable[..., object], arguments: tuple[object, ...]) -> str | None:
    """The message of the error that a call ends with, or None."""
    try:
        act(*arguments)
    except CellreapError as error:
        return error.line()
    return None


def shown(model: Model) -> list[object]:
    """All that can be asked of a model."""
    return [
        sorted(model.nodes),
        sorted(model.edges()),
        [model.resources_in(space) for space in SPACES],
        [model.body_of(pd) for pd in PDS if pd in model.nodes],
        [(violation.rule, violation.text) for violation in model.check_legal()],
    ]


def asks(model: IndexedModel) -> list[tuple[bool, bool, bool]]:
    """The answers to what the checker asks of each PD, for each space."""
    return [
        (
            model.asks_for(pd, space.split("_")[0]),
            model.is_client_of(pd, model.manager.get(space, "")),
            model.depends_on(pd, space),
        )
        for pd in PDS
        for space in SPACES
    ]


def searched(model: Model) -> list[tuple[bool, bool, bool]]:
    """The same, by a search through all edges."""
    held = {(pd, model.space_of.get(node, node)) for pd, node in model.holds}
    types = {(pd, model.nodes[space].type) for pd, space in model.requests}
    servers = {(pd, model.manager[space]) for pd, space in model.requests}
    return [
        (
            (pd, space.split("_")[0]) in types,
            (pd, model.manager.get(space)) in servers,
            (pd, space) in model.requests | held,
        )
        for pd in PDS
        for space in SPACES
    ]


@pytest.mark.behaviour("M-06")
@given(seed=st.integers(0, 2**32))
def test_both_models_do_the_same(seed: int) -> None:
    rng = random.Random(seed)
    plain, indexed = Model(), IndexedModel()
    for model in (plain, indexed):
        for pd in PDS:
            model.add_pd(pd)
    for _ in range(60):
        name, arguments = random_act(rng)
        ends = [outcome(getattr(model, name), arguments) for model in (plain, indexed)]
        assert ends[0] == ends[1], (name, arguments)
        assert shown(plain) == shown(indexed), (name, arguments)
        assert searched(plain) == asks(indexed), (name, arguments)
        if rng.random() < 0.05:
            plain, indexed = plain.copy(), indexed.copy()


def test_who_holds_nothing_any_more_depends_on_nothing_however_often_it_held() -> None:
    model = IndexedModel()
    for pd in (ROOT, "PD_1", "PD_2"):
        model.add_pd(pd)
    model.add_space("BLOCK_SPACE_2", "PD_1")
    for drop in ("drop_hold", "cut_hold", "discard", "remove_resource"):
        model.add_resource("BLOCK_2_1", "BLOCK_SPACE_2")
        model.add_hold("PD_2", "BLOCK_2_1")
        model.add_hold("PD_2", "BLOCK_2_1", 2)
        assert model.depends_on("PD_2", "BLOCK_SPACE_2")
        if drop == "drop_hold":
            model.drop_hold("PD_2", "BLOCK_2_1", 2)
            assert model.depends_on("PD_2", "BLOCK_SPACE_2")
            model.drop_hold("PD_2", "BLOCK_2_1")
        elif drop == "cut_hold":
            model.cut_hold("PD_2", "BLOCK_2_1")
        elif drop == "discard":
            model.discard(["PD_2"])
            model.add_pd("PD_2")
        if drop != "remove_resource":
            assert not model.depends_on("PD_2", "BLOCK_SPACE_2"), drop
        model.remove_resource("BLOCK_2_1")
        assert not model.depends_on("PD_2", "BLOCK_SPACE_2"), drop


def test_a_type_that_is_spelt_like_a_pd_makes_nobody_its_client() -> None:
    model = IndexedModel()
    for pd in (ROOT, "PD_1", "PD_2", "PD_3"):
        model.add_pd(pd)
    model.add_space("PD_1_SPACE_4", "PD_2")
    model.add_request("PD_3", "PD_1_SPACE_4")
    assert model.is_client_of("PD_3", "PD_2")
    assert model.asks_for("PD_3", "PD_1")
    assert not model.is_client_of("PD_3", "PD_1")
    assert not model.asks_for("PD_3", "PD_2")


@pytest.mark.behaviour("M-06")
@given(seed=st.integers(0, 2**32))
def test_edges_have_the_same_order_in_each_process(seed: int) -> None:
    """The order of what a search finds first is not that of a set of strings."""
    rng = random.Random(seed)
    model = IndexedModel()
    for node in PDS:
        model.add_pd(node)
    came: dict[tuple[str, str, str], None] = {}
    for _ in range(60):
        name, arguments = random_act(rng)
        outcome(getattr(model, name), arguments)
        there = {edge[:3] for edge in model.edges()}
        came = {edge: None for edge in (*came, *sorted(there)) if edge in there}
        for node in model.nodes:
            assert list(model.edges_at(node)) == [edge for edge in came if node in edge[1:]]


def test_a_pd_that_subscribed_to_itself_is_discarded() -> None:
    model = IndexedModel()
    model.add_pd(ROOT)
    model.add_pd("PD_1")
    model.add_subscribe("PD_1", "PD_1")
    model.discard(["PD_1"])
    assert list(model.edges()) == []


@pytest.mark.behaviour("M-06")
@given(seed=st.integers(0, 2**32))
def test_what_is_well_formed_is_what_no_search_finds_wrong(seed: int) -> None:
    """Most states are legal, and that is found out faster than what is wrong with others."""
    rng = random.Random(seed)
    model = IndexedModel()
    for pd in PDS:
        model.add_pd(pd)
    assert legal._well_formed(model)
    for _ in range(80):
        name, arguments = random_act(rng)
        outcome(getattr(model, name), arguments)
        wrong = [*legal._spaces(model), *legal._resources(model), *legal._edges(model)]
        assert legal._well_formed(model) == (not wrong), (name, arguments, wrong)


@pytest.mark.behaviour("M-06")
@given(maps=st.sets(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=12))
def test_a_map_graph_has_a_cycle_if_removing_its_ends_leaves_something(
    maps: set[tuple[int, int]],
) -> None:
    edges = {(str(a), str(b)) for a, b in maps}
    reached = edges
    for _ in range(6):
        reached = reached | {(a, d) for a, b in reached for c, d in edges if b == c}
    assert legal._has_cycle(edges) == any(a == b for a, b in reached)
