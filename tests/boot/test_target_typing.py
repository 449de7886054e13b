# SPDX-License-Identifier: BSD-2-Clause
"""A real console driver, killed while somebody types."""

from __future__ import annotations

import os
import string
from collections.abc import Callable
from pathlib import Path

import pytest

from cellreap.testing import Target
from kit.killed import killed
from kit.marks import thorough_but

END = "\4"
"""Of console.h."""


@pytest.mark.behaviour("E-06")
@pytest.mark.parametrize(("times", "seed"), thorough_but([(5, 1), (200, 101)], (5, 1)))
def test_what_is_typed_is_delivered_once(
    target_of: Callable[[str], Target], tmp_path: Path, times: int, seed: int
) -> None:
    """No character is delivered twice, and the order stays. A driver that dies between taking a
    character from the UART and noting it loses that one, which nobody acknowledged.
    """
    typed = string.ascii_lowercase * (times // 4 + 4)
    for name in ("typed.in", "typed.out"):
        os.mkfifo(tmp_path / name)
    arguments = ("-chardev", f"pipe,id=typed,path={tmp_path / 'typed'}", "-serial", "chardev:typed")
    keyboard = os.open(tmp_path / "typed.in", os.O_RDWR)
    try:
        os.write(keyboard, (typed + END).encode())
        change = killed("console", times, seed)
        run = target_of("x86_64").run("console_x86_64", change=change, qemu_args=arguments)
    finally:
        os.close(keyboard)
    delivered = "".join(run.says("reader"))
    rest = iter(typed)
    assert all(character in rest for character in delivered), "the order, and once"
    assert len(typed) - times <= len(delivered) <= len(typed)
