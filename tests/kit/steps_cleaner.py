# SPDX-License-Identifier: BSD-2-Clause
"""Carries out the chain of steps in C on a model in C, as the root task's cleaner does."""

from __future__ import annotations

import itertools
import random
from typing import Any

from cellreap.headers import enums
from cellreap.model import reference
from cellreap.model.core import HEADERS, CoreModel, load_core
from cellreap.model.graph import Model
from cellreap.model.reference import apply, plan
from kit.core_support import SCENARIO, Survivors

KIND = enums("steps.h")["cr_step_kind"]
REQUEST = enums("model.h")["cr_edge_kind"]["CR_EDGE_REQUEST"]
STATUS = enums("status.h")["cr_status"]
CORRUPT, EPOCH, LATER = (STATUS[f"CR_ERR_{name}"] for name in ("CORRUPT", "EPOCH", "VERSION"))
ABSENT, BUSY = STATUS["CR_ERR_ABSENT"], STATUS["CR_ERR_BUSY"]
STATE, ARG = STATUS["CR_ERR_STATE"], STATUS["CR_ERR_ARG"]
OK = 0
NAMES = {
    number: name.removeprefix("CR_STEP_").lower().replace("_", "-") for name, number in KIND.items()
}

Step = tuple[str, str | None, str | None]
"""(name, node, PD)"""

SUBSCRIBED = (
    SCENARIO
    + """
PD_3 subscribes PD_1 FILE_SPACE_3
PD_4 subscribes BLOCK_SPACE_1 PD_3
PD_5 subscribes PD_4
"""
)


class Cleaner:
    """Applies to the model what the root task applies to model and kernel. Records the steps."""

    def __init__(
        self, model: Model, crash: str, pd_depth: int | None, rs_depth: int | None
    ) -> None:
        self.core = CoreModel(len(model.nodes) + 100, 2000)
        self.core.load(model)
        self.ffi, self.lib = load_core((*HEADERS, "steps.h"))
        # owns what the next line points to
        self.raw = self.core.plan_raw(crash, pd_depth, rs_depth)
        self.plan = self.ffi.cast("cr_plan *", self.raw)
        self.model = self.ffi.cast("cr_model *", self.core.model)
        self.journal = self.ffi.new("cr_journal *")
        self.epoch = 1
        self.lib.cr_journal_start(self.journal, self.epoch)
        self.done: list[Step] = []
        """the steps; a `notify` names what the first of its notices is about"""
        self.notified: list[Step] = []
        """one ("notify", node, receiver) for each notice that a finished step has queued"""
        self.batches: list[int] = []
        """the number of notices of each of these steps"""
        self.wanted = plan(model, crash, pd_depth, rs_depth)
        self.survivors = Survivors(model.copy(), self.core, self.wanted.doomed())

    def _id(self, ref: Any) -> str | None:
        return None if ref.index == 0xFFFFFFFF else self.core._ids.get((ref.index, ref.generation))

    def next(self) -> tuple[Step, Any]:
        """The step at the cursor."""
        step = self.ffi.new("cr_step *")
        assert self.lib.cr_step_next(self.journal, self.plan, self.model, step) == OK
        return (NAMES[step.kind], self._id(step.node), self._id(step.pd)), step

    def finish(self, step: Any) -> None:
        """Records that the step was carried out."""
        assert self.lib.cr_step_done(self.journal, self.epoch) == OK
        if NAMES[step.kind] == "notify":
            notices = [step.notice[i] for i in range(step.count)]
            self.notified += [
                ("notify", self._id(each.node), self._id(each.to)) for each in notices
            ]
            self.batches.append(step.count)

    def leaves(self, step: Any, again: bool) -> bool:
        """Leaves the step, if it can be. Whether that is done.

        again: also in the second run over its phase, so that it is kept for a later run.
        """
        if NAMES[step.kind] == "tell" or (self.journal.second != 0 and not again):
            return False
        assert self.lib.cr_step_begin(self.journal, self.epoch, step) == OK
        status = self.lib.cr_step_leave(self.journal, self.epoch)
        assert status == (STATE if NAMES[step.kind] == "await" else OK)
        return bool(status == OK)

    def run(
        self,
        again: random.Random | None = None,
        meanwhile: random.Random | None = None,
        leave: random.Random | None = None,
        keep: float = 0,
    ) -> None:
        """Runs the steps to the end.

        again: some steps are repeated, as by a successor that cannot know better. meanwhile:
        survivors act while the cleanup waits for subscribers, and the plan is made again. leave:
        some steps are left for a second run over their phase. keep: how often steps are left there
        too.
        """
        for _ in range(10_000):
            told, step = self.next()
            if told[0] == "settle":
                return
            fails = leave is not None and leave.random() < (
                keep if keep and self.journal.second else 0.3
            )
            if fails and self.leaves(step, keep > 0):
                continue
            self.done.append(told)
            self.carry_out(told[0], step)
            if meanwhile is not None and told[0] == "await":
                for _ in range(meanwhile.randint(0, 6)):
                    self.survivors.something(meanwhile)
                self.replan()
            if again is None or again.random() < 0.7:
                self.finish(step)
        raise AssertionError("the chain does not end")

    def replan(self) -> None:
        """Replans on both sides."""
        got = self.core.replan(self.raw)
        self.wanted = reference.replan(self.survivors.model, self.wanted)
        assert got.outcome() == self.wanted.outcome()

    def carry_out(self, name: str, step: Any) -> None:
        """Carries out one step, which may have been carried out before."""
        lib = self.lib
        if name == "await":
            assert lib.cr_step_begin(self.journal, self.epoch, step) == OK
        else:
            taken, attempts = self.ffi.new("cr_step *"), self.journal.attempts
            asked = (self.journal, self.epoch, self.plan, self.model, taken)
            assert lib.cr_step_take(*asked) == OK
            assert self.ffi.buffer(taken)[:] == self.ffi.buffer(step)[:]
            assert self.journal.attempts == attempts + 1
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

    def check(self) -> None:
        """Asserts that the final state equals the reference's."""
        self.core.check()
        after = apply(self.survivors.model, self.wanted)
        assert self.core.edges() == CoreModel.from_model(after).edges()

    def successor(self) -> Cleaner:
        """A cleaner that finds journal, plan and model, and goes on with a copied journal.

        It does so in the next epoch.
        """
        other = object.__new__(Cleaner)
        other.__dict__.update(self.__dict__)
        other.journal = self.ffi.new("cr_journal *")
        self.ffi.memmove(other.journal, self.journal, self.ffi.sizeof("cr_journal"))
        self.ffi.memmove(
            self.journal, b"\xff" * self.ffi.sizeof("cr_journal"), self.ffi.sizeof("cr_journal")
        )
        other.done, other.notified = list(self.done), list(self.notified)
        other.epoch += 1
        assert self.lib.cr_journal_take_over(other.journal, other.epoch) == OK
        return other


def compare(
    model: Model, crash: str, pd_depth: int | None, rs_depth: int | None, seed: int | None
) -> Cleaner:
    cleaner = Cleaner(model, crash, pd_depth, rs_depth)
    cleaner.run(None if seed is None else random.Random(seed))
    cleaner.check()
    assert cleaner.batches == batches(cleaner.plan)
    return cleaner


def batches(plan: Any) -> list[int]:
    """How many notices each step queues, if none is left: those in a row to one PD, 32 at most."""
    receivers = [(plan.notices[i].to.index) for i in range(plan.n_notices)]
    runs = [len(list(run)) for _, run in itertools.groupby(receivers)]
    return [min(32, run - at) for run in runs for at in range(0, run, 32)]
