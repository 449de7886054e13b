# SPDX-License-Identifier: BSD-2-Clause
"""What a crash costs in instructions, from the fault until the others have their notices.

QEMU counts instructions instead of time (-icount shift=0), and an instruction takes a nanosecond.
So the times of events count instructions, in steps of the aarch64 counter's 16. They include what
the trace and its times take to record. A boot repeats exactly with one compiler and one kernel.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cellreap.system.config import Config
from cellreap.system.sdk import installed_sdk
from cellreap.testing import Change, Run, Target, together, with_crashes, with_pd, with_system
from cellreap.trace.events import Event
from kit.arches import ARCHES
from kit.counted import COUNTED
from kit.crowds import CLIENT_OF_MANY, LEAF, idle, rich
from kit.marks import thorough_but

ARCH = "aarch64"
FEW = 16
KNOWN = {
    # The stack of three servers, by rs_depth: until the last survivor fetches its notice.
    ("seL4 16.0.0+", "aarch64", 0): 199_424,
    ("seL4 16.0.0+", "aarch64", 2): 459_088,
    ("seL4 16.0.0+", "x86_64", 0): 215_766,
    ("seL4 16.0.0+", "x86_64", 2): 507_415,
}
MORE = 1.05
"""Tolerance: another version of the compiler makes other code of the same source."""
A_RESOURCE = 1_650
"""At most so many instructions for each further resource of a PD that crashes."""
RESOURCES = (10, 500)
TICK = 16
"""Instructions for each tick of the counter."""
BOOT, CYCLE, REQUEST, CALL = 15_000_000, 265_000, 2_500, 950
"""At most so many instructions: until a client begins, after all servers; from the crash of a PD
until its successor can run (on refkernel, which takes a fifth more than seL4); of a request that
changes nothing; of a call to a server and back.
"""
PRINTED = {"aarch64": 430_000, "x86_64": 620_000}
"""The same from one crash to the next of a PD that does nothing else, with what the others do
meanwhile, all printed (on refkernel half as much again). On x86_64 each character is a kernel call.
"""
ROUNDS = 1000
"""Of each that tests/pds/meter.c measures."""


def between(first: Event, last: Event) -> int:
    """The instructions from one event to another."""
    assert first.time is not None
    assert last.time is not None
    return last.time - first.time


def until_settled(run: Run) -> int:
    """The instructions from the fault to the end of the only cleanup."""
    (fault,) = run.of("FAULT")
    (settled,) = run.of("SETTLED", n=1)
    assert [event["cause"] for event in run.cleanups()] == ["fault"]
    return between(fault, settled)


@pytest.fixture
def counted(target_of: Callable[[str], Target]) -> Callable[..., Run]:
    """Boots a system with times that count instructions."""

    def run(name: str, change: Change, arch: str = ARCH) -> Run:
        return target_of(arch).run(
            name, change=together(change, with_system(trace_time=True)), qemu_args=COUNTED
        )

    return run


@pytest.mark.slow
@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("rs_depth", [0, 2])
def test_the_last_survivor_has_its_notice_after_as_many_instructions_as_are_known(
    counted: Callable[..., Run], arch: str, rs_depth: int
) -> None:
    def depth(config: Config) -> Config:
        policy = config.policy.model_copy(update={"rs_depth": rs_depth})
        return config.model_copy(update={"policy": policy})

    run = counted("stack", depth, arch)
    (fault,) = run.of("FAULT")
    owed = {event["token"] for event in run.of("QUEUE", n=1)}
    fetched = {event["token"]: event for event in run.of("fetched NOTICE")}
    last = max(between(fault, fetched[token]) for token in owed)
    known = KNOWN.get((str(run.report.kernel), arch, rs_depth))
    assert last <= (known or 2 * max(KNOWN.values())) * MORE


@pytest.mark.slow
@pytest.mark.parametrize("idlers", thorough_but([64, 256, 1000], 64))
def test_the_crash_of_a_leaf_costs_the_same_among_many_others(
    counted: Callable[..., Run], idlers: int
) -> None:
    few, many = (
        until_settled(counted("counter", together(LEAF, idle(count)))) for count in (FEW, idlers)
    )
    assert many <= few * 1.05


@pytest.mark.slow
def test_each_resource_of_a_crashed_holder_costs_the_same(
    counted: Callable[..., Run],
) -> None:
    """No survivor waits for the console: what the cleanup of 500 resources records has room."""

    few, many = (
        until_settled(counted("multitude", rich(count, CLIENT_OF_MANY))) for count in RESOURCES
    )
    assert many - few <= A_RESOURCE * (RESOURCES[1] - RESOURCES[0])


@pytest.mark.slow
def test_a_boot_a_request_and_a_call_cost_no_more_than_is_promised(
    counted: Callable[..., Run],
) -> None:
    """Of seL4: refkernel clears all memory when it boots, and has no fast path."""
    if installed_sdk(ARCH) is None:
        pytest.skip("no seL4 SDK")
    run = counted("meter", lambda config: config)
    said = dict(event["text"].split() for event in run.of("SAY"))
    ticks = {what: int(count) for what, count in said.items()}
    assert ticks["began"] * TICK <= BOOT
    assert ticks["look"] * TICK <= REQUEST * ROUNDS
    assert ticks["call"] * TICK <= CALL * ROUNDS
    assert min(ticks.values()) > 0


@pytest.mark.slow
def test_a_pd_that_crashes_is_there_again_after_no_more_than_is_promised(
    counted: Callable[..., Run],
) -> None:
    """Each of 20 times: the last is not dearer than the first."""
    run = counted("counter", lambda config: config)
    faults, cycles = run.of("FAULT"), []
    for fault, later in zip(faults, [*faults[1:], None], strict=True):
        made = [event for event in run.of("BODY") if event.line > fault.line]
        if made and (later is None or made[0].line < later.line):
            cycles.append(between(fault, made[0]))
    assert len(cycles) == len(faults) == 20
    assert max(cycles) <= CYCLE


@pytest.mark.slow
@pytest.mark.parametrize("arch", thorough_but(PRINTED, ARCH))
def test_a_crash_and_respawn_with_all_that_is_printed_costs_no_more_than_is_promised(
    counted: Callable[..., Run], arch: str
) -> None:
    times = 50
    crash = {"pd": "hasty", "at": 2, "how": "page-fault", "repeat": times}
    respawned = with_pd("hasty", respawn=True, respawn_budget=times, respawn_delay_ms=0)
    run = counted("counter", together(respawned, with_crashes(crash)), arch)
    faults = run.of("FAULT")
    assert len(faults) == times
    limit = PRINTED[arch] if installed_sdk(arch) else PRINTED[arch] * 3 // 2
    assert between(faults[0], faults[-1]) <= limit * (times - 1)
