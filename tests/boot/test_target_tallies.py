# SPDX-License-Identifier: BSD-2-Clause
"""The tallies of accounts are what the tables have, after each message of many kinds.

A copy of the root task counts the use of each account in the tables. It stops the system if a tally
differs (tests/data/recount.toml).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from cellreap.headers import source_root
from kit.paths import BOOT_CONFIGS, CONFIGS, RECOUNT
from kit.planted import run_planted
from kit.records import events_in
from mutation.copies import Copy, files_of
from mutation.faults import edited, read_named

pytestmark = [pytest.mark.slow, pytest.mark.thorough]

PASS = (
    CONFIGS / "protocol.toml",  # edges of all kinds, and steps that are undone
    CONFIGS / "reattach.toml",  # subscriptions with handlers
    CONFIGS / "spawn.toml",
    BOOT_CONFIGS / "reconciled.toml",
)
MERGES = BOOT_CONFIGS / "forgotten.toml"
"""Notices are merged, since its server never acknowledges any."""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    root = source_root()
    files = files_of(root)
    (recount,) = read_named(RECOUNT, files)
    made = Copy(root, files, tmp_path_factory.mktemp("recount"))
    made.plant(edited(files, recount))
    return made


@pytest.mark.behaviour("S-12")
@pytest.mark.parametrize("config", PASS, ids=lambda path: path.stem)
def test_each_tally_is_what_a_count_finds(copy: Copy, config: Path) -> None:
    assert run_planted(copy, config, passes=True)["verdict"] == "pass"


@pytest.mark.behaviour("S-12")
def test_each_tally_is_what_a_count_finds_when_notices_are_merged(copy: Copy) -> None:
    shown = run_planted(copy, MERGES, passes=True)
    assert shown["verdict"] == "pass"
    assert shown["undone"] != []
    events, _ = events_in((copy.folder / "forgotten.trace").read_bytes())
    assert "merged NOTICE" in {event.told for event in events}
