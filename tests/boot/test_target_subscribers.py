# SPDX-License-Identifier: BSD-2-Clause
"""A subscriber is told before a node is destroyed. The cleanup waits for it, but not for ever."""

from __future__ import annotations

from pathlib import Path

import pytest

from cellreap.model.csvstate import read_state
from cellreap.system.config import Config, Pd
from cellreap.testing import Change, Run, Target, together, with_crashes, with_pd, with_system
from kit.counted import SLOW_COUNTED

SPACE, BOTH, ITSELF, TWICE, ONCE_LESS = 1, 3, 4, 8, 16
FAILS, NEVER, SLOWLY, EXITS, FAULTS, FLUSHES, EXTRACTS, TRIES = range(1, 9)
GONE = 6
SOON = with_system(deadline_ms=80)


def watcher(wanted: int = SPACE, does: int = 0, more: int = 0) -> Change:
    """A change: what the watcher subscribes to, and what it does when it is told."""
    return with_pd("watcher", args=(wanted, does, more))


def told(run: Run, who: str = "watcher") -> list[str]:
    """What the watcher was told about, by name, before it was destroyed."""
    return [
        run.name(e["node"]) for e in run.of("QUEUE", kind="pre-destroy") if run.name(e["to"]) == who
    ]


def waited(run: Run, n: int = 1) -> tuple[int, int]:
    """Where a cleanup begins to wait, and where it continues."""
    (wait,), (resume,) = run.of("WAIT", n=n), run.of("CONTINUE", n=n)
    return run.at(wait), run.at(resume)


@pytest.mark.behaviour("X-02", "X-05")
def test_nothing_is_destroyed_before_the_subscriber_has_answered(target: Target) -> None:
    run = target.run("subscribed")
    assert told(run) == ["goods"]
    (queued,) = run.of("QUEUE", kind="pre-destroy")
    (ack,) = run.of("FINISH_WORK", token=queued["token"])
    start, end = waited(run)
    assert start < run.at(ack) < end
    assert min(run.at(step) for _, step in run.destroys()) > end


@pytest.mark.slow
@pytest.mark.behaviour("X-02", "A-13")
def test_a_deletion_in_progress_is_visible_and_so_is_that_it_is_over(target: Target) -> None:
    run = target.run("subscribed", change=watcher(BOTH))
    says = run.says("watcher")
    before, after = says[: says.index("at the end")], says[says.index("at the end") :]
    assert "look: space doomed" in before
    assert "look: PD doomed" in before
    assert after[1:] == ["look: space destroyed", "look: PD destroyed"]


def test_told_once_for_each_however_often_subscribed(target: Target) -> None:
    run = target.run("subscribed", change=watcher(BOTH | TWICE))
    assert run.says("watcher")[:2] == ["subscribed: 2 space", "subscribed: 2 PD"]
    assert sorted(told(run)) == ["goods", "victim"]


@pytest.mark.slow
def test_one_unsubscription_of_two_leaves_one(target: Target) -> None:
    assert told(target.run("subscribed", change=watcher(SPACE | TWICE | ONCE_LESS))) == ["goods"]


@pytest.mark.slow
def test_unsubscribed_is_not_told_and_not_waited_for(target: Target) -> None:
    run = target.run("subscribed", change=watcher(SPACE | ONCE_LESS))
    assert "unsubscribed: space, 0" in run.says("watcher")
    assert told(run) == []
    assert not run.of("WAIT")


@pytest.mark.slow
@pytest.mark.behaviour("X-05")
def test_a_subscriber_that_fails_to_answer_well_has_answered(target: Target) -> None:
    run = target.run("subscribed", change=watcher(SPACE, FAILS))
    start, end = waited(run)
    (ack,) = run.of("FINISH_WORK", result="failed")
    assert start < run.at(ack) < end
    assert run.destroyed_pds() == {"victim"}
    assert "watcher" in run.alive()


@pytest.mark.behaviour("X-05", "X-14", "N-11")
def test_a_subscriber_that_never_answers_is_waited_for_until_its_deadline_and_goes_then(
    target: Target,
) -> None:
    run = target.run("subscribed", change=together(SOON, watcher(SPACE, NEVER)))
    (late,) = run.of("TRIGGER", cause="late")
    assert run.name(late["pd"]) == "watcher"
    assert late.number("ms") >= 80
    start, end = waited(run)
    assert start < run.at(late) < end
    causes = [(run.name(c["trigger"]), c["cause"]) for c in run.cleanups()]
    assert causes == [("victim", "fault"), ("watcher", "late")]
    assert run.alive() == {"other", "client"}


