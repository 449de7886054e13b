# SPDX-License-Identifier: BSD-2-Clause
"""The cleaner dies at steps of cleanups. Another one goes on, and the result is the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations

import pytest

from cellreap.system.config import Depth
from cellreap.testing import Change, Run, Target, together, with_bench, with_crashes, with_pd
from cellreap.trace.events import Event
from kit.counted import counted_on
from kit.step_entries import entries_of

DEATHS = ("fault", "error", "hang")
DEPTHS: tuple[tuple[Depth, Depth], ...] = ((0, 0), (0, 2), (1, 0), (2, 0), ("inf", "inf"))
SYSTEM = "block_fs_db_app"
WITHOUT_TRIGGER = {"collect": "collect", "gather": "collect", "saved": "collect", "stopped": "stop"}
"""System -> the cause of its last cleanup that has no trigger: after a cleanup, asked for by a PD
with COLLECT, one from which PDs are saved, and at the ordered end of the system."""


def with_failures(*failures: str) -> Change:
    """A change: what fails."""
    return with_bench(inject=failures)


def boot(target: Target, depths: tuple[Depth, Depth] = (1, 0), *failures: str) -> Run:
    change = with_failures(*failures) if failures else None
    return target.run(SYSTEM, pd_depth=depths[0], rs_depth=depths[1], change=change)


def steps(run: Run) -> list[Event]:
    """The steps of all cleanups."""
    return run.of("STEP")


def told(run: Run) -> Counter[tuple[str, ...]]:
    """All notices with their tokens."""
    return Counter(
        tuple(event[field] for field in ("n", "token", "to", "kind", "node", "from"))
        for event in run.of("QUEUE")
    )


def outcome(run: Run) -> object:
    """All that must not depend on who carried out the steps."""
    # A step that fails in its middle becomes shorter, and a further step has the rest.
    taken = [(event["n"], entry) for event in steps(run) for entry in entries_of(run, event)]
    settled = [
        tuple(event[field] for field in ("n", "rows", "bytes", "slots"))
        for event in run.of("SETTLED")
    ]
    states = [run.state(n) for n in range(1, len(run.cleanups()) + 1)]
    answered = Counter(event["pd"] for event in run.of("answered THREAD"))
    says = {name: run.says(name) for name in sorted(run.names.values())}
    groups = [run.groups(n) for n in range(1, len(run.cleanups()) + 1)]
    return told(run), taken, settled, states, answered, groups, says


def died(run: Run) -> list[tuple[str, str]]:
    """The deaths with the steps at which they were."""
    return [(event["death"], event["step"]) for event in run.of("TAKEOVER")]


@pytest.mark.behaviour("A-22", "T-24", "X-18", "H-12")
def test_a_cleaner_may_die_before_every_step(target: Target) -> None:
    whole = boot(target)
    all_steps = steps(whole)
    kinds = {event["name"] for event in all_steps}
    assert {"suspend", "mark", "cut-request", "destroy-resource", "destroy-pd", "notify"} <= kinds
    deaths = [("fault", "error")[i % 2] for i in range(len(all_steps))]
    run = boot(target, (1, 0), *(f"step:{i}:{how}" for i, how in enumerate(deaths, 1)))
    assert died(run) == [(how, step["name"]) for how, step in zip(deaths, all_steps, strict=True)]
    assert outcome(run) == outcome(whole)
    assert run.calls() == whole.calls()


@pytest.mark.behaviour("T-01", "A-18", "A-19", "H-12")
def test_a_step_that_was_done_in_part_or_as_a_whole_is_done_once(target: Target) -> None:
    """Each step is cut off at one of its kernel calls, and again when nothing says it is done."""
    whole = boot(target)
    failures, parts = [], 0
    for i, step in enumerate(steps(whole), 1):
        calls = step.counts("kinds").total()
        # The calls that stopped the trigger came before the step.
        if calls and (step["name"], i) != ("suspend", 1):
            failures.append(f"step:{i}.{1 + i % calls}:fault")
            parts += 1
        failures.append(f"step:{i}.end:fault")
    assert parts >= 5
    run = boot(target, (1, 0), *failures)
    assert len(died(run)) == len(failures)
    assert outcome(run) == outcome(whole)


@pytest.mark.behaviour("A-16", "A-17", "A-18")
def test_what_was_accepted_is_done_though_each_cleaner_dies_at_its_first_step(
    target: Target,
) -> None:
    """The boss has its ticket and runs on before any step. No cleaner knows of it but by what was
    stored before the boss was answered.
    """
    whole = target.run("tickets")
    each = [f"step:{i}:{DEATHS[i % 2]}" for i in range(1, len(steps(whole)) + 1)]
    run = target.run("tickets", change=with_failures(*each))
    assert len(died(run)) == len(each)
    (terminate,) = run.of("TRIGGER", cause="terminate", when="now")
    (ticket,) = run.report.tickets
    assert run.at(terminate) < run.at(run.of("TAKEOVER")[0])
    said = run.says("boss")
    assert said[0].startswith(f"terminate victim: ticket {ticket.ticket} queued: ")
    assert said == whole.says("boss")
    assert outcome(run) == outcome(whole)


def the_same_in_the_end(run: Run, whole: Run) -> None:
    """The steps came in another order, and left the same."""
    for event in run.of("TAKEOVER", left=1):
        for step in run.of("STEP", name=event["step"], node=event["node"], pd=event["pd"]):
            assert run.at(step) > run.at(event)
    assert run.state(1) == whole.state(1)
    assert run.notices() == whole.notices()
    assert run.alive() == whole.alive()
    (settled,), (undisturbed,) = run.of("SETTLED", n=1), whole.of("SETTLED", n=1)
    assert (settled["bytes"], settled["slots"]) == (undisturbed["bytes"], undisturbed["slots"])


@pytest.mark.behaviour("X-24", "T-28")
def test_a_step_that_fails_three_times_is_left_and_a_second_run_does_it(target: Target) -> None:
    whole = boot(target)
    names = [step["name"] for step in steps(whole)]
    last_pd = len(names) - names[::-1].index("destroy-pd")
    failing = (names.index("mark") + 1, last_pd, names.index("notify") + 1)
    run = boot(target, (1, 0), *(f"step:{number}:error:x3" for number in failing))
    assert [event["step"] for event in run.of("TAKEOVER", left=1)] == [
        "mark",
        "destroy-pd",
        "notify",
    ]
    the_same_in_the_end(run, whole)


@pytest.mark.behaviour("T-01", "T-28")
def test_each_of_many_notices_is_queued_once_wherever_their_step_is_cut_off(
    target: Target,
) -> None:
    """A client goes that holds 70 resources. One step tells of up to 32 of them."""
    crash = together(
        with_pd("client", args=(70,), cspace_bits=8),
        with_crashes({"pd": "client", "at": 2, "how": "page-fault"}),
    )
    whole = target.run("multitude", change=crash)
    counts = {number: step.number("count") for number, step in enumerate(steps(whole), 1)}
    first, *_, last = (number for number, count in counts.items() if count > 1)
    assert counts[first] == 32
    assert steps(whole)[first - 1]["kinds"] == "signal:1"
    failures = [f"step:{first}:error", f"step:{first}.32:fault", f"step:{last}.end:fault"]
    run = target.run("multitude", change=together(crash, with_failures(*failures)))
    assert died(run) == [("error", "notify"), ("fault", "notify"), ("fault", "notify")]
    assert outcome(run) == outcome(whole)
    failures = [f"step:{first}.1:hang", f"step:{first}.7:fault", f"step:{last}.1:fault"]
    run = target.run("multitude", change=together(crash, with_failures(*failures)))
    assert died(run) == [("hang", "notify"), ("fault", "notify"), ("fault", "notify")]
    assert outcome(run) == outcome(whole)
    failure = with_failures(f"step:{first}:error:x3")
    run = target.run("multitude", change=together(crash, failure))
    the_same_in_the_end(run, whole)
    (residue,) = run.of("TAKEOVER", left=1)
    (step,) = run.of("STEP", name="notify", node=residue["node"])
    assert step["count"] == "1", "one is left, and the others are told"


@pytest.mark.behaviour("T-01", "N-14")
@pytest.mark.parametrize("death", DEATHS)
@pytest.mark.parametrize(
    ("name", "crashes"), [("notify", "client"), ("destroy-resource", "server")]
)
def test_a_step_ends_with_what_it_did_if_three_cleaners_die_amid_its_many(
    target: Target, name: str, crashes: str, death: str
) -> None:
    """They die before the sixth. What each of them did is not done again. The rest has steps of its
    own. An error makes the step shorter at once, so the second cleaner comes to its end.
    """
    crash = together(
        with_pd("client", args=(70,), cspace_bits=8),
        with_crashes({"pd": crashes, "at": 2, "how": "page-fault"}),
    )
    whole = target.run("multitude", change=crash)
    done = [step["name"] == name and step.number("count") > 30 for step in steps(whole)]
    first = done.index(True)
    failure = with_failures(f"step:{first + 1}.5:{death}:x3")
    run = target.run("multitude", change=together(crash, failure))
    assert died(run) == [(death, name)] * (1 if death == "error" else 3)
    assert run.of("TAKEOVER", left=1) == []
    the_same_in_the_end(run, whole)
    assert told(run) == told(whole), "each is told once"
    goes_on = name == "notify" and death != "error"  # a cleaner begins behind what is queued
    assert steps(run)[first].number("count") == (5 + 4 + 4 if goes_on else 5)
    counts = [sum(step.number("count") for step in steps(of)) for of in (run, whole)]
    assert counts[0] == counts[1]


@pytest.mark.behaviour("T-01", "T-28")
def test_each_of_many_resources_is_destroyed_once_wherever_their_step_is_cut_off(
    target: Target,
) -> None:
    """Their server goes. One step destroys up to 32 of them, and the client is told of each space.

    If it is left, they are destroyed one by one.
    """
    crash = together(
        with_pd("client", args=(70,), cspace_bits=8),
        with_crashes({"pd": "server", "at": 3, "how": "page-fault"}),
    )
    whole = target.run("multitude", change=crash)
    taken = [(i, step) for i, step in enumerate(steps(whole), 1) if step.number("count") > 1
             and step["name"] == "destroy-resource"]  # fmt: skip
    (first, step), *_, (last, _) = taken
    assert step["kinds"] == "-"
    assert sum(each.number("count") for _, each in taken) > 60
    failures = [f"step:{first}:error", f"step:{first}.end:fault", f"step:{last}.end:error"]
    run = target.run("multitude", change=together(crash, with_failures(*failures)))
    assert [step for _, step in died(run)] == ["destroy-resource"] * 3
    assert outcome(run) == outcome(whole)
    failure = with_failures(f"step:{first}:error:x3")
    run = target.run("multitude", change=together(crash, failure))
    the_same_in_the_end(run, whole)
    counts = [each["count"] for each in run.of("STEP", name="destroy-resource")]
    assert set(counts) == {"1"}


@pytest.mark.slow
@pytest.mark.behaviour("X-24")
def test_what_depends_on_a_step_that_was_left_is_left_too(target: Target) -> None:
    """The space of a REQUEST that stays cannot go, nor can its manager. All others go first."""
    whole = boot(target)
    names = [step["name"] for step in steps(whole)]
    run = boot(target, (1, 0), f"step:{names.index('cut-request') + 1}:fault:x3")
    (residue,) = run.of("TAKEOVER", left=1)
    manager = run.of("SPACE", id=residue["node"])[0]["manager"]
    gone = [node for node, _ in run.destroys() if node.startswith("PD_")]
    pds = [node for node in gone if node.count("_") == 1]
    assert pds[-1] == manager
    the_same_in_the_end(run, whole)


@pytest.mark.behaviour("H-12", "X-18")
def test_a_cleaner_that_hangs_is_replaced(target: Target) -> None:
    whole = boot(target)
    run = boot(target, (1, 0), "step:2:hang", "step:9.end:hang")
    assert [how for how, _ in died(run)] == ["hang", "hang"]
    assert outcome(run) == outcome(whole)


def fail_at_each(
    numbers: Sequence[int], how: str, whole: Run, run_with: Callable[[str], Run]
) -> None:
    """Fails before, within and after steps, by their numbers: on seL4 at every seventh one."""
    every = 1 if "refkernel" in whole.report.kernel else 7
    for i in numbers[::every]:
        for place in (f"{i}", f"{i}.1", f"{i}.end"):
            assert outcome(run_with(f"step:{place}:{how}")) == outcome(whole), place


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.behaviour("H-12")
@pytest.mark.parametrize("depths", DEPTHS, ids=lambda depths: f"{depths[0]}-{depths[1]}")
@pytest.mark.parametrize("how", DEATHS)
def test_every_step_by_itself(target: Target, depths: tuple[Depth, Depth], how: str) -> None:
    """On refkernel each step, on seL4 every seventh."""
    whole = boot(target, depths)
    numbers = range(1, len(steps(whole)) + 1)
    fail_at_each(numbers, how, whole, lambda failure: boot(target, depths, failure))


def last_steps(run: Run, system: str) -> list[tuple[int, Event]]:
    """The steps of the last cleanup without a trigger, with their numbers among all steps."""
    *_, last = (each for each in run.cleanups() if each["trigger"] == "-")
    assert last["cause"] == WITHOUT_TRIGGER[system]
    n = last["n"]
    return [(i, step) for i, step in enumerate(steps(run), 1) if step["n"] == n]


@pytest.mark.behaviour("H-12", "X-18", "G-01", "G-43", "G-44", "X-13")
@pytest.mark.parametrize("system", WITHOUT_TRIGGER)
def test_a_cleaner_may_die_before_every_step_of_a_cleanup_without_trigger(
    target: Target, system: str
) -> None:
    counted = counted_on(target.sdk)
    whole = target.run(system, qemu_args=counted)
    last = last_steps(whole, system)
    deaths = [("fault", "error")[i % 2] for i, _ in last]
    failures = (f"step:{i}:{how}" for (i, _), how in zip(last, deaths, strict=True))
    run = target.run(system, change=with_failures(*failures), qemu_args=counted)
    assert died(run) == [(how, step["name"]) for how, (_, step) in zip(deaths, last, strict=True)]
    assert outcome(run) == outcome(whole)


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.behaviour("H-12")
@pytest.mark.parametrize("system", WITHOUT_TRIGGER)
@pytest.mark.parametrize("how", DEATHS)
def test_every_step_of_a_cleanup_without_trigger_by_itself(
    target: Target, system: str, how: str
) -> None:
    """On refkernel each step, on seL4 every seventh."""
    whole = target.run(system)
    numbers = [i for i, _ in last_steps(whole, system)]
    fail_at_each(numbers, how, whole, lambda it: target.run(system, change=with_failures(it)))


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.behaviour("H-12")
@pytest.mark.parametrize("depths", DEPTHS, ids=lambda depths: f"{depths[0]}-{depths[1]}")
def test_pairs_of_deaths(target: Target, depths: tuple[Depth, Depth]) -> None:
    whole = boot(target, depths)
    pairs = list(combinations(range(1, len(steps(whole)) + 1), 2))
    for number, (first, second) in enumerate(pairs[:: max(1, len(pairs) // 12)]):
        one, other = DEATHS[number % 3], DEATHS[number // 3 % 3]
        run = boot(target, depths, f"step:{first}.end:{one}", f"step:{second}.1:{other}")
        assert outcome(run) == outcome(whole), (first, second)
