# SPDX-License-Identifier: BSD-2-Clause
"""How emulated machines get drives."""

from __future__ import annotations

from pathlib import Path

import pytest

from cellreap.errors import InputError
from cellreap.runs.qemu import drive_arguments

X86_64 = {"SEL4_ARCH": "x86_64"}
VIRT = {"SEL4_ARCH": "aarch64", "ARM_PLAT": "qemu-arm-virt"}
ZCU102 = {"SEL4_ARCH": "aarch64", "ARM_PLAT": "zynqmp"}
FILES = {"first": Path("/a,b/first.drive"), "second": Path("second.drive")}


def test_a_pc_has_them_at_its_ide_controller_in_their_order() -> None:
    """A comma in a path is no end of it."""
    assert drive_arguments(X86_64, "x", FILES) == [
        *("-drive", "file=/a,,b/first.drive,format=raw,if=ide"),
        *("-drive", "file=second.drive,format=raw,if=ide"),
    ]


def test_virt_has_them_as_devices_of_virtio() -> None:
    words = drive_arguments(VIRT, "x", {"second": FILES["second"]})
    assert words == [
        *("-drive", "file=second.drive,format=raw,if=none,id=second"),
        *("-device", "virtio-blk-device,drive=second"),
    ]


def test_other_machines_get_none() -> None:
    assert drive_arguments(ZCU102, "x", {}) == []
    with pytest.raises(InputError, match="no drive can be given to zynqmp"):
        drive_arguments(ZCU102, "x", FILES)
