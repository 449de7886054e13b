# SPDX-License-Identifier: BSD-2-Clause
"""The model with indexes does what the plain one does, for whatever is done to it."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellreap.errors import CellreapError
from cellreap.model.graph import Model
from cellreap.model.ids import ROOT
from cellreap.model.indexed import IndexedModel

PDS = [ROOT, "PD_1", "PD_2", "PD_3"]
SPACES = ["PD_SPACE_1", "BLOCK_SPACE_2", "FILE_SPACE_3"]
RESOURCES = ["PD_1_1", "PD_1_2", "BLOCK_2_1", "BLOCK_2_2", "FILE_3_1"]
NODES = [*PDS, *SPACES, *RESOURCES]

Act = tuple[str, tuple[object, ...]]


def random_act(rng: random.Random) -> Act:
    """One call of a method that changes a model, with arguments that often make sense."""
    pd, other, space = rng.choice(PDS), rng.choice(PDS), rng.choice(SPACES)
    res, node, more = rng.choice(RESOURCES), rng.choice(NODES), rng.choice(NODES)
    of = f"{res.split('_')[0]}_SPACE_{res.split('_')[1]}"
    return rng.choice(
        [
            ("add_pd", (pd,)),
            ("add_space", (space, ROOT if space.startswith("PD") else pd)),
            ("add_resource", (res, of)),
            ("add_hold", (pd, node)),
            ("drop_hold", (pd, node)),
            ("cut_hold", (pd, node)),
            ("add_request", (pd, space)),
            ("drop_request", (pd, space)),
            ("add_map", (node, more)),
            ("drop_map", (node, more)),
            ("set_fault", (pd, other)),
            ("drop_fault", (pd,)),
            ("add_link", (pd, other)),
            ("drop_link", (pd, other)),
            ("add_own", (pd, other)),
            ("drop_own", (pd, other)),
            ("add_subscribe", (pd, node)),
            ("add_subscribe", (pd, pd)),
            ("drop_subscribe", (pd, node)),
            ("drop_subscribe", (pd, pd)),
            ("remove_resource", (res,)),
            ("discard", ([rng.choice(PDS[1:])],)),
        ]
    )


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
        if rng.random() < 0.05:
            plain, indexed = plain.copy(), indexed.copy()


def test_a_pd_that_subscribed_to_itself_is_discarded() -> None:
    model = IndexedModel()
    model.add_pd(ROOT)
    model.add_pd("PD_1")
    model.add_subscribe("PD_1", "PD_1")
    model.discard(["PD_1"])
    assert list(model.edges()) == []
