# SPDX-License-Identifier: BSD-2-Clause
"""The cheap checks of clang-tidy find nothing in the core (.clang-tidy)."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from kit.paths import ROOT

FOLDERS = ("core", "host")


@pytest.mark.skipif(shutil.which("clang-tidy") is None, reason="no clang-tidy")
def test_clang_tidy_is_silent() -> None:
    files = [each for folder in FOLDERS for each in (ROOT / "roottask" / folder).rglob("*.c")]
    assert len(files) > 20
    command = ["clang-tidy", "-p", str(ROOT / "build" / "host"), "--quiet", *map(str, files)]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr
