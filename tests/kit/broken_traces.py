# SPDX-License-Identifier: BSD-2-Clause
"""For each rule of the check, a trace that breaks it. The trace may break other rules too."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from typing import Final

from cellreap import headers
from cellreap.headers import event_table
from cellreap.system.config import quotas
from cellreap.trace.check import Report, check, check_stream
from cellreap.trace.events import Event
from cellreap.trace.frames import MARK
from cellreap.trace.reader import MAX_LINE
from cellreap.trace.writer import Draft, event_of, seal
from kit import broken_apart, broken_configurations, broken_respawns, truth_traces
from kit.cancel_run import cancel_run
from kit.collect_run import collect_run
from kit.govern_run import govern_run
from kit.hung_run import hung_run
from kit.network_run import Forgetful, ended, network
from kit.reconcile_run import reconcile_run
from kit.records import fits, line_of
from kit.residue_run import residue_run
from kit.simulated_runs import RUNS, block_fs_db_app, left_run, time_run
from kit.stop_run import stop_run
from kit.timed import timed
from kit.trace_simulator import Target

MADE = {
    **RUNS,
    "residue": residue_run,
    "cancel": cancel_run,
    "collect": collect_run,
    "govern": govern_run,
    "hung": hung_run,
    "stop": stop_run,
    "reconcile": reconcile_run,
}
Values = dict[str, object]
SPACE_LEFT: Final[Values] = {"step": "destroy-space", "node": "BLOCK_SPACE_1", "pd": "-"}


def of_lines(lines: list[str]) -> Report:
    """The report on a console log."""
    return check_stream(io.BytesIO("\n".join(lines).encode()), "trace")


def of_drafts(drafts: Iterable[Draft | Event]) -> Report:
    """The report on a trace that is sealed and read."""
    return of_lines(seal(drafts))


def edited(run: str, event: str, change: Values | None, skip: int = 0, **match: object) -> Report:
    """A generated run with one event changed, or without the event if `change` is None.

    match: values that select the event. skip: the number of matching events to leave unchanged.
    """
    drafts: list[Draft] = MADE[run]()
    found = [
        index
        for index, (name, values) in enumerate(drafts)
        if name == event and fits(values, match)
    ]
    at = found[skip]
    drafts[at : at + 1] = [] if change is None else [(event, {**drafts[at][1], **change})]
    return of_drafts(drafts)


def inserted(run: str, before: str, event: str, /, **values: object) -> Report:
    """A generated run with one more event, in front of the first event of the name `before`."""
    drafts: list[Draft] = RUNS[run]()
    at = next(index for index, (name, _) in enumerate(drafts) if name == before)
    draft: Draft = (event, {key.rstrip("_"): value for key, value in values.items()})
    return of_drafts([*drafts[:at], draft, *drafts[at:]])


def scenario(breaks: Callable[[Target], object]) -> Report:
    """The scenario, at depths 1 and 0, with something done at its end."""
    target = Target(1, 0)
    block_fs_db_app(target)
    breaks(target)
    return of_drafts(target.end())


def emitted(event: str, /, **values: object) -> Callable[[], Report]:
    """The scenario with an event added at its end."""
    return lambda: scenario(lambda target: target.emit(event, **values))


def _edge(
    change: str, kind: str, source: str, to: str, number: int = 0, **cause: str
) -> Callable[[], Report]:
    return lambda: scenario(lambda target: target.edge(change, kind, source, to, number, **cause))


def _disconnected_first() -> Report:
    """A manager is told of the last client's REQUEST before what the client held."""
    drafts = RUNS["depths-1-0"]()
    (at, free), (_, gone) = [
        (at, values) for at, (name, values) in enumerate(drafts) if name == "QUEUE"
    ][:2]
    drafts[at] = ("QUEUE", {**gone, "token": 1})
    drafts[at + 1] = ("QUEUE", {**free, "token": 2})
    return of_drafts(drafts)


def _due_after_the_end() -> Report:
    """A PD is to be made anew when the system ends."""
    drafts = stop_run()
    at = next(i for i, (_, values) in enumerate(drafts) if values.get("cause") == "stop")
    cause = {"name": "phoenix", "count": 1, "delay_ms": 0}
    return of_drafts([*drafts[:at], drafts[at], ("due RESPAWN", cause), *drafts[at + 1 :]])


