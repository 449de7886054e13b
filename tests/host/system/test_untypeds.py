# SPDX-License-Identifier: BSD-2-Clause
"""Where the root task's image ends, so that the kernel has untypeds for the memory behind it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cellreap.errors import InputError
from cellreap.system.elf import read_executable
from cellreap.system.untypeds import cut, place, read_devices
from kit.sdk_kit import make_aarch64_kernel

GIB, MIB = 1 << 30, 1 << 20
ZCU102 = ((0, 2 * GIB), (32 * GIB, 34 * GIB))
DEVICES = ((2 * GIB, 0xF901_0000), (0xF902_0000, 32 * GIB), (34 * GIB, 1 << 40))
KERNEL = read_executable(make_aarch64_kernel(0), "kernel.elf", "aarch64")


@pytest.mark.parametrize(
    ("region", "sizes"),
    [
        ((0, 8), []),
        ((0, 4096), [4096]),
        ((4096, 5 * 4096), [4096, 8192, 4096]),
        ((0x1008, 0x1030), [16, 16]),
        ((3 * MIB, 8 * MIB), [MIB, 4 * MIB]),
        ((32 * GIB, 33 * GIB + 3 * MIB), [GIB, 2 * MIB, MIB]),
    ],
)
def test_a_region_is_cut_as_the_kernel_cuts_it(region: tuple[int, int], sizes: list[int]) -> None:
    """The least untyped has 16 bytes, and each is aligned to its size."""
    assert list(cut(*region)) == sizes


def placed(tmp_path: Path, limit: int, least: int, bits: int = 12) -> tuple[int, int]:
    file = tmp_path / "platform_gen.json"
    devices = [{"start": start, "end": end} for start, end in DEVICES]
    file.write_text(json.dumps({"devices": devices}))
    options = {"MAX_NUM_BOOTINFO_UNTYPED_CAPS": str(limit), "ROOT_CNODE_SIZE_BITS": str(bits)}
    room = place(options, KERNEL, file, ZCU102, least)
    return room.user_end, room.lost


def test_with_room_for_all_nothing_is_padded_or_lost(tmp_path: Path) -> None:
    assert placed(tmp_path, 230, 0x363000) == (0x363000, 0)


@pytest.mark.behaviour("B-05")
def test_with_little_room_the_image_ends_where_few_untypeds_follow(tmp_path: Path) -> None:
    """Without padding, small pieces take the places of the large ones behind them."""
    devices = sum(1 for region in DEVICES for _ in cut(*region))
    end, lost = placed(tmp_path, devices + 11, 0x363000)
    assert end % (4 * MIB) == 0
    assert lost < 2 * GIB
    assert sum(list(cut(0x363000, 2 * GIB))[:11]) < 512 * MIB


@pytest.mark.behaviour("B-05")
def test_padding_takes_no_more_slots_than_there_are(tmp_path: Path) -> None:
    devices = sum(1 for region in DEVICES for _ in cut(*region))
    least = 15 * MIB + 4096
    assert placed(tmp_path, devices + 8, least, bits=11)[0] < 16 * MIB
    assert placed(tmp_path, devices + 8, least, bits=16)[0] >= 16 * MIB


def test_with_no_room_for_memory_all_is_lost(tmp_path: Path) -> None:
    assert placed(tmp_path, 3, 0x363000)[1] > 3 * GIB


@pytest.mark.parametrize("text", ["", "[]", '{"devices": 1}', '{"devices": [{"start": 1}]}'])
def test_devices_that_are_none_are_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "platform_gen.json"
    file.write_text(text)
    with pytest.raises(InputError, match="devices: expected"):
        read_devices(file)
