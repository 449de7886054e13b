# SPDX-License-Identifier: BSD-2-Clause
"""Systems of sDDF, built by their own makefiles: their drivers go and come back, and their clients,
as they were built, know nothing.

CELLREAP_SDDF names a checkout of sDDF 0.6.0, CELLREAP_MICROKIT_SDK an SDK 2.0.1. PYTHON is a Python
with sdfgen 0.23.1, by default python3.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import string
import struct
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Unpack

import pytest

from cellreap.runs.boot import End
from cellreap.system.config import Config, Crash
from cellreap.system.microkit import runnable_system
from cellreap.system.programs import Source
from cellreap.system.sdk import load_sdk
from cellreap.testing import Change, Run, Target, validated
from cellreap.testing.target import How
from cellreap.trace.lines import Lines
from kit.kernels import prefix_of
from kit.microkit import BOARDS, Microkit, pd, with_tool

CHECKOUT = "CELLREAP_SDDF"
BOARD = BOARDS[0]
LETTERS = "".join(sorted(set(string.ascii_uppercase) - set("HIPUIRQ")))
"""Those that nobody else prints."""
SERIAL = {
    "serial_driver": 0,
    "serial_virt_tx": 1,
    "serial_virt_rx": 1,
    "client0": 2,
    "client1": 2,
}
"""The PDs of the serial system, in the order of its description -> how far from the driver."""
DISK, SECTOR, SECTORS, FAT = 16 << 20, 512, 2048, 6
"""Bytes of the disk and of a sector; the first sector of its only partition, and its kind."""
VIRTIO = """
[[region]]
name = "virtio_mmio@a003e00/drivers/blk/regs"
on_death = [{ offset = 0xe70, value = 0, until = 0 }]
[[region]]
name = "virtio_mmio@a003e00/drivers/blk/virtio_metadata"
after = "zero"
"""
"""The device is reset, and then its queues are cleared, which for the kernel are no memory.
"""
KEYS = 6_000
SECONDS = 4

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def sddf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one for each system, in which its programs and its description are."""
    checkout, python = os.environ.get(CHECKOUT), os.environ.get("PYTHON", "python3")
    if not checkout:
        pytest.skip(f"{CHECKOUT} names no checkout of sDDF")
    if shutil.which("ld.lld") is None or shutil.which("dtc") is None:
        pytest.skip("clang, lld and dtc are not installed")
    if subprocess.run([python, "-c", "import sdfgen"], check=False, capture_output=True).returncode:
        pytest.skip(f"{python} has no sdfgen")
    folder = tmp_path_factory.mktemp("sddf")
    sdk = with_tool(tmp_path_factory.mktemp("sdk"))
    source = folder / "source"
    shutil.copytree(checkout, source, ignore=shutil.ignore_patterns(".git", "build"))
    where = [f"MICROKIT_BOARD={BOARD.name}", f"MICROKIT_SDK={sdk}", f"PYTHON={python}"]
    for example in ("serial", "timer", "blk"):
        words = ["make", "-s", "-C", str(source / "examples" / example), *where]
        made = [*words, f"BUILD_DIR={folder / example}"]
        subprocess.run(made, check=True, capture_output=True)
    return folder


def killed(driver: str, times: int, own: Mapping[str, Any] = {}) -> Change:
    """The driver is killed so often, each instance at an instant of its first 2 ms. own: by PD."""

    def change(config: Config) -> Config:
        crash = Crash(
            pd=driver, how="kill", repeat=times, seed=times, after_ns=50_000, spread_ns=2_000_000
        )
        often = {"respawn_budget": times + 1, "respawn_delay_ms": 0}
        pds = tuple(
            each.model_copy(update=(often if each.respawn else {}) | own.get(each.name, {}))
            for each in config.pds
        )
        parts = {
            "pds": pds,
            "crashes": (crash,),
            "system": config.system.model_copy(update={"truth": False}),
            "expect": config.expect.model_copy(update={"cleanups": times}),
        }
        return validated(config.model_copy(update=parts))

    return change


def run_of(
    system: Path, search: list[Path], policy: str, folder: Path, **how: Unpack[How]
) -> tuple[Run, str]:
    """A run, and what its PDs printed."""
    (folder / "policy.toml").write_text(policy)
    made = runnable_system(system, search, folder / "policy.toml")
    sdk = load_sdk(prefix_of(f"{BOARD.name}/debug"), BOARD.arch)
    run = Target(sdk, folder, (folder,)).boot_read(Source(made.config, made.text, system), **how)
    assert (run.boot.end, run.report.violations) == (End.COMPLETE, [])
    with run.trace.open("rb") as file:
        return run, Lines().without(file).decode(errors="replace")


def back(*names: str) -> str:
    return "".join(f'[[pd]]\nname = "{name}"\nrespawn = true\n' for name in names)


def together(depths: Mapping[str, int]) -> str:
    """A policy by which all come back with the first one. depths: how far from it each is."""
    policy = f"[policy]\npd_depth = {max(depths.values())}\n" + back(*depths)
    for server, depth in depths.items():
        clients = json.dumps([name for name, other in depths.items() if other == depth + 1])
        policy += f'[[serves]]\nserver = "{server}"\nclients = {clients}\n'
    return policy


def echo(console: str) -> str:
    """What clients wrote of what was typed."""
    said = console[console.rindex("Please give me character!") :]
    return "".join(letter for letter in said if letter in LETTERS)


