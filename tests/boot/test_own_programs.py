# SPDX-License-Identifier: BSD-2-Clause
"""A system whose programs are outside this tree, some of them ELF files that know nothing of us."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from cellreap.testing import Run, Target
from kit.own_project import make_project


@pytest.fixture(scope="module")
def boot(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Target], Run]:
    """Boots the project on a target."""

    def run(target: Target) -> Run:
        folder = tmp_path_factory.mktemp("project")
        make_project(folder, target.sdk.kernel.arch)
        return Target(target.sdk, tmp_path_factory.mktemp("runs"), [folder]).run("mine")

    return run


def _is_as_written(run: Run) -> None:
    assert run.says("server") == ["this is my server"]
    assert set(run.says("client")) == {"the sum is 6"}
    faulty, looping = run.cleanups()
    assert [run.names[faulty["trigger"]], faulty["cause"]] == ["faulty", "fault"]
    (fault,) = run.of("FAULT")
    assert (fault["kind"], fault["address"]) == ("vm-fault", hex(16))
    assert [run.names[looping["trigger"]], looping["cause"]] == ["looping", "terminate"]
    assert run.destroyed_pds(1) == {"faulty"}
    assert run.destroyed_pds(2) == {"looping"}
    gone = [run.names[event["pd"]] for event in run.of("STEP", name="destroy-pd")]
    assert gone == ["faulty", "looping"]
    assert run.alive() == {"server", "client"}


@pytest.mark.behaviour("Y-01")
def test_sources_and_elf_files_of_a_project_outside_run_and_are_cleaned_up(
    target: Target, boot: Callable[[Target], Run]
) -> None:
    _is_as_written(boot(target))


@pytest.mark.slow
@pytest.mark.behaviour("Y-01")
@pytest.mark.parametrize("arch", ["x86_64", "aarch64"])
def test_they_run_the_same_on_refkernel(
    arch: str, on_refkernel: Callable[[str], Target], boot: Callable[[Target], Run]
) -> None:
    _is_as_written(boot(on_refkernel(arch)))


def test_a_changed_source_is_booted_anew(target: Target, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    make_project(folder, target.sdk.kernel.arch)
    mine = Target(target.sdk, tmp_path, [folder])
    mine.image("mine")
    first = mine.run("mine")
    assert mine.run("mine") is first
    server = folder / "include" / "sum.h"
    server.write_text(re.sub("my server", "another", server.read_text()))
    assert mine.run("mine").says("server") == ["this is another"]
