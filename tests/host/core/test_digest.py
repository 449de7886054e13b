# SPDX-License-Identifier: BSD-2-Clause
"""The digest of a model state: C against Python, and which states it tells apart."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import cffi
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellreap import headers
from cellreap.errors import CellreapError
from cellreap.model.core import library_path
from cellreap.model.digest import label, term
from cellreap.model.graph import Model
from cellreap.model.indexed import IndexedModel
from kit.digests import digest_of
from kit.model_acts import PDS, RESOURCES, SPACES, random_act
from kit.simulated_runs import block_fs_db_app
from kit.trace_simulator import Target

NUMBERS = st.integers(0, 2**64 - 1)
KINDS = {str(row[0]): int(row[1]) for row in headers.table("model.h", "CR_EDGE_KIND")}


@pytest.fixture(scope="module")
def lib() -> Any:
    ffi = cffi.FFI()
    ffi.cdef(
        "uint64_t cr_digest_label(const char *id, const char *data);"
        "uint64_t cr_digest_node(uint64_t label, int pinned);"
        "uint64_t cr_digest_edge(int kind, uint64_t from, uint64_t to);"
        "uint64_t cr_digest_subscription(uint64_t pd, uint64_t node, uint32_t handler);"
    )
    return ffi.dlopen(str(library_path()))


@pytest.mark.behaviour("H-10")
@given(name=st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=80))
def test_both_sides_have_the_same_labels(lib: Any, name: str) -> None:
    assert lib.cr_digest_label(b"PD_1f", name.encode()) == label("PD_1f", name)


@pytest.mark.behaviour("H-10")
@given(a=NUMBERS, b=NUMBERS)
def test_both_sides_have_the_same_terms(lib: Any, a: int, b: int) -> None:
    for pinned in (False, True):
        assert lib.cr_digest_node(a, pinned) == term("NODE", a, pinned)
    for kind in ("HOLD", "REQUEST", "MAP", "SUBSET", "FAULT", "LINK", "OWN", "SUBSCRIBE", "MANAGE"):
        assert lib.cr_digest_edge(KINDS[f"CR_EDGE_{kind}"], a, b) == term(kind, a, b)
    assert term("LINK", a, b) == term("LINK", b, a)
    for handler in (0, 1, 31):
        told = lib.cr_digest_subscription(a, b, handler)
        assert told == term("SUBSCRIBE", a, b, handler)


def _scenario() -> Model:
    target = Target(0, 0)
    block_fs_db_app(target)
    return target.model


def _change_app(model: Model, **values: object) -> None:
    model.nodes["PD_5"] = replace(model.nodes["PD_5"], **values)  # type: ignore[arg-type]


def _exchange(model: Model, add: str, pd: str) -> None:
    """Another edge instead of app's request."""
    model.drop_request("PD_5", "TABLE_SPACE_4")
    getattr(model, add)(pd, "TABLE_SPACE_4")


CHANGES: dict[str, Callable[[Model], object]] = {
    "a name": lambda model: _change_app(model, name="apq"),
    "a pin": lambda model: _change_app(model, pinned=True),
    "a count": lambda model: model.add_hold("PD_5", "TABLE_4_1"),
    "a direction": lambda model: _exchange(model, "add_request", "PD_4"),
    "a kind": lambda model: _exchange(model, "add_subscribe", "PD_5"),
    "a handler": lambda model: model.add_subscribe("PD_5", "TABLE_SPACE_4", handler=1),
    "another handler": lambda model: model.add_subscribe("PD_5", "TABLE_SPACE_4", handler=2),
    "a manager": lambda model: model.manager.update(TABLE_SPACE_4="PD_5"),
    "a link": lambda model: model.add_link("PD_5", "PD_4"),
}  # fmt: skip


@pytest.mark.behaviour("H-10")
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_states_that_differ_have_different_digests(change: Callable[[Model], object]) -> None:
    model = _scenario()
    before = digest_of(model)
    change(model)
    assert digest_of(model) != before


@pytest.mark.behaviour("H-10")
@given(seed=st.integers(0, 2**32))
def test_a_digest_does_not_depend_on_the_states_before(seed: int) -> None:
    """A model counts what changes. Whatever was done, that makes the sum of the state."""
    rng = random.Random(seed)
    names = {pd: rng.choice(["a", "b", ""]) for pd in PDS}
    labels = {pd: label(pd, names[pd]) for pd in PDS}
    labels |= {node: label(node, node.partition("_")[0]) for node in (*SPACES, *RESOURCES)}
    model = IndexedModel()
    for _ in range(80):
        name, arguments = random_act(rng)
        if name == "add_pd":
            arguments = (*arguments, names[str(arguments[0])])
        if rng.random() < 0.1:
            name, arguments = "set_pinned", (rng.choice(PDS), rng.random() < 0.5)
        if rng.random() < 0.1:
            kept, before = model, model.digest()
            model = model.copy()
        else:
            kept, before = model, None
        with contextlib.suppress(CellreapError):
            getattr(model, name)(*arguments)
        assert model.digest() == digest_of(model, labels), (name, arguments)
        edges = sum(edge.times for edge in model.edges())
        assert model.rows == len(model.nodes) + len(model.space_of) + edges
        assert before is None or kept.digest() == before
