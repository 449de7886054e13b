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
from cellreap.system.sdk import Sdk, prints_tables
from kit.arches import ARCHES
from kit.muted import needs_debug
from kit.paths import BOOT_CONFIGS, MEMORY_LEAKS
from kit.planted import run_planted
from mutation.copies import Copy, files_of
from mutation.faults import edited, read_named

SNAPSHOT = r"truth\.tables: the snapshot .*: PD_[27] has 4 frames of MO_3_1: expected 3"
WALK = r"truth\.own: OWN_CAPS: cnode=memory: \d+ of something else: 1 too many"


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.behaviour("H-10")
@pytest.mark.parametrize("arch", ARCHES)
def test_a_mapping_that_nobody_told_is_found(
    sdk_of: Callable[[str], Sdk], arch: str, tmp_path: Path
) -> None:
    """Of a survivor, and of the PD that comes back for it. A page stays mapped as long as there is
    the capability with which it was mapped, and the walk counts all. Snapshots have address spaces
    on x86_64 only.
    """
    sdk = sdk_of(arch)
    violations = _planted(sdk, tmp_path, 0, "region")
    wanted = [WALK]
    if sdk.kernel.name == "seL4" and prints_tables(arch):
        wanted.append(SNAPSHOT)
    for found in violations:
        assert any(re.search(pattern, found) for pattern in wanted), found
    for pattern in wanted:
        assert any(re.search(pattern, found) for found in violations), pattern


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.behaviour("H-10", "C-16")
def test_a_thread_in_another_address_space_is_found(
    sdk_of: Callable[[str], Sdk], tmp_path: Path
) -> None:
    sdk = sdk_of("x86_64")
    if sdk.kernel.name != "seL4":
        pytest.skip(f"{sdk.kernel.name} takes no snapshots")
    found = _planted(sdk, tmp_path, 1, "threads")
    assert any(" has the address space of " in text for text in found)
    assert all(": truth." in text for text in found)


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.behaviour("H-10", "C-16")
def test_an_address_space_that_goes_before_its_threads_is_found(
    sdk_of: Callable[[str], Sdk], tmp_path: Path
) -> None:
    found = _planted(sdk_of("x86_64"), tmp_path, 2, "threads")
    assert any("cleanup.step_calls: STEP destroy-pd" in text for text in found)


def _planted(sdk: Sdk, folder: Path, which: int, system: str) -> list[str]:
    """What is found in a run of the system if one of the faults is planted."""
    root = source_root()
    needs_debug(sdk)
    files = files_of(root)
    copy = Copy(root, files, folder)
    copy.plant(edited(files, read_named(MEMORY_LEAKS, files)[which]))
    config = folder / "leaky.toml"
    text = (BOOT_CONFIGS / f"{system}.toml").read_text()
    config.write_text(text.replace("[system]", "[system]\ntruth = true", 1))
    shown = run_planted(copy, config, "--arch", sdk.kernel.arch, "--sdk", str(sdk.root))
    return [str(each) for each in shown["violations"]]
