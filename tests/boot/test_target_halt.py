# SPDX-License-Identifier: BSD-2-Clause
"""When a PD stops the machine for good, no more of the trace is lost than is promised.

Each system also runs with a PD that exits instead. That trace tells how many lines there were when
the machine stopped: QEMU counts instructions, so both runs are alike until then.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cellreap.headers import constant
from cellreap.runs.boot import End
from cellreap.testing import Change, Run, Target, together, with_pd, with_system
from kit.counted import COUNTED
from kit.marks import thorough_but
from kit.muted import needs_debug

pytestmark = pytest.mark.behaviour("S-13")

SYSTEMS = ("aarch64-seL4", "x86_64-seL4", "aarch64-refkernel", "x86_64-refkernel")
MAKES, LOSES, CRASHES, PRINTS = range(4)
"""What tests/pds/halter.c does first."""
SOME, MANY = 50, 500
"""Resources. Each takes a line or two."""
VERY_MANY = 1900
"""Spaces. When they are destroyed, each takes two lines."""
PAUSE = 90_000_000
"""Turns, of at least 5 instructions: the timer interrupts often enough for all lines meanwhile."""
LINES = 700
"""Between two steps it prints one, and four lines of the trace are due to that."""
ABOVE_CLEANER = together(
    with_system(cleaner_priority=120),
    with_pd("loser", priority=160),
    with_pd("halter", requests=()),
)
"""The halter runs when the other PD has crashed."""
BEHIND, FEW, MOST = (constant("limits.h", f"CR_TRACE_{name}") for name in ("BEHIND", "FEW", "MOST"))


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """No PD prints what the kernel prints when the machine stops."""
    monkeypatch.setattr("cellreap.runs.boot._GRACE_WITH_PDS", 0.5)


def recorded(run: Run) -> int:
    """The lines that there are when the halter says that it stops. That is the last one."""
    (said,) = run.of("SAY", pd=run.id("halter"), text="stops")
    return run.events.index(said) + 1


def boot(run: Run) -> int:
    """The lines that there are before any PD runs."""
    settled = next(event for event in run.events if event.name == "SETTLED")
    return run.events.index(settled) + 1


@pytest.fixture
def halted(target_on: Callable[[str], Target]) -> Callable[..., tuple[int, Run]]:
    """Stops the machine. Returns how many lines are lost, and the run that ends otherwise."""

    def run(
        system: str, *halter: int, crashes_with: int = 0, more: Change = lambda config: config
    ) -> tuple[int, Run]:
        target = target_on(system)
        needs_debug(target.sdk)
        stopped, ended = (
            target.boot(
                "halt",
                change=together(
                    with_pd("halter", args=(*halter, goes_on)),
                    with_pd("loser", args=(CRASHES, crashes_with, 0, 0)),
                    more,
                ),
                qemu_args=COUNTED,
            )
            for goes_on in (0, 1)
        )
        assert ended.boot.end is End.COMPLETE
        assert ended.report.passed
        assert stopped.boot.end is End.FATAL
        assert "halt" in stopped.boot.detail
        return recorded(ended) - stopped.boot.events, ended

    return run


@pytest.mark.parametrize("system", thorough_but(SYSTEMS, "aarch64-seL4"))
def test_of_a_pd_that_always_runs_only_the_last_lines_are_lost(
    system: str, halted: Callable[..., tuple[int, Run]]
) -> None:
    lost, ended = halted(system, MAKES, MANY, 0)
    assert 0 < lost <= BEHIND
    assert recorded(ended) > 2 * BEHIND


@pytest.mark.parametrize("system", thorough_but(SYSTEMS, "aarch64-seL4"))
def test_what_there_was_before_any_pd_ran_is_never_lost(
    system: str, halted: Callable[..., tuple[int, Run]]
) -> None:
    lost, ended = halted(system, MAKES, 0, 0)
    assert lost <= recorded(ended) - boot(ended) < FEW


@pytest.mark.parametrize("system", thorough_but(SYSTEMS, "aarch64-seL4"))
def test_after_a_large_cleanup_more_is_lost_but_no_more_than_is_promised(
    system: str, halted: Callable[..., tuple[int, Run]]
) -> None:
    """The PD stops the machine as soon as it is told of the cleanup, for which it did not wait."""
    lost, ended = halted(system, LOSES, 0, 0, crashes_with=VERY_MANY)
    (fault,) = ended.of("FAULT")
    assert BEHIND < lost <= MOST
    assert recorded(ended) - ended.events.index(fault) > MOST


@pytest.mark.slow
@pytest.mark.parametrize("system", thorough_but(SYSTEMS, "aarch64-seL4"))
def test_in_the_middle_of_a_cleanup_no_more_is_lost_either(
    system: str, halted: Callable[..., tuple[int, Run]]
) -> None:
    """The PD has a higher priority than the cleaner, and prints lines between the steps.

    It depends on when the timer interrupts whether steps are left when it stops the machine.
    """
    lost, ended = halted(system, PRINTS, LINES, 0, crashes_with=VERY_MANY, more=ABOVE_CLEANER)
    (fault,) = ended.of("FAULT")
    assert BEHIND < lost <= MOST < recorded(ended) - ended.events.index(fault)
    assert ended.of("SERVED")


@pytest.mark.parametrize("system", thorough_but(SYSTEMS, "aarch64-seL4"))
def test_what_is_old_is_not_lost(system: str, halted: Callable[..., tuple[int, Run]]) -> None:
    """The PD has always run since, and asked for nothing."""
    lost, ended = halted(system, MAKES, SOME, PAUSE)
    assert lost <= FEW < recorded(ended) - boot(ended)
