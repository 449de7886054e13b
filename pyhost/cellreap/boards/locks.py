# SPDX-License-Identifier: BSD-2-Clause
"""Locks of boards: one process at a time uses a board, with its relay and its file for TFTP.

A lock is of a thing that two descriptions may share, such as a serial port, so two descriptions of
one board exclude each other. Its file has the process that holds it. All users of the machine have
the same folder of locks.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from cellreap.boards.description import Description
from cellreap.cached import digest_of
from cellreap.errors import CellreapError
from cellreap.system.locks import take_at_once

FOLDER = Path("/tmp/cellreap-boards")  # not of a user: a board is excluded for all of them
_NO_RELAY = (":", "true", "/bin/true")
"""Commands of boards without a relay. They are nobody's."""


def port(name: str) -> str:
    """The thing that a serial port is, whatever link leads to it."""
    return f"the serial port {os.path.realpath(Path(name).expanduser())}"


def things_of(description: Description, folder: Path) -> list[str]:
    """What only one process at a time may use of a board.

    folder: what paths in the description are relative to. What labgrid's environment names is not
    among them.
    """
    found = []
    if (console := description.console) is not None:
        if console.device is not None:
            found.append(port(console.device))
        if console.command is not None:
            found.append(f"the console `{' '.join(console.command)}`")
    if (power := description.power) is not None:
        relays = {power.on, power.off} - set(_NO_RELAY)
        found += [f"the power of `{command}`" for command in relays]
    if (labgrid := description.labgrid) is not None:
        path = os.path.realpath(folder / Path(labgrid.environment).expanduser())
        found.append(f"the target {labgrid.target} of {path}")
    if (tftp := description.tftp) is not None and description.uboot.load == "tftp":
        path = os.path.realpath(Path(tftp.folder).expanduser() / tftp.file)
        found.append(f"the file {path}")
    return found


@contextlib.contextmanager
def locked(things: Iterable[str]) -> Iterator[None]:
    """Locks things for as long as the block lasts, or this process.

    CellreapError, which names the holder, if one of them is in use. Nobody waits.
    """
    with contextlib.ExitStack() as held:
        for thing in sorted(set(things)):  # the order keeps two from refusing each other
            path = _file(thing)
            lock = take_at_once(path)
            if lock is None:
                raise CellreapError(f"{thing} is in use by {_holder(path)}")
            held.callback(lock.release)
            with path.open("r+") as file:  # without O_CREAT: it may be another user's
                file.truncate()
                file.write(f"{os.getpid()}\n")
        yield


def _file(thing: str) -> Path:
    """The file of a lock. Whoever makes it lets all users lock it, and note themselves in it."""
    path = FOLDER / f"{digest_of(thing)}.lock"
    try:
        if not FOLDER.is_dir():
            FOLDER.mkdir(exist_ok=True)
            FOLDER.chmod(0o1777)
        if not path.exists():
            path.touch()
            path.chmod(0o666)
    except OSError as error:
        raise CellreapError(f"{path}: cannot be used as a lock: {error.strerror}") from None
    return path


def _holder(path: Path) -> str:
    with contextlib.suppress(OSError):
        if pid := path.read_text().strip():
            return f"process {pid}"
    return "another process"
