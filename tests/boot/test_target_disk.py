# SPDX-License-Identifier: BSD-2-Clause
"""Real disk drivers under the sample file system and database, killed while it commits."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest

from cellreap.testing import Run, Target
from kit.arches import ARCHES
from kit.killed import killed
from kit.marks import thorough_but

SECTOR, RECORD = 512, struct.Struct("<4Q")
MARK = 0x74696D6D6F63
"""Of database.c."""
FACTOR, WORD = 0x9E3779B97F4A7C15, (1 << 64) - 1
"""Of committer.c."""


def record(number: int) -> bytes:
    """The sector of a commit."""
    value = number * FACTOR & WORD
    return RECORD.pack(number, value, value ^ MARK, 0).ljust(SECTOR, b"\0")


def acknowledged(run: Run) -> int:
    (said,) = (text for text in run.says("client") if text.startswith("acknowledged"))
    return int(said.split()[-1])


@pytest.mark.behaviour("E-06")
@pytest.mark.parametrize("kernel", [*ARCHES, *thorough_but(["riscv64"])])
@pytest.mark.parametrize(
    ("victim", "times", "seed"),
    thorough_but(
        [("disk", 5, 1), ("fs", 5, 1), ("disk", 200, 101), ("fs", 200, 102)],
        ("disk", 5, 1),
        ("fs", 5, 1),
    ),
)
def test_what_was_acknowledged_is_on_the_drive_and_nothing_else(
    target_on: Callable[[str], Target], kernel: str, victim: str, times: int, seed: int
) -> None:
    """Whatever instant the driver or the file system dies at. Each sector is written once, so that
    no later commit hides what an earlier one lost.
    """
    run = target_on(kernel).run(f"disk_{kernel}", change=killed(victim, times, seed))
    count = acknowledged(run)
    assert count >= 4 * times / 2
    drive = run.trace.with_suffix(".disk.drive").read_bytes()
    wanted = b"".join(map(record, range(1, count + 1)))
    assert drive == wanted.ljust(len(drive), b"\0")
