# SPDX-License-Identifier: BSD-2-Clause
"""The commands in README and in the tour that boot print the output that the pages show."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit.console_blocks import Block, check_block, read_blocks
from kit.paths import ROOT

PAGES = (ROOT / "README.md", ROOT / "docs" / "tour.md")
BLOCKS = [(page, block) for page in PAGES for block in read_blocks(page.read_text()) if block.boots]


@pytest.mark.slow
@pytest.mark.parametrize(("page", "block"), BLOCKS, ids=str)
def test_a_block_that_boots_prints_what_the_page_says(
    page: Path, block: Block, tmp_path: Path, rewrite: bool
) -> None:
    check_block(block, tmp_path, page if rewrite else None)
