# SPDX-License-Identifier: BSD-2-Clause
"""What a cleanup costs in kernel calls, in the benchmark of three stacked servers.

Under -icount a boot repeats exactly, and the calls do not depend on the machine.
"""

from __future__ import annotations

import pytest

from cellreap.testing import Target
from kit.counted import COUNTED
from kit.stack import CALLS


@pytest.mark.slow
@pytest.mark.parametrize("rs_depth", sorted(CALLS))
def test_the_kernel_calls_of_a_cleanup_are_those_that_are_known(
    target: Target, rs_depth: int
) -> None:
    run = target.run("stack", rs_depth=rs_depth, qemu_args=COUNTED)
    assert [event["cause"] for event in run.cleanups()] == ["fault"]
    calls = run.calls()
    assert calls == CALLS[rs_depth]
