# SPDX-License-Identifier: BSD-2-Clause
"""Running an emulator, replaced by a script: recording, the end of a run, no leftovers."""

from __future__ import annotations

import io
import itertools
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from cellreap.errors import CellreapError, InputError, UsageError
from cellreap.runs.boot import Boot, End, record, record_from, with_diagnosis
from cellreap.runs.qemu import Machine, find_emulator, machine_for, qemu_command, split_arguments
from cellreap.trace.writer import NO_SECRET
from kit.command_line import HEARS_SIGNALS
from kit.records import line_of


def line(seq: int, text: str) -> bytes:
    return f"{line_of(seq, text)}\n".encode()


HEAD = line(0, f"TRACE version=1 key={NO_SECRET.hex()}")
LAST = line(1, "END count=1 digest=00000000")
END = HEAD + LAST


@pytest.fixture
def stand_in(tmp_path: Path) -> Iterator[Path]:
    """A folder for scripts and for the process ids that they leave.

    None of these processes may outlive a test.
    """
    yield tmp_path
    for file in tmp_path.glob("*.pid"):
        assert not alive(int(file.read_text())), f"{file.name} is still there"


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def script(folder: Path, body: str) -> list[str]:
    """A Python script that notes its process id and then does `body`.

    `put` writes bytes to the console.
    """
    path = folder / "emulator.py"
    path.write_text(
        "import os, signal, subprocess, sys, time\nfrom pathlib import Path\n"
        f"Path({str(folder / 'own.pid')!r}).write_text(str(os.getpid()))\n"
        "def put(data):\n    os.write(1, data)\n"
        f"{body}\n"
    )
    return [sys.executable, str(path)]


# In seconds: more than a busy machine needs, and less than an emulator here sleeps.
GENEROUS = 120.0


def run(
    command: list[str], timeout: float = GENEROUS, idle: float = GENEROUS
) -> tuple[Boot, bytes]:
    trace = io.BytesIO()
    return record(command, trace, timeout=timeout, idle=idle), trace.getvalue()


def run_until_it_spoke(
    command: list[str], enough: bytes, *, timeout: float | None = None, idle: float | None = None
) -> tuple[Boot, bytes, float]:
    """The run, its console and the limit.

    The limit is doubled until the emulator has time to print enough: a busy machine may take longer
    to start the emulator than a short limit allows.
    """
    limit = idle if idle is not None else timeout
    assert limit is not None
    while True:
        boot, trace = run(
            command,
            timeout=GENEROUS if timeout is None else limit,
            idle=GENEROUS if idle is None else limit,
        )
        if trace.startswith(enough) or limit > GENEROUS:
            return boot, trace, limit
        limit *= 2


@pytest.mark.behaviour("H-03")
def test_the_end_of_the_trace_ends_the_run(stand_in: Path) -> None:
    boot, trace = run(script(stand_in, f"put({END!r})\ntime.sleep(600)"))
    assert boot.end is End.COMPLETE  # so it waited for no limit
    assert (boot.events, boot.bytes) == (2, len(trace))
    assert trace == END


@pytest.mark.behaviour("H-08")
def test_the_console_is_recorded_byte_by_byte(stand_in: Path) -> None:
    noise = bytes(range(256)) * 300 + b"\r\n\x00\xff no newline at the end of this: "
    boot, trace = run(script(stand_in, f"put({noise!r})\nput({END!r})\ntime.sleep(600)"))
    assert boot.end is End.COMPLETE
    assert trace == noise + END


@pytest.mark.behaviour("H-03", "H-09")
@pytest.mark.parametrize(
    "almost",
    [
        END.replace(b"~:1111", b"~:1112"),  # its checksum is wrong
        END.replace(b"~:", b"-:"),
        END.rstrip(b"\n"),  # cut
        HEAD + line(1, "SAY pd=PD_1 text=END"),
        HEAD + line(1, "ENDING count=1"),
    ],
)
def test_what_only_looks_like_the_end_is_not(stand_in: Path, almost: bytes) -> None:
    command = script(stand_in, f"put({almost!r})\ntime.sleep(600)")
    boot, trace, _ = run_until_it_spoke(command, almost, idle=0.5)
    assert boot.end is End.SILENT
    assert trace == almost


