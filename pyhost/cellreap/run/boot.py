# SPDX-License-Identifier: BSD-2-Clause
"""Runs an emulator and records its console until the run is over.

Whatever command it is, it is started with its console on stdout, watched against monotonic deadlines, and
always ended and reaped: at the end of the trace, on a fatal kernel message, on a deadline, on Ctrl-C and on
SIGTERM. The console goes to the file byte by byte as it came, so that an aborted run keeps what there was.
"""

from __future__ import annotations

import contextlib
import ctypes
import enum
import functools
import os
import re
import select
import signal
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, BinaryIO

import sh

from cellreap.errors import CellreapError
from cellreap.run.qemu import check_bootable, cpu_for, find_emulator, machine_for, qemu_command
from cellreap.system.elf import Executable, multiboot_elf32, read_executable
from cellreap.system.image import LOADER, Image

DEFAULT_TIMEOUT = 60.0  # seconds
DEFAULT_IDLE = 20.0  # seconds without a byte
MAX_CONSOLE_BYTES = 1 << 30
_MAX_LINE = 1 << 16  # a longer line is no event's and is looked at in pieces
_GRACE = 0.3  # seconds for what the kernel still prints after a fatal message
_PATIENCE = 2.0  # seconds between asking a process to end and ending it

_EVENT = re.compile(rb"~cr (\d+) ([0-9a-f]{8}) ([A-Z_]+)((?: [^\r\n]*)?)\r?\n")
# The last one: the fault of a thread whose faults nobody handles, as the root task's own.
_FATAL = re.compile(
    rb"cellreap: panic: [^\r\n]*|cellreap loader: error: [^\r\n]*"
    rb"|seL4 called fail at [^\r\n]*|seL4 failed assertion [^\r\n]*"
    rb'|=+ KERNEL EXCEPTION =+|in thread [^\r\n]*"rootserver" at address [^\r\n]*'
)


class End(enum.Enum):
    """Why a run was over."""

    COMPLETE = "the trace is complete"
    FATAL = "the kernel or the root task stopped"
    EXITED = "the emulator ended"
    FAILED = "the emulator failed"
    TIMEOUT = "the time was up"
    SILENT = "the console went silent"
    FLOOD = "the console did not stop"


@dataclass(frozen=True)
class Boot:
    """What became of a run."""

    end: End
    seconds: float
    bytes: int
    events: int  # trace lines with a good checksum
    detail: str  # more about the end: the fatal message, the emulator's last words, a limit. Or empty

    def __str__(self) -> str:
        said = f": {self.detail}" if self.detail else ""
        return f"{self.end.value} after {self.seconds:.1f} s, {self.events} events{said}"


def boot_image(
    image: Image,
    trace: BinaryIO,
    *,
    extra: Sequence[str] = (),
    timeout: float = DEFAULT_TIMEOUT,
    idle: float = DEFAULT_IDLE,
    on_events: Callable[[int], None] = lambda count: None,
) -> Boot:
    """Boots an image on its emulator and writes its console to `trace`. CellreapError where it cannot."""
    options = Options(image.options, f"{image.path}: gen_config.json", image.manifest.arch)
    record_as = functools.partial(record, trace=trace, timeout=timeout, idle=idle, on_events=on_events)
    return boot_files_with(options, boot_files(image), image.memory, extra, record_as)


@dataclass(frozen=True)
class Options:
    """A kernel's gen_config.json, what to call it in messages, and the architecture."""

    values: Mapping[str, Any]
    name: str
    arch: str


def boot_files_with(
    kernel: Options,
    files: Mapping[str, bytes],
    memory: tuple[int, int] | None,
    extra: Sequence[str],
    record_as: Callable[[Sequence[str]], Boot],
) -> Boot:
    """Starts the emulator on the machine's files, by the names in its table. CellreapError where it cannot.

    memory: [start, end) that the kernel expects, where it expects any. extra: more for the emulator.
    """
    machine = machine_for(kernel.arch)
    check_bootable(kernel.values, machine, kernel.name)
    emulator = find_emulator(machine)
    cpu = cpu_for(kernel.values, machine, kernel.name) if machine.cpus else None
    size = memory[1] - memory[0] if memory is not None else None
    with tempfile.TemporaryDirectory(prefix="cellreap-boot-") as name:
        folder = Path(name)
        for file, content in files.items():
            (folder / file).write_bytes(content)
        return record_as(qemu_command(machine, emulator, folder, cpu, size, extra))


def boot_files(image: Image) -> dict[str, bytes]:
    """What the image's machine loads, by the names in its table. InputError for a kernel it cannot load."""
    kernel = read_executable(image.kernel, f"{image.path}: kernel.elf", image.manifest.arch)
    return files_of(kernel, image.roottask, image.loader)


def files_of(kernel: Executable, roottask: bytes, loader: bytes) -> dict[str, bytes]:
    """What a machine loads. loader: with both in it, where the architecture needs one; else empty."""
    if loader:
        return {LOADER: loader}
    return {"kernel.elf": multiboot_elf32(kernel), "roottask.elf": roottask}


