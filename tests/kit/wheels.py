# SPDX-License-Identifier: BSD-2-Clause
"""Builds the wheel of this checkout, and environments with it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Final

from cellreap import __version__
from cellreap.cached import cache_folder
from kit.paths import ROOT

ELSEWHERE: Final = ("PYTHONPATH", "CELLREAP_HOME", "CELLREAP_CORE_LIB", "VIRTUAL_ENV")


def environment(home: Path) -> dict[str, str]:
    """The environment without what leads to a checkout, with the cache of this suite."""
    kept = {name: value for name, value in os.environ.items() if name not in ELSEWHERE}
    return {**kept, "HOME": str(home), "XDG_CACHE_HOME": str(cache_folder().parent)}


def dependencies() -> str:
    """The folder with the packages that cellreap needs."""
    return sysconfig.get_paths()["purelib"]


def make_wheel(folder: Path) -> Path:
    """Builds the wheel of the sdist of this checkout, in an empty folder."""
    copy = folder / "copy"
    names = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True
    ).stdout.decode()
    for name in names.splitlines():
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, copy / name)
    sdist = "import sys; from setuptools import build_meta; build_meta.build_sdist(sys.argv[1])"
    _python(copy, "-c", sdist, str(folder))
    shutil.rmtree(copy)
    _python(
        folder,
        *("-m", "pip", "wheel", "-q", "--no-build-isolation", "--no-deps", "-w", str(folder)),
        f"cellreap-{__version__}.tar.gz",
    )
    (made,) = folder.glob("*.whl")
    return made


def make_venv(folder: Path, wheel: Path) -> Path:
    """Makes an environment with the wheel. Returns its Python. Only dependencies are of ours."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    interpreter = folder / "bin" / "python"
    pip = ("-m", "pip", "--python", str(interpreter))
    _python(folder, *pip, "install", "-q", "--no-deps", "--no-index", str(wheel))
    # Only now, because pip must not find another cellreap that is installed there.
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(f"{dependencies()}\n")
    return interpreter


def _python(folder: Path, *arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
