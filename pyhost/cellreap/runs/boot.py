# SPDX-License-Identifier: BSD-2-Clause
"""Runs an emulator and records its console until the run is over.

The command runs with its console on stdout and is watched against monotonic deadlines. It is always
ended and reaped: at the end of the trace, on a fatal kernel message, on a deadline, on Ctrl-C and
on SIGTERM. The console is written to the file byte by byte as it arrives, so that an aborted run
keeps its output.
"""

from __future__ import annotations

import enum
import functools
import math
import re
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from cellreap.runs.console import Console
from cellreap.runs.process import Process
from cellreap.runs.qemu import (
    Machine,
    drive_arguments,
    find_emulator,
    machine_for,
    memory_in,
    qemu_command,
)
from cellreap.system.elf import Executable, multiboot_elf32, read_executable
from cellreap.system.image import LOADER, Image
from cellreap.system.loader import check_memory

DEFAULT_IDLE = 60.0  # seconds without a byte
MAX_CONSOLE_BYTES = 1 << 30
# The limit of a run that must end but has no time limit: slow machines print as much as fast ones.
MAX_UNTIMED_BYTES = 1 << 24
_PATIENCE = 60.0  # seconds of one wait for output, if nothing limits it
_GRACE = 0.3  # seconds in which the kernel prints more after a fatal message
# Seconds without an event after a fatal message once there are PDs, which can print such a message.
_GRACE_WITH_PDS = 5.0


class End(enum.Enum):
    """The reason why a run ended."""

    COMPLETE = "the trace is complete"
    FATAL = "the kernel or the root task stopped"
    EXITED = "the emulator ended"
    FAILED = "the emulator failed"
    TIMEOUT = "the time was up"
    SILENT = "the run was ended"
    FLOOD = "the console did not stop"
    ASKED = "it was ended as asked"
    INTERRUPTED = "it was interrupted"

    @property
    def is_limit(self) -> bool:
        """Whether the run was ended by a limit: it might have gone on."""
        return self in (End.TIMEOUT, End.SILENT, End.FLOOD)

    @property
    def was_wanted(self) -> bool:
        """Whether the user ended the run: its trace has no END, and none is missing."""
        return self in (End.ASKED, End.INTERRUPTED)


@dataclass(frozen=True)
class Boot:
    """The result of a run."""

    end: End
    seconds: float
    bytes: int
    events: int  # trace lines with a correct checksum
    detail: str  # the fatal message, the last line on stderr, or the limit; else empty

    def __str__(self) -> str:
        said = f": {self.detail}" if self.detail else ""
        return f"{self.end.value} after {self.seconds:.1f} s, {self.events} events{said}"


@dataclass(frozen=True)
class Watch:
    """How somebody watches a run, and when it is to end."""

    on_data: Callable[[bytes], bool] = lambda data: False
    """Gets the console as it comes. If it returns true, the run ends."""
    seconds: float | None = None
    """The run ends after this time. None: it goes on."""
    shows: bool = False
    """Whether it shows something while the run goes on."""


def drives_beside(image: Image, trace: Path) -> dict[str, Path]:
    """The files of the drives of a run, by the names of the drives."""
    return {drive.name: trace.with_suffix(f".{drive.name}.drive") for drive in image.config.drives}


class Source(Protocol):
    """Where a console comes from."""

    def read(self, seconds: float) -> bytes | None:
        """The next bytes. None: none within `seconds`. Empty: the console was closed."""

    def failure(self) -> str:
        """Why a console that was closed says nothing about the run. Empty if it does."""

    @property
    def last_words(self) -> str:
        """The last line that came from beside the console. Empty if there is none."""


