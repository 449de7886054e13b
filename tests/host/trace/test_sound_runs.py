# SPDX-License-Identifier: BSD-2-Clause
"""Runs in which the root task did everything right, whatever its PDs did: no rule is violated."""

from __future__ import annotations

import io
import itertools
import subprocess
import sys

import pytest

from cellreap import headers
from cellreap.model.ids import ROOT, is_region
from cellreap.runs.expectation import expected_by
from cellreap.runs.follow import Follower
from cellreap.runs.summary import tell
from cellreap.trace.check import check_stream
from cellreap.trace.check.running import DESTROYING
from cellreap.trace.explain import Explain
from cellreap.trace.frames import MARK
from cellreap.trace.reading import Reading, read_trace
from cellreap.trace.writer import Draft, seal
from kit.broken_configurations import held
from kit.collect_run import collect_run
from kit.configured_story import Configured, expected, with_system
from kit.overlap_run import overlap_run
from kit.paths import GOLDENS, TESTS
from kit.paths import ROOT as ROOT_FOLDER
from kit.records import line_of, line_with, log_of
from kit.residue_run import residue_run
from kit.simulated_runs import left_run
from kit.stop_run import Ending
from kit.trace_simulator import Target

OPERATIONS = headers.names_of("protocol.h", "cr_op", "CR_OP_")
RESULTS = headers.names_of("protocol.h", "cr_result", "CR_RESULT_")


def reading(drafts: list[Draft]) -> Reading:
    return read_trace(io.BytesIO("".join(f"{line}\n" for line in seal(drafts)).encode()), "run")


def rules(drafts: list[Draft]) -> set[str]:
    return {problem.rule for problem in reading(drafts).report.violations}


def test_the_simulated_root_task_knows_nothing_of_the_check() -> None:
    program = "import sys, kit.trace_simulator; print(*sys.modules)"
    known = subprocess.run(
        [sys.executable, "-c", program], cwd=TESTS, capture_output=True, text=True, check=True
    ).stdout.split()
    assert [name for name in known if name.startswith("cellreap.trace.check")] == []


@pytest.mark.behaviour("V-02")
def test_each_of_the_cleanups_side_by_side_is_told_with_its_own_end() -> None:
    """Those that waited end after later ones began. So it is while the run goes on."""
    raw = "".join(f"{line}\n" for line in seal(overlap_run())).encode()
    run = read_trace(io.BytesIO(raw), "run")
    at_once: list[str] = []
    demanded = expected_by(ROOT_FOLDER / "configs" / "block_fs_db_app.toml")
    Follower(None, demanded, Explain(), at_once.append).take(raw)
    calls = [sum(cleanup.kernel_calls.values()) for cleanup in run.report.cleanups]
    for lines in (tell(run, ""), at_once):
        told = [line.rpartition(", ")[2] for line in lines if "slots back" in line]
        assert told == [f"{n} kernel calls" for n in calls]


@pytest.mark.behaviour("V-02")
def test_a_collection_that_a_pd_asked_for_is_told_as_one() -> None:
    run = reading(collect_run())
    collected = [each.number for each in run.report.cleanups if each.cause == "collect"]
    assert {run.story.chapters[n - 1].how for n in collected} == {"collect"}
    told = [line for line in tell(run, "") if line.startswith("Cleanup")]
    assert told == [f"Cleanup {n}: What nobody could reach was collected" for n in collected]


@pytest.mark.behaviour("S-15", "X-19")
def test_a_child_may_be_in_a_call_to_its_creator_when_both_are_terminated() -> None:
    target = Target(0, 0, "household")
    parent, boss = target.pd("parent"), target.pd("boss")
    rooms = target.space(parent, "ROOM", "rooms")
    target.body_cap(boss, parent)
    children = [target.pd("child", creator=parent) for _ in range(2)]
    for child in children:
        target.request(child, rooms)
    target.quiet()
    ticket = target.terminate_tree(parent, boss, calls=(children[1],))
    target.cleanup()
    target.serve_all()
    target.told(ticket)
    assert rules(target.end()) == set()


