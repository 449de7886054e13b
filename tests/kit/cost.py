# SPDX-License-Identifier: BSD-2-Clause
"""Counts the cost of the check for an event, in bytecodes, and generates runs of any size."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from types import FrameType
from typing import Any

from cellreap.trace.check import Replay, Report
from cellreap.trace.events import Event
from cellreap.trace.expected import Expected
from cellreap.trace.writer import Draft, event_of
from kit.trace_simulator import Target

SHARED = {
    **dict.fromkeys(("CLEANUP", "PLAN", "SETTLED", "EXTRACT", "EXTRACTED", "END"), ("STATE",)),
    "STEP await": ("STATE",),
    "WAIT": ("fetched NOTICE",),
    "CONTINUE": ("fetched NOTICE",),
    "resumed NOTICE": ("TRIGGER", "EXTRACT"),
    "USAGE": ("TRIGGER", "EXTRACT"),
}
"""Costly event -> the events among which its cost is divided.

The whole state is planned for or printed. A cleanup goes on when all PDs that were told have
answered. When a lane is resumed, all cleanups that have notices in it count them anew. The tickets
that are not over are counted one by one.
"""


def events_of(drafts: Iterable[Draft]) -> list[Event]:
    """The events of a generated run, not sealed."""
    return [replace(event_of(*draft), line=line) for line, draft in enumerate(drafts, 1)]


def cost_by_event(events: list[Event], expected: Expected | None = None) -> dict[str, float]:
    """Event -> bytecodes that the check executes for one such event, on average.

    expected: the configuration against which the trace is held. The cost of an event of SHARED is
    divided by the number of events that share it. The trace passes the check.

    Only bytecodes of Python are counted, and not the work inside a call to C.
    """
    replay = Replay(Report("counted"), expected)
    spent, seen = Counter[str](), Counter[str]()
    for event in events:
        name = "STEP await" if event.name == "STEP" and event["name"] == "await" else event.told
        spent[name] += _counted(replay, event)
        seen[name] += 1
    replay.finish()
    assert replay.report.violations == []
    return {
        name: spent[name] / sum(seen[sharer] for sharer in SHARED.get(name, (name,)))
        for name in spent
    }


def _counted(replay: Replay, event: Event) -> int:
    count = 0

    def trace(frame: FrameType, what: str, _: Any) -> Any:
        nonlocal count
        if what == "opcode":
            count += 1
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        replay.feed(event)
    finally:
        sys.settrace(before)
    return count


def long_history(n: int) -> list[Draft]:
    """A small system with a long history: n PDs are created and terminated, each with a ticket.

    The server that is owed notices of them fails the first one, and finishes all in the end.
    """
    target = Target(0, 0, "history")
    boss, server = target.pd("boss"), target.pd("server", deadline_ms=100)
    disk = target.space(server, "BLOCK", "disk")
    for _ in range(n):
        client = target.pd("client", size=1 << 12)
        target.request(client, disk)
        block = target.resource(disk)
        target.hold(client, block)
        target.body_cap(client, server)
        target.subscribe(client, server)
        target.body_cap(boss, client)
        target.quiet()
        target.terminate(client, boss)
        target.told(len(target.tickets))
        target.cleanup()
        target.serve(boss)
        target.delete(block)
        target.quiet()
        if len(target.tickets) == 1:
            (first,) = target.fetch(server, 1)
            target.ack(server, first, "failed")
    for number in range(1, n + 1):
        target.told(number)
    target.again(server, disk)
    target.serve_all()
    for number in range(1, n + 1):
        target.told(number)
    return target.end()


def large_system(n: int) -> list[Draft]:
    """n clients of a server in one state, n reported edges, and the end of all clients."""
    target = Target(None, 0, "large")
    boss, server, other = (target.pd(name) for name in ("boss", "server", "other"))
    disk, files = target.space(server, "BLOCK", "disk"), target.space(other, "FILE", "files")
    target.request(other, disk)
    clients = []
    for _ in range(n):
        client = target.pd("client", size=1 << 12, creator=boss)
        clients.append(client)
        block = target.resource(disk)
        file = target.resource(files)
        target.hold(other, block)
        target.request(client, disk)
        target.request(client, files)
        target.hold(client, file)
        target.unrequest(client, files)
        target.unhold(client, file)
        target.subscribe(client, disk)
        target.body_cap(boss, client)
        target.delete(target.resource(disk))
    blocks = target.model.resources_in(disk)
    target.serve_all()
    target.quiet()
    x = target.extract(boss)
    target.serve(server)
    (asked,) = target.fetch(other)
    for upper, lower in zip(target.model.resources_in(files), blocks, strict=True):
        target.piece(other, asked, upper, lower)
    target.ack(other, asked)
    target.extracted(x)
    # All triggers wait for the first. Its cleanup destroys their PDs too.
    target.fault(server)
    for client in clients[: n // 2]:
        target.terminate(client, boss)
    target.cleanup()
    target.serve_all()
    return target.end()


def busy_pds(n: int) -> list[Draft]:
    """A PD gets n requests and n holds. Then it does n times what other edges of it allow."""
    target = Target(0, 0, "busy")
    boss, server, other = (target.pd(name) for name in ("boss", "server", "other"))
    files = target.space(other, "FILE", "files")
    disk = target.space(server, "BLOCK", "disk")
    for _ in range(n):
        target.request(boss, target.space(other, "TABLE"))
        target.hold(boss, target.resource(files))
    target.request(boss, disk)
    for _ in range(n):
        block = target.resource(disk)
        target.hold(boss, block)
        target.unhold(boss, block, by=server)
        target.serve(boss)
        target.subscribe(boss, disk)
        target.unsubscribe(boss, disk)
        target.space(boss, "LOG")
        child = target.pd("child", size=1 << 12, creator=boss)
    target.quiet()
    target.terminate(child, boss)
    target.cleanup()
    target.serve_all()
    return target.end()
