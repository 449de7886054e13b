# SPDX-License-Identifier: BSD-2-Clause
"""Runs of the simulated root task, which have between them what a trace can tell."""

from __future__ import annotations

from typing import Any

from cellreap.model import reference
from cellreap.model.closeness import Closeness
from cellreap.system.config import quotas
from cellreap.trace.writer import Draft
from kit.trace_simulator import Target


def block_fs_db_app(target: Target) -> dict[str, str]:
    """The reference scenario: name -> PD."""
    pds = {
        name: target.pd(name) for name in ("block_server_1", "block_server_2", "fs", "db", "app")
    }
    disks, blocks = [], []
    for server, name in (("block_server_1", "disk_1"), ("block_server_2", "disk_2")):
        disks.append(target.space(pds[server], "BLOCK", name))
        blocks.append(target.resource(disks[-1]))
    files_space = target.space(pds["fs"], "FILE", "file_space")
    for disk in disks:
        target.request(pds["fs"], disk)
        target.map(files_space, disk)
    files = []
    for block in blocks:
        target.hold(pds["fs"], block)
        files.append(target.resource(files_space))
        target.map(files[-1], block)
    database = target.space(pds["db"], "TABLE", "database")
    target.request(pds["db"], files_space)
    target.map(database, files_space)
    table = target.resource(database)
    target.map(table, files[0])
    target.request(pds["app"], database)
    target.hold(pds["app"], table)
    return pds


def reference_run(
    pd_depth: int | None,
    rs_depth: int | None,
    crash: str = "block_server_1",
    injections: tuple[tuple[int, str], ...] = (),
) -> list[Draft]:
    """The trace of the reference scenario with one crash."""
    target = Target(pd_depth, rs_depth, "block_fs_db_app", injections=injections)
    pds = block_fs_db_app(target)
    target.say(pds["app"], "ready")
    target.quiet()
    target.fault(pds[crash])
    target.cleanup()
    target.serve_all()
    for pd in sorted(pds.values()):
        if pd in target.model.nodes:
            target.say(pd, "still here, 100% well")
    return target.end()


def left_run(deadline: int = 0, rounds: bool = False) -> list[Draft]:
    """A server leaves a notice at the end of the run. rounds: it has come to the end of a round."""
    target = Target(0, 0, "left")
    server, client = target.pd("server", deadline_ms=deadline), target.pd("client")
    target.request(client, target.space(server, "BLOCK", "disk"))
    target.quiet()
    if rounds:
        target.emit("in-rounds THREAD", pd=server)
    target.exit(client, 0)
    target.cleanup()
    if rounds:
        target.emit("unfinished THREAD", pd=server)
        target.unmade("hold", server, 1, "slot")  # It is tried until the end.
    return target.end()


def close_run() -> list[Draft]:
    """Policy is a metric: RSI dooms a PD that shares a table, FR those who are depended on."""
    target = Target(0, 0, "close", closeness=Closeness("metric", 0, (("TABLE", 1, 1),)))
    pds = block_fs_db_app(target)
    shop = target.pd("shop")
    shelf = target.space(shop, "THING", "shelf")
    thing = target.resource(shelf)
    for name in ("left", "right"):
        pds[name] = target.pd(name)
        target.request(pds[name], shelf)
    target.hold(pds["left"], thing)
    (table,) = (res for res in target.model.space_of if res.startswith("TABLE_"))
    database = target.model.space_of[table]
    other = target.resource(database)
    for name, held in (("reader", [table]), ("writer", [table, other])):
        pds[name] = target.pd(name)
        target.request(pds[name], database)
        for each in held:
            target.hold(pds[name], each)
    target.quiet()
    # FR dooms all on whom the app depends, RSI the reader. The writer has half in common only.
    target.fault(pds["app"])
    target.cleanup()
    target.serve_all()
    return target.end()


