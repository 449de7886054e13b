# SPDX-License-Identifier: BSD-2-Clause
"""cellreap.testing without a boot: changes to configurations, queries of a recorded run."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from pydantic import ValidationError

from cellreap.errors import InputError
from cellreap.runs.boot import Boot, End
from cellreap.system.sdk import Sdk, load_sdk
from cellreap.testing import (
    NoTimer,
    Run,
    Target,
    dangling,
    together,
    validated,
    with_crashes,
    with_pd,
    with_system,
)
from cellreap.trace.check import check_stream
from cellreap.trace.reader import Reader, read
from kit.paths import BAD_CONFIGS, BOOT_CONFIGS, CONFIGS, GOLDENS
from kit.sdk_kit import make_sdk


@pytest.fixture
def sdk(tmp_path: Path) -> Sdk:
    return load_sdk(make_sdk(tmp_path / "sdk"), "x86_64")


@pytest.fixture
def target(sdk: Sdk, tmp_path: Path) -> Target:
    return Target(sdk, tmp_path, [CONFIGS, BOOT_CONFIGS])


@pytest.fixture
def run() -> Run:
    """A recorded run at depths 1 and 2."""
    path = GOLDENS / "block_fs_db_app-1-2.trace"
    raw = path.read_bytes()
    report = check_stream(io.BytesIO(raw), path.name)
    events = list(read(Reader(path.name), io.BytesIO(raw)))
    return Run(Boot(End.COMPLETE, 1.0, len(raw), len(events), ""), report, events, path, path)


def test_configurations_are_found_by_name_in_the_folders_in_their_order(target: Target) -> None:
    text, config = target.load("block_fs_db_app")
    assert config.system.name == "block_fs_db_app"
    assert 'name = "block_fs_db_app"' in text
    assert target.load("crowd")[1].system.name == "crowd"
    with pytest.raises(FileNotFoundError, match=r"nowhere\.toml is in none of .*configs"):
        target.load("nowhere")


def test_a_wrong_configuration_is_an_input_error(sdk: Sdk, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"unknown_key_pd\.toml:\d+: "):
        Target(sdk, tmp_path, [BAD_CONFIGS]).load("unknown_key_pd")


def test_changes_are_made_one_after_the_other(target: Target) -> None:
    config = target.load("block_fs_db_app")[1]
    change = together(
        with_pd("fs", pinned=True),
        with_system(deadline_ms=7_000),
        with_crashes({"pd": "db", "how": "exit"}),
    )
    changed = validated(change(config))
    assert [pd.name for pd in config.pds if pd.pinned] == []
    assert [pd.name for pd in changed.pds if pd.pinned] == ["fs"]
    assert changed.system.deadline_ms == 7_000
    assert [(crash.pd, crash.how) for crash in changed.crashes] == [("db", "exit")]


def test_a_change_to_a_pd_that_is_not_there_is_an_error(target: Target) -> None:
    with pytest.raises(KeyError, match="no PD 'nobody' in block_fs_db_app"):
        with_pd("nobody", pinned=True)(target.load("block_fs_db_app")[1])


def test_a_changed_configuration_is_checked_again(target: Target) -> None:
    config = with_pd("fs", priority=-1)(target.load("block_fs_db_app")[1])
    with pytest.raises(ValidationError, match="priority"):
        validated(config)


def test_a_system_that_needs_real_time_is_skipped_where_there_is_no_timer(tmp_path: Path) -> None:
    options = {"IRQ_IOAPIC": False, "IRQ_PIC": False, "KERNEL_BENCHMARK": "none"}
    sdk = load_sdk(make_sdk(tmp_path / "sdk", options=options), "x86_64")
    with pytest.raises(NoTimer, match="leaves no timer to user level"):
        Target(sdk, tmp_path, [CONFIGS]).run("hang")


def test_a_run_answers_in_the_names_of_the_configuration(run: Run) -> None:
    assert run.doomed() == {"block_server_1": "0", "fs": "1"}
    assert run.destroyed_pds() == {"block_server_1", "fs"}
    assert run.deleted_spaces() == {"disk1", "files", "database"}
    assert set(run.destroyed()) >= run.destroyed_pds() | run.deleted_spaces()
    assert run.alive() == {"block_server_2", "db", "app"}
    assert run.name(run.id("fs")) == "fs"
    assert run.ids("fs") == [run.id("fs")]
    assert ("app", "lost", "database", "-") in run.notices()
    assert [run.name(event["pd"]) for event in run.of("FAULT")] == ["block_server_1"]
    assert run.at(run.cleanups()[0]) > run.at(run.of("FAULT")[0])
    assert run.says("app")
    assert sum(run.calls().values()) > 0
    assert dangling(run.state(1)) == []


def test_a_name_that_nobody_had_is_an_error(run: Run) -> None:
    with pytest.raises(ValueError, match="0 PDs and spaces had the name 'nobody'"):
        run.id("nobody")
    with pytest.raises(ValueError, match="'nobody' is no id"):
        run.name("nobody")


def test_the_ends_of_edges_that_no_row_lists_are_found() -> None:
    rows = [["PD", "PD_1", "x", "", "", "", ""], ["", "", "NONE", "HOLD", "PD_1", "PD_2", ""]]
    assert dangling(rows) == ["PD_2"]
