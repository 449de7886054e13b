# SPDX-License-Identifier: BSD-2-Clause
"""Boards of which every part is a program: retries, clear errors, and always power off.

The power is a file: each command of the description appends a line to it.
"""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from cellreap.boards.description import parse_description
from cellreap.boards.drivers import serial_port
from cellreap.boards.flash import Limits
from cellreap.boards.locks import things_of
from cellreap.errors import CellreapError
from cellreap.runs.boot import End
from cellreap.trace.frames import MARK
from kit.board_bench import GENEROUS, Bench, flash_whole
from kit.command_line import HEARS_SIGNALS
from kit.paths import ROOT


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.mark.behaviour("H-04")
def test_a_board_is_switched_on_booted_captured_and_switched_off(bench: Bench) -> None:
    flashed = bench.flash(bench.described("right"))
    assert flashed.boot.end is End.COMPLETE
    assert (flashed.tries, flashed.failures) == (1, ())
    assert bench.power == ["off", "on", "off"]
    assert b"~:01" in (bench.folder / "trace").read_bytes()
    assert b"dhcp" in (bench.folder / "log").read_bytes()


@pytest.mark.behaviour("H-05")
@pytest.mark.parametrize(
    "wrong",
    ["no file", "reset midway", "refuses", "reset at boot", "closes"],
)
def test_a_board_that_does_not_boot_is_switched_off_and_on_again(bench: Bench, wrong: str) -> None:
    flashed = bench.flash(bench.described(wrong, "right"))
    assert flashed.boot.end is End.COMPLETE
    assert flashed.tries == 2
    assert len(flashed.failures) == 1
    assert bench.power == ["off", "on", "off"] * 2


@pytest.mark.behaviour("H-05")
@pytest.mark.parametrize(
    ("way", "message"),
    [
        ("checksum error", "bench did not boot in 2 tries: `crc32 0x50000000 0x320`: checksum err"),
        ("wrong file", "bench did not boot in 2 tries: `tftpboot 0x50000000 10.0.2.2:cellreap."),
        ("reset midway", "bench did not boot in 2 tries: the board was reset during `tftpboot 0x"),
        ("refuses", "bench did not boot in 2 tries: `bootm 0x50000000 - ${fdtcontroladdr}` did n"),
        ("closes", "bench did not boot in 2 tries: the console was closed"),
    ],
)
def test_after_the_last_try_the_error_says_why(bench: Bench, way: str, message: str) -> None:
    with pytest.raises(CellreapError) as error:
        bench.flash(bench.described(way))
    assert str(error.value).startswith(message)
    assert str(bench.folder / "log") in str(error.value)
    assert bench.power == ["off", "on", "off"] * 2


@pytest.mark.behaviour("H-05")
@pytest.mark.parametrize("way", ["silence", "garbage", "no prompt"])
def test_a_board_without_a_prompt_is_given_up_after_the_tries(bench: Bench, way: str) -> None:
    with pytest.raises(CellreapError, match=r"did not boot in 2 tries: no prompt `=> ` within 0.3"):
        bench.flash(bench.described(way, prompt=0.3), Limits(retries=1))
    assert bench.power == ["off", "on", "off"] * 2


@pytest.mark.behaviour("H-05")
def test_a_command_that_never_ends_is_given_up(bench: Bench) -> None:
    with pytest.raises(CellreapError, match=r"in 1 try: no answer to `tftpboot .*` within 0.3 s"):
        bench.flash(bench.described("hangs", load=0.3), Limits(retries=0))
    assert bench.power == ["off", "on", "off"]


@pytest.mark.behaviour("H-05")
def test_an_image_that_says_nothing_is_tried_again_and_then_is_the_result(bench: Bench) -> None:
    flashed = bench.flash(bench.described("dead image", boot=0.3), Limits(retries=1))
    assert flashed.boot.end is End.SILENT
    assert flashed.boot.detail == "no event within 0.3 s"
    assert flashed.tries == 2
    assert bench.power == ["off", "on", "off"] * 2


