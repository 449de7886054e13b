# SPDX-License-Identifier: BSD-2-Clause
"""A cell as a flow of TaskFlow: configure, build, boot, capture, check.

TaskFlow keeps in sqlite which tasks have ended, with their results and failures. A process that
goes on with a flow begins at the task that had not ended. A task may run twice, so each begins by
forgetting what an earlier run of it left behind.

A boot that hangs is a failure, which TaskFlow's retry answers with another boot. The last one's is
a result.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import sqlite3
from dataclasses import asdict
from pathlib import Path
from typing import Any

from taskflow import engines, retry, states, task
from taskflow.patterns import linear_flow
from taskflow.persistence import backends, models

from cellreap.api.results import Run
from cellreap.api.running import Limits, build_system, checked_run, record_image
from cellreap.api.systems import kernel_for
from cellreap.campaign.matrix import Cell, Settings
from cellreap.errors import CellreapError
from cellreap.progress import Progress
from cellreap.runs.boot import Boot, End
from cellreap.runs.qemu import check_bootable, machine_for
from cellreap.system.image import read_image
from cellreap.system.sdk import CONFIG_FILE

QUIET = Progress(quiet=True)
DATABASE = "flow.sqlite"
BOOTS = "boots"
_FACTORY = f"{__name__}.cell_flow"  # TaskFlow keeps the name and calls it when a flow goes on

logging.getLogger("taskflow").addHandler(logging.NullHandler())
logging.getLogger("taskflow").propagate = False


class Hung(CellreapError):
    """A boot did not come to its end."""


class _Task(task.Task):  # type: ignore[misc]
    """A task in the folder of its cell."""

    def __init__(self, folder: str, provides: str | None = None) -> None:
        super().__init__(name=type(self).__name__.lower(), provides=provides)
        self.folder = Path(folder)
        self.image = self.folder / "cell.img"
        self.part = self.folder / "cell.trace.part"
        self.trace = self.folder / "cell.trace"


class Configure(_Task):
    """Finds the kernel and checks that the system can run on it."""

    def execute(self, cell: dict[str, Any]) -> dict[str, Any]:
        sdk = kernel_for(cell["arch"], cell["kernel"], QUIET)
        system = Cell(**cell).system()
        system.check_kernel(sdk)
        check_bootable(sdk.options, machine_for(sdk.kernel.arch), str(sdk.root / CONFIG_FILE))
        return {"sdk": str(sdk.root), "kernel": str(sdk.kernel)}


class Build(_Task):
    """Builds the image."""

    def execute(self, cell: dict[str, Any], configured: dict[str, Any]) -> None:
        sdk = kernel_for(cell["arch"], configured["sdk"], QUIET)
        build_system(Cell(**cell).system(), sdk, self.image, QUIET, keep=True)

    def revert(self, *_: object, **__: object) -> None:
        self.image.unlink(missing_ok=True)


class BootTask(_Task):
    """Boots the image."""

    def execute(self, settings: dict[str, Any], attempt: int) -> dict[str, Any]:
        with (self.folder / BOOTS).open("a") as file:
            file.write(f"{attempt}\n")
        limits = Limits(settings["timeout"], settings["idle"], tuple(settings["qemu_args"]))
        boot = record_image(read_image(self.image), self.part, limits, QUIET)
        if boot.end is End.INTERRUPTED:
            os._exit(130)  # as if it were killed: the flow goes on with this task
        if boot.end.is_limit and attempt < settings["attempts"]:
            raise Hung(str(boot))
        return {**asdict(boot), "end": boot.end.name}

    def revert(self, *_: object, **__: object) -> None:
        self.part.unlink(missing_ok=True)


class Capture(_Task):
    """Keeps the console of the boot that counts."""

    def execute(self) -> int:
        if self.part.exists():  # else it was renamed by a process that was killed then
            self.part.replace(self.trace)
        return self.trace.stat().st_size

    def revert(self, *_: object, **__: object) -> None:
        self.trace.unlink(missing_ok=True)


class Check(_Task):
    """Checks the trace, and says what became of the cell."""

    def execute(self, cell: dict[str, Any], booted: dict[str, Any], attempt: int) -> dict[str, Any]:
        boot = Boot(**{**booted, "end": End[booted["end"]]})
        image = read_image(self.image)
        run = checked_run(image, boot, self.trace, QUIET, config=Cell(**cell).system().config)
        return {
            "verdict": _verdict(run, boot, attempt),
            "findings": run.findings,
            "kernel": run.kernel,
            "boots": attempt,
            "seconds": round(boot.seconds, 3),
            "events": boot.events,
        }


def _verdict(run: Run, boot: Boot, attempt: int) -> str:
    if boot.end.is_limit:
        return "hang"
    if not run.passed:
        return "fail"
    return "flaky" if attempt > 1 else "pass"


def cell_flow(folder: str, attempts: int) -> linear_flow.Flow:
    """The flow of the cell in a folder."""
    boots = linear_flow.Flow("boots", retry=retry.Times(attempts, provides="attempt")).add(
        BootTask(folder, "booted")
    )
    return linear_flow.Flow("cell").add(
        Configure(folder, "configured"),
        Build(folder),
        boots,
        Capture(folder),
        Check(folder, "result"),
    )


def make_database(path: Path) -> None:
    """An empty database, to be copied for each cell: to make one takes half a second."""
    part = path.with_suffix(".part")
    part.unlink(missing_ok=True)
    with contextlib.closing(_backend(part)) as backend:
        _upgrade(backend)
    part.replace(path)


def _backend(path: Path) -> Any:
    return backends.fetch({"connection": f"sqlite:///{path}"})


def _upgrade(backend: Any) -> None:
    with contextlib.closing(backend.get_connection()) as connection:
        connection.upgrade()


def run_cell(cell: Cell, settings: Settings, folder: Path, empty: Path) -> None:
    """Runs the flow of a cell, or goes on with it. A cell that has a result is not run again.

    empty: what `make_database` made.
    """
    folder.mkdir(parents=True, exist_ok=True)
    database = folder / DATABASE
    if not database.exists():
        part = database.with_suffix(".part")
        shutil.copyfile(empty, part)
        part.replace(database)
    with contextlib.closing(_backend(database)) as backend:
        detail = _detail(backend, folder, settings.attempts)
        if detail.state in (states.SUCCESS, states.REVERTED):
            return
        store = {"cell": asdict(cell), "settings": settings.model_dump(mode="json")}
        engine = engines.load_from_detail(detail, store=store, backend=backend)
        try:
            engine.run()
        except Exception:
            # What a task raises is kept in the flow, from which `result_of` reads it.
            if engine.storage.get_flow_state() != states.REVERTED:
                raise


def _detail(backend: Any, folder: Path, attempts: int) -> Any:
    """The flow in the database, which is made in one step if it is not there."""
    with contextlib.closing(backend.get_connection()) as connection:
        for book in connection.get_logbooks():
            return next(iter(book))
        book = models.LogBook("cell")
        detail = models.FlowDetail("cell", book.uuid)
        book.add(detail)
        engines.save_factory_details(detail, _FACTORY, [str(folder), attempts], {})
        connection.save_logbook(book)
        return detail


def result_of(folder: Path) -> dict[str, Any] | None:
    """The result of the cell in a folder. None: it has none yet."""
    database = folder / DATABASE
    if not database.exists() or not _ended(database):
        return None
    with contextlib.closing(_backend(database)) as backend:
        detail = _detail(backend, folder, 1)
        found = {atom.name: atom for atom in detail}
        if detail.state == states.SUCCESS:
            result: dict[str, Any] = found["check"].results
            return result
        failures = [atom.failure for atom in found.values() if atom.failure is not None]
        said = [_told(failure) for failure in failures]
        return {"verdict": "error", "findings": said, "boots": boots_of(folder)}


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
    """Whether the flow has come to its end. SQL takes a tenth of the time of TaskFlow."""
    with contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        found = connection.execute("SELECT state FROM flowdetails").fetchall()
    return bool(found) and found[0][0] in (states.SUCCESS, states.REVERTED)


def boots_of(folder: Path) -> int:
    """How often the cell in a folder was booted, by anybody."""
    path = folder / BOOTS
    return len(path.read_text().splitlines()) if path.exists() else 0
