# SPDX-License-Identifier: BSD-2-Clause
"""Several hostile PDs at once beside honest ones: none of the honest notices.

Each seed is one system (kit/chaos.py). Its run passes the check of the trace, every honest PD lives
to the end, and each honest call is answered exactly once.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from cellreap.system.config import Config
from cellreap.system.sdk import ARCHES
from cellreap.testing import Target
from kit.chaos import CLIENTS, HONEST, chaos

TOTAL = re.compile(r"asked (\d+): answered (\d+), lost (\d+)")
WRONG = re.compile(r"WRONG|BROKEN|TWICE|OUT OF ORDER")


@pytest.mark.behaviour("J-13")
@pytest.mark.parametrize("arch", ARCHES)
def test_the_honest_do_not_notice(
    target_of: Callable[[str], Target], arch: str, chaos_seed: int
) -> None:
    config = Config.model_validate(chaos(chaos_seed))
    run = target_of(arch).run("block_fs_db_app", change=lambda _: config)
    assert set(HONEST) <= run.alive()
    assert all(len(run.ids(name)) == 1 for name in HONEST)
    for name in HONEST:
        assert not [text for text in run.says(name) if WRONG.search(text)]
    for name in CLIENTS:
        totals = [TOTAL.findall(text) for text in run.says(name) if TOTAL.search(text)]
        assert len(totals) == 1
        assert len(totals[0]) == 2
        for asked, answered, lost in totals[0]:
            assert (int(answered), int(lost)) == (int(asked), 0)
            assert int(asked) > 0
