# SPDX-License-Identifier: BSD-2-Clause
"""refkernel as an SDK directory: chosen last, built once, and named as refkernel.

Rules for its sources.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cellreap.errors import InputError, UsageError
from cellreap.headers import source_root
from cellreap.progress import Progress
from cellreap.system.elf import read_executable
from cellreap.system.refkernel import build_refkernel, find_kernel, has_refkernel
from cellreap.system.sdk import CONFIG_FILE, load_sdk
from cellreap.system.toolchain import find_toolchain
from kit.arches import ARCHES
from kit.sdk_kit import make_sdk

QUIET = Progress(quiet=True)
SOURCES = source_root() / "refkernel"
BUILT = [arch for arch in ARCHES if has_refkernel(arch)]
# The compiler options of refkernel that decide which function calls which.
_COMPILE = (
    "-std=c11",
    "-O0",
    "-ffreestanding",
    "-mgeneral-regs-only",
    "-w",
    "-fcallgraph-info",
    "-c",
)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a new user."""
    return {"HOME": str(tmp_path_factory.mktemp("home"))}


@pytest.fixture(scope="module", params=BUILT)
def arch(request: pytest.FixtureRequest) -> str:
    """An architecture that refkernel supports and that has a compiler."""
    name: str = request.param
    try:
        find_toolchain(name)
    except Exception as error:  # the reason is the message, whatever its class
        pytest.skip(str(error))
    return name


@pytest.mark.parametrize(
    "find", [build_refkernel, lambda arch, *more: find_kernel(arch, None, *more)]
)
def test_an_architecture_without_it_is_an_error_of_the_user(
    find: Callable[..., Path], tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="refkernel does not run on riscv64"):
        find("riscv64", QUIET, {"XDG_DATA_HOME": str(tmp_path)})


def test_it_is_there_for_x86_64() -> None:
    assert "x86_64" in BUILT


@pytest.mark.slow
def test_it_is_built_into_the_cache_and_says_what_it_is(arch: str, cache: dict[str, str]) -> None:
    root = find_kernel(arch, None, QUIET, cache)
    assert root.is_relative_to(Path(cache["HOME"]) / ".cache/cellreap/kernel")
    assert root.name == arch
    sdk = load_sdk(root, arch)
    version = json.loads((root / CONFIG_FILE).read_text())["REFKERNEL_VERSION"]
    assert (sdk.kernel.name, sdk.kernel.version, sdk.kernel.arch) == ("refkernel", version, arch)
    assert str(sdk.kernel) == f"refkernel {version} ({arch})"
    assert f"refkernel {version} ({arch}): this is not seL4".encode() in sdk.kernel_elf.read_bytes()


def test_it_is_built_once(arch: str, cache: dict[str, str]) -> None:
    first = find_kernel(arch, None, QUIET, cache)
    before = (first / "bin/kernel.elf").stat()
    assert find_kernel(arch, None, QUIET, cache) == first
    after = (first / "bin/kernel.elf").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


@pytest.mark.slow
def test_half_a_build_is_begun_anew(arch: str, cache: dict[str, str]) -> None:
    root = find_kernel(arch, None, QUIET, cache)
    whole = (root / "bin/kernel.elf").read_bytes()
    (root.parent / "complete").unlink()
    (root / "bin/kernel.elf").write_bytes(whole[:100])
    assert find_kernel(arch, None, QUIET, cache) == root
    assert (root / "bin/kernel.elf").read_bytes() == whole


@pytest.mark.slow
def test_two_builds_are_bit_identical(arch: str, cache: dict[str, str], tmp_path: Path) -> None:
    first = find_kernel(arch, None, QUIET, cache)
    second = build_refkernel(arch, QUIET, {"HOME": str(tmp_path)})
    assert first != second
    assert load_sdk(first, arch).digest == load_sdk(second, arch).digest