@pytest.mark.behaviour("H-03", "H-09")
def test_the_end_is_found_in_pieces_and_behind_other_output(stand_in: Path) -> None:
    said = b"kernel says " + END
    body = f"for byte in {said!r}:\n    put(bytes([byte]))\n    time.sleep(0.001)\ntime.sleep(600)"
    boot, trace = run(script(stand_in, body))
    assert boot.end is End.COMPLETE
    assert trace == said


def test_carriage_returns_do_no_harm(stand_in: Path) -> None:
    boot, _ = run(
        script(
            stand_in, f"put({END.replace(chr(10).encode(), bytes([13, 10]))!r})\ntime.sleep(600)"
        )
    )
    assert boot.end is End.COMPLETE


@pytest.mark.parametrize(
    ("said", "found"),
    [
        (
            b'seL4 called fail at boot.c:1 in function f, saying "x"\n',
            "seL4 called fail at boot.c:1",
        ),
        (b"seL4 failed assertion 'x' at a.c:2 in function g\n", "seL4 failed assertion 'x'"),
        (b"\n========== KERNEL EXCEPTION ==========\n", "KERNEL EXCEPTION"),
        (b"\ncellreap: panic: no slot is left 0x0\n", "no slot is left"),
        (
            b'Debug halt syscall from user thread 0xffffff807fe30400 "halter"\nhalting...\n',
            'from user thread 0xffffff807fe30400 "halter"',
        ),
        (b"refkernel: halted by seL4_DebugHalt\n", "halted by seL4_DebugHalt"),
        (
            b"Caught cap fault in send phase at address 0\nwhile trying to handle:\n"
            b"vm fault on data\n"
            b'in thread 0xffffff801fe08400 "rootserver" at address 0x401000\nWith stack:\n',
            '"rootserver" at address 0x401000',
        ),
    ],
)
def test_a_fatal_message_ends_the_run_with_what_follows_it(
    stand_in: Path, said: bytes, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As long as a busy machine needs for the following. The emulator ends before that.
    monkeypatch.setattr("cellreap.runs.boot._GRACE", GENEROUS)
    body = f"put({said!r})\ntime.sleep(0.05)\nput(b'0x1234: the stack')"
    boot, trace = run(script(stand_in, body))
    assert boot.end is End.FATAL
    assert found in boot.detail
    assert "\n" not in str(boot)
    assert trace == said + b"0x1234: the stack"


def test_a_fatal_message_ends_a_run_that_would_go_on(stand_in: Path) -> None:
    said = b"cellreap: panic: no slot is left 0x0\n"
    boot, trace = run(script(stand_in, f"put({said!r})\ntime.sleep(600)"))
    assert boot.end is End.FATAL
    assert boot.seconds < GENEROUS
    assert trace == said


class Scripted:
    """A console that says these things at these seconds, of a clock of its own."""

    def __init__(self, said: dict[float, bytes]) -> None:
        self.now = 0.0
        self.last_words = ""
        self._said = dict(said)

    def read(self, seconds: float) -> bytes | None:
        at = min(self._said, default=float("inf"))
        if at > self.now + seconds:
            self.now += seconds
            return None
        self.now = max(self.now, at)
        return self._said.pop(at)

    def failure(self) -> str:
        return ""


@pytest.mark.behaviour("S-15", "J-15")
@pytest.mark.parametrize(
    ("goes_on", "end"), [({10.5: line(1, "SAY pd=PD_1 text=x")}, End.TIMEOUT), ({}, End.FATAL)]
)
def test_what_looks_like_a_panic_is_none_if_an_event_follows_behind_the_limit(
    monkeypatch: pytest.MonkeyPatch, goes_on: dict[float, bytes], end: End
) -> None:
    """A PD of a debug kernel can print such a message when the time is nearly up."""
    forged = b"cellreap: panic: no slot is left 0x0\n"
    console = Scripted({1.0: HEAD, 9.9: forged, **goes_on})
    monkeypatch.setattr("cellreap.runs.boot.time.monotonic", lambda: console.now)
    trace = io.BytesIO()
    assert record_from(console, trace, timeout=10.0).end is end
    assert forged in trace.getvalue()


def test_the_fault_of_another_thread_is_not_fatal(stand_in: Path) -> None:
    said = b'in thread 0xffffff801fe08400 "client" at address 0x401000\n'
    boot, _ = run(
        script(stand_in, f"put({said!r})\ntime.sleep(0.5)\nput({END!r})\ntime.sleep(600)")
    )
    assert boot.end is End.COMPLETE


def test_the_time_limit_ends_a_run_that_goes_on_and_keeps_what_there_is(stand_in: Path) -> None:
    body = "while True:\n    put(b'tick\\n')\n    time.sleep(0.01)"
    boot, trace, limit = run_until_it_spoke(script(stand_in, body), b"tick\ntick\n", timeout=0.7)
    assert boot.end is End.TIMEOUT
    assert limit - 0.1 < boot.seconds < limit + GENEROUS
    assert trace.startswith(b"tick\ntick\n")
    assert f"limit {limit:g} s" in str(boot)


@pytest.mark.behaviour("H-03")
def test_a_run_may_take_any_time_as_long_as_it_goes_on(
    stand_in: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a machine that takes 45 s between two pieces of output."""
    clock = itertools.count(0, 45)
    monkeypatch.setattr("cellreap.runs.boot.time.monotonic", lambda: float(next(clock)))
    body = f"for _ in range(20):\n    put(b'tick\\n')\n    time.sleep(0.01)\nput({END!r})"
    boot = record(script(stand_in, body), io.BytesIO())
    assert boot.end is End.COMPLETE
    assert boot.seconds > 60


def test_without_a_time_limit_the_output_is_limited(
    stand_in: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cellreap.runs.boot.MAX_UNTIMED_BYTES", 1000)
    body = "while True:\n    put(b'tick\\n')"
    boot = record(script(stand_in, body), io.BytesIO())
    assert boot.end is End.FLOOD
    assert boot.detail == "limit 1000 bytes"


def test_silence_ends_a_run_before_its_time(stand_in: Path) -> None:
    command = script(stand_in, "put(b'hello\\n')\ntime.sleep(600)")
    boot, trace, _ = run_until_it_spoke(command, b"hello\n", idle=0.4)
    assert boot.end is End.SILENT
    assert trace == b"hello\n"
    assert boot.seconds < GENEROUS


def test_an_emulator_that_ends_is_told_with_its_last_words(stand_in: Path) -> None:
    body = "put(b'booting\\n')\nsys.stderr.write('first\\nno such CPU\\n\\n')\nsys.exit(1)"
    boot, trace = run(script(stand_in, body))
    assert boot.end is End.FAILED
    assert boot.detail == "no such CPU"
    assert trace == b"booting\n"


def test_an_emulator_that_ends_well_has_not_failed(stand_in: Path) -> None:
    boot, _ = run(script(stand_in, "put(b'booting\\n')"))
    assert boot.end is End.EXITED


def test_an_emulator_that_is_killed_has_failed_by_that_signal(stand_in: Path) -> None:
    boot, _ = run(script(stand_in, "put(b'booting\\n')\nos.kill(os.getpid(), signal.SIGKILL)"))
    assert (boot.end, boot.detail) == (End.FAILED, "signal 9")


@pytest.mark.slow
def test_one_that_ignores_being_asked_is_ended_all_the_same(stand_in: Path) -> None:
    body = f"signal.signal(signal.SIGTERM, signal.SIG_IGN)\nput({END!r})\ntime.sleep(600)"
    boot, _ = run(script(stand_in, body))
    assert boot.end is End.COMPLETE
    assert boot.seconds < GENEROUS


def test_children_of_the_emulator_go_with_it(stand_in: Path) -> None:
    body = (
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"Path({str(stand_in / 'child.pid')!r}).write_text(str(child.pid))\n"
        f"put({END!r})\ntime.sleep(600)"
    )
    boot, _ = run(script(stand_in, body))
    assert boot.end is End.COMPLETE
    until = time.monotonic() + GENEROUS
    while alive(int((stand_in / "child.pid").read_text())) and time.monotonic() < until:
        time.sleep(0.01)


def test_an_error_while_recording_ends_it_too(stand_in: Path) -> None:
    class Full(io.BytesIO):
        def write(self, data: object) -> int:
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        record(
            script(stand_in, "put(b'x')\ntime.sleep(600)"), Full(), timeout=GENEROUS, idle=GENEROUS
        )


@pytest.mark.behaviour("T-29")
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_when_we_are_ended_the_emulator_ends_with_us(stand_in: Path, sign: signal.Signals) -> None:
    command = script(stand_in, "put(b'running\\n')\ntime.sleep(600)")
    code = (
        "import sys\nfrom cellreap.runs.boot import record\n"
        "record(sys.argv[1:], sys.stdout.buffer, timeout=120, idle=120)\n"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [*HEARS_SIGNALS, sys.executable, "-c", code, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=env,
    ) as ours:
        assert ours.stdout is not None
        assert ours.stdout.readline() == b"running\n"
        emulator = int((stand_in / "own.pid").read_text())
        assert alive(emulator)
        ours.send_signal(sign)
        code_left = ours.wait(GENEROUS)
    assert code_left != 0
    until = time.monotonic() + GENEROUS
    while alive(emulator) and time.monotonic() < until:
        time.sleep(0.01)
    assert not alive(emulator)


def test_a_command_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(CellreapError, match=f"{tmp_path}/none cannot be started"):
        record([f"{tmp_path}/none"], io.BytesIO())


@pytest.mark.slow
def test_the_console_receives_the_file_that_is_typed(stand_in: Path) -> None:
    command, trace = script(stand_in, "put(os.read(0, 100))\nput(os.read(0, 100))"), io.BytesIO()
    record(command, trace, timeout=60, typed=stand_in / "emulator.py")
    assert trace.getvalue() == (stand_in / "emulator.py").read_bytes()[:200]
    with pytest.raises(InputError, match="none: cannot be read: No such file"):
        record(command, io.BytesIO(), typed=stand_in / "none")


def test_nothing_stays_open(stand_in: Path) -> None:
    def descriptors() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    run(script(stand_in, f"put({END!r})\ntime.sleep(600)"))
    before = descriptors()
    handler = signal.getsignal(signal.SIGTERM)
    for _ in range(5):
        run(script(stand_in, f"put({END!r})\ntime.sleep(600)"))
    assert descriptors() <= before
    assert signal.getsignal(signal.SIGTERM) is handler


def test_progress_is_told_as_events_come(stand_in: Path) -> None:
    told: list[int] = []
    said = [HEAD, *(line(n, "SAY pd=PD_1 text=x") for n in range(1, 5))]
    body = "\n".join(f"put({each!r})\ntime.sleep(0.05)" for each in said)
    record(
        script(stand_in, f"{body}\nput({LAST!r})\ntime.sleep(600)"),
        io.BytesIO(),
        timeout=GENEROUS,
        idle=GENEROUS,
        on_events=told.append,
    )
    assert told == sorted(set(told))
    assert told[-1] == 6


@pytest.mark.behaviour("H-03")
def test_the_command_line_is_a_function_of_what_runs() -> None:
    arguments = (machine_for({"SEL4_ARCH": "x86_64"}, "x"), "/opt/qemu", Path("f"))
    command = qemu_command(*arguments, extra=["-icount", "shift=0"])
    assert command == qemu_command(*arguments, extra=["-icount", "shift=0"])
    assert command[0] == "/opt/qemu"
    assert command[-2:] == ["-icount", "shift=0"]
    pairs = dict(itertools.pairwise(command))
    assert (pairs["-kernel"], pairs["-initrd"]) == ("f/kernel.elf", "f/roottask.elf")
    assert (pairs["-cpu"], pairs["-m"]) == ("Nehalem,+pdpe1gb", "512")
    assert "-no-reboot" in command
    assert pairs["-serial"] == "chardev:console"


def test_extra_arguments_come_as_words_or_as_one_text() -> None:
    assert split_arguments(["-icount shift=0"]) == ["-icount", "shift=0"]
    assert split_arguments(["-icount", "shift=0"]) == ["-icount", "shift=0"]
    assert split_arguments(["-append 'a b'"]) == ["-append", "a b"]
    with pytest.raises(UsageError, match="--qemu-arg 'a: No closing quotation"):
        split_arguments(["'a"])


def test_what_the_kernel_decides_is_in_the_command_line_of_aarch64() -> None:
    options = {"SEL4_ARCH": "aarch64", "ARM_PLAT": "qemu-arm-virt", "ARM_CORTEX_A57": True}
    machine = machine_for(options, "x")
    command = qemu_command(machine, "/opt/qemu", Path("/f"), 1 << 30, ["-m", "2G"])
    pairs = dict(itertools.pairwise(command[:-2]))
    assert (pairs["-machine"], pairs["-cpu"], pairs["-m"]) == ("virt", "cortex-a57", "1073741824B")
    assert pairs["-kernel"] == "/f/loader.elf"
    assert "-initrd" not in command
    assert command[-2:] == ["-m", "2G"]  # the user's option comes last


def test_an_emulator_that_is_not_installed_is_named_with_its_package() -> None:
    machine = Machine("qemu-system-none", "qemu-none", (), ())
    with pytest.raises(
        CellreapError, match="qemu-system-none is not installed: on Debian, apt install qemu-none"
    ):
        find_emulator(machine)


@pytest.mark.behaviour("B-05")
@pytest.mark.parametrize(
    ("changed", "count", "said"),
    [
        ({}, 0, "KernelPrinting is off"),
        ({"PRINTING": True}, 0, "it was not entered, or stopped at once"),
        ({"PRINTING": True}, 80, r"EL2 with TCR_EL2 for 40 bits$"),
        ({"ARM_PA_SIZE_BITS_44": True}, 0, "TCR_EL2 for 44 bits"),
    ],
)
def test_a_kernel_that_stays_silent_is_told_with_what_was_checked(
    changed: dict[str, bool], count: int, said: str
) -> None:
    options = {
        "SEL4_ARCH": "aarch64",
        "ARM_PLAT": "zcu102",
        "ARM_CORTEX_A53": True,
        "ARM_HYPERVISOR_SUPPORT": True,
        **changed,
    }
    machine = machine_for(options, "x")
    silent = Boot(End.SILENT, 5.0, count, 0, "nothing came for 5 s")
    detail = with_diagnosis(silent, options, machine, 4 << 30).detail
    assert detail.startswith("nothing came for 5 s; no event ever came. ")
    for part in ("xlnx-zcu102,secure=on,virtualization=on", "cortex-a53", "4096 MiB"):
        assert part in detail
    assert re.search(said, detail)
    for other in (replace(silent, events=1), replace(silent, end=End.FATAL)):
        assert with_diagnosis(other, options, machine, 4 << 30) == other
