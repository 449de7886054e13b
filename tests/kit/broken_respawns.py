# SPDX-License-Identifier: BSD-2-Clause
"""For each rule about respawns, a trace that breaks it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from cellreap.trace.check import Report
from kit.trace_simulator import Target

BUDGET: Final = 3
DELAY: Final = 10


def server(target: Target, budget: int = BUDGET, window: int = 1000) -> str:
    """A PD that is respawned."""
    return target.pd("server", respawns=budget, window_ms=window, delay_ms=DELAY)


def due(target: Target, count: int, delay: int) -> None:
    """RESPAWN `due` of the server."""
    target.emit("due RESPAWN", name="server", count=count, delay_ms=delay)


def down(target: Target, pd: str) -> None:
    """The PD exits and is destroyed."""
    target.exit(pd)
    target.cleanup()


def lives(target: Target, counts: tuple[tuple[int, int], ...], window: int = 1000) -> None:
    """The server is destroyed and respawned with these counts and delays, and then once more."""
    pd = server(target, window=window)
    target.quiet()
    for count, delay in counts:
        down(target, pd)
        due(target, count, delay)
        pd = server(target, window=window)
        target.quiet()
    down(target, pd)


def respawned() -> Target:
    """A server that is respawned as often as its budget allows, and stays down."""
    target = Target(0, 0)
    lives(target, ((1, 0), (2, DELAY), (3, 2 * DELAY)))
    target.emit("over RESPAWN", name="server")
    return target


def _other_rule(target: Target) -> None:
    lives(target, ())
    due(target, 1, 0)
    server(target, budget=BUDGET + 1)
    target.quiet()


def _not_due(target: Target) -> None:
    lives(target, ())
    server(target)
    target.quiet()


def _due_alive(target: Target) -> None:
    server(target)
    target.quiet()
    due(target, 1, 0)


def _due_twice(target: Target) -> None:
    lives(target, ())
    due(target, 1, 0)
    due(target, 2, DELAY)


def _no_rule(target: Target) -> None:
    target.pd("server")
    target.quiet()
    target.emit("over RESPAWN", name="server")


def _over_budget(target: Target) -> None:
    lives(target, ((1, 0), (2, DELAY), (3, 2 * DELAY)))
    due(target, 4, 4 * DELAY)


def _gave_up_early(target: Target) -> None:
    lives(target, ((1, 0),))
    target.emit("over RESPAWN", name="server")


def _count_skips(target: Target) -> None:
    lives(target, ())
    due(target, 2, DELAY)


def _window_of_a_whole_run(target: Target) -> None:
    lives(target, ((1, 0), (1, 0)), window=0)
    due(target, 2, DELAY)


def _no_delay(target: Target) -> None:
    lives(target, ((1, 0),))
    due(target, 2, 0)


def _forgotten(target: Target) -> None:
    lives(target, ((1, 0),))


def broken(of: Callable[[Target], None]) -> Callable[[], Target]:
    """A target with this run."""

    def make() -> Target:
        target = Target(0, 0)
        of(target)
        return target

    return make


CASES: Final[tuple[tuple[str, Callable[[Target], None]], ...]] = (
    ("respawn.rule", _other_rule),
    ("respawn.rule", _not_due),
    ("respawn.due", _due_alive),
    ("respawn.due", _due_twice),
    ("respawn.due", _no_rule),
    ("respawn.budget", _over_budget),
    ("respawn.budget", _gave_up_early),
    ("respawn.budget", _count_skips),
    ("respawn.budget", _window_of_a_whole_run),
    ("respawn.delay", _no_delay),
    ("respawn.end", _forgotten),
)


def reports(of_drafts: Callable[..., Report]) -> dict[str, Callable[[], Report]]:
    """Rule -> the report on a trace that breaks it."""
    return {rule: (lambda make: lambda: of_drafts(make().end()))(broken(of)) for rule, of in CASES}
