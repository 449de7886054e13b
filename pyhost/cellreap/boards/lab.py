# SPDX-License-Identifier: BSD-2-Clause
"""The driver `labgrid`: power and console of a target in an environment of labgrid."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cellreap.boards.board import Board, Stream
from cellreap.boards.description import Labgrid
from cellreap.boards.locks import locked, port
from cellreap.errors import CellreapError

EXTRA = 'pip install "cellreap[boards]"'


@contextlib.contextmanager
def open_labgrid(described: Labgrid, folder: Path) -> Iterator[Board]:
    """The board of a target. CellreapError if labgrid cannot give it.

    folder: what the path of the environment is relative to.
    """
    try:
        from labgrid import Environment
    except ImportError:
        raise CellreapError(f'driver = "labgrid" needs the package labgrid: {EXTRA}') from None
    path = folder / Path(described.environment).expanduser()
    with _telling(f"labgrid: {path}"):
        if not path.is_file():
            raise CellreapError("no such file")
        environment = Environment(str(path))
        target = environment.get_target(described.target)
        if target is None:
            raise CellreapError(f"has no target `{described.target}`")
    held = contextlib.ExitStack()
    try:
        # A port of this machine may be in a description of the driver `command`, too.
        ports = (str(getattr(each, "port", "")) for each in target.resources)
        held.enter_context(locked(port(name) for name in ports if name.startswith("/")))
        with _telling(f"labgrid: target {described.target}"):
            power = target.get_driver("PowerProtocol")
            console = target.get_driver("ConsoleProtocol")
        yield LabgridBoard(power, console)
    finally:
        environment.cleanup()
        held.close()


class LabgridBoard:
    """A target of labgrid."""

    def __init__(self, power: Any, console: Any) -> None:
        self._power = power
        self._console = console
        self.tftp_folder: Path | None = None
        self.last_words = ""

    @contextlib.contextmanager
    def console(self) -> Iterator[Stream]:
        """labgrid opened the console when it activated its driver."""
        yield self

    def power_on(self) -> None:
        """Switches the power on."""
        with _telling("labgrid: power on"):
            self._power.on()

    def power_off(self) -> None:
        """Switches the power off."""
        with _telling("labgrid: power off"):
            self._power.off()

    def read(self, seconds: float) -> bytes | None:
        """See Source."""
        from pexpect import EOF, TIMEOUT

        try:
            data = self._console.read(size=1, timeout=seconds, max_size=1 << 16)
        except TIMEOUT:
            return None
        except EOF:
            return b""
        except Exception as error:  # each driver of labgrid has its own
            self.last_words = _said(error)
            return b""
        return bytes(data)

    def write(self, data: bytes) -> None:
        """See Stream."""
        with _telling("labgrid: console"):
            self._console.write(data)

    def failure(self) -> str:
        """See Source."""
        return self.last_words or "labgrid closed the console"


@contextlib.contextmanager
def _telling(what: str) -> Iterator[None]:
    """Makes every exception of labgrid a CellreapError: what it raises is not in its interface."""
    try:
        yield
    except Exception as error:
        raise CellreapError(f"{what}: {_said(error)}") from None


def _said(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
