# SPDX-License-Identifier: BSD-2-Clause
"""Steps of a cleanup that fail again and again: the rest goes on, and a later run does them."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from kit.core_support import SCENARIO, random_model, system
from kit.steps_cleaner import ABSENT, EPOCH, NONE, OK, STATE, SUBSCRIBED, Cleaner, remaining


@pytest.mark.behaviour("X-24", "T-01", "T-08")
@pytest.mark.parametrize("seed", range(60))
def test_what_fails_in_the_second_run_too_is_kept_and_a_later_run_does_it(seed: int) -> None:
    """Nothing that depends on it is done before, and all else is."""
    rng = random.Random(seed)
    model = random_model(rng, scale=2)
    crash = rng.choice([pd for pd in model.pds() if pd != "PD_0"])
    cleaner = Cleaner(model, crash, rng.choice([0, 1, None]), rng.choice([0, 1]))
    managers = {space: model.manager[space] for space in cleaner.wanted.deleted_spaces}
    cleaner.run(leave=rng, keep=0.5)
    for later in range(20):
        left = remaining(cleaner)
        for space in left & managers.keys():
            assert managers[space] in left or managers[space] not in cleaner.wanted.doomed()
        notices = cleaner.wanted.to_json()["notices"]
        gone = Counter(("notify", node, to) for to, _, node, dead in notices
                       if (dead or node) not in left)  # fmt: skip
        assert not Counter(cleaner.notified) - gone, "nobody is told that what is left is gone"
        if cleaner.journal.n_kept == 0:
            break
        cleaner.plan.n_pre_destroy = 0
        assert cleaner.lib.cr_journal_run_again(cleaner.journal, cleaner.epoch) == OK
        cleaner.run(leave=rng, keep=0.5 if later < 3 else 0.05)
    assert remaining(cleaner) == set()
    cleaner.check()
    counts = Counter(step for step in cleaner.done if step[0] not in ("await", "notify"))
    assert set(counts.values()) == {1}, "no step is done twice"
    assert Counter(cleaner.notified) == gone, "each notice once"


@pytest.mark.behaviour("T-08")
def test_any_number_of_steps_can_be_left() -> None:
    """Every step that can be left is: nothing is destroyed, and a later run does all."""
    cleaner = Cleaner(system(SUBSCRIBED), "PD_1", None, None)
    always = random.Random(1)
    always.random = lambda: 0.0  # type: ignore[method-assign]
    cleaner.run(leave=always, keep=1)
    assert {name for name, _, _ in cleaner.done} == {"tell", "await"}
    assert remaining(cleaner) == cleaner.wanted.doomed()
    cleaner.plan.n_pre_destroy = 0
    assert cleaner.lib.cr_journal_run_again(cleaner.journal, cleaner.epoch) == OK
    cleaner.run()
    cleaner.check()
    names = [name for name, _, _ in cleaner.done]
    assert len(cleaner.notified) == len(cleaner.wanted.notices)
    assert names.count("suspend") == len(cleaner.wanted.destroyed_pds)


def test_the_rows_of_notices_that_are_left_are_those_that_still_have_a_receiver() -> None:
    cleaner = Cleaner(system(SCENARIO), "PD_1", 1, 0)
    lib, journal = cleaner.lib, cleaner.journal
    for _ in range(10_000):
        told, step = cleaner.next()
        if told[0] == "settle":
            break
        if told[0] == "notify" and journal.index != 0:
            assert lib.cr_step_begin(journal, 1, step) == OK
            assert lib.cr_step_leave(journal, 1) == OK
            continue
        cleaner.carry_out(told[0], step)
        assert told[0] != "notify" or lib.cr_step_shorten(journal, 1, 1) == OK
        assert lib.cr_step_done(journal, 1, cleaner.plan) == OK
    owed = [cleaner.plan.notices[i].to.index != NONE for i in range(cleaner.plan.n_notices)]
    assert owed == [False, *[True] * journal.n_kept]
    assert journal.n_kept > 1


def test_a_step_is_left_once_in_each_run_over_its_phase() -> None:
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
    assert (journal.attempts, journal.half) == (1, 0)
    assert lib.cr_journal_run_again(journal, 1) == STATE
    assert lib.cr_step_leave(journal, 1) == OK
    assert journal.n_kept == 1
    assert cleaner.next()[0][0] == "mark"
    assert lib.cr_journal_run_again(journal, 0) == EPOCH
    assert lib.cr_journal_run_again(journal, 1) == OK
    assert cleaner.next()[0] == first, "a later run begins with it"