def rich_run() -> list[Draft]:
    """A trace of a system without deadlines, tickets and extractions.

    It has links, handlers, owners, subscribers, pins, deletions, reused slots and memory, faults,
    exits and terminations, triggers that wait and one that is overtaken.
    """
    target = Target(1, 0, "rich system")
    pds = block_fs_db_app(target)
    fs, db, app = pds["fs"], pds["db"], pds["app"]
    init = target.pd("init", pinned=True, protected=True, size=1 << 18)
    watcher = target.pd("watcher", size=1 << 12)
    thread = target.pd("thread")
    target.link(thread, app)
    target.handler(thread, watcher)
    target.pd("child", size=1 << 12, creator=init)
    for pd in (pds["block_server_1"], app, db, watcher):
        target.body_cap(init, pd)
    target.request(init, "BLOCK_SPACE_1")
    target.hold(init, "BLOCK_1_1")
    target.hold(init, "BLOCK_1_1")
    target.hold(init, "BLOCK_SPACE_1")
    memory, shared = target.memory(init), target.memory(init)
    target.send_memory(init, memory, app, rights=2)
    target.send_memory(init, shared, app)
    target.memory(app, shared)
    target.model.drop_hold(init, memory)
    target.edge("dropped", "HOLD", init, memory, 1)
    target.body_cap(watcher, app)
    target.subscribe(watcher, app)
    target.subscribe(watcher, app)
    target.subscribe(watcher, app, 3)
    target.subscribe(watcher, app, 31)
    target.unsubscribe(watcher, app, 3)
    target.subscribe(db, "FILE_SPACE_3")
    target.subscribe(init, "BLOCK_SPACE_1")
    target.unsubscribe(watcher, app)
    for pd in (watcher, thread):
        target.request(pd, "BLOCK_SPACE_2")
    target.unrequest(thread, "BLOCK_SPACE_2")
    extra = target.resource("BLOCK_SPACE_2")
    for pd in (app, thread):
        target.body_cap(pds["block_server_2"], pd)
    target.hold(app, extra)
    target.hold(app, extra)
    target.unhold(app, extra)
    target.hold(thread, extra)
    target.unhold(thread, extra)
    scratch = target.space(db, "TABLE", "scratch")
    row = target.resource(scratch)
    target.map(row, "FILE_3_2")
    target.unmap(row, "FILE_3_2")
    target.map(row, "FILE_3_1")
    target.body_cap(db, watcher)
    target.hold(watcher, row)
    target.request(app, scratch)
    target.delete(scratch)
    target.delete(target.resource("BLOCK_SPACE_2"))
    target.refuse(app, 10, 4)
    target.refuse(app, 99, 2)
    target.say(init, "all up: 100 %, ~:")
    target.emit("UNREACHED", crash=2, name="block_server_2")
    target.quiet()
    # The crash of block server 1 also dooms fs (depth 1). init is pinned and loses what it had.
    target.fault(pds["block_server_1"], "cap-fault", address=0x0, ip=0x401000)
    target.free(fs, pds["block_server_1"])
    target.free(init, pds["block_server_1"])
    target.exit(fs, 0)
    target.cleanup()
    target.serve(init)
    target.serve(db, "failed")
    target.serve_all()
    # Memory and slots are reused.
    again = target.pd("block_server_1")
    disk = target.space(again, "BLOCK", "disk_1")
    target.resource(disk)
    target.request(init, disk)
    target.hold(init, f"BLOCK_{target.n_spaces:x}_1")
    target.quiet()
    target.terminate(app, init)
    target.cleanup((0, 0))
    target.serve_all()
    target.say(init, "two at once")
    target.exit(db, 7)
    target.fault(again, "unknown-syscall", address=0x0, ip=0x400004)
    target.cleanup((None, None))
    target.cleanup((0, None))
    target.serve_all()
    target.unrequest(init, target.core_space("PD"))
    target.serve_all()
    target.snapshot()
    return target.end()


def takeovers_run() -> list[Draft]:
    """Cleaners die at steps of several kinds. The last step is left and then carried out."""
    deaths = ((2, "fault"), (4, "hang"), (6, "error"), (8, "fault"))
    last = _subscribed_crash(Target(0, 0)).steps_done
    target = Target(0, 0, injections=(*deaths, (last, "hang:always")))
    _subscribed_crash(target)
    assert sum(name == "TAKEOVER" for name, _ in target.events) == len(deaths) + 3
    return target.end()


def _subscribed_crash(target: Target) -> Target:
    pds = block_fs_db_app(target)
    target.subscribe(pds["fs"], "BLOCK_SPACE_1")
    target.quiet()
    target.fault(pds["block_server_1"])
    target.cleanup()
    target.serve_all()
    return target


