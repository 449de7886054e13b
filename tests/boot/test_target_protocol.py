# SPDX-License-Identifier: BSD-2-Clause
"""Permitted and refused operations of PDs on the target, and the effects of notices on servers."""

from __future__ import annotations

import pytest

from cellreap import headers
from cellreap.model.csvstate import read_state
from cellreap.testing import Run, Target
from cellreap.trace.events import Event
from kit.truth_traces import WITH_TRUTH

CHECKS = [
    "wrong magic is refused",
    "wrong version is refused",
    "no operation is refused",
    "an unknown operation is refused",
    "an empty message is refused",
    "a short message is refused",
    "no space without the right to one",
    "no resource in a space of another's",
    "no giving of what another manages",
    "no deleting of what another manages",
    "no space that is not there",
    "no spawning without the right to it",
    "a resource is unwanted that is not allowed",
    "two are allowed",
    "a resource is made",
    "it can be used",
    "it is given again",
    "two holds are one capability",
    "a third time is not allowed",
    "holds are counted over all PDs",
    "one hold is taken back",
    "one hold is left",
    "with one left it can be used",
    "the last is released",
    "then it cannot be used",
    "what is not held is not released",
    "more is allowed",
    "another resource is made",
    "sending needs the recipient's capability",
    "a request does not serve as one",
    "a resource is not sent to a PD that does not allow it",
    "the peer allows one edge",
    "a resource is sent",
    "the recipient can use it",
    "it is the same resource",
    "a request is not shared with a PD that does not allow it",
    "the peer allows one more",
    "a request is shared",
    "the recipient can ask",
    "as a client",
    "my request is mine",
    "theirs has another badge",
    "deleting takes it from all holders",
    "from me",
    "from the other",
    "and only that",
    "what is deleted is gone",
    "the other drops its request",
    "its badge names nobody any more",
    "one more resource is made",
    "a stale badge is refused",
    "another's resource cannot be deleted",
    "no space for a first client that does not allow it",
    "the peer allows the registry two edges",
    "a space is made for a first client",
    "who has a request to it at once",
    "one name, one space",
    "its manager deletes it",
    "its client has lost it",
    "its manager is told nothing of that",
    "the right to make spaces cannot be shared",
    "no number with a space",
    "no consent to the root task",
    "nor by its number",
    "nor to itself",
    "nor to what is not there",
    "it can be made anew",
    "a depth is set while running",
    "who waits for a dead server is answered",
]


@pytest.fixture
def run(target: Target) -> Run:
    return target.run("protocol")


def _served(run: Run) -> list[Event]:
    """The resources that the registry created."""
    return run.of("RESOURCE", space=run.id("alpha"))


@pytest.mark.behaviour(
    "R-01", "R-02", "R-03", "R-04", "R-05", "R-06", "R-07", "C-19", "C-21", "N-12", "X-06"
)
def test_every_check_of_the_tester_is_made_and_ok(run: Run) -> None:
    said = [text for text in run.says("tester") if text.startswith("check ")]
    results = dict(text.removeprefix("check ").rsplit(": ", 1) for text in said)
    assert {name: result for name, result in results.items() if result != "ok"} == {}
    assert [text.removeprefix("check ").removesuffix(": ok") for text in said] == CHECKS
    assert "all checks made" in run.says("tester")


@pytest.mark.behaviour("R-05")
def test_what_is_refused_changes_nothing(run: Run) -> None:
    """Between the first wrong message and the first right one there is no event of the model."""
    tester = run.id("tester")
    refused = run.of("REFUSE", pd=tester)
    first = run.at(refused[0])
    made = run.at(_served(run)[0])
    between = {event.name for event in run.events[first:made]}
    assert between == {"REFUSE", "SAY"}
    assert [(event["op"], event["status"]) for event in refused[:6]] == [
        ("6", "1"),  # create a resource: bad magic
        ("6", "1"),
        ("0", "2"),  # no operation
        (str(headers.enums("protocol.h")["cr_op"]["CR_OP_COUNT"]), "2"),
        ("6", "1"),
        ("6", "3"),  # too short
    ]


@pytest.mark.behaviour("C-19")
def test_holds_are_counted_and_are_one_capability(run: Run) -> None:
    tester = run.id("tester")
    resource = _served(run)[1]["id"]  # the first one was unwanted
    given = run.made("HOLD", from_=tester, to=resource)
    dropped = run.dropped("HOLD", from_=tester, to=resource)
    assert (len(given), len(dropped)) == (2, 2)
    assert len({event["number"] for event in [*given, *dropped]}) == 1


@pytest.mark.behaviour("R-06")
def test_deleting_is_one_event_for_all_holders(run: Run) -> None:
    deleted = run.of("DELETE")[0]["node"]
    assert {run.names[event["from"]] for event in run.made("HOLD", to=deleted)} == {
        "registry",
        "tester",
        "peer",
    }
    assert run.dropped("HOLD", to=deleted) == []
    for n in (0, 1):
        assert [row for row in run.state(n) if deleted in row] == []


