# SPDX-License-Identifier: BSD-2-Clause
"""A fresh boot behaves like the recorded boot of the same system.

`pytest --rewrite tests/boot/test_golden_boots.py` records all boots anew, with their reports.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cellreap.testing import Target
from kit.goldens import QEMU_ARGS, RECORDED, Golden, normalised, read_golden, told

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("golden", RECORDED, ids=lambda golden: golden.name)
def test_a_boot_is_as_it_was_recorded(
    golden: Golden, on_refkernel: Callable[[str], Target], rewrite: bool
) -> None:
    run = on_refkernel("x86_64").run(
        golden.config, pd_depth=golden.pd_depth, rs_depth=golden.rs_depth, qemu_args=QEMU_ARGS
    )
    raw = run.trace.read_bytes()
    if rewrite:
        golden.trace.parent.mkdir(exist_ok=True)
        golden.trace.write_bytes(raw)
        golden.text.write_text(told(read_golden(raw, golden)))
    recorded = read_golden(golden.trace.read_bytes(), golden)
    assert normalised(run.events) == normalised(recorded.events)
