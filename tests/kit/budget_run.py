# SPDX-License-Identifier: BSD-2-Clause
"""A generated run of budgets: quotas of accounts, respawns, and a receiver that is given up."""

from __future__ import annotations

from cellreap import headers
from cellreap.trace.writer import Draft
from kit.trace_simulator import Target

BUDGET = 2
DELAY_MS = 20


def _quotas(target: Target, *names: str) -> None:
    words = headers.printed_names("limits.h", "CR_QUOTA")
    for account, name in enumerate(names, 1):
        target.emit("QUOTA", account=account, name=name, **dict.fromkeys(words, 1 << 20))


def _configured(target: Target, name: str) -> str:
    return target.pd(name, account=4, respawns=BUDGET, window_ms=1000, delay_ms=DELAY_MS)


def _down(target: Target, pd: str) -> None:
    target.exit(pd)
    target.cleanup()


def budget_run() -> list[Draft]:
    """A server is made anew twice and then stays down. A receiver does not answer in time."""
    target = Target(0, 0, "budget")
    _quotas(target, "boss", "sleeper", "victim", "server")
    boss, sleeper, victim = (target.pd(name) for name in ("boss", "sleeper", "victim"))
    server = _configured(target, "server")
    inn = target.space(sleeper, "ROOM", "inn")
    room = target.resource(inn)
    target.request(victim, inn)
    target.hold(victim, room)
    target.body_cap(boss, victim)
    target.quiet()
    # The ticket of a terminate is over when nobody awaits the receiver any more.
    target.terminate(victim, boss)
    target.cleanup()
    target.serve(boss)
    target.told(1)
    for notice in target.queues[sleeper]:
        notice.given_up = True
    last = target.queues[sleeper][-1].token
    target.emit("GIVE_UP", pd=sleeper, token=last, ran=1003, held_up=1003)
    target.told(1)
    target.serve_all()
    for count in range(1, BUDGET + 1):
        _down(target, server)
        delay = 0 if count == 1 else DELAY_MS
        target.emit("due RESPAWN", name="server", count=count, delay_ms=delay)
        server = _configured(target, "server")
        target.quiet()
    _down(target, server)
    target.emit("over RESPAWN", name="server")
    return target.end()
