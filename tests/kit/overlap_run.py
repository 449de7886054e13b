# SPDX-License-Identifier: BSD-2-Clause
"""A generated run with cleanups side by side."""

from __future__ import annotations

from cellreap.trace.writer import Draft
from kit.trace_simulator import Target


def watched(target: Target, name: str, deadline: int = 0) -> tuple[str, str, str]:
    """A server, its space, and a client of it that is told before the server goes."""
    server, watcher = target.pd(name), target.pd(f"{name}'s watcher", deadline_ms=deadline)
    space = target.space(server, "BLOCK", name)
    target.request(watcher, space)
    target.hold(watcher, target.resource(space))
    target.subscribe(watcher, space)
    return server, space, watcher


def overlap_run() -> list[Draft]:
    """Cleanups side by side, three of which wait at once.

    One trigger touches a cleanup that waits, and another one touches only that trigger: both wait.
    A later one touches nothing, and is cleaned up before them.
    """
    target = Target(0, 0, "overlap")
    first, disk, watcher = watched(target, "first")
    second, _, other = watched(target, "second", deadline=100)
    third, _, deaf = watched(target, "third")
    lone, tied, tail = (target.pd(name) for name in ("lone", "tied", "tail"))
    guest, both = target.pd("guest"), target.pd("both")
    target.request(tied, disk)
    for pd in (tied, tail):
        target.request(both, target.space(pd, "FILE"))
    target.request(guest, target.space(lone, "ROOM", "lone"))
    target.body_cap(guest, lone)
    target.quiet()
    target.exit(first)
    target.free(tied, first)
    cleanups = [target.steps()]
    next(cleanups[0])
    target.say(tied, "the first one waits")
    target.fault(second)
    cleanups.append(target.steps())
    next(cleanups[1])
    target.exit(third)
    cleanups.append(target.steps())
    next(cleanups[2])
    target.say(other, "three at once")
    target.fault(tied)
    target.free(both, tied)
    target.serve(guest)
    target.exit(tail)
    target.free(both, tail)
    target.say(guest, "nothing changes here")
    target.exit(lone)
    target.free(guest, lone)
    next(target.steps(of=lone), None)
    target.account()
    target.serve(guest)
    # They end in another order than they began. tied and tail follow when the first one is over.
    target.serve(other)
    next(cleanups[1], None)
    target.account()
    target.serve(other)
    target.serve(watcher)
    next(cleanups[0], None)
    target.account()
    target.cleanup()
    target.cleanup()
    target.say(deaf, "still busy")
    told = target.queues[deaf][-1]
    told.given_up = True
    target.emit("GIVE_UP", pd=deaf, token=told.token, ran=1000, held_up=1000)
    next(cleanups[2], None)
    target.account()
    target.serve_all()
    return target.end()