def interleaved_run() -> list[Draft]:
    """PDs that the cleanup does not concern are served after suspending, marking and cutting."""
    target = Target(0, 0)
    pds = block_fs_db_app(target)
    clerk, guest = target.pd("clerk"), target.pd("guest")
    desk = target.space(clerk, "DESK")
    papers = [target.resource(desk) for _ in range(2)]
    target.request(guest, desk)
    target.hold(guest, papers[0])
    target.served_after = {
        1: (guest, lambda: target.unhold(guest, papers[0])),
        3: (clerk, lambda: target.resource(desk)),
        4: (clerk, lambda: target.map(papers[0], papers[1])),
    }
    target.quiet()
    target.fault(pds["block_server_1"])
    target.cleanup()
    target.serve_all()
    return target.end()


def notices_run() -> list[Draft]:
    """A trace with what rich_run does not have.

    These are deadlines, failures and resuming, subscribers that are told and what happens while the
    cleanup waits for them, tickets, and extractions.
    """
    target = Target(1, 0, "notices")
    keeper, fs, app = (target.pd(name) for name in ("keeper", "fs", "app"))
    watcher = target.pd("watcher", deadline_ms=50)
    idler = target.pd("idler", deadline_ms=100)
    other = target.pd("other", deadline_ms=1000)
    disk = target.space(keeper, "BLOCK", "disk")
    blocks = [target.resource(disk) for _ in range(3)]
    files = target.space(fs, "FILE", "files")
    file = target.resource(files)
    spare = target.space(app, "TABLE", "spare")
    rows = [target.resource(spare) for _ in range(2)]
    inn = target.space(idler, "ROOM", "inn")
    room = target.resource(inn)
    target.request(fs, disk)
    target.hold(fs, blocks[0])
    target.map(files, disk)
    for client in (app, watcher, idler):
        target.request(client, files)
    target.hold(app, file)
    for pd in (watcher, other):
        target.request(pd, spare)
    for row in rows:
        target.hold(other, row)
    target.request(other, inn)
    target.hold(other, room)
    for pd in (other, app, fs, keeper):
        target.body_cap(watcher, pd)
    for pd, node in ((watcher, fs), (app, files), (idler, files), (fs, disk), (watcher, keeper)):
        target.subscribe(pd, node)
    target.quiet()
    target.unrequest(watcher, files)
    for _ in range(64):
        target.refuse(idler, 10, 4)
    target.emit("REFUSED", pd=idler, count=1000)
    # A PD asks for an extraction. keeper answers resource by resource, and fails one.
    x = target.extract(watcher)
    (asked,) = target.fetch(keeper)
    target.ack(keeper, asked, "each")
    about = target.fetch(keeper)
    target.ack(keeper, about[0])
    target.ack(keeper, about[1], "failed")
    target.told(1)
    target.ack(keeper, about[2])
    target.serve(fs)
    target.serve(idler)
    (asked,) = target.fetch(app)
    target.piece(app, asked, spare, files)
    target.piece(app, asked, rows[0], file)
    target.ack(app, asked)
    target.extracted(x)
    target.told(1)
    target.snapshot()
    waits: list[int] = []

    def meanwhile(target: Target) -> None:
        waits.append(len(waits))
        if len(waits) == 1:
            late = target.pd("late riser", deadline_ms=50, creator=watcher)
            target.request(late, inn)
            target.hold(late, room)
            target.unhold(late, room)
            target.unrequest(watcher, spare)
            target.serve(app)
            target.account()
            target.say(fs, "flushing")
            x = target.extract()
            for pd in (app, idler):
                target.serve(pd)
            target.extracted(x)
            target.terminate(other, watcher)
            target.say(watcher, "not waiting")
            target.told(2)
        elif len(waits) == 2:
            target.fetch(idler)
            target.late(idler, target.queues[idler][0], 110)
        elif waits[-1] == 2:
            target.exit(fs, 9)

    # fs is doomed at depth 1 and is told about its disk. app, watcher and idler live.
    target.fault(keeper)
    target.free(fs, keeper)
    target.cleanup(meanwhile=meanwhile)
    target.told(2)
    target.cleanup((0, 0))
    target.cleanup((0, 0))
    target.serve(watcher)
    for notice in target.fetch(app):  # those about the files
        target.ack(app, notice)
    # app fails the first notice about its tables. Those behind it wait until app resumes the lane.
    target.freeze("PD_7")
    target.serve(app, "failed")
    target.told(2)
    target.again(app, spare)
    target.serve(app)
    target.told(2)
    target.late("PD_7", target.queues["PD_7"][0], 60)
    target.cleanup()
    target.serve_all()
    # A failure that is never resumed.
    guest = target.pd("guest")
    target.request(guest, spare)
    for row in rows:
        target.hold(guest, row)
    target.quiet()
    target.exit(guest, 0)
    target.cleanup()
    target.serve(app, "failed")
    return target.end()


