# SPDX-License-Identifier: BSD-2-Clause
"""The chain of steps in C, applied to a model in C, gives the reference's final state."""

from __future__ import annotations

import random
import struct
from collections import Counter
from typing import Any

import pytest

from cellreap.headers import enums
from cellreap.model import reference
from cellreap.model.core import HEADERS, CoreModel, load_core
from cellreap.model.graph import Model
from cellreap.model.reference import Plan, apply, plan
from kit.core_support import SCENARIO, Survivors, random_model, system

KIND = enums("steps.h")["cr_step_kind"]
REQUEST = enums("model.h")["cr_edge_kind"]["CR_EDGE_REQUEST"]
STATUS = enums("status.h")["cr_status"]
CORRUPT, EPOCH, LATER = (STATUS[f"CR_ERR_{name}"] for name in ("CORRUPT", "EPOCH", "VERSION"))
ABSENT, BUSY = STATUS["CR_ERR_ABSENT"], STATUS["CR_ERR_BUSY"]
STATE, FULL = STATUS["CR_ERR_STATE"], STATUS["CR_ERR_FULL_PLAN"]
OK = 0
CURSOR = ("phase", "index", "done", "awaited")
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
        self.wanted = plan(model, crash, pd_depth, rs_depth)
        self.survivors = Survivors(model.copy(), self.core, self.wanted.doomed())

    def _id(self, ref: Any) -> str | None:
        return None if ref.index == 0xFFFFFFFF else self.core._ids.get((ref.index, ref.generation))

    def next(self) -> tuple[Step, Any]:
        """The step at the cursor."""
        step = self.ffi.new("cr_step *")
        assert self.lib.cr_step_next(self.journal, self.plan, self.model, step) == OK
        return (NAMES[step.kind], self._id(step.node), self._id(step.pd)), step

    def leaves(self, step: Any, rng: random.Random) -> bool:
        """Leaves the step, at random before or after it was carried out. Whether that is done."""
        told = NAMES[step.kind]
        if rng.random() < 0.5:
            self.carry_out(told, step)
        else:
            assert self.lib.cr_step_begin(self.journal, self.epoch, step) == OK
        status = self.lib.cr_step_leave(self.journal, self.epoch)
        kept = self.journal.second != 0 or told in ("tell", "await")
        assert status == STATE if kept else status in (OK, FULL)
        return bool(status == OK)

    def run(
        self,
        again: random.Random | None = None,
        meanwhile: random.Random | None = None,
        leave: random.Random | None = None,
    ) -> None:
        """Runs the steps to the end.

        again: some steps are repeated, as by a successor that cannot know better. meanwhile:
        survivors act while the cleanup waits for subscribers, and the plan is made again. leave:
        some steps are left for a second run over their phase.
        """
        for _ in range(10_000):
            told, step = self.next()
            if told[0] == "settle":
                return
            if leave is not None and leave.random() < 0.3 and self.leaves(step, leave):
                continue
            self.done.append(told)
            self.carry_out(told[0], step)
            if meanwhile is not None and told[0] == "await":
                for _ in range(meanwhile.randint(0, 6)):
                    self.survivors.something(meanwhile)
                self.replan()
            if again is None or again.random() < 0.7:
                assert self.lib.cr_step_done(self.journal, self.epoch) == OK
        raise AssertionError("the chain does not end")

    def replan(self) -> None:
        """Replans on both sides."""
        got = self.core.replan(self.raw)
        self.wanted = reference.replan(self.survivors.model, self.wanted)
        assert got.outcome() == self.wanted.outcome()

    def carry_out(self, name: str, step: Any) -> None:
        """Carries out one step, which may have been carried out before."""
        lib = self.lib
        assert lib.cr_step_begin(self.journal, self.epoch, step) == OK
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
        other.done = list(self.done)
        other.epoch += 1
        assert self.lib.cr_journal_take_over(other.journal, other.epoch) == OK
        return other


