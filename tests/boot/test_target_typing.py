# SPDX-License-Identifier: BSD-2-Clause
"""A real console driver, killed while somebody types."""

from __future__ import annotations

import os
import string
from collections.abc import Callable
from pathlib import Path

import pytest

from cellreap.testing import Run, Target
from kit.killed import killed
from kit.marks import thorough_but
from kit.muted import muted

END = "\4"
"""Of console.h."""


def check(run: Run, typed: str, times: int) -> None:
    """The order stays, and nothing comes twice. Of each instance, at most one character is lost."""
    delivered = "".join(run.says("reader"))
    rest = iter(typed)
    assert all(character in rest for character in delivered), "the order, and once"
    assert len(typed) - times <= len(delivered) <= len(typed)


def letters(times: int) -> str:
    return string.ascii_lowercase * (times // 4 + 4)


@pytest.mark.behaviour("E-06")
@pytest.mark.parametrize(("times", "seed"), thorough_but([(5, 1), (200, 101)], (5, 1)))
def test_what_is_typed_is_delivered_once(
    target_of: Callable[[str], Target], tmp_path: Path, times: int, seed: int
) -> None:
    """No character is delivered twice, and the order stays. A driver that dies between taking a
    character from the UART and noting it loses that one, which nobody acknowledged.
    """
    typed = letters(times)
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
    check(run, typed, times)


@pytest.mark.behaviour("E-06")
@pytest.mark.parametrize(
    ("prints", "times", "seed"),
    thorough_but([(True, 5, 1), (True, 200, 101), (False, 5, 2)], (True, 5, 1)),
)
def test_what_is_typed_at_the_console_is_delivered_once(
    target_of: Callable[[str], Target], tmp_path: Path, prints: bool, times: int, seed: int
) -> None:
    """The trace goes out through the same UART meanwhile, and is whole: the kernel or the root task
    writes it.
    """
    target = target_of("aarch64")
    if target.sdk.kernel.name == "refkernel":
        pytest.skip("no seL4 SDK, and refkernel hands out no UART on aarch64")
    if not prints:
        target = Target(muted(target.sdk, tmp_path / "sdk"), tmp_path, target.configs)
    typed = letters(times)
    file = tmp_path / "keys"
    file.write_text(typed + END)
    run = target.run("console_aarch64", change=killed("console", times, seed), typed=file)
    check(run, typed, times)
