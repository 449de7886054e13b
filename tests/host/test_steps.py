# SPDX-License-Identifier: BSD-2-Clause
"""The chain of steps in C, carried out on a model in C, against the reference's state after the cleanup."""

from __future__ import annotations

import random
from typing import Any

import pytest
from core_support import SCENARIO, random_model, system

from cellreap.core import HEADERS, CoreModel, load_core
from cellreap.headers import enums
from cellreap.model import Model
from cellreap.reference import apply, plan

KIND = enums("steps.h")["cr_step_kind"]
REQUEST = enums("model.h")["cr_edge_kind"]["CR_EDGE_REQUEST"]
OK = 0
NAMES = {number: name.removeprefix("CR_STEP_").lower().replace("_", "-") for name, number in KIND.items()}


class Cleaner:
    """Does in the model what the root task does in model and kernel, and writes down what it did."""

    def __init__(self, model: Model, crash: str, pd_depth: int | None, rs_depth: int | None) -> None:
        self.core = CoreModel.from_model(model)
        self.ffi, self.lib = load_core((*HEADERS, "steps.h"))
        self.raw = self.core.plan_raw(crash, pd_depth, rs_depth)  # owns what the next line points to
        self.plan = self.ffi.cast("cr_plan *", self.raw)
        self.model = self.ffi.cast("cr_model *", self.core.model)
        self.journal = self.ffi.new("cr_journal *")
        self.lib.cr_journal_start(self.journal)
        self.done: list[tuple[str, str | None, str | None]] = []
        self.tombstones: list[Any] = []

    def _id(self, ref: Any) -> str | None:
        return None if ref.index == 0xFFFFFFFF else self.core._ids.get((ref.index, ref.generation))

    def run(self, again: random.Random | None = None) -> None:
        """To the end. again: some steps are repeated, as by a successor who cannot know better."""
        step = self.ffi.new("cr_step *")
        for _ in range(10_000):
            assert self.lib.cr_step_next(self.journal, self.plan, self.model, step) == OK
            name = NAMES[step.kind]
            if name == "settle":
                return
            self.done.append((name, self._id(step.node), self._id(step.pd)))
            self.carry_out(name, step)
            if again is None or again.random() < 0.7:
                assert self.lib.cr_step_done(self.journal, step) == OK
        raise AssertionError("the chain does not end")

    def carry_out(self, name: str, step: Any) -> None:
        """One step, which may have been carried out before."""
        lib = self.lib
        info = self.ffi.new("cr_node_info *")
        node = step.pd if name == "destroy-pd" else step.node
        if name == "mark":
            assert lib.cr_model_get(self.model, node, info) == OK
            if info.state == 0:
                assert lib.cr_model_doom(self.model, node) == OK
        elif name == "cut-request":
            lib.cr_model_drop_edge(self.model, REQUEST, step.pd, node)
        elif name in ("destroy-resource", "destroy-space", "destroy-pd"):
            assert lib.cr_model_get(self.model, node, info) == OK
            if info.state != 2:
                assert lib.cr_model_destroy(self.model, node) == OK
                self.tombstones.append((node.index, node.generation))

    def edges(self) -> dict[tuple[str, str, str], int]:
        """What is left."""
        return self.core.edges()


def expected_edges(after: Model) -> dict[tuple[str, str, str], int]:
    """The edges of a state, as CoreModel.edges tells them."""
    return CoreModel.from_model(after).edges()


def compare(
    model: Model, crash: str, pd_depth: int | None, rs_depth: int | None, seed: int | None
) -> Cleaner:
    wanted = plan(model, crash, pd_depth, rs_depth)
    cleaner = Cleaner(model, crash, pd_depth, rs_depth)
    cleaner.run(None if seed is None else random.Random(seed))
    assert cleaner.edges() == expected_edges(apply(model, wanted))
    cleaner.core.check()
    return cleaner


@pytest.mark.parametrize("seed", range(150))
def test_the_chain_leaves_the_state_that_the_reference_leaves(seed: int) -> None:
    rng = random.Random(seed)
    model = random_model(rng)
    pds = [pd for pd in model.pds() if pd != "PD_0"]
    for crash in pds[:3]:
        depths = rng.choice([0, 1, 2, None]), rng.choice([0, 1, 2, None])
        compare(model, crash, *depths, None)
        compare(model, crash, *depths, seed)


@pytest.mark.behaviour("T-04")
def test_steps_come_in_the_order_of_the_page() -> None:
    cleaner = compare(system(SCENARIO), "PD_1", 1, 0, None)
    names = [name for name, _, _ in cleaner.done]
    assert cleaner.done[0] == ("suspend", None, "PD_1")
    first = {name: names.index(name) for name in dict.fromkeys(names)}
    last = {name: len(names) - 1 - names[::-1].index(name) for name in first}
    assert last["mark"] < cleaner.done.index(("suspend", None, "PD_3")) < first["cut-request"]
    order = [node or pd for name, node, pd in cleaner.done if name in ("destroy-space", "destroy-pd")]
    assert (order[0], set(order[1:3]), order[3:]) == ("BLOCK_SPACE_1", {"PD_1", "FILE_SPACE_3"}, ["PD_3"])
    assert max(last[name] for name in ("destroy-pd", "destroy-space")) < first["unblock"] < first["notify"]
    assert names.count("notify") == len(plan(system(SCENARIO), "PD_1", 1, 0).to_json()["notices"])


def test_what_is_no_journal_is_refused() -> None:
    cleaner = Cleaner(system(SCENARIO), "PD_1", 0, 0)
    cleaner.journal.magic = 1
    step = cleaner.ffi.new("cr_step *")
    corrupt = enums("status.h")["cr_status"]["CR_ERR_CORRUPT"]
    assert cleaner.lib.cr_step_next(cleaner.journal, cleaner.plan, cleaner.model, step) == corrupt
    assert cleaner.lib.cr_step_done(cleaner.journal, step) == corrupt
    cleaner.lib.cr_journal_start(cleaner.journal)
    cleaner.journal.phase = 99
    assert cleaner.lib.cr_step_next(cleaner.journal, cleaner.plan, cleaner.model, step) == corrupt
