# SPDX-License-Identifier: BSD-2-Clause
"""A mapping that the root task does not tell is found by what the kernel says.

Memory that is not taken is in tests/data/lies.toml. What is kept of interrupts, ports and devices
is in test_target_devices.py, and of endpoints in tests/data/leaks.toml.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from cellreap.headers import source_root
from cellreap.system.sdk import Sdk
from kit.muted import needs_debug
from kit.paths import BOOT_CONFIGS, MEMORY_LEAKS
from kit.planted import run_planted
from mutation.copies import Copy, files_of
from mutation.faults import edited, read_named

FOUND = r"truth\.tables: the snapshot .*: PD_[27] has 4 frames of MO_3_1: expected 3"


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.behaviour("H-10")
def test_a_mapping_that_nobody_told_is_found(sdk_of: Callable[[str], Sdk], tmp_path: Path) -> None:
    """Of a survivor, and of the PD that comes back for it. Snapshots have address spaces on x86_64
    only.
    """
    sdk, root = sdk_of("x86_64"), source_root()
    needs_debug(sdk)
    if sdk.kernel.name != "seL4":
        pytest.skip(f"{sdk.kernel.name} takes no snapshots")
    files = files_of(root)
    copy = Copy(root, files, tmp_path)
    (leak,) = read_named(MEMORY_LEAKS, files)
    copy.plant(edited(files, leak))
    config = tmp_path / "leaky.toml"
    text = (BOOT_CONFIGS / "region.toml").read_text()
    config.write_text(text.replace("[system]", "[system]\ntruth = true", 1))
    shown = run_planted(copy, config, "--arch", "x86_64", "--sdk", str(sdk.root))
    others = [found for found in shown["violations"] if not re.search(FOUND, found)]
    assert (others, len(shown["violations"]) > 0) == ([], True)
