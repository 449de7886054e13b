# SPDX-License-Identifier: BSD-2-Clause
"""Runs the cells of a campaign on this machine: one process for each cell that is under way.

A cell's process is forked, so that it needs no imports, and is killed by the kernel if this process
ends. What a cell has done is in its own database, so no two processes write into one.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import multiprocessing
import multiprocessing.connection
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import Any

from cellreap.campaign.depot import boots_of
from cellreap.campaign.flow import (
    DATABASE,
    TaskState,
    make_database,
    result_of,
    run_cell,
    tasks_of,
)
from cellreap.campaign.identity import NOTE, noted
from cellreap.campaign.matrix import Campaign, Cell
from cellreap.campaign.no_result import ending_without_result, why_no_result
from cellreap.errors import CellreapError, UsageError
from cellreap.system import assembling as assembling  # which the process of a cell has then
from cellreap.system.blob import layout
from cellreap.system.files import write_atomically
from cellreap.system.locks import take_at_once

STATE = "state.json"
STOPPING = "error"
"""The verdict of a job that stops the queue of its board."""
LISTS = ("findings", "unverified")
FORMAT = 1
"""The version of a campaign's folder, and of what it has on a server."""
_EMPTY = "empty.sqlite"
_DEATHS = 3
"""How often a cell is begun again whose process was killed by something else."""
PATIENCE = 5.0
"""Seconds that a process has to end its emulator. Boards are waited for: they must be off."""
_SET_DEATH_SIGNAL = 1


