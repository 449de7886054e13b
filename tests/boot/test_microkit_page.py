# SPDX-License-Identifier: BSD-2-Clause
"""docs/microkit.md: its first system, as it stands, in an empty folder, with its tests."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from cellreap.system.sdk import MICROKIT_VARIABLE
from kit.console_blocks import correct, same_everywhere
from kit.kernels import prefix_of
from kit.paths import ROOT
from kit.tutorial import follow

PAGE = ROOT / "docs" / "microkit.md"


@pytest.mark.slow
@pytest.mark.behaviour("Y-03")
def test_who_follows_the_page_sees_what_it_shows(tmp_path: Path, rewrite: bool) -> None:
    sdk = prefix_of("qemu_virt_aarch64/debug").parents[2]
    before, _, rest = PAGE.read_text().partition("## A first system\n")
    section = "\n" * (before.count("\n") + 1) + rest.partition("\n## ")[0]
    env = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "COLUMNS": "100",
        "PYTEST_ADDOPTS": "-p no:cacheprovider -p no:xdist",
        MICROKIT_VARIABLE: str(sdk),
    }
    for command, printed in follow(section, tmp_path, env, {}):
        want, got = same_everywhere(command.output), same_everywhere(printed)
        if not rewrite:
            assert got == want, f"line {command.line}: $ {command.text}"
        elif got != want:
            correct(PAGE, command, printed)
