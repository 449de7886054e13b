# SPDX-License-Identifier: BSD-2-Clause
"""`cellreap check` as a command: output and exit codes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from cellreap.cli.main import main
from cellreap.runs.expectation import expected_by
from cellreap.trace.expected import UNVERIFIED, ExpectedSizes
from cellreap.trace.writer import seal
from kit.configured_story import story
from kit.output_schema import check_printed
from kit.simulated_runs import reference_run, rich_run


@pytest.fixture
def passing(tmp_path: Path) -> Path:
    path = tmp_path / "good.trace"
    path.write_text("\n".join(seal(rich_run())) + "\n")
    return path


@pytest.fixture
def failing(tmp_path: Path) -> Path:
    lines = seal(reference_run(1, 0))
    path = tmp_path / "bad.trace"
    path.write_text("\n".join([*lines[:20], *lines[21:]]) + "\n")
    return path


def run(*args: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["check", *args])
    code = ended.value.code
    assert isinstance(code, int)
    out, err = capsys.readouterr()
    check_printed(args, out)
    return code, out, err


def test_a_trace_without_a_violation(passing: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(str(passing), capsys=capsys)
    lines = out.splitlines()
    assert (code, err, lines[-1]) == (3, "", "not as expected: 1 finding")
    assert lines[0].startswith(f"{passing}: seL4 16.0.0, x86_64, system rich system: ")
    assert (
        "cleanup 1: fault of PD_1 (block_server_1), pd_depth 1, rs_depth 0: 20 kernel calls"
        in lines
    )
    assert "  destroyed PDs: PD_1 (block_server_1), PD_3 (fs)" in lines
    assert "  deleted spaces: BLOCK_SPACE_1 (disk_1), FILE_SPACE_3 (file_space)" in lines
    missing = "crash 2 of the configuration, of block_server_2, never came about"
    assert lines[-2].startswith(f"{passing}:not crashed: {missing}: ")


def test_json(passing: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run("--json", str(passing), capsys=capsys)
    shown = json.loads(out)
    assert (code, err) == (3, "")
    assert (shown["verdict"], shown["violations"]) == ("not as expected", [])
    assert [cleanup["cause"] for cleanup in shown["cleanups"]] == [
        "fault",
        "terminate",
        "exit",
        "fault",
    ]


def test_a_trace_that_fails(failing: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(str(failing), capsys=capsys)
    lines = out.splitlines()
    assert (code, err, lines[-1]) == (1, "", "fail: 1 violation")
    assert lines[-2] == f"{failing}:21: line.lost: lost: event 20 is missing before this line"
    code, out, _ = run("--json", str(failing), capsys=capsys)
    assert code == 1
    assert json.loads(out)["violations"] == [lines[-2]]


def test_what_is_no_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = tmp_path / "empty.trace"
    empty.write_bytes(b"")
    binary = tmp_path / "binary.trace"
    binary.write_bytes(bytes(range(256)) * 1000)
    for path in (empty, binary, tmp_path, tmp_path / "missing.trace", Path("/dev/null")):
        code, out, err = run(str(path), capsys=capsys)
        assert (code, out) == (2, "")
        assert err.startswith(f"cellreap: error: {path}: ")
        assert err.count("\n") == 1


def test_names_from_a_target_cannot_harm_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    drafts = reference_run(0, 0)
    drafts[0] = ("TRACE", {**drafts[0][1], "kernel": "se\x1b[31mL4 \udcff", "system": "a\nb"})
    path = tmp_path / "odd.trace"
    path.write_text("\n".join(seal(drafts)) + "\n")
    code, out, _ = run(str(path), capsys=capsys)
    assert code == 0
    assert f"{path}: se?[31mL4 ?, x86_64, system a?b: " in out


CONFIGURED = """
[system]
name = "configured"
await_ms = 500
[policy]
rs_depth = 1
[[pd]]
name = "disk"
program = "block_server"
respawn = true
respawn_window_ms = 5000
respawn_delay_ms = 0
[[pd.space]]
name = "disk1"
type = "BLOCK"
[[pd]]
name = "app"
program = "app"
pinned = true
requests = ["disk1"]
pd_depth = 2
[[crash]]
pd = "disk"
how = "illegal-instruction"
"""


@pytest.fixture
def configured(tmp_path: Path) -> tuple[Path, Path]:
    """A configuration, and the trace of a run of it."""
    file, trace = tmp_path / "configured.toml", tmp_path / "configured.trace"
    file.write_text(CONFIGURED)
    sizes = ExpectedSizes(1 << 20, 40, {}, {}, 1, 1, 256)
    config = expected_by(file)
    booted = replace(config, arch="x86_64", kernel="seL4 16.0.0", sizes=sizes)
    trace.write_text("\n".join(seal(story(booted))) + "\n")
    return file, trace


@pytest.mark.behaviour("W-01")
def test_a_trace_of_the_configuration_passes_and_the_rest_is_not_verified(
    configured: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    file, trace = configured
    code, out, err = run(str(trace), "--image", str(file), capsys=capsys)
    assert (code, err, out.splitlines()[-1]) == (0, "", "pass")
    assert f"not verified: {UNVERIFIED['sizes']}" in out.splitlines()
    assert UNVERIFIED["configuration"] not in out
    code, out, err = run(str(trace), "--json", capsys=capsys)
    assert (code, json.loads(out)["unverified"]) == (0, list(UNVERIFIED.values()))


@pytest.mark.behaviour("W-01")
@pytest.mark.parametrize(
    ("before", "after", "rule"),
    [
        ("rs_depth = 1", "rs_depth = 2", "config.system"),
        ("await_ms = 500", "await_ms = 600", "config.settings"),
        ("pinned = true", "pinned = false", "config.rights"),
        ("pd_depth = 2", "pd_depth = 1", "config.rights"),
        ("respawn_delay_ms = 0", "respawn_delay_ms = 10", "config.rights"),
        ('name = "disk"', 'name = "disk"\ndeadline_ms = 7', "config.rights"),
        ('"illegal-instruction"', '"page-fault"', "config.crash"),
        ("[[crash]]", '[[link]]\nbetween = ["disk", "app"]\n[[crash]]', "config.link"),
    ],
)
def test_a_trace_of_another_configuration_fails(
    configured: tuple[Path, Path],
    before: str,
    after: str,
    rule: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file, trace = configured
    file.write_text(CONFIGURED.replace(before, after))
    code, out, err = run(str(trace), "--image", str(file), capsys=capsys)
    assert (code, err) == (1, "")
    assert f": {rule}: " in out


def test_an_image_that_is_not_there_is_named(
    passing: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(str(passing), "--image", "nowhere.img", capsys=capsys)
    assert (code, out) == (2, "")
    assert "nowhere.img: cannot be read: No such file or directory" in err
