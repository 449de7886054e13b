# SPDX-License-Identifier: BSD-2-Clause
"""The rules of the check for notices, deadlines, tickets, extractions and cleanups that wait.

Each test has a run that breaks one rule, and the expected report.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from cellreap.cli.check_cmd import summary
from cellreap.cli.run_cmd import write_extractions
from cellreap.model import reference
from cellreap.model.csvstate import read_state
from cellreap.model.graph import DESTRUCTOR
from cellreap.trace.check import check_stream
from cellreap.trace.report import Report, report_json
from cellreap.trace.writer import Draft, seal
from kit.collect_run import Collecting
from kit.records import fits
from kit.simulated_runs import RUNS, notices_run, sync_run
from kit.trace_simulator import Target


def checked(drafts: list[Draft]) -> Report:
    return check_stream(io.BytesIO("\n".join(seal(drafts)).encode()), "trace")


def said(drafts: list[Draft]) -> list[str]:
    return [problem.text for problem in checked(drafts).violations]


def broken(drafts: list[Draft]) -> list[str]:
    """The same, each behind its rule."""
    return [f"{problem.rule}: {problem.text}" for problem in checked(drafts).violations]


def edited(run: str, event: str, edit: dict[str, object], **match: object) -> list[str]:
    """The report on a run with one event changed, or without the event if `edit` is empty."""
    drafts = RUNS[run]()
    found = [
        index for index, (its, values) in enumerate(drafts) if its == event and fits(values, match)
    ]
    at = found[0]
    drafts[at : at + 1] = [(event, {**drafts[at][1], **edit})] if edit else []
    return broken(drafts)


CHANGES: list[tuple[str, str, dict[str, object], dict[str, object], str]] = [
    ("notices", "SETTING", {}, {}, "settings.told: PD: expected a SETTING mode before it"),
    (
        "notices",
        "RIGHTS",
        {"pd": "PD_4"},
        {"pd": "PD_5"},
        "authority.rights: RIGHTS",
    ),
    (
        "notices",
        "RIGHTS",
        {"deadline_ms": 111},
        {"pd": "PD_5"},
        "triggers.late: TRIGGER late",
    ),
    ("notices", "RIGHTS", {"deadline_ms": 0}, {"pd": "PD_5"}, "triggers.late: TRIGGER late"),
    (
        "notices",
        "TRIGGER",
        {"token": 1},
        {"pd": "PD_5", "cause": "late"},
        "triggers.late: TRIGGER late",
    ),
    (
        "notices",
        "TRIGGER",
        {},
        {"pd": "PD_5", "cause": "late"},
        "cleanup.awaited: CONTINUE: PD_5 has not acknowledged 15 (pre-destroy FILE_SPACE_2)",
    ),
    ("notices", "REFUSED", {"count": 1001}, {}, "actors.refusals: REFUSED"),
    (
        "notices",
        "REFUSE",
        {},
        {"pd": "PD_5"},
        "actors.refusals: REFUSED",
    ),
    (
        "notices",
        "frozen THREAD",
        {"pd": "PD_3"},
        {},
        "actors.silent: fetched NOTICE: PD_3 is frozen and can do nothing any more",
    ),
    (
        "notices",
        "QUEUE",
        {},
        {"kind": "disconnect", "n": 0},
        "order.answer: REFUSE: expected QUEUE PD_2 disconnect FILE_SPACE_2",
    ),
    (
        "notices",
        "QUEUE",
        {"kind": "free"},
        {"kind": "disconnect", "n": 0},
        "notices.owed: QUEUE PD_2 free FILE_SPACE_2 PD_4: no",
    ),
    (
        "notices",
        "EDGE",
        {},
        {"change": "dropped", "kind": "REQUEST"},
        "notices.owed: QUEUE PD_2 disconnect FILE_SPACE_2 PD_4: no such notice is owed, or",
    ),
    (
        "notices",
        "resumed NOTICE",
        {"token": 1},
        {},
        "notices.resume: resumed NOTICE: token=1: no notice of PD_3's that has failed",
    ),
    (
        "notices",
        "resumed NOTICE",
        {},
        {},
        "notices.fetch: fetched NOTICE: token=21: no such notice waits for PD_3",
    ),
    (
        "notices",
        "TICKET",
        {"state": 3},
        {"ticket": 1, "state": 1},
        "tickets.state: TICKET: ticket=1: state=3: expected 1 (running)",
    ),
    (
        "notices",
        "TICKET",
        {"done": 5},
        {"ticket": 1, "state": 1},
        "tickets.counts: TICKET: ticket=1: done=5: by the events before it 2",
    ),
    (
        "notices",
        "TICKET",
        {"held": 1},
        {"ticket": 1, "state": 1},
        "tickets.counts: TICKET: ticket=1: held=1: by the events before it 0",
    ),
    ("notices", "EXTRACT", {"x": 2}, {"x": 1}, "extractions.number: EXTRACT: x=2: expected 1"),
    (
        "notices",
        "QUEUE",
        {},
        {"kind": "extract", "to": "PD_2"},
        "order.answer: fetched NOTICE: expected QUEUE x=1 PD_2 extract",
    ),
    (
        "notices",
        "FINISH_WORK",
        {"result": "ok"},
        {"result": "each"},
        "notices.owed: QUEUE PD_1 extract BLOCK_1_1 -: no such notice is owed",
    ),
    (
        "notices",
        "SUBGRAPH",
        {"from": "FILE_2_1"},
        {},
        "extractions.asked: SUBGRAPH",
    ),
    (
        "notices",
        "SUBGRAPH",
        {"to": "ROOM_SPACE_4"},
        {},
        "extractions.ends: SUBGRAPH",
    ),
    (
        "notices",
        "SUBGRAPH",
        {"to": "FILE_2_1"},
        {},
        "extractions.ends: SUBGRAPH",
    ),
    (
        "notices",
        "SUBGRAPH",
        {"to": "TABLE_SPACE_3"},
        {},
        "extractions.new: SUBGRAPH",
    ),
    (
        "notices",
        "SUBGRAPH",
        {},
        {},
        "extractions.state: EXTRACTED",
    ),
    (
        "notices",
        "EXTRACTED",
        {"digest": "0" * 16},
        {"x": 1},
        "extractions.state: EXTRACTED",
    ),
    ("notices", "WAIT", {}, {}, "cleanup.within: "),
    (
        "notices",
        "STEP",
        {"node": "FILE_SPACE_2"},
        {"name": "tell", "pd": "PD_4"},
        "cleanup.beside: STEP tell node=FILE_SPACE_2",
    ),
    (
        "notices",
        "STEP",
        {},
        {"name": "await"},
        "cleanup.steps: SETTLED: there was no STEP await node=- pd=-",
    ),
    (
        "sync",
        "TICKET",
        {},
        {"ticket": 1},
        "actors.waiting: SAY: PD_1 waits for ticket 1 to be over",
    ),
]


@pytest.mark.behaviour("N-14", "A-06")
@pytest.mark.parametrize(("name", "event", "change", "match", "message"), CHANGES)
def test_rules(
    name: str, event: str, change: dict[str, object], match: dict[str, object], message: str
) -> None:
    found = edited(name, event, change, **match)
    assert any(message in text for text in found), found


def small() -> tuple[Target, str, str, str, list[str]]:
    """A server with two spaces and a client of both.

    The client's end causes several notices in each lane.
    """
    target = Target(1, 0)
    server, client, other = (
        target.pd(name, deadline_ms=100) for name in ("server", "client", "other")
    )
    spaces = [target.space(server, "BLOCK"), target.space(server, "FILE")]
    for space in spaces:
        target.request(client, space)
        for _ in range(2):
            target.hold(client, target.resource(space))
    return target, server, client, other, spaces


def owed() -> tuple[Target, str, list[list[int]]]:
    """After the client's end: the server's tokens, by lane."""
    target, server, client, _, _ = small()
    target.quiet()
    target.exit(client)
    target.cleanup()
    lanes: dict[int | str, list[int]] = {}
    for notice in target.queues[server]:
        lanes.setdefault(notice.lane, []).append(notice.token)
    return target, server, list(lanes.values())


def act(target: Target, server: str, *steps: str | int) -> list[str]:
    """fetch or ack or fail, and the token."""
    for what, token in zip(steps[::2], steps[1::2], strict=True):
        if what == "fetch":
            target.emit("fetched NOTICE", pd=server, token=token)
        else:
            target.emit("FINISH_WORK", pd=server, token=token, result=what)
    return said(target.end())


@pytest.mark.behaviour("N-14")
def test_a_lane_is_fetched_and_finished_in_order() -> None:
    target, server, ((first, second, _), _) = owed()
    assert act(target, server, "fetch", second)[0] == (
        f"fetched NOTICE: token={second}: {server} is to fetch {first} before it"
    )
    target, server, ((first, second, third), _) = owed()
    found = act(target, server, "fetch", first, "fetch", second, "fetch", third)
    assert found[0].startswith(
        f"fetched NOTICE: token={third}: {server} has not finished {first}, which it fetched"
    )
    target, server, ((first, second, third), _) = owed()
    found = act(target, server, "fetch", first, "fetch", second, "ok", second)
    assert found[0] == (
        f"FINISH_WORK: token={second}: {server} is to finish {first}, "
        "about the same space, before it"
    )


@pytest.mark.behaviour("N-14")
def test_lanes_do_not_wait_for_each_other() -> None:
    target, server, (one, two) = owed()
    steps: list[str | int] = ["fetch", two[0], "ok", two[0], "fetch", one[0], "failed", one[0]]
    for token in two[1:]:
        steps += ["fetch", token, "ok", token]
    assert act(target, server, *steps) == []


def test_what_failed_stops_its_lane_and_shows_in_the_report() -> None:
    target, server, (one, two) = owed()
    target.emit("fetched NOTICE", pd=server, token=one[0])
    target.emit("FINISH_WORK", pd=server, token=one[0], result="failed")
    found = act(target, server, "fetch", one[1])
    failed = f"{server} failed to deal with {one[0]} before it, and has not resumed that"
    assert found[0] == f"fetched NOTICE: token={one[1]}: {failed}"
    target, server, (one, two) = owed()
    target.serve(server, "failed")
    report = checked(target.end())
    assert report.passed
    failures = report_json(report)["failures"]
    assert [(f["pd"], f["token"], f["waiting"]) for f in failures] == [
        (server, one[0], 2),
        (server, two[0], 2),
    ]
    assert (
        "PD_1 (server) failed to deal with notice 1 (free BLOCK_1_1): 2 notices behind it"
        in summary(report)
    )


def test_no_slot_is_given_while_too_many_wait() -> None:
    target = Target(0, 0)
    server, client, other = (target.pd(name) for name in ("server", "client", "other"))
    target.body_cap(server, client)
    space = target.space(server, "BLOCK")
    for _ in range(32):
        target.hold(client, target.resource(space))
    more = target.space(other, "FILE")
    target.quiet()
    target.exit(server)
    target.cleanup()
    target.request(client, more)
    target.snapshot()
    target.serve_all()
    assert [each.rule for each in checked(target.end()).violations] == ["slots.limit"]


# -- cleanups that wait


def unmarked_snapshot(target: Target) -> None:
    target.doomed.clear()
    target.snapshot()


def waiting(meanwhile: Callable[[Target], None]) -> list[str]:
    """client, PD_2, is doomed at depth 1 by the end of server, PD_1. other, PD_3, is told of it."""
    target, server, client, other, _ = small()
    target.body_cap(other, client)
    target.subscribe(other, client)
    target.space(other, "ROOM")
    target.quiet()
    target.exit(server)
    target.cleanup(meanwhile=meanwhile)
    target.serve_all()
    while target.pending:
        target.cleanup()
        target.serve_all()
    return broken(target.end())


FORBIDDEN: list[tuple[str, Callable[[Target], None], str]] = [
    ("nothing", lambda t: None, ""),
    ("say", lambda t: t.say("PD_2", "flushing"), ""),
    ("exit of an active PD", lambda t: t.exit("PD_3"), ""),
    ("exit of a doomed PD", lambda t: t.exit("PD_2"), ""),
    (
        "hold",
        lambda t: t.edge("made", "HOLD", "PD_2", "ROOM_SPACE_3", 30),
        "cleanup.doomed: made HOLD: from=PD_2: it is doomed by",
    ),
    (
        "request",
        lambda t: t.edge("made", "REQUEST", "PD_3", "FILE_SPACE_2", 8),
        "cleanup.doomed: made REQUEST: to=FILE_SPACE_2",
    ),
    (
        "subscribe",
        lambda t: t.edge("made", "SUBSCRIBE", "PD_3", "PD_1"),
        "cleanup.doomed: made SUBSCRIBE: to=PD_1: it is doomed by",
    ),
    (
        "unhold",
        lambda t: t.edge("dropped", "HOLD", "PD_2", "BLOCK_1_1", 9),
        "cleanup.doomed: dropped HOLD: from=PD_2: it is doomed",
    ),
    (
        "delete",
        lambda t: t.emit("DELETE", node="BLOCK_1_1", by="PD_0", part=0),
        "cleanup.doomed: DELETE: node=BLOCK_1_1: it is doomed",
    ),
    (
        "terminate",
        lambda t: t.trigger("terminate", "PD_2", "PD_0"),
        "cleanup.doomed: TRIGGER terminate: pd=PD_2: it is doomed by",
    ),
    (
        "suspended PD",
        lambda t: t.say("PD_1", "?"),
        "actors.silent: SAY: PD_1 has faulted or exited and can do nothing",
    ),
    (
        "step",
        lambda t: t.emit("STEP", n=1, name="mark", node="PD_1", pd="-", kinds="-", count=1),
        "cleanup.wait: STEP mark node=PD_1 pd=-: n=1: the cleanup waits",
    ),
    # a snapshot in which the doomed nodes are not marked
    (
        "snapshot",
        unmarked_snapshot,
        "state.rows: STATE: the row PD,PD_1,server,,,,DOOMED is missing",
    ),
]


@pytest.mark.behaviour("C-26")
@pytest.mark.parametrize(
    ("meanwhile", "message"), [row[1:] for row in FORBIDDEN], ids=[row[0] for row in FORBIDDEN]
)
def test_what_happens_while_a_cleanup_waits(
    meanwhile: Callable[[Target], None], message: str
) -> None:
    found = waiting(meanwhile)
    assert any(text.startswith(message) for text in found) if message else found == [], found


@pytest.mark.behaviour("C-26")
def test_a_trigger_while_a_cleanup_waits_is_cleaned_up_after_it() -> None:
    drafts = notices_run()
    report = checked(drafts)
    causes = [(cleanup.trigger, cleanup.cause) for cleanup in report.cleanups]
    assert causes[:3] == [("PD_1", "fault"), ("PD_6", "terminate"), ("PD_5", "late")]
    index = [
        i
        for i, (name, _) in enumerate(drafts)
        if name in ("CLEANUP", "SETTLED") and drafts[i][1]["n"] in (2, 3)
    ]
    swapped = [*drafts[: index[0]], ("END", {})]
    assert any(text.startswith("END: the terminate of PD_6") for text in said(swapped))


def test_the_end_of_a_terminator_that_waits_may_come_late() -> None:
    report = checked(sync_run())
    assert report.passed
    assert [(ticket.ticket, ticket.state) for ticket in report.tickets] == [
        (1, "over"),
        (2, "over"),
        (3, "over"),
    ]


def test_a_cleanup_goes_on_without_a_subscriber_that_waits_for_its_end() -> None:
    """The subscriber terminates the PD and gets its notice only behind its ticket. Another one has
    to answer.
    """

    def run(*also: str) -> list[str]:
        target = Target(0, 0, "circle", mode="sync")
        boss, victim = target.pd("boss"), target.pd("victim")
        for pd in (boss, *map(target.pd, also)):
            target.body_cap(pd, victim)
            target.subscribe(pd, victim)
        target.quiet()
        target.terminate(victim, boss)
        steps = target.steps()
        next(steps)
        assert list(steps) == []
        target.account()
        target.told(1)
        target.serve_all()
        return broken(target.end())

    assert run() == []
    assert run("other") != []
    assert all(text.startswith("cleanup.awaited: ") for text in run("other"))


def test_a_collection_goes_on_without_the_subscriber_that_asked_for_it() -> None:
    class Unheard(Collecting):
        """It collects only if it is asked. Its PDs are not served while it waits for them."""

        def __init__(self) -> None:
            Target.__init__(self, 0, 0)
            self.spawned, self.saved, self.serves = set(), False, True

        def serve(self, pd: str, result: str = "ok") -> None:
            if self.serves:
                super().serve(pd, result)

    def run(asker: str) -> list[str]:
        target = Unheard()
        maker = target.pd("maker")
        pds = {name: target.pd(name, rights={"collect"}) for name in ("subscriber", "other")}
        child = target.child(maker)
        body = target.body_cap(pds["subscriber"], child)
        target.subscribe(pds["subscriber"], child)
        target.unhold(pds["subscriber"], body)
        target.quiet()
        target.fault(maker)
        target.cleanup()
        ticket = target.ask(pds[asker])
        target.serves = False
        target.collect()
        target.serves = True
        target.account()
        target.told(ticket)
        target.serve_all()
        return broken(target.end())

    assert run("subscriber") == []
    assert run("other") != []
    assert all(text.startswith("cleanup.awaited: ") for text in run("other"))


def test_a_cleanup_goes_on_without_a_destructor_whose_pd_waits_for_its_end() -> None:
    """It terminates its server, which is destroyed when the turn of the destructor comes."""
    target = Target(1, 0, "last", mode="sync")
    server, boss = target.pd("server"), target.pd("boss")
    target.request(boss, target.space(server, "GOOD", "goods"))
    target.body_cap(boss, server)
    target.subscribe(boss, boss, DESTRUCTOR)
    target.quiet()
    target.terminate(server, boss)
    steps = target.steps()
    next(steps)
    assert list(steps) == []
    target.account()
    assert broken(target.end()) == []


@pytest.mark.behaviour("M-04")
def test_who_answers_after_the_extraction_is_over_is_asked_no_more() -> None:
    """A server fetches its own question and waits for the state. Nobody awaits its answer."""

    def run(ask: bool) -> list[str]:
        target = Target(0, 0, "late")
        server = target.pd("server")
        disk = target.space(server, "BLOCK", "disk")
        target.resource(disk)
        x = target.extract(server)
        (question,) = target.fetch(server)
        target.extracted(x)
        target.told(1)
        if ask:
            target.extractions_over.clear()
        target.ack(server, question, "each")
        target.quiet()
        return said(target.end())

    assert run(ask=False) == []
    assert run(ask=True)[0].startswith("QUEUE PD_1 extract BLOCK_1_1 -: no such notice is owed")


@pytest.mark.behaviour("M-11")
def test_a_question_that_nobody_awaits_any_more_is_withdrawn() -> None:
    """Also one that was held behind a failure."""

    def run(withdraw: bool) -> list[str]:
        target = Target(0, 0, "late")
        server, client = (target.pd(name) for name in ("server", "client"))
        disk = target.space(server, "BLOCK", "disk")
        target.request(client, disk)
        target.unrequest(client, disk)
        x = target.extract()
        target.serve(server, "failed")
        target.extracted(x)
        target.again(server, disk)
        target.serve(server)
        target.quiet()
        return said([each for each in target.end() if withdraw or each[0] != "withdrawn NOTICE"])

    assert run(withdraw=True) == []
    assert any("expected withdrawn NOTICE PD_1 2 before it" in text for text in run(withdraw=False))


@pytest.mark.behaviour("A-14", "S-14")
@pytest.mark.parametrize(
    ("told", "another", "counts", "wrong"),
    [
        (False, False, True, []),
        (True, False, False, []),
        (True, False, True, ["memory.in_use", "tickets.state"]),
        (False, False, False, ["memory.in_use", "tickets.state"]),
        (False, True, True, []),
        (False, True, False, ["tickets.state"]),
    ],
    ids=["not told", "told", "told, and not over", "not told, and over", "another", "forgotten"],
)
def test_a_ticket_that_is_over_stays_over_if_that_was_told(
    told: bool, another: bool, counts: bool, wrong: list[str]
) -> None:
    """Its held notices are resumed then. counts: it is not over for the root task.

    another: the owner asked for another ticket meanwhile, for which the root task may have
    forgotten this one.
    """
    target = Target(0, 0, "over")
    boss, server, victim, other = (target.pd(name) for name in ("boss", "server", "victim", "b"))
    disk = target.space(server, "BLOCK", "disk")
    target.request(victim, disk)
    for pd in (victim, other):
        target.body_cap(boss, pd)
    for _ in range(2):
        target.hold(victim, target.resource(disk))
    target.quiet()
    target.terminate(victim, boss)
    target.cleanup()
    target.serve(boss)
    target.serve(server, "failed")
    target.resource(disk)
    target.account()
    if told:
        target.told(1)
    if another:
        target.terminate(other, boss)
        target.cleanup()
        target.serve(boss)
    target.again(server, disk)
    target.tickets[1].comes_to = None if counts else 3
    target.resource(disk)
    target.account()
    target.told(1)
    target.serve_all()
    report = checked(target.end())
    assert sorted(violation.rule for violation in report.violations) == wrong


# -- extractions


@pytest.mark.behaviour("M-04")
def test_an_extraction_is_a_file_that_reads_back(tmp_path: Path) -> None:
    report = checked(notices_run())
    assert len(report.extractions) == 2
    files = write_extractions(report, tmp_path / "notices.trace")
    assert set(files) == {1, 2}
    model, read = read_state(tmp_path / "notices.extract1.csv")
    assert (read.left_out, read.duplicates) == ([], 0)
    assert {("TABLE_SPACE_3", "FILE_SPACE_2"), ("TABLE_3_1", "FILE_2_1")} <= model.maps
    assert reference.plan(model, "PD_2", 0, None).deleted_spaces == [
        "FILE_SPACE_2",
        "TABLE_SPACE_3",
    ]
    # While the cleanup after keeper waited, it, fs and their spaces are marked.
    model, _ = read_state(tmp_path / "notices.extract2.csv")
    marked = {node.id for node in model.nodes.values() if node.extra == "DOOMED"}
    assert marked == {"PD_1", "PD_2", "BLOCK_SPACE_1", "FILE_SPACE_2"}


def test_the_report_tells_what_an_operator_needs() -> None:
    shown = report_json(checked(notices_run()))
    assert [(late["pd"], late["deadline"], late["ms"]) for late in shown["late"]] == [
        ("PD_5", 100, 110),
        ("PD_7", 50, 60),
    ]
    assert [failure["resumed"] for failure in shown["failures"]] == [False, True, False]
    assert shown["failures"][-1]["waiting"] == 2
    assert [extraction["x"] for extraction in shown["extractions"]] == [1, 2]


def held_client(told: bool) -> list[str]:
    """A server takes back what a client has, while the fault of the client is held."""
    target = Target(0, 0)
    nurse, server, client = (target.pd(name) for name in ("nurse", "server", "client"))
    target.handler(client, nurse)
    space = target.space(server, "BLOCK")
    block = target.resource(space)
    target.request(client, space)
    target.hold(client, block)
    target.quiet()
    target.hold_fault(client, nurse)
    target.unhold(client, block, by=server)
    if not told:
        target.events.pop()
        target.queues[client].clear()
    target.emit("fetched NOTICE", pd=nurse, token=1)
    target.emit("FINISH_WORK", pd=nurse, token=1, result="ok")
    target.emit("resumed THREAD", pd=client)
    target.queues[nurse].clear()
    target.snapshot()
    target.serve_all()
    return said(target.end())


def test_a_pd_whose_fault_is_held_is_told_of_a_loss() -> None:
    assert held_client(told=True) == []
    assert held_client(told=False) == [
        "fetched NOTICE: expected QUEUE PD_3 lost BLOCK_1_1 - before it",
    ]


def taken_over(*freed: tuple[str, str]) -> list[str]:
    """The fault handler has a deadline and has not answered. freed: (PD, server)."""
    target = Target(0, 0)
    nurse = target.pd("nurse", deadline_ms=100)
    ward = target.pd("ward")
    target.handler(ward, nurse)
    other = target.pd("other")
    for server, type_ in ((ward, "BED"), (other, "ROOM")):
        target.request(nurse, target.space(server, type_))
    target.quiet()
    target.hold_fault(ward, nurse)
    target.fault(ward)
    for pd, server in freed:
        target.free(pd, server)
    target.cleanup()
    target.serve_all()
    return said(target.end())


def test_a_fault_is_taken_from_a_handler_only_if_somebody_calls_the_pd() -> None:
    assert taken_over(("PD_1", "PD_2")) == []
    assert taken_over() == ["FAULT: PD_1 keeps PD_2, and nobody was in a call to PD_2"]
