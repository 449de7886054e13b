# SPDX-License-Identifier: BSD-2-Clause
"""Every kernel provides what the root task and the PDs rely on, and all kernels behave alike.

The kernels are the one that `cellreap run` uses for each architecture, refkernel, and all in the
folders that CELLREAP_SDKS names, separated by colons: <folder>/<anything>/<architecture>.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from cellreap.cli.conformance_cmd import Conformance, run_conformance
from cellreap.progress import Progress
from cellreap.system.parts import CONFORMANCE, build_conformance, build_parts
from cellreap.system.refkernel import build_refkernel
from cellreap.system.sdk import (
    Sdk,
    device_missing,
    is_mcs,
    load_sdk,
    timer_of,
)
from cellreap.system.toolchain import find_toolchain
from kit.arches import ARCHES
from kit.kernels import prefix_of
from kit.marks import slow_but
from kit.paths import ROOT

MORE = [
    (arch, folder / arch)
    for base in filter(None, os.environ.get("CELLREAP_SDKS", "").split(":"))
    for folder in sorted(Path(base).iterdir())
    for arch in ARCHES
    if (folder / arch).is_dir()
]
SOURCES = sorted((ROOT / "roottask" / "conformance").glob("*.c"))
LEAST = 60


@cache
def results(root: Path, arch: str) -> Conformance:
    """The findings of one kernel's run. Each kernel boots once in a process."""
    with tempfile.TemporaryFile() as console:
        sdk = load_sdk(root, arch)
        return run_conformance(sdk, console, Progress(quiet=True), extra=(), timeout=600, idle=90)


def names_in_sources(of: str, mcs: bool) -> list[str]:
    """The names of the checks of one table, or of `tables`, in the order of main.c."""
    main = (ROOT / "roottask" / "conformance" / "main.c").read_text()
    order = re.search(r"tables\[\] = \{([^}]*)\}", main)
    assert order is not None
    text = "".join(path.read_text() for path in SOURCES)
    names = []
    tables = [entry.split(" : ") for entry in order[1].replace("CR_MCS ? ", "").split(",")]
    for table in [(each[0] if mcs else each[-1]).strip() for each in tables]:
        if of in ("tables", table) and table not in ("", "none"):
            rows = re.search(rf"{table}\[\] = \{{\n(.*?)\n\}};", text, re.DOTALL)
            assert rows is not None
            names += re.findall(r'^    \{"([a-z0-9-]+)",\s+\w+\},$', rows[1], re.MULTILINE)
    return names


def verify(result: Conformance, sdk: Sdk) -> None:
    """All checks were made, each once, and passed."""
    assert result.passed, (
        str(sdk.kernel),
        result.complaints,
        [c for c in result.checks if not c.ok],
    )
    names = [check.name for check in result.checks]
    assert len(names) >= LEAST
    assert len(set(names)) == len(names)
    assert names == names_in_sources("tables", is_mcs(sdk.options))
    left_out = [check.name for check in result.checks if not check.made]
    mcs = is_mcs(sdk.options)
    device = [
        name
        for table in ("cf_device_checks", "cf_ack_checks")
        for name in names_in_sources(table, mcs)
    ]
    time = names_in_sources("cf_time_checks", mcs)
    without = device_missing(sdk.options, sdk.kernel.arch) is not None
    assert left_out == device * without + time * (not timer_of(sdk))


@pytest.mark.slow
@pytest.mark.parametrize("of", slow_but(ARCHES, ARCHES[0]))
def test_the_kernel_does_what_is_relied_on(of: str, sdk_of: Callable[[str], Sdk]) -> None:
    sdk = sdk_of(of)
    verify(results(sdk.root, of), sdk)


@pytest.mark.slow
@pytest.mark.parametrize("of", ARCHES)
def test_refkernel_does_too(of: str) -> None:
    root = build_refkernel(of, Progress(quiet=True))
    verify(results(root, of), load_sdk(root, of))


@pytest.mark.slow
@pytest.mark.skipif(not MORE, reason="CELLREAP_SDKS names no more SDKs")
@pytest.mark.parametrize(
    ("of", "root"), MORE, ids=[f"{root.parent.name}-{of}" for of, root in MORE]
)
def test_other_kernels_do_too(of: str, root: Path) -> None:
    verify(results(root, of), load_sdk(root, of))


