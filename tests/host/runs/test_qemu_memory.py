# SPDX-License-Identifier: BSD-2-Clause
"""How much memory the arguments for the emulator give a machine."""

from __future__ import annotations

import pytest

from cellreap.runs.qemu import machine_for, memory_in

MIB = 1 << 20


@pytest.mark.parametrize(
    ("words", "size"),
    [
        ((), None),
        (("-m", "256"), 256 * MIB),
        (("-m", "256M"), 256 * MIB),
        (("-m", "2G"), 2048 * MIB),
        (("-m", "size=64m,slots=2"), 64 * MIB),
        (("-m", "12345B"), 12345),
        (("-m", "1k"), 1024),
        (("-m", "128", "-smp", "1", "-m", "512"), 512 * MIB),
        (("-m", "much"), None),
        (("-m",), None),
    ],
)
def test_the_last_size_counts(words: tuple[str, ...], size: int | None) -> None:
    assert memory_in(words) == size


def test_the_machine_has_what_builds_take_for_granted() -> None:
    assert memory_in(machine_for({"SEL4_ARCH": "x86_64"}, "x").arguments) == 512 * MIB
