# SPDX-License-Identifier: BSD-2-Clause
"""A generated run in which PDs cancel what has not taken effect."""

from __future__ import annotations

from cellreap.trace.writer import Draft
from kit.trace_simulator import Target

DELAY_MS = 10


def _phoenix(target: Target) -> str:
    return target.pd("phoenix", account=8, respawns=2, window_ms=1000, delay_ms=DELAY_MS)


def cancel_run() -> list[Draft]:
    """A respawn, an extraction, a termination that is put off and a CONNECT are cancelled.

    Another termination that is put off begins when the cleanup is over for which it waits.
    """
    target = Target(0, 0, "cancel")
    server, watcher, clerk, boss = (
        target.pd(name) for name in ("server", "watcher", "clerk", "boss")
    )
    victim, guest, trusted = (target.pd(name) for name in ("victim", "guest", "trusted"))
    phoenix = _phoenix(target)
    disk = target.space(server, "BLOCK", "disk")
    desk = target.space(clerk, "DESK", "desk")
    for client in (watcher, victim):
        target.request(client, disk)
    target.request(guest, desk)
    target.subscribe(watcher, disk)
    target.body_cap(boss, victim)
    for pd in (boss, guest):
        target.body_cap(trusted, pd)
    target.quiet()
    for count, delay in ((1, 0), (2, DELAY_MS)):
        target.exit(phoenix)
        target.cleanup()
        target.emit("due RESPAWN", name="phoenix", count=count, delay_ms=delay)
        if count == 1:
            phoenix = _phoenix(target)
            target.quiet()
    target.emit("CANCEL", pd=trusted, of="-", ticket=0, name="phoenix")

    def meanwhile(target: Target) -> None:
        target.extract(boss)
        target.told(1)
        target.cancel(boss, boss, 1)
        target.told(1)
        ticket = target.terminate_later(victim, boss)
        target.told(ticket)
        target.cancel(trusted, boss, ticket)
        target.told(ticket)
        target.say(victim, "still here")
        target.terminate_later(victim, boss)
        target.cancel_connect(trusted, guest, "nowhere")
        target.say(guest, "cancelled")

    target.fault(server)
    target.cleanup(meanwhile=meanwhile)
    target.cleanup()
    target.serve_all()
    target.told(3)
    return target.end()