def sync_run() -> list[Draft]:
    """Terminators that wait until all is over. One of them is itself waited for."""
    target = Target(0, 0, "sync", mode="sync")
    boss = target.pd("boss", deadline_ms=500)
    server = target.pd("server")
    victims = [target.pd("victim") for _ in range(3)]
    disk = target.space(server, "BLOCK", "disk")
    own = target.space(boss, "FILE", "own")
    for victim in victims:
        target.body_cap(boss, victim)
        target.request(victim, disk)
    target.request(victims[1], own)
    target.hold(victims[2], target.resource(disk))
    target.quiet()
    target.terminate(victims[0], boss)
    target.cleanup()
    target.serve(server)
    target.told(1)
    target.say(boss, "gone")
    # boss is owed a notice itself. It is told the present state, and not that the ticket is over.
    target.terminate(victims[1], boss)
    target.cleanup()
    target.told(2)
    target.serve_all()
    target.told(2)
    target.terminate(victims[2], boss)
    target.exit(server, 1)
    target.cleanup()
    target.cleanup()
    target.told(3)
    target.serve_all()
    return target.end()


def time_run(word: str = "HELD_UP") -> list[Draft]:
    """A server that finishes nothing: it could not run at first, and is late in the end. A second
    one could not run in all that time, which is found when the first one is late.

    A client works in rounds, and another one does not come to the end of its round. word: what is
    said when the server has had a notice for its deadline; "": nothing.
    """
    target = Target(0, 0, "time")
    server = target.pd("server", deadline_ms=1000)
    client, worker, guest = target.pd("client"), target.pd("worker"), target.pd("guest")
    disk = target.space(server, "BLOCK", "disk")
    for pd in (client, worker, guest):
        target.request(pd, disk)
    starved = target.pd("starved", deadline_ms=1000)
    target.request(guest, target.space(starved, "FILE", "files"))
    target.quiet()
    target.emit("in-rounds THREAD", pd=client)
    target.emit("in-rounds THREAD", pd=worker)
    target.emit("CLOCK", ms=100)
    target.exit(guest, 0)
    target.cleanup()
    for ms in (400, 800, 1200):
        target.emit("CLOCK", ms=ms)
    if word:
        target.emit(word, pd=server, ms=1060, ran=300)
        target.emit(word, pd=starved, ms=1060, ran=0)
    for ms in (1600, 2000, 2240):
        target.emit("CLOCK", ms=ms)
    if word:
        target.late(server, target.queues[server][0], 1000)
        target.emit(word, pd=starved, ms=1040, ran=0)
    else:
        target.exit(server)
    target.cleanup()
    target.emit("CLOCK", ms=3000)
    target.serve_all()
    target.emit("dismissed THREAD", pd=worker)
    target.emit("unfinished THREAD", pd=client)
    return target.end()


