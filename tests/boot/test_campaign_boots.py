# SPDX-License-Identifier: BSD-2-Clause
"""Campaigns that boot refkernel."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("taskflow", reason="campaigns need taskflow: pip install 'cellreap[campaign]'")

from cellreap.boards.description import Qemu
from cellreap.campaign.depot import boots_of
from cellreap.campaign.flow import result_of
from kit.paths import CONFIGS, ROOT

SMALL = """\
[campaign]
name = "small"
[matrix]
config = ["{}"]
kernel = ["refkernel"]
rs_depth = [0, 1, 2, "inf"]
inject = ["none", "step:1:fault"]
"""
CELLS_OF_SMALL = 8


def started(file: Path, folder: Path, *more: str) -> subprocess.Popen[str]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "CELLREAP_HOME": str(ROOT)}
    command = [sys.executable, "-m", "cellreap", "campaign", str(file), "-o", str(folder), *more]
    return subprocess.Popen(
        command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def boots_of_done(folder: Path) -> dict[str, int]:
    """The cells that have a result, and how often each was booted."""
    cells = (path for path in folder.iterdir() if path.is_dir())
    return {path.name: boots_of(path) for path in cells if result_of(path) is not None}


@pytest.mark.slow
@pytest.mark.behaviour("H-11", "A-20", "T-14", "T-24")
@pytest.mark.parametrize(
    ("file", "cells", "kills", "between"),
    [
        (None, CELLS_OF_SMALL, 2, 1),
        pytest.param(CONFIGS / "campaigns" / "depths.toml", 200, 4, 30, marks=pytest.mark.thorough),
    ],
)
def test_a_campaign_that_is_killed_ends_with_all_results_and_runs_none_twice(
    file: Path | None, cells: int, kills: int, between: int, tmp_path: Path
) -> None:
    """kills: after each, the campaign is resumed. between: results between two kills."""
    if file is None:
        file = tmp_path / "small.toml"
        file.write_text(SMALL.format(CONFIGS / "block_fs_db_app.toml"))
    folder = tmp_path / "out"
    ended: dict[str, int] = {}
    for number in range(kills):
        running = started(file, folder, *(("--resume",) if number else ()))
        assert running.stderr is not None
        for _ in range(between):
            assert running.stderr.readline(), "it ended before it was killed"
        running.kill()
        running.communicate()
        now = boots_of_done(folder)
        assert {name: now[name] for name in ended} == ended, "one was run again"
        assert len(now) >= len(ended) + between
        ended = now
    assert len(ended) < cells
    last = started(file, folder, "--resume", "--json")
    out, error = last.communicate()
    assert last.returncode == 0, out + error
    shown = json.loads(out)["cells"]
    assert [cell["verdict"] for cell in shown] == ["pass"] * cells
    now = boots_of_done(folder)
    assert {name: now[name] for name in ended} == ended, "one was run again"
    assert set(now) == {cell["id"] for cell in shown}


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.behaviour("H-04", "H-11", "H-02")
@pytest.mark.skipif(
    not Path(Qemu().bios).is_file() or shutil.which("mkimage") is None,
    reason="no u-boot-qemu or no u-boot-tools: tools/setup --boards installs them",
)
def test_a_cell_boots_through_uboot(tmp_path: Path) -> None:
    file = tmp_path / "board.toml"
    file.write_text(SMALL.format(CONFIGS / "block_fs_db_app.toml") + 'board = ["qemu-uboot"]\n')
    running = started(file, tmp_path / "out", "--json")
    out, error = running.communicate()
    assert running.returncode == 0, out + error
    cells = json.loads(out)["cells"]
    assert [(cell["verdict"], cell["boots"]) for cell in cells] == [("pass", 1)] * CELLS_OF_SMALL
    for cell in cells:
        log = (tmp_path / "out" / cell["id"] / "cell.trace.uboot.log").read_text(errors="replace")
        assert "U-Boot 20" in log
        assert "Bytes transferred = " in log
