# SPDX-License-Identifier: BSD-2-Clause
"""Configurations: which are accepted, and that each mistake is reported with file, line and key."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from pydantic import ValidationError

from cellreap.errors import InputError, UsageError
from cellreap.system.config import (
    Config,
    check_scheduling,
    check_timer,
    json_schema,
    load_config,
    override,
    parse_config,
)
from cellreap.system.toml_lines import Lines
from kit.paths import BAD_CONFIGS, BOOT_CONFIGS, CONFIGS, TIMED_CONFIGS

BAD = sorted(BAD_CONFIGS.glob("*.toml"))
TIMED = sorted(TIMED_CONFIGS.glob("*.toml"))
GOOD = sorted(CONFIGS.glob("*.toml"))
HEAD = '[system]\nname = "s"\n[[pd]]\nname = "a"\nprogram = "p"\n'


def parse(text: str) -> Config:
    return parse_config(text, Path("f.toml"))


@pytest.mark.behaviour("X-25")
@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_a_bad_file_is_refused_with_the_expected_line(path: Path) -> None:
    with pytest.raises(InputError) as caught:
        load_config(path)
    said = caught.value.line().replace(str(path), path.name)
    assert said + "\n" == path.with_suffix(".err").read_text()
    assert "\n" not in str(caught.value)


def test_each_bad_file_has_its_message_and_each_message_its_file() -> None:
    folder = BAD_CONFIGS
    assert {path.stem for path in BAD} == {path.stem for path in folder.glob("*.err")}
    assert len(BAD) > 60


@pytest.mark.behaviour("N-11", "X-25")
@pytest.mark.parametrize("path", TIMED, ids=lambda path: path.stem)
def test_what_needs_a_timer_is_refused_where_a_kernel_has_none_by_the_name_of_its_option(
    path: Path,
) -> None:
    config, text = load_config(path), path.read_text()
    check_timer(config, text, path, None)
    with pytest.raises(InputError) as caught:
        check_timer(config, text, path, "KernelArmExportPTMRUser")
    said = caught.value.line().replace(str(path), path.name)
    assert said + "\n" == path.with_suffix(".err").read_text()


@pytest.mark.behaviour("B-03", "X-25")
def test_a_budget_is_refused_where_a_kernel_has_no_scheduling_contexts() -> None:
    path = BOOT_CONFIGS / "budget.toml"
    config, text = load_config(path), path.read_text()
    check_scheduling(config, text, path, True)
    with pytest.raises(InputError) as caught:
        check_scheduling(config, text, path, False)
    line = text.splitlines().index("budget_us = 5000") + 1
    said = "pd[3].budget_us: needs scheduling contexts: expected a kernel with KernelIsMCS"
    assert caught.value.line() == f"{path}:{line}: {said}, which this one has not"


def test_what_can_do_without_a_timer_is_taken_without_one() -> None:
    text = f'{HEAD}deadline_ms = 0\n[[crash]]\npd = "a"\nhow = "hang"\n'
    check_timer(parse(text), text, Path("f.toml"), "KernelArmExportPTMRUser")


@pytest.mark.behaviour("H-01")
@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_the_configurations_of_the_project_are_good(path: Path) -> None:
    config = load_config(path)
    assert config.system.name == path.stem
    # In some of them the PDs themselves cause a crash.
    assert config.crashes or config.system.name in ("extract", "protocol", "spawn")


def test_the_reference_scenario_is_what_the_semantics_say() -> None:
    config = load_config(CONFIGS / "block_fs_db_app.toml")
    assert [pd.name for pd in config.pds] == ["block_server_1", "block_server_2", "fs", "db", "app"]
    assert {pd.name: pd.requests for pd in config.pds if pd.requests} == {
        "fs": ("disk1", "disk2"),
        "db": ("files",),
        "app": ("database",),
    }
    assert {space.name: space.type for pd in config.pds for space in pd.spaces} == {
        "disk1": "BLOCK",
        "disk2": "BLOCK",
        "files": "FILE",
        "database": "TABLE",
    }
    crash = config.crashes[0]
    assert (crash.pd, crash.at, crash.how) == ("block_server_1", 5, "page-fault")
    assert (config.policy.pd_depth, config.policy.rs_depth) == (0, 0)


def test_nothing_in_a_configuration_can_be_changed() -> None:
    config = parse(HEAD)
    with pytest.raises(ValidationError):
        config.pds[0].name = "b"


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    for path in (tmp_path / "none.toml", tmp_path):
        with pytest.raises(InputError, match=str(path)):
            load_config(path)


def test_a_huge_file_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "huge.toml"
    with path.open("wb") as file:
        file.truncate(1 << 40)  # sparse: reading it whole would never end
    with pytest.raises(InputError, match="larger than"):
        load_config(path)


def test_a_file_cut_anywhere_or_with_a_byte_changed_is_read_or_refused_with_its_name(
    tmp_path: Path,
) -> None:
    raw = (CONFIGS / "second_crash.toml").read_bytes()
    path = tmp_path / "mangled.toml"
    chance = random.Random(7)
    mangled = [raw[: chance.randrange(len(raw))] for _ in range(100)]
    for _ in range(200):
        at = chance.randrange(len(raw))
        mangled.append(raw[:at] + bytes([chance.randrange(256)]) + raw[at + 1 :])
    refused = []
    for content in mangled:
        path.write_bytes(content)
        try:
            load_config(path)
        except InputError as error:
            refused.append(str(error))
    assert len(refused) > 100
    assert all(message.startswith(str(path)) and "\n" not in message for message in refused)


@pytest.mark.behaviour("X-25")
def test_a_cycle_of_requests_is_taken_where_it_is_asked_for() -> None:
    text = (BAD_CONFIGS / "requests_in_a_cycle_of_three.toml").read_text()
    with pytest.raises(InputError, match="b -> c -> a -> b"):
        parse(text)
    assert parse(f"{text}\n[policy]\nallow_cycles = true\n").policy.allow_cycles


def test_a_long_chain_of_requests_is_no_cycle() -> None:
    text = '[system]\nname = "s"\n'
    for i in range(127):
        wants = f'requests = ["s{i - 1}"]\n' if i else ""
        text += (
            f'[[pd]]\nname = "p{i}"\nprogram = "p"\n{wants}'
            f'[[pd.space]]\nname = "s{i}"\ntype = "T"\n'
        )
    assert len(parse(text).pds) == 127


@pytest.mark.behaviour("C-08")
def test_depths_are_set_for_the_system_and_for_a_pd() -> None:
    config = parse(f'{HEAD}rs_depth = "inf"\n[policy]\npd_depth = 3\n')
    assert (config.policy.pd_depth, config.policy.rs_depth) == (3, 0)
    assert (config.pds[0].pd_depth, config.pds[0].rs_depth) == (None, "inf")


@pytest.mark.behaviour("C-08", "H-01")
def test_a_depth_on_the_command_line_beats_the_file_and_every_pd() -> None:
    config = parse(f"{HEAD}pd_depth = 2\nrs_depth = 1\n[policy]\npd_depth = 3\n")
    changed = override(config, pd_depth="inf")
    assert changed.policy.pd_depth == "inf"
    assert changed.pds[0].pd_depth is None
    assert changed.pds[0].rs_depth == 1
    assert config.pds[0].pd_depth == 2


@pytest.mark.behaviour("H-01")
def test_a_crash_on_the_command_line_replaces_those_of_the_file() -> None:
    config = load_config(CONFIGS / "second_crash.toml")
    assert [(crash.pd, crash.at) for crash in override(config, crash="db").crashes] == [("db", 3)]
    app = override(config, crash="app").crashes
    assert [(crash.pd, crash.at, crash.how) for crash in app] == [("app", 5, "page-fault")]
    for pd in ("app", "db"):
        (at_2,) = override(config, crash=f"{pd}@2").crashes
        assert (at_2.pd, at_2.at, at_2.how) == (pd, 2, "page-fault")


def test_a_crash_on_the_command_line_must_make_sense() -> None:
    config = load_config(CONFIGS / "second_crash.toml")
    with pytest.raises(
        UsageError, match='--crash: no PD is named "nobody"; expected one of block_server_1'
    ):
        override(config, crash="nobody")
    for wrong in ("db@", "db@0", "db@x", "db@4294967296"):
        with pytest.raises(UsageError, match=f'--crash {wrong}: expected the number .* "db@2"'):
            override(config, crash=wrong)
    with pytest.raises(UsageError, match=r"--crash late: .* after the first cleanup"):
        override(config, crash="late")


@pytest.mark.behaviour("A-01", "A-27")
def test_the_mode_is_async_unless_the_file_or_the_command_line_says_otherwise() -> None:
    config = parse(HEAD)
    assert config.system.mode == "async"
    assert parse(HEAD.replace('"s"\n', '"s"\nmode = "sync"\n')).system.mode == "sync"
    changed = override(config, mode="sync")
    assert (changed.system.mode, config.system.mode) == ("sync", "async")
    assert override(changed, mode="async") == config


def test_lines_of_keys_in_every_way_to_write_them() -> None:
    text = (
        "a = 1\n"
        '"q.x".b = [1, { c = 2 }, [\n'
        "  3,\n"
        "  # four\n"
        "  5]]\n"
        "[t.u]\n"
        "x.y = 1\n"
        "[[pd]]\n"
        "n = 1\n"
        "[[pd.space]]\n"
        "n = 2\n"
        "[[pd.space]]\n"
        "n = 3\n"
        "[[pd]]\n"
        "[[pd.space]]\n"
        "n = 4\n"
        "[pd.extra]\n"
        "n = 5\n"
    )
    lines = Lines(text)
    expected = {
        ("a",): 1,
        ("q.x", "b", 1, "c"): 2,
        ("q.x", "b", 2, 0): 3,
        ("q.x", "b", 2, 1): 5,
        ("t", "u", "x", "y"): 7,
        ("pd", 0): 8,
        ("pd", 0, "n"): 9,
        ("pd", 0, "space", 0, "n"): 11,
        ("pd", 0, "space", 1, "n"): 13,
        ("pd", 1): 14,
        ("pd", 1, "space", 0, "n"): 16,
        ("pd", 1, "extra", "n"): 18,
    }
    assert {path: lines.of(path) for path in expected} == expected
    assert lines.of(("pd", 1, "space", 0, "absent")) == 15
    assert lines.of(("nowhere",)) == 1


def test_the_schema_for_editors_names_every_table() -> None:
    schema = json_schema()
    tables = {"bench", "system", "policy", "program", "pd", "link", "dropped"}
    tables |= {"region", "channel", "interrupt", "port", "drive", "crash", "expect"}
    assert set(schema["properties"]) == tables
    assert schema["$defs"]["Pd"]["additionalProperties"] is False


@pytest.mark.behaviour("Y-04")
def test_another_depth_or_crash_is_another_system_than_the_file_expects() -> None:
    config = parse(HEAD + '[expect]\nalive = []\ncrashes = ["a"]\n')
    assert override(config, mode="sync").expect == config.expect
    assert config.expect.alive == ()
    for changed in (override(config, pd_depth=1), override(config, crash="a")):
        assert (changed.expect.alive, changed.expect.crashes) == (None, ("a",))
        assert changed.expect.nobody_left
