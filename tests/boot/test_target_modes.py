# SPDX-License-Identifier: BSD-2-Clause
"""The modes async and sync give the same cleanups, in the same order."""

from __future__ import annotations

import pytest

from cellreap.testing import Target
from demo import DEPTHS
from kit.marks import thorough_but
from kit.outcomes import ALL, LONG, depth, outcomes


@pytest.mark.behaviour("A-03", "A-27")
@pytest.mark.parametrize(("pd_depth", "rs_depth"), thorough_but(DEPTHS, DEPTHS[0], DEPTHS[-1]))
def test_every_depth_is_the_same_in_both_modes(
    target: Target, pd_depth: str, rs_depth: str
) -> None:
    runs = [
        target.run("block_fs_db_app", pd_depth=depth(pd_depth), rs_depth=depth(rs_depth), mode=mode)
        for mode in ("async", "sync")
    ]
    assert outcomes(runs[0])
    assert outcomes(runs[1]) == outcomes(runs[0])


# Configurations whose PDs ask more of the root task than those of `ALL`.
ASKING = ["flush", "lie", "nosy", "tickets"]


@pytest.mark.behaviour("A-03", "A-27")
@pytest.mark.parametrize(
    "name",
    thorough_but(
        [*(name for name in ALL if name not in LONG), *ASKING],
        "terminate",
        "subscribed",
        *ASKING,
    ),
)
def test_every_configuration_is_the_same_in_both_modes(target: Target, name: str) -> None:
    first, second = target.run(name), target.run(name, mode="sync")
    assert outcomes(first)
    assert outcomes(second) == outcomes(first)
    assert second.alive() == first.alive()
