# SPDX-License-Identifier: BSD-2-Clause
"""The root task's allocator for untyped memory, with the kernel calls that it makes counted."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from cellreap.progress import Progress
from cellreap.system.refkernel import build_refkernel
from kit.paths import ROOT, TESTS

HARNESS = TESTS / "host" / "system" / "untyped_calls.c"


@pytest.mark.behaviour("J-10")
def test_a_block_is_split_only_if_it_can_be_split_as_often_as_needed(tmp_path: Path) -> None:
    """Who is refused costs no call. What was split before is joined, and then nothing is again."""
    libsel4 = build_refkernel("x86_64", Progress(quiet=True)) / "libsel4" / "include"
    includes = (ROOT / "roottask/include", ROOT / "roottask", ROOT, libsel4)
    program = tmp_path / "untyped_calls"
    flags = ["-std=gnu11", *(f"-I{folder}" for folder in includes)]
    subprocess.run(["gcc", *flags, str(HARNESS), "-o", str(program)], check=True)
    done = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert [int(line) for line in done.stdout.splitlines()] == [0, 2 * 3, 3, 0]