def _stopped_twice() -> Report:
    drafts = stop_run()
    at = next(i for i, (_, values) in enumerate(drafts) if values.get("cause") == "stop")
    return of_drafts([*drafts[: at + 1], *drafts[at:]])


def _depths_of_the_stopped(target: Target) -> None:
    target.quiet()
    target.fault("PD_1")
    target.set_depths("PD_1", "PD_1", (0, 0))
    target.cleanup()


def crashed(then: Callable[[Target], object]) -> Report:
    """The scenario after the end of block server 1. fs, PD_3, lost slots and has notices."""

    def breaks(target: Target) -> None:
        target.depths = (0, 0)
        target.quiet()
        target.fault("PD_1")
        target.cleanup()
        then(target)

    return scenario(breaks)


def freed(*calls: tuple[str, str]) -> Report:
    """The scenario when block server 1 ends. calls: (PD, server) of each THREAD `answered`."""

    def breaks(target: Target) -> None:
        target.fault("PD_1")
        for pd, server in calls:
            target.free(pd, server)
        target.cleanup()

    return scenario(breaks)


def waiting(event: str, /, **values: object) -> Report:
    """A cleanup of PD_1 that waits for PD_3, and an event during the wait."""
    target = Target(1, 0)
    server, client, other = (
        target.pd(name, deadline_ms=100) for name in ("server", "client", "other")
    )
    target.request(client, target.space(server, "BLOCK"))
    target.subscribe(other, client)
    target.space(other, "ROOM")
    target.quiet()
    target.exit(server)
    target.cleanup(meanwhile=lambda target: target.emit(event, **values))
    target.serve_all()
    return of_drafts(target.end())


def _side_by_side() -> Report:
    """While the cleanup of PD_1 waits for PD_3, that of PD_3's client begins."""

    def meanwhile(target: Target) -> None:
        target.exit(client)
        target.state(0)
        target.cleanup()

    target = Target(0, 0)
    server, other, watcher = (target.pd(name) for name in ("server", "other", "watcher"))
    client = target.pd("client")
    target.request(watcher, target.space(server, "BLOCK"))
    target.subscribe(watcher, server)
    target.space(other, "ROOM")
    target.request(client, target.space(watcher, "HALL"))
    target.quiet()
    target.exit(server)
    target.cleanup(meanwhile=meanwhile)
    target.serve_all()
    return of_drafts(target.end())


# -- damage


def _lines() -> list[str]:
    return seal(RUNS["depths-0-0"]())


def _changed(change: Callable[[list[str]], list[str]]) -> Callable[[], Report]:
    return lambda: of_lines(change(_lines()))


def _long(lines: list[str]) -> list[str]:
    return [*lines[:9], f"{MARK.decode()}{'x' * MAX_LINE}", *lines[10:]]


# -- runs that break one rule


def _squatter(target: Target) -> None:
    target.bodies.clear()
    target.pd("squatter")


def _odd_body(target: Target) -> None:
    target.emit("PD", id="PD_9", name="x")
    target.emit("BODY", of="PD_9", paddr="0x200000800", bytes=4096, slots=1, objects="-")


def _two_regions(target: Target) -> None:
    """Both are at the same address."""
    pd = target.pd("attacher")
    memory = target.memory(pd)
    target.memory(pd, memory)
    target.memory(pd, memory)


def _more_rights(target: Target) -> None:
    """It sends what it may only read, and the receiver may write."""
    pd, other, last = (target.pd(name) for name in ("allocator", "reader", "writer"))
    memory = target.memory(pd)
    target.body_cap(pd, other)
    target.body_cap(other, last)
    target.send_memory(pd, memory, other, rights=2)
    target.send_memory(other, memory, last)


def _by_no_resource(target: Target) -> None:
    """It has the region by a slot in which there is no resource that memory backs."""
    pd = target.pd("attacher")
    target.memory(pd, target.memory(pd), slot=40)


def quota(target: Target, name: str, **own: int) -> None:
    """Emits QUOTA. own: those that are not 99, by their words."""
    words = quotas.words()
    target.emit("QUOTA", account=1, name=name, **{word: own.get(word, 99) for word in words})


def _quota_twice(target: Target) -> None:
    quota(target, "fs")
    quota(target, "fs")