@pytest.mark.behaviour("H-05", "H-07")
@pytest.mark.parametrize(
    ("way", "end"), [("breaks off", End.TIMEOUT), ("reset in the run", End.FATAL)]
)
def test_a_run_that_has_begun_is_never_repeated_and_is_kept(
    bench: Bench, way: str, end: End
) -> None:
    flashed = bench.flash(bench.described(way), Limits(timeout=1.0))
    assert flashed.boot.end is end
    assert (flashed.tries, flashed.boot.events) == (1, 1)
    assert b"~:01" in (bench.folder / "trace").read_bytes()
    assert bench.power == ["off", "on", "off"]


# -- power off on every way out


def test_the_power_goes_off_if_it_did_not_come_on(bench: Bench) -> None:
    on = f"echo on >>{bench.folder}/power; echo 'no such outlet' >&2; exit 3"
    with pytest.raises(CellreapError, match="failed with exit code 3: no such outlet"):
        bench.flash(bench.described("right", on=on))
    assert bench.power == ["off", "on", "off"]


def test_a_power_command_that_hangs_is_ended(bench: Bench) -> None:
    text = bench.text("right", on=f"echo on >>{bench.folder}/power; sleep 600")
    text = text.replace("[console]", "seconds = 0.5\n[console]")
    with pytest.raises(CellreapError, match=r"takes longer than 0.5 s"):
        bench.flash(parse_description(text, bench.folder / "bench.toml"))
    assert bench.power == ["off", "on", "off"]


def test_a_console_that_cannot_be_opened_switches_nothing_on(bench: Bench) -> None:
    with pytest.raises(CellreapError, match="cannot be started"):
        bench.flash(bench.described("right", console="['/no/such/program']"))
    assert not (bench.folder / "power").exists()


def test_power_off_is_tried_again(bench: Bench) -> None:
    file = bench.folder / "power"
    off = f"echo off >>{file}; test $(grep -c off {file}) != 2"
    flashed = bench.flash(bench.described("right", off=off))
    assert flashed.boot.end is End.COMPLETE
    assert bench.power == ["off", "on", "off", "off"]


def test_a_board_that_cannot_be_switched_off_is_said_to_be_on(bench: Bench) -> None:
    file = bench.folder / "power"
    off = f"echo off >>{file}; test $(grep -c off {file}) = 1"
    with pytest.raises(CellreapError, match=r"bench may still be ON: power.off: .* exit code 1"):
        bench.flash(bench.described("right", off=off))
    assert bench.power == ["off", "on", "off", "off", "off"]


def _has(file: Path, awaited: bytes) -> bool:
    return file.exists() and awaited in file.read_bytes()


@pytest.mark.behaviour("T-29")
@pytest.mark.parametrize(
    ("number", "way"),
    [(signal.SIGINT, "no prompt"), (signal.SIGTERM, "hangs"), (signal.SIGHUP, "breaks off")],
)
def test_signals_switch_the_board_off(bench: Bench, number: int, way: str) -> None:
    """While the prompt, an answer, or the trace is awaited."""
    log = "trace.uboot.log"
    sign = {"no prompt": log, "hangs": log, "breaks off": "trace"}[way]
    awaited = {"no prompt": b"autoboot", "hangs": b"T T T", "breaks off": MARK}[way]
    child = subprocess.Popen(
        [*HEARS_SIGNALS, sys.executable, "-m", "kit.board_bench", str(bench.folder), way],
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'pyhost'}:{ROOT / 'tests'}"},
        stderr=subprocess.DEVNULL,
    )
    try:
        until = time.monotonic() + GENEROUS
        while not _has(bench.folder / sign, awaited):
            assert time.monotonic() < until
            time.sleep(0.02)
        child.send_signal(number)
        assert child.wait(GENEROUS) != 0
    finally:
        child.kill()
        child.wait()
    assert bench.power == ["off", "on", "off"]
    assert not (bench.folder / "cellreap.uimg").exists(), "it is still served"


