# SPDX-License-Identifier: BSD-2-Clause
"""A refusal costs no more than the service that is refused, whatever the PD has already.

A PD measures both under -icount, where ticks of the counter stand for instructions.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from cellreap.testing import Target
from kit.arches import ARCHES
from kit.counted import COUNTED
from kit.marks import thorough_but

KINDS = 10


@pytest.mark.behaviour("S-12")
@pytest.mark.parametrize("arch", thorough_but(ARCHES, "aarch64"))
def test_a_refusal_costs_no_more_than_a_service(
    arch: str, target_of: Callable[[str], Target]
) -> None:
    run = target_of(arch).run("prices", qemu_args=COUNTED)
    found = [re.fullmatch(r"(\S+) served (\d+) refused (\d+)", text) for text in run.says("pricer")]
    prices = {match[1]: (int(match[2]), int(match[3])) for match in found if match}
    assert len(prices) == len(found) == KINDS
    for kind, (served, refused) in prices.items():
        assert 0 < refused <= served, kind
