# SPDX-License-Identifier: BSD-2-Clause
"""The drivers of boards: QEMU with U-Boot, and commands and a serial port of the user's."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import select
import tempfile
import termios
import time
import tty
from collections.abc import Iterator
from pathlib import Path

from cellreap.boards.board import Board, Stream
from cellreap.boards.description import Console, Description, Power, Qemu
from cellreap.boards.locks import locked, things_of
from cellreap.boards.locks import port as port_of
from cellreap.errors import CellreapError
from cellreap.runs.process import Process, write_all
from cellreap.runs.qemu import find_emulator, machine_for, qemu_command
from cellreap.system.image import Image


@contextlib.contextmanager
def open_board(description: Description, path: Path, image: Image) -> Iterator[Board]:
    """The board of a description. CellreapError if its driver cannot be used, or if another process
    uses the board. It is locked before anything of it is touched.

    path: of the description. image: what is to run on it.
    """
    with locked(things_of(description, path.parent)), _opened(description, path, image) as board:
        yield board


@contextlib.contextmanager
def _opened(description: Description, path: Path, image: Image) -> Iterator[Board]:
    if description.board.driver == "qemu-uboot":
        with tempfile.TemporaryDirectory(prefix="cellreap-tftp-") as folder:
            yield QemuBoard(description.qemu or Qemu(), image, Path(folder))
    elif description.board.driver == "labgrid":
        from cellreap.boards.lab import open_labgrid  # labgrid is an optional dependency

        assert description.labgrid is not None
        with open_labgrid(description.labgrid, path.parent) as board:
            yield board
    else:
        assert description.power is not None
        assert description.console is not None
        yield CommandBoard(description.power, description.console)


class QemuBoard:
    """QEMU's machine `virt`, whose firmware is U-Boot."""

    SERVER = "10.0.2.2"
    """QEMU's own TFTP server."""

    def __init__(self, qemu: Qemu, image: Image, folder: Path) -> None:
        bios = Path(qemu.bios).expanduser()
        if not bios.is_file():
            raise CellreapError(f"{bios} is missing: on Debian, apt install u-boot-qemu")
        machine = machine_for(image.options, f"{image.path}: gen_config.json")
        machine = dataclasses.replace(machine, files=(("-bios", bios.name),))
        network = f"user,id=net,restrict=on,tftp={str(folder).replace(',', ',,')}"
        extra = (
            *("-netdev", network, "-device", "virtio-net-pci,netdev=net,romfile="),
            *qemu.arguments,
        )
        emulator = find_emulator(machine)
        self._command = qemu_command(machine, emulator, bios.parent, image.memory, extra)
        self._stack = contextlib.ExitStack()
        self._process: Process | None = None
        self.tftp_folder: Path | None = folder

    @contextlib.contextmanager
    def console(self) -> Iterator[Stream]:
        """The console is that of the process, so the board itself is the stream."""
        yield self

    def power_on(self) -> None:
        """Starts QEMU."""
        self._process = self._stack.enter_context(Process(self._command, listens=True))

    def power_off(self) -> None:
        """Ends QEMU."""
        self._process = None
        self._stack.close()

    def read(self, seconds: float) -> bytes | None:
        """See Source."""
        return self._running().read(seconds)

    def write(self, data: bytes) -> None:
        """See Stream."""
        self._running().write(data)

    def failure(self) -> str:
        """See Source."""
        return self._running().failure()

    @property
    def last_words(self) -> str:
        """See Source."""
        return self._running().last_words

    def _running(self) -> Process:
        assert self._process is not None, "the board is off"
        return self._process


class CommandBoard:
    """A board whose power is switched by commands."""

    def __init__(self, power: Power, console: Console) -> None:
        self._power = power
        self._console = console
        self.tftp_folder: Path | None = None

    @contextlib.contextmanager
    def console(self) -> Iterator[Stream]:
        """Opens the serial port, or starts the program that stands for it."""
        if self._console.command is not None:
            with Process(self._console.command, listens=True) as process:
                yield process
            return
        assert self._console.device is not None
        with _open_port(self._console.device, self._console.baud) as port:
            yield port

    def power_on(self) -> None:
        """Runs the user's command."""
        _run_shell(self._power.on, self._power.seconds, "power.on")

    def power_off(self) -> None:
        """Runs the user's command."""
        _run_shell(self._power.off, self._power.seconds, "power.off")


def _run_shell(command: str, seconds: float, key: str) -> None:
    """Runs a command of the description. CellreapError, which names the key, if it fails."""
    until = time.monotonic() + seconds
    said = b""
    with Process(["/bin/sh", "-c", command]) as process:
        while (left := until - time.monotonic()) > 0:
            data = process.read(left)
            if data == b"":
                break
            said = (said + (data or b""))[-4096:]
        else:
            raise CellreapError(f"{key}: `{command}` takes longer than {seconds:g} s")
        failure = process.failure()
        if failure:
            lines = said.decode("utf-8", "replace").split()
            words = process.last_words or " ".join(lines[-20:]) or "it said nothing"
            raise CellreapError(f"{key}: `{command}` failed with {failure}: {words}")


class SerialPort:
    """A serial port that is open and raw."""

    def __init__(self, file: int, name: str) -> None:
        self._file = file
        self._name = name
        self.last_words = ""

    def read(self, seconds: float) -> bytes | None:
        """See Source."""
        ready, _, _ = select.select([self._file], [], [], seconds)
        if not ready:
            return None
        try:
            return os.read(self._file, 1 << 16)
        except BlockingIOError:
            return None
        except OSError as error:  # the adapter was unplugged
            self.last_words = f"{self._name}: {error.strerror}"
            return b""

    def write(self, data: bytes) -> None:
        """See Stream."""
        write_all(self._file, data, self._name)

    def failure(self) -> str:
        """See Source."""
        return self.last_words or f"{self._name} was closed"


@contextlib.contextmanager
def serial_port(name: str, baud: int) -> Iterator[SerialPort]:
    """Opens a serial port. CellreapError if it cannot be used, or if another process uses it."""
    with locked([port_of(name)]), _open_port(name, baud) as port:
        yield port


@contextlib.contextmanager
def _open_port(name: str, baud: int) -> Iterator[SerialPort]:
    """Opens a serial port that this process has locked."""
    speed = getattr(termios, f"B{baud}", None)
    if speed is None:
        raise CellreapError(f"console.baud: {baud} is no speed of serial ports here")
    try:
        file = os.open(Path(name).expanduser(), os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    except OSError as error:
        raise CellreapError(f"console.device: {name}: {error.strerror}") from None
    try:
        _make_raw(file, name, speed)
        yield SerialPort(file, name)
    finally:
        os.close(file)


def _make_raw(file: int, name: str, speed: int) -> None:
    try:
        tty.setraw(file)
        settings = termios.tcgetattr(file)
        settings[2] |= termios.CLOCAL | termios.CREAD
        settings[2] &= ~(termios.CSTOPB | termios.CRTSCTS)
        settings[4] = settings[5] = speed
        termios.tcsetattr(file, termios.TCSANOW, settings)
        termios.tcflush(file, termios.TCIOFLUSH)
    except termios.error as error:
        raise CellreapError(f"console.device: {name}: {error.args[-1]}") from None
