# SPDX-License-Identifier: BSD-2-Clause
"""Regions of a configuration: in the model that a plan is made of."""

from __future__ import annotations

from cellreap import plan
from kit.paths import BOOT_CONFIGS


def test_a_plan_keeps_the_memory_that_a_survivor_has() -> None:
    """It knows the regions of all PDs that are there from boot."""
    system = BOOT_CONFIGS / "region.toml"
    freed = {pd: plan(system, crash=pd, incomplete=True).core_freed for pd in ("left", "alone")}
    assert freed == {"left": ["VMR_4_1", "VMR_4_2"], "alone": ["MO_3_3", "VMR_4_5"]}
