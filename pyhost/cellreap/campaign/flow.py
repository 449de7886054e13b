# SPDX-License-Identifier: BSD-2-Clause
"""A cell as a flow of TaskFlow: configure, build, boot, capture, check.

TaskFlow keeps in a backend which tasks have ended, with their results and failures. A process that
goes on with a flow begins at the task that had not ended. A task may run twice, so each begins by
forgetting what an earlier run of it left behind. What one task leaves to the next is kept in a
depot, because another machine may go on with the next.

A boot that hangs is a failure, which TaskFlow's retry answers with another boot. The last one's is
a result.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import shutil
import sqlite3
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy
from taskflow import engines, retry, states, task
from taskflow.patterns import linear_flow
from taskflow.persistence import backends, models
from taskflow.storage import Storage

from cellreap.api.running import Limits, build_system, checked_run, record_image, refuse_failed
from cellreap.api.systems import kernel_for
from cellreap.boards.description import load_description
from cellreap.boards.flash import Limits as BoardLimits
from cellreap.boards.flash import flash_image
from cellreap.campaign.depot import Depot, FolderDepot, boots_of
from cellreap.campaign.identity import have_folder, named
from cellreap.campaign.matrix import Cell, Settings
from cellreap.campaign.no_result import ChangedError, apart_if_full, tells_full_disk
from cellreap.errors import CellreapError, UsageError
from cellreap.progress import Progress
from cellreap.runs.boot import Boot, End
from cellreap.runs.places import programs_beside
from cellreap.runs.qemu import check_before_build
from cellreap.system.image import read_image

QUIET = Progress(quiet=True)
DATABASE = "flow.sqlite"
_ENDED = (states.SUCCESS, states.REVERTED)
TASKS = ("configure", "build", "boot", "capture", "check")
"""The tasks of a cell, in their order."""

for _library in ("taskflow", "oslo_utils"):
    logging.getLogger(_library).addHandler(logging.NullHandler())
    logging.getLogger(_library).propagate = False


class Hung(CellreapError):
    """A boot did not come to its end."""


class _Task(task.Task):  # type: ignore[misc]
    """A task in the folder of its cell."""

    def __init_subclass__(cls) -> None:
        """A full disk, which `execute` of any task may find, is kept out of the flow."""
        super().__init_subclass__()
        cls.execute = apart_if_full()(cls.execute)

    def __init__(self, folder: Path, depot: Depot, provides: str | None = None) -> None:
        name = type(self).__name__.lower().removesuffix("task")
        super().__init__(name=name, provides=provides)
        self.depot = depot
        self.folder = folder
        self.image = self.folder / "cell.img"
        self.part = self.folder / "cell.trace.part"
        self.trace = self.folder / "cell.trace"

    def have_trace(self, booted: dict[str, Any]) -> None:
        """The console of the boot that counts becomes the trace, unless it is that already."""
        if not self.part.exists() and not self.trace.exists():
            self.depot.fetch(booted["console"], self.part)
        if self.part.exists():
            self.part.replace(self.trace)

    def pre_execute(self) -> None:
        """Called before `execute`. It must not raise: a failure would be kept in the flow."""
        self.depot.assert_owned()

    def pre_revert(self) -> None:
        """Called before `revert`."""
        self.depot.assert_owned()


class Configure(_Task):
    """Finds the kernel and checks that the system can run on it."""

    def execute(self, cell: dict[str, Any]) -> str:
        sdk = kernel_for(cell["arch"], Cell(**cell).kernel_path, QUIET)
        system = Cell(**cell).system()
        system.check_kernel(sdk)
        if cell["board"] is None:
            check_before_build(sdk.options, str(sdk.config_file))
        return str(sdk.kernel)


class Build(_Task):
    """Builds the image."""

    def execute(self, cell: dict[str, Any], settings: dict[str, Any], configured: str) -> Any:
        of = Cell(**cell)
        sdk = kernel_for(of.arch, of.kernel_path, QUIET)
        if str(sdk.kernel) != configured:  # it is not the machine that configured the cell
            raise CellreapError(f"{sdk.root}: has {sdk.kernel}: expected {configured}")
        built = build_system(of.system(), sdk, self.image, QUIET, keep=True)
        if of.made_from not in ("", named(of, Settings(**settings), built.made_from)):
            raise ChangedError
        programs = programs_beside(self.image)
        return self.depot.keep("image", [self.image, *([programs] if programs.is_dir() else [])])

    def revert(self, *_: object, **__: object) -> None:
        self.image.unlink(missing_ok=True)


class BootTask(_Task):
    """Boots the image."""

    def execute(
        self, cell: dict[str, Any], settings: dict[str, Any], built: Any, attempt: int
    ) -> dict[str, Any]:
        self.depot.fetch(built, self.image)
        self.depot.note_boot()
        boot = self._boot(Cell(**cell), settings)
        if boot.end.is_limit and attempt < settings["attempts"]:
            raise Hung(str(boot))
        console = self.depot.keep("trace", [self.part])
        return {"boot": {**asdict(boot), "end": boot.end.name}, "console": console}

    def _boot(self, cell: Cell, settings: dict[str, Any]) -> Boot:
        image = read_image(self.image)
        if cell.board is None:
            limits = Limits(settings["timeout"], settings["idle"], tuple(settings["qemu_args"]))
            return record_image(image, self.part, limits, QUIET)
        path = cell.board_path()
        on_board = BoardLimits(settings["timeout"], settings["idle"])
        # An interruption raises, so that the power is off before this process ends.
        flashed = flash_image(image, path, load_description(path), self.part, on_board, QUIET)
        return refuse_failed(flashed.boot, cell.board)

    def revert(self, *_: object, **__: object) -> None:
        self.part.unlink(missing_ok=True)


class Capture(_Task):
    """Keeps the console of the boot that counts."""

    def execute(self, booted: dict[str, Any]) -> int:
        self.have_trace(booted)
        return self.trace.stat().st_size

    def revert(self, *_: object, **__: object) -> None:
        self.trace.unlink(missing_ok=True)


class Check(_Task):
    """Checks the trace, and says what became of the cell."""

    def execute(
        self, cell: dict[str, Any], built: Any, booted: dict[str, Any], attempt: int
    ) -> dict[str, Any]:
        told = booted["boot"]
        boot = Boot(**{**told, "end": End[told["end"]]})
        self.depot.fetch(built, self.image)
        self.have_trace(booted)
        image = read_image(self.image)
        run = checked_run(image, boot, self.trace, QUIET, config=Cell(**cell).system().config)
        return {
            "verdict": "flaky" if run.passed and attempt > 1 else str(run.verdict),
            "findings": run.findings,
            "unverified": run.unverified,
            "kernel": run.kernel,
            "boots": attempt,
            "seconds": round(boot.seconds, 3),
            "events": boot.events,
            "trace": booted["console"],
        }


def cell_flow(folder: Path, depot: Depot, attempts: int) -> linear_flow.Flow:
    """The flow of the cell in a folder."""
    boots = linear_flow.Flow("boots", retry=retry.Times(attempts, provides="attempt")).add(
        BootTask(folder, depot, "booted")
    )
    return linear_flow.Flow("cell").add(
        Configure(folder, depot, "configured"),
        Build(folder, depot, "built"),
        boots,
        Capture(folder, depot),
        Check(folder, depot, "result"),
    )


def make_database(path: Path) -> None:
    """An empty database, to be copied for each cell: to make one takes half a second."""
    part = path.with_suffix(".part")
    part.unlink(missing_ok=True)
    with contextlib.closing(_backend(part)) as backend:
        _upgrade(backend)
    part.replace(path)


def copy_database(empty: Path, path: Path) -> None:
    """Makes the database of a cell, which has none."""
    # sqlite would take the journal that another one left there for one of the new database.
    path.with_name(f"{path.name}-journal").unlink(missing_ok=True)
    part = path.with_suffix(".part")
    shutil.copyfile(empty, part)
    part.replace(path)


def _backend(path: Path) -> Any:
    if any(letter in str(path) for letter in "?%"):  # of TaskFlow's URLs, in which they say more
        raise UsageError(f"{path.parent}: cannot be used: expected a path without ? and %")
    backend = backends.fetch(
        {
            "connection": f"sqlite:///{path}",
            "engine_args": {"poolclass": sqlalchemy.StaticPool},  # opens the file once
        }
    )
    sqlalchemy.event.listen(backend.engine, "connect", _leave_to_the_system)
    # TaskFlow takes a connection for each of its writes. A new one describes all tables again, and
    # sqlalchemy compiles each statement again for these tables.
    backend.get_connection = functools.cache(backend.get_connection)
    return backend


def _leave_to_the_system(connection: sqlite3.Connection, _record: object) -> None:
    """Does not wait for the disk at each of a cell's 30 commits, which took longer than its boot.

    What is written outlives any process that is killed. If the machine stops, the database may be
    damaged, and `_ended` says so.
    """
    connection.execute("PRAGMA synchronous=OFF")


def _upgrade(backend: Any) -> None:
    with contextlib.closing(backend.get_connection()) as connection:
        connection.upgrade()


def run_cell(cell: Cell, settings: Settings, folder: Path, empty: Path) -> None:
    """Runs the flow of a cell, or goes on with it. A cell that has a result is not run again.

    What the folder has of a cell that was made from something else is deleted. empty: what
    `make_database` made.
    """
    have_folder(folder, cell)
    database = folder / DATABASE
    if not database.exists():
        copy_database(empty, database)
    try:
        with contextlib.closing(_backend(database)) as backend:
            run_flow(cell, settings, folder, FolderDepot(folder), backend)
    except Exception as error:
        if tells_full_disk(error):
            # That is no result. When there is room again, the cell is run from its beginning.
            database.unlink(missing_ok=True)
        raise


def run_flow(cell: Cell, settings: Settings, folder: Path, depot: Depot, backend: Any) -> None:
    """Runs the flow in a backend, or goes on with it, unless it has come to its end."""
    detail = _detail(backend)
    if detail.state in _ENDED:
        return
    engine = engines.load(
        cell_flow(folder, depot, settings.attempts),
        store={"cell": asdict(cell), "settings": settings.model_dump(mode="json")},
        flow_detail=detail,
        backend=backend,
    )
    try:
        engine.run()
    except Exception as error:
        # What a task raises is kept in the flow, from which `result_of` reads it. A full disk is
        # told here only if the flow itself could not be kept.
        if tells_full_disk(error) or engine.storage.get_flow_state() != states.REVERTED:
            raise


def _detail(backend: Any) -> Any:
    """The flow in a backend, which is made in one step if it is not there."""
    with contextlib.closing(backend.get_connection()) as connection:
        for book in connection.get_logbooks():
            return _mended(next(iter(book)))
        book = models.LogBook("cell")
        detail = models.FlowDetail("cell", book.uuid)
        book.add(detail)
        connection.save_logbook(book)
        return detail


def _mended(detail: Any) -> Any:
    """The flow, also if the process that began it was killed before it had stored the cell in it.

    TaskFlow makes the place for what is injected, and then fills it. It does not load a flow in
    which the place has nothing at all, and fills it anew in one that it loads.
    """
    for atom in detail:
        if atom.name == Storage.injector_name and atom.results is None:
            atom.results = {}
            atom.state = states.SUCCESS
    return detail


def result_of(folder: Path) -> dict[str, Any] | None:
    """The result of the cell in a folder. None: it has none yet."""
    database = folder / DATABASE
    if not database.exists() or not _ended(database):
        return None
    with contextlib.closing(_backend(database)) as backend:
        return result_in(backend, boots_of(folder))


def result_in(backend: Any, boots: int) -> dict[str, Any]:
    """The result of a flow that has come to its end. boots: how often the cell was booted."""
    detail = _detail(backend)
    found = {atom.name: atom for atom in detail}
    if detail.state == states.SUCCESS:
        return dict(found["check"].results)
    failures = [atom.failure for atom in found.values() if atom.failure is not None]
    said = [_told(failure) for failure in failures]
    return {"verdict": "error", "findings": said, "boots": boots, "trace": None}


@dataclass(frozen=True)
class TaskState:
    """How far a task of a cell is. state: as TaskFlow has it. failure: in a line."""

    name: str
    state: str
    failure: str | None = None


def tasks_of(folder: Path) -> list[TaskState]:
    """The tasks of the cell in a folder, in their order."""
    database = folder / DATABASE
    if not database.exists():
        return tasks_in(None)
    _ended(database)  # UsageError if it is damaged
    with contextlib.closing(_backend(database)) as backend:
        return tasks_in(backend)


def tasks_in(backend: Any) -> list[TaskState]:
    """The tasks of the flow in a backend. None: there is none."""
    found = {}
    if backend is not None:
        with contextlib.closing(backend.get_connection()) as connection:
            found = {atom.name: atom for book in connection.get_logbooks() for atom in _only(book)}
    tasks = []
    for name in TASKS:
        atom = found.get(name)
        failure = None if atom is None or atom.failure is None else _told(atom.failure)
        state = states.PENDING if atom is None else str(atom.state)
        tasks.append(TaskState(name, state, failure))
    return tasks


def _only(book: Any) -> Any:
    """The flow in a book, which has no other."""
    return next(iter(book), ())


def _told(failure: Any) -> str:
    """A failure in a line. An error of the program itself has its name."""
    names = list(failure)
    said = " ".join(failure.exception_str.split())
    return (
        said
        if any(name.startswith("cellreap.errors.") for name in names)
        else (f"{names[0]}: {said}")
    )


def _ended(database: Path) -> bool:
    """Whether the flow has come to its end. SQL takes a tenth of the time of TaskFlow.

    A process that was killed while it wrote may have left half of a transaction, which must be
    undone before anything can be read. So this needs the right to write. sqlite does without where
    the file is write-protected.
    """
    try:
        file = f"file:{quote(str(database))}?mode=rw"
        with contextlib.closing(sqlite3.connect(file, uri=True)) as connection:
            found = connection.execute("SELECT state FROM flowdetails").fetchall()
    except sqlite3.Error as error:
        raise UsageError(
            f"{database}: cannot be used: {error}; the cell is run again if its folder is deleted"
        ) from None
    return bool(found) and found[0][0] in _ENDED
