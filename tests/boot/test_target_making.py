# SPDX-License-Identifier: BSD-2-Clause
"""Making is done completely or not at all: each step of it is refused once.

What is left behind would show in the numbers of each MAKE_FAILED, and in the kernel's word, which
the check compares with the model.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from cellreap.progress import Progress
from cellreap.system.bounds import Bounds
from cellreap.system.build import build_image
from cellreap.testing import Change, Run, Target, together, with_bench, with_system
from kit.arches import ARCHES
from kit.marks import thorough_but

STEPS = {
    "space": 2,
    "space with client": 6,
    "resource": 4,
    "request": 4,
    "hold": 3,
    "second hold": 1,
    "map": 1,
    "subscription": 1,
}
"""What the builder makes after it spawned a PD, in its order -> the steps of that."""
MADE = {"space with client": "space", "second hold": "hold"}
RESPAWNS = 45
"""The budget in remake.toml. Each respawn but the last few fails once."""
TRUTH = with_system(truth=True)


def injecting(steps: Iterable[int]) -> Change:
    """These steps of making are refused, counted from boot."""
    return with_bench(inject=tuple(f"make:{step}:error" for step in steps))


def bounds_in(target: Target, name: str, folder: Path) -> Bounds:
    """What the host works out for a configuration."""
    text, config = target.load(name)
    image = folder / f"{name}.img"
    return build_image(config, text, target.sdk, image, Progress(), path=target.find(name)).bounds


def each_step_once(begin: int, chains: Iterable[int]) -> Iterator[int]:
    """For each chain with so many steps: attempts that fail at step 1, 2, ..., and one that does
    not. begin: the steps before.
    """
    for length in chains:
        for step in range(1, length + 1):
            yield begin + step
            begin += step
        begin += length


def failures(run: Run) -> list[tuple[str, int]]:
    """(what was not made, the step that failed), in order."""
    return [(event["what"], event.number("step")) for event in run.of("MAKE_FAILED")]


def check_nothing_is_left(run: Run) -> None:
    """Attempts at the same thing that fail in a row find everything as it was before."""
    assert run.report.passed, run.report.violations
    assert all(e.number("undone") == e.number("step") - 1 for e in run.of("MAKE_FAILED"))
    assert all(run.report.injected.values())
    attempts = itertools.groupby(
        run.of("MAKE_FAILED"), lambda event: (event["what"], event["name"])
    )
    for (what, _), group in attempts:
        used = {(event["bytes"], event["slots"], event["objects"]) for event in group}
        assert len(used) == 1 or what == "pd", (what, used)


@pytest.mark.slow
@pytest.mark.behaviour("T-01", "T-05", "C-25")
@pytest.mark.parametrize("arch", thorough_but(sorted(ARCHES), "x86_64"))
def test_each_step_of_each_operation_fails_once(
    target_of: Callable[[str], Target], tmp_path: Path, arch: str
) -> None:
    """The PD is answered with an error each time, and then gets what it asked for."""
    target = target_of(arch)
    bounds = bounds_in(target, "build", tmp_path)
    boot = sum(chain.steps for chain in bounds.pds.values())
    spawn = bounds.spawned["idler"].steps
    lengths = {"spawn": spawn, **STEPS}
    change = together(TRUTH, injecting(each_step_once(boot, lengths.values())))
    run = target.run("build", change=change)
    check_nothing_is_left(run)
    assert failures(run) == [
        (MADE.get(what, "pd" if what == "spawn" else what), step)
        for what, length in lengths.items()
        for step in range(1, length + 1)
    ]
    assert run.says("builder") == [
        *(f"{what}: refused {length}, then result 0" for what, length in lengths.items()),
        "check terminate: ok",
    ]
    undone = [event for event in run.of("MAKE_FAILED") if event["what"] == "pd"]
    assert len({(event["bytes"], event["slots"], event["objects"]) for event in undone}) == 1
    assert run.alive() == {"bystander"}


@pytest.mark.slow
@pytest.mark.behaviour("T-01", "T-05", "X-09")
@pytest.mark.parametrize("arch", thorough_but(sorted(ARCHES), "x86_64"))
def test_each_step_of_a_respawn_fails_once(
    target_of: Callable[[str], Target], tmp_path: Path, arch: str
) -> None:
    """A PD of boot time is refused, too. Each is made at the next attempt."""
    target = target_of(arch)
    bounds = bounds_in(target, "remake", tmp_path)
    first, again = bounds.pds["bystander"].steps, bounds.pds["crasher"].steps
    at_boot = 5
    begin = at_boot + again + first
    respawns = list(each_respawn_once(begin, again))
    run = target.run("remake", change=injecting([at_boot, *respawns]))
    check_nothing_is_left(run)
    names = [event["name"] for event in run.of("MAKE_FAILED")]
    assert names == ["bystander", *["crasher"] * again]
    assert [step for _, step in failures(run)] == [at_boot, *range(1, again + 1)]
    assert len(run.of("REFUSE", pd="PD_0")) == 1 + again
    assert len(run.of("PD", name="crasher")) == 1 + RESPAWNS
    assert "bystander" in run.alive()


def each_respawn_once(begin: int, length: int) -> Iterator[int]:
    """The k-th respawn fails at step k once. begin: the steps before."""
    for step in range(1, length + 1):
        yield begin + step
        begin += step + length


@pytest.mark.behaviour("S-15")
@pytest.mark.parametrize("step", [80, 90, 134])
@pytest.mark.parametrize("arch", ARCHES)
def test_a_capability_that_was_refused_once_is_tried_again(
    target_of: Callable[[str], Target], arch: str, step: int
) -> None:
    """The configuration gives three PDs capabilities to each other, amid their creation. One of
    them is refused, and is given after the next message.
    """
    run = target_of(arch).run("holders", change=injecting([step]))
    (failed,) = run.of("MAKE_FAILED")
    assert failed["what"] == "hold"
    assert run.alive() == {"a", "b", "c"}
    held = Counter(event["from"] for event in run.made("HOLD"))
    assert held == {run.id("a"): 1, run.id("b"): 1, run.id("c"): 2}


@pytest.mark.behaviour("S-15")
@pytest.mark.parametrize("how", ["error", "error:always"])
@pytest.mark.parametrize("arch", thorough_but(ARCHES, "x86_64"))
def test_a_refused_capability_is_tried_again_before_the_cleanup_of_a_fault(
    target_of: Callable[[str], Target], tmp_path: Path, arch: str, how: str
) -> None:
    """The fault is the first message after the capability was refused."""
    target = target_of(arch)
    pds = sum(chain.steps for chain in bounds_in(target, "late_hold", tmp_path).pds.values())
    run = target.run("late_hold", change=with_bench(inject=(f"make:{pds + 1}:{how}",)))
    (fault,), (cleanup,) = run.of("FAULT"), run.cleanups()
    between = {event.name for event in run.events[run.at(fault) : run.at(cleanup)]}
    assert between > ({"MAKE_FAILED"} if how == "error:always" else {"RESOURCE", "EDGE"})
    assert len(run.made("HOLD")) == (how == "error")


@pytest.mark.behaviour("S-15", "T-05")
@pytest.mark.parametrize("arch", thorough_but(ARCHES, "x86_64"))
def test_a_capability_that_is_refused_for_ever_is_tried_ever_less(
    target_of: Callable[[str], Target], tmp_path: Path, arch: str
) -> None:
    """Messages that have nothing to do with it do not each lead to an attempt, which is traced."""
    target = target_of(arch)
    pds = sum(chain.steps for chain in bounds_in(target, "refused_hold", tmp_path).pds.values())
    run = target.run("refused_hold", change=with_bench(inject=(f"make:{pds + 1}:error:always",)))
    assert len(run.says("pacer")) > 200
    assert {event["what"] for event in run.of("MAKE_FAILED")} == {"hold"}
    assert 6 < len(run.of("MAKE_FAILED")) < 14
