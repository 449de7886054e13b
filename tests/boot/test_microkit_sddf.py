# SPDX-License-Identifier: BSD-2-Clause
"""Systems of sDDF, built by their own makefiles: their drivers go and come back, and their clients,
as they were built, know nothing. kit/sddf.py says where they are.
"""

from __future__ import annotations

import re
import string
import struct
from pathlib import Path

import pytest

from kit.microkit import Microkit, pd
from kit.sddf import BOARD, back, killed, run_of, systems, together

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
    return systems(tmp_path_factory)


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
