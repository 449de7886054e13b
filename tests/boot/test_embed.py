# SPDX-License-Identifier: BSD-2-Clause
"""Another root task includes the component, from the installed packages, outside the checkout."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from cellreap.cli.main import main
from cellreap.runs.expectation import expected_by
from cellreap.system.sdk import Sdk
from cellreap.system.toolchain import build_tree, find_toolchain, run_tool
from cellreap.trace.expected import UNVERIFIED
from kit.arches import ARCHES
from kit.kept_traces import read_file
from kit.marks import thorough_but
from kit.muted import muted, pds_print
from kit.paths import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("Y-07")]

EXAMPLE = ROOT / "examples" / "embed"
MOST_LINES = 205


@pytest.fixture(scope="session")
def prefix_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Sdk], Path]:
    """Installs the libraries for an SDK, and returns the prefix."""

    @cache
    def install(root: Path, arch: str) -> Path:
        prefix = tmp_path_factory.mktemp("prefix")
        folder = tmp_path_factory.mktemp("build")
        options = {"CELLREAP_SDK": str(root), "CELLREAP_ARCH": arch}
        build_tree(ROOT / "roottask", folder, find_toolchain(arch), options)
        run_tool(["cmake", "--install", str(folder), "--prefix", str(prefix)], None)
        return prefix

    return lambda sdk: install(sdk.root, sdk.kernel.arch)


def build(project: Path, prefix: Path, sdk: Sdk) -> Path:
    """The root task of a project that finds the packages in `prefix`."""
    (project / "build").mkdir()
    options = {
        "CMAKE_PREFIX_PATH": str(prefix),
        "EMBED_KERNEL": f"{sdk.kernel.name} {sdk.kernel.version}",
    }
    build_tree(project, project / "build", find_toolchain(sdk.kernel.arch), options)
    return project / "build" / "embed.elf"


def boot(root_task: Path, sdk: Sdk) -> Path:
    """The trace of a run that came to its end."""
    trace = root_task.with_suffix(".trace")
    limits = ("--timeout", "600", "--idle", "90")
    with pytest.raises(SystemExit) as ended:
        main(["boot", str(root_task), "--sdk", str(sdk.root), "-o", str(trace), *limits])
    assert ended.value.code == 0, trace.read_text(errors="replace")[-2000:]
    return trace


OTHERS = ("aarch64", "aarch64-mcs", "x86_64-mcs", *(f"{arch}-refkernel" for arch in ARCHES))


@pytest.mark.kernels.with_args("x86_64", *thorough_but(OTHERS))
def test_another_root_task_supervises_with_the_component(
    sdk: Sdk,
    prefix_of: Callable[[Sdk], Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    project = tmp_path / "embed"
    shutil.copytree(EXAMPLE, project)
    trace = boot(build(project, prefix_of(sdk), sdk), sdk)

    console = trace.read_text(errors="replace")
    assert console.count("embed: the bell rings\n") == 1
    assert console.count("embed: a report at the desk\n") == 1
    described = project / "system.toml"
    report = read_file(trace, expected=expected_by(described)).report
    assert [str(found) for found in (*report.violations, *report.unexpected)] == []
    (cleanup,) = report.cleanups
    assert (report.names[cleanup.trigger], cleanup.cause) == ("ledger", "fault")
    assert [report.names[pd] for pd, _ in cleanup.plan["destroyed_pds"]] == ["ledger"]
    assert report.unverified == [UNVERIFIED["sizes"]]

    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main(["check", str(trace), "--image", str(described)])
    assert ended.value.code == 0
    assert f"not verified: {UNVERIFIED['sizes']}" in capsys.readouterr().out

    # The check holds the run against the description, and does not only read it.
    described.write_text(described.read_text().replace("deadline_ms = 2000", "deadline_ms = 2001"))
    wrong = read_file(trace, expected=expected_by(described)).report
    assert {found.rule.split(".")[0] for found in wrong.violations} == {"config"}


@pytest.mark.kernels.with_args("x86_64", *thorough_but(OTHERS[:3]))
@pytest.mark.parametrize("prints", [True, pytest.param(False, marks=pytest.mark.thorough)])
def test_the_component_refuses_what_is_wrong(
    prints: bool,
    sdk: Sdk,
    prefix_of: Callable[[Sdk], Path],
    tmp_path: Path,
) -> None:
    """A refused description takes nothing: the same root task then begins with a good one.

    Its console is its own, or on a kernel that does not print, the component's.
    """
    if prints and not pds_print(sdk):
        pytest.skip(f"{sdk.kernel} does not print: KernelPrinting is off")
    if not prints:
        sdk = muted(sdk, tmp_path / "muted")
    project = tmp_path / "refusals"
    shutil.copytree(EXAMPLE, project)
    shutil.copy(ROOT / "tests" / "boot" / "embedding" / "refusals.c", project / "main.c")
    trace = boot(build(project, prefix_of(sdk), sdk), sdk)
    answers = re.findall(r"answer: (.*) (\d\d)", trace.read_text(errors="replace"))
    ok, arg, exists, absent, version = "00", "01", "05", "06", "14"
    assert answers == [
        *(() if prints else (("no console", absent), ("console", ok), ("room.slots", arg))),
        ("room.slots", arg),
        ("room.slots", arg),
        ("room.kept", arg),
        ("system.version", version),
        ("system.version", version),
        ("system.await_ms", arg),
        ("system.flags", arg),
        ("system.cleaner_priority", arg),
        ("system.cleaner_priority", arg),
        ("system.name", arg),
        *(("system.tables", arg), ("tables.pds", arg), ("tables.slots", arg)),
        *(("tables.pool", arg), ("tables.edges", arg)),
        ("program.elf", arg),
        ("pd.program", arg),
        ("pd.priority", arg),
        ("pd.spawn_priority", arg),
        ("pd.flags", arg),
        ("pd.fault_handler", arg),
        ("init", ok),
        ("mint_endpoint", ok),
        ("mint_endpoint again", exists),
        ("mint_endpoint badge 0", arg),
        ("mint_endpoint a PD's badge", arg),
        ("mint_signal the timer's badge", arg),
        ("mint_signal beyond", arg),
        ("give", ok),
        ("give again", exists),
        ("give no PD", absent),
        ("give a slot of the start", arg),
        ("give beyond", arg),
        ("give nothing", arg),
        ("kept", ok),
        *((("the trace is put", ok),) if prints else ()),
    ]
    report = read_file(trace).report
    assert [str(found) for found in report.violations] == []


def test_no_installed_text_names_the_checkout(sdk: Sdk, prefix_of: Callable[[Sdk], Path]) -> None:
    prefix = prefix_of(sdk)
    texts = [path for path in prefix.rglob("*") if path.suffix in (".h", ".cmake", ".ld", ".S")]
    assert len(texts) > 20
    assert [path for path in texts if str(ROOT) in path.read_text()] == []


def test_the_libraries_have_no_scenario(sdk: Sdk, prefix_of: Callable[[Sdk], Path]) -> None:
    """What another root task links stages no crash, and has no start code or stack of its own."""
    listed = run_tool(["nm", "-A", str(prefix_of(sdk) / "lib" / "libcellreap_supervisor.a")], None)
    assert " T cr_component_init" in listed
    # libsel4's variable is the other root task's, of whichever class.
    assert " cr_ipc_buffer\n" in listed
    assert "__sel4_ipc_buffer" not in listed
    for name in ("cr_director_idle", "cr_quiet_begin", "cr_root_main", "cr_root_stack", "_start"):
        assert f" T {name}\n" not in listed, name


def test_the_example_is_short() -> None:
    assert len((EXAMPLE / "main.c").read_text().splitlines()) <= MOST_LINES


def test_the_table_of_the_interface_is_that_of_the_header() -> None:
    header = (ROOT / "roottask" / "include" / "cellreap" / "component.h").read_text()
    page = (ROOT / "docs" / "embedding.md").read_text()
    rows = re.findall(r"^\| `(cr_component_\w+)` \|", page, re.MULTILINE)
    assert sorted(rows) == sorted(re.findall(r"^\w+ (cr_component_\w+)\(", header, re.MULTILINE))
    (lines,) = re.findall(r"is such a root task in (\d+) lines", page.replace("\n", " "))
    assert int(lines) == len((EXAMPLE / "main.c").read_text().splitlines())
