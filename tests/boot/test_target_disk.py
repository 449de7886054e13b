# SPDX-License-Identifier: BSD-2-Clause
"""Real disk drivers under the sample file system and database, killed while it commits."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import cellreap
from cellreap.headers import source_root
from cellreap.platforms import PLATFORMS
from cellreap.system.loader import platform_of
from cellreap.testing import Target
from kit.arches import ARCHES
from kit.kernels import needs_timer
from kit.killed import killed
from kit.marks import thorough_but
from kit.paths import CONFIGS
from kit.planted import run_planted
from mutation.copies import Copy, files_of
from mutation.faults import Edit, Fault, edited

SECTOR, RECORD = 512, struct.Struct("<4Q")
MARK = 0x74696D6D6F63
"""Of database.c."""
FACTOR, WORD = 0x9E3779B97F4A7C15, (1 << 64) - 1
"""Of committer.c."""


def record(number: int) -> bytes:
    """The sector of a commit."""
    value = number * FACTOR & WORD
    return RECORD.pack(number, value, value ^ MARK, 0).ljust(SECTOR, b"\0")


def acknowledged(says: Sequence[str]) -> int:
    """The number of commits, of what the client says."""
    (said,) = (text for text in says if text.startswith("acknowledged"))
    return int(said.split()[-1])


def drive_with(count: int, size: int) -> bytes:
    """A drive with so many commits and nothing else."""
    return b"".join(map(record, range(1, count + 1))).ljust(size, b"\0")


@pytest.mark.behaviour("E-06")
@pytest.mark.acceptance("drivers")
@pytest.mark.kernels.with_args(*ARCHES, *thorough_but(["riscv64"]))
@pytest.mark.parametrize(
    ("victim", "times", "seed"),
    thorough_but(
        [("disk", 5, 1), ("fs", 5, 1), ("disk", 200, 101), ("fs", 200, 102)],
        ("disk", 5, 1),
        ("fs", 5, 1),
    ),
)
def test_what_was_acknowledged_is_on_the_drive_and_nothing_else(
    target: Target, victim: str, times: int, seed: int
) -> None:
    """Whatever instant the driver or the file system dies at. Each sector is written once, so that
    no later commit hides what an earlier one lost.
    """
    needs_timer(target.sdk)
    platform = PLATFORMS[platform_of(target.sdk.options)]
    if platform.emulation is None or platform.emulation.drives is None:
        pytest.skip(f"{platform.name} gets no drives")
    run = target.run(f"disk_{platform.arch}", change=killed(victim, times, seed))
    count = acknowledged(run.says("client"))
    assert count >= 4 * times / 2
    drive = run.trace.with_suffix(".disk.drive").read_bytes()
    assert drive == drive_with(count, len(drive))


WRITES = "    if (!(write ? disk_write(sector, words) : disk_read(sector, words))) {\n"
WRITES_LATER = """\
    static uint64_t later[DISK_SECTOR_WORDS];
    static uint32_t place, waits;
    const int written = !waits || disk_write(place, later);
    waits = (uint32_t)write;
    place = sector;
    for (uint32_t i = 0; i < DISK_SECTOR_WORDS; i++) {
        later[i] = words[i];
    }
    if (!written || (!write && !disk_read(sector, words))) {
"""


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.behaviour("E-06")
def test_a_driver_that_acknowledges_before_the_disk_has_written_is_found(
    target_of: Callable[[str], Target], tmp_path: Path
) -> None:
    """It writes a sector when it is asked for the next one, so all reads are right."""
    root = source_root()
    files = files_of(root)
    file = "examples/disk_server.c"
    edit = Edit(file, files[file].index(WRITES.encode()), WRITES.encode(), WRITES_LATER.encode())
    copy = Copy(root, files, tmp_path)
    copy.plant(edited(files, Fault("later", (edit,), named=True)))
    sdk = str(target_of("x86_64").sdk.root)
    config = CONFIGS / "disk" / "disk_x86_64.toml"
    run_planted(copy, config, "--arch", "x86_64", "--sdk", sdk, passes=True)
    count = acknowledged(cellreap.check(copy.folder / "disk.trace").said("client"))
    drive = (copy.folder / "disk.disk.drive").read_bytes()
    assert drive != drive_with(count, len(drive))
