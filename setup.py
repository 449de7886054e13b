# SPDX-License-Identifier: BSD-2-Clause
"""Builds the wheel: the package, the C sources that it compiles for a target, and the built core.

pyproject.toml has all that is declared. The wheel is for one platform, because the core is a
library of that platform, and for every version of Python.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
SOURCES = ("roottask", "pds", "platforms", "examples", "refkernel", "docs")
CORE = "libcellreap_core.so"


class BuildPackage(build_py):
    """Adds sources and core. An editable installation uses those of the checkout."""

    def run(self) -> None:
        package = Path(self.build_lib) / "cellreap"
        if not self.editable_mode:  # what an earlier build left must not get into the wheel
            shutil.rmtree(package, ignore_errors=True)
        super().run()
        if self.editable_mode:
            return
        for name in SOURCES:
            shutil.copytree(ROOT / name, package / "_sources" / name)
        shutil.copy(ROOT / "README.md", package / "_sources" / "README.md")
        built = Path(self.build_lib).resolve().parent / "core"
        # Without symbols, so that it does not contain the names of folders of this machine.
        options = ["-G", "Ninja", "-DCMAKE_SHARED_LINKER_FLAGS=-s"]
        subprocess.run(["cmake", "-S", str(ROOT), "-B", str(built), *options], check=True)
        subprocess.run(["cmake", "--build", str(built)], check=True)
        (package / "_core").mkdir(exist_ok=True)
        shutil.copy(built / CORE, package / "_core" / CORE)


class BuildWheel(bdist_wheel):
    """Names the platform, and no version of Python: nothing in the core depends on one."""

    def get_tag(self) -> tuple[str, str, str]:
        return "py3", "none", super().get_tag()[2]


class PlatformDistribution(Distribution):
    """A distribution with a library of its platform."""

    def has_ext_modules(self) -> bool:
        return True


setup(
    distclass=PlatformDistribution,
    cmdclass={"build_py": BuildPackage, "bdist_wheel": BuildWheel},
)
