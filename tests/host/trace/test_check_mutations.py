# SPDX-License-Identifier: BSD-2-Clause
"""The check notices when an event of a passing trace is deleted, doubled, altered or moved.

Raw: the lines are changed as they are, as a bad console would change them. Sealed: numbers,
checksums and digest are made anew, as a root task with a bug would write them. Mutations that no
checker can notice are listed here and in docs/trace-format.md.
"""

from __future__ import annotations

import functools
import io
import pickle
from collections.abc import Callable, Iterator, Sequence

import pytest

from cellreap import headers
from cellreap.errors import InputError
from cellreap.model.ids import ROOT
from cellreap.trace.check import Replay, Report, check_stream
from cellreap.trace.check.truth import EVENTS
from cellreap.trace.events import Event, asks
from cellreap.trace.frames import MARK
from cellreap.trace.reader import Reader
from cellreap.trace.writer import seal
from kit.budget_run import budget_run
from kit.cancel_run import cancel_run
from kit.collect_run import collect_run
from kit.govern_run import govern_run
from kit.hung_run import hung_run
from kit.overlap_run import overlap_run
from kit.paths import GOLDENS
from kit.reconcile_run import reconcile_run
from kit.reports_run import reports_run
from kit.residue_run import residue_run
from kit.simulated_runs import RUNS as SIMULATED
from kit.stop_run import stop_run
from kit.trace_mutations import (
    Mutation,
    across_dependencies,
    alterations,
    by_distance,
    deletions,
    depends,
    doublings,
    every,
    leapt_cleanups,
    moves,
    passing,
    stride,
)
from kit.tree_run import tree_run

RUNS = {
    **SIMULATED,
    "budget": budget_run,
    "cancel": cancel_run,
    "collect": collect_run,
    "govern": govern_run,
    "stop": stop_run,
    "reconcile": reconcile_run,
    "overlap": overlap_run,
    "reports": reports_run,
    "residue": residue_run,
    "tree": tree_run,
    "hung": hung_run,
}
RECORDED = "block_fs_db_app-0-0.trace"
GENERATED = ["rich", "depths-0-2", "depths-1-0"]
# The run that stands for all others where the slow tests are left out.
QUICK = "depths-1-0"
SECOND = [
    "close",
    "notices",
    "sync",
    "blame",
    "time",
    "budget",
    "cancel",
    "govern",
    "stop",
    "reconcile",
    "collect",
    "overlap",
    "merged",
    "making",
    "takeovers",
    "residue",
    "reports",
    "interleaved",
    "tree",
    "hung",
]
TRACES = GENERATED
NAMES = [
    name if name == QUICK else pytest.param(name, marks=pytest.mark.slow)
    for name in [*TRACES, *SECOND]
]