@pytest.mark.behaviour("N-12", "J-02")
def test_a_manager_is_not_told_of_what_it_deletes_itself_and_who_loses_it_is(run: Run) -> None:
    registry = run.id("registry")
    resource, space = (event["node"] for event in run.of("DELETE", by=registry))
    assert "_SPACE_" in space
    told = [event for event in run.of("QUEUE") if event["node"] in {resource, space}]
    assert {(event["n"], event["kind"]) for event in told} == {("0", "lost")}
    assert sorted((run.name(event["to"]), event["node"]) for event in told) == [
        ("peer", resource),
        ("peer", space),
        ("tester", resource),
    ]
    assert {event["kind"] for event in run.of("QUEUE", to=registry)} <= {"disconnect"}


@pytest.mark.behaviour("C-21")
def test_who_waited_for_the_dead_server_is_answered_once(run: Run) -> None:
    """Only the tester waits.

    The peer lost a request too, but it waits for nothing and is not resumed.
    """
    freed = [(run.names[e["pd"]], run.names[e["by"]]) for e in run.of("answered THREAD")]
    (cleanup,) = run.cleanups()
    assert freed == [("tester", run.names[cleanup["trigger"]])]
    answers = [text for text in run.says("tester") if "waits for a dead server" in text]
    assert answers == ["check who waits for a dead server is answered: ok"]


@pytest.mark.behaviour("X-06", "R-04")
def test_a_space_made_anew_under_the_same_name_is_another(run: Run) -> None:
    seconds = run.ids("second")
    assert len(seconds) == len(set(seconds)) == 2
    asked = run.made("REQUEST", from_=run.id("peer"))
    assert [event["to"] for event in asked if event["to"] in seconds] == seconds


# -- the server decides what becomes of freed resources


@pytest.fixture
def recycle(target: Target) -> Run:
    return target.run("recycle", change=WITH_TRUTH)


def _objects(run: Run, disk: str, pd: str) -> list[str]:
    """The blocks of a disk that a PD received, in order."""
    space = run.id(disk)
    return [
        e["to"]
        for e in run.made("HOLD", from_=pd)
        if e["to"].startswith(space.replace("SPACE_", "") + "_")
    ]


@pytest.mark.slow
@pytest.mark.behaviour("N-13", "N-01")
def test_a_pooled_block_is_given_again_a_deleted_one_is_replaced_a_kept_one_stays(
    recycle: Run,
) -> None:
    first, second = recycle.ids("fs")
    blocks = {disk: (_objects(recycle, disk, first), _objects(recycle, disk, second))
              for disk in ("disk_pool", "disk_delete", "disk_keep")}  # fmt: skip
    for before, after in blocks.values():
        assert len(before) == len(after) == 1
    assert blocks["disk_pool"][0] == blocks["disk_pool"][1]
    for disk in ("disk_delete", "disk_keep"):
        assert blocks[disk][0] != blocks[disk][1]
    deleted = [event["node"] for event in recycle.of("DELETE")]
    assert deleted == blocks["disk_delete"][0]
    end = {row[1] for row in recycle.last_state() if row[0] == "RESOURCE"}
    assert blocks["disk_keep"][0][0] in end


@pytest.mark.behaviour("N-13", "N-03")
def test_each_server_is_told_of_its_own_block_and_no_other(recycle: Run) -> None:
    notices = recycle.notices()
    assert {notice[:3] for notice in notices if notice[1] == "free"} == {
        ("pool", "free", "disk_pool:1"),
        ("delete", "free", "disk_delete:1"),
        ("keep", "free", "disk_keep:1"),
    }
    assert {event["result"] for event in recycle.of("FINISH_WORK")} == {"ok"}


def test_the_system_works_again_on_what_it_was_given(recycle: Run) -> None:
    assert recycle.says("app")[-1] == "at the end: table: ok; database: ok"


@pytest.mark.behaviour("C-20")
def test_a_slot_that_was_revoked_is_given_again_only_after_the_loss_was_acknowledged(
    target: Target,
) -> None:
    run = target.run("recycle", change=WITH_TRUTH)
    db = run.id("db")
    (queued,) = [
        event for event in run.of("QUEUE") if event["to"] == db and event["kind"] == "lost"
    ]
    (ack,) = run.of("FINISH_WORK", token=queued["token"])
    slots = {
        event["number"] for event in run.made("REQUEST", from_=db) if run.at(event) < run.at(queued)
    } - {"0"}
    again = [
        event
        for event in run.made("REQUEST", "HOLD", from_=db)
        if event["number"] in slots and run.at(event) > run.at(queued)
    ]
    assert again, "the slot was never used again: nothing is shown"
    assert all(run.at(event) > run.at(ack) for event in again)


@pytest.mark.behaviour("H-08", "M-01")
def test_every_state_in_the_trace_is_a_model_by_itself(
    recycle: Run, tmp_path_factory: pytest.TempPathFactory
) -> None:
    head = "NODE_TYPE,NODE_ID,DATA,EDGE_TYPE,EDGE_FROM,EDGE_TO,EXTRA"
    path = tmp_path_factory.mktemp("state") / "state.csv"
    path.write_text("\n".join([head, *(",".join(row) for row in recycle.state(1))]) + "\n")
    model, report = read_state(path, strict=True)
    assert {recycle.names[pd] for pd in model.pds()} == {
        "ROOT_TASK", "pool", "delete", "keep", "db", "app"
    }  # fmt: skip
    assert model.check_legal() == []
    assert (report.rows, report.skipped, report.duplicates) == (len(recycle.state(1)), 0, 0)
