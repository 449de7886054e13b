# SPDX-License-Identifier: BSD-2-Clause
"""The chain of steps in C, applied to a model in C, gives the reference's final state."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from cellreap.headers import constant
from cellreap.model.csvstate import STATE_VERSION, read_state
from cellreap.model.graph import DESTRUCTOR, Model
from cellreap.model.ids import is_region
from cellreap.model.reference import Plan, destructors, plan
from kit.core_support import SCENARIO, random_model, system
from kit.paths import VERSIONS
from kit.steps_cleaner import (
    ABSENT,
    ARG,
    BUSY,
    CORRUPT,
    EPOCH,
    KIND,
    LATER,
    NAMES,
    NONE,
    OK,
    SUBSCRIBED,
    Cleaner,
    Step,
    compare,
    remaining,
)

JOURNAL_VERSION = constant("steps.h", "CR_JOURNAL_VERSION")


def without_repeats(done: list[Step]) -> list[Step]:
    """Counts a step that is repeated immediately once."""
    return [step for place, step in enumerate(done) if place == 0 or done[place - 1] != step]


def told_as_the_page_says(done: list[Step], wanted: Plan) -> int:
    """Checks the steps of the notify phase.

    Returns the number of groups that the cleanup waited for.
    """
    names = [name for name, _, _ in done]
    steps = [step for step in done if step[0] in ("tell", "await")]
    tells = [at for at, step in enumerate(steps) if step[0] == "tell"]
    owed_tells = len(wanted.pre_destroy)
    end = tells[owed_tells - 1] + 2 if owed_tells else 0  # with the last AWAIT
    told, turns = steps[:end], steps[end:]
    assert all(name == "await" or node == pd for name, node, pd in turns), "destructors"
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
        first = done.index(told[0])
        last = first + len(told) - 1
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


@pytest.mark.behaviour("T-04")
@pytest.mark.parametrize("leaves", [False, True])
def test_no_region_outlives_a_pd_of_whose_address_space_it_is_a_part(leaves: bool) -> None:
    """Nor does it outlive the memory that it maps, though it is left."""
    parts = 0
    for seed in range(60):
        rng = random.Random(seed)
        model = random_model(rng)
        cleaner = Cleaner(model, next(pd for pd in model.pds() if pd != "PD_0"), None, 0)
        cleaner.run(leave=rng if leaves else None, keep=0.5 if leaves else 0)
        holders = Counter(node for pd, node in model.holds if pd != "PD_0")
        parts_of_one = {node for node in filter(is_region, cleaner.wanted.core_freed)
                        if holders[node] == 1}  # fmt: skip
        order = [pd or node for name, node, pd in cleaner.done if name.startswith("destroy-")]
        for pd, node in model.holds:
            if pd in order and node in parts_of_one:
                assert node in order[: order.index(pd)]
                parts += 1
        for upper, lower in model.maps:
            if upper in parts_of_one and not is_region(lower):
                assert upper in order or lower not in order
    assert parts > 10


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
    taken, wanted = ({*each.entries()} for each in (cleaner, whole))
    names = Counter(step for step in cleaner.done if step[0] not in ("await", "notify"))
    assert set(names.values()) == {1}, "no step is done twice"
    assert {step for step in wanted ^ taken if step[0] not in ("cut-request", "notify")} == set()
    assert Counter(cleaner.notified) == Counter(whole.notified)
    assert len(whole.notified) == len(cleaner.wanted.notices)
    told_as_the_page_says(cleaner.done, cleaner.wanted)


@pytest.mark.behaviour("A-22", "T-04")
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
    notices = plan(system(SCENARIO), "PD_1", 1, 0).to_json()["notices"]
    assert Counter(cleaner.notified) == Counter(("notify", node, to) for to, _, node, _ in notices)
    assert not {"tell", "await"} & set(names), "nobody subscribed"


MANY = """
PD_1 holds {files}
PD_2 manages FILE_SPACE_2 with {files}
PD_3 manages BLOCK_SPACE_3 with BLOCK_3_1
PD_1 requests BLOCK_SPACE_3
""".format(files=" ".join(f"FILE_2_{n:x}" for n in range(1, 71)))
"""The end of PD_1 owes PD_2 70 notices, and PD_3 one."""


def up_to_notices(cleaner: Cleaner) -> tuple[Step, Any]:
    """Carries out what comes before. Returns the first step that queues notices."""
    for _ in range(1000):
        told, step = cleaner.next()
        if told[0] == "notify":
            return told, step
        cleaner.carry_out(told[0], step)
        cleaner.finish(step)
    raise AssertionError("no notices")


@pytest.mark.behaviour("T-04")
def test_notices_to_one_pd_are_queued_by_one_step_up_to_a_limit() -> None:
    cleaner = compare(system(MANY), "PD_1", 0, 0, None)
    assert sorted(cleaner.batches) == [1, 6, 32, 32]
    notices = cleaner.wanted.to_json()["notices"]
    assert Counter(cleaner.notified) == Counter(("notify", node, to) for to, _, node, _ in notices)


@pytest.mark.behaviour("T-04")
@pytest.mark.parametrize("manager_dies", [True, False])
def test_resources_of_a_space_are_destroyed_together_up_to_a_limit(manager_dies: bool) -> None:
    files = "FILE_SPACE_2 maps BLOCK_SPACE_3"
    crash, depths = ("PD_2", (0, 0)) if manager_dies else ("PD_3", (0, 1))
    cleaner = compare(system(MANY + files), crash, *depths, None)
    assert [size for size in cleaner.sizes if size > 1] == [32, 32, 6]
    gone = {step[1] for step in cleaner.destroyed}
    assert {f"FILE_2_{n:x}" for n in range(1, 71)} <= gone
    assert len(gone) == len(cleaner.destroyed) == sum(cleaner.sizes)


def test_a_step_can_be_shortened_to_what_it_has_queued() -> None:
    cleaner = Cleaner(system(MANY), "PD_1", 0, 0)
    lib, journal = cleaner.lib, cleaner.journal
    assert lib.cr_step_shorten(journal, 1, 1) == ABSENT
    _, step = up_to_notices(cleaner)
    at, count = journal.index, step.count
    cleaner.carry_out("notify", step)
    assert lib.cr_step_shorten(journal, 1, 0) == ARG
    assert lib.cr_step_shorten(journal, 1, count + 1) == ARG
    assert lib.cr_step_shorten(journal, 2, 1) == EPOCH
    assert lib.cr_step_shorten(journal, 1, count) == OK
    less = 1 if count == 1 else 5
    assert lib.cr_step_shorten(journal, 1, less) == OK
    _, again = cleaner.next()
    assert (again.count, again.notice) == (less, step.notice)
    cleaner.finish(again)
    assert journal.index == at + less
    cleaner.run()
    assert len(cleaner.notified) == len(set(cleaner.notified)) == 71


def test_of_several_notices_the_first_is_left_and_the_others_come_one_by_one() -> None:
    cleaner = Cleaner(system(MANY), "PD_1", 0, 0)
    lib, journal = cleaner.lib, cleaner.journal
    first, step = up_to_notices(cleaner)
    if step.count == 1:
        cleaner.carry_out("notify", step)
        cleaner.finish(step)
        first, step = cleaner.next()
    assert step.count == 32
    assert lib.cr_step_begin(journal, 1, step) == OK
    assert lib.cr_step_leave(journal, 1) == OK
    cleaner.run()
    assert cleaner.notified.count(first) == 1
    assert set(cleaner.batches) == {1}
    assert len(cleaner.notified) == len(set(cleaner.notified)) == 71


@pytest.mark.parametrize("count", [0, 33, 2**32 - 1])
def test_a_journal_with_a_step_of_more_entries_than_there_are_is_refused(count: int) -> None:
    cleaner = Cleaner(system(MANY), "PD_1", 0, 0)
    lib, journal = cleaner.lib, cleaner.journal
    _, step = up_to_notices(cleaner)
    assert lib.cr_step_begin(journal, 1, step) == OK
    journal.count = count
    assert lib.cr_step_next(journal, cleaner.plan, cleaner.model, step) == CORRUPT
    assert lib.cr_step_done(journal, 1, cleaner.plan) == CORRUPT


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


@pytest.mark.behaviour("A-24")
@pytest.mark.parametrize("seed", range(60))
def test_what_survivors_do_while_subscribers_are_waited_for_is_cleaned_up_too(seed: int) -> None:
    rng = random.Random(seed)
    model = random_model(rng, scale=2)
    crash = rng.choice([pd for pd in model.pds() if pd != "PD_0"])
    cleaner = Cleaner(model, crash, rng.choice([0, 0, 1]), rng.choice([0, 1]))
    cleaner.run(meanwhile=rng)
    told_as_the_page_says(cleaner.done, cleaner.wanted)
    assert len(cleaner.notified) == len(cleaner.wanted.notices)
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
                assert cleaner.lib.cr_step_done(cleaner.journal, cleaner.epoch, cleaner.plan) == OK
        heir = cleaner.successor()
        heir.run()
        heir.check()
        repeated = 0 if counted or cut == 0 else 1
        assert heir.done == whole.done[:cut] + whole.done[cut - repeated :]
        assert heir.journal.done == len(whole.done)


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
    assert lib.cr_step_take(journal, 1, cleaner.plan, cleaner.model, step) == EPOCH
    assert lib.cr_step_note(journal, 1, 7) == EPOCH
    assert lib.cr_step_done(journal, 1, cleaner.plan) == EPOCH
    assert bytes(cleaner.ffi.buffer(journal)) == before
    assert lib.cr_step_begin(journal, 2, step) == OK
    assert (journal.attempts, journal.epoch) == (2, 2)
    assert lib.cr_step_done(journal, 2, cleaner.plan) == OK


@pytest.mark.behaviour("T-02")
def test_the_journal_tells_what_was_begun_and_how_far_it_is() -> None:
    cleaner = Cleaner(system(SCENARIO), "PD_1", 0, 0)
    told, step = cleaner.next()
    lib, journal = cleaner.lib, cleaner.journal
    assert lib.cr_step_note(journal, 1, 7) == ABSENT
    assert lib.cr_step_done(journal, 1, cleaner.plan) == ABSENT
    assert lib.cr_step_begin(journal, 1, step) == OK
    assert lib.cr_step_note(journal, 1, 7) == OK
    other = cleaner.ffi.new("cr_step *", {"kind": KIND["CR_STEP_MARK"], "count": 1})
    assert lib.cr_step_begin(journal, 1, other) == BUSY
    heir = cleaner.successor()
    again, _ = heir.next()
    assert (again, heir.journal.attempts, heir.journal.half) == (told, 1, 7)
    assert lib.cr_step_done(heir.journal, 2, heir.plan) == OK
    following, _ = heir.next()
    assert following != told
    assert lib.cr_step_begin(heir.journal, 2, heir.next()[1]) == OK
    assert (heir.journal.attempts, heir.journal.half) == (1, 0)


def rows_of(cleaner: Cleaner) -> set[Step]:
    """Each step that the plan and the model can have, with any resource of a doomed node."""
    plan, ident = cleaner.plan, cleaner._id
    doomed = {str(ident(plan.doomed[i].node)) for i in range(plan.n_doomed)}
    model = cleaner.survivors.model
    members = {
        *(res for space in doomed & model.manager.keys() for res in model.resources_in(space)),
        *(model.body_of(pd) for pd in doomed & set(model.pds())),
    }
    steps: set[Step] = {("await", None, None), ("settle", None, None)}
    for node in doomed:
        steps |= {("suspend", None, node), ("mark", node, None), ("destroy-space", node, None)}
        steps |= {("destroy-pd", node, node), ("tell", node, node)}
        steps.add(("cut-request", node, None))
    freed = {ident(plan.core_freed[i]) for i in range(plan.n_core_freed)}
    steps |= {("destroy-resource", res, None) for res in (*members, *freed, None)}
    for i in range(plan.n_pre_destroy):
        steps.add(("tell", ident(plan.pre_destroy[i].node), ident(plan.pre_destroy[i].pd)))
    for i in range(plan.n_notices):
        steps.add(("notify", ident(plan.notices[i].node), ident(plan.notices[i].to)))
    return steps


@pytest.mark.parametrize("seed", range(20))
def test_no_journal_leads_to_a_step_of_anything_but_the_plan(seed: int) -> None:
    """Whatever bits of it are wrong, at any step, begun or not. Nor is anything forgotten."""
    rng = random.Random(seed)
    model = random_model(rng, scale=2)
    cleaner = Cleaner(model, sorted(pd for pd in model.pds() if pd != "PD_0")[0], 1, 1)
    lib, ffi, plan = cleaner.lib, cleaner.ffi, cleaner.plan
    rows, step, bad = rows_of(cleaner), ffi.new("cr_step *"), ffi.new("cr_journal *")
    data, refused, taken = ffi.buffer(bad), 0, 0
    kept = [ffi.buffer(plan.doomed, plan.n_doomed * ffi.sizeof("cr_doomed")),
            ffi.buffer(plan.core_freed, plan.n_core_freed * ffi.sizeof("cr_ref")),
            ffi.buffer(plan.notices, plan.n_notices * ffi.sizeof("cr_notice"))]  # fmt: skip
    while (told := cleaner.next())[0][0] != "settle":
        begins = rng.random() < 0.5
        if begins:
            cleaner.carry_out(told[0][0], told[1])
        before = [bytes(each) for each in kept]
        for _ in range(40):
            ffi.memmove(bad, cleaner.journal, len(data))
            for _ in range(rng.randint(1, 3)):
                at = rng.randrange(len(data))
                data[at] = bytes([data[at][0] ^ 1 << rng.randrange(8)])
            status = lib.cr_step_take(bad, bad.epoch, plan, cleaner.model, step)
            if status == OK:
                found = (NAMES[step.kind], cleaner._id(step.node), cleaner._id(step.pd))
                if found[0] == "cut-request":
                    found = (*found[:2], None)  # who has no such request loses nothing
                gone = found[0] == "destroy-resource" and cleaner.is_gone(step.node)
                assert gone or found in rows
                if found[0] == "settle" and bad.n_kept == 0:
                    assert remaining(cleaner) == set()
                    assert all(plan.notices[i].to.index == NONE for i in range(plan.n_notices))
                taken += 1
            else:
                assert status == CORRUPT
                refused += 1
            for each, old in zip(kept, before, strict=True):
                each[:] = old
        if not begins:
            cleaner.carry_out(told[0][0], told[1])
        cleaner.finish(told[1])
    assert refused > 0
    assert taken > 0


@pytest.mark.behaviour("T-26")
def test_a_journal_is_carried_on_in_a_later_epoch_and_one_of_another_version_is_refused() -> None:
    cleaner = Cleaner(system(SUBSCRIBED), "PD_1", 1, 0)
    lib, journal = cleaner.lib, cleaner.journal
    told, step = cleaner.next()
    cleaner.carry_out(told[0], step)
    assert lib.cr_journal_take_over(journal, cleaner.epoch) == EPOCH
    assert lib.cr_journal_take_over(journal, 10) == OK
    assert (journal.epoch, journal.attempts) == (10, 1)
    for version in (JOURNAL_VERSION - 1, JOURNAL_VERSION + 1):
        journal.version = version
        assert lib.cr_journal_take_over(journal, 11) == LATER


@pytest.mark.parametrize(("field", "value"), [("index", 5), ("index", 0xFFFFFFFF), ("awaited", 2)])
def test_a_cursor_that_the_plan_does_not_have_is_refused(field: str, value: int) -> None:
    """Four subscribers are told, and the cursor is behind the first."""
    cleaner = Cleaner(system(SUBSCRIBED), "PD_1", 1, 0)
    while not cleaner.done or cleaner.done[-1][0] != "tell":
        told, step = cleaner.next()
        cleaner.done.append(told)
        cleaner.carry_out(told[0], step)
        assert cleaner.lib.cr_step_done(cleaner.journal, cleaner.epoch, cleaner.plan) == OK
    assert (cleaner.plan.n_pre_destroy, cleaner.journal.index, cleaner.journal.awaited) == (4, 1, 0)
    setattr(cleaner.journal, field, value)
    assert cleaner.lib.cr_step_next(cleaner.journal, cleaner.plan, cleaner.model, step) == CORRUPT


# -- stored journals


STORED = VERSIONS / f"journal-{JOURNAL_VERSION}.txt"
STATE = VERSIONS / f"state-{STATE_VERSION}.csv"


def record(path: Path) -> None:
    """Writes the journals of this version, before each step and when it has begun."""
    cleaner = Cleaner(read_state(STATE)[0], "PD_1", 1, 0)
    rows: list[str] = []

    def written() -> str:
        return bytes(cleaner.ffi.buffer(cleaner.journal)).hex()

    while not rows or "settle" not in rows[-1]:
        told, step = cleaner.next()
        text = " ".join(word or "-" for word in told)
        rows.append(f"{written()} next {text}")
        if told[0] != "settle":
            cleaner.carry_out(told[0], step)
            rows.append(f"{written()} begun {text}")
            assert cleaner.lib.cr_step_done(cleaner.journal, cleaner.epoch, cleaner.plan) == OK
    path.write_text("\n".join(rows) + "\n")


@pytest.mark.behaviour("T-26", "T-27")
def test_a_stored_cleanup_is_carried_on_from_any_step(rewrite: bool) -> None:
    """Each line is a journal as it was left in the cleanup of PD_1 in the stored state: the step
    after it comes next, or has begun and is carried out again.
    """
    if rewrite:
        record(STORED)
    rows = [line.split() for line in STORED.read_text().splitlines()]
    steps = [tuple(None if word == "-" else word for word in row[2:]) for row in rows]
    whole = [steps[at] for at, row in enumerate(rows) if row[1] == "next"]
    notices = compare(read_state(STATE)[0], "PD_1", 1, 0, None).notified
    done = -1
    for (stored, how, *_), step in zip(rows, steps, strict=True):
        done += how == "next"
        cleaner = Cleaner(read_state(STATE)[0], "PD_1", 1, 0)
        for _ in range(done):
            told, at = cleaner.next()
            cleaner.carry_out(told[0], at)
            cleaner.finish(at)
        heir = cleaner.successor()
        heir.ffi.memmove(heir.journal, bytes.fromhex(stored), len(stored) // 2)
        assert heir.lib.cr_journal_take_over(heir.journal, 2) == OK
        assert (heir.journal.version, heir.journal.epoch) == (JOURNAL_VERSION, 2)
        assert (heir.journal.done, heir.journal.attempts) == (done, int(how == "begun"))
        index = heir.journal.index if step[0] == "notify" else 0
        heir.done, heir.notified, heir.destroyed = [], [], []
        heir.run()
        heir.check()
        assert heir.notified == notices[index:] if step[0] != "settle" else not heir.notified
        assert step == whole[done]
    assert done == len(whole) - 1 >= 24 - len(notices)


@pytest.mark.behaviour("S-06")
def test_destructors_have_their_turns_in_the_order_of_the_groups() -> None:
    """PD_1 crashes; PD_3 and PD_4 have destructors, and PD_4 is told of its own end before, too."""
    model = system(SCENARIO)
    for pd in ("PD_1", "PD_3", "PD_4"):
        model.add_subscribe(pd, pd, handler=DESTRUCTOR)
    model.add_subscribe("PD_4", "PD_4", handler=1)
    cleaner = Cleaner(model, "PD_1", None, 0)
    assert cleaner.wanted.pre_destroy == [("PD_4", "PD_4")]
    cleaner.run()
    turns = [step for step in cleaner.done if step[0] in ("tell", "await", "suspend", "destroy-pd")]
    assert turns == [
        ("suspend", None, "PD_1"),
        ("tell", "PD_4", "PD_4"),
        ("await", None, None),
        ("suspend", None, "PD_5"),
        ("destroy-pd", "PD_1", "PD_1"),
        *[
            step
            for pd in ("PD_3", "PD_4")
            for step in (
                ("tell", pd, pd),
                ("await", None, None),
                ("suspend", None, pd),
                ("destroy-pd", pd, pd),
            )
        ],
        ("destroy-pd", "PD_5", "PD_5"),
    ]


def ended_as_the_page_says(done: list[Step], wanted: Plan, model: Model) -> int:
    """Checks the turns of destructors against the reference. Returns how many there were."""
    ends = destructors(model, wanted)
    group = {node: at for at, nodes in enumerate(wanted.groups) for node in nodes}
    gone: set[str | None] = set()
    told: list[str | None] = []
    awaited: set[str | None] = set()
    stopped: set[str | None] = set()
    first = next(at for at, step in enumerate(done) if step[0].startswith(("destroy", "cut")))
    turns = [at for at, step in enumerate(done) if step[0] == "tell"][len(wanted.pre_destroy) :]
    for name, node, pd in done[min([first, *turns]) :]:
        if name == "tell":
            assert node == pd in ends
            assert {each for each in group if group[each] < ends[str(pd)]} == gone
            told.append(pd)
        elif name == "await":
            awaited |= {each for each in ends if ends[each] == ends[str(told[-1])]}
            assert awaited == set(told), "all of the group are told"
        elif name == "suspend":
            assert pd in awaited
            stopped.add(pd)
        elif name in ("destroy-pd", "destroy-space"):
            assert {each for each in ends if ends[each] <= group[str(node)]} == stopped
            gone.add(node)
    assert sorted(told, key=str) == sorted(ends)
    return len(told)


@pytest.mark.behaviour("S-06")
def test_destructors_run_in_the_order_of_the_reference() -> None:
    """Some models have subscriptions of PDs to themselves with other handlers, too."""
    turns = 0
    for seed in range(150):
        rng = random.Random(seed)
        model = random_model(rng, scale=2)
        pds = [pd for pd in model.pds() if pd != "PD_0"]
        for pd in pds:
            if rng.random() < 0.6:
                model.add_subscribe(pd, pd, handler=DESTRUCTOR)
        cleaner = compare(model, rng.choice(pds), rng.choice([1, 2, None]), 0, None)
        told_as_the_page_says(cleaner.done, cleaner.wanted)
        turns += ended_as_the_page_says(cleaner.done, cleaner.wanted, model)
    assert turns > 50


@pytest.mark.behaviour("S-06")
def test_what_a_manager_deleted_while_destructors_ran_is_told_no_more() -> None:
    """PD_1 crashes, and PD_3, which held a resource of PD_4's, runs its destructor."""
    model = system(
        """
        PD_1 manages BLOCK_SPACE_1 with BLOCK_1_1
        PD_4 manages FILE_SPACE_4 with FILE_4_1
        PD_3 requests BLOCK_SPACE_1
        PD_3 holds FILE_4_1
        """
    )
    model.add_subscribe("PD_3", "PD_3", handler=DESTRUCTOR)
    cleaner = Cleaner(model, "PD_1", 1, 0)
    assert [notice[:3] for notice in cleaner.wanted.notices] == [("PD_4", "free", "FILE_4_1")]
    while (told := cleaner.next())[0][0] != "await":
        cleaner.carry_out(told[0][0], told[1])
        cleaner.finish(told[1])
    ref = cleaner.core.ffi.new("cr_ref *", cleaner.core.ref("FILE_4_1"))
    cleaner._destroy(cleaner.ffi.cast("cr_ref *", ref)[0])
    cleaner.run()
    assert cleaner.notified == []