# "EVENT.field" -> why no checker can know the value. No other part of a trace depends on it.
FREE_FIELDS = {
    "TRACE.kernel": "which kernel runs is the root task's word",
    "TRACE.system": "a name for people",
    "TRACE.pd_depth": "the system's default; each CLEANUP says what was used",
    "TRACE.rs_depth": "the system's default; each CLEANUP says what was used",
    "SPACE.name": "a name for people that no state row has",
    "SAY.pd": "nothing follows from what a PD says",
    "SAY.text": "nothing follows from what a PD says",
    "REFUSE.pd": "nothing follows from a refused request",
    "REFUSE.op": "nothing follows from a refused request",
    "REFUSE.status": "nothing follows from a refused request",
    "STAGE.crash": "the configuration is not in the trace",
    "UNREACHED.crash": "the configuration is not in the trace",
    "UNREACHED.name": "the configuration is not in the trace",
    "FAULT.kind": "all faults are cleaned up alike",
    "FAULT.address": "all faults are cleaned up alike",
    "FAULT.registers": "all faults are cleaned up alike",
    "FAULT_HELD.registers": "all faults are cleaned up alike",
    "EXIT.registers": "to others that show the same message, or none",
    "SETTLED.cycles": "a measurement",
    "BODY.paddr": "to other free memory",
    "REFUSED.count": "nothing follows from a refused request",
    **{f"STANDS.{field}": "only the root task looked" for field in ("slot", "space", "ip")},
    "STANDS.chance": "only the root task looked",
    "STANDS.on": "of a PD that waits for nobody, or to another one that it can call",
    "STANDS.state": "to another state of a PD whose thread is not suspended, or is",
    "RIGHTS.priority": "the configuration is not in the trace",
    "RIGHTS.account": "the configuration is not in the trace",
    "RIGHTS.set_depth": "the configuration is not in the trace",
    "RIGHTS.extract": "the configuration is not in the trace",
    "RIGHTS.spawn": "the configuration is not in the trace",
    "RIGHTS.listen": "the configuration is not in the trace",
    "RIGHTS.reader": "the configuration is not in the trace",
    "DUMP.address": "the checker knows no memory of PDs",
    "RIGHTS.collect": "the configuration is not in the trace",
    "RIGHTS.protected": "the configuration is not in the trace",
    "CLEANUP.steps": "of a cleanup that waits, or in which a step was left",
    "FAULT_HELD.kind": "all faults are treated alike",
    "FAULT_HELD.address": "all faults are treated alike",
    **{
        f"QUOTA.{word}": "to a number that is not exceeded"
        for word in headers.printed_names("limits.h", "CR_QUOTA")
    },
    "QUOTA.name": "the configuration is not in the trace",
    "MAKE_FAILED.what": "to something else that has such a step",
    "MAKE_FAILED.name": "nothing follows from it",
    "MAKE_FAILED.kind": "to another kind of step of such a thing",
    "MAKE_FAILED.status": "to another error",
    "SERVED.waited": "to fewer than the step before it made",
    "SERVED.kinds": "no other part of a trace depends on it",
    "made HOLD.number": "to another free slot, that nothing else is told of",
    "made REQUEST.number": "to another free slot, that nothing else is told of",
}
# The same for values that no later part of the trace tells.
BOUND_FIELDS = {
    "CANCEL.pd": "of a respawn: the configuration gives the right, and is not in the trace",
    "CANCEL.name": "of a CONNECT: to another space that is not there",
    "FINISH_WORK.result": "where nothing waits behind the notice and no ticket counts it later",
    "SETTING.value": "of `await` where nobody is given up, or to what was too long as well",
    "RIGHTS.deadline_ms": "of a PD that is never late, or to what it missed as well",
    "ALLOW.count": "to a larger number, or of edges that nobody made",
    "CLOCK.ms": "to another time at which nothing is overdue",
    "dismissed THREAD.change": "to unfinished, at the end",
    "frozen THREAD.change": "to in-rounds, of a PD that is destroyed before it is dismissed",
    "unfinished THREAD.change": "to dismissed",
    "HELD_UP.ms": "to another time beyond the deadline or limit that has passed",
    "HELD_UP.ran": "to another time below the deadline or limit",
    "TRIGGER.when": "to later, where the cleanup begins at once in either case",
    "TRIGGER.ms": "to another time beyond the deadline, or the limit that has passed",
    "RIGHTS.call_ms": "of a PD for whose call nobody was probed",
    "RIGHTS.heartbeat_ms": "of a PD that was not probed for it",
    "RIGHTS.budget_us": "to another one below the period",
    "RIGHTS.period_us": "to another one above the budget",
    "RIGHTS.passive": "of a PD that is not stopped",
    "RIGHTS.pd_depth": "of a PD that is no trigger until they are told again",
    "RIGHTS.rs_depth": "of a PD that is no trigger until they are told again",
    "RIGHTS.respawns": "of a PD that is not destroyed",
    "GIVE_UP.token": "to another token that frees the same",
    "GIVE_UP.ran": "to another time that is long enough, alone or with held_up",
    "GIVE_UP.held_up": "to another time that is long enough, alone or with ran",
    "QUEUE.token": "of a notice that nobody fetched before its receiver was destroyed",
    "TICKET.ticket": "to another ticket of its owner's that is exactly as far",
    "TRIGGER.by": "to the root task or another holder of the capability to the victim's body",
}
FREE_EVENTS = {"SAY", "REFUSE", "REFUSED", "UNREACHED", "DUMP", "stranded THREAD"}


@functools.cache
def lines_of(name: str) -> list[bytes]:
    """The lines of a generated run's trace, or of a recorded one with the console around it."""
    if name in RUNS:
        return [line.encode() for line in seal(RUNS[name]())]
    return (GOLDENS / name).read_bytes().splitlines()


@functools.cache
def events_of(name: str) -> list[Event]:
    reader = Reader(name)
    events = [reader.feed(number, line) for number, line in enumerate(lines_of(name), 1)]
    reader.finish()
    assert not reader.problems
    return [event for found in events for event in found]