def test_an_sdk_that_is_named_or_installed_comes_first(tmp_path: Path) -> None:
    named = make_sdk(tmp_path / "named")
    installed = make_sdk(tmp_path / ".local/share/cellreap/sdk/x86_64")
    env = {"HOME": str(tmp_path), "CELLREAP_SDK_X86_64": str(named)}
    assert find_kernel("x86_64", installed, QUIET, env) == installed
    assert find_kernel("x86_64", None, QUIET, env) == named
    del env["CELLREAP_SDK_X86_64"]
    assert find_kernel("x86_64", None, QUIET, env) == installed
    assert not (tmp_path / ".cache").exists()


def test_an_sdk_that_is_named_and_not_there_is_an_error_all_the_same(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "CELLREAP_SDK_X86_64": str(tmp_path / "gone")}
    with pytest.raises(UsageError, match="no such directory"):
        find_kernel("x86_64", None, QUIET, env)


@pytest.mark.parametrize("version", [None, 1, "", "0 1", "0.1\n", "x" * 21])
def test_a_version_that_no_trace_could_name_is_refused(tmp_path: Path, version: object) -> None:
    options = {"REFKERNEL": True, "REFKERNEL_VERSION": version}
    with pytest.raises(InputError, match=r"REFKERNEL_VERSION: is .*: expected refkernel's version"):
        load_sdk(make_sdk(tmp_path, options=options), "x86_64")


def test_an_sdk_without_the_marker_is_never_refkernel(tmp_path: Path) -> None:
    options = {"REFKERNEL": False, "REFKERNEL_VERSION": "0.1"}
    assert load_sdk(make_sdk(tmp_path, options=options), "x86_64").kernel.name == "seL4"


def test_the_kernel_lies_where_loaders_of_sel4_expect_one(arch: str, cache: dict[str, str]) -> None:
    """In physical memory the kernel is in one piece. In virtual memory it is in the upper half.

    The two addresses differ by whole GiB.
    """
    kernel = load_sdk(find_kernel(arch, None, QUIET, cache), arch).kernel_elf
    segments = read_executable(kernel.read_bytes(), "kernel.elf", arch).segments
    start = {"x86_64": 0x10_0000, "aarch64": 0x4000_0000}[arch]
    assert min(segment.paddr for segment in segments) == start
    assert all((segment.vaddr - segment.paddr) % (1 << 30) == 0 for segment in segments)


def _calls(arch: str, cache: dict[str, str], folder: Path) -> dict[str, set[str]]:
    """Function -> functions that it calls, over all of an architecture's C files."""
    toolchain = find_toolchain(arch)
    include = find_kernel(arch, None, QUIET, cache) / "libsel4/include"
    calls: dict[str, set[str]] = {}
    for source in (*sorted(SOURCES.glob("core/*.c")), *sorted(SOURCES.glob(f"arch/{arch}/*.c"))):
        out = folder / f"{source.stem}.o"
        command = [toolchain.compiler, *_COMPILE, "-I", str(SOURCES / "core")]
        command += [
            "-I",
            str(SOURCES / "arch" / arch),
            "-I",
            str(SOURCES.parent),
            "-isystem",
            str(include),
            str(source),
            "-o",
            str(out),
        ]
        subprocess.run(command, check=True, cwd=folder)
        for line in out.with_suffix(".ci").read_text().splitlines():
            if line.startswith("edge:"):
                words = line.split('"')
                caller, called = (name.split(":")[-1] for name in (words[1], words[3]))
                calls.setdefault(caller, set()).add(called)
    return calls


def _cycles(calls: dict[str, set[str]]) -> Iterator[str]:
    """Functions that reach themselves."""
    for start in calls:
        seen: set[str] = set()
        todo = list(calls[start])
        while todo:
            name = todo.pop()
            if name not in seen:
                seen.add(name)
                todo += calls.get(name, ())
        if start in seen:
            yield start


def test_nothing_recurses(arch: str, cache: dict[str, str], tmp_path: Path) -> None:
    """Not over several functions and files either. Static functions of one name count as one."""
    calls = _calls(arch, cache, tmp_path)
    assert "slot_derive" in calls["slot_insert"] | calls["copy_caps"]
    assert len(calls) > 100
    assert "__indirect_call" not in set().union(*calls.values())
    assert list(_cycles(calls)) == []


def test_a_cycle_would_be_found() -> None:
    assert sorted(_cycles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}})) == ["b", "c"]
