# SPDX-License-Identifier: BSD-2-Clause
"""The public functions that build and boot."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

import cellreap
from cellreap.runs.boot import End
from kit.command_line import cellreap_json
from kit.paths import ROOT


@pytest.mark.behaviour("Y-08")
def test_the_example_of_run_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    globs = {"cellreap": cellreap}
    (test,) = doctest.DocTestFinder(recurse=False).find(cellreap.run, "run", globs=globs)
    runner = doctest.DocTestRunner()
    runner.run(test)
    assert (runner.tries, runner.failures) == (3, 0)


@pytest.mark.behaviour("Y-08")
def test_an_image_is_built_booted_and_checked(tmp_path: Path, arch: str) -> None:
    system = cellreap.System.read(ROOT / "configs" / "pinned.toml")
    image = cellreap.build(system, tmp_path / "a.img", arch=arch)
    assert image.manifest.arch == arch
    assert any((tmp_path / "a.programs").iterdir())
    run = cellreap.boot(image)
    assert run.boot is not None
    assert run.boot.end is End.COMPLETE
    assert run.passed, run.findings
    assert run.trace == tmp_path / "a.trace"
    again = cellreap.check(run.trace, image)
    assert again.passed
    assert again.alive == run.alive
    assert cellreap.check(run.trace, system).passed
    other = cellreap.check(run.trace, system.changed(pd_depth=7))
    assert "config.system" in other.findings[0]


@pytest.mark.behaviour("Y-08")
def test_what_capdl_prints_is_as_the_schema_says(tmp_path: Path, arch: str) -> None:
    run = cellreap.run(ROOT / "configs" / "pinned.toml", arch=arch, output=tmp_path)
    assert run.passed, run.findings
    code, shown = cellreap_json("capdl", str(run.trace), "--after", "1")
    assert (code, shown["problems"]) == (0, [])
    assert "cspace_" in shown["capdl"]
