# SPDX-License-Identifier: BSD-2-Clause
"""Each step of a cleanup makes the kernel calls that it needs, and no others."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from cellreap.trace.check import Report
from cellreap.trace.writer import Draft
from kit.broken_traces import of_drafts
from kit.simulated_runs import RUNS, block_fs_db_app
from kit.trace_simulator import Target

Step = tuple[str, str, str]
"""(name, node, pd)."""
TAKEN = {"cancel-sends": 1, "revoke": 1, "delete": 1}
STOPPED = {"suspend": 1, "revoke": 1, "delete": 1}
CHANGED = {"depths-0-1": None, "notices": ("tell", "await")}
"""Run -> the steps of which other calls are told; None: all."""


def told(drafts: list[Draft]) -> Iterator[tuple[int, Step, Counter[str]]]:
    """The steps of all cleanups, with their index and the kernel calls that they tell."""
    for index, (event, values) in enumerate(drafts):
        if event == "STEP":
            kinds = str(values["kinds"]).split(",")
            pairs = (each.split(":") for each in kinds if each != "-")
            step = (str(values["name"]), str(values["node"]), str(values["pd"]))
            yield index, step, Counter({kind: int(count) for kind, count in pairs})


def retold(drafts: list[Draft], changes: dict[int, Counter[str]]) -> list[Draft]:
    """The run as a root task would tell it that made other calls: STEP and SETTLED agree.

    changes: index of a STEP -> its calls by kind.
    """
    steps = {index: changes.get(index, calls) for index, _, calls in told(drafts)}
    totals = Counter[object]()
    new: list[Draft] = []
    for index, (event, values) in enumerate(drafts):
        n = values.get("n")
        if event == "STEP":
            calls = +steps[index]
            totals[n] += calls.total()
            kinds = ",".join(f"{kind}:{count}" for kind, count in calls.items()) or "-"
            new.append((event, {**values, "kinds": kinds}))
        elif event == "SETTLED":
            new.append((event, {**values, "calls": totals.pop(n, 0)}))
        else:
            new.append((event, values))
    return new


def broken(report: Report) -> set[str]:
    """The rules that the trace breaks."""
    return {violation.rule for violation in report.violations}


def calls_of(target: Target) -> dict[Step, dict[str, int]]:
    """The steps with kernel calls of a run that passes, and these calls."""
    drafts = target.end()
    report = of_drafts(drafts)
    assert report.violations == []
    return {step: dict(calls) for _, step, calls in told(drafts) if calls}


# -- what each step needs


@pytest.mark.behaviour("W-03")
def test_a_space_is_taken_from_a_live_server() -> None:
    """Block server 1 ends. The file system lives and loses its files."""
    target = Target(0, 1)
    block_fs_db_app(target)
    target.quiet()
    target.fault("PD_1")
    target.free("PD_3", "PD_1")
    target.cleanup()
    target.serve_all()
    assert calls_of(target) == {
        ("suspend", "-", "PD_1"): {**STOPPED, "read-registers": 1, "resume": 1},
        ("cut-request", "FILE_SPACE_3", "PD_4"): TAKEN,
        ("destroy-resource", "FILE_3_2", "-"): dict.fromkeys(TAKEN, 2),
        ("destroy-pd", "PD_1", "PD_1"): {"revoke": 1},
        ("notify", "FILE_SPACE_3", "PD_3"): {"signal": 1},
        ("notify", "FILE_SPACE_3", "PD_4"): {"signal": 1},
    }


@pytest.mark.behaviour("W-03")
def test_of_several_notices_only_the_first_needs_a_signal() -> None:
    target = Target(1, 0)
    server, client = target.pd("server"), target.pd("client")
    space = target.space(server, "BLOCK")
    target.body_cap(server, client)
    for _ in range(2):
        target.hold(client, target.resource(space))
    target.quiet()
    target.exit(client)
    target.cleanup()
    target.serve_all()
    calls = calls_of(target)
    notified = [step for step in calls if step[0] == "notify"]
    assert notified == [("notify", "BLOCK_1_1", server)]
    assert calls["suspend", "-", client] == STOPPED


def _signals(before: Callable[[Target, str], None]) -> bool:
    """Whether a server is signalled of its client's end, after something else happened."""
    target = Target(0, 0)
    server, client, other = (target.pd(name) for name in ("server", "client", "other"))
    space, room = target.space(server, "BLOCK"), target.space(server, "ROOM")
    for pd in (client, other):
        target.request(pd, space)
    target.request(other, room)
    before(target, other)
    target.quiet()
    target.exit(client)
    target.cleanup()
    for notice in [each for each in target.queues[server] if each.out]:
        target.ack(server, notice)
    target.serve_all()
    drafts = target.end()
    assert of_drafts(drafts).violations == []
    (found,) = (calls for _, step, calls in told(drafts) if step[0] == "notify")
    return found == {"signal": 1}


def _fetched(target: Target, other: str) -> None:
    target.unrequest(other, "ROOM_SPACE_2")
    target.fetch("PD_1")


def _failed(target: Target, other: str) -> None:
    target.unrequest(other, "ROOM_SPACE_2")
    target.serve("PD_1", "failed")


def _failed_and_resumed(target: Target, other: str) -> None:
    _failed(target, other)
    target.again("PD_1", "ROOM_SPACE_2")


@pytest.mark.behaviour("W-03")
def test_a_receiver_that_has_something_to_fetch_needs_no_signal() -> None:
    assert _signals(lambda target, other: None)
    assert not _signals(lambda target, other: target.unrequest(other, "ROOM_SPACE_2"))
    assert _signals(_fetched)
    assert _signals(_failed)
    assert not _signals(_failed_and_resumed)


