# SPDX-License-Identifier: BSD-2-Clause
"""The installed library for PDs: a server outside the checkout is compiled and linked with it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from cellreap import headers
from cellreap.errors import CellreapError
from cellreap.headers import source_root
from cellreap.progress import Progress
from cellreap.system.elf import read_executable
from cellreap.system.refkernel import build_refkernel, has_refkernel
from cellreap.system.toolchain import Toolchain, build_tree, find_toolchain
from kit.arches import ARCHES
from kit.paths import ROOT

PROJECT = """\
cmake_minimum_required(VERSION 3.20)
project(outside LANGUAGES C)
find_package(cellreap_pd REQUIRED)
cellreap_add_program(counter.c)
"""
QUIET = Progress(quiet=True)


@pytest.fixture(params=[arch for arch in ARCHES if has_refkernel(arch)])
def toolchain(request: pytest.FixtureRequest) -> Toolchain:
    """A compiler for each architecture that refkernel supports."""
    try:
        return find_toolchain(str(request.param))
    except CellreapError as error:
        pytest.skip(str(error))


@pytest.fixture
def installed(toolchain: Toolchain, tmp_path: Path) -> Path:
    """The prefix that the library is installed in. The build directory has been deleted."""
    sdk = build_refkernel(toolchain.arch, QUIET)
    prefix = tmp_path / "prefix"
    options = {
        "CELLREAP_SDK": str(sdk),
        "CELLREAP_ARCH": toolchain.arch,
        "CMAKE_INSTALL_PREFIX": str(prefix),
    }
    build = tmp_path / "library"
    build.mkdir()
    build_tree(source_root() / "pds", build, toolchain, options, target="install")
    shutil.rmtree(build)
    return prefix


def _build(project: Path, prefix: Path, toolchain: Toolchain) -> bytes:
    project.mkdir()
    (project / "CMakeLists.txt").write_text(PROJECT)
    shutil.copy(source_root() / "examples" / "counter.c", project)
    (project / "build").mkdir()
    build_tree(
        project,
        project / "build",
        toolchain,
        {"cellreap_pd_DIR": str(prefix / "lib/cmake/cellreap_pd")},
    )
    return (project / "build" / "pds" / "counter.elf").read_bytes()


def test_a_server_is_built_against_the_installed_library(
    installed: Path, toolchain: Toolchain, tmp_path: Path
) -> None:
    """No installed file names the checkout, so the server used no file of it."""
    program = _build(tmp_path / "outside", installed, toolchain)
    executable = read_executable(program, "counter.elf", toolchain.arch)
    assert executable.segments[0].vaddr == 0x400000
    texts = [path for path in installed.rglob("*") if path.suffix in (".h", ".cmake", ".ld", ".S")]
    assert len(texts) > 8
    for path in texts:
        assert str(source_root()) not in path.read_text(), path


def test_an_sdk_that_was_moved_away_is_named(
    installed: Path, toolchain: Toolchain, tmp_path: Path
) -> None:
    config = installed / "lib/cmake/cellreap_pd/cellreap_pd-config.cmake"
    text = config.read_text()
    sdk = text.split('set(CELLREAP_LIBSEL4 "')[1].split('"')[0]
    config.write_text(text.replace(sdk, str(tmp_path / "gone")))
    with pytest.raises(CellreapError, match="CELLREAP_SDK"):
        _build(tmp_path / "outside", installed, toolchain)


def test_there_is_a_function_for_each_operation() -> None:
    """A program needs `cr_call_root` only to send what no function sends, as tests do.

    The functions of plain operations are generated, and have the operation's name.
    """
    # statements.c says of operations what they ask, whoever sends them.
    sources = [each for each in (ROOT / "pds").glob("*.c") if each.name != "statements.c"]
    library = "".join(source.read_text() for source in sources)
    used = set(re.findall(r"\bCR_OP_[A-Z_]+", library))
    plain = {each.enumerator for each in headers.operations() if each.called == "PLAIN"}
    assert used == {each.enumerator for each in headers.operations()} - plain
    declared = (ROOT / "pds/include/cellreap/client.h").read_text()
    functions = set(re.findall(r"^cr_result cr_(\w+)\(", declared, re.MULTILINE))
    assert {name.removeprefix("CR_OP_").lower() for name in plain} <= functions
    assert len(plain) > 10