def kept_busy(system: Path, folder: Path) -> Path:
    """The same with a PD that runs while all others wait: else the run would be over."""
    (folder / system.name).write_text(
        system.read_text().replace(
            "</system>", pd("counter", 'priority="0"', "", "counter") + "</system>"
        )
    )
    return folder / system.name


BUSY = {"counter": {"symbols": {"ticks": SECONDS * BOARD.clock_hz}}}


def typed_in(folder: Path) -> Path:
    (folder / "typed").write_text((LETTERS * (KEYS // len(LETTERS) + 1))[:KEYS])
    return folder / "typed"


@pytest.mark.parametrize("times", [8, pytest.param(200, marks=pytest.mark.thorough)])
@pytest.mark.behaviour("P-06")
def test_clients_of_a_serial_driver_echo_on(sddf: Path, tmp_path: Path, times: int) -> None:
    """The order stays, and nothing comes twice. Of each instance, at most two characters are lost:
    one that it had taken from the UART and not passed on, and one that it was to write.
    """
    typed, made_in = typed_in(tmp_path), sddf / "serial"
    change, policy = killed("serial_driver", times), back("serial_driver")
    run, console = run_of(
        made_in / "serial.system", [made_in], policy, tmp_path, change=change, typed=typed
    )
    assert len(run.alive()) == len(SERIAL)
    heard, rest = echo(console), iter(typed.read_text())
    assert all(letter in rest for letter in heard), "the order, and once"
    assert KEYS - 2 * times <= len(heard)


@pytest.mark.behaviour("P-06")
def test_all_who_depend_on_a_serial_driver_come_back_in_order(sddf: Path, tmp_path: Path) -> None:
    """Each instance of the clients says hello, and the last one echoes."""
    policy = together(SERIAL)
    typed, made_in, times = typed_in(tmp_path), sddf / "serial", 5
    change = killed("serial_driver", times)
    run, console = run_of(
        made_in / "serial.system", [made_in], policy, tmp_path, change=change, typed=typed
    )
    for n in range(1, times + 1):
        depths = {run.name(pd): int(depth) for pd, depth in run.plan(n)["destroyed_pds"]}
        assert depths == SERIAL
    made = [event["name"] for event in run.of("PD") if event["name"] in SERIAL]
    assert made == list(SERIAL) * (times + 1)
    heard = echo(console)
    assert len(heard) > KEYS // 2
    assert heard in typed.read_text()


@pytest.mark.parametrize("times", [8, pytest.param(200, marks=pytest.mark.thorough)])
@pytest.mark.behaviour("P-06")
def test_clients_of_a_timer_have_their_timeouts(
    sddf: Path, microkit: Microkit, tmp_path: Path, times: int
) -> None:
    """The driver is passive, and forgets who waits. It notifies its client when it is back, which
    then asks anew. Another PD keeps the processor busy meanwhile: a run is over when all wait.
    """
    if microkit.board != BOARD:
        pytest.skip("the timer is that of Arm's processors")
    policy = back("timer_driver") + 'callers = "repeat"\n'
    system = kept_busy(sddf / "timer" / "timer.system", tmp_path)
    change, search = killed("timer_driver", times, BUSY), [sddf / "timer", microkit.programs]
    _, console = run_of(system, search, policy, tmp_path, change=change)
    told = re.findall(r"the time \(in nanoseconds\) is: (\d+)", console)
    *_, before, last = map(int, told)  # others may be in two lines, with some of the trace between
    assert 1_000_000_000 <= last - before < 1_500_000_000


@pytest.mark.parametrize("times", [8, pytest.param(200, marks=pytest.mark.thorough)])
@pytest.mark.behaviour("P-06")
def test_a_disk_is_written_and_read_again(
    sddf: Path, microkit: Microkit, tmp_path: Path, times: int
) -> None:
    """The driver's requests go with it, so its virtualiser and the client do, too. Each instance of
    the client writes and reads anew, and the last one comes to its end.
    """
    if microkit.board != BOARD:
        pytest.skip("the system is for another board")
    disk, made_in = tmp_path / "disk", sddf / "blk"
    image = bytearray(DISK)
    image[446:462] = struct.pack("<B3xB3xII", 0, FAT, SECTORS, DISK // SECTOR - SECTORS)
    image[510:512] = b"\x55\xaa"
    disk.write_bytes(image)
    drive = ("-drive", f"file={disk},if=none,format=raw,id=hd", "-device")
    run, console = run_of(
        kept_busy(made_in / "blk.system", tmp_path),
        [made_in, microkit.programs],
        together({"blk_driver": 0, "blk_virt": 1, "client": 2}) + VIRTIO,
        tmp_path,
        change=killed("blk_driver", times, BUSY),
        qemu_args=(
            *("-global", "virtio-mmio.force-legacy=false"),
            *(*drive, "virtio-blk-device,drive=hd"),
        ),
    )
    assert run.alive() == {"blk_driver", "blk_virt", "client", "counter"}
    assert "basic: successfully finished!" in console[console.rindex("CLIENT|INFO: starting") :]
    assert "ERROR" not in console
    written = (sddf / "source" / "examples" / "blk" / "basic_data.txt").read_bytes()
    assert disk.read_bytes()[SECTORS * SECTOR :].startswith(written[:SECTOR])