def boot_image(
    image: Image,
    trace: BinaryIO,
    *,
    extra: Sequence[str] = (),
    timeout: float | None = None,
    idle: float | None = DEFAULT_IDLE,
    on_events: Callable[[int], None] = lambda count: None,
    finish: re.Pattern[bytes] | None = None,
    watch: Watch | None = None,
    drives: Mapping[str, Path] | None = None,
    typed: Path | None = None,
) -> Boot:
    """Boots an image on its emulator and writes its console to `trace`.

    timeout, idle: seconds; None: no limit. With `idle` alone, the console is limited to
    MAX_UNTIMED_BYTES. finish: a pattern that ends the run, as END does. watch: who watches the run,
    and when it is to end. drives: the files of the image's drives, which are written anew; None: it
    has none. typed: the file that the UART of the console receives; None: it receives nothing.
    CellreapError if the image cannot boot.
    """
    options = Options(image.options, f"{image.path}: gen_config.json")
    files = drives or {}
    for drive in image.config.drives if files else ():
        content = image.drives[drive.name]
        files[drive.name].write_bytes(content + bytes(drive.size - len(content)))
    extra = [*drive_arguments(options.values, options.name, files), *extra]
    record_as = functools.partial(
        record,
        trace=trace,
        timeout=timeout,
        idle=idle,
        on_events=on_events,
        finish=finish,
        watch=watch,
        typed=typed,
    )
    return boot_files_with(options, boot_files(image), image.memory, extra, record_as)


@dataclass(frozen=True)
class Options:
    """A kernel's gen_config.json, and its name in messages."""

    values: Mapping[str, Any]
    name: str


def boot_files_with(
    kernel: Options,
    files: Mapping[str, bytes],
    memory: int | None,
    extra: Sequence[str],
    record_as: Callable[[Sequence[str]], Boot],
) -> Boot:
    """Starts the emulator with the machine's files. CellreapError if it cannot start.

    files: by the names in the machine's table. memory: the bytes that the kernel expects;
    None if it expects none. extra: further arguments for the emulator.
    """
    machine = machine_for(kernel.values, kernel.name)
    check_memory(memory_in(extra), memory)
    emulator = find_emulator(machine)
    with tempfile.TemporaryDirectory(prefix="cellreap-boot-") as name:
        folder = Path(name)
        for file, content in files.items():
            (folder / file).write_bytes(content)
        boot = record_as(qemu_command(machine, emulator, folder, memory, extra))
    return with_diagnosis(boot, kernel.values, machine, memory)


def with_diagnosis(
    boot: Boot, options: Mapping[str, Any], machine: Machine, memory: int | None
) -> Boot:
    """A run whose console went silent before the first event tells what was checked before it.

    options: the kernel's gen_config.json. memory: the bytes that the kernel expects.
    """
    if boot.events or boot.end not in (End.SILENT, End.TIMEOUT):
        return boot
    checked = [f"the machine ({' '.join(machine.arguments)})"]
    if memory is not None:
        checked.append(f"its memory (at least the {memory >> 20} MiB that the kernel has built in)")
    if options.get("ARM_HYPERVISOR_SUPPORT") is True:
        bits = 44 if options.get("ARM_PA_SIZE_BITS_44") is True else 40
        checked.append(f"the entry in EL2 with TCR_EL2 for {bits} bits")
    said = f"{boot.detail}; no event ever came. Right by all that is known: {', '.join(checked)}"
    if options.get("PRINTING") is not True:
        said += ". The kernel prints nothing (KernelPrinting is off), not even why it stopped"
    elif boot.bytes == 0:
        said += ". The kernel prints, and printed nothing: it was not entered, or stopped at once"
    return replace(boot, detail=said)


def boot_files(image: Image) -> dict[str, bytes]:
    """The files that the image's machine loads, by the names in its table.

    InputError if the machine cannot load the kernel.
    """
    kernel = read_executable(image.kernel, f"{image.path}: kernel.elf", image.manifest.arch)
    return files_of(kernel, image.roottask, image.loader)


def files_of(kernel: Executable, roottask: bytes, loader: bytes) -> dict[str, bytes]:
    """The files that a machine loads, by name.

    loader: the boot loader with kernel and root task in it, if the architecture needs one; else
    empty.
    """
    if loader:
        return {LOADER: loader}
    return {"kernel.elf": multiboot_elf32(kernel), "roottask.elf": roottask}


def record(
    command: Sequence[str],
    trace: BinaryIO,
    *,
    timeout: float | None = None,
    idle: float | None = DEFAULT_IDLE,
    on_events: Callable[[int], None] = lambda count: None,
    finish: re.Pattern[bytes] | None = None,
    watch: Watch | None = None,
    typed: Path | None = None,
) -> Boot:
    """Runs a command until its console prints END or another event ends the run.

    timeout, idle, typed: as for boot_image. on_events: called with the number of events so far
    whenever it grew. finish: a line that ends the run, as END does. watch: who watches the run.
    Then Ctrl-C ends the run, and is no exception.
    """
    with Process(command, stdin=typed) as process:
        return record_from(
            process,
            trace,
            timeout=timeout,
            idle=idle,
            on_events=on_events,
            finish=finish,
            watch=watch,
        )