@pytest.mark.behaviour("S-10")
def test_a_board_has_one_user_and_is_free_when_that_is_killed(bench: Bench) -> None:
    child = subprocess.Popen(
        [sys.executable, "-m", "kit.board_bench", str(bench.folder), "breaks off"],
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'pyhost'}:{ROOT / 'tests'}"},
        stderr=subprocess.DEVNULL,
    )
    try:
        until = time.monotonic() + GENEROUS
        while not (bench.folder / "trace").exists():
            assert time.monotonic() < until
            time.sleep(0.02)
        with pytest.raises(CellreapError, match=rf"is in use by process {child.pid}$"):
            flash_whole(bench.folder, "right")
        assert bench.power == ["off", "on"], "the second one has switched it off"
        assert (bench.folder / "cellreap.uimg").exists(), "the second one has deleted the file"
    finally:
        child.kill()
        child.wait()
    flash_whole(bench.folder, "right")
    assert b"~:01" in (bench.folder / "trace").read_bytes()


@pytest.mark.behaviour("S-10")
def test_descriptions_of_one_thing_exclude_each_other(tmp_path: Path) -> None:
    link = tmp_path / "by-id"
    link.symlink_to("/dev/ttyUSB7")

    def things(console: str, on: str = "true", file: str = "a") -> set[str]:
        text = Bench(tmp_path).text("right", on=on, off=on)
        lines = [line for line in text.splitlines() if not line.startswith("command = ")]
        lines.insert(lines.index("[console]") + 1, console)
        lines.insert(lines.index("[tftp]") + 1, f'file = "{file}"')
        return set(things_of(parse_description("\n".join(lines), tmp_path / "b.toml"), tmp_path))

    own = things('device = "/dev/ttyUSB7"')
    assert own == {"the serial port /dev/ttyUSB7", f"the file {tmp_path}/a"}
    assert own & things(f'device = "{link}"', file="b") == {"the serial port /dev/ttyUSB7"}
    assert not own & things('device = "/dev/ttyUSB8"', file="b")
    ssh = things('command = ["ssh", "lab"]', on="relay 3", file="b")
    assert ssh & things('device = "/dev/ttyUSB8"', on="relay 3") == {"the power of `relay 3`"}
    assert ssh & things('command = ["ssh", "lab"]') == {"the console `ssh lab`"}


TAKES_A_PORT = """
import sys, time
from cellreap.boards.drivers import serial_port
with serial_port(sys.argv[1], 115200):
    print("has it", flush=True)
    time.sleep(600)
"""


@pytest.mark.behaviour("S-10")
def test_a_serial_port_has_one_user_and_is_free_when_that_is_killed() -> None:
    master, slave = pty.openpty()
    name = os.ttyname(slave)
    command = [sys.executable, "-c", TAKES_A_PORT, name]
    first = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert first.stdout is not None
        assert first.stdout.readline() == "has it\n"
        held = rf"^the serial port {name} is in use by process {first.pid}$"
        with pytest.raises(CellreapError, match=held), serial_port(name, 115200):
            pass
        first.kill()
        first.communicate()
        with serial_port(name, 115200):
            pass
    finally:
        first.kill()
        first.wait()
        os.close(master)
        os.close(slave)


# -- a serial port


def test_a_serial_port_is_raw_and_carries_every_byte() -> None:
    master, slave = pty.openpty()
    every = bytes(range(256))
    try:
        with serial_port(os.ttyname(slave), 115200) as port:
            assert port.read(0) is None
            port.write(every)
            assert os.read(master, 1000) == every
            os.write(master, every)
            got = b""
            while len(got) < len(every):
                got += port.read(GENEROUS) or b""
            assert got == every
            assert termios.tcgetattr(slave)[4] == termios.B115200
    finally:
        os.close(master)
        os.close(slave)


def test_a_serial_port_that_goes_away_closes_the_console() -> None:
    master, slave = pty.openpty()
    name = os.ttyname(slave)
    with serial_port(name, 9600) as port:
        os.close(slave)
        os.close(master)
        assert port.read(GENEROUS) == b""
        assert port.failure()
        with pytest.raises(CellreapError, match=name):
            port.write(b"x" * 100000)


@pytest.mark.parametrize(
    ("name", "baud", "message"),
    [
        ("/no/such/port", 115200, r"console.device: /no/such/port: No such file"),
        ("/dev/null", 115200, r"console.device: /dev/null: Inappropriate ioctl"),
        ("/dev/null", 12345, r"console.baud: 12345 is no speed"),
    ],
)
def test_a_serial_port_that_cannot_be_used_is_named(name: str, baud: int, message: str) -> None:
    with pytest.raises(CellreapError, match=message), serial_port(name, baud):
        pass
