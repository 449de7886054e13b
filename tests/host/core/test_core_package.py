# SPDX-License-Identifier: BSD-2-Clause
"""The core as an installed CMake package: a C and a C++ project outside the checkout use it."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import cellreap
from cellreap.cli.main import main
from kit.paths import DATA, ROOT

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("Y-07")]

CPP_PROJECT = """\
cmake_minimum_required(VERSION 3.20)
project(outside LANGUAGES CXX)
find_package(cellreap REQUIRED COMPONENTS core)
add_executable(outside outside.cc)
target_compile_features(outside PRIVATE cxx_std_17)
target_compile_options(outside PRIVATE -Wall -Wextra -Wpedantic -Werror)
target_link_libraries(outside PRIVATE cellreap::core)
"""
CPP_MAIN = """\
#include <array>
#include <cstdio>

int main()
{
    alignas(8) static std::array<unsigned char, 1 << 16> memory;
    cr_model *model = nullptr;
    cr_ref root, pd;
    if (cr_model_init(memory.data(), memory.size(), 16, 16, &model) != CR_OK ||
        cr_model_add_pd(model, 0, CR_FLAG_ROOT, &root) != CR_OK ||
        cr_model_add_pd(model, 1, 0, &pd) != CR_OK ||
        cr_model_doom(model, root) != CR_ERR_ROOT || cr_model_doom(model, pd) != CR_OK) {
        return 1;
    }
    std::printf("%u nodes\\n", cr_model_get_stats(model).nodes);
    return 0;
}
"""


def run(*command: object, at: Path | None = None) -> str:
    """Runs a tool and returns its output, or fails the test with it."""
    done = subprocess.run(
        list(map(str, command)),
        cwd=at,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def configure(project: Path, prefix: Path) -> list[str]:
    """The command that configures a project with the package in `prefix`."""
    # Without a generator, CMake wants make, which need not be installed.
    words = ["cmake", "-G", "Ninja", "-S", str(project), "-B", str(project / "build")]
    return [*words, f"-Dcellreap_ROOT={prefix}"]


def build(project: Path, prefix: Path) -> Path:
    """Builds a project with the package in `prefix`. Returns the folder of the result."""
    run(*configure(project, prefix))
    run("cmake", "--build", project / "build")
    return project / "build"


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the core is installed. The build directory has been deleted."""
    folder = tmp_path_factory.mktemp("core")
    run("cmake", "-G", "Ninja", "-S", ROOT, "-B", folder / "build")
    run("cmake", "--build", folder / "build")
    run("cmake", "--install", folder / "build", "--prefix", folder / "prefix")
    shutil.rmtree(folder / "build")
    return folder / "prefix"


@pytest.fixture(scope="module")
def planner(prefix: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """examples/plan, built outside the checkout."""
    project = tmp_path_factory.mktemp("outside") / "plan"
    shutil.copytree(ROOT / "examples" / "plan", project)
    return build(project, prefix) / "plan"


def test_no_installed_text_names_the_checkout(prefix: Path) -> None:
    texts = [path for path in prefix.rglob("*") if path.suffix in (".h", ".cmake")]
    assert len(texts) > 12
    assert [path for path in texts if str(ROOT) in path.read_text()] == []


@pytest.mark.parametrize("depths", [("0", "0"), ("1", "2"), ("inf", "1")])
def test_the_example_plans_as_the_command_does(
    planner: Path, depths: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    model = str(DATA / "scenario.csv")
    pd_depth, rs_depth = depths
    options = ("--pd-depth", pd_depth, "--rs-depth", rs_depth, "--engine", "reference", "--json")
    with pytest.raises(SystemExit):
        main(["plan", model, "--crash", "PD_1", *options])
    groups = json.loads(capsys.readouterr().out)["groups"]
    found: list[list[str]] = [[] for _ in groups]
    for line in run(planner, model, "PD_1", *depths).splitlines():
        group, node = line.removeprefix("group ").split(" (")[0].split(": ")
        found[int(group)].append(node)
    assert [sorted(group) for group in found] == groups


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("nothing.csv", "PD_1"), "plan: nothing.csv: cannot be read"),
        ((str(DATA / "scenario.csv"), "PD_77"), "plan: PD_77: is no node of the model"),
        ((str(DATA / "scenario.csv"), "PD_0"), "plan: PD_0: the core answers 12"),
        ((str(DATA / "scenario.csv"), "PD_1", "deep"), "plan: deep: is no depth"),
        ((str(DATA / "bad_models" / "map_to_itself.csv"), "PD_1"), "the core answers 1 "),
        ((), "plan: usage: plan MODEL.csv"),
    ],
)
def test_the_example_says_what_is_wrong(planner: Path, given: tuple[str, ...], told: str) -> None:
    done = subprocess.run([planner, *given], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr


@pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler here")
def test_every_public_header_is_for_cpp_too(prefix: Path, tmp_path: Path) -> None:
    """All are included in one C++ file, which calls the C functions of the library."""
    headers = sorted(path.name for path in (prefix / "include" / "cellreap").glob("*.h"))
    assert {"model.h", "metrics.h", "policy.h", "protocol.h", "work.h"} <= set(headers)
    project = tmp_path / "cpp"
    project.mkdir()
    includes = "".join(f"#include <cellreap/{name}>\n" for name in headers)
    (project / "outside.cc").write_text(includes + CPP_MAIN)
    (project / "CMakeLists.txt").write_text(CPP_PROJECT)
    assert run(build(project, prefix) / "outside") == "2 nodes\n"


def test_a_part_that_is_not_installed_is_named(prefix: Path, tmp_path: Path) -> None:
    """The core for the host has no supervisor, which needs a kernel."""
    text = CPP_PROJECT.replace("COMPONENTS core", "COMPONENTS supervisor")
    (tmp_path / "CMakeLists.txt").write_text(text.replace("CXX", "C").replace(".cc", ".c"))
    (tmp_path / "outside.c").write_text("int main(void) { return 0; }\n")
    done = subprocess.run(configure(tmp_path, prefix), capture_output=True, text=True, check=False)
    assert done.returncode != 0
    told = " ".join(done.stderr.split())
    assert "no component 'supervisor'" in told
    assert "which is for 'the host'" in told


@pytest.mark.parametrize(("wanted", "found"), [("0.2", True), ("0.2.0", True), ("0.3", False)])
def test_find_package_heeds_the_version(
    prefix: Path, tmp_path: Path, wanted: str, found: bool
) -> None:
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\nproject(asks LANGUAGES C)\n"
        f"find_package(cellreap {wanted} COMPONENTS core)\n"
        'message("found: ${cellreap_FOUND} ${cellreap_VERSION}")\n'
    )
    told = run(*configure(tmp_path, prefix))
    assert ("found: 1 0.2.0" in told) == found


def test_the_versions_are_the_same() -> None:
    header = (ROOT / "roottask" / "include" / "cellreap" / "version.h").read_text()
    assert f'#define CR_VERSION "{cellreap.__version__}"\n' in header