@pytest.mark.slow
def test_all_architectures_and_kernels_print_the_same(sdk_of: Callable[[str], Sdk]) -> None:
    lines = {of: results(sdk_of(of).root, of).lines for of in ARCHES if timer_of(sdk_of(of))}
    own = {of: build_refkernel(of, Progress(quiet=True)) for of in ARCHES}
    lines |= {f"refkernel {of}": results(root, of).lines for of, root in own.items()}
    with_timer = [(of, root) for of, root in MORE if timer_of(load_sdk(root, of))]
    lines |= {
        str(root): results(root, of).lines
        for of, root in with_timer
        if not is_mcs(load_sdk(root, of).options)
    }
    first = lines[f"refkernel {ARCHES[0]}"]
    for name, found in lines.items():
        assert found == first, name


@pytest.mark.behaviour("B-01", "B-02")
@pytest.mark.slow
@pytest.mark.thorough
def test_kernels_with_mcs_have_checks_of_their_own_and_print_the_same() -> None:
    """The rows of mcs.c say where lent time goes, and what frees who waits."""
    found = {of: prefix_of(f"{of}-mcs") for of in ARCHES}
    for of, root in found.items():
        verify(results(root, of), load_sdk(root, of))
    assert len({results(root, of).lines for of, root in found.items()}) == 1


def test_the_page_names_a_boot_for_each_check_of_mcs() -> None:
    page = (ROOT / "docs" / "conformance.md").read_text()
    rows = re.findall(r"^\| (`[a-z-]+`.*) \| (.*) \|$", page.split("### With MCS")[1], re.MULTILINE)
    named = [name for checks, _ in rows for name in re.findall("`([a-z-]+)`", checks)]
    all_rows = names_in_sources("cf_mcs_checks", mcs=True)
    assert [name for name in named if name in all_rows] == all_rows
    tests = (ROOT / "tests" / "boot" / "test_mcs.py").read_text().split("\n\n\n")
    proofs = [text for text in tests if '"B-02"' in text]
    for _, boots in rows:
        for test in re.findall(r"`(test_\w+)`", boots):
            assert any(f"def {test}(" in text for text in proofs), test


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.behaviour("B-05")
@pytest.mark.parametrize("name", ["zcu102-verified", "aarch64-el2-verified"])
def test_verified_kernels_do_too_and_the_image_is_padded_for_the_first(name: str) -> None:
    root = prefix_of(name)
    verify(results(root, "aarch64"), load_sdk(root, "aarch64"))


@pytest.mark.slow
@pytest.mark.skipif(not MORE, reason="CELLREAP_SDKS names no more SDKs")
@pytest.mark.parametrize(
    ("of", "root"), MORE, ids=[f"{root.parent.name}-{of}" for of, root in MORE]
)
def test_a_kernel_without_a_timer_prints_the_same_of_what_it_has(of: str, root: Path) -> None:
    if is_mcs(load_sdk(root, of).options):
        pytest.skip("it has checks of its own, being one with MCS")
    own = build_refkernel(ARCHES[0], Progress(quiet=True))
    all_lines = results(own, ARCHES[0]).lines[:-1]
    found = results(root, of)
    made = [check.line() for check in found.checks if check.made]
    assert made == list(all_lines[: len(made)])


@pytest.mark.slow
def test_the_command(sdk: Sdk, arch: str) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "cellreap.cli.main",
            "conformance",
            "--arch",
            arch,
            "--sdk",
            str(sdk.root),
        ],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    *lines, last = done.stdout.splitlines()
    assert last.startswith(f"pass: {sdk.kernel}, ")
    assert tuple(lines) == results(sdk.root, arch).lines


def test_who_builds_a_system_builds_no_check_and_the_other_way_round() -> None:
    sdk = load_sdk(build_refkernel("x86_64", Progress(quiet=True)), "x86_64")
    toolchain, quiet = find_toolchain("x86_64"), Progress(quiet=True)
    system = build_parts(sdk, toolchain, quiet)
    checks = build_conformance(sdk, toolchain, quiet)
    assert (checks.folder / CONFORMANCE).is_file()
    made = {path.name for path in system.folder.rglob("*.o*")}
    assert made & {path.name for path in checks.folder.rglob("*.o*")}  # the kernel layer
    assert not list(system.folder.rglob("conformance.dir/**/*.o*"))
    assert not list(checks.folder.rglob("supervisor/*.o*"))
