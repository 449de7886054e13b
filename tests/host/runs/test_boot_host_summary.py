# SPDX-License-Identifier: BSD-2-Clause
"""The summary of a run: every kind of end in words, equal crashes once, and all errors."""

from __future__ import annotations

import io

import pytest

from cellreap import headers
from cellreap.cli.check_cmd import summary
from cellreap.model.graph import DESTRUCTOR
from cellreap.pictures.lanes import Lanes
from cellreap.runs.summary import headline, said_lines, tell
from cellreap.trace.reader import Problem
from cellreap.trace.reading import Reading, read_trace, reading_json
from cellreap.trace.report import Ticket
from cellreap.trace.writer import event_of, seal
from kit.budget_run import BUDGET, budget_run
from kit.simulated_runs import notices_run
from kit.trace_simulator import Target

GIVE = headers.constant("protocol.h", "CR_OP_GIVE")
CONNECT = headers.constant("protocol.h", "CR_OP_CONNECT")


def read(target: Target, *, account: bool = True) -> Reading:
    """The reading of the target's output. account: something happened since it was counted."""
    if account:
        target.account()
    raw = "".join(
        f"{line}\n" for line in (text.rstrip("\n") for text in seal(target.end()))
    ).encode()
    return read_trace(io.BytesIO(raw), "trace")


def told(target: Target) -> list[str]:
    """The summary of the target's output."""
    return tell(read(target), "seL4 15.0.0 (x86_64)", 1.25)


def server_and_client() -> tuple[Target, str, str]:
    target = Target(0, 0, "pair")
    server, client = target.pd("server"), target.pd("client")
    disk = target.space(server, "BLOCK", "disk")
    target.request(client, disk)
    target.quiet()
    return target, server, client


@pytest.mark.parametrize(
    ("kind", "address", "words"),
    [
        ("vm-fault", 0xDEAD000, "page fault at 0xdead000, instruction at 0x400123"),
        ("cap-fault", 0x1000, "capability fault at slot 0x1000"),
        ("user-exception", 6, "illegal instruction, "),
        ("user-exception", 13, "processor exception 0xd, "),
        ("unknown-syscall", (1 << 64) - 99, "unknown system call -99, "),
        ("unknown-syscall", 99, "unknown system call 99, "),
    ],
)
def test_each_fault_is_named(kind: str, address: int, words: str) -> None:
    target, server, _ = server_and_client()
    target.fault(server, kind, address=address)
    target.cleanup()
    assert any(f"Crash 1: server (PD_1): {words}" in line for line in told(target))


@pytest.mark.parametrize(("how", "staged"), [("page-fault", True), ("kill", False)])
def test_a_fault_that_the_configuration_staged_is_named(how: str, staged: bool) -> None:
    target, server, _ = server_and_client()
    target.quiet()
    target.stage(3, how, server)
    target.fault(server)
    target.cleanup()
    lines = told(target)
    assert ("  where      staged as crash 3 of the configuration" in lines) == staged


def test_exit_and_termination_are_named() -> None:
    target, server, client = server_and_client()
    target.body_cap(client, server)
    target.exit(server, 42)
    target.cleanup()
    assert "Crash 1: server (PD_1): exit with code 42" in told(target)

    target, server, client = server_and_client()
    target.body_cap(client, server)
    target.terminate(server, client)
    target.cleanup()
    assert "Crash 1: server (PD_1): terminated by client (PD_2)" in told(target)


@pytest.mark.behaviour("X-09")
def test_it_is_told_who_is_not_created_anew_any_more() -> None:
    raw = "".join(f"{line}\n" for line in seal(budget_run())).encode()
    lines = tell(read_trace(io.BytesIO(raw), "trace"), "seL4 15.0.0 (x86_64)")
    (down,) = (line for line in lines if "stays down" in line)
    (name,) = (values["name"] for event, values in budget_run() if event == "over RESPAWN")
    assert down == f"{name} stays down: its budget of {BUDGET} respawns is used up."


def test_who_goes_with_its_creator_has_a_reason() -> None:
    target = Target(0, 0, "tree")
    parent, boss = target.pd("parent"), target.pd("boss")
    target.body_cap(boss, parent)
    target.pd("child", creator=parent)
    target.quiet()
    target.terminate_tree(parent, boss)
    target.cleanup()
    assert any(line.endswith("depth 0: created by parent (PD_1)") for line in told(target))


def test_equal_tickets_in_a_row_are_one_line() -> None:
    target, server, _ = server_and_client()
    target.quiet()
    reading = read(target)
    reading.report.tickets = [Ticket(number, server, None) for number in range(1, 3000)]
    lines = [line for line in tell(reading, "seL4 15.0.0 (x86_64)") if "Ticket" in line]
    what = "an extraction or a collection"
    assert lines == [f"Tickets 1 to 2999 of server (PD_1) for {what}: never told"]