def compare(
    model: Model, crash: str, pd_depth: int | None, rs_depth: int | None, seed: int | None
) -> Cleaner:
    cleaner = Cleaner(model, crash, pd_depth, rs_depth)
    cleaner.run(None if seed is None else random.Random(seed))
    cleaner.check()
    return cleaner


def without_repeats(done: list[Step]) -> list[Step]:
    """Counts a step that is repeated immediately once."""
    return [step for place, step in enumerate(done) if place == 0 or done[place - 1] != step]


def told_as_the_page_says(done: list[Step], wanted: Plan) -> int:
    """Checks the steps of the notify phase.

    Returns the number of groups that the cleanup waited for.
    """
    names = [name for name, _, _ in done]
    told = [step for step in done if step[0] in ("tell", "await")]
    groups: list[set[tuple[str | None, str | None]]] = [set()]
    for name, node, pd in told:
        if name == "await":
            groups.append(set())
        else:
            assert (pd, node) not in groups[-1]
            groups[-1].add((pd, node))
    assert groups.pop() == set(), "the last thing is to wait"
    owed = [
        {pair for pair in wanted.pre_destroy if pair[1] in group}
        for group in reversed(wanted.groups)
    ]
    assert groups == [group for group in owed if group]
    if told:
        first, last = done.index(told[0]), len(done) - 1 - done[::-1].index(told[-1])
        depths = dict(wanted.destroyed_pds)
        stopped = {pd for name, _, pd in done[:first] if name == "suspend"}
        assert stopped == {pd for pd, depth in depths.items() if depth == 0}
        assert names[:first].count("mark") == len(wanted.doomed())
        assert set(names[first : last + 1]) == {"tell", "await"}
    return len(groups)


@pytest.mark.parametrize("seed", range(150))
def test_the_chain_leaves_the_state_that_the_reference_leaves(seed: int) -> None:
    rng = random.Random(seed)
    model = random_model(rng)
    pds = [pd for pd in model.pds() if pd != "PD_0"]
    for crash in pds[:3]:
        depths = rng.choice([0, 1, 2, None]), rng.choice([0, 1, 2, None])
        once = compare(model, crash, *depths, None)
        told_as_the_page_says(once.done, once.wanted)
        repeated = compare(model, crash, *depths, seed)
        assert without_repeats(repeated.done) == without_repeats(once.done)


@pytest.mark.behaviour("X-24")
@pytest.mark.parametrize("seed", range(60))
def test_steps_that_are_left_are_done_in_a_second_run_and_the_rest_goes_on(seed: int) -> None:
    rng = random.Random(seed)
    model = random_model(rng, scale=2)
    crash = rng.choice([pd for pd in model.pds() if pd != "PD_0"])
    depths = rng.choice([0, 1, None]), rng.choice([0, 1])
    whole = compare(model, crash, *depths, None)
    cleaner = Cleaner(model, crash, *depths)
    cleaner.run(leave=rng)
    cleaner.check()
    # A client that goes before the space needs no cut.
    taken, wanted = ({*done} for done in (cleaner.done, whole.done))
    names = Counter(step for step in cleaner.done if step[0] not in ("await", "notify"))
    assert set(names.values()) == {1}, "no step is done twice"
    assert {step for step in wanted ^ taken if step[0] != "cut-request"} == set()
    assert [step[0] for step in cleaner.done].count("notify") == len(cleaner.wanted.notices)
    told_as_the_page_says(cleaner.done, cleaner.wanted)


