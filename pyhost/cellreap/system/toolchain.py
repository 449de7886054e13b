# SPDX-License-Identifier: BSD-2-Clause
"""Finds compilers, and runs CMake and other tools."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cellreap.errors import CellreapError

LOG = "build.log"

_PACKAGES = {"cmake": "cmake", "ninja": "ninja-build", "gcc": "gcc"}


class ToolError(CellreapError):
    """A tool failed. output: all that it printed. cause: the first line that looks like it."""

    def __init__(self, message: str, cause: str, output: str) -> None:
        super().__init__(message)
        self.cause = cause
        self.output = output


@dataclass(frozen=True)
class Toolchain:
    """A compiler and its identity."""

    arch: str
    compiler: str
    version: str  # the first line of --version, and the target


def find_toolchain(arch: str) -> Toolchain:
    """The compiler for `arch`.

    CellreapError, which names the package to install, if there is none.
    """
    names = [f"{arch}-linux-gnu-gcc"]
    if platform.machine() in (arch, {"x86_64": "AMD64", "aarch64": "arm64"}.get(arch)):
        names.append("gcc")
    compiler = next((path for path in map(shutil.which, names) if path), None)
    if compiler is None:
        package = f"gcc-{arch.replace('_', '-')}-linux-gnu"
        raise CellreapError(
            f"no compiler for {arch} ({', '.join(names)}): on Debian, apt install {package}"
        )
    version = run_tool([compiler, "--version"], None).splitlines()
    target = run_tool([compiler, "-dumpmachine"], None).strip()
    return Toolchain(arch, compiler, f"{version[0] if version else ''} {target}")


def build_tree(
    source: Path,
    folder: Path,
    toolchain: Toolchain,
    options: Mapping[str, str],
    target: str = "all",
) -> None:
    """Configures and builds a CMake project for a machine without an operating system.

    CellreapError if that fails.
    """
    configure = [
        *("cmake", "-G", "Ninja", "-S", str(source), "-B", str(folder)),
        *(f"-D{name}={value}" for name, value in options.items()),
        f"-DCMAKE_C_COMPILER={toolchain.compiler}",
        f"-DCMAKE_ASM_COMPILER={toolchain.compiler}",
        # There is no operating system: CMake must not assume that of the host.
        "-DCMAKE_SYSTEM_NAME=Generic",
        f"-DCMAKE_SYSTEM_PROCESSOR={toolchain.arch}",
        "-DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY",
        # Most files are the same after a change, and some are for all kernels of an architecture.
        *(("-DCMAKE_C_COMPILER_LAUNCHER=ccache",) if shutil.which("ccache") else ()),
    ]
    for tool in ("cmake", "ninja"):
        if shutil.which(tool) is None:
            raise CellreapError(
                f"{tool} is not installed: on Debian, apt install {_PACKAGES[tool]}"
            )
    log = folder / LOG
    run_tool(configure, None, log)
    run_tool(["cmake", "--build", str(folder), "--target", target], None, log)


def run_tool(command: Sequence[str], folder: Path | None, log: Path | None = None) -> str:
    """Runs a tool and returns its output. ToolError if it fails, CellreapError if it cannot start.

    The error contains the first line of output that looks like the cause.
    """
    try:
        done = subprocess.run(
            list(command),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env={**os.environ, "LC_ALL": "C"},  # the messages are searched for words
            check=False,
        )
    except OSError as error:
        raise CellreapError(f"{command[0]} cannot be started: {error.strerror}") from None
    if log is not None:
        with log.open("a") as file:
            file.write(done.stdout)
    if done.returncode:
        lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
        telling = [
            line for line in lines if re.search(r"\b(error|undefined reference|Error at)\b", line)
        ]
        cause = (telling or lines or ["it said nothing"])[0]
        if cause.startswith("CMake Error") and cause != lines[-1]:
            cause = f"{cause} {lines[lines.index(cause) + 1]}"  # the message is in the next line
        more = f" (all of it in {log})" if log is not None else ""
        message = f"{Path(command[0]).name} failed: {cause}{more}"
        raise ToolError(message, cause, done.stdout)
    return done.stdout