@pytest.fixture(params=[*TRACES, *SECOND])
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.behaviour("M-06", "H-10")
def test_the_unchanged_trace_passes(name: str) -> None:
    report = check_stream(io.BytesIO(b"\n".join(lines_of(name))), name)
    assert report.violations == []
    assert report.passed
    assert report.cleanups


# -- raw


def _raw_mutations(lines: Sequence[bytes]) -> Iterator[tuple[str, int, list[bytes]]]:
    """(what, lines kept from the beginning, the lines after them)."""
    for i, line in enumerate(lines):
        if MARK not in line:
            continue
        rest = list(lines[i + 1 :])
        yield f"deleted {i}", i, rest
        yield f"doubled {i}", i + 1, [line, *rest]
        for cut in range(line.index(MARK) + len(MARK), len(line), 7):
            yield f"cut {i} at {cut}", i, [line[:cut], *rest]
        for at in range(line.index(MARK) + i % 3, len(line), 3):
            yield (
                f"altered {i} at {at}",
                i,
                [line[:at] + bytes([line[at] ^ 1]) + line[at + 1 :], *rest],
            )
        yield (
            f"kernel message in {i}",
            i,
            [line[: len(line) // 2] + b"Caught cap fault" + line[len(line) // 2 :], *rest],
        )
        following = next((j for j, other in enumerate(rest) if MARK in other), None)
        if following is not None:
            swapped = [rest[following], *rest[:following], line, *rest[following + 1 :]]
            yield f"moved {i}", i, swapped
            yield (
                f"joined {i}",
                i,
                [line + rest[following], *rest[:following], *rest[following + 1 :]],
            )


def _rejected(reader: Reader, start: int, lines: Sequence[bytes]) -> bool:
    try:
        for number, line in enumerate(lines, start + 1):
            reader.feed(number, line)
            if reader.problems or reader.broken_at is not None:
                return True
        reader.finish()
    except InputError:
        return True
    return bool(reader.problems) or reader.broken_at is not None


@pytest.mark.slow
@pytest.mark.behaviour("H-09")
@pytest.mark.parametrize("name", [*NAMES, RECORDED])
def test_every_raw_mutation_is_rejected(name: str, thorough: bool) -> None:
    lines = lines_of(name)
    reader, fed, saved = Reader(name), -1, b""
    accepted, tried = [], 0
    step = stride(len(lines), thorough)
    for what, keep, tail in every(step, _raw_mutations(lines)):
        if keep < fed:  # a doubling keeps one line more than what comes after it
            reader, fed = Reader(name), -1
        if keep != fed:
            for number, line in enumerate(lines[max(0, fed) : keep], max(0, fed) + 1):
                reader.feed(number, line)
            fed, saved = keep, pickle.dumps(reader)
        tried += 1
        if not _rejected(pickle.loads(saved), keep, tail):
            accepted.append(what)
    assert accepted == []
    assert tried > 15 * sum(MARK in line for line in lines) / step


def test_raw_mutations_fail_the_whole_check_too() -> None:
    """The test above stops at the first damage.

    This test looks at the reports for some of the mutations.
    """
    lines = lines_of("depths-1-0")
    for index, (what, keep, tail) in enumerate(_raw_mutations(lines)):
        if index % 97:
            continue
        stream = io.BytesIO(b"\n".join([*lines[:keep], *tail]) + b"\n")
        try:
            report = check_stream(stream, what)
        except InputError:
            # only a log without its TRACE is not a trace
            assert lines[0].startswith(MARK + b"0"), what
            assert keep == 0, what
        else:
            assert not report.passed, what


# -- sealed


def _gone_before_it_was_printed(events: Sequence[Event], at: int) -> bool:
    """Whether the event is about a thing that was deleted before the state was next printed."""
    mine = set(events[at].values.values())
    for event in events[at + 1 :]:
        if event.name == "DELETE" and event["node"] in mine:
            return True
        if event.name == "SETTLED":
            return False
    return False


def _excuse(events: Sequence[Event], mutation: Mutation) -> str | None:
    """The reason why a checker cannot notice this mutation. None if it must be noticed."""
    event = events[mutation.at]
    later = events[mutation.at + 1 :]
    free = event.name in FREE_EVENTS or event.told in FREE_EVENTS
    if free and (mutation.kind != "alter" or mutation.key in FREE_FIELDS):
        return "nothing follows from it"
    if _gone_before_it_was_printed(events, mutation.at):
        return "about what was deleted before the state was printed"
    if mutation.kind == "delete":
        if event.name in ("FAULT", "EXIT") or event.values.get("cause") == "terminate":
            if any(e.name == "CLEANUP" and e["trigger"] == event["pd"] for e in later):
                return None
            return "a trigger whose PD was destroyed by the cleanup of another"
        if event.name == "USAGE":
            following = next(e.name for e in later if e.name in ("USAGE", "CLEANUP", "END"))
            return "the next USAGE tells the same" if following == "USAGE" else None
        if event.name == "CLOCK":
            return "the next one tells the time"
        if event.name == "INJECTED":
            return "what was injected need not have happened"
        if event.told == "frozen THREAD":
            return "it need not have been frozen to do nothing"
        if event.name == "CANCEL" and event["of"] == "-":
            due = [e for e in events if e.told == "due RESPAWN" and e["name"] == event["name"]]
            return "the respawn need not have come yet" if due[-1].number("delay_ms") else None
        if event.name == "STANDS" and event["ms"] == "0":
            first = max(i for i, e in enumerate(events) if e.name == "USAGE")
            told = [e for e in events[first:] if e.name == "STANDS"]
            waited_for = event["pd"] in {e["on"] for e in told}
            return None if waited_for or event not in told else "only the root task looked"
        if event.name == "TICKET":
            return None if _lets_go(events, mutation.at) else "its owner need not have asked"
        if event.name == "FINISH_WORK":
            marked = [e["node"] for e in later if e.name == "STEP" and e["name"] == "mark"]
            if event["pd"] in marked:
                return "its receiver was destroyed later"
            if _deadline_of(events, event["pd"]) == 0:
                return "a PD without a deadline may take its time: the report says what is undone"
            return None
        if event.name == "HELD_UP":
            return "the root task may have been busy instead"
    if mutation.kind in ("delete", "double") and event.name == "MAKE_FAILED":
        return "the kernel may have refused the step, and once more"
    if mutation.kind in ("delete", "double") and event.values.get("op") == "listen":
        return "a listener may ask or not, and twice"
    if mutation.kind == "double" and event.name == "ALLOW":
        return "it sets the same again"
    if mutation.kind == "alter":
        return FREE_FIELDS.get(mutation.key) or _bound(events, mutation, later)
    return None


def _lets_go(events: Sequence[Event], at: int) -> bool:
    """Whether this TICKET answers a terminator that waits for it."""
    told = events[at]["ticket"]
    asked = [event for event in events[:at] if asks(event)][int(told) - 1]
    first = not any(e.name == "TICKET" and e["ticket"] == told for e in events[:at])
    return events[2]["word"] == "sync" and first and asked.values.get("pd", "-") != "-"


def _deadline_of(events: Sequence[Event], pd: str) -> int:
    """How long the PD may take; 0: as long as it likes."""
    rules = (e for e in events if e.name == "RIGHTS" and e["pd"] == pd)
    return max((e.number("deadline_ms") for e in rules), default=0)


AT_ONCE = {"TICKET", "ANSWER", "stopped THREAD", "answered THREAD", "REFUSED", "USAGE"}
"""What comes between a TRIGGER and a CLEANUP that follows at once."""


def _is_late(event: Event, pd: str) -> bool:
    return event.name == "TRIGGER" and event["cause"] == "late" and event["pd"] == pd


def _bound(events: Sequence[Event], mutation: Mutation, later: Sequence[Event]) -> str | None:
    event, changed = events[mutation.at], mutation.changed
    assert changed is not None
    if mutation.key in ("FAULT.ip", "FAULT_HELD.ip") and event["registers"] == "-":
        return "the trace has no register beside it"
    reason = BOUND_FIELDS.get(mutation.key)
    if event.name == "FINISH_WORK":
        return reason if changed["result"] != "each" else None
    if mutation.key in ("dismissed THREAD.change", "unfinished THREAD.change"):
        return reason if changed["change"] in ("dismissed", "unfinished") else None
    if mutation.key == "frozen THREAD.change":
        return reason if changed["change"] == "in-rounds" else None
    if mutation.key == "ALLOW.count":
        used = any(e.made("HOLD", "REQUEST") and e["asker"] == event["by"] for e in later)
        return reason if not used or changed.number("count") > event.number("count") else None
    if mutation.key == "TRIGGER.when":
        cleanup = next((e for e in later if e.told not in AT_ONCE), None)
        at_once = cleanup is not None and cleanup.values.get("trigger") == event["pd"]
        return reason if at_once and changed["when"] == "later" else None
    if mutation.key == "TRIGGER.ms" and event["cause"] == "late":
        return reason if changed.number("ms") >= _deadline_of(events, event["pd"]) else None
    if mutation.key == "TRIGGER.ms" and event["cause"] == "hung":
        return reason if changed.number("ms") >= event.number("ms") else None
    if mutation.key in ("RIGHTS.heartbeat_ms", "RIGHTS.call_ms"):
        field = "to" if mutation.key == "RIGHTS.heartbeat_ms" else "from"
        by = "-" if field == "to" else event["pd"]
        probes = [e for e in later if e.values.get("kind") == "probe" and e["number"] != "0"]
        probed = [e for e in probes if e["from"] == by]
        return None if any(e[field] == event["pd"] for e in probed) else reason
    if mutation.key == "SETTING.value" and event["what"] == "await":
        ran = [e.number("ran") for e in later if e.name == "GIVE_UP"]
        return reason if changed.number("value") <= min(ran, default=1 << 64) else None
    if mutation.key == "GIVE_UP.token" or event.name in ("CLOCK", "HELD_UP"):
        return reason
    if event.name == "GIVE_UP":
        await_ms = next(e.number("value") for e in events if e.values.get("what") == "await")
        long = changed.number("ran") >= await_ms or changed.number("held_up") >= 2 * await_ms
        return reason if long else None
    if mutation.key == "RIGHTS.deadline_ms":
        waited = [e.number("ms") for e in later if _is_late(e, event["pd"])]
        enough = changed.number("deadline_ms") <= min(waited, default=1 << 64)
        return reason if enough else None
    if mutation.key in ("RIGHTS.pd_depth", "RIGHTS.rs_depth"):
        mine = (e for e in later if event["pd"] in (e.values.get("pd"), e.values.get("trigger")))
        following = next((e for e in mine if e.name in ("RIGHTS", "CLEANUP")), None)
        set_anew = following is None or following.values.get("op") == "set_depth"
        return reason if set_anew else None
    if mutation.key == "RIGHTS.passive":
        stopped = any(e.told == "stopped THREAD" and e["pd"] == event["pd"] for e in later)
        return None if stopped else reason
    if mutation.key in ("RIGHTS.budget_us", "RIGHTS.period_us"):
        below = 0 < changed.number("budget_us") <= changed.number("period_us")
        return reason if below and event["budget_us"] != "0" else None
    if mutation.key == "RIGHTS.respawns":
        name = next(e["name"] for e in events if e.name == "PD" and e["id"] == event["pd"])
        told = ("due RESPAWN", "over RESPAWN", "PD")
        again = [e for e in later if e.name in told and e["name"] == name]
        return None if again else reason
    if mutation.key == "QUEUE.token":
        fetched = any(e.told == "fetched NOTICE" and e["token"] == event["token"] for e in later)
        return None if fetched else reason
    if mutation.key == "TICKET.ticket":
        return reason
    if mutation.key == "CANCEL.pd":
        return reason if event["of"] == "-" else None
    if mutation.key == "CANCEL.name":
        there = any(e.name == "SPACE" and e["name"] == changed["name"] for e in events)
        return reason if event["ticket"] == "0" and event["of"] != "-" and not there else None
    if mutation.key == "TRIGGER.by" and event["cause"] == "terminate":
        replay = Replay(Report("so far"))
        for earlier in events[: mutation.at]:
            replay.feed(earlier)
        model, by = replay.model, changed["by"]
        return reason if by == ROOT or (by, model.body_of(event["pd"])) in model.holds else None
    return None


MUTATIONS: dict[str, Callable[[Sequence[Event]], Iterator[tuple[Mutation, list[Event]]]]] = {
    "delete": deletions,
    "double": doublings,
    "alter": alterations,
}


@functools.cache
def _tried(name: str, kind: str, thorough: bool) -> tuple[int, list[Mutation]]:
    """The number of mutations that were tried, and those that pass."""
    events = events_of(name)
    results = list(passing(events, MUTATIONS[kind](events), thorough))
    return len(results), [mutation for mutation, passes in results if passes]


@pytest.mark.behaviour("M-06", "H-10")
@pytest.mark.parametrize("kind", MUTATIONS)
@pytest.mark.parametrize("name", NAMES)
def test_every_sealed_mutation_that_can_be_noticed_is(name: str, kind: str, thorough: bool) -> None:
    events = events_of(name)
    tried, passed = _tried(name, kind, thorough)
    assert [mutation.what for mutation in passed if _excuse(events, mutation) is None] == []
    # END: sealing makes its own values
    assert tried >= (len(events) - 1) // stride(len(events), thorough)


@pytest.mark.slow
@pytest.mark.thorough
def test_what_cannot_be_noticed_is_exactly_what_is_listed() -> None:
    unnoticed: dict[str, set[str]] = {}
    for name in ("rich", *SECOND):
        for kind in MUTATIONS:
            for mutation in _tried(name, kind, True)[1]:
                if not _gone_before_it_was_printed(events_of(name), mutation.at):
                    unnoticed.setdefault(kind, set()).add(mutation.key)
    left_out = {"USAGE", "FINISH_WORK", "frozen THREAD", "TICKET", "CLOCK", "CANCEL", "HELD_UP"}
    left_out |= {"INJECTED", "STANDS", "MAKE_FAILED", "ANSWER"}
    assert unnoticed == {
        "delete": {*FREE_EVENTS, *left_out},
        "double": {*FREE_EVENTS, "ALLOW", "MAKE_FAILED", "ANSWER"},
        "alter": {*FREE_FIELDS, *BOUND_FIELDS},
    }


def test_the_runs_have_every_event() -> None:
    events = [event for name in ("rich", *SECOND) for event in events_of(name)]
    names = {event.name for event in events} | EVENTS  # test_check_truth.py damages these
    assert names == set(headers.event_table().fields)
    changes = {event.values.get("change", "made") for event in events}
    assert changes == set(headers.printed_names("trace_events.h", "CR_CHANGE"))


@pytest.mark.parametrize(
    "how", ["next", "back 7", "on 3", "back 20", "over what it needs", "over what needs it"]
)
@pytest.mark.parametrize("name", NAMES)
def test_every_sealed_move_across_a_dependency_is_noticed(
    name: str, how: str, thorough: bool
) -> None:
    events = events_of(name)
    places = {
        "next": lambda: by_distance(events, 1),
        "back 7": lambda: by_distance(events, 7),
        "on 3": lambda: by_distance(events, -3),
        "back 20": lambda: by_distance(events, 20),
        "over what it needs": lambda: across_dependencies(events, earlier=True),
        "over what needs it": lambda: across_dependencies(events, earlier=False),
    }[how]()

    def crossed(mutation: Mutation) -> int | None:
        """The first event beyond which it moves another that depends on it, or it on that."""
        i, to = mutation.at, places[mutation.at]
        assert to is not None
        beyond = range(to, i) if to < i else range(i + 1, to)
        leapt = leapt_cleanups(events, beyond, i)
        each = (j for j in beyond if j not in leapt)
        return next((j for j in each if depends(events, min(i, j), max(i, j), i)), None)

    dependent = ((it, tail) for it, tail in moves(events, places) if crossed(it) is not None)
    unnoticed = []
    tried = 0
    for mutation, passes in passing(events, dependent, thorough):
        tried += 1
        if passes:
            unnoticed.append(f"{mutation.what}, across {events[crossed(mutation) or 0]}")
    assert unnoticed == []
    assert tried >= (8 if stride(len(events), thorough) == 1 else 1)


@pytest.mark.parametrize("kind", MUTATIONS)
def test_sealed_mutations_fail_as_text_too(kind: str) -> None:
    """The tests above feed events.

    This one seals some of the mutated traces and reads them again.
    """
    events = events_of("depths-0-1")
    for index, (mutation, tail) in enumerate(MUTATIONS[kind](events)):
        if index % 41 or _excuse(events, mutation) is not None:
            continue
        lines = seal([*events[: mutation.keep], *tail])
        try:
            report = check_stream(io.BytesIO("\n".join(lines).encode()), mutation.what)
        except InputError:
            assert mutation.keep == 0, mutation.what
        else:
            assert not report.passed, mutation.what
