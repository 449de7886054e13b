# SPDX-License-Identifier: BSD-2-Clause
"""Runs in which a trigger or a cleanup waits needlessly, or does not wait although it must."""

from __future__ import annotations

from collections.abc import Generator

from cellreap import headers
from cellreap.model import reference
from kit.overlap_run import watched
from kit.trace_simulator import Target

MOST = headers.constant("limits.h", "CR_MAX_CLEANUPS")

Steps = Generator[int, None, reference.Plan]


def began(target: Target, server: str) -> Steps:
    """A cleanup after the exit of this PD, up to where it waits."""
    target.exit(server)
    steps = target.steps(of=server)
    next(steps)
    return steps


def over(target: Target, steps: Steps, *subscribers: str) -> None:
    """The subscribers answer, and their cleanup ends."""
    for pd in subscribers:
        target.serve(pd)
    next(steps, None)
    target.account()


def end(target: Target) -> Target:
    """All PDs serve their notices, and the run ends."""
    target.serve_all()
    target.end()
    return target


def unrelated(talks: bool = True) -> Target:
    """A PD that has nothing to do with the cleanup that waits exits. Its cleanup begins when
    another PD has acted.
    """
    target = Target(0, 0)
    server, _, watcher = watched(target, "server")
    lone, guest = target.pd("lone"), target.pd("guest")
    target.quiet()
    steps = began(target, server)
    target.exit(lone)
    if talks:
        target.say(guest, "is nobody cleaning up?")
    next(target.steps(of=lone), None)
    target.account()
    over(target, steps, watcher)
    return end(target)


def after_all(talks: bool = True) -> Target:
    """A client of the server that goes exits. Its turn comes when the first cleanup is over, and
    its cleanup begins when another PD has acted.
    """
    target = Target(0, 0)
    server, disk, watcher = watched(target, "server")
    tied, guest = target.pd("tied"), target.pd("guest")
    target.request(tied, disk)
    target.quiet()
    steps = began(target, server)
    target.exit(tied)
    target.say(guest, "it has to wait")
    over(target, steps, watcher)
    if talks:
        target.say(guest, "it need not wait any more")
    target.cleanup()
    return end(target)


def overtaken(in_turn: bool = False) -> Target:
    """The second trigger touches the cleanup that waits, and the third one, which has a client in
    common with the second one, touches only that. It is cleaned up although the second one waits.
    """
    target = Target(0, 0)
    server, disk, watcher = watched(target, "server")
    tied, tail, guest = (target.pd(name) for name in ("tied", "tail", "guest"))
    target.request(tied, disk)
    for pd in (tied, tail):
        target.request(guest, target.space(pd, "FILE"))
    target.quiet()
    steps = began(target, server)
    target.exit(tied)
    target.exit(tail)
    if not in_turn:
        next(target.steps(of=tail), None)
        target.account()
    over(target, steps, watcher)
    while target.pending:
        target.cleanup()
    return end(target)


def idle(talks: bool = True) -> Target:
    """The subscriber has answered, and the cleanup goes on when another PD has acted."""
    target = Target(0, 0)
    server, _, watcher = watched(target, "server")
    guest = target.pd("guest")
    target.quiet()
    steps = began(target, server)
    target.serve(watcher)
    if talks:
        target.say(guest, "what does it wait for?")
    over(target, steps)
    return end(target)


def crowd(waits: int = MOST + 1, lone_first: bool = False) -> Target:
    """So many cleanups wait at a time. lone_first: then two PDs that touch none of them exit. The
    cleanup of the one without a subscriber begins at once, and that of the other one when one of
    those that wait is over.
    """
    target = Target(0, 0)
    servers = [watched(target, f"server {i}") for i in range(waits)]
    lone, _, its_watcher = watched(target, "lone")
    free, guest = target.pd("free"), target.pd("guest")
    target.quiet()
    under_way = [(began(target, server), watcher) for server, _, watcher in servers]
    if lone_first:
        target.exit(lone)
        target.exit(free)
        next(target.steps(of=free), None)
        target.account()
        target.say(guest, "there is no room for one more that waits")
    for index, (steps, watcher) in enumerate(under_way):
        over(target, steps, watcher)
        if lone_first and index == 0:
            one_more = target.steps(of=lone)
            next(one_more)
            under_way.append((one_more, its_watcher))
    return end(target)


def doomed_in_the_queue() -> Target:
    """Two linked clients of the server exit. The cleanup of the first one dooms the second one and
    waits for a subscriber. Nobody cleans up the second one on its own.
    """
    target = Target(0, 0)
    server, disk, watcher = watched(target, "server")
    tied, _, other = watched(target, "tied")
    twin = target.pd("twin")
    target.link(tied, twin)
    guest = target.pd("guest")
    target.request(tied, disk)
    target.quiet()
    steps = began(target, server)
    target.exit(tied)
    target.exit(twin)
    over(target, steps, watcher)
    second = target.steps()
    next(second)
    target.say(guest, "the twin goes with it")
    over(target, second, other)
    return end(target)


def beyond_the_doomed() -> Target:
    """The server takes its client along, and the peer, which serves that client, waits for them.

    The client's clients would be doomed by the peer's end, at any depth, but they go or stay with
    the client. So nobody has to wait for the peer because of them.
    """
    target = Target(0, 0)
    server, _, watcher = watched(target, "server")
    peer, far, mid, guest = (target.pd(name) for name in ("peer", "far", "mid", "guest"))
    target.request(watcher, target.space(peer, "FILE"))
    for client, pd in ((far, watcher), (mid, far), (guest, mid)):
        target.request(client, target.space(pd, "HALL"))
    target.quiet()
    steps = began_at(target, server, (1, 0))
    target.had_depths(peer, (None, 0))
    target.exit(peer)
    target.exit(guest)
    next(target.steps(of=guest), None)
    target.account()
    over(target, steps, watcher)
    target.cleanup((None, 0))
    return end(target)


def began_at(target: Target, server: str, depths: tuple[int | None, int | None]) -> Steps:
    """As `began`, with depths of its own."""
    target.exit(server)
    steps = target.steps(depths, of=server)
    next(steps)
    return steps
