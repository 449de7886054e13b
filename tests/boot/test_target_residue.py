# SPDX-License-Identifier: BSD-2-Clause
"""A step of a cleanup fails for good. The rest goes on, and a later run does what was left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from cellreap.model.ids import is_region
from cellreap.runs.summary import tell
from cellreap.system.config import Bench, Config, Crash, Depth
from cellreap.testing import Run, Target, together, with_system
from cellreap.trace.reading import reading_json, reading_of
from kit.arches import ARCHES
from kit.broken_traces import of_drafts
from kit.marks import slow_but
from kit.step_entries import Step, entries_of

SYSTEM = "block_fs_db_app"
DEPTHS: tuple[tuple[Depth, Depth], ...] = ((0, 2), (1, 0), ("inf", "inf"))


def boot(
    target: Target, depths: tuple[Depth, Depth], *failures: str, crashes: tuple[Crash, ...] = ()
) -> Run:
    def change(config: Config) -> Config:
        more = {"bench": Bench(inject=failures), "crashes": (*config.crashes, *crashes)}
        return config.model_copy(update=more)

    return target.run(SYSTEM, pd_depth=depths[0], rs_depth=depths[1], change=change)


def taken(run: Run) -> Counter[Step]:
    """The steps of the first cleanup, without those that depend on the order."""
    steps = [entry for step in run.of("STEP", n=1) for entry in entries_of(run, step)]
    return Counter(step for step in steps if step[0] != "cut-request")


def left(run: Run) -> set[Step]:
    """What the first cleanup leaves in the end."""
    return {(step, node, pd) for step, node, pd in run.report.cleanups[0].left}


def differs_by_what_is_left(run: Run, whole: Run) -> None:
    """The check has compared the state with the events. Here the events are compared."""
    # TELLs apart, what did not come is what the check says, and nothing else.
    owed = taken(whole) - taken(run)
    assert not taken(run) - taken(whole)
    named_left = {step for step in left(run) if step[0] != "cut-request"}
    assert {step for step in owed if step[0] != "tell"} == named_left
    gone = {node for node, _ in whole.destroys(1)}
    stays = gone - {node for node, _ in run.destroys(1)}
    doomed = {row[1] for row in run.state(1) if row[0] and row[6].endswith("DOOMED")}
    assert doomed == {node for node in stays if node.startswith("PD_") or "_SPACE_" in node}


def last_of(run: Run, name: str) -> int:
    """The number of the last step of this name."""
    names = [event["name"] for event in run.of("STEP")]
    return len(names) - names[::-1].index(name)


@pytest.mark.behaviour("X-24", "T-28", "T-08", "T-01", "H-12")
def test_an_error_that_lasts_leaves_exactly_what_is_named(target: Target) -> None:
    """A space cannot be destroyed, so its PD is left too, and who would be told is not."""
    whole = boot(target, (1, 0))
    number = last_of(whole, "destroy-space")
    run = boot(target, (1, 0), f"step:{number}:error:always")
    differs_by_what_is_left(run, whole)
    space = run.of("TAKEOVER", left=1)[0]["node"]
    manager = run.of("SPACE", id=space)[0]["manager"]
    assert {step[0] for step in left(run)} == {"destroy-space", "destroy-pd", "notify"}
    assert ("destroy-pd", manager, manager) in left(run)
    assert len(run.of("RECOVER")) >= 1
    reading = reading_of(run.report, run.events)
    told = "\n".join(tell(reading, run.report.kernel))
    assert f"{space}) is not destroyed" in told
    assert f"a later run would do {len(left(run))} steps" in told
    later = f"run 1 over what was left, step {number + 1} of "
    assert told.count(later) == 3
    (cleanup,) = run.report.cleanups
    assert {tuple(step) for step in cleanup.left} == left(run)


@pytest.mark.behaviour("S-11", "S-02")
@pytest.mark.parametrize("arch", slow_but(("x86_64", "aarch64"), "x86_64"))
def test_what_is_left_is_in_the_verdict_and_lives_no_more(
    target_of: Callable[[str], Target], arch: str
) -> None:
    """The server that crashed cannot be destroyed, because its space cannot be."""
    whole = boot(target_of(arch), (1, 0))
    number = last_of(whole, "destroy-space")
    run = boot(target_of(arch), (1, 0), f"step:{number}:error:always")
    reading = reading_of(run.report, run.events)
    shown = reading_json(reading)
    assert shown["verdict"] == "not as expected"
    assert shown["violations"] == []
    (found,) = [each for each in shown["unexpected"] if each["word"] == "not cleaned up"]
    (manager,) = {step[1] for step in left(run) if step[0] == "destroy-pd"}
    assert f"destroy-pd {run.names[manager]} ({manager})" in found["text"]
    assert manager in shown["dead"]
    assert manager not in shown["alive"]
    assert ["destroy-pd", manager, manager] in shown["cleanups"][0]["left"]
    assert run.names[manager] not in [run.names[pd] for pd in reading.report.alive()]
    told = tell(reading, run.report.kernel)
    assert not any(line.startswith("PASS") for line in told)
    whole_run = reading_json(reading_of(whole.report, whole.events))
    assert whole_run["verdict"] == "pass"


@pytest.mark.behaviour("X-24", "T-28", "H-12")
def test_a_later_run_does_what_was_left(target: Target) -> None:
    """The error goes after the first later run. Then the state is the undisturbed one."""
    whole = boot(target, (1, 0))
    number = last_of(whole, "destroy-space")
    run = boot(target, (1, 0), f"step:{number}:error:x8")
    assert [event["run"] for event in run.of("RECOVER", n=1)] == ["1"]
    assert left(run) == set()
    assert taken(run) == taken(whole)
    assert run.state(1) == whole.state(1)
    assert run.notices() == whole.notices()
    settled, undisturbed = run.of("SETTLED", n=1)[-1], whole.of("SETTLED", n=1)[-1]
    for field in ("bytes", "slots", "objects"):
        assert settled[field] == undisturbed[field]
    assert run.alive() == whole.alive()


@pytest.mark.behaviour("X-24")
@pytest.mark.parametrize("depths", DEPTHS, ids=lambda depths: "-".join(map(str, depths)))
@pytest.mark.thorough
@pytest.mark.slow
def test_every_step_fails_for_good(target: Target, depths: tuple[Depth, Depth]) -> None:
    """On refkernel each step, on seL4 every seventh."""
    whole = boot(target, depths)
    every = 1 if "refkernel" in whole.report.kernel else 7
    some = 0
    for number in range(1, len(whole.of("STEP")) + 1, every):
        run = boot(target, depths, f"step:{number}:error:always")
        differs_by_what_is_left(run, whole)
        some += bool(left(run))
    assert some >= (2 if every == 1 else 1)


@pytest.mark.behaviour("W-03")
def test_resources_of_a_server_that_was_not_stopped_take_kernel_calls_each(target: Target) -> None:
    """Its suspending is left for good. One step of two of them would have made the calls of one."""
    run = boot(target, (1, 0), "step:6:error:always")
    (first, *_) = run.of("TAKEOVER", left=1)
    assert (first["step"], run.names[first["pd"]]) == ("suspend", "fs")
    ends = [
        place
        for place, event in enumerate(run.events)
        if event.name == "STEP" and event["name"] == "destroy-resource" and event["kinds"] != "-"
    ]
    one, two = ends[:2]
    assert two == one + 1
    merged = replace(run.events[one], values={**run.events[one].values, "count": "2"})
    events = [*run.events[:one], merged, *run.events[two + 1 :]]
    assert of_drafts(run.events).violations == []
    assert "cleanup.step_calls" in {problem.rule for problem in of_drafts(events).violations}


@pytest.mark.behaviour("S-11", "S-15")
@pytest.mark.parametrize("arch", ARCHES)
def test_what_could_not_be_freed_and_is_held_again_is_left_alone(
    target_of: Callable[[str], Target], arch: str
) -> None:
    """The successor of the PD gets the capability whose record could not be freed. Nothing is left
    of the cleanup then, so that the crash of the successor is cleaned up.
    """
    run = target_of(arch).run("held_again")
    lefts = [step for cleanup in run.report.cleanups for left in cleanup.lefts for step in left]
    assert {node for _, node, _ in lefts} == {f"PD_2_{int(run.id('disk')[3:], 16):x}"}
    assert [run.name(cleanup["trigger"]) for cleanup in run.cleanups()] == ["app"] * 3
    assert len(run.ids("app")) == 4
    assert run.report.passed


@pytest.mark.behaviour("S-11", "S-15")
@pytest.mark.parametrize("arch", ARCHES)
def test_a_pd_that_is_left_may_have_lost_its_regions(
    target_of: Callable[[str], Target], arch: str
) -> None:
    """They go before its body, which cannot be destroyed. The kernel has what the model has."""
    target, snapshots = target_of(arch), with_system(truth=True)
    whole = target.run("region")
    steps = whole.of("STEP")
    number = next(at for at, step in enumerate(steps, 1) if step["name"] == "destroy-pd")
    failure = Bench(inject=(f"step:{number}:error:always",))
    fails = together(snapshots, lambda config: config.model_copy(update={"bench": failure}))
    run = target.boot("region", change=fails)
    assert run.report.violations == []
    pd = steps[number - 1]["node"]
    assert {node for name, node, _ in left(run) if name == "destroy-pd"} == {pd}
    regions = {step["node"] for step in steps[:number] if is_region(step["node"])}
    assert len(regions) == 2
    assert regions.isdisjoint(row[1] for row in run.state(1))


@pytest.mark.behaviour("S-11")
def test_a_stop_that_is_left_half_way_has_taken_the_capabilities(target: Target) -> None:
    """The endpoint is revoked, and not deleted: what the PD served can be destroyed."""
    run = boot(target, (1, 0), "step:6.3:fault:always")
    assert {(event["death"], event["step"]) for event in run.of("TAKEOVER")} == {
        ("fault", "suspend")
    }
    taken_back = [step for step in run.of("STEP") if step["name"] == "destroy-resource"]
    assert taken_back
    assert {step["kinds"] for step in taken_back} == {"-"}


@pytest.mark.behaviour("S-11")
def test_a_pd_stays_as_long_as_another_cleanup_leaves_a_space_of_it(target: Target) -> None:
    """The space maps to one of the PD that crashes. Its own PD goes at the end of the run."""
    whole = boot(target, (0, 1))
    fs, space = whole.id("fs"), whole.id("files")
    names = [(step["name"], step["node"]) for step in whole.of("STEP")]
    number = names.index(("destroy-space", space)) + 1
    failure = Bench(inject=(f"step:{number}:fault:always",))
    change = together(
        with_system(stop_in_order=True),
        lambda config: config.model_copy(update={"bench": failure}),
    )
    run = target.run(SYSTEM, pd_depth=0, rs_depth=1, change=change)
    assert {event["death"] for event in run.of("TAKEOVER")} == {"fault"}
    assert ("destroy-pd", fs, fs) in {tuple(step) for step in run.report.cleanups[1].left}