@pytest.mark.slow
@pytest.mark.behaviour("C-26")
@pytest.mark.parametrize(("does", "cause"), [(EXITS, "exit"), (FAULTS, "fault")])
def test_who_goes_while_it_is_waited_for_is_cleaned_up_next(
    target: Target, does: int, cause: str
) -> None:
    run = target.run("subscribed", change=watcher(SPACE, does))
    start, end = waited(run)
    (trigger,) = (e for e in run.of("EXIT", "FAULT") if run.name(e["pd"]) == "watcher")
    assert start < run.at(trigger) < end
    causes = [(run.name(c["trigger"]), c["cause"]) for c in run.cleanups()]
    assert causes == [("victim", "fault"), ("watcher", cause)]
    # As if the second trigger had come after the first cleanup: each trigger has its own cleanup.
    assert run.destroyed_pds(1) == {"victim"}
    assert run.destroyed_pds(2) == {"watcher"}


@pytest.mark.slow
@pytest.mark.behaviour("X-05", "X-14")
def test_a_slow_subscriber_is_waited_for(target: Target) -> None:
    run = target.run(
        "subscribed", change=together(with_system(deadline_ms=60_000), watcher(SPACE, SLOWLY, 3000))
    )
    assert not run.of("TRIGGER", cause="late")
    (long,) = run.of("SAY", text="took long")
    start, end = waited(run)
    assert start < run.at(long) < end


def with_watcher(
    requests: tuple[str, ...], args: tuple[int, ...], holds_pds: tuple[str, ...] = ()
) -> Change:
    """A change: adds one PD, which subscribes."""

    def change(config: Config) -> Config:
        pd = Pd(
            name="watcher", program="subscriber", requests=requests, args=args, holds_pds=holds_pds
        )
        return config.model_copy(update={"pds": (*config.pds, pd)})

    return change


def test_a_doomed_server_that_did_not_crash_still_answers_before_it_goes(target: Target) -> None:
    """The file server is doomed with its disk and waits for no PD.

    The subscriber calls it once more.
    """
    run = target.run("flush", pd_depth=1)
    assert run.doomed() == {"block_server_1": "0", "fs": "1"}
    assert told(run) == ["files"]
    # an answer: the server does not know such a call
    assert "flushed: bad request" in run.says("watcher")


@pytest.mark.slow
def test_who_goes_itself_may_want_to_know(target: Target) -> None:
    change = with_watcher(("disk1",), (ITSELF,))
    run = target.run("block_fs_db_app", pd_depth=1, rs_depth=0, change=change)
    assert told(run) == ["watcher"]
    assert "look: itself doomed" in run.says("watcher")
    assert "watcher" in run.destroyed_pds()


@pytest.mark.slow
@pytest.mark.behaviour("X-02")
def test_subscribers_are_told_from_the_last_group_to_the_first(target: Target) -> None:
    config = target.load("block_fs_db_app")[1]
    assert config.crashes[0].pd == "block_server_1"
    change = with_watcher(("disk1", "files", "database"), (SPACE | ITSELF,))
    run = target.run("block_fs_db_app", pd_depth="inf", rs_depth=0, change=change)
    order = [run.groups()[e["node"]] for e in run.of("QUEUE", kind="pre-destroy")]
    assert len(order) == 2
    assert order[0] > order[1]


@pytest.mark.slow
@pytest.mark.behaviour("M-10", "X-02", "A-13")
def test_an_extraction_while_a_cleanup_waits_shows_what_is_doomed(
    target: Target, tmp_path: Path
) -> None:
    change = together(watcher(SPACE, EXTRACTS), with_pd("watcher", may_extract=True))
    run = target.run("subscribed", change=change)
    assert "extracted, state 3" in run.says("watcher")
    start, end = waited(run)
    (extracted,) = run.of("EXTRACTED")
    assert start < run.at(extracted) < end
    rows = [row.split(",") for row in run.report.extractions[0].rows]
    doomed = {row[1] for row in rows if row[0] and "DOOMED" in row[6].split(" ")}
    assert {run.name(node) for node in doomed} >= {"goods", "victim"}
    path = tmp_path / "during.csv"
    path.write_text(run.report.extractions[0].csv())
    assert read_state(path, strict=True)[0].check_legal() == []
    assert run.id("others") not in doomed
    assert run.id("client") not in doomed


@pytest.mark.slow
@pytest.mark.behaviour("C-26")
def test_what_is_terminated_while_a_cleanup_waits_goes_next(target: Target) -> None:
    """A client of the same server exits while the subscriber takes its time.

    The first cleanup revokes that client's request, so the second one has to wait for it.
    """

    def change(config: Config) -> Config:
        until_doomed = (1, 1_000_000, 1)
        quitter = Pd(
            name="quitter", program="quitter", requests=("goods", "others"), args=until_doomed
        )
        return config.model_copy(update={"pds": (*config.pds, quitter)})

    slow = together(watcher(SPACE, SLOWLY, 8_000), with_system(deadline_ms=60_000), change)
    run = target.run("subscribed", change=slow, qemu_args=SLOW_COUNTED)
    start, end = waited(run)
    (left,) = run.of("EXIT")
    assert start < run.at(left) < end
    assert [run.name(c["trigger"]) for c in run.cleanups()] == ["victim", "quitter"]
    assert run.at(run.cleanups()[1]) > end


