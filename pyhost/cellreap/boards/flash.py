# SPDX-License-Identifier: BSD-2-Clause
"""Boots an image on a board: power, U-Boot, capture, power off.

The power is switched off on every way out, also on Ctrl-C, SIGTERM and SIGHUP. A board that does
not come as far as the first event of the trace is switched off and on again a number of times. From
the first event on, the run is not repeated: what it printed is the result.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import BinaryIO

from cellreap.boards.board import Board
from cellreap.boards.converse import converse
from cellreap.boards.description import Description
from cellreap.boards.drivers import QemuBoard, open_board
from cellreap.boards.payload import Payload, payload_of
from cellreap.boards.talk import (
    Script,
    UbootError,
    checksum_command,
    serial_command,
    setting_commands,
    tftp_command,
)
from cellreap.errors import CellreapError, InputError
from cellreap.progress import Progress
from cellreap.runs.boot import DEFAULT_IDLE, Boot, End, record_from
from cellreap.signals import ending_signals_raise
from cellreap.system.files import write_atomically
from cellreap.system.image import Image
from cellreap.system.locks import written_alone

_OFF_TRIES = 3
LOG_SUFFIX = ".uboot.log"
"""Of the file beside the trace with all that U-Boot printed."""


@dataclass(frozen=True)
class Limits:
    """How a run is limited once it has begun. See `record`. retries: None: as described."""

    timeout: float | None = None
    idle: float | None = DEFAULT_IDLE
    retries: int | None = None


@dataclass(frozen=True)
class Flashed:
    """A run on a board."""

    boot: Boot
    tries: int
    """How often the power was switched on."""
    failures: tuple[str, ...]
    """Why the tries before the last one failed."""


def flash_image(
    image: Image, path: Path, description: Description, trace: Path, limits: Limits, say: Progress
) -> Flashed:
    """Boots an image on a board, and writes its console to the file `trace`.

    path: of the description. CellreapError if the board cannot be used, or if no try came as far as
    the image.
    """
    payload = payload_of(image, description.board.platform)
    payload.check_address(description.uboot.address, str(path))
    log = trace.with_suffix(LOG_SUFFIX)
    name = path.stem
    if not description.board.tested:
        say.note(f"the description {name} was not tried by the project that it comes with")
    with contextlib.ExitStack() as stack:
        stack.enter_context(ending_signals_raise())
        board = stack.enter_context(open_board(description, path, image))
        stack.enter_context(_served(description, board, payload))
        log_file = stack.enter_context(written_alone(log))
        script = script_for(description, payload, isinstance(board, QemuBoard))
        tries = Tries(board, name, script, payload, description, limits, log_file)
        with say.step(f"booting {image.manifest.system} on {name}") as update:
            return tries.run(trace, update, say.note, log)


@dataclass
class Tries:
    """The tries on a board."""

    board: Board
    name: str
    script: Script
    payload: Payload
    description: Description
    limits: Limits
    log: BinaryIO

    def run(
        self, trace: Path, update: Callable[[str], None], note: Callable[[str], None], log: Path
    ) -> Flashed:
        """Tries until the image runs or there were enough tries. See flash_image."""
        given = self.limits.retries
        retries = self.description.limits.retries if given is None else given
        failures: list[str] = []
        while True:
            boot, why = self._once(trace, update)
            if boot is not None and not why:
                return Flashed(boot, len(failures) + 1, tuple(failures))
            if len(failures) == retries:
                break
            failures.append(why)
            note(f"{self.name}, try {len(failures)}: {why}")
            self.log.write(b"\n[try %d: %s]\n" % (len(failures), why.encode()))
        tries = len(failures) + 1
        if boot is not None and boot.end is End.SILENT:
            return Flashed(boot, tries, tuple(failures))  # U-Boot did its part: the image is silent
        times = f"{tries} tries" if tries > 1 else "1 try"
        raise CellreapError(f"{self.name} did not boot in {times}: {why} (all of it is in {log})")

    def _once(self, trace: Path, update: Callable[[str], None]) -> tuple[Boot | None, str]:
        """The run, if it came so far, and why to try again. Empty: no reason."""
        with contextlib.ExitStack() as stack:
            console = stack.enter_context(self.board.console())
            stack.callback(power_off, self.board, self.name)
            power_off(self.board, self.name)
            time.sleep(self.description.limits.off_seconds)
            self.board.power_on()
            try:
                talk = converse(console, self.script, self.payload.content, self.log)
            except UbootError as error:
                return None, str(error)
            with written_alone(trace) as file:
                boot = record_from(
                    console,
                    file,
                    timeout=self.limits.timeout,
                    idle=self.limits.idle,
                    on_events=lambda count: update(f"{count} events"),
                    begin=self.description.limits.boot_seconds,
                    fatal=talk.ends(),
                )
        return boot, self._why_again(boot, talk.ends().search(boot.detail.encode()) is not None)

    def _why_again(self, boot: Boot, by_uboot: bool) -> str:
        """Why a run is to be tried again. Empty: it is not. by_uboot: U-Boot has control."""
        if boot.events:
            return ""
        verb = self.script.boot
        if boot.end is End.FATAL and by_uboot:
            return f"`{verb}` did not start the image: U-Boot has control again"
        if boot.end is End.SILENT:
            return f"`{verb}`: {boot.detail}"
        if boot.end in (End.EXITED, End.FAILED):
            return f"`{verb}`: the console was closed: {boot.detail}"
        return ""


def power_off(board: Board, name: str) -> None:
    """Switches a board off, and lets nothing interrupt that. CellreapError if it cannot be done."""
    with _undisturbed():
        for tries_left in reversed(range(_OFF_TRIES)):
            try:
                board.power_off()
                return
            except CellreapError as error:
                if not tries_left:
                    said = error.line()
                    raise CellreapError(f"{name} may still be ON: {said}") from None


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Puts off the signals that end this process until the end of the block."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        came.append(number)

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, note) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if came:
        signal.raise_signal(came[0])


@contextlib.contextmanager
def _served(description: Description, board: Board, payload: Payload) -> Iterator[None]:
    """Puts the file where the board's TFTP server has it, as long as the block lasts."""
    if description.uboot.load != "tftp":
        yield
        return
    folder, name = _place(description, board)
    path = folder / name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            str(path.parent), None, None, f"cannot be made: {error.strerror}"
        ) from None
    write_atomically(path, payload.content)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def _place(description: Description, board: Board) -> tuple[Path, str]:
    if board.tftp_folder is not None:
        return board.tftp_folder, "cellreap.uimg"
    tftp = description.tftp
    assert tftp is not None
    return Path(tftp.folder).expanduser(), tftp.file


def script_for(description: Description, payload: Payload, in_qemu: bool) -> Script:
    """What U-Boot is told to load and boot the payload. in_qemu: from QEMU's own server."""
    uboot, limits, size = description.uboot, description.limits, len(payload.content)
    if uboot.load == "serial":
        load = serial_command(uboot.address, size, limits.load_seconds)
    else:
        tftp = description.tftp
        server = QemuBoard.SERVER if in_qemu or tftp is None else tftp.server
        file = "cellreap.uimg" if in_qemu or tftp is None else tftp.file
        load = tftp_command(uboot.address, f"{server}:{file}", size, limits.load_seconds)
    prepare = setting_commands(uboot.prepare, limits.command_seconds)
    check = checksum_command(uboot.address, size, payload.checksum, limits.command_seconds)
    return Script(
        prompt=uboot.prompt,
        autoboot=uboot.autoboot,
        interrupt=uboot.interrupt,
        commands=(*prepare, load, check),
        boot=uboot.boot.replace("{address}", f"{uboot.address:#x}"),
        prompt_seconds=limits.prompt_seconds,
    )