def test_a_step_is_left_once_and_the_journal_has_room_for_few() -> None:
    cleaner = Cleaner(system(SCENARIO), "PD_1", 2, 2)
    lib, journal = cleaner.lib, cleaner.journal
    assert lib.cr_step_leave(journal, 1) == ABSENT
    first, step = cleaner.next()
    assert first[0] == "suspend"
    assert lib.cr_step_begin(journal, 1, step) == OK
    assert lib.cr_step_note(journal, 1, 5) == OK
    assert lib.cr_step_leave(journal, 2) == EPOCH
    assert lib.cr_step_leave(journal, 1) == OK
    again, step = cleaner.next()
    assert (again, journal.second) == (first, 1), "it is the only one of its phase"
    assert lib.cr_step_begin(journal, 1, step) == OK
    assert (journal.attempts, journal.half) == (1, 5)
    assert lib.cr_step_leave(journal, 1) == STATE
    assert lib.cr_step_done(journal, 1) == OK
    assert cleaner.next()[0][0] == "mark"


@pytest.mark.behaviour("T-04")
def test_steps_come_in_the_order_of_the_page() -> None:
    cleaner = compare(system(SCENARIO), "PD_1", 1, 0, None)
    names = [name for name, _, _ in cleaner.done]
    assert cleaner.done[0] == ("suspend", None, "PD_1")
    first = {name: names.index(name) for name in dict.fromkeys(names)}
    last = {name: len(names) - 1 - names[::-1].index(name) for name in first}
    assert last["mark"] < cleaner.done.index(("suspend", None, "PD_3")) < first["cut-request"]
    order = [
        node or pd for name, node, pd in cleaner.done if name in ("destroy-space", "destroy-pd")
    ]
    assert (order[0], set(order[1:3]), order[3:]) == (
        "BLOCK_SPACE_1",
        {"PD_1", "FILE_SPACE_3"},
        ["PD_3"],
    )
    assert max(last[name] for name in ("destroy-pd", "destroy-space")) < first["notify"]
    assert names.count("notify") == len(plan(system(SCENARIO), "PD_1", 1, 0).to_json()["notices"])
    assert not {"tell", "await"} & set(names), "nobody subscribed"


@pytest.mark.behaviour("G-09")
def test_subscribers_are_told_from_the_last_group_to_the_first_and_waited_for_after_each() -> None:
    cleaner = compare(system(SUBSCRIBED), "PD_1", 1, 0, None)
    told = [step for step in cleaner.done if step[0] in ("tell", "await")]
    # Groups: the blocks, then PD_1 and the files, which are built on the blocks, then PD_3.
    assert told[:2] == [("tell", "PD_3", "PD_4"), ("await", None, None)]
    assert set(told[2:4]) == {("tell", "PD_1", "PD_3"), ("tell", "FILE_SPACE_3", "PD_3")}
    assert told[4:] == [
        ("await", None, None),
        ("tell", "BLOCK_SPACE_1", "PD_4"),
        ("await", None, None),
    ]
    place = cleaner.done.index(told[0])
    before, after = cleaner.done[:place], cleaner.done[place + len(told) :]
    assert [name for name, _, _ in before] == ["suspend", *["mark"] * 4]
    assert after[0] == ("suspend", None, "PD_3"), "who was told may still work until then"


def test_several_groups_are_waited_for_in_random_systems() -> None:
    several = 0
    for seed in range(120):
        model = random_model(random.Random(seed), scale=2)
        crash = sorted(pd for pd in model.pds() if pd != "PD_0")[0]
        cleaner = compare(model, crash, None, None, None)
        several += told_as_the_page_says(cleaner.done, cleaner.wanted) > 1
    assert several > 10


@pytest.mark.parametrize("seed", range(60))
def test_what_survivors_do_while_subscribers_are_waited_for_is_cleaned_up_too(seed: int) -> None:
    rng = random.Random(seed)
    model = random_model(rng, scale=2)
    crash = rng.choice([pd for pd in model.pds() if pd != "PD_0"])
    cleaner = Cleaner(model, crash, rng.choice([0, 0, 1]), rng.choice([0, 1]))
    cleaner.run(meanwhile=rng)
    told_as_the_page_says(cleaner.done, cleaner.wanted)
    assert [name for name, _, _ in cleaner.done].count("notify") == len(cleaner.wanted.notices)
    cleaner.check()