def test_equal_crashes_in_a_row_are_told_once() -> None:
    target = Target(0, 0, "many")
    target.pd("bystander")
    servers = [target.pd("server") for _ in range(6)]
    other = target.pd("other")
    target.quiet()
    for server in servers:
        target.fault(server)
        target.cleanup()
    target.exit(other, 1)
    target.cleanup()
    lines = told(target)
    assert "Crashes 1 to 6, each: server: page fault at 0x10, instruction at 0x400123" in lines
    assert "Crash 7: other: exit with code 1" in lines
    assert "Alive at the end: bystander (PD_1)" in lines


def test_what_nobody_acknowledged_shows() -> None:
    target, server, _ = server_and_client()
    target.fault(server)
    target.cleanup()
    assert any("0 of 1 notice acknowledged" in line for line in told(target))


def test_a_notice_acknowledged_after_the_next_crash_counts_for_its_own() -> None:
    target, server, client = server_and_client()
    other = target.pd("other")
    target.quiet()
    target.fault(server)
    target.cleanup()
    target.fault(other)
    target.cleanup()
    target.serve(client, "failed")
    assert any("0 of 1 notice acknowledged, 1 failed" in line for line in told(target))


@pytest.mark.behaviour("S-03")
def test_a_making_that_failed_shows_with_its_step() -> None:
    target, server, _ = server_and_client()
    target.quiet()
    target.unmade("pd", "third", 3, "cap")
    target.unmade("hold", server, 2, "node")
    target.unmade("hold", server, 2, "node")
    shown = "\n".join(told(target))
    heading = "Makings that failed and were undone:"
    assert f"{heading}\n  pd third: at the step cap\n  hold server (PD_1) (2 times): at" in shown


def test_who_is_told_before_the_end_and_who_answered() -> None:
    target, server, client = server_and_client()
    other = target.pd("other", deadline_ms=50)
    target.body_cap(other, server)
    for pd, node in ((client, "BLOCK_SPACE_1"), (other, server)):
        target.subscribe(pd, node)
    target.quiet()
    target.fault(server)
    waits = iter(range(2))

    def meanwhile(target: Target) -> None:
        if next(waits) == 0:
            target.fetch(other)
            target.late(other, target.queues[other][0], 50)

    target.cleanup(meanwhile=meanwhile)
    target.serve(client)
    lines = told(target)
    start = lines.index("  before     client (PD_2): disk (BLOCK_SPACE_1) is about to go")
    assert lines[start + 1 : start + 3] == [
        "             other (PD_3): server (PD_1) is about to go",
        "             1 of 2 answered",
    ]
    assert any("1 of 1 notice acknowledged" in line for line in lines)


def test_violations_are_told_and_too_many_are_counted() -> None:
    target, _, _ = server_and_client()
    reading = read(target)
    reading.report.violations = [Problem(n, "a\n\x1b[2J", "order.first") for n in range(25)]
    lines = tell(reading, "seL4 15.0.0 (x86_64)")
    assert any(line.startswith("FAIL: 25 violations") for line in lines)
    assert "  ... and 15 more" in lines
    assert not any("\x1b" in line or "PASS" in line for line in lines)


def test_a_run_without_a_crash_says_so_and_what_pds_said() -> None:
    target, _, client = server_and_client()
    target.say(client, "hello")
    lines = tell(read(target, account=False), "seL4 15.0.0 (x86_64)", 1.25)
    at = lines.index("Nothing crashed.")
    assert lines[at + 1] == "  said       client (PD_2): hello"
    assert lines[-1].startswith("PASS")


@pytest.mark.behaviour("V-02")
def test_what_pds_say_is_told_in_their_order() -> None:
    target, server, client = server_and_client()
    other = target.pd("other")
    target.say(client, "hello")
    target.fault(server)
    target.cleanup()
    spoken = [
        (client, "have"),
        (other, "busy"),
        (client, "free"),
        (other, "have"),
        (client, "have"),
    ]
    for pd, text in spoken:
        target.say(pd, text)
    names = {client: "client (PD_2)", other: "other (PD_3)"}
    lines = told(target)
    at = next(n for n, line in enumerate(lines) if "then said" in line)
    wanted = [f"{names[pd]}: {text}" for pd, text in spoken]
    assert [line[13:] for line in lines[at : at + len(spoken)]] == wanted
    said = said_lines(read(target))
    assert said[0] == "client (PD_2): hello"
    assert said[1].startswith("-- Crash 1: server (PD_1): page fault")
    assert said[2:] == wanted