def blame_run() -> list[Draft]:
    """Faults that a fault handler answers, or loses to the root task."""
    target = Target(0, 0, "blame")
    nurse, slow = target.pd("nurse", deadline_ms=100), target.pd("slow")
    patient = target.pd("patient")
    target.handler(patient, nurse)
    guest = target.pd("guest")
    target.handler(guest, slow)
    quick = target.pd("quick", deadline_ms=100)
    # nurse calls the middle one, and that calls the quick one.
    middle = target.pd("middle")
    target.request(nurse, target.space(middle, "FILE"))
    target.request(middle, target.space(quick, "BLOCK"))
    target.quiet()
    # The first handler continues its PD once, and then leaves it to the root task.
    target.hold_fault(patient, nurse)
    (notice,) = target.fetch(nurse)
    target.ack(nurse, notice)
    target.emit("resumed THREAD", pd=patient)
    target.say(patient, "on it goes")
    target.hold_fault(patient, nurse)
    # Nothing happens for a while.
    target.stands(nurse, "call", middle, slot=8, ms=5100)
    target.stands(slow, "receive", slot=3, ms=5100)
    target.stands(patient, "fault", nurse, ms=5100)
    target.stands(guest, "runs", chance=0, ms=5100)
    target.stands(quick, "receive", slot=2, ms=5100)
    target.stands(middle, "connect", ms=5100)
    # The first handler has a notice to finish, so it may have another PD probed.
    target.probe(quick, nurse)
    for notice in target.fetch(quick):
        target.ack(quick, notice)
    # The second handler has no deadline. The root task takes the fault over.
    target.hold_fault(guest, slow, "cap-fault")
    target.fault(guest, "cap-fault")
    target.cleanup()
    (notice,) = target.fetch(nurse)
    target.ack(nurse, notice, "failed")
    target.fault(patient)
    target.cleanup()
    target.serve_all()
    # Nobody answers the call of the first handler.
    target.stands(nurse, "call", middle, slot=8)
    target.stands(quick, "receive", slot=3)
    target.stands(middle, "call", quick, slot=8)
    return target.end()


def merged_run() -> list[Draft]:
    """A client may have few edges, and its server fetches nothing for a while."""
    target = Target(0, 0, "merged")
    for account, (name, quota) in enumerate((("shelf", 20), ("client", 4)), 1):
        words = quotas.words()
        target.emit("QUOTA", account=account, name=name, **dict.fromkeys(words, quota))
    shelf = target.pd("shelf")
    kept = target.space(shelf, "THING", "kept")
    for _ in range(4):  # the last one has the last room that there is, and leaves a notice in it
        client = target.pd("client", account=2)
        target.request(client, kept)
        target.quiet()
        target.exit(client)
        target.cleanup()
    client = target.pd("client", account=2)
    first, *others = list(target.queues[shelf])
    target.merge(shelf, first, kept)
    for notice in others:
        target.withdraw(shelf, notice)
    target.request(client, kept)
    target.quiet()
    for name in ("shop", "stall"):
        target.request(client, target.space(shelf, "THING", name))
    # It asks for an extraction. Nobody awaits that it answers itself.
    x = target.extract(shelf)
    target.extracted(x)
    target.told(1)
    target.serve(shelf)
    target.snapshot()
    return target.end()


def making_run() -> list[Draft]:
    """Making fails: by an injected error, and because the kernel refuses."""
    target = Target(0, 0, "making")
    failure = target.setting("fail-make", "error", 60)
    boss = target.pd("boss")
    disk = target.space(boss, "BLOCK", "disk")
    target.emit("INJECTED", **failure)
    target.unmade("pd", "child", 12, "page")
    target.refuse(boss, 8, 10)
    child = target.pd("child", creator=boss)
    target.unmade("request", child, 4, "grant")
    target.request(child, disk)
    target.unmade("resource", disk, 3, "parent")
    target.quiet()
    target.exit(child)
    target.cleanup()
    target.serve_all()
    return target.end()


RUNS: dict[str, Any] = {
    "close": close_run,
    "making": making_run,
    "merged": merged_run,
    "takeovers": takeovers_run,
    "interleaved": interleaved_run,
    "blame": blame_run,
    "time": time_run,
    "rich": rich_run,
    "notices": notices_run,
    "sync": sync_run,
    **{
        f"depths-{reference.depth_text(pd)}-{reference.depth_text(rs)}": lambda pd=pd, rs=rs: (
            reference_run(pd, rs)
        )
        for pd, rs in (
            (0, 0),
            (0, 1),
            (0, 2),
            (1, 0),
            (1, 1),
            (1, 2),
            (2, 0),
            (2, None),
            (3, 0),
            (None, None),
        )
    },
}
"""Name of a generated run -> what makes its events."""
