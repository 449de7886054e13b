# SPDX-License-Identifier: BSD-2-Clause
"""What the model refuses has no effect, whatever the arguments are."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Final

import pytest

from cellreap.model.core import CoreModel
from kit.core_support import random_model

CALLS: Final = 600
SEEDS: Final = range(20)
FUNCTIONS: Final = 13
FULL: Final = {
    ("add_pd", "FULL_NODES"),
    ("add_space", "FULL_NODES"),
    ("add_space", "FULL_EDGES"),
    ("add_resource", "FULL_NODES"),
    ("add_resource", "FULL_EDGES"),
    ("add_edge", "FULL_EDGES"),
    ("subscribe", "FULL_EDGES"),
}
OTHERS: Final = {"OK", "ARG", "STALE", "KIND", "STATE", "EXISTS", "ABSENT", "ROOT", "BUSY"}
"""With those in FULL, all that the header names for these functions."""


class Caller:
    """Calls each function that changes a model, with arguments that make sense and others.

    spare: how many nodes and how many edges can be added.
    """

    def __init__(self, rng: random.Random, spare: tuple[int, int]) -> None:
        self.rng = rng
        model = random_model(rng)
        full = CoreModel.from_model(model)
        there = full.lib.cr_model_get_stats(full.model)
        self.core = CoreModel(there.nodes + spare[0], there.edges + spare[1])
        self.core.load(model)
        self.lib, self.ffi = self.core.lib, self.core.ffi
        self.seen: list[Any] = list(self.core.refs.values())
        self.ended: list[Any] = []  # stale from now on, or soon

    def any_ref(self) -> Any:
        """A node that is there, or was; now and then one that never was."""
        if self.rng.random() < 0.05:
            index = self.rng.choice([0, 1, 5000, self.lib.CR_NONE])
            return self.ffi.new("cr_ref *", (index, self.rng.choice([0, 1, 2**31])))[0]
        return self.rng.choice(self.ended if self.ended and self.rng.random() < 0.1 else self.seen)

    def call(self) -> tuple[str, int]:
        """A random call: the function and its status."""
        lib, model, rng = self.lib, self.core.model, self.rng
        kind = rng.randrange(lib.CR_EDGE_KIND_COUNT)
        flags = rng.choice([0, 0, 1, 2, 3, 0xFF])
        out = self.ffi.new("cr_ref *")
        one, two = self.any_ref(), self.any_ref()
        calls: dict[str, Callable[[], int]] = {
            "add_pd": lambda: lib.cr_model_add_pd(model, 9, flags, out),
            "add_space": lambda: lib.cr_model_add_space(
                model, rng.randrange(3), 9, flags, one, out
            ),
            "add_resource": lambda: lib.cr_model_add_resource(model, one, 9, out),
            "set_pinned": lambda: lib.cr_model_set_pinned(model, one, rng.randrange(2)),
            "add_edge": lambda: lib.cr_model_add_edge(model, kind, one, two),
            "drop_edge": lambda: lib.cr_model_drop_edge(model, kind, one, two),
            "cut_edge": lambda: lib.cr_model_cut_edge(model, kind, one, two),
            "subscribe": lambda: lib.cr_model_subscribe(model, one, two, rng.randrange(34)),
            "unsubscribe": lambda: lib.cr_model_unsubscribe(model, one, two, rng.randrange(34)),
            "doom": lambda: lib.cr_model_doom(model, one),
            "spare": lambda: lib.cr_model_spare(model, one),
            "destroy": lambda: lib.cr_model_destroy(model, one),
            "release": lambda: lib.cr_model_release(model, one),
        }
        name = rng.choice(list(calls))
        status = calls[name]()
        if status == lib.CR_OK and name in ("add_pd", "add_space", "add_resource"):
            self.seen.append(out[0])
        if status == lib.CR_OK and name == "release":
            self.ended.append(one)
        return name, status


@pytest.mark.behaviour("L-04")
def test_what_is_refused_leaves_every_byte_as_it_was() -> None:
    outcomes: set[tuple[str, str]] = set()
    for seed in SEEDS:
        caller = Caller(random.Random(seed), (4, 60) if seed % 2 else (60, 4))
        core = caller.core
        names = core.ffi.typeof("cr_status").elements
        for _ in range(CALLS):
            core.reset_touched()
            before = bytes(core.arena)
            name, status = caller.call()
            word = names[status].removeprefix("CR_").removeprefix("ERR_")
            outcomes.add((name, word))
            if status != core.lib.CR_OK:
                core.reset_touched()
                assert bytes(core.arena) == before, (seed, name, word)
        core.check()
    assert outcomes >= FULL, FULL - outcomes
    assert {word for _, word in outcomes - FULL} == OTHERS
    assert len({name for name, word in outcomes if word == "OK"}) == FUNCTIONS