def test_who_crashes_when_it_is_told_of_another_end_has_no_destructor_but_a_line() -> None:
    target = Target(2, 0, "told")
    low, mid, top = (target.pd(name) for name in ("low", "mid", "top"))
    disk, files = target.space(low, "BLOCK", "disk"), target.space(mid, "FILE", "files")
    target.request(mid, disk)
    target.request(top, files)
    target.subscribe(mid, disk)
    for pd in (mid, top):
        target.subscribe(pd, pd, DESTRUCTOR)
    target.quiet()
    target.fault(low)
    target.cleanup(meanwhile=lambda target: target.fault(mid, "user-exception", address=6))
    target.serve_all()
    lines = told(target)
    at = lines.index("             0 of 1 answered")
    assert lines[at + 1] == "  meanwhile  mid (PD_2): illegal instruction, instruction at 0x400123"
    assert "  last       top (PD_3): destructors" in lines


def test_who_came_back_is_told() -> None:
    target, server, _ = server_and_client()
    target.fault(server)
    target.cleanup()
    target.pd("server")
    reading = read(target, account=False)
    assert "  back       server as PD_3" in tell(reading, "seL4 15.0.0 (x86_64)")
    assert "; it came back; " in headline(reading)


def test_a_run_that_the_user_ended_misses_no_end() -> None:
    target, _, _ = server_and_client()
    raw = "\n".join(seal(target.end())[:-1]).encode()
    reading = read_trace(io.BytesIO(raw), "trace", open_end=True)
    lines = tell(reading, "seL4 15.0.0 (x86_64)", ended=True)
    assert lines[-1].startswith("ENDED AS ASKED: right as far as it goes; ")
    assert not any("broke off" in line or "did not look" in line for line in lines)


def test_what_pds_say_cannot_reach_the_terminal() -> None:
    target, server, client = server_and_client()
    target.fault(server)
    target.cleanup()
    target.say(client, "\x1b[31mred\nPASS")
    lines = told(target)
    assert any("client (PD_2): ?[31mred?PASS" in line for line in lines)


def test_lateness_failures_tickets_and_extractions_are_told() -> None:
    raw = "\n".join(seal(notices_run())).encode()
    reading = read_trace(io.BytesIO(raw), "trace")
    lines = tell(reading, "seL4 16.0.0 (x86_64)", 1.0, {1: "out/notices.extract1.csv"})
    assert "Model state for watcher (PD_4): 73 rows, out/notices.extract1.csv" in lines
    assert any(
        "idler (PD_5) missed its deadline of 100 ms for notice 15 (pre-destroy FILE_SPACE_2)"
        in line
        for line in lines
    )
    assert any(line.startswith("app (PD_3) failed to deal with notice") for line in lines)
    assert any(
        line.startswith("Ticket 2 of watcher (PD_4) for the end of other (PD_6): ")
        for line in lines
    )


def refused_run() -> Target:
    """A client has forgotten to allow the server a hold, and exits with 2."""
    target, server, client = server_and_client()
    for pd, op, status in ((server, GIVE, 14), (server, GIVE, 14), (client, CONNECT, 6)):
        target.refuse(pd, op, status)
    target.exit(client, 2)
    target.cleanup()
    return target


@pytest.mark.behaviour("S-03")
def test_a_refused_operation_is_told_in_words() -> None:
    """Who asked for what, and why it was refused, as protocol.h says it. Equal ones are one."""
    lines = told(refused_run())
    at = lines.index("Refused operations (`cellreap docs operations` says what each demands):")
    unwanted = "the receiving PD has not allowed it to the caller with ALLOW"
    assert lines[at + 1 : at + 4] == [
        f"  server (PD_1): GIVE (2 times): UNWANTED, {unwanted}",
        "  client (PD_2): CONNECT: GONE, what the operation names is not there, or is doomed",
        "",
    ]


@pytest.mark.behaviour("S-03")
def test_check_json_and_page_tell_refused_operations_too() -> None:
    target = refused_run()
    reading = read(target)
    checked = summary(reading.report)
    assert (
        "  PD_2 (client): CONNECT: GONE, what the operation names is not there, or is doomed"
        in (checked)
    )
    give, connect = reading_json(reading)["refused"]
    assert (give["operation"], give["result"], give["count"], give["pds"]) == (
        "GIVE",
        "UNWANTED",
        2,
        ["PD_1"],
    )
    assert (connect["name"], connect["count"]) == ("client", 1)
    lanes = Lanes()
    for name, values in target.events:
        lanes.take(event_of(name, values))
    said = [lanes.says[kind] for _, kind in lanes.lanes["PD_2"].marks]
    assert said[0] == "refused CONNECT: GONE, what the operation names is not there, or is doomed"


@pytest.mark.behaviour("S-03")
def test_refusals_that_are_only_counted_and_numbers_without_a_name_are_told() -> None:
    target, server, client = server_and_client()
    for _ in range(headers.constant("limits.h", "CR_REFUSALS_TOLD")):
        target.refuse(server, 9999, 2)
    target.emit("REFUSED", pd=server, count=1000)
    target.exit(client, 0)
    target.cleanup()
    lines = told(target)
    assert "  server (PD_1): operation 9999 (64 times): BAD_OP, there is no such operation" in lines
    assert "  server (PD_1): 1000 further operations, which the trace only counts" in lines