@pytest.mark.behaviour("S-15", "S-17")
def test_notices_of_a_pd_without_a_deadline_are_told_and_violate_nothing() -> None:
    found = reading(left_run())
    assert not found.report.violations
    (undone,) = found.report.undone
    assert undone.what == "never fetched notice 1 (disconnect BLOCK_SPACE_1)"
    assert f"server (PD_1) {undone.what}." in tell(found, "seL4")
    assert rules(left_run(deadline=1000)) == {"notices.end"}


@pytest.mark.behaviour("S-15", "B-03")
@pytest.mark.parametrize(("how", "broken"), [("hang", set()), ("freeze", {"actors.silent"})])
def test_who_computes_for_ever_uses_its_budget_up(how: str, broken: set[str]) -> None:
    target = Target(0, 0, "spender")
    pd = target.pd("spender", budget_us=1000, period_us=2000)
    target.quiet()
    if how == "freeze":
        target.freeze(pd)
    else:
        target.stage(1, how, pd)
    target.fault(pd, "timeout", address=1)
    target.cleanup()
    assert rules(target.end()) == broken


@pytest.mark.behaviour("S-17")
def test_a_pd_that_leaves_its_rounds_is_told_and_violates_nothing() -> None:
    found = reading(left_run(rounds=True))
    assert not found.report.violations
    (line,) = [text for text in tell(found, "seL4") if "left its rounds" in text]
    did = "the last that it did is in-rounds THREAD in line "
    assert line.startswith(f"server (PD_1) left its rounds: {did}")


@pytest.mark.behaviour("S-15")
def test_what_is_printed_when_the_run_ends_in_order_follows_who_left_its_rounds() -> None:
    target = Ending(0, 0, "stop")
    client = target.pd("client")
    target.snapshot()
    target.emit("in-rounds THREAD", pd=client)
    target.emit("unfinished THREAD", pd=client)
    target.stop_all()
    target.quiet()
    assert rules(target.end()) == set()


@pytest.mark.behaviour("S-15")
def test_a_log_that_ends_anywhere_in_a_line_is_cut_off_there() -> None:
    lines = (GOLDENS / "subscribed.trace").read_bytes().splitlines(keepends=True)
    at = line_with(lines, "EDGE")
    before, last = b"".join(lines[:at]), lines[at].rstrip()
    for length in range(len(MARK), len(last)):
        log = before + last[:length]
        report = check_stream(io.BytesIO(log), "log")
        assert [problem.rule for problem in report.violations] == ["line.cut", "line.cut_off"]
        assert check_stream(io.BytesIO(log), "log", open_end=True).passed


@pytest.mark.behaviour("S-15", "J-15")
def test_what_a_pd_prints_behind_the_last_event_is_no_damage_of_a_run_that_was_ended() -> None:
    lines = (GOLDENS / "subscribed.trace").read_bytes().splitlines(keepends=True)
    at = line_with(lines, "CLEANUP")
    forged = log_of([line_of(99999, "END count=1 digest=00000000", bytes(range(16))), "more"])
    log = b"".join(lines[:at]) + forged
    assert check_stream(io.BytesIO(log), "log", open_end=True).passed
    assert not check_stream(io.BytesIO(log), "log").passed


@pytest.mark.behaviour("S-15")
def test_the_root_task_is_refused_a_pd_that_it_makes() -> None:
    target = Target(0, 0, "refused")
    target.pd("idler")
    target.quiet()
    target.emit("REFUSE", pd="PD_0", op=OPERATIONS["spawn"], status=RESULTS["memory"])
    assert rules(target.end()) == set()


@pytest.mark.behaviour("S-15", "X-23")
@pytest.mark.parametrize("protected", [True, False])
def test_a_staged_termination_may_be_prevented(protected: bool) -> None:
    target = Target(0, 0, "prevented")
    victim = target.pd("victim", pinned=protected, protected=protected)
    boss = target.pd("boss")
    target.body_cap(boss, victim)
    target.quiet()
    target.stage(1, "terminate", victim, boss)
    target.emit("REFUSE", pd=boss, op=OPERATIONS["terminate"], status=RESULTS["prevented"])
    assert rules(target.end()) == (set() if protected else {"staged.follows"})


