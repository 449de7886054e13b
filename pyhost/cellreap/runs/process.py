# SPDX-License-Identifier: BSD-2-Clause
"""A child process whose stdout is read against deadlines. It is always ended and reaped."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from cellreap.errors import CellreapError, InputError
from cellreap.signals import ending_signals_raise

_PATIENCE = 2.0  # seconds between SIGTERM and SIGKILL
_GATHERED = 0.005
"""Seconds for which output gathers before it is read. An emulator writes its console byte by byte,
and a reader that wakes for each byte takes as much of the processor as the emulator."""
_PIPE = 1 << 20
"""Bytes of output that a reader who comes late finds. Some emulated UARTs, such as SiFive's in QEMU
7.2, lose what does not fit. This is the most that Linux gives to everybody."""
_MAX_WRITE = 10.0  # seconds in which a child must take what is written to it


class Process:
    """A child in a session of its own, with its stdout as a pipe. `with` ends it on exit."""

    def __init__(
        self, command: Sequence[str], *, listens: bool = False, stdin: Path | None = None
    ) -> None:
        """listens: its stdin is a pipe, for `write`; else the file `stdin`, or empty."""
        self._command = list(command)
        self._given = Path(os.devnull) if stdin is None else stdin
        self._listens = listens
        self._in = -1
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed in __exit__
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Process:
        given = self._stdin()
        self._stack.enter_context(self._stderr)
        self._stack.enter_context(ending_signals_raise())
        self._out, child_out = os.pipe()
        self._stack.callback(os.close, self._out)
        with contextlib.suppress(PermissionError):  # who has many pipes gets the usual 64 KiB
            fcntl.fcntl(self._out, fcntl.F_SETPIPE_SZ, _PIPE)
        try:
            with given, os.fdopen(child_out, "wb", 0) as out:
                self._running = subprocess.Popen(
                    self._command,
                    stdin=given,
                    stdout=out,
                    stderr=self._stderr,
                    start_new_session=True,  # Ctrl-C reaches only this process, which ends it
                    preexec_fn=_die_with_parent(),
                )
        except (subprocess.SubprocessError, OSError) as error:
            self._stack.close()
            why = error.strerror if isinstance(error, OSError) else str(error)
            raise CellreapError(f"{self._command[0]} cannot be started: {why}") from None
        return self

    def __exit__(self, *_: object) -> None:
        with self._stack:
            self._end()

    def _stdin(self) -> BinaryIO:
        """What the child gets as its stdin. This process keeps the other end of a pipe.

        InputError if the file cannot be read.
        """
        if not self._listens:
            try:
                return self._given.open("rb")
            except OSError as error:
                why = f"cannot be read: {error.strerror}"
                raise InputError(str(self._given), None, None, why) from None
        child_in, self._in = os.pipe()
        self._stack.callback(os.close, self._in)
        os.set_blocking(self._in, False)
        return os.fdopen(child_in, "rb", 0)

    def write(self, data: bytes) -> None:
        """Writes to the child's stdin. CellreapError if the child does not take it."""
        write_all(self._in, data, self._command[0])

    def read(self, seconds: float) -> bytes | None:
        """The next bytes. None: none within `seconds`. Empty: the child closed its stdout."""
        ready, _, _ = select.select([self._out], [], [], seconds)
        if not ready:
            return None
        time.sleep(_GATHERED)
        return os.read(self._out, _PIPE)

    def failure(self) -> str:
        """How a child that closed its stdout failed. Empty if it did not fail, or does not end."""
        try:
            code = self._running.wait(timeout=_PATIENCE)
        except subprocess.TimeoutExpired:
            return ""
        return f"signal {-code}" if code < 0 else f"exit code {code}" if code else ""

    @property
    def last_words(self) -> str:
        """The last line that the child printed to stderr."""
        self._stderr.seek(0)
        lines = self._stderr.read(1 << 20).decode("utf-8", "replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    def _end(self) -> None:
        """Ends the whole session and reaps the child. Returns when the child no longer exists."""
        for sign, patience in ((signal.SIGTERM, _PATIENCE), (signal.SIGKILL, None)):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._running.pid, sign)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._running.wait(timeout=patience)
                break
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._running.pid, signal.SIGKILL)  # processes that the child left behind


def write_all(file: int, data: bytes, name: str) -> None:
    """Writes to a file descriptor that does not block.

    CellreapError, which has the name, if it does not take the data.
    """
    left = memoryview(data)
    while left:
        _, ready, _ = select.select([], [file], [], _MAX_WRITE)
        if not ready:
            raise CellreapError(f"{name} does not take what is written to it")
        try:
            left = left[os.write(file, left) :]
        except BlockingIOError:
            continue
        except OSError as error:
            raise CellreapError(f"{name} takes no more: {error.strerror}") from None


def _die_with_parent() -> Callable[[], Any] | None:
    """For the child, between fork and exec: if this process is killed, the kernel kills the child.

    None where the kernel cannot do that.
    """
    if not sys.platform.startswith("linux"):
        return None
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    set_death_signal = 1
    return lambda: prctl(set_death_signal, signal.SIGKILL)
