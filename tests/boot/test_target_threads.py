# SPDX-License-Identifier: BSD-2-Clause
"""Threads: PDs that share the address space of their process, and come and go with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from cellreap.model.ids import is_address_space
from cellreap.system.config import Config, Expect
from cellreap.testing import Target, together, with_bench, with_system
from cellreap.testing.run import Run
from kit.arches import ARCHES
from kit.counted import counted_on
from kit.kernels import needs_timer
from kit.truth_traces import WITH_SOME_TRUTH, WITH_TRUTH

THREADS = ("loom", "weft", "warp")
CHECKS = [f"check {what}: ok" for what in ("process", "allocate", "taken", "attach")]
COUNTED = "in the end 2 1 2, served 2"


def _fresh(thread: str) -> str:
    return f"thread {THREADS.index(thread)} of 3: stack 0, count 0, {thread}"


def _instances(run: Run) -> Iterator[list[str]]:
    """The PDs of each time that the process was made, its first thread first."""
    made = [event["id"] for event in run.of("PD") if event["name"] in THREADS]
    return (made[i : i + 3] for i in range(0, len(made), 3))


def leaves_a_thread(config: Config) -> Config:
    """They do not come back. The thread that crashes cannot be destroyed."""
    pds = tuple(pd.model_copy(update={"respawn": False}) for pd in config.pds)
    config = config.model_copy(update={"pds": pds, "crashes": config.crashes[:1]})
    return with_bench(inject=("step:12:error:always",))(config)


@pytest.mark.behaviour("C-16", "E-01")
@pytest.mark.parametrize("arch", ARCHES)
def test_threads_share_their_memory_and_come_back_together(
    target_of: Callable[[str], Target], arch: str
) -> None:
    """Each has a stack, an IPC buffer and capabilities of its own. All memory but that is the same,
    also what one of them attaches. When one goes, all go, the address space with the last one, and
    all of them come back fresh.
    """
    run = target_of(arch).run("threads", change=WITH_SOME_TRUTH)
    for thread in THREADS:
        checks = CHECKS * (thread == "warp")
        end = [COUNTED, "region 2, attached 7"] * (thread != "weft")
        first = [_fresh(thread), *checks]
        assert run.says(thread) == [*first, *first, *first, *end]
    assert run.says("alone") == ["thread 0 of 1: stack 0, count 0, alone", "in the end 7, served 0"]
    spaces = [event["id"] for event in run.of("RESOURCE") if is_address_space(event["id"])]
    gone = [node for node, _ in run.destroys()]
    assert [node for node in gone if is_address_space(node)] == spaces[:2]
    for space, (loom, *others) in zip(spaces, _instances(run), strict=True):
        holders = [e["from"] for e in run.of("EDGE") if e.made("HOLD") and e["to"] == space]
        assert holders == [loom, *others]
        if space in gone:
            assert [pd for pd in gone if pd in holders] == [*others, loom]


@pytest.mark.behaviour("C-16")
def test_the_destructor_of_a_thread_runs_in_the_memory_of_its_process(target: Target) -> None:
    """All are stopped in order: the first thread, whose body has the memory, goes last."""

    def nobody_left(config: Config) -> Config:
        return config.model_copy(update={"crashes": (), "expect": Expect(nobody_left=True)})

    run = target.run("threads", change=together(with_system(stop_in_order=True), nobody_left))
    said = [(e["pd"], e["text"]) for e in run.of("SAY") if e["text"].startswith("last")]
    ((loom, weft, warp),) = _instances(run)
    last = [(pd, text) for pd, text in said if pd in (loom, weft, warp)]
    assert [pd for pd, _ in last] == [weft, warp, loom]
    assert len({text for _, text in last}) == 1


@pytest.mark.behaviour("C-16", "S-11")
def test_a_thread_that_is_left_may_outlive_its_process(target: Target) -> None:
    """The address space goes with the process. The kernel's word is as the check wants it."""
    run = target.run("threads", change=together(WITH_TRUTH, leaves_a_thread))
    (warp, left), (loom, gone) = ((run.id(name), run.of("CAPS", pd=run.id(name))[-1])
                                  for name in ("warp", "loom"))  # fmt: skip
    assert run.of("TAKEOVER", left=1)[0]["pd"] == warp
    assert run.at(left) > run.at(run.of("STEP", name="destroy-pd", pd=loom)[0]) > run.at(gone)


@pytest.mark.behaviour("C-16", "S-11")
def test_a_thread_that_is_left_faults_without_its_process(target: Target) -> None:
    """What stops it then counts for the step that its cleanup had left before."""
    needs_timer(target.sdk)
    run = target.run("outlive", qemu_args=counted_on(target.sdk))
    (fault,) = run.of("FAULT", pd=run.id("thread"))
    (step,) = run.of("STEP", name="suspend", pd=run.id("thread"))
    assert run.of("TAKEOVER", left=1, pd=run.id("thread"))[0].seq < fault.seq < step.seq
    assert step["kinds"] == "delete:1,revoke:1,suspend:1"


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.behaviour("C-16")
def test_two_hundred_cycles_leave_nothing(target: Target) -> None:
    """Another thread crashes every other time."""

    def often(config: Config) -> Config:
        pds = tuple(
            pd.model_copy(update={"respawn_budget": 1000}) if pd.respawn else pd
            for pd in config.pds
        )
        crashes = tuple(one.model_copy(update={"repeat": 100}) for one in config.crashes)
        expect = config.expect.model_copy(update={"cleanups": 200})
        return config.model_copy(update={"pds": pds, "crashes": crashes, "expect": expect})

    run = target.run("threads", change=often)
    uses = [(e["bytes"], e["slots"], e["objects"]) for e in run.of("SETTLED") if e["n"] != "0"]
    assert len(uses) == 200
    assert len(set(uses)) == 1