def _over_quota(target: Target) -> None:
    quota(target, "poor", nodes=1)
    pd = target.pd("poor")
    target.space(pd, "ROOM")
    target.space(pd, "ROOM")


def _merged_too_early(target: Target) -> None:
    """PD_6 leaves one notice behind, and has room for many edges."""
    quota(target, "guest", edges=1000)
    guest = target.pd("guest", account=1)
    target.request(guest, "TABLE_SPACE_4")
    target.quiet()
    target.exit(guest)
    target.cleanup((0, 0))
    target.merge("PD_4", target.queues["PD_4"][0], "TABLE_SPACE_4")


def _first_notice_of_fs(event: str) -> Callable[[], Report]:
    """The event is about a notice that tells fs of a loss."""
    return lambda: crashed(
        lambda target: target.emit(event, pd="PD_3", token=target.queues["PD_3"][0].token)
    )


def _takes_too_much() -> Report:
    """A server fetches 48 notices, of three spaces, and finishes none."""
    target = Target(0, 0)
    server, guest = target.pd("server"), target.pd("guest")
    for name in ("a", "b", "c"):
        space = target.space(server, "ROOM", name)
        for _ in range(16):
            target.hold(guest, target.resource(space))
    target.quiet()
    target.exit(guest)
    target.cleanup()
    taken = [target.fetch(server) for _ in range(3)]
    for notice in (*taken[0], *taken[1], *taken[2]):
        target.ack(server, notice)
    return of_drafts(target.end())


def _no_body(target: Target) -> None:
    target.emit("PD", id="PD_9", name="x")
    target.account()


def _space_again(target: Target) -> None:
    target.delete("TABLE_SPACE_4")
    target.emit("SPACE", id="TABLE_SPACE_4", type="TABLE", manager="PD_4", name="database")


def _slot_again(target: Target) -> None:
    slots = target.slots["PD_3"]
    target.slots["PD_3"] = {slot: what for slot, what in slots.items() if isinstance(what, tuple)}
    target.request("PD_3", "TABLE_SPACE_4")


def _many_lost() -> Report:
    target = Target(0, 0)
    server, client, other = (target.pd(name) for name in ("server", "client", "other"))
    space = target.space(server, "BLOCK")
    for _ in range(32):
        target.hold(client, target.resource(space))
    more = target.space(other, "FILE")
    target.quiet()
    target.exit(server)
    target.cleanup()
    target.request(client, more)
    return of_drafts(target.end())


def _again_with_more(target: Target) -> None:
    target.pd("block_server_1")
    event, values = target.events.pop()
    target.emit(event, **{**values, "account": 1, "priority": 101})


def _protected_terminated(target: Target) -> None:
    pd = target.pd("safe", pinned=True, protected=True)
    target.body_cap("PD_5", pd)
    target.terminate(pd, "PD_5")


def _many_subscriptions(target: Target) -> None:
    for _ in range(headers.constant("limits.h", "CR_MAX_CONSENTS") + 1):
        target.subscribe("PD_5", "PD_5")
        target.unsubscribe("PD_5", "PD_5")


def _silent(target: Target) -> None:
    target.fault("PD_5")
    target.say("PD_5", "hello?")


def _not_told(target: Target) -> None:
    target.handler("PD_5", "PD_4")
    target.fault("PD_5")


def _twice(target: Target) -> None:
    target.fault("PD_5")
    target.fault("PD_5")


def _cleanup_of_nothing(target: Target) -> None:
    target.pending.append(("PD_5", "fault"))
    target.cleanup()


def _wrong_order(target: Target) -> None:
    target.fault("PD_5")
    target.fault("PD_4")
    target.pending.rotate()
    target.cleanup()


def _second_first(target: Target) -> None:
    token = target.queues["PD_2"][0].token
    target.emit("fetched NOTICE", pd="PD_2", token=token + 1)


def _each(target: Target) -> None:
    (notice,) = target.fetch("PD_3")
    target.emit("FINISH_WORK", pd="PD_3", token=notice.token, result="each")


def _two_extractions(target: Target) -> None:
    target.extract("PD_5")
    target.extract("PD_5")


def _unprinted() -> Report:
    target = Target(1, 0)
    block_fs_db_app(target)
    target.quiet()
    target.subscribe("PD_5", "PD_5")
    target.emit("END")
    return of_drafts(target.events)


