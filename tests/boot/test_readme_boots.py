# SPDX-License-Identifier: BSD-2-Clause
"""The commands in README that boot print the output that README shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit.console_blocks import Block, check_block, read_blocks
from kit.paths import ROOT

README = ROOT / "README.md"
BLOCKS = [block for block in read_blocks(README.read_text()) if block.boots]


@pytest.mark.slow
@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_a_block_that_boots_prints_what_the_page_says(
    block: Block, tmp_path: Path, rewrite: bool
) -> None:
    check_block(block, tmp_path, README if rewrite else None)
