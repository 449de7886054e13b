# SPDX-License-Identifier: BSD-2-Clause
"""A generated run in which PDs are terminated with all that they created."""

from __future__ import annotations

from cellreap.trace.writer import Draft
from kit.trace_simulator import Target


def tree_run() -> list[Draft]:
    """A parent goes with its children. Another one is linked with a twin, and goes before its turn.

    A termination that is put off is prevented: by then it would destroy a protected PD. A crash of
    the same PD does.
    """
    target = Target(0, 0, "tree")
    server, watcher = target.pd("server"), target.pd("watcher")
    parent, other, twin = (target.pd(name) for name in ("parent", "other", "twin"))
    target.link(twin, other)
    victim, client = target.pd("victim"), target.pd("client")
    guard = target.pd("guard", pinned=True, protected=True)
    target.link(guard, client)
    boss = target.pd("boss", trusts=(6,))
    disk = target.space(server, "BLOCK", "disk")
    files = target.space(victim, "FILE", "files")
    for pd in (watcher, other, twin, victim):
        target.request(pd, disk)
    target.request(client, files)
    target.subscribe(watcher, disk)
    for pd in (parent, twin, victim):
        target.body_cap(boss, pd)
    target.body_cap(other, other)
    for creator in (parent, parent, other, other):
        target.pd("child", creator=creator)
    target.quiet()
    whole = target.terminate_tree(parent, boss)
    target.cleanup()
    target.serve_all()
    target.told(whole)
    target.say(boss, "all of them are gone")
    tickets: list[int] = []

    def meanwhile(target: Target) -> None:
        tickets.append(target.terminate_later(victim, boss))
        target.set_depths(boss, victim, (1, 0))
        tickets.append(target.terminate_tree(twin, boss))
        target.terminate_tree(other, other)

    target.fault(server)
    target.cleanup(meanwhile=meanwhile)
    target.prevent(victim)
    target.account()
    for _ in range(3):
        target.cleanup()
    target.serve_all()
    for ticket in tickets:
        target.told(ticket)
    target.say(victim, "still here")
    target.fault(victim)
    target.cleanup((1, 0))
    target.serve_all()
    return target.end()