def _no_snapshot(target: Target) -> None:
    target.events[:] = [draft for draft in target.events if draft[0] not in ("STATE", "SETTLED")]
    target.fault("PD_5")
    target.cleanup()


def _illegal(target: Target) -> None:
    """The manager drops its hold of what it manages."""
    target.model.drop_hold("PD_4", "TABLE_4_1")
    target.edge("dropped", "HOLD", "PD_4", "TABLE_4_1")
    target.quiet()


def _without_end() -> Report:
    drafts = RUNS["depths-0-0"]()[:-1]
    return check(event_of(*draft) for draft in drafts)


BROKEN: Final[dict[str, Callable[[], Report]]] = {
    "line.form": _changed(lambda lines: [*lines[:9], "~:good morning", *lines[10:]]),
    "line.checksum": _changed(lambda lines: [*lines[:9], f"{lines[9][:-1]}?", *lines[10:]]),
    "line.cut": _changed(lambda lines: [*lines[:9], lines[9][:12], *lines[10:]]),
    "line.long": _changed(_long),
    "line.lost": _changed(lambda lines: [*lines[:9], *lines[10:]]),
    "line.doubled": _changed(lambda lines: [*lines[:9], *lines[8:]]),
    "line.reordered": _changed(lambda lines: [*lines[:8], lines[9], lines[8], *lines[10:]]),
    "line.fields": emitted("SAY", pd="PD_5", text="x", loud="yes"),
    "line.value": emitted("SAY", pd="nobody", text="x"),
    "line.end": _changed(
        lambda lines: [*lines[:-1], line_of(len(lines) - 1, "END count=3 digest=00000000")]
    ),
    "line.cut_off": _changed(lambda lines: lines[:-1]),
    "line.after_end": _changed(
        lambda lines: [*lines, line_of(len(lines), "SAY pd=PD_1 text=x")]
    ),
    "order.trace": lambda: inserted(
        "depths-0-0", "SAY", "TRACE", version=event_table().version, arch="x86_64",
        kernel="seL4 1", system="x", pd_depth=0, rs_depth=0, key="0" * 32, clock=0,
    ),
    "order.usage": lambda: edited("depths-0-0", "USAGE", None),
    "order.end": _without_end,
    "order.version": emitted("DANCE", pd="PD_5"),
    "order.header": lambda: edited("depths-0-0", "TRACE", {"arch": "mips"}),
    "order.answer": lambda: edited("notices", "QUEUE", None, kind="disconnect", n=0),
    "model.possible": _edge("made", "REQUEST", "PD_77", "TABLE_SPACE_4", 8),
    "memory.body": lambda: scenario(_no_body),
    "memory.block": lambda: scenario(_odd_body),
    "memory.overlap": lambda: scenario(_squatter),
    "memory.region": lambda: scenario(_two_regions),
    "memory.rights": lambda: scenario(_more_rights),
    "memory.backed": lambda: scenario(_by_no_resource),
    "memory.sums": lambda: edited("depths-0-0", "USAGE", {"bytes": 1}, skip=1),
    "memory.in_use": lambda: edited("depths-0-0", "USAGE", {"nodes": 0}),
    "memory.objects": lambda: edited("depths-0-0", "SETTLED", {"objects": "thread:1"}, n=1),
    "memory.usage": lambda: edited("depths-0-0", "USAGE", None, skip=1),
    "accounts.quota": lambda: scenario(_quota_twice),
    "accounts.within": lambda: scenario(_over_quota),
    "accounts.pressed": lambda: scenario(_merged_too_early),
    "nodes.root": lambda: edited("depths-0-0", "PD", {"name": "root"}, id="PD_0"),
    "nodes.fresh": lambda: scenario(_space_again),
    "nodes.type": emitted("SPACE", id="TABLE_SPACE_9", type="BLOCK", manager="PD_4", name="x"),
    "nodes.manager": emitted("SPACE", id="TABLE_SPACE_9", type="TABLE", manager="PD_0", name="x"),
    "nodes.delete": emitted("DELETE", node="TABLE_4_1", by="PD_5", part=0),
    "nodes.part": emitted("DELETE", node="TABLE_4_1", by="PD_4", part=1),
    "edges.number": lambda: edited("depths-1-0", "EDGE", {"number": 1}, kind="MAP"),
    "causes.operation": _edge(
        "made", "SUBSCRIBE", "PD_5", "PD_5", asker="PD_5", op="connect"
    ),
    "causes.asker": _edge("made", "SUBSCRIBE", "PD_5", "PD_5", asker="PD_0"),
    "causes.authority": lambda: scenario(lambda target: target.map("FILE_3_1", "TABLE_4_1")),
    "causes.configured": lambda: scenario(lambda target: target.link("PD_4", "PD_5")),
    "causes.core": lambda: scenario(
        lambda target: target.resource(target.core_space("PD"), 5)
    ),
    "causes.spawn": lambda: edited("notices", "EDGE", None, kind="OWN"),
    "edges.handler": _edge("made", "FAULT", "PD_5", "PD_0"),
    "slots.none": _edge("made", "HOLD", "PD_4", "TABLE_4_1", 40),
    "slots.one": _edge("made", "HOLD", "PD_5", "TABLE_4_1", 40),
    "slots.range": _edge("made", "HOLD", "PD_5", "FILE_3_1", 4),
    "slots.used": _edge("made", "HOLD", "PD_5", "FILE_3_1", 8),
    "slots.reused": lambda: crashed(_slot_again),
    "slots.limit": _many_lost,
    "slots.given_back": _edge("dropped", "REQUEST", "PD_5", "TABLE_SPACE_4", 9),
    "actors.there": emitted("SAY", pd="PD_77", text="x"),
    "actors.silent": lambda: scenario(_silent),
    "actors.waiting": lambda: edited("sync", "TICKET", None, ticket=1),
    "actors.freeze": emitted("frozen THREAD", pd="PD_0"),
    "actors.refusals": lambda: edited("notices", "REFUSED", {"count": 1001}),
    "actors.status": emitted("REFUSE", pd="PD_5", op=10, status=0),
    "actors.unreached": emitted("UNREACHED", crash=0, name="app"),
    "authority.rights": lambda: edited("depths-0-0", "RIGHTS", None, pd="PD_3"),
    "authority.protected": lambda: scenario(_protected_terminated),
    "authority.account": lambda: scenario(_again_with_more),
    "authority.spawn": lambda: edited("rich", "RIGHTS", {"priority": 101}, pd="PD_9"),
    "authority.right": lambda: edited("notices", "RIGHTS", {"extract": 0}, pd="PD_4"),
    "authority.policy": lambda: scenario(
        lambda target: target.set_depths("PD_5", "PD_5", (3, None))
    ),
    "stop.all": _stopped_twice,
    "stop.last": _due_after_the_end,
    "reconcile.first": lambda: edited("reconcile", "TRIGGER", None),
    "reconcile.once": lambda: edited("stop", "TRIGGER", {"cause": "reconcile"}),
    "causes.saved": lambda: edited(
        "reconcile", "EDGE", {"op": "reconcile"}, kind="REQUEST", op="-", from_="PD_3"
    ),
    "authority.trust": lambda: edited("govern", "TRUST", {"account": 2}, account=3),
    "authority.pin": lambda: edited("govern", "RIGHTS", {"protected": 1}, pd="PD_1"),
    "authority.stopped": lambda: scenario(_depths_of_the_stopped),
    "authority.cleanup": lambda: edited("depths-1-0", "CLEANUP", {"rs_depth": 1}),
    "authority.dump": emitted("DUMP", pd="PD_4", by="PD_5", address="0x1000", words=64),
    "consent.allow": emitted("ALLOW", pd="PD_5", by="PD_0", count=1),
    "consent.many": lambda: scenario(_many_subscriptions),
    "consent.allowed": lambda: edited("depths-1-0", "ALLOW", {"count": 0}, pd="PD_5"),
    "collect.due": lambda: edited("collect", "TRIGGER", None, cause="collect", when="now"),
    "collect.cleanup": lambda: edited(
        "collect", "TRIGGER", None, cause="collect", when="now", skip=1
    ),
    "triggers.exit": lambda: edited(
        "notices", "EXIT", {"registers": f"rip:0x400123,rdi:0x1,rsi:{3 << 12:#x}"}
    ),
    "triggers.root": emitted("FAULT", pd="PD_0", kind="vm-fault", address="0x0", ip="0x0",
        registers="-"),
    "triggers.once": lambda: scenario(_twice),
    "triggers.right": lambda: scenario(lambda target: target.terminate("PD_5", "PD_1")),
    "triggers.columns": lambda: edited("hung", "TRIGGER", {"when": "later"}, cause="hung"),
    "triggers.late": lambda: edited("notices", "TRIGGER", {"token": 1}, cause="late", pd="PD_5"),
    "settings.told": lambda: edited("depths-0-0", "SETTING", None),
    "inject.happens": emitted(
        "INJECTED", what="fail-make", word="error", value=1, second=0, third=0
    ),
    "reports.steps": lambda: edited("depths-1-0", "CLEANUP", {"steps": 3}),
    "reports.step": lambda: edited("takeovers", "TAKEOVER", {"number": 3}),
    "takeover.death": lambda: edited("takeovers", "TAKEOVER", {"death": "hang"}),
    "takeover.step": lambda: edited("takeovers", "TAKEOVER", {"step": "tell"}),
    "takeover.residue": lambda: edited("takeovers", "TAKEOVER", {"step": "mark"}, left=1),
    "takeover.attempts": lambda: edited("takeovers", "TAKEOVER", {"attempts": 2}),
    "residue.left": lambda: edited("residue", "STEP", None, n=1, name="destroy-resource"),
    "residue.cause": lambda: edited("residue", "STEP", None, n=1, name="destroy-space"),
    "residue.waits": lambda: edited("residue", "TAKEOVER", SPACE_LEFT, left=1, skip=2),
    "residue.run": lambda: edited("residue", "RECOVER", {"run": 2}),
    "residue.retried": lambda: edited("residue", "RECOVER", None, skip=1),
    "interleaved.place": lambda: inserted("interleaved", "STEP", "SAY", pd="PD_6", text=""),
    "interleaved.turn": lambda: edited("interleaved", "STEP", None, name="cut-request"),
    "interleaved.soon": lambda: edited("interleaved", "SERVED", {"waited": 9}),
    "interleaved.independent": lambda: edited("interleaved", "SERVED", {"pd": "PD_3"}),
    "interleaved.over": lambda: edited("interleaved", "SERVED", None),
    "inject.making": lambda: edited("making", "MAKE_FAILED", None),
    "making.undone": lambda: edited("making", "MAKE_FAILED", {"undone": 0}),
    "making.step": lambda: edited("making", "MAKE_FAILED", {"kind": "page"}, what="request"),
    "progress.awaited": emitted("GIVE_UP", pd="PD_5", token=1, ran=1000, held_up=2000),
    "progress.early": emitted("GIVE_UP", pd="PD_5", token=1, ran=999, held_up=1999),
    "triggers.cleanup": lambda: scenario(_cleanup_of_nothing),
    "triggers.order": lambda: scenario(_wrong_order),
    "triggers.needless": lambda: of_drafts(broken_apart.unrelated().events),
    "triggers.end": lambda: scenario(lambda target: target.fault("PD_5")),
    "blame.handler": lambda: edited("blame", "FAULT_HELD", {"handler": "PD_2"}, pd="PD_3"),
    "blame.told": lambda: scenario(_not_told),
    "blame.registers": lambda: edited("blame", "FAULT_HELD", {"ip": "0x400999"}, pd="PD_3"),
    "authority.budget": lambda: edited("hung", "RIGHTS", {"period_us": 10}, pd="PD_3"),
    "blame.timeout": lambda: scenario(lambda target: target.fault("PD_5", "timeout")),
    "blame.same": lambda: edited("blame", "FAULT", {"kind": "vm-fault"}, pd="PD_4"),
    "blame.resumed": lambda: edited("blame", "FINISH_WORK", {"result": "failed"}, token=1),
    "blame.taken": lambda: edited("blame", "RIGHTS", {"deadline_ms": 5}, pd="PD_2"),
    "blame.probe": emitted("QUEUE", token=1, to="PD_2", kind="probe", node="PD_2", from_="PD_5"),
    "blame.waits": lambda: edited("blame", "EDGE", None, kind="REQUEST", to="BLOCK_SPACE_2"),
    "hung.probe": lambda: edited("hung", "QUEUE", {"number": 250}, to="PD_4"),
    "hung.waits": lambda: edited("hung", "EDGE", None, kind="REQUEST", from_="PD_2"),
    "hung.hung": lambda: edited("hung", "TRIGGER", {"ms": 199}, cause="hung", pd="PD_1"),
    "hung.passed": lambda: edited("hung", "TRIGGER", {"ms": 900}, cause="hung", pd="PD_1"),
    "hung.unanswered": lambda: edited("hung", "HELD_UP", {"ran": 300}),
    "order.change": emitted("withdrawn THREAD", pd="PD_5"),
    "hung.stranded": lambda: edited("hung", "stranded THREAD", {"pd": "PD_4"}),
    "hung.missing": lambda: of_drafts(hung_run("")),
    "freed.stop": lambda: edited("depths-1-0", "stopped THREAD", None, pd="PD_3"),
    "freed.when": emitted("answered THREAD", pd="PD_5", by="PD_4"),
    "freed.once": lambda: freed(("PD_3", "PD_1"), ("PD_3", "PD_1")),
    "freed.client": lambda: freed(("PD_5", "PD_1")),
    **broken_respawns.reports(of_drafts),
    **broken_configurations.reports(),
    "silence.long": lambda: edited("blame", "STANDS", {"ms": 4999}, pd="PD_1"),
    "silence.each": lambda: edited("blame", "STANDS", None, pd="PD_2"),
    "silence.state": lambda: edited("blame", "STANDS", {"state": "receive"}, pd="PD_3"),
    "rounds.known": lambda: edited("time", "in-rounds THREAD", None, pd="PD_3"),
    "rounds.end": lambda: edited("time", "unfinished THREAD", None),
    "clock.order": lambda: edited("time", "CLOCK", {"ms": 99}, ms=800),
    "clock.times": lambda: of_drafts(timed(time_run(), back=True)),
    "clock.late": lambda: of_drafts(time_run("")),
    "clock.held_up": lambda: edited("time", "HELD_UP", {"ran": 1000}),
    "clock.passed": lambda: edited("time", "TRIGGER", {"ms": 2400}, cause="late"),
    "notices.token": lambda: edited("depths-1-0", "QUEUE", {"token": 2}, token=3),
    "notices.owed": lambda: edited("notices", "QUEUE", {"kind": "free"}, kind="disconnect", n=0),
    "notices.fetch": emitted("fetched NOTICE", pd="PD_5", token=1),
    "notices.order": lambda: edited("notices", "fetched NOTICE", None, pd="PD_1"),
    "notices.finish": lambda: edited("depths-1-0", "fetched NOTICE", None, token=3),
    "notices.each": lambda: crashed(_each),
    "notices.resume": lambda: edited("notices", "resumed NOTICE", {"token": 1}),
    "notices.taken": _takes_too_much,
    "notices.unseen": emitted("withdrawn NOTICE", pd="PD_5", token=1),
    "notices.merged": _first_notice_of_fs("merged NOTICE"),
    "notices.withdrawn": _first_notice_of_fs("withdrawn NOTICE"),
    "notices.end": lambda: of_drafts(left_run(deadline=1000)),
    "tickets.number": lambda: edited("notices", "TICKET", {"ticket": 99}, ticket=2),
    "answers.each": lambda: edited("depths-1-0", "ANSWER", None),
    "answers.words": lambda: edited("depths-1-0", "ANSWER", {"digest": "0" * 16}),
    "tickets.state": lambda: edited("notices", "TICKET", {"state": 3}, ticket=1, state=1),
    "tickets.counts": lambda: edited("notices", "TICKET", {"done": 5}, ticket=1, state=1),
    "tickets.wait": lambda: edited("sync", "TICKET", None, ticket=3),
    "tickets.needless": lambda: inserted("sync", "TICKET", "SAY", pd="PD_2", text="x"),
    "cancel.right": lambda: edited("cancel", "CANCEL", {"pd": "PD_3"}, ticket=2),
    "cancel.what": lambda: edited("cancel", "CANCEL", {"ticket": 3}, ticket=2),
    "cancel.answer": lambda: edited("cancel", "CANCEL", None, name="nowhere"),
    "extractions.number": lambda: edited("notices", "EXTRACT", {"x": 2}, x=1),
    "extractions.one": lambda: scenario(_two_extractions),
    "extractions.under_way": emitted("EXTRACTED", x=9, maps=0, digest="0" * 16),
    "extractions.asked": lambda: edited("notices", "SUBGRAPH", {"from": "FILE_2_1"}),
    "extractions.ends": lambda: edited("notices", "SUBGRAPH", {"to": "ROOM_SPACE_4"}),
    "extractions.new": lambda: edited("notices", "SUBGRAPH", {"to": "TABLE_SPACE_3"}),
    "extractions.answered": lambda: edited("notices", "FINISH_WORK", None, pd="PD_3"),
    "extractions.needless": lambda: inserted("notices", "EXTRACTED", "SAY", pd="PD_1", text="x"),
    "extractions.state": lambda: edited("notices", "EXTRACTED", {"maps": 1}, x=1),
    "extractions.end": lambda: scenario(lambda target: target.extract()),
    "state.printed": _unprinted,
    "state.snapshot": lambda: inserted("depths-0-0", "SETTLED", "SAY", pd="PD_5", text="x"),
    "state.count": lambda: edited("depths-1-0", "SETTLED", {"rows": 3}, n=1),
    "state.rows": lambda: edited("depths-1-0", "STATE", None, row="PD,PD_3,fs,,,,"),
    "state.digest": lambda: edited("depths-1-0", "CLEANUP", {"digest": "0" * 16}, n=1),
    "state.whole": lambda: scenario(_no_snapshot),
    "state.legal": lambda: scenario(_illegal),
    "cleanup.number": lambda: edited("depths-1-0", "CLEANUP", {"n": 2}),
    "cleanup.within": lambda: edited("depths-1-0", "SETTLED", None, n=1),
    "cleanup.plan": lambda: edited("depths-1-0", "PLAN", {"rows": 1}),
    "cleanup.independent": _side_by_side,
    "cleanup.needless": lambda: of_drafts(broken_apart.idle().events),
    "cleanup.phases": lambda: edited("depths-1-0", "STEP", {"name": "notify"}, name="mark"),
    "cleanup.doomed": lambda: waiting(
        "EDGE", change="made", kind="HOLD", from_="PD_2", to="ROOM_SPACE_2", number=30
    ),
    "cleanup.wait": lambda: waiting(
        "STEP", n=1, name="mark", node="PD_1", pd="-", kinds="-", count=1
    ),
    "cleanup.awaited": lambda: edited("notices", "TRIGGER", None, cause="late", pd="PD_5"),
    "cleanup.tell": lambda: edited(
        "notices", "STEP", {"node": "FILE_SPACE_2"}, name="tell", pd="PD_4"
    ),
    "cleanup.destructors": lambda: of_drafts(ended(network(Forgetful(1, 0))).end()),
    "cleanup.steps": lambda: edited("depths-1-0", "STEP", None, name="mark"),
    "cleanup.beside": lambda: edited("depths-1-0", "STEP", None, name="notify"),
    "cleanup.cut": lambda: edited("depths-1-0", "STEP", None, name="cut-request"),
    "cleanup.suspend": lambda: edited("depths-1-0", "STEP", None, name="suspend", pd="PD_3"),
    "cleanup.destroy": lambda: edited(
        "depths-1-0", "STEP", {"node": "TABLE_4_1"}, name="destroy-resource"
    ),
    "cleanup.groups": lambda: edited(
        "depths-1-0", "STEP", {"node": "PD_3", "pd": "PD_3"}, name="destroy-space"
    ),
    "cleanup.parts": lambda: edited("depths-1-0", "STEP", None, node="FILE_3_2"),
    "cleanup.notice_order": _disconnected_first,
    "cleanup.notices": lambda: edited("depths-1-0", "QUEUE", {"kind": "destroy"}, token=1),
    "notices.number": lambda: edited("rich", "QUEUE", {"number": 7}, kind="pre-destroy"),
    "cleanup.step_calls": lambda: edited(
        "depths-1-0", "STEP", {"kinds": "suspend:1,revoke:1"}, name="suspend"
    ),
    "cleanup.calls": lambda: edited("depths-1-0", "SETTLED", {"calls": 0}, n=1),
    **truth_traces.reports(),
}  # fmt: skip
"""Rule -> the report on a trace that breaks it."""
