# SPDX-License-Identifier: BSD-2-Clause
"""Systems of sDDF, built by their own makefiles: their drivers go and come back, and their clients,
as they were built, know nothing. kit/sddf.py says where they are.
"""

from __future__ import annotations

import re
import string
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from cellreap.testing import Run
from kit.microkit import Board, Microkit
from kit.sddf import BOARD, back, kept_busy, killed, run_of, systems, terminal, together

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
TIMER = {"timer_driver": 0, "client": 1}
BLOCK = {"blk_driver": 0, "blk_virt": 1, "client": 2}
DISK, SECTOR, SECTORS, FAT = 16 << 20, 512, 2048, 6
"""Bytes of the disk and of a sector; the first sector of its only partition, and its kind."""
KEYS = 6_000

MANY = pytest.mark.parametrize("times", [8, pytest.param(200, marks=pytest.mark.thorough)])

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def sddf(tmp_path_factory: pytest.TempPathFactory, microkit: Microkit) -> Path:
    return systems(tmp_path_factory, board=microkit.board)


def reset(board: Board, kind: str) -> str:
    """The device is reset when its driver goes. Then its queues are cleared: on aarch64 they are
    where the kernel knows of no memory.
    """
    name = f"virtio_mmio@{board.virtio + board.status - 0x70:x}/drivers/{kind}"
    policy = f'[[region]]\nname = "{name}/regs"\n'
    policy += f"on_death = [{{ offset = {board.status}, value = 0, until = 0 }}]\n"
    if kind == "blk":
        policy += f'[[region]]\nname = "{name}/virtio_metadata"\nafter = "zero"\n'
    return policy


def echo(console: str) -> str:
    """What clients wrote of what was typed."""
    said = console[console.rindex("Please give me character!") :]
    return "".join(letter for letter in said if letter in LETTERS)


def seconds(times: int) -> int:
    """How long a system is kept busy: less than 5 s longer than all crashes take, for that it says
    nothing.
    """
    return 4 if times < 100 else 7


def busy(microkit: Microkit, times: int) -> dict[str, Any]:
    return {"counter": {"symbols": {"ticks": seconds(times) * microkit.board.clock_hz}}}


