# SPDX-License-Identifier: BSD-2-Clause
"""Thousands of PDs are spawned, use a server and are lost, in one boot: nothing adds up.

The check compares each USAGE with the model, and the kernel objects of each SETTLED with those of
the bodies. These tests compare the first cycles with the last.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from cellreap.headers import printed_names
from cellreap.testing import Run, Target, with_pd
from kit.arches import ARCHES

CYCLES = 50
MANY = {"refkernel": 10_000, "seL4": 2_000}


def used(run: Run) -> list[tuple[str, ...]]:
    """What is in use whenever the root task counts it: at the start, before each cleanup, and at
    the end.

    All but the tickets, since only a PD that is terminated has one, and the kernel objects, since
    one program has a page more than the other.
    """
    _base, *each = run.of("USAGE")
    same = {"tickets": "0", "objects": "0"}
    return [tuple({**usage.values, **same}.values()) for usage in each]


def calls(run: Run) -> dict[str, dict[str, int]]:
    """Number of a cleanup -> its kernel calls."""
    return {event["n"]: run.calls(event.number("n")) for event in run.cleanups()}


def check_churn(run: Run, cycles: int) -> None:
    """Every cycle ends as the first one does.

    A new PD may get the processor before the server has given it everything: when the kernel's time
    slice ends, or when the server has used its share of the root task's time and rests, which two
    cycles use up. Then the PD is lost with less, and that cycle costs less.
    """
    assert run.report.passed, run.report.violations
    (said,) = run.says("churner")
    early = int(said.split("failures: ")[1].split(",")[0])
    assert said.startswith(f"lost {cycles} PDs, ")
    assert 3 * early <= 2 * cycles
    assert len(run.cleanups()) == cycles
    tickets = [event["tickets"] for event in run.of("USAGE")[1:]]
    terminated = [event["cause"] == "terminate" for event in run.cleanups()]
    assert tickets == ["0", *("1" if each else "0" for each in terminated), "0"]
    _at_the_start, *each, at_the_end = used(run)
    assert len(each) == cycles
    ((common, often),) = Counter(each).most_common(1)
    assert often >= cycles - early
    for one in (*each, at_the_end):
        assert all(int(now) <= int(usual) for now, usual in zip(one, common, strict=True))
    assert all(int(now) < int(usual) for now, usual in zip(at_the_end[:2], common, strict=False))
    after = [event for event in run.of("SETTLED") if event["n"] != "0"]
    assert len({(e["bytes"], e["slots"], e["objects"]) for e in after}) == 1
    ((rows, usually),) = Counter(int(e["rows"]) for e in after).most_common(1)
    assert usually >= cycles - early
    assert all(int(e["rows"]) <= rows for e in after)
    kinds = set(printed_names("trace_events.h", "CR_OBJECT"))
    assert kinds - after[0].counts("objects").keys() <= {"sched-context", "reply"}  # of MCS
    costs = Counter(tuple(sorted(each.items())) for each in calls(run).values())
    ((usual_cost, times),) = costs.most_common(1)
    assert times >= cycles - early
    assert all(sum(dict(cost).values()) <= sum(dict(usual_cost).values()) for cost in costs)


@pytest.mark.slow
@pytest.mark.behaviour("C-25", "M-05")
def test_nothing_adds_up(target: Target) -> None:
    check_churn(target.run("churn"), CYCLES)


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.behaviour("C-25", "M-05")
@pytest.mark.parametrize("arch", sorted(ARCHES))
@pytest.mark.parametrize("kernel", sorted(MANY))
def test_nothing_adds_up_in_thousands_of_cycles(
    target_of: Callable[[str], Target],
    on_refkernel: Callable[[str], Target],
    kernel: str,
    arch: str,
) -> None:
    target = (on_refkernel if kernel == "refkernel" else target_of)(arch)
    cycles = MANY[kernel]
    check_churn(target.run("churn", change=with_pd("churner", args=(cycles,))), cycles)