@pytest.mark.behaviour("X-20")
def test_everybody_who_lost_something_is_told_once(target: Target) -> None:
    run = target.run(
        "subscribed", change=with_crashes({"pd": "victim", "how": "page-fault", "at": 3})
    )
    lost = {to for to, kind, _, _ in run.notices() if kind == "lost"}
    assert lost == {"client", "watcher"}


@pytest.mark.behaviour("X-04")
def test_who_depended_on_it_lives_on_without_it(target: Target) -> None:
    run = target.run("subscribed")
    assert run.alive() == {"other", "client", "watcher"}
    gone = run.id("goods")
    assert not [row for row in run.state(1) if gone in row]


@pytest.mark.slow
@pytest.mark.behaviour("C-26")
@pytest.mark.parametrize(("does", "how"), [(EXITS, "exit"), (FAULTS, "page-fault")])
def test_a_trigger_meanwhile_ends_as_two_crashes_one_after_the_other(
    target: Target, does: int, how: str
) -> None:
    joined = target.run("subscribed", change=watcher(SPACE, does))
    (wait,), (resume,) = joined.of("WAIT"), joined.of("CONTINUE")
    (trigger,) = (e for e in joined.of("EXIT", "FAULT") if joined.name(e["pd"]) == "watcher")
    assert joined.at(wait) < joined.at(trigger) < joined.at(resume)
    crashes = with_crashes(
        {"pd": "victim", "how": "page-fault", "at": 3}, {"pd": "watcher", "how": how, "at": 1}
    )
    serial = target.run("subscribed", change=crashes)
    (trigger,) = (e for e in serial.of("EXIT", "FAULT") if serial.name(e["pd"]) == "watcher")
    assert serial.at(trigger) > serial.at(serial.of("SETTLED", n=1)[0])
    for n in (1, 2):
        assert joined.destroyed(n) == serial.destroyed(n)
    assert sorted(joined.state(2)) == sorted(serial.state(2))
    assert joined.alive() == serial.alive() == {"other", "client"}


@pytest.mark.slow
@pytest.mark.behaviour("A-24", "C-26")
@pytest.mark.parametrize("does", [EXITS, FAULTS])
def test_who_goes_anyway_and_crashes_meanwhile_goes_once(target: Target, does: int) -> None:
    change = with_watcher(("disk1",), (ITSELF, does))
    run = target.run("block_fs_db_app", pd_depth=1, rs_depth=0, change=change)
    assert run.doomed()["watcher"] == "1"
    start, end = waited(run)
    (trigger,) = (e for e in run.of("EXIT", "FAULT") if run.name(e["pd"]) == "watcher")
    assert start < run.at(trigger) < end
    assert [run.name(c["trigger"]) for c in run.cleanups()] == ["block_server_1"]
    assert "watcher" in run.destroyed_pds(1)
    # No PD waits for its answer, and it gives none.
    assert not run.of("FINISH_WORK", pd=run.id("watcher"))


def tries(run: Run) -> dict[str, int]:
    """What the watcher tried when it was told, and the results."""
    said = [text.removeprefix("try: ") for text in run.says("watcher") if text.startswith("try: ")]
    return {what: int(result) for what, _, result in (text.rpartition(": ") for text in said)}


@pytest.mark.slow
@pytest.mark.behaviour("C-26")
@pytest.mark.parametrize("doomed", [False, True])
def test_what_concerns_the_doomed_is_gone_while_a_cleanup_waits(
    target: Target, doomed: bool
) -> None:
    """A survivor tries all operations on doomed nodes, and a doomed PD on surviving ones."""
    if doomed:
        change = with_watcher(("disk2", "disk1"), (ITSELF, TRIES), ("block_server_2",))
        run = target.run("block_fs_db_app", pd_depth=1, rs_depth=0, change=change)
        assert "block_server_2" in run.alive()
    else:
        change = together(watcher(SPACE, TRIES), with_pd("watcher", requests=("goods", "others")))
        run = target.run("subscribed", change=change)
        assert "watcher" in run.alive()
    assert ("watcher" in run.doomed()) == doomed
    found = tries(run)
    assert len(found) == 8
    assert found == dict.fromkeys(found, GONE)
    start, end = waited(run)
    changes = run.of("TRIGGER", "EDGE")
    assert not [event for event in changes if start < run.at(event) < end]
    assert len(run.cleanups()) == 1
