# SPDX-License-Identifier: BSD-2-Clause
"""A PD sends messages of all kinds. The root task continues, and no other PD notices.

`--fuzz-messages` says how many. What so many random messages must reach is asserted of the 100,000
that `--thorough` sends.

Every run has passed the check of its trace against the reference model before a test sees it.
Whatever a random message causes, the root task's state is therefore legal and agrees with its
events.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from cellreap.headers import enums
from cellreap.system.config import Config, Mode
from cellreap.testing import Run, Target, with_pd
from kit.arches import ARCHES

BYSTANDERS = ("block_server_1", "block_server_2", "fs", "db", "app")
CRASHING = "block_server_1"
FEWER = 2_000  # of one life, if the PD may have several
PROTOCOL = enums("protocol.h")
OPERATIONS = {name: number for name, number in PROTOCOL["cr_op"].items() if name != "CR_OP_COUNT"}
WAYS = ("called", "sent", "sent if awaited")
CAPABILITIES = ("root", "endpoint", "notification", "fault", "request", "resource", "pd", "foreign")
SAID = re.compile(r"sent (\d+): answered (\d+), refused (\d+)")

# What the fuzzer does besides sending messages, by argument, and the expected cause of its cleanup.
EXIT, FAULTS, CAP_FAULTS, LOSE_WORK, CALL_FAULT, TERMINATES = 1, 2, 4, 8, 16, 32
ENDS = {EXIT: "exit", FAULTS: "fault", CAP_FAULTS: "fault", LOSE_WORK | TERMINATES: "late"}
LAST_LIFE = 20  # the number of a PD; the fuzzer is respawned until it has this number


def _alone(config: Config) -> Config:
    """The configuration without the fuzzer and the PDs that exist for it."""
    pds = tuple(pd for pd in config.pds if pd.name in BYSTANDERS)
    crashes = tuple(crash for crash in config.crashes if crash.pd in BYSTANDERS)
    return config.model_copy(update={"pds": pds, "crashes": crashes})


def _words(run: Run, name: str) -> list[str]:
    """What a PD printed, without numbers of PDs, spaces and rounds.

    PDs that are destroyed and respawned use up numbers. The scenario's crash comes a round later if
    a cleanup of the fuzzer waits at its turn.
    """
    return [re.sub(r"(PD_|space |round )[0-9a-f]+", r"\1N", text) for text in run.says(name)]


def _counts(run: Run, what: str) -> dict[str, int]:
    """The counts that the fuzzer prints at its end in a line "WHAT: NAME NUMBER, NAME NUMBER"."""
    (text,) = [text for text in run.says("fuzzer") if text.startswith(f"{what}: ")]
    pairs = (pair.rsplit(" ", 1) for pair in text.removeprefix(f"{what}: ").split(", "))
    return {name: int(number) for name, number in pairs}


def _crash(run: Run) -> tuple[object, ...]:
    """How the crash of the scenario, which runs beside the fuzzer, was cleaned up after."""
    (cleanup,) = [event for event in run.cleanups() if run.names.get(event["trigger"]) == CRASHING]
    n = cleanup.number("n")
    return run.doomed(n), sorted(run.destroyed(n)), run.notices(n)


def _assert_nobody_noticed(run: Run, alone: Run) -> None:
    for name in BYSTANDERS:
        assert _words(run, name) == _words(alone, name)
    assert any(_words(alone, name) for name in BYSTANDERS)
    assert set(BYSTANDERS) - run.alive() == {CRASHING}
    assert _crash(run) == _crash(alone)
    assert [run.names[event["pd"]] for event in run.of("FAULT")].count(CRASHING) == 1
    # PDs that deal with the fuzzer notice nothing either: its client is answered by all others, and
    # its servers live.
    assert {"prey_server", "witness"} <= run.alive()
    served = [text for text in run.says("fuzzers_client") if text.startswith("asked ")]
    assert served
    for text in served:
        match = re.match(r"asked (\d+): answered (\d+), lost 0; ", text)
        assert match is not None, text
        assert match[1] == match[2] != "0", text


@pytest.fixture(params=ARCHES)
def fuzzed_target(request: pytest.FixtureRequest, target_of: Callable[[str], Target]) -> Target:
    return target_of(str(request.param))


@pytest.fixture
def messages(request: pytest.FixtureRequest, thorough: bool) -> int:
    said = request.config.getoption("--fuzz-messages")
    return int(said) if said is not None else 100_000 if thorough else 20_000


@pytest.fixture
def fuzzed(fuzzed_target: Target, messages: int) -> Run:
    return fuzz(fuzzed_target, messages)


def fuzz(target: Target, messages: int) -> Run:
    return target.run("fuzz", change=with_pd("fuzzer", args=(1, messages)))


@pytest.mark.slow
def test_it_sends_all_its_messages_and_lives(fuzzed: Run, messages: int) -> None:
    (said,) = [match for match in map(SAID.fullmatch, fuzzed.says("fuzzer")) if match]
    sent, answered, refused = map(int, said.groups())
    assert sent == messages
    assert answered > messages // 20
    assert refused > messages // 20
    assert "fuzzer" in fuzzed.alive()


@pytest.mark.slow
def test_others_work_beside_it_as_they_do_without(fuzzed_target: Target, fuzzed: Run) -> None:
    _assert_nobody_noticed(fuzzed, fuzzed_target.run("fuzz", change=_alone))


@pytest.mark.slow
def test_nobody_but_the_crash_and_the_fuzzer_brings_anybody_down(
    fuzzed: Run, messages: int
) -> None:
    """The fuzzer may terminate a PD that it has a capability to, and leave its prey in a fault."""
    down = {fuzzed.names.get(event["trigger"], "-") for event in fuzzed.cleanups()} - {"-"}
    assert {CRASHING} < down <= {CRASHING, "prey", "quarry", "idler"}
    assert len(down) == 4 or messages < 100_000
    assert {fuzzed.names[event["pd"]] for event in fuzzed.of("TRIGGER", cause="late")} <= {"prey"}
    assert fuzzed.of("EXIT") == []


@pytest.mark.slow
@pytest.mark.thorough
def test_each_operation_succeeds_beside_all_that_fail(fuzzed: Run) -> None:
    """Otherwise few operations would have been tried. EXIT would end the fuzzer, and STAY_DOWN its
    prey for good. SAVE needs a PD that a collection is about to destroy, and CANCEL a cleanup that
    does not begin at once.
    """
    accepted = _counts(fuzzed, "accepted")
    never = {name for name, op in OPERATIONS.items() if accepted[str(op)] == 0}
    assert never - {"CR_OP_SAVE", "CR_OP_CANCEL"} == {"CR_OP_EXIT", "CR_OP_STAY_DOWN"}
    results = _counts(fuzzed, "results")
    reached = {
        name for name, result in PROTOCOL["cr_result"].items() if results.get(str(result), 0) > 0
    }
    wanted = "OK BAD_MAGIC BAD_OP BAD_LENGTH DENIED NO_SUCH GONE EXISTS BAD_BADGE FAILED"
    assert reached >= {f"CR_RESULT_{name}" for name in wanted.split()}


@pytest.mark.slow
@pytest.mark.thorough
def test_all_ways_of_sending_and_all_kinds_of_capability_are_tried(fuzzed: Run) -> None:
    assert min(_counts(fuzzed, "to root")[way] for way in WAYS) > 1000
    to_fault = _counts(fuzzed, "to fault")
    assert to_fault["called"] == 0 < min(to_fault["sent"], to_fault["sent if awaited"])
    assert _counts(fuzzed, "short faults")["all"] > 100
    for way in WAYS:
        in_transit = _counts(fuzzed, f"in transit, {way}")
        assert in_transit.keys() == set(CAPABILITIES)
        assert min(in_transit.values()) > 0, (way, in_transit)
    assert min(_counts(fuzzed, "replies").values()) > 0


@pytest.mark.slow
@pytest.mark.thorough
def test_it_is_owed_all_kinds_of_notice_and_handles_faults(fuzzed: Run) -> None:
    fuzzer = fuzzed.id("fuzzer")
    owed = {event["kind"] for event in fuzzed.of("QUEUE", to=fuzzer)}
    assert owed >= {"pre-destroy", "lost", "destroy", "disconnect", "extract"}
    results = {event["result"] for event in fuzzed.of("FINISH_WORK", pd=fuzzer)}
    assert results == {"ok", "failed", "each"}
    assert fuzzed.of("resumed NOTICE", pd=fuzzer)
    assert fuzzed.of("SUBGRAPH", pd=fuzzer)
    assert "prey" in {fuzzed.names[event["pd"]] for event in fuzzed.of("FAULT")}


@pytest.mark.slow
@pytest.mark.thorough
def test_it_is_owed_what_dead_holders_leave(
    target_of: Callable[[str], Target], messages: int
) -> None:
    """Its messages depend on the timing, and few of those that it gives something to die."""
    runs = [fuzz(target_of(arch), messages) for arch in ARCHES]
    assert any(run.of("QUEUE", to=run.id("fuzzer"), kind="free") for run in runs)


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize("end", ENDS)
def test_what_is_its_own_end_is_nobody_elses(target: Target, end: int) -> None:
    """The fuzzer is respawned after each end, with other messages."""
    loses = bool(end & LOSE_WORK)  # the root task must first owe it a notice
    args = (2, 4 * FEWER if loses else FEWER, end, LAST_LIFE)
    deadline = {"deadline_ms": 100} if loses else {}
    often = {"respawn": True, "respawn_budget": 100, "respawn_delay_ms": 0}
    run = target.run("fuzz", change=with_pd("fuzzer", args=args, **often, **deadline))
    causes = [e["cause"] for e in run.cleanups() if run.names.get(e["trigger"]) == "fuzzer"]
    assert set(causes) == {ENDS[end]}
    assert len(run.ids("fuzzer")) == len(causes) + 1
    _assert_nobody_noticed(run, target.run("fuzz", change=_alone))


@pytest.mark.slow
@pytest.mark.thorough
def test_in_sync_mode_it_is_no_different(target: Target) -> None:
    """A terminator is answered when its ticket is over.

    No PD waits for a terminator that takes no answer.
    """
    mode: Mode = "sync"
    change = with_pd("fuzzer", args=(3, 6 * FEWER, TERMINATES), deadline_ms=300)
    run = target.run("fuzz", mode=mode, change=change)
    assert "fuzzer" in run.alive()
    _assert_nobody_noticed(run, target.run("fuzz", change=_alone))
    tickets = {str(t.ticket) for t in run.report.tickets if t.pd == run.id("fuzzer") and t.what}
    told = [(event["ticket"], event["state"]) for event in run.of("TICKET")]
    first = [next(state for ticket, state in told if ticket == one) for one in tickets]
    assert {"0", "3"} <= set(first)


@pytest.mark.slow
def test_who_calls_its_fault_handler_without_a_fault_is_refused(target: Target) -> None:
    """Each call is answered. No other PD notices."""
    run = target.run("fuzz", change=with_pd("fuzzer", args=(3, FEWER, CALL_FAULT)))
    assert _counts(run, "to fault")["called"] > 0
    assert run.of("FAULT", pd=run.id("fuzzer")) == []
    _assert_nobody_noticed(run, target.run("fuzz", change=_alone))