@pytest.mark.behaviour("S-15")
def test_memory_is_told_only_if_something_was_made() -> None:
    nothing = Target(0, 0, "empty")
    nothing.unmade("pd", "idler", 12, "page")
    assert rules(nothing.end()) == set()
    nothing = Target(0, 0, "empty")
    nothing.memory_changed = True
    nothing.account()
    assert rules(nothing.end()) == {"memory.usage"}


class Stopped(Configured, Ending):
    """A system of a configuration whose PDs are all stopped at the end."""


@pytest.mark.behaviour("S-15")
def test_the_end_in_order_is_no_cleanup_after_which_a_pd_starts() -> None:
    config = with_system(stops_in_order=True, crashes=(), extract=False)(expected())
    assert any(pd.late for pd in config.pds)
    target = Stopped(config)
    target.boot()
    target.snapshot()
    target.stop_all()
    target.account()
    assert held(target.end(), config).violations == []


@pytest.mark.behaviour("S-15")
@pytest.mark.parametrize(
    ("behind", "found"), [("CONTINUE", set()), ("CLEANUP", {"interleaved.place"})]
)
def test_a_pd_may_be_served_behind_a_plan_that_was_told_anew(behind: str, found: set[str]) -> None:
    target = Target(0, 0, "anew")
    server, watcher, guest = (target.pd(name) for name in ("server", "watcher", "guest"))
    disk = target.space(server, "BLOCK", "disk")
    target.request(watcher, disk)
    target.subscribe(watcher, disk)
    target.quiet()
    target.fault(server)
    target.cleanup()
    names = [name for name, _ in target.events]
    at = names.index("PLAN", names.index(behind)) + 1
    served: list[Draft] = [
        ("SAY", {"pd": guest, "text": "between"}),
        ("SERVED", {"n": 1, "pd": guest, "waited": 0, "kinds": "reply:1"}),
    ]
    target.events[at:at] = served
    target.account()
    target.serve_all()
    assert rules(target.end()) == found


@pytest.mark.behaviour("S-15")
@pytest.mark.parametrize(("more", "found"), [((), set()), ((6100,), {"clock.late"})])
def test_what_is_due_while_the_root_task_is_busy_is_told_behind_the_next_clock(
    more: tuple[int, ...], found: set[str]
) -> None:
    target = Target(0, 0, "busy")
    server, guest = target.pd("server", deadline_ms=1000), target.pd("guest")
    target.request(guest, target.space(server, "BLOCK", "disk"))
    target.quiet()
    target.emit("CLOCK", ms=100)
    target.exit(guest, 0)
    target.cleanup()
    for ms in (200, 6000, *more):
        target.emit("CLOCK", ms=ms)
    target.emit("HELD_UP", pd=server, ms=1060, ran=0)
    target.serve_all()
    assert rules(target.end()) == found


@pytest.mark.behaviour("S-15")
def test_the_deadline_of_a_notice_does_not_begin_anew_when_a_probe_is_finished() -> None:
    target = Target(0, 0, "probed")
    server, guest = target.pd("server", deadline_ms=1000, heartbeat_ms=300), target.pd("guest")
    target.request(guest, target.space(server, "BLOCK", "disk"))
    target.quiet()
    target.emit("CLOCK", ms=100)
    target.exit(guest, 0)
    target.cleanup()
    (notice,) = target.fetch(server)
    target.emit("CLOCK", ms=600)
    target.probe(server, None, 300)
    (probe,) = target.fetch(server)
    target.ack(server, probe)
    target.emit("CLOCK", ms=1200)
    target.emit("HELD_UP", pd=server, ms=1060, ran=0)
    target.ack(server, notice)
    assert rules(target.end()) == set()


@pytest.mark.behaviour("S-15")
def test_who_is_held_up_is_told_between_the_end_by_an_alarm_and_its_cleanup() -> None:
    """An interrupt of the timer brings both about. The cleanup comes when it is handled."""
    target = Target(0, 0, "alarm")
    server, guest = target.pd("server", deadline_ms=1000), target.pd("guest")
    space = target.space(server, "BLOCK", "disk")
    target.request(guest, space)
    first = target.pd("first")
    target.request(first, space)
    target.quiet()
    target.emit("CLOCK", ms=100)
    target.exit(first, 0)
    target.cleanup()
    target.stage(1, "kill", guest)
    target.emit("CLOCK", ms=1200)
    target.terminate(guest, ROOT)
    target.emit("HELD_UP", pd=server, ms=1060, ran=0)
    target.cleanup()
    target.serve_all()
    assert rules(target.end()) == set()


