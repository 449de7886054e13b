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
REQUEST, SUBSET = (enums("model.h")["cr_edge_kind"][f"CR_EDGE_{n}"] for n in ("REQUEST", "SUBSET"))
IN, NONE = 1, 0xFFFFFFFF
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
        self.destroyed: list[Step] = []
        """one ("destroy-resource", node, None) for each resource that a finished step destroyed"""
        self.sizes: list[int] = []
        """the number of resources of each of these steps"""
        self._members: list[Any] = []
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
        if NAMES[step.kind] == "notify":  # recording it clears the rows
            notices = [step.notice[i] for i in range(step.count)]
            self.notified += [
                ("notify", self._id(each.node), self._id(each.to)) for each in notices
            ]
            self.batches.append(step.count)
        assert self.lib.cr_step_done(self.journal, self.epoch, self.plan) == OK
        if NAMES[step.kind] == "destroy-resource":
            self.destroyed += [("destroy-resource", self._id(each), None) for each in self._members]
            self.sizes.append(step.count)

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

    def carry_out(self, name: str, step: Any, single: bool = False) -> None:
        """Carries out one step, which may have been carried out before.

        single: only the first of several notices or resources.
        """
        lib = self.lib
        if name == "await":
            assert lib.cr_step_begin(self.journal, self.epoch, step) == OK
        else:
            taken, attempts = self.ffi.new("cr_step *"), self.journal.attempts
            asked = (self.journal, self.epoch, self.plan, self.model, taken)
            assert lib.cr_step_take(*asked) == OK
            assert self.ffi.buffer(taken)[:] == self.ffi.buffer(step)[:]
            assert self.journal.attempts == attempts + 1
            if single:
                assert lib.cr_step_shorten(self.journal, self.epoch, 1) == OK
                step.count = 1
        info = self.ffi.new("cr_node_info *")
        node = step.pd if name == "destroy-pd" else step.node
        if name == "mark":
            assert lib.cr_model_get(self.model, node, info) == OK
            if info.state == 0:
                assert lib.cr_model_doom(self.model, node) == OK
        elif name == "cut-request":
            lib.cr_model_drop_edge(self.model, REQUEST, step.pd, node)
        elif name == "destroy-resource":
            if not self._members or self._id(self._members[0]) != self._id(node):
                self._members = self._resources(step)
            for each in self._members:
                self._destroy(each)
        elif name in ("destroy-space", "destroy-pd"):
            self._destroy(node)

    def _resources(self, step: Any) -> list[Any]:
        """What a step destroys: so many members of its space, of which the node is the first."""
        lib, info = self.lib, self.ffi.new("cr_node_info *")
        assert lib.cr_model_get(self.model, step.node, info) == OK
        space = self.ffi.new("cr_ref *", info.space)[0]
        if step.count == 1:
            return [self.ffi.new("cr_ref *", step.node)[0]]
        found = []
        walk = self.ffi.new("cr_edge_walk *", lib.cr_model_walk(self.model, space, SUBSET, IN))
        for _ in range(step.count):
            assert lib.cr_model_next(walk)
            found.append(self.ffi.new("cr_ref *", walk.other)[0])
        assert step.count == 32 or not lib.cr_model_next(walk), "all that are left, to the limit"
        return found

    def is_gone(self, node: Any) -> bool:
        """Whether the node is destroyed, or was never there."""
        info = self.ffi.new("cr_node_info *")
        return bool(self.lib.cr_model_get(self.model, node, info) != OK or info.state == 2)

    def _destroy(self, node: Any) -> None:
        if not self.is_gone(node):
            assert self.lib.cr_model_destroy(self.model, node) == OK

    def entries(self) -> list[Step]:
        """The steps that are finished, with one for each notice and each resource."""
        many = ("notify", "destroy-resource")
        return [*(step for step in self.done if step[0] not in many), *self.destroyed,
                *self.notified]  # fmt: skip

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
        other.destroyed = list(self.destroyed)
        other.epoch += 1
        assert self.lib.cr_journal_take_over(other.journal, other.epoch) == OK
        return other


def remaining(cleaner: Cleaner) -> set[str]:
    """The doomed nodes that are not destroyed."""
    nodes = [cleaner.plan.doomed[i].node for i in range(cleaner.plan.n_doomed)]
    return {str(cleaner._id(node)) for node in nodes if not cleaner.is_gone(node)}


def compare(
    model: Model, crash: str, pd_depth: int | None, rs_depth: int | None, seed: int | None
) -> Cleaner:
    cleaner = Cleaner(model, crash, pd_depth, rs_depth)
    cleaner.run(None if seed is None else random.Random(seed))
    cleaner.check()
    assert cleaner.batches == batches(cleaner)
    return cleaner


def batches(cleaner: Cleaner) -> list[int]:
    """How many notices each step queues, if none is left: those in a row to one PD, 32 at most.

    One by one if destructors ran meanwhile: some may have become needless.
    """
    if cleaner.plan.n_destructors:
        return [1] * int(cleaner.plan.n_notices)
    receivers = [receiver for _, _, receiver in cleaner.notified]
    runs = [len(list(run)) for _, run in itertools.groupby(receivers)]
    return [min(32, run - at) for run in runs for at in range(0, run, 32)]
