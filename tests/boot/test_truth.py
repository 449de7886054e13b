# SPDX-License-Identifier: BSD-2-Clause
"""The kernel's word agrees with the model, before each crash and after each cleanup.

The check compares the two (rules truth.*) wherever the trace has the kernel's word.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cellreap.system.config import Depth
from cellreap.system.sdk import installed_sdk
from cellreap.testing import Run, Target, together, with_bench
from cellreap.trace.check.truth import EVENTS
from kit.arches import ARCHES
from kit.counted import COUNTED
from kit.crowds import crowd, down
from kit.kernels import needs_timer
from kit.marks import thorough_but
from kit.truth_traces import WITH_TRUTH, record, recorded

pytestmark = pytest.mark.acceptance("truth")

DEPTHS = ("0-0", "0-1", "0-2", "1-2", "inf-inf")


def check_taken(run: Run, cleanups: int, target: Target) -> None:
    """The kernel was asked at the start, before and after each cleanup, and at the end."""
    assert len(run.cleanups()) == cleanups
    truths = run.of("TRUTH")
    assert len(truths) >= 2 + 2 * cleanups
    snapshots = {"seL4": "1", "refkernel": "0"}[target.sdk.kernel.name]
    assert {event["snapshot"] for event in truths} == {snapshots}
    names = [event.name for event in run.events]
    for cleanup in run.cleanups():
        (settled,) = run.of("SETTLED", n=cleanup["n"])
        assert names[run.at(settled) + 1] == "TRUTH"
    assert names[-2:] == ["UNTYPEDS", "END"]


def run_scenario(target: Target, pd_depth: Depth, rs_depth: Depth) -> Run:
    return target.run("block_fs_db_app", pd_depth=pd_depth, rs_depth=rs_depth, change=WITH_TRUTH)


@pytest.mark.behaviour("C-20", "C-24")
@pytest.mark.kernels.with_args(*ARCHES, *(f"{arch}-refkernel" for arch in ARCHES))
@pytest.mark.parametrize("depths", thorough_but(DEPTHS, "0-1"))
def test_the_scenario(target: Target, depths: str) -> None:
    check_taken(run_scenario(target, *map(_depth, depths.split("-"))), 1, target)


def test_a_respawned_server_and_its_disks(target: Target) -> None:
    check_taken(target.run("recycle", change=WITH_TRUTH), 1, target)


def test_a_stopped_client_loses_what_a_cleanup_takes_from_it_before_its_own(
    target: Target,
) -> None:
    needs_timer(target.sdk)
    run = target.run("late_client", change=WITH_TRUTH)
    check_taken(run, 2, target)
    (cut,) = run.of("STEP", name="cut-request", pd=run.id("watcher"))
    (stop,) = run.of("stopped THREAD", pd=run.id("watcher"))
    assert run.at(stop) < run.at(cut)
    assert cut.counts("kinds").total() == 3


@pytest.mark.slow
@pytest.mark.thorough
def test_a_crowd(target: Target) -> None:
    change = together(WITH_TRUTH, crowd(), down("kill", 1, 2))
    check_taken(target.run("crowd", change=change, qemu_args=COUNTED), 3, target)


def test_the_recorded_boot_is_as_a_new_one(
    target_of: Callable[[str], Target], rewrite: bool
) -> None:
    """With --rewrite, it is recorded anew for the tests of the check."""
    if installed_sdk("x86_64") is None:
        pytest.skip("no seL4 for x86_64 is installed: refkernel takes no snapshots")
    run = run_scenario(target_of("x86_64"), 0, 1)
    if rewrite:
        record(run.trace.read_bytes())
    told = [
        (event.name, event.values.get("pd"))
        for event in run.events
        if event.name in EVENTS and event.name != "TIME"  # only kernels with MCS have it
    ]
    assert told == [
        (event.name, event.values.get("pd")) for event in recorded() if event.name in EVENTS
    ]


def _depth(text: str) -> Depth:
    return "inf" if text == "inf" else int(text)


@pytest.mark.behaviour("C-20", "X-24")
@pytest.mark.parametrize("kind", ["cut-request", "destroy-resource"])
def test_a_step_that_has_taken_some_capabilities_fails_for_good(target: Target, kind: str) -> None:
    """They are in the model, and the kernel does not have them."""
    steps = run_scenario(target, 0, 2).of("STEP", n=1)
    number = next(
        i for i, e in enumerate(steps, 1) if e["name"] == kind and e.counts("kinds").total() == 3
    )
    changes = together(WITH_TRUTH, with_bench(inject=(f"step:{number}.3:error:always",)))
    run = target.run("block_fs_db_app", pd_depth=0, rs_depth=2, change=changes)
    begun = {
        (event["step"], event.counts("kinds").total() >= 2) for event in run.of("TAKEOVER", left=1)
    }
    assert begun == {(kind, True)}
    assert kind in {step for left in run.report.cleanups[0].lefts for step, _, _ in left}
    assert len(run.of("TRUTH")) >= 4
