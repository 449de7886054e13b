# SPDX-License-Identifier: BSD-2-Clause
"""`cellreap check` as a command: output and exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cellreap.cli.main import main
from cellreap.trace.writer import seal
from kit.trace_simulator import reference_run, rich_run


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
    return code, out, err


def test_a_trace_that_passes(passing: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(str(passing), capsys=capsys)
    lines = out.splitlines()
    assert (code, err, lines[-1]) == (0, "", "pass")
    assert lines[0].startswith(f"{passing}: seL4 16.0.0, x86_64, system rich system: ")
    assert (
        "cleanup 1: fault of PD_1 (block_server_1), pd_depth 1, rs_depth 0: 23 kernel calls"
        in lines
    )
    assert "  destroyed PDs: PD_1 (block_server_1), PD_3 (fs)" in lines
    assert "  deleted spaces: BLOCK_SPACE_1 (disk_1), FILE_SPACE_3 (file_space)" in lines
    assert "crash 2 of the configuration, of block_server_2, never came about" in lines


def test_json(passing: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run("--json", str(passing), capsys=capsys)
    shown = json.loads(out)
    assert (code, err) == (0, "")
    assert shown["verdict"] == "pass"
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