@pytest.mark.parametrize("counted", [True, False], ids=["after the step", "before it was counted"])
@pytest.mark.parametrize("seed", [None, *range(6)])
def test_whoever_finds_the_journal_goes_on_from_any_point(seed: int | None, counted: bool) -> None:
    """At each step another cleaner takes the journal over: right after the step was recorded, or
    when it was done but not recorded.
    """
    if seed is None:
        model, crash, depths = system(SUBSCRIBED), "PD_1", (1, 0)
    else:
        model = random_model(random.Random(seed))
        crash, depths = sorted(pd for pd in model.pds() if pd != "PD_0")[0], (1, 0)
    whole = compare(model, crash, *depths, None)
    for cut in range(len(whole.done) + 1):
        cleaner = Cleaner(model, crash, *depths)
        for _ in range(cut):
            told, step = cleaner.next()
            cleaner.done.append(told)
            cleaner.carry_out(told[0], step)
            if counted or len(cleaner.done) < cut:
                assert cleaner.lib.cr_step_done(cleaner.journal, cleaner.epoch) == OK
        heir = cleaner.successor()
        heir.run()
        heir.check()
        repeated = 0 if counted or cut == 0 else 1
        assert heir.done == whole.done[:cut] + whole.done[cut - repeated :]
        assert heir.journal.done == len(whole.done)


def test_what_is_no_journal_is_refused() -> None:
    cleaner = Cleaner(system(SCENARIO), "PD_1", 0, 0)
    cleaner.journal.magic = 1
    step = cleaner.ffi.new("cr_step *")
    lib, journal = cleaner.lib, cleaner.journal
    assert lib.cr_step_next(journal, cleaner.plan, cleaner.model, step) == CORRUPT
    assert lib.cr_step_begin(journal, 1, step) == CORRUPT
    assert lib.cr_step_done(journal, 1) == CORRUPT
    assert lib.cr_journal_take_over(journal, 2) == CORRUPT


@pytest.mark.behaviour("T-24")
def test_a_write_of_an_earlier_epoch_is_refused_and_changes_nothing() -> None:
    cleaner = Cleaner(system(SCENARIO), "PD_1", 0, 0)
    _, step = cleaner.next()
    lib, journal = cleaner.lib, cleaner.journal
    assert lib.cr_step_begin(journal, 1, step) == OK
    assert lib.cr_journal_take_over(journal, 1) == EPOCH
    assert lib.cr_journal_take_over(journal, 2) == OK
    before = bytes(cleaner.ffi.buffer(journal))
    assert lib.cr_step_begin(journal, 1, step) == EPOCH
    assert lib.cr_step_note(journal, 1, 7) == EPOCH
    assert lib.cr_step_done(journal, 1) == EPOCH
    assert bytes(cleaner.ffi.buffer(journal)) == before
    assert lib.cr_step_begin(journal, 2, step) == OK
    assert (journal.attempts, journal.epoch) == (2, 2)
    assert lib.cr_step_done(journal, 2) == OK


@pytest.mark.behaviour("T-02")
def test_the_journal_tells_what_was_begun_and_how_far_it_is() -> None:
    cleaner = Cleaner(system(SCENARIO), "PD_1", 0, 0)
    told, step = cleaner.next()
    lib, journal = cleaner.lib, cleaner.journal
    assert lib.cr_step_note(journal, 1, 7) == ABSENT
    assert lib.cr_step_done(journal, 1) == ABSENT
    assert lib.cr_step_begin(journal, 1, step) == OK
    assert lib.cr_step_note(journal, 1, 7) == OK
    other = cleaner.ffi.new("cr_step *", {"kind": KIND["CR_STEP_MARK"]})
    assert lib.cr_step_begin(journal, 1, other) == BUSY
    heir = cleaner.successor()
    again, _ = heir.next()
    assert (again, heir.journal.attempts, heir.journal.half) == (told, 1, 7)
    assert lib.cr_step_done(heir.journal, 2) == OK
    following, _ = heir.next()
    assert following != told
    assert lib.cr_step_begin(heir.journal, 2, heir.next()[1]) == OK
    assert (heir.journal.attempts, heir.journal.half) == (1, 0)


