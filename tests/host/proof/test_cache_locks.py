# SPDX-License-Identifier: BSD-2-Clause
"""The locks of the cache in all orders of events, by spin, on tests/proof/cache.pml."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit.marks import thorough_but
from kit.paths import ROOT
from kit.spin import NEEDS_SPIN, assert_sound, faults_of, finds_an_error, searched

MODEL = ROOT / "tests" / "proof" / "cache.pml"
FAULTS = faults_of(MODEL)

pytestmark = [pytest.mark.slow, NEEDS_SPIN]


@pytest.mark.behaviour("K-07", "K-10", "K-11", "K-12", "K-13", "K-16")
@pytest.mark.parametrize("processes", [2, pytest.param(3, marks=pytest.mark.thorough)])
def test_no_order_of_events_and_no_kill_breaks_the_cache(processes: int, tmp_path: Path) -> None:
    assert_sound(searched(MODEL, tmp_path, PROCS=processes))


def test_the_model_names_its_faults() -> None:
    assert sorted(FAULTS) == list(range(1, 8))


@pytest.mark.behaviour("K-10", "K-11", "K-12", "K-13")
@pytest.mark.parametrize("fault", thorough_but(sorted(FAULTS), 1, 5))
def test_spin_finds_each_fault(fault: int, tmp_path: Path) -> None:
    assert finds_an_error(searched(MODEL, tmp_path, FAULT=fault)), FAULTS[fault]
