# SPDX-License-Identifier: BSD-2-Clause
"""Regions and channels of a configuration: in the model that a plan is made of."""

from __future__ import annotations

import pytest

from cellreap import IncompleteError, audit, plan
from kit.paths import BOOT_CONFIGS


def test_a_plan_keeps_the_memory_that_a_survivor_has() -> None:
    """It knows the regions of all PDs that are there from boot."""
    system = BOOT_CONFIGS / "region.toml"
    freed = {pd: plan(system, crash=pd, incomplete=True).core_freed for pd in ("left", "alone")}
    assert freed == {"left": ["VMR_4_1", "VMR_4_2"], "alone": ["MO_3_3", "VMR_4_5"]}


def test_no_depth_follows_what_two_pds_share_and_a_plan_names_it() -> None:
    """Also not a channel over which they signal each other."""
    for name, what in (("region", 'memory "kept"'), ("channel", 'channel "door"')):
        found = plan(BOOT_CONFIGS / f"{name}.toml", crash="right", pd_depth="inf", incomplete=True)
        assert [pd for pd, _ in found.destroyed_pds] == ["PD_2"]
        with pytest.raises(IncompleteError) as refused:
            audit(BOOT_CONFIGS / f"{name}.toml")
        told = {each.text for each in refused.value.unknown}
        assert f"{what} of left and right, in no direction" in told