def record(
    command: Sequence[str],
    trace: BinaryIO,
    *,
    timeout: float = DEFAULT_TIMEOUT,
    idle: float = DEFAULT_IDLE,
    on_events: Callable[[int], None] = lambda count: None,
    finish: re.Pattern[bytes] | None = None,
) -> Boot:
    """Runs a command until its console says END, or something else ends it. Times in seconds.

    `on_events` is told the number of events so far, each time some came in. finish: what is in the last line
    of something else than a trace.
    """
    start = time.monotonic()
    deadline = start + timeout
    quiet_until = start + idle
    console = _Console(finish)
    end: End | None = None
    fatal_until: float | None = None
    with _Process(command) as process:
        failure = ""
        while end is None:
            now = time.monotonic()
            until = min(deadline, quiet_until) if fatal_until is None else min(deadline, fatal_until)
            if now >= until:
                end = End.FATAL if fatal_until is not None else End.TIMEOUT if now >= deadline else End.SILENT
                break
            data = process.read(until - now)
            if data is None:
                continue
            if not data:
                end = End.FATAL if fatal_until is not None else End.EXITED
                failure = process.failure() if end is End.EXITED else ""
                end = End.FAILED if failure else end
                break
            trace.write(data)
            trace.flush()
            quiet_until = time.monotonic() + idle
            before = console.events
            console.take(data)
            if console.events != before:
                on_events(console.events)
            if console.complete:
                end = End.COMPLETE
            elif console.bytes > MAX_CONSOLE_BYTES:
                end = End.FLOOD
            elif console.fatal and fatal_until is None:
                fatal_until = time.monotonic() + _GRACE
        last_words = process.last_words
    detail = {
        End.COMPLETE: "",
        End.FATAL: console.fatal,
        End.EXITED: last_words or "it said nothing",
        End.FAILED: last_words or failure,
        End.TIMEOUT: f"limit {timeout:g} s",
        End.SILENT: f"nothing for {idle:g} s",
        End.FLOOD: f"limit {MAX_CONSOLE_BYTES} bytes",
    }[end]
    return Boot(end, time.monotonic() - start, console.bytes, console.events, detail)


class _Console:
    """Finds events and fatal messages in the stream."""

    def __init__(self, finish: re.Pattern[bytes] | None) -> None:
        self.finish = finish
        self.bytes = 0
        self.events = 0
        self.complete = False
        self.fatal = ""
        self._line = b""

    def take(self, data: bytes) -> None:
        self.bytes += len(data)
        self._line += data
        whole, newline, rest = self._line.rpartition(b"\n")
        if not newline and len(rest) < _MAX_LINE:
            return
        self._look(whole + newline if newline else rest)
        self._line = rest if newline else b""

    def _look(self, lines: bytes) -> None:
        for event in _EVENT.finditer(lines):
            text = event[1] + b" " + event[3] + event[4]
            if zlib.crc32(text) == int(event[2], 16):
                self.events += 1
                self.complete = self.complete or event[3] == b"END"
        if self.finish is not None and self.finish.search(lines):
            self.complete = True
        if not self.fatal and (found := _FATAL.search(lines)):
            self.fatal = found[0].decode("ascii", "replace")


class _Process:
    """A child in a session of its own, its stdout to be read from, gone when the `with` is left."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = list(command)
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed in __exit__
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> _Process:
        self._stack.enter_context(self._stderr)
        self._stack.enter_context(_ending_signals_raise())
        self._out, child_out = os.pipe()
        self._stack.callback(os.close, self._out)
        try:
            with Path(os.devnull).open("rb") as nothing, os.fdopen(child_out, "wb", 0) as out:
                self._running = sh.Command(self._command[0])(
                    *self._command[1:],
                    _in=nothing,
                    _out=out,
                    _err=self._stderr,
                    _bg=True,
                    _bg_exc=False,
                    _new_session=True,  # Ctrl-C reaches us alone, and its children end with it
                    _preexec_fn=_die_with_parent(),
                )
        except (sh.CommandNotFound, OSError) as error:
            self._stack.close()
            raise CellreapError(f"{self._command[0]} cannot be started: {error}") from None
        return self

    def __exit__(self, *_: object) -> None:
        with self._stack:
            self._end()

    def read(self, seconds: float) -> bytes | None:
        """What came; None if nothing did in that time; empty when the child has closed its stdout."""
        ready, _, _ = select.select([self._out], [], [], seconds)
        return os.read(self._out, 1 << 16) if ready else None

    def failure(self) -> str:
        """How a child that has closed its stdout failed; empty if it did not, or does not end."""
        try:
            self._running.wait(timeout=_PATIENCE)
        except sh.SignalException as error:
            return f"signal {-error.exit_code}"
        except sh.ErrorReturnCode as error:
            return f"exit code {error.exit_code}"
        except sh.TimeoutException:
            pass
        return ""

    @property
    def last_words(self) -> str:
        """The last line that the child printed to stderr."""
        self._stderr.seek(0)
        lines = self._stderr.read(1 << 20).decode("utf-8", "replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    def _end(self) -> None:
        """Ends the whole session and reaps the child; returns only when it is gone."""
        for sign, patience in ((signal.SIGTERM, _PATIENCE), (signal.SIGKILL, None)):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._running.pid, sign)
            with contextlib.suppress(sh.ErrorReturnCode, sh.TimeoutException):
                self._running.wait(timeout=patience)
            if not self._running.is_alive():
                break
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._running.pid, signal.SIGKILL)  # what it left behind


@contextlib.contextmanager
def _ending_signals_raise() -> Iterator[None]:
    """SIGTERM and SIGHUP end this process through an exception, so that the child is ended first."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set handlers, and gets the signals
        return

    def leave(number: int, frame: FrameType | None) -> None:
        sys.exit(128 + number)

    before = {number: signal.signal(number, leave) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _die_with_parent() -> Callable[[], Any] | None:
    """For the child, between fork and exec: the kernel ends it when we are killed and can do nothing."""
    if not sys.platform.startswith("linux"):
        return None
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    set_death_signal = 1
    return lambda: prctl(set_death_signal, signal.SIGKILL)
