# SPDX-License-Identifier: BSD-2-Clause
"""The server in docs/protocol.md is the one that is built. It is shown whole and is short."""

from __future__ import annotations

import re

from cellreap.system.config import load_config
from kit.paths import ROOT

SAMPLE = ROOT / "examples" / "counter.c"


def blocks(language: str) -> list[str]:
    """The code blocks of that language under "A server", without their fences."""
    page = (ROOT / "docs" / "protocol.md").read_text()
    section = page.split("\n## A server\n")[1].split("\n## ")[0]
    return re.findall(rf"^```{language}\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)


def test_the_page_shows_exactly_the_file() -> None:
    assert blocks("c") == [SAMPLE.read_text()]


def test_it_is_below_60_lines_with_everything() -> None:
    assert len(SAMPLE.read_text().splitlines()) < 60


def test_its_configuration_on_the_page_is_part_of_the_one_that_runs() -> None:
    path = ROOT / "configs" / "counter.toml"
    (shown,) = blocks("toml")
    assert shown in path.read_text()
    assert "counter" in {pd.program for pd in load_config(path).pds}
