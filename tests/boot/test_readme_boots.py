# SPDX-License-Identifier: BSD-2-Clause
"""The commands in README that boot print what README says."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit.console_blocks import Block, check_block, read_blocks
from kit.paths import ROOT

BLOCKS = [block for block in read_blocks((ROOT / "README.md").read_text()) if block.boots]


@pytest.mark.slow
@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_a_block_that_boots_prints_what_the_page_says(block: Block, tmp_path: Path) -> None:
    check_block(block, tmp_path)