def record_from(
    source: Source,
    trace: BinaryIO,
    *,
    timeout: float | None = None,
    idle: float | None = DEFAULT_IDLE,
    on_events: Callable[[int], None] = lambda count: None,
    finish: re.Pattern[bytes] | None = None,
    watch: Watch | None = None,
    begin: float | None = None,
    fatal: re.Pattern[bytes] | None = None,
) -> Boot:
    """Records a console that is open already. For the other arguments see `record`.

    begin: seconds within which the first event must come; None: any time. fatal: a message that
    is as fatal as those of the kernel.
    """
    start = time.monotonic()
    console = Console(finish, fatal)
    limits = _Limits(start, timeout, idle, watch.seconds if watch is not None else None, begin)
    try:
        end = _follow(source, console, trace, limits, on_events, watch)
    except KeyboardInterrupt:
        if watch is None:
            raise
        end = End.INTERRUPTED
    failure = source.failure() if end is End.EXITED else ""
    end = End.FAILED if failure else end
    last_words = source.last_words
    silent = f"no event within {begin:g} s" if begin and not console.events else ""
    detail = {
        End.COMPLETE: "",
        End.FATAL: console.fatal,
        End.EXITED: last_words or "it said nothing",
        End.FAILED: last_words or failure,
        End.TIMEOUT: f"limit {timeout or 0:g} s",
        End.SILENT: silent or f"nothing came for {idle or 0:g} s",
        End.FLOOD: f"limit {limits.bytes} bytes",
        End.ASKED: "",
        End.INTERRUPTED: "",
    }[end]
    return Boot(end, time.monotonic() - start, console.bytes, console.events, detail)


@dataclass
class _Limits:
    """Seconds after which a run ends; None: no limit.

    asked: as the user wants it. begin: if there was no event.
    """

    start: float
    timeout: float | None
    idle: float | None
    asked: float | None
    begin: float | None

    @property
    def bytes(self) -> int:
        """The limit of the console."""
        untimed = self.timeout is None and self.idle is not None
        return MAX_UNTIMED_BYTES if untimed else MAX_CONSOLE_BYTES

    def until(self, heard: float, begun: bool) -> tuple[float, End | None]:
        """When the run ends if nothing more is heard, and why.

        heard: when something was. begun: whether there was an event.
        """
        ends = (
            (self.start, self.asked, End.ASKED),
            (self.start, self.timeout, End.TIMEOUT),
            (heard, self.idle, End.SILENT),
            (self.start, None if begun else self.begin, End.SILENT),
        )
        found = [(start + seconds, end) for start, seconds, end in ends if seconds is not None]
        return min(found, key=lambda one: one[0], default=(math.inf, None))


def _follow(
    source: Source,
    console: Console,
    trace: BinaryIO,
    limits: _Limits,
    on_events: Callable[[int], None],
    watch: Watch | None,
) -> End:
    """Copies the console to `trace` until the run is over. Returns why it ended."""
    heard = time.monotonic()
    fatal_until: float | None = None
    while True:
        now = time.monotonic()
        until, end = limits.until(heard, console.events > 0)
        over = end if now >= until else None
        if fatal_until is not None:
            # A limit does not tell whether a PD printed the message. The next event does.
            until = fatal_until
            if now >= until:
                return End.FATAL
        elif over is not None:
            return over
        data = source.read(min(until - now, _PATIENCE))
        if data is None:
            continue
        if not data:
            return End.EXITED if fatal_until is None else End.FATAL
        trace.write(data)
        trace.flush()
        heard = time.monotonic()
        before = console.events
        console.take(data)
        if console.events != before:
            on_events(console.events)
            fatal_until = None  # an event followed the message
            if over is not None and not console.complete:
                return over
        asked = watch is not None and watch.on_data(data)
        if console.complete:
            return End.COMPLETE
        if asked:
            return End.ASKED
        if console.bytes > limits.bytes:
            return End.FLOOD
        if console.fatal and fatal_until is None:
            grace = _GRACE_WITH_PDS if console.begun else _GRACE
            fatal_until = time.monotonic() + grace