@pytest.mark.behaviour("S-15", "X-23")
@pytest.mark.parametrize(("rs_depth", "found"), [(None, set()), (0, {"authority.protected"})])
def test_a_client_of_a_space_that_is_doomed_already_does_not_go_with_its_server(
    rs_depth: int | None, found: set[str]
) -> None:
    target = Target(0, rs_depth, "doomed")
    low, watcher, boss = (target.pd(name) for name in ("low", "watcher", "boss"))
    high = target.pd("high", pd_depth=1, rs_depth=0)
    client, guard = target.pd("client"), target.pd("guard", pinned=True, protected=True)
    blocks, files = target.space(low, "BLOCK", "blocks"), target.space(high, "FILE", "files")
    target.map(files, blocks)
    target.request(watcher, blocks)
    target.subscribe(watcher, blocks)
    target.request(client, files)
    target.link(client, guard)
    target.body_cap(boss, high)
    target.quiet()
    target.fault(low)
    first = target.steps()
    next(first)
    target.terminate_later(high, boss)
    target.serve(watcher)
    next(first, None)
    assert rules(target.events) & {"authority.protected"} == found  # the trace ends here


@pytest.mark.behaviour("S-15")
@pytest.mark.parametrize("part", [False, True])
def test_memory_that_only_a_resource_refers_to_is_freed_with_it(part: bool) -> None:
    target = Target(0, 0, "backed")
    server = target.pd("server")
    space = target.space(server, "BLOCK", "disk")
    target.quiet()
    block, memory = target.resource(space), target.memory(server)
    target.model.add_map(block, memory)
    target.edge("made", "MAP", block, memory, 1, asker=server, op="back")
    target.model.drop_hold(server, memory)
    target.edge("dropped", "HOLD", server, memory, 1, asker=server, op="release")
    target.delete(space if part else block)
    target.model.remove_resource(memory)
    target.free_memory(memory)
    target.account()
    assert rules(target.end()) == set()


@pytest.mark.behaviour("T-04")
def test_a_region_goes_before_the_pd_of_whose_address_space_it_is_a_part() -> None:
    """And what it maps goes after the PD."""
    target = Target(0, 0, "mapped")
    pd = target.pd("attacher")
    memory = target.memory(pd)
    region = target.memory(pd, memory)
    target.quiet()
    target.fault(pd)
    target.cleanup()
    drafts = target.end()
    assert rules(drafts) == set()
    gone = [each for each in drafts if each[0] == "STEP" and each[1]["name"] in DESTROYING.values()]
    assert [each[1]["node"] for each in gone] == [region, pd, memory]
    for first, second in itertools.pairwise(gone):
        moved = [each for each in drafts if each is not first]
        moved.insert(moved.index(second) + 1, first)
        assert rules(moved) == {"cleanup.parts"}


@pytest.mark.behaviour("X-24")
def test_a_region_may_go_though_its_pd_is_left() -> None:
    drafts = residue_run(attaches=True)
    gone = [each for each in drafts if each[0] == "STEP" and is_region(str(each[1]["node"]))]
    assert [each[1]["name"] for each in gone] == ["destroy-resource"]
    assert rules(drafts) == set()


@pytest.mark.behaviour("S-15")
def test_a_pd_whose_fault_is_held_was_not_stopped() -> None:
    """So its policy may be changed. Its cleanup has not begun, and may never come."""
    target = Target(0, 0, "held")
    nurse = target.pd("nurse")
    patient = target.pd("patient")
    target.handler(patient, nurse)
    governor = target.pd("governor", trusts=(2,))
    target.body_cap(governor, patient)
    target.quiet()
    target.hold_fault(patient, nurse)
    target.pin(governor, patient, True)
    (notice,) = target.fetch(nurse)
    target.ack(nurse, notice)
    target.emit("resumed THREAD", pd=patient)
    assert rules(target.end()) == set()
