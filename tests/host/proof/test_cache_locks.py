# SPDX-License-Identifier: BSD-2-Clause
"""The locks of the cache in all orders of events, by spin, on tests/proof/cache.pml."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from kit.paths import ROOT

MODEL = ROOT / "tests" / "proof" / "cache.pml"
FAULTS = {
    number: said.strip()
    for number, said in re.findall(r"^ \*   (\d)  (.*)$", MODEL.read_text(), re.MULTILINE)
}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        shutil.which("spin") is None or shutil.which("gcc") is None,
        reason="needs spin and gcc: apt install spin gcc",
    ),
]


def searched(folder: Path, **values: int) -> str:
    """What spin says about the model with these values of its macros."""
    defined = [f"-D{name}={value}" for name, value in values.items()]
    options = ["-O1", "-w", "-DSAFETY", "-DCOLLAPSE", "-DMEMLIM=3000"]
    for command in (
        ["spin", "-a", *defined, str(MODEL)],
        ["gcc", *options, "-o", "pan", "pan.c"],
    ):
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
    done = subprocess.run(
        ["./pan", "-m100000"], cwd=folder, check=True, capture_output=True, text=True
    )
    assert "max search depth too small" not in done.stdout
    return done.stdout


@pytest.mark.behaviour("K-07", "K-10", "K-11", "K-12", "K-13", "K-16")
@pytest.mark.parametrize("processes", [2, pytest.param(3, marks=pytest.mark.thorough)])
def test_no_order_of_events_and_no_kill_breaks_the_cache(processes: int, tmp_path: Path) -> None:
    said = searched(tmp_path, PROCS=processes)
    assert "errors: 0" in said
    # What no process reaches was not checked. A fault's own code is unreachable without it.
    assert int(re.findall(r"(\d+) states, stored", said)[0]) > 10_000


def test_the_model_names_its_faults() -> None:
    assert sorted(FAULTS) == [str(number) for number in range(1, 8)]


@pytest.mark.behaviour("K-10", "K-11", "K-12", "K-13")
@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_spin_finds_each_fault(fault: str, tmp_path: Path) -> None:
    said = searched(tmp_path, FAULT=int(fault))
    found = re.search(r"^pan:1: (assertion violated|invalid end state)", said, re.MULTILINE)
    assert found, FAULTS[fault]