@dataclass(frozen=True)
class Result:
    """A cell, and what became of it."""

    cell: Cell
    verdict: str
    findings: tuple[str, ...] = ()
    kernel: str = ""
    boots: int = 0
    seconds: float = 0.0
    events: int = 0
    unverified: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether it passed, be it not in its first boot."""
        return self.verdict in ("pass", "flaky")


@dataclass(frozen=True)
class CellTasks:
    """How far a cell is. outdated: what is there was made from something else.

    result: None: it has none yet.
    """

    cell: Cell
    tasks: Sequence[TaskState]
    boots: int
    result: Result | None = None
    outdated: bool = False


@dataclass
class Standing:
    """How far a campaign is."""

    cells: Sequence[Cell]
    results: dict[str, Result] = field(default_factory=dict)
    """By the ids of the cells."""
    before: int = 0
    """How many results earlier processes left."""
    stopped: set[str] = field(default_factory=set)
    """Boards on which nothing more is run, because a job failed."""
    began: float = field(default_factory=time.monotonic)

    def seconds_left(self) -> float | None:
        """How long the rest takes at the speed so far. None: not known yet."""
        made = len(self.results) - self.before
        if not made:
            return None
        return (time.monotonic() - self.began) / made * (len(self.cells) - len(self.results))

    def not_run(self) -> list[Cell]:
        """The cells without a result."""
        return [cell for cell in self.cells if cell.id not in self.results]

    def in_order(self) -> list[Result]:
        """The results in the order of the cells."""
        return [self.results[cell.id] for cell in self.cells if cell.id in self.results]


def run_campaign(
    campaign: Campaign,
    folder: Path,
    workers: int,
    *,
    resume: bool,
    again: bool = False,
    on_result: Callable[[Standing, Result], None],
) -> Standing:
    """Runs all cells that have no result in `folder`. KeyboardInterrupt after Ctrl-C.

    A result of something else than what the cell is made from now is none. resume: whether `folder`
    may have results already. again: forgets all that it has. on_result: told of each new result.
    """
    if (folder / STATE).exists() and not again:
        if not resume:
            ways = "--resume goes on with it, --again begins anew"
            raise UsageError(f"{folder}: has a campaign already; {ways}")
        read_state(folder)
    folder.mkdir(parents=True, exist_ok=True)
    lock = take_at_once(folder / ".lock")
    if lock is None:
        raise UsageError(f"{folder}: another process runs this campaign")
    try:
        if again:
            forget(folder)
        standing = Standing(campaign.cells)
        if not (folder / _EMPTY).exists():
            write_state(standing, folder, "running")
            make_database(folder / _EMPTY)
        for cell in campaign.cells:
            place = folder / cell.id
            found = result_of(place) if noted(place) == cell.made_from else None
            if found is not None:
                standing.results[cell.id] = result_from(cell, found)
        standing.before = len(standing.results)
        write_state(standing, folder, "running")
        layout()  # no cell's process parses the header again
        try:
            with Interrupt() as interrupt, _Workers(campaign, folder, workers, interrupt) as pool:
                for cell, found in pool.results(standing):
                    result = result_from(cell, found)
                    standing.results[cell.id] = result
                    write_state(standing, folder, "running")
                    on_result(standing, result)
        except BaseException:
            write_state(standing, folder, "stopped")
            raise
        write_state(standing, folder, "done")
        return standing
    finally:
        lock.release()


def tasks_in_folder(campaign: Campaign, folder: Path) -> list[CellTasks]:
    """How far the cells are that run in a folder. UsageError if there is no campaign in it."""
    read_state(folder)
    found = []
    for cell in campaign.cells:
        place = folder / cell.id
        told = result_of(place)
        found.append(
            CellTasks(
                cell,
                tasks_of(place),
                boots_of(place),
                None if told is None else result_from(cell, told),
                outdated=place.exists() and noted(place) != cell.made_from,
            )
        )
    return found


def result_from(cell: Cell, found: dict[str, Any]) -> Result:
    """A result, of what the flow of a cell says."""
    told = {key: value for key, value in found.items() if key != "trace"}
    return Result(cell, **{**told, **{key: tuple(told.get(key, ())) for key in LISTS}})


class Interrupt:
    """Ctrl-C, as something to wait for. `with` restores what it does otherwise.

    The usual exception can come in code that drops it, as the finalizers of sqlite's objects do.
    Then the campaign would go on. Ctrl-C stays ignored where it is, as in the background of a
    shell.
    """

    def __init__(self) -> None:
        self._came = False
        self._before: Any = None
        self._pid = os.getpid()

    def __enter__(self) -> Interrupt:
        self.file, self._wake = os.pipe()
        os.set_blocking(self._wake, False)
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            self._before = signal.signal(signal.SIGINT, self._come)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
        os.close(self.file)
        os.close(self._wake)

    def _come(self, *_: object) -> None:
        if os.getpid() != self._pid:
            raise KeyboardInterrupt  # in a cell's process, which shares the pipe
        self._came = True
        with contextlib.suppress(BlockingIOError):
            os.write(self._wake, b"c")

    def check(self) -> None:
        """KeyboardInterrupt if it came."""
        if self._came:
            raise KeyboardInterrupt


class _Workers:
    """The processes of the cells under way. `with` ends them on exit."""

    def __init__(self, campaign: Campaign, folder: Path, count: int, interrupt: Interrupt) -> None:
        self._campaign = campaign
        self._folder = folder
        self._count = count
        self._interrupt = interrupt
        self._running: dict[int, tuple[ForkProcess, Cell]] = {}
        self._deaths: dict[str, int] = {}

    def __enter__(self) -> _Workers:
        return self

    def __exit__(self, *_: object) -> None:
        # SIGINT lets each end its emulator. The kernel would end the emulators, too, after a kill.
        for process, _cell in self._running.values():
            interrupt(process)
        ended_by = time.monotonic() + PATIENCE
        for process, cell in self._running.values():
            left = max(0.0, ended_by - time.monotonic())
            await_end(process, left if cell.board is None else None)

    def results(self, standing: Standing) -> Iterator[tuple[Cell, dict[str, Any]]]:
        """Each cell and its result, as they come."""
        waiting = [cell for cell in self._campaign.cells if cell.id not in standing.results]
        waiting.reverse()
        while True:
            while len(self._running) < self._count:
                cell = self._next(waiting, standing)
                if cell is None:
                    break
                self._start(cell)
            if not self._running:
                return
            waited_for = [*self._running, self._interrupt.file]
            for sentinel in multiprocessing.connection.wait(waited_for):
                self._interrupt.check()
                assert isinstance(sentinel, int)
                process, cell = self._running.pop(sentinel)
                process.join()
                found = result_of(self._folder / cell.id)
                if found is None:
                    self._died(cell, process.exitcode)
                    waiting.append(cell)
                else:
                    if cell.board is not None and found["verdict"] == STOPPING:
                        standing.stopped.add(cell.board)
                    yield cell, found

    def _next(self, waiting: list[Cell], standing: Standing) -> Cell | None:
        """Takes the first cell that may run: a board runs one at a time. `waiting` is reversed."""
        busy = {cell.board for _, cell in self._running.values()} | standing.stopped
        for number in reversed(range(len(waiting))):
            if waiting[number].board is None or waiting[number].board not in busy:
                return waiting.pop(number)
        return None

    def _start(self, cell: Cell) -> None:
        process = multiprocessing.get_context("fork").Process(
            target=_work,
            args=(cell, self._campaign, self._folder, os.getpid()),
        )
        self._interrupt.check()
        process.start()
        self._running[process.sentinel] = (process, cell)

    def _died(self, cell: Cell, code: int | None) -> None:
        """A process ended without a result: something killed it, or it failed by itself."""
        if (why := why_no_result(code)) is not None:
            raise CellreapError(f"{self._folder}: {why}, with --resume")
        self._deaths[cell.id] = self._deaths.get(cell.id, 0) + 1
        if self._deaths[cell.id] >= _DEATHS:
            raise CellreapError(
                f"{cell.title}: its process ended {_DEATHS} times without a result, at last with "
                f"exit code {code}"
            )


def interrupt(process: ForkProcess) -> None:
    """Sends SIGINT to a process if it runs."""
    if process.pid is not None and process.is_alive():
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGINT)


def await_end(process: ForkProcess, seconds: float | None) -> None:
    """Waits for the end of a process, and kills it after so long. None: waits for ever."""
    process.join(seconds)
    if process.is_alive():
        process.kill()
        process.join()


def hear_interrupt_once() -> None:
    """KeyboardInterrupt at the first Ctrl-C only.

    A terminal tells all processes of it, and the campaign's process tells the others again. The
    second would come while the emulator is ended or the claim given back.
    """

    def heard(*_: object) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, heard)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _work(cell: Cell, campaign: Campaign, folder: Path, parent: int) -> None:
    hear_interrupt_once()
    ctypes.CDLL(None, use_errno=True).prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:
        return  # it ended before the kernel was told
    with ending_without_result(), contextlib.suppress(KeyboardInterrupt):
        run_cell(cell, campaign.settings, folder / cell.id, folder / _EMPTY)


def forget(folder: Path) -> None:
    """Deletes what a campaign, of any version, has in its folder."""
    (folder / STATE).unlink(missing_ok=True)
    (folder / _EMPTY).unlink(missing_ok=True)
    for path in list(folder.glob("*/")):
        if (path / NOTE).exists() or (path / DATABASE).exists():
            shutil.rmtree(path)


def read_state(folder: Path) -> dict[str, Any]:
    """What `write_state` has written.

    UsageError if it is missing, damaged or of another version.
    """
    path = folder / STATE
    try:
        state = json.loads(path.read_text())
        if state["format"] == FORMAT and isinstance(state["results"], list):
            return dict(state)
    except FileNotFoundError:
        raise UsageError(f"{folder}: no campaign runs there") from None
    except (ValueError, KeyError, TypeError):
        pass
    message = "is damaged, or of another version of cellreap; --again runs all cells anew"
    raise UsageError(f"{path}: {message}")


def write_state(standing: Standing, folder: Path, state: str) -> None:
    """Writes how far the campaign is, for `--watch`."""
    left = standing.seconds_left()
    shown = {
        "format": FORMAT,
        "state": state,
        "cells": len(standing.cells),
        "seconds_left": None if left is None else round(left, 1),
        "results": [
            {"cell": result.cell.title, "verdict": result.verdict}
            for result in standing.results.values()
        ],
    }
    write_atomically(folder / STATE, json.dumps(shown).encode())
