# SPDX-License-Identifier: BSD-2-Clause
"""Searches models of tests/proof with spin."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

NEEDS_SPIN = pytest.mark.skipif(
    shutil.which("spin") is None or shutil.which("gcc") is None,
    reason="needs spin and gcc: apt install spin gcc",
)


def faults_of(model: Path) -> dict[int, str]:
    """Number of each fault that the model can have -> what it says about it."""
    lines = re.findall(r"^ \*   (\d)  (.*)$", model.read_text(), re.MULTILINE)
    return {int(number): said.strip() for number, said in lines}


def searched(model: Path, folder: Path, **values: int) -> str:
    """What spin says about the model with these values of its macros."""
    defined = [f"-D{name}={value}" for name, value in values.items()]
    # An error is found at once, and the compiler takes longer than that.
    options = ["-O0" if "FAULT" in values else "-O1", "-w", "-DSAFETY", "-DCOLLAPSE"]
    options.append("-DMEMLIM=3000")
    for command in (
        ["spin", "-a", *defined, str(model)],
        ["gcc", *options, "-o", "pan", "pan.c"],
    ):
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
    done = subprocess.run(
        ["./pan", "-m100000"], cwd=folder, check=True, capture_output=True, text=True
    )
    assert "max search depth too small" not in done.stdout
    return done.stdout


def assert_sound(said: str) -> None:
    """The search found no error, and it was a search.

    What no process reaches was not checked, but a fault's own code is unreachable without it.
    """
    assert "errors: 0" in said
    assert int(re.findall(r"(\d+) states, stored", said)[0]) > 10_000


def finds_an_error(said: str) -> bool:
    """Whether an assertion does not hold, or a process can wait for ever."""
    found = re.search(r"^pan:1: (assertion violated|invalid end state)", said, re.MULTILINE)
    return found is not None
