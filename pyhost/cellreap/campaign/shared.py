# SPDX-License-Identifier: BSD-2-Clause
"""Runs a campaign on several machines, which share a job board. All of them do the same.

Each machine posts the jobs that are missing, starts its workers, and shows the results as they come
from anywhere, until all cells have one. A worker claims a job, goes on with its flow, publishes the
result, and takes the job off the board, in this order. So whatever is killed at whatever time, the
job is still there, or the result is.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import multiprocessing
import os
import re
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Collection
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import Any
from uuid import uuid4

from cellreap.cached import digest_of
from cellreap.campaign.address import Address
from cellreap.campaign.connecting import connect
from cellreap.campaign.flow import result_in, run_flow, tasks_in
from cellreap.campaign.identity import have_folder
from cellreap.campaign.matrix import Campaign, Cell
from cellreap.campaign.no_result import ending_without_result, why_no_result
from cellreap.campaign.running import (
    FORMAT,
    PATIENCE,
    STOPPING,
    CellTasks,
    Result,
    Standing,
    await_end,
    hear_interrupt_once,
    interrupt,
    result_from,
    write_state,
)
from cellreap.campaign.server import LOST, Server, ServerLostError
from cellreap.campaign.shared_store import SharedBackend, SharedDepot
from cellreap.errors import CellreapError, UsageError
from cellreap.runs.places import programs_beside
from cellreap.system.locks import take_at_once

_POLL = 0.3
_LOOK_SECONDS = 5.0
"""How often a machine looks for jobs that nobody has posted: the one that should was killed."""
_LOOK_AGAIN_SECONDS = 60.0
"""The same when all were there. A job goes only when its result is there."""
_DEATHS = 5
"""How many workers in a row may end before one of them has a result."""
_UNREACHABLE = 74
_SET_DEATH_SIGNAL = 1
_WORK = ".work"
_RESULTS = "results"
_STOPPED = "stopped-"
"""Begins the names, among those of the results, of the queues that a job has stopped."""


def key_of(campaign: Campaign) -> str:
    """The campaign's name on the server. Machines with another file are in another campaign, and so
    are those with another version of what is kept there.

    Jobs and results in it have the keys of cells. So machines that make the same cell from
    something else have jobs and results of their own.
    """
    ids = repr([cell.id for cell in campaign.cells])
    return f"{campaign.settings.name}-{digest_of(str(FORMAT), ids, repr(campaign.settings))[:16]}"


def run_shared(
    campaign: Campaign,
    folder: Path,
    workers: int,
    address: Address,
    *,
    resume: bool,
    again: bool = False,
    on_result: Callable[[Standing, Result], None],
    on_note: Callable[[str], None] = lambda note: None,
) -> Standing:
    """Takes part in a campaign until all its cells have results. KeyboardInterrupt after Ctrl-C.

    resume: queues go on that a job had stopped. again: what the server has of it is deleted first,
    as `clear_shared` does. on_note: told what the user should know about the server.
    """
    if again:
        clear_shared(campaign, address)
    folder.mkdir(parents=True, exist_ok=True)
    lock = take_at_once(folder / ".lock")
    if lock is None:
        raise UsageError(f"{folder}: another process runs this campaign")
    try:
        shutil.rmtree(folder / _WORK, ignore_errors=True)
        return _Machine(campaign, folder, workers, address, on_result, on_note).run(resume)
    finally:
        lock.release()


def watch_shared(
    campaign: Campaign, address: Address, on_result: Callable[[Standing, Result], None]
) -> Standing:
    """Shows the results as they come, and runs nothing."""
    return _Machine(campaign, Path(), 0, address, on_result).watch()


def tasks_on_server(campaign: Campaign, address: Address) -> list[CellTasks]:
    """How far the cells are, as the server has it."""
    server = connect(address, key_of(campaign), _name())
    try:
        found = []
        for cell in campaign.cells:
            told = server.get(_RESULTS, cell.key)
            found.append(
                CellTasks(
                    cell,
                    tasks_in(SharedBackend(server, cell.key)),
                    SharedDepot(server, cell.key).boots(),
                    None if told is None else result_from(cell, json.loads(told)),
                )
            )
        return found
    finally:
        server.close()


def clear_shared(campaign: Campaign, address: Address) -> int:
    """Deletes all that the server has of the campaigns of this name, whatever version and cells.

    Returns how many cells had results. UsageError if somebody runs one of the cells.
    """
    results = 0
    with contextlib.ExitStack() as stack:
        first = connect(address, key_of(campaign), _name())
        stack.callback(first.close)
        pattern = re.compile(rf"{re.escape(campaign.settings.name)}-[0-9a-f]{{16}}")
        keys = [key for key in first.campaigns() if pattern.fullmatch(key)]
        for key in keys:
            server = connect(address, key, _name())
            stack.callback(server.close)
            owners = (server.owner(job) for job in server.jobs())
            owner = next((owner for owner in owners if owner is not None), None)
            if owner is not None:
                raise UsageError(f"{address.shown()}: {owner} (HOST-PID-...) runs one of its cells")
            results += sum(not name.startswith(_STOPPED) for name in server.names(_RESULTS))
        for key in keys:
            first.delete(key)
    return results


class _Machine:
    """What one machine does for a campaign."""

    def __init__(
        self,
        campaign: Campaign,
        folder: Path,
        workers: int,
        address: Address,
        on_result: Callable[[Standing, Result], None],
        on_note: Callable[[str], None] = lambda note: None,
    ) -> None:
        self._campaign = campaign
        self._folder = folder
        self._count = workers
        self._address = address
        self._on_result = on_result
        self._on_note = on_note
        self._key = key_of(campaign)
        self._standing = Standing(campaign.cells)
        self._workers: list[ForkProcess] = []
        self._server: Server | None = None
        self._deaths = 0
        self._traces: dict[str, Any] = {}

    def _connect(self) -> Server:
        return connect(self._address, self._key, _name())

    def watch(self) -> Standing:
        server = self._connect()
        try:
            self._collect(server, tell=True)
            while not self._is_over():
                time.sleep(_POLL)
                self._collect(server, tell=True)
        finally:
            server.close()
        return self._standing

    def run(self, resume: bool) -> Standing:
        server = self._connect()
        try:
            if resume:
                stopped = [name for name in server.names(_RESULTS) if name.startswith(_STOPPED)]
                server.put(_RESULTS, dict.fromkeys(stopped))
            self._collect(server, tell=False)
            self._standing.before = len(self._standing.results)
            self._tell_others(server)
            posted = self._post_missing(server)
        finally:
            server.close()  # workers are forked while nothing is connected
        try:
            self._server = self._with_workers()
            self._follow(posted)
            self._fetch_traces(self._server)
            # A result is there before its job is off the board. Nothing is left to claim.
            for worker in self._workers:
                worker.join(PATIENCE)
        except BaseException:
            self._write("stopped")
            raise
        finally:
            self._end_workers()
            if self._server is not None:
                self._server.close()
        self._write("done")
        return self._standing

    def _follow(self, posted: bool) -> None:
        self._write("running")
        looked = time.monotonic()
        while True:
            assert self._server is not None
            self._collect(self._server, tell=True)
            if self._is_over():
                return
            if time.monotonic() - looked > (_LOOK_AGAIN_SECONDS if posted else _LOOK_SECONDS):
                posted = self._post_missing(self._server)
                looked = time.monotonic()
            if any(not worker.is_alive() for worker in self._workers):
                self._replace_ended()
            time.sleep(_POLL)

    def _collect(self, server: Server, *, tell: bool) -> None:
        """Takes over the results that are new."""
        cells = {cell.key: cell for cell in self._campaign.cells}
        names = server.names(_RESULTS)
        self._standing.stopped = _stopped(self._campaign, names)
        for name in names:
            cell = cells.get(name)
            if cell is None or cell.id in self._standing.results:
                continue
            found = server.get(_RESULTS, name)
            assert found is not None
            told = json.loads(found)
            self._traces[name] = told["trace"]
            result = result_from(cell, told)
            self._standing.results[cell.id] = result
            self._deaths = 0
            if tell:
                self._write("running")
                self._on_result(self._standing, result)

    def _tell_others(self, server: Server) -> None:
        """Says so if there are jobs or results of cells that were made from something else."""
        there = {job.details["cell"] for job in server.jobs()} | set(server.names(_RESULTS))
        there = {name for name in there if not name.startswith(_STOPPED)}
        others = len(there - {cell.key for cell in self._campaign.cells})
        if others:
            self._on_note(
                f"{self._address.shown()}: has jobs or results of {others} cells made from other "
                "sources, kernels or tools than here; they are not used, and --clear deletes them"
            )

    def _write(self, state: str) -> None:
        if self._count:
            write_state(self._standing, self._folder, state)

    def _is_over(self) -> bool:
        return all(
            cell.id in self._standing.results or cell.board in self._standing.stopped
            for cell in self._campaign.cells
        )

    def _post_missing(self, server: Server) -> bool:
        """Posts a job for each cell that has neither a job nor a result.

        False: another process does, and may be killed before it has.
        """
        with server.posting() as alone:
            if not alone:
                return False
            # In this order: a job goes when its result is there.
            posted = {job.details["cell"] for job in server.jobs()}
            done = set(server.names(_RESULTS))
            for cell in self._campaign.cells:
                if cell.key not in posted and cell.key not in done:
                    server.post(cell.title, {"cell": cell.key})
        return True

    def _with_workers(self) -> Server:
        """Starts the workers that are missing, and connects."""
        while len(self._workers) < self._count:
            worker = multiprocessing.get_context("fork").Process(
                target=_work,
                args=(self._campaign, self._key, self._address, self._folder, os.getpid()),
            )
            # Ctrl-C must find it among the workers, or ready to be told of it.
            before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            try:
                worker.start()
                self._workers.append(worker)
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return self._connect()

    def _replace_ended(self) -> None:
        """Starts workers in place of those that have ended."""
        ended = [worker for worker in self._workers if not worker.is_alive()]
        self._workers = [worker for worker in self._workers if worker.is_alive()]
        self._deaths += len([worker for worker in ended if worker.exitcode not in (0, LOST)])
        for worker in ended:
            if (why := why_no_result(worker.exitcode)) is not None:
                raise CellreapError(f"{self._folder}: {why}")
        if self._deaths >= _DEATHS:
            raise CellreapError(
                f"{self._deaths} workers ended without a result, the last one with exit code "
                f"{ended[-1].exitcode}"
            )
        server, self._server = self._server, None
        assert server is not None
        server.close()  # workers are forked while nothing is connected
        self._server = self._with_workers()

    def _end_workers(self) -> None:
        """Ends the workers. Another Ctrl-C meanwhile does nothing."""
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        boards = any(cell.board is not None for cell in self._campaign.cells)
        try:
            for worker in self._workers:
                interrupt(worker)
            for worker in self._workers:
                await_end(worker, None if boards else PATIENCE)
        finally:
            signal.signal(signal.SIGINT, before)

    def _fetch_traces(self, server: Server) -> None:
        """Has the traces of all cells here, also of those that ran elsewhere."""
        for cell in self._campaign.cells:
            folder, kept = self._folder / cell.id, self._traces.get(cell.key)
            if kept is None:
                continue
            have_folder(folder, cell)
            if not (folder / "cell.trace").exists():
                part = folder / "cell.trace.part"
                part.unlink(missing_ok=True)
                SharedDepot(server, cell.key).fetch(kept, part)
                part.replace(folder / "cell.trace")


def _name() -> str:
    return f"{socket.gethostname()}-{os.getpid()}-{uuid4().hex[:12]}"


def _mark(board: str) -> str:
    """Says that the queue of a board is stopped. Names of boards may be paths."""
    return _STOPPED + digest_of(board)[:16]


def _stopped(campaign: Campaign, names: Collection[str]) -> set[str]:
    boards = {cell.board for cell in campaign.cells if cell.board is not None}
    return {board for board in boards if _mark(board) in names}


def _open_cells(campaign: Campaign, done: Collection[str], stopped: set[str]) -> list[Cell]:
    """The cells whose queues are not stopped and whose keys are not in `done`."""
    return [
        cell
        for cell in campaign.cells
        if cell.key not in done and (cell.board is None or cell.board not in stopped)
    ]


# -- a worker


def _work(campaign: Campaign, key: str, address: Address, folder: Path, parent: int) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:
        return  # the campaign's process ended before the kernel was told
    server: Server | None = None

    def give_back() -> None:
        if server is not None:
            server.give_back()

    try:
        hear_interrupt_once()
        with ending_without_result(give_back):
            server = connect(address, key, _name(), leave_if_lost=True)
            _Worker(campaign, server, folder).run()
    except KeyboardInterrupt:
        give_back()
    except ServerLostError:
        sys.exit(_UNREACHABLE)
    finally:
        if server is not None:
            server.close()


class _Worker:
    """Takes jobs until there are none."""

    def __init__(self, campaign: Campaign, server: Server, folder: Path) -> None:
        self._campaign = campaign
        self._server = server
        self._folder = folder
        self._cells = {cell.key: cell for cell in campaign.cells}

    def run(self) -> None:
        while True:
            names = set(self._server.names(_RESULTS))
            stopped = _stopped(self._campaign, names)
            if not _open_cells(self._campaign, names, stopped):
                return
            job = self._claimed(names, stopped)
            if job is None:
                time.sleep(_POLL)  # until a job is posted, or a claim ends
            else:
                self._do(self._cells[job.details["cell"]])

    def _claimed(self, done: Collection[str], stopped: set[str]) -> Any:
        """Claims the first job that may run. None: there is none.

        done: the cells with results. Only the first cell of a queue without one may run. The order
        of the board does not say which that is: a job is missing there if it could not be asked.
        """
        first: dict[str | None, str] = {}
        for waiting in _open_cells(self._campaign, done, stopped):
            first.setdefault(waiting.board, waiting.key)
        seen: set[str] = set()
        for job in self._server.each_job():
            cell = self._cells.get(job.details["cell"])
            if cell is None or cell.key in seen:
                continue  # a job that was posted twice is taken off the board after the first
            seen.add(cell.key)
            if (
                cell.board is not None
                and cell.key not in done
                and first.get(cell.board) != cell.key
            ):
                continue
            if self._server.claim(job):
                return job
        return None

    def _do(self, cell: Cell) -> None:
        depot = SharedDepot(self._server, cell.key)
        if self._server.get(_RESULTS, cell.key) is None:
            backend = SharedBackend(self._server, cell.key)
            (self._folder / _WORK).mkdir(exist_ok=True)
            with tempfile.TemporaryDirectory(dir=self._folder / _WORK) as work:
                run_flow(cell, self._campaign.settings, Path(work), depot, backend)
                found = result_in(backend, depot.boots())
                self._publish(cell, depot, found)
                self._move(Path(work), self._folder / cell.id, cell)
        self._server.done()

    def _publish(self, cell: Cell, depot: SharedDepot, found: dict[str, Any]) -> None:
        """The result is there from here on. A job of a board that failed stops its queue."""
        values: dict[str, bytes | None] = {cell.key: json.dumps(found).encode()}
        if cell.board is not None and found["verdict"] == STOPPING:
            values[_mark(cell.board)] = b""
        depot.delete_but(found["trace"])
        self._server.put(_RESULTS, values)

    @staticmethod
    def _move(work: Path, folder: Path, cell: Cell) -> None:
        """Keeps the image and the trace on this machine."""
        have_folder(folder, cell)
        image = work / "cell.img"
        for path in (image, programs_beside(image), work / "cell.trace"):
            if path.exists():
                target = folder / path.name
                if target.is_dir():
                    shutil.rmtree(target)
                path.replace(target)
