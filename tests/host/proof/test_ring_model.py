# SPDX-License-Identifier: BSD-2-Clause
"""A ring whose ends die at any access, by spin, on tests/proof/ring.pml."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit.paths import ROOT
from kit.spin import NEEDS_SPIN, assert_sound, faults_of, finds_an_error, searched

MODEL = ROOT / "tests" / "proof" / "ring.pml"
FAULTS = faults_of(MODEL)
OF_CLEARED = {5, 6, 7, 8}
"""Faults that matter only if the memory is cleared below an end."""

pytestmark = [pytest.mark.slow, NEEDS_SPIN]


@pytest.mark.behaviour("E-03")
@pytest.mark.parametrize("cleared", [0, 1])
@pytest.mark.parametrize("kills", [1, pytest.param(2, marks=pytest.mark.thorough)])
def test_whoever_dies_all_is_acknowledged_and_nothing_twice(
    cleared: int, kills: int, tmp_path: Path
) -> None:
    assert_sound(searched(MODEL, tmp_path, CLEARED=cleared, KILLS=kills))


def test_the_model_names_its_faults() -> None:
    assert sorted(FAULTS) == list(range(1, 9))


@pytest.mark.behaviour("E-03")
@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_spin_finds_each_fault(fault: int, tmp_path: Path) -> None:
    said = searched(MODEL, tmp_path, FAULT=fault, CLEARED=int(fault in OF_CLEARED), KILLS=1)
    assert finds_an_error(said), FAULTS[fault]