def _readers(before: Callable[[Target, str], None]) -> int:
    """How many PDs' registers are read when a server with one client stops."""
    target = Target(0, 0)
    server, client = target.pd("server"), target.pd("client")
    target.space(server, "BLOCK", "disk")
    target.body_cap(server, client)
    target.hold(client, target.resource("BLOCK_SPACE_1"))
    watcher = target.pd("watcher")
    before(target, client)
    target.quiet()
    target.exit(server)
    target.cleanup()
    if client in target.suspended:
        target.exit(watcher)
        target.cleanup()
    target.serve_all()
    return calls_of(target)["suspend", "-", server].get("read-registers", 0)


def _frozen(target: Target, client: str) -> None:
    target.link(client, "PD_3")  # its end goes with that of the watcher
    target.freeze(client)


def _taken(target: Target, client: str) -> None:
    """A server takes back from its clients only."""
    target.request(client, "BLOCK_SPACE_1")
    target.unhold(client, "BLOCK_1_1", by="PD_1")
    target.unrequest(client, "BLOCK_SPACE_1")


def _taken_and_known(target: Target, client: str) -> None:
    _taken(target, client)
    target.serve(client)


@pytest.mark.behaviour("W-03")
def test_the_registers_of_those_are_read_who_can_be_in_a_call() -> None:
    assert _readers(lambda target, client: None) == 1
    assert _readers(lambda target, client: target.request(client, "BLOCK_SPACE_1")) == 1
    assert _readers(lambda target, client: target.request("PD_3", "BLOCK_SPACE_1")) == 2
    assert _readers(_frozen) == 0
    assert _readers(lambda target, client: target.unhold(client, "BLOCK_1_1")) == 0
    assert _readers(_taken) == 1
    assert _readers(lambda target, client: target.delete("BLOCK_1_1")) == 1
    assert _readers(_taken_and_known) == 0


# -- stories that agree with themselves


@pytest.mark.behaviour("W-03")
@pytest.mark.parametrize("name", RUNS)
def test_a_story_retold_without_a_change_passes(name: str) -> None:
    drafts = RUNS[name]()
    assert of_drafts(retold(drafts, {})).violations == []


@pytest.mark.behaviour("W-03")
@pytest.mark.parametrize("name", RUNS)
def test_a_cleanup_that_tells_of_no_calls_fails(name: str) -> None:
    drafts: list[Draft] = RUNS[name]()
    nothing = {index: Counter[str]() for index, _, _ in told(drafts)}
    # Nobody may be served after more calls than the last step made, which now are none.
    served = {"interleaved.soon"} if any(event == "SERVED" for event, _ in drafts) else set()
    assert broken(of_drafts(retold(drafts, nothing))) == {"cleanup.step_calls"} | served


def _less(calls: Counter[str]) -> Iterator[Counter[str]]:
    """All calls of a step left out, and one of each kind."""
    if calls:
        yield Counter()
    for kind in calls:
        yield calls - Counter({kind: 1})


def _more(calls: Counter[str]) -> Iterator[Counter[str]]:
    """One call more, of a kind that the step has and of others."""
    for kind in dict.fromkeys((*calls, "signal", "revoke", "resume", "timer")):
        yield calls + Counter({kind: 1})


def _other(calls: Counter[str]) -> Iterator[Counter[str]]:
    """The same number of calls, one of them of another kind."""
    for kind in calls:
        yield calls - Counter({kind: 1}) + Counter({"copy": 1})


@pytest.mark.behaviour("W-03")
@pytest.mark.parametrize("changed", [_less, _more, _other])
@pytest.mark.parametrize("name", CHANGED)
def test_a_step_with_other_calls_fails(
    name: str, changed: Callable[[Counter[str]], Iterator[Counter[str]]]
) -> None:
    drafts: list[Draft] = RUNS[name]()
    seen: Counter[tuple[str, tuple[str, ...]]] = Counter()
    tried = 0
    for index, step, calls in told(drafts):
        alike = step[0], tuple(sorted(calls.elements()))
        seen[alike] += 1
        if seen[alike] > 1 or step[0] not in (CHANGED[name] or step):
            continue  # one step stands for all that are alike
        for instead in changed(calls):
            report = of_drafts(retold(drafts, {index: instead}))
            assert broken(report) == {"cleanup.step_calls"}, (step, calls, instead)
            tried += 1
    assert tried


@pytest.mark.behaviour("W-03")
def test_calls_that_went_to_another_step_are_found() -> None:
    """The sum of each kind stays as it was."""
    drafts: list[Draft] = RUNS["depths-0-2"]()
    with_calls = [(index, calls) for index, _, calls in told(drafts) if calls]
    pairs = [pair for pair in itertools.pairwise(with_calls) if pair[0][1] != pair[1][1]]
    for (first, its), (second, others) in pairs:
        report = of_drafts(retold(drafts, {first: others, second: its}))
        assert broken(report) == {"cleanup.step_calls"}
    assert pairs


@pytest.mark.behaviour("W-03")
@pytest.mark.parametrize("more", [-1, 1])
def test_the_total_is_that_of_the_steps(more: int) -> None:
    drafts: list[Draft] = RUNS["depths-1-0"]()
    at = next(i for i, (event, v) in enumerate(drafts) if event == "SETTLED" and v["n"] == 1)
    event, values = drafts[at]
    drafts[at] = (event, {**values, "calls": int(str(values["calls"])) + more})
    assert broken(of_drafts(drafts)) == {"cleanup.calls"}