@pytest.mark.parametrize("field", ["epoch", "phase", "index", "attempts", "half", "checksum"])
def test_a_damaged_journal_is_refused(field: str) -> None:
    cleaner = Cleaner(system(SCENARIO), "PD_1", 0, 0)
    _, step = cleaner.next()
    lib, journal = cleaner.lib, cleaner.journal
    assert lib.cr_journal_check(journal) == OK
    setattr(journal, field, getattr(journal, field) ^ 0x100)
    assert lib.cr_journal_check(journal) == CORRUPT
    assert lib.cr_step_next(journal, cleaner.plan, cleaner.model, step) == CORRUPT
    assert lib.cr_step_begin(journal, journal.epoch, step) == CORRUPT
    assert lib.cr_journal_take_over(journal, journal.epoch + 1) == CORRUPT


def test_a_journal_of_the_version_before_is_read_and_of_the_next_one_refused() -> None:
    """The fixture is what version 1 left in memory: four steps done, the second PD next."""
    cleaner = Cleaner(system(SUBSCRIBED), "PD_1", 1, 0)
    ffi, lib, out = cleaner.ffi, cleaner.lib, cleaner.ffi.new("cr_journal *")
    old = bytes.fromhex("636c6c4a 01000000 03000000 04000000 00000000")
    assert lib.cr_journal_read(old, len(old), 9, out) == OK
    assert (out.phase, out.index, out.done, out.awaited, out.attempts) == (1, 3, 4, 0, 0)
    assert (out.epoch, lib.cr_journal_check(out)) == (9, OK)
    now = bytes(ffi.buffer(out))
    again = ffi.new("cr_journal *")
    assert lib.cr_journal_read(now, len(now), 10, again) == OK
    assert (again.epoch, again.index) == (10, 3)
    assert lib.cr_journal_read(now, len(now), 9, again) == EPOCH
    assert lib.cr_journal_read(old[:-1], len(old) - 1, 9, again) == CORRUPT
    assert lib.cr_journal_read(now, len(now) - 1, 10, again) == CORRUPT
    out.version += 1
    later = bytes(ffi.buffer(out))
    assert lib.cr_journal_read(later, len(later), 10, again) == LATER
    assert lib.cr_journal_check(out) == LATER
    assert lib.cr_journal_read(later + bytes(8), len(later) + 8, 10, again) == LATER


@pytest.mark.parametrize(("field", "value"), [("index", 5), ("index", 0xFFFFFFFF), ("awaited", 2)])
def test_a_cursor_that_the_plan_does_not_have_is_refused(field: str, value: int) -> None:
    """Four subscribers are told, and the cursor is behind the first."""
    cleaner = Cleaner(system(SUBSCRIBED), "PD_1", 1, 0)
    while not cleaner.done or cleaner.done[-1][0] != "tell":
        told, step = cleaner.next()
        cleaner.done.append(told)
        cleaner.carry_out(told[0], step)
        assert cleaner.lib.cr_step_done(cleaner.journal, cleaner.epoch) == OK
    assert (cleaner.plan.n_pre_destroy, cleaner.journal.index, cleaner.journal.awaited) == (4, 1, 0)
    word = {"index": 2, "awaited": 4}[field]
    old = [0x4A6C6C63, *(getattr(cleaner.journal, name) for name in CURSOR)]
    old[word] = value
    forged = struct.pack("<5I", *old)
    assert cleaner.lib.cr_journal_read(forged, len(forged), 2, cleaner.journal) == OK
    assert cleaner.lib.cr_step_next(cleaner.journal, cleaner.plan, cleaner.model, step) == CORRUPT