def typed_in(folder: Path) -> Path:
    (folder / "typed").write_text((LETTERS * (KEYS // len(LETTERS) + 1))[:KEYS])
    return folder / "typed"


def conversation(
    sddf: Path, microkit: Microkit, folder: Path, policy: str, times: int
) -> tuple[Run, str]:
    """The clients of the serial system are typed to while its driver is killed so often: on aarch64
    at the UART of the console, else at a console of its own, beside which something must run.
    """
    made_in, typed = sddf / "serial", typed_in(folder)
    system, search = made_in / "serial.system", [made_in, microkit.programs]
    if microkit.board == BOARD:
        change = killed("serial_driver", times)
        run, said = run_of(system, search, policy, folder, change=change, typed=typed)
        return run, echo(said)
    with terminal(folder, typed.read_bytes(), 3) as (qemu_args, printed):
        run, _ = run_of(
            kept_busy(system, folder),
            search,
            policy + reset(microkit.board, "serial"),
            folder,
            microkit.board,
            change=killed("serial_driver", times, busy(microkit, times)),
            qemu_args=qemu_args,
        )
        return run, echo(printed.read_text(errors="replace"))


def in_order(run: Run, depths: Mapping[str, int], times: int) -> bool:
    """Whether each plan has all of them at their depths, and they come back in this order."""
    for n in range(1, times + 1):
        planned = {run.name(pd): int(depth) for pd, depth in run.plan(n)["destroyed_pds"]}
        assert planned == depths
    made = [event["name"] for event in run.of("PD") if event["name"] in depths]
    return made == list(depths) * (times + 1)


@MANY
@pytest.mark.behaviour("P-06")
def test_clients_of_a_serial_driver_echo_on(
    sddf: Path, microkit: Microkit, tmp_path: Path, times: int
) -> None:
    """The order stays, and nothing comes twice. Of each instance, at most two characters are lost:
    one that it had taken from the UART and not passed on, and one that it was to write. A virtio
    device has taken more, and those that were in its queues are lost.
    """
    run, heard = conversation(sddf, microkit, tmp_path, back("serial_driver"), times)
    assert run.alive() >= set(SERIAL)
    rest = iter(LETTERS * KEYS)
    assert all(letter in rest for letter in heard), "the order, and once"
    assert len(heard) >= (KEYS - 2 * times if microkit.board == BOARD else KEYS // 3)


@pytest.mark.parametrize("times", [5, pytest.param(200, marks=pytest.mark.thorough)])
@pytest.mark.behaviour("P-06")
def test_all_who_depend_on_a_serial_driver_come_back_in_order(
    sddf: Path, microkit: Microkit, tmp_path: Path, times: int
) -> None:
    """Each instance of the clients says hello, and the last one echoes."""
    run, heard = conversation(sddf, microkit, tmp_path, together(SERIAL), times)
    assert in_order(run, SERIAL, times)
    assert heard
    assert heard in LETTERS * (2 + len(heard) // len(LETTERS))


@MANY
@pytest.mark.parametrize("depth", [0, pytest.param(1, marks=pytest.mark.thorough)])
@pytest.mark.behaviour("P-06")
def test_clients_of_a_timer_have_their_timeouts(
    sddf: Path, microkit: Microkit, tmp_path: Path, times: int, depth: int
) -> None:
    """The driver is passive, and forgets who waits. It notifies its client when it is back, which
    then asks anew, or its client comes back, too. Another PD keeps the processor busy meanwhile: a
    run is over when all wait.
    """
    policy = back("timer_driver") + 'callers = "repeat"\n'
    policy = together(TIMER) if depth > 0 else policy
    system = kept_busy(sddf / "timer" / "timer.system", tmp_path)
    search = [sddf / "timer", microkit.programs]
    change = killed("timer_driver", times, busy(microkit, times))
    run, console = run_of(system, search, policy, tmp_path, microkit.board, change=change)
    assert depth == 0 or in_order(run, TIMER, times)
    told = re.findall(r"the time \(in nanoseconds\) is: (\d+)", console)
    *_, before, last = map(int, told)  # others may be in two lines, with some of the trace between
    assert 1_000_000_000 <= last - before < 1_500_000_000


@MANY
@pytest.mark.behaviour("P-06")
def test_a_disk_is_written_and_read_again(
    sddf: Path, microkit: Microkit, tmp_path: Path, times: int
) -> None:
    """The driver's requests go with it, so its virtualiser and the client do, too. Each instance of
    the client writes and reads anew, and the last one comes to its end.
    """
    disk, made_in = tmp_path / "disk", sddf / "blk"
    image = bytearray(DISK)
    image[446:462] = struct.pack("<B3xB3xII", 0, FAT, SECTORS, DISK // SECTOR - SECTORS)
    image[510:512] = b"\x55\xaa"
    disk.write_bytes(image)
    drive = ("-drive", f"file={disk},if=none,format=raw,id=hd", "-device")
    run, console = run_of(
        kept_busy(made_in / "blk.system", tmp_path),
        [made_in, microkit.programs],
        together(BLOCK) + reset(microkit.board, "blk"),
        tmp_path,
        microkit.board,
        change=killed("blk_driver", times, busy(microkit, times)),
        qemu_args=(
            *("-global", "virtio-mmio.force-legacy=false"),
            *(*drive, "virtio-blk-device,drive=hd"),
        ),
    )
    assert in_order(run, BLOCK, times)
    assert run.alive() == {*BLOCK, "counter"}
    assert "basic: successfully finished!" in console[console.rindex("CLIENT|INFO: starting") :]
    assert "ERROR" not in console
    written = (sddf / "source" / "examples" / "blk" / "basic_data.txt").read_bytes()
    assert disk.read_bytes()[SECTORS * SECTOR :].startswith(written[:SECTOR])
