# SPDX-License-Identifier: BSD-2-Clause
"""Listeners are told of each cleanup and of what could not be made, and nothing waits for them.

The check compares each REPORT with the events of the trace, and the number of steps that CLEANUP
tells with the STEPs. These tests compare what the PDs got with the trace.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

import pytest

from cellreap.headers import names_of, printed_names
from cellreap.model.ids import parse_id
from cellreap.runs.summary import tell
from cellreap.testing import Change, Run, Target, together, with_bench, with_pd
from cellreap.trace.events import Event
from cellreap.trace.reading import read_trace
from kit.marks import slow_but

STEP_NAMES = {n: name for name, n in printed_names("steps.h", "CR_STEP").items()}
MAKE_STEPS = {n: name for name, n in printed_names("make_steps.h", "CR_MAKE_STEP").items()}
RESULTS = names_of("protocol.h", "cr_result", "CR_RESULT_")
_WORDS = re.compile(
    r"(\d+) (\w+): cleanup (\d+), PD (\d+), step (\d+) of (\d+), kind (\d+), space (\d+), "
    r"object (\d+), attempts (\d+), result (\d+)(?:; under way: cleanup (\d+), (\d+) of (\d+))?"
)
_FIELDS = (
    "number", "cleanup", "pd", "step", "steps", "kind", "space", "object", "attempts", "result",
)  # fmt: skip


class Told:
    """A report, as its listener printed it."""

    def __init__(self, text: str) -> None:
        found = _WORDS.fullmatch(text)
        assert found is not None, text
        words = list(found.groups())
        self.what = words.pop(1)
        self.progress = tuple(int(word) for word in words[10:]) if words[10] else None
        self.words = dict(zip(_FIELDS, map(int, words[:10]), strict=True))

    def is_step(self, step: Event) -> bool:
        """Whether the words name this step: all that is needed to carry it out again."""
        node, pd = parse_id(step["node"]), parse_id(step["pd"])
        if step["name"] != STEP_NAMES[self.words["kind"]]:
            return False
        if (pd.number if pd is not None else 0) != self.words["pd"]:
            return False
        if node is None or node.kind == "PD":
            return self.words["space"] == 0
        if node.space is None:
            return (self.words["space"], self.words["object"]) == (node.number, 0)
        return (self.words["space"], self.words["object"]) == (node.space, node.number)


def told(run: Run, name: str) -> list[Told]:
    return [Told(text) for text in run.says(name)]


def failing(*failures: str) -> Change:
    return with_bench(inject=failures)


def calls(run: Run) -> Counter[str]:
    return Counter(run.calls())


@pytest.mark.behaviour("T-16", "T-17")
def test_a_listener_is_told_of_the_beginning_and_then_of_the_end(target: Target) -> None:
    run = target.run("listen")
    starting, completed = told(run, "listener")
    (cleanup,) = run.cleanups()
    victim = parse_id(run.id("victim"))
    assert victim is not None
    assert (starting.what, completed.what) == ("starting", "completed")
    steps = len(run.of("STEP"))
    planned = {"cleanup": 1, "pd": victim.number, "steps": cleanup.number("steps"), "result": 0}
    assert planned.items() <= starting.words.items()
    assert planned.items() <= completed.words.items()
    assert (starting.words["step"], completed.words["step"]) == (0, steps)
    done = [event.name for event in run.events[: run.at(run.of("WAIT")[0])]].count("STEP")
    assert starting.progress == (1, done, cleanup.number("steps"))
    assert completed.progress is None


def test_nothing_waits_for_a_listener_that_fetches_nothing(target: Target) -> None:
    """Neither the cleanup nor the end of the run. And listening costs a cleanup nothing."""
    run = target.run("listen")
    assert [each.words["number"] for each in told(run, "tired")] == [1]
    alone = target.run(
        "listen",
        change=together(with_pd("listener", may_listen=False), with_pd("tired", may_listen=False)),
    )
    assert calls(run) == calls(alone)
    assert not alone.of("ANSWER", op="listen")


def test_only_those_may_listen_that_the_configuration_trusts(target: Target) -> None:
    run = target.run("listen")
    denied = [(event["pd"], event.number("status")) for event in run.of("REFUSE")]
    assert (run.id("nosy"), RESULTS["denied"]) in denied
    assert not run.says("nosy")


@pytest.mark.behaviour("S-11", "T-17")
@pytest.mark.parametrize("arch", slow_but(("x86_64", "aarch64"), "x86_64"))
def test_a_cleanup_that_left_something_is_not_told_as_completed(
    target_of: Callable[[str], Target], arch: str
) -> None:
    """Its step that destroys the crashed PD fails for ever. Each later run tells the same."""
    target = target_of(arch)
    steps = target.run("listen").of("STEP", n=1, name="destroy-pd")
    (number,) = [
        place for place, step in enumerate(target.run("listen").of("STEP"), 1) if step == steps[-1]
    ]
    run = target.run("listen", change=failing(f"step:{number}:error:always"))
    assert run.report.cleanups[0].left
    ends = [each for each in told(run, "listener") if each.what in ("completed", "unfinished")]
    assert {each.what for each in ends} == {"unfinished"}
    assert {each.words["result"] for each in ends} == {RESULTS["failed"]}


@pytest.mark.behaviour("T-17", "S-15")
@pytest.mark.parametrize("name", ["destroy-resource", "destroy-pd"])
def test_a_death_is_told_with_the_numbers_of_what_the_step_had_destroyed(
    target: Target, name: str
) -> None:
    """The cleaner dies when the step is done. Of a destroyed resource nothing stays known."""
    steps = target.run("listen").of("STEP")
    (place,) = [at for at, step in enumerate(steps, 1) if step["name"] == name]
    run = target.run("listen", change=failing(f"step:{place}.end:fault"))
    (errored,) = [each for each in told(run, "listener") if each.what == "errored"]
    assert errored.is_step(steps[place - 1])


@pytest.mark.behaviour("T-10", "T-16", "T-17", "T-18", "T-19")
def test_each_failed_attempt_is_told_with_what_is_needed_to_do_the_step_again(
    target: Target,
) -> None:
    """And the text about the run names number, step and cleanup."""
    run = target.run("listen", change=failing("step:3:error", "step:9:fault:x3"))
    log = told(run, "listener")
    whats = ["starting", "errored", "errored", "errored", "left", "completed"]
    assert [each.what for each in log] == whats
    assert [each.words["number"] for each in log] == list(range(1, 7))
    failures = log[1:-1]
    assert [each.words["step"] for each in failures] == [3, 9, 9, 9]
    assert [each.words["attempts"] for each in failures] == [1, 1, 2, 3]
    assert {each.words["result"] for each in failures} == {RESULTS["failed"]}
    assert all(any(each.is_step(step) for step in run.of("STEP")) for each in failures)
    assert [event.number("number") for event in run.of("TAKEOVER")] == [3, 9, 9, 9]
    answers = run.of("ANSWER", op="listen", pd=run.id("listener"))
    assert [each.words["number"] for each in log] == [e.number("number") + 1 for e in answers]
    with run.trace.open("rb") as stream:
        summary = "\n".join(tell(read_trace(stream, "trace"), ""))
    first = run.of("TAKEOVER")[0]
    steps = run.cleanups()[0]["steps"]
    assert f"failed     step 3 of {steps}, {first['step']} " in summary
    assert "attempt 3: fault; left for later" in summary


@pytest.mark.behaviour("T-16", "T-17")
def test_what_could_not_be_made_is_told_with_its_error(target: Target) -> None:
    """A PD that came later reads what the root task kept."""
    run = target.run("listen", change=failing("make:5:error"))
    (failed,) = run.of("MAKE_FAILED")
    first = told(run, "listener")[0]
    assert first.what == "unmade"
    assert first.words["step"] == failed.number("step") == 5
    assert MAKE_STEPS[first.words["kind"]] == failed["kind"]
    assert first.words["result"] == failed.number("status") != 0
