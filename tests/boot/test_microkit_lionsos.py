# SPDX-License-Identifier: BSD-2-Clause
"""LionsOS's fileio, as its own makefile builds it: MicroPython, a FAT file system, and the drivers
and virtualisers of sDDF below them, eight PDs. CELLREAP_LIONSOS names the folder with its
description, its programs and its disk.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Final

import pytest

from cellreap.system.config import Config, Crash
from cellreap.testing import validated
from kit.microkit import Microkit
from kit.sddf import BOARD, back, kept_busy, run_of

BUILT: Final = "CELLREAP_LIONSOS"
SERVES: Final = {
    "blk_driver": ["blk_virt"],
    "blk_virt": ["blk_driver", "fatfs"],
    "fatfs": ["blk_virt", "micropython"],
    "serial_driver": ["serial_virt_tx", "serial_virt_rx"],
    "serial_virt_tx": ["serial_driver", "micropython"],
    "serial_virt_rx": ["serial_driver", "micropython"],
    "timer_driver": ["micropython"],
    "micropython": ["fatfs", "serial_virt_tx", "serial_virt_rx"],
}
"""The queues between two PDs, of which each has a part in its own memory, are of no use to a new
instance of only one of them. The file system lets nobody mount it twice. The timer forgets nothing
that its client cannot ask for again.
"""
PDS: Final = list(SERVES)
DEVICE: Final = "virtio_mmio@a000200/drivers/blk/virtio"
POLICY: Final = (
    '[policy]\npd_depth = "inf"\n'
    + back(*PDS)
    + "".join(
        f'[[serves]]\nserver = "{server}"\nclients = {clients}\n'
        for server, clients in SERVES.items()
    )
    + f'[[region]]\nname = "{DEVICE}/regs"\n'
    + "on_death = [{ offset = 0x270, value = 0, until = 0 }]\n"
    + f'[[region]]\nname = "{DEVICE}/virtio_metadata"\nafter = "zero"\n'
)
WORDS: Final = "1234567"
LINE: Final = f"f=open('/x','w');f.write('{WORDS}');f.close();print(open('/x').read())\r"
LINES, SECONDS = 3000, 7

pytestmark = [pytest.mark.slow, pytest.mark.thorough]


def each_is_killed(config: Config) -> Config:
    """Each PD is killed once, some time after the system has settled again."""
    ticks = {"symbols": {"ticks": SECONDS * BOARD.clock_hz}}
    parts = {
        "pds": tuple(
            pd.model_copy(
                update={"respawn_budget": len(PDS) + 1, "respawn_delay_ms": 0}
                if pd.respawn
                else ticks
            )
            for pd in config.pds
        ),
        "crashes": tuple(
            Crash(pd=name, how="kill", seed=i, after_ns=300_000_000, spread_ns=50_000_000)
            for i, name in enumerate(PDS)
        ),
        "expect": config.expect.model_copy(update={"cleanups": len(PDS)}),
    }
    return validated(config.model_copy(update=parts))


@pytest.mark.behaviour("P-06")
def test_a_system_of_lionsos_outlives_each_of_its_pds(microkit: Microkit, tmp_path: Path) -> None:
    """All who depend on the PD come back with it. At the end, a file is written and read again."""
    built = os.environ.get(BUILT)
    if not built:
        pytest.skip(f"{BUILT} names no folder in which examples/fileio of LionsOS was built")
    if microkit.board != BOARD:
        pytest.skip(f"it was built for {BOARD.name}")
    disk = shutil.copy(Path(built) / "qemu_disk", tmp_path)
    (tmp_path / "typed").write_text(LINE * LINES)
    drive = f"file={disk},if=none,format=raw,id=hd"
    run, console = run_of(
        kept_busy(Path(built) / "fileio.system", tmp_path),
        [Path(built), microkit.programs],
        POLICY,
        tmp_path,
        change=each_is_killed,
        typed=tmp_path / "typed",
        qemu_args=(
            *("-global", "virtio-mmio.force-legacy=false", "-drive", drive),
            *("-device", "virtio-blk-device,drive=hd,bus=virtio-mmio-bus.1"),
        ),
    )
    assert run.alive() >= set(PDS)
    plain = re.sub(r"\x1b\[\d*m", "", console)
    last = plain[plain.rindex("MicroPython v") :]
    assert re.search(rf"^{WORDS}\r?$", last, re.MULTILINE)
