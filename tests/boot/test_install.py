# SPDX-License-Identifier: BSD-2-Clause
"""The wheel, installed in a new virtual environment, does everything without a checkout."""

from __future__ import annotations

import json
import shutil
import subprocess
import zipfile
from pathlib import Path

import click
import pytest

from cellreap import __version__
from cellreap.cli.main import cli
from kit.paths import DATA, MICROKIT, ROOT
from kit.wheels import environment, make_venv

# Command -> arguments, in the project that `init` made. The order is that of the commands' needs.
COMMANDS: dict[str, tuple[str, ...]] = {
    "init": ("demo",),
    "build": ("system.toml", "-o", "demo.img"),
    "boot": ("demo.img", "-o", "demo.trace"),
    "check": ("demo.trace", "--image", "demo.img"),
    "show": ("demo.trace", "--image", "demo.img"),
    "debug": ("demo.img", "--port", "0", "--qemu-arg=-version"),
    "capdl": ("demo.trace", "--after", "1", "--image", "demo.img"),
    "run": ("system.toml", "-o", "out"),
    "plan": ("scenario.csv", "--crash", "block_server_1", "--pd-depth", "1"),
    "metrics": ("scenario.csv", "PD_1", "PD_3"),
    "reconcile": ("scenario.csv", "system.toml"),
    "audit": ("demo.trace", "--after", "0"),
    "graph": ("demo.trace", "-o", "demo.dot"),
    "report": ("demo.trace", "-o", "demo.html"),
    "import": ("storage.system", "-o", "storage.toml"),
    "conformance": ("-o", "conformance.txt"),
    "programs": ("app",),
    "cache": (),
    "completion": ("bash",),
    "docs": ("tutorial",),
}
# Command -> arguments, and what it says that it needs.
NEEDS_MORE: dict[str, tuple[tuple[str, ...], str]] = {
    "flash": (("demo.img", "--board", "none"), "none"),
    "campaign": (("none.toml",), "none.toml"),
}


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a new environment with the wheel."""
    return make_venv(tmp_path_factory.mktemp("venv"), wheel)


def ran(python: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the environment's Python in a folder, with the cache of this suite."""
    return subprocess.run(
        [str(python), *arguments],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )


@pytest.mark.slow
@pytest.mark.behaviour("Y-02")
def test_the_wheel_has_what_a_build_needs_and_nothing_of_this_machine(wheel: Path) -> None:
    assert wheel.name.startswith(f"cellreap-{__version__}-py3-none-linux_")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        for folder in ("roottask", "pds", "examples", "refkernel"):
            for path in (ROOT / folder).rglob("*"):
                inside = f"cellreap/_sources/{path.relative_to(ROOT)}"
                assert path.is_dir() or inside in names, inside
        here = str(ROOT).encode()
        assert [name for name in names if here in archive.read(name)] == []
        assert not any("__pycache__" in name or name.startswith("tests") for name in names)
        assert any(name.endswith("licenses/LICENSE") for name in names)
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        text = archive.read(metadata).decode()
    assert "License-Expression: BSD-2-Clause" in text
    assert "Description-Content-Type: text/markdown" in text


@pytest.mark.slow
@pytest.mark.behaviour("Y-02", "Y-08")
def test_every_command_works_in_a_new_environment(python: Path, tmp_path: Path) -> None:
    assert COMMANDS.keys() | NEEDS_MORE.keys() == set(cli.list_commands(click.Context(cli)))
    where = "from cellreap import headers; print(headers.source_root())"
    assert ran(python, tmp_path, "-c", where).stdout.startswith(str(python.parents[1]))
    for name, arguments in COMMANDS.items():
        folder = tmp_path if name == "init" else tmp_path / "demo"
        done = ran(python, folder, "-m", "cellreap", name, *arguments)
        assert "Traceback" not in done.stderr
        assert done.returncode == 0, (name, done.stdout, done.stderr)
        if name == "init":
            shutil.copy(DATA / "scenario.csv", tmp_path / "demo")
            shutil.copy(MICROKIT / "storage.system", tmp_path / "demo")
    for name, (arguments, needs) in NEEDS_MORE.items():
        done = ran(python, tmp_path / "demo", "-m", "cellreap", name, *arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("cellreap: error: ")
        assert needs in done.stderr
    report = json.loads((tmp_path / "demo" / "out" / "demo.json").read_text())
    assert report["verdict"] == "pass"
    again = ran(python, tmp_path, "-m", "cellreap", "init", "demo")
    assert again.returncode == 2
    assert "demo: is not empty; expected a new folder" in again.stderr
