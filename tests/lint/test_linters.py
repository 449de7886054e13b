# SPDX-License-Identifier: BSD-2-Clause
"""The linters, the type checker and the formatters find nothing."""

from __future__ import annotations

import subprocess
import sysconfig
from pathlib import Path
from typing import Final

import pytest

from kit.paths import ROOT

TOOLS: Final = Path(sysconfig.get_path("scripts"))
CHECKS: Final = {
    "ruff": ("check", "--quiet"),
    "ruff format": ("format", "--check", "--quiet"),
    "mypy": ("--strict", "--no-error-summary"),
    "clang-format": ("--dry-run", "-Werror"),
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (name == "mypy")) for name in CHECKS],
)
def test_the_sources_pass(name: str) -> None:
    command = [str(TOOLS / name.split()[0]), *CHECKS[name]]
    if name == "clang-format":
        listed = ["git", "ls-files", "*.c", "*.h"]
        files = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True)
        command += files.stdout.split()
        assert len(command) > 300
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
