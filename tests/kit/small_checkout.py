# SPDX-License-Identifier: BSD-2-Clause
"""A checkout whose root task is one function, and the command line on it.

A script serves as the emulator.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from cellreap import headers
from cellreap.model.core.library import HEADERS
from kit.forked import run_cellreap
from kit.output_schema import check_printed
from kit.sdk_kit import make_sdk, make_sel4_sources

CMAKE = """\
cmake_minimum_required(VERSION 3.20)
project(small C)
add_compile_options(-O1 -g -ffreestanding -fno-pic -ffile-prefix-map=${CMAKE_BINARY_DIR}=.)
add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}=.)
add_library(cellreap_root STATIC main.c)
file(WRITE "${CMAKE_BINARY_DIR}/no-float-options" "-mgeneral-regs-only\\n")
"""
PDS_CMAKE = """\
cmake_minimum_required(VERSION 3.20)
project(small C)
add_compile_options(-O1 -g -ffreestanding -fno-pic -ffile-prefix-map=${CMAKE_SOURCE_DIR}=.)
add_library(cellreap_pd STATIC library.c)
file(WRITE "${CMAKE_BINARY_DIR}/pd-compile-options" "-ffreestanding\\n-fno-pic\\n")
file(WRITE "${CMAKE_BINARY_DIR}/pd-link-options" "-static\\n-nostdlib\\n-no-pie\\n")
"""
HOST_HEADERS = [name for name in HEADERS if name.startswith("host/")]
LIBRARY = "int library(void);\nint library(void)\n{\n    return 1;\n}\n"
MAIN = "void _start(void);\nvoid _start(void)\n{\n    for (;;) {\n    }\n}\n"
TABLES = "".join(
    f"char {name}[64];\n" for name in ("model_memory", "planner_memory", "work_memory", "cr_sup")
)
"""What of a root task's memory a build looks for."""
LD = (
    "ENTRY(_start)\nSECTIONS { . = 0x400000; .text : { *(.text*) } "
    ".image : { KEEP(*(.image)) } .bss : { KEEP(*(.bss .bss.*)) } }\n"
)
"""It keeps what the root task here does not use."""
START = '    .section .note.GNU-stack, "", %progbits\n'
CONFIG = """
[system]
name = "small"
truth = false
[[pd]]
name = "server"
program = "server"
[[pd.space]]
name = "disk"
type = "BLOCK"
[[pd]]
name = "client"
program = "server"
requests = ["disk"]
[[crash]]
pd = "server"
how = "page-fault"
"""

NEEDS_TOOLCHAIN = pytest.mark.skipif(
    not all(map(shutil.which, ("cmake", "ninja", "gcc"))) or os.uname().machine != "x86_64",
    reason="needs cmake, ninja and an x86_64 gcc",
)


def make_checkout(root: Path) -> None:
    """Writes the sources that a build of an image reads."""
    shutil.copytree(headers.source_root() / "roottask" / "include", root / "roottask" / "include")
    shutil.copytree(headers.source_root() / "platforms", root / "platforms")
    (root / "roottask" / "host").mkdir()
    for name in HOST_HEADERS:
        shutil.copy(headers.header_path(name), root / "roottask" / "host")
    make_sel4_sources(root / "roottask")
    for name in ("asids.h", "arch/arch.h"):
        header = Path("roottask", "kernel", name)
        (root / header).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(headers.source_root() / header, root / header)
    (root / "roottask" / "CMakeLists.txt").write_text(CMAKE)
    (root / "roottask" / "main.c").write_text(TABLES + MAIN)
    (root / "roottask" / "roottask.ld").write_text(LD)
    (root / "pds" / "arch" / "x86_64").mkdir(parents=True)
    (root / "pds" / "arch" / "x86_64" / "start.S").write_text(START)
    (root / "pds" / "pd.ld").write_text(LD)
    (root / "pds" / "CMakeLists.txt").write_text(PDS_CMAKE)
    (root / "pds" / "library.c").write_text(LIBRARY)
    (root / "examples").mkdir()
    (root / "examples" / "server.c").write_text(MAIN)


class Bench:
    """A checkout, a configuration, an SDK and an emulator for tests.

    Runs the command line on them.
    """

    def __init__(self, folder: Path, cache: Path) -> None:
        self.folder = folder
        self.config = folder / "small.toml"
        self.config.write_text(CONFIG)
        self.sdk = make_sdk(folder / "sdk")
        checkout = folder / "checkout"
        make_checkout(checkout)
        (folder / "bin").mkdir()
        self.env = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(folder),
            "XDG_CACHE_HOME": str(cache),
            "CELLREAP_HOME": str(checkout),
            "CELLREAP_SDK_X86_64": str(self.sdk),
        }
        self.env.pop("XDG_DATA_HOME", None)

    def emulator(self, console: str) -> None:
        """An emulator that notes its arguments, prints this text and continues to run."""
        path = self.folder / "bin" / "qemu-system-x86_64"
        (self.folder / "console").write_text(console)
        path.write_text(
            f'#!/bin/sh\nprintf "%s\\n" "$@" > {self.folder}/arguments\n'
            f"cat {self.folder}/console\nexec sleep 600\n"
        )
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def cellreap(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        done = run_cellreap(*map(str, arguments), env=self.env, cwd=self.folder, timeout=300)
        assert "Traceback" not in done.stderr
        check_printed(arguments, done.stdout)
        return done


def error_of(done: subprocess.CompletedProcess[str]) -> str:
    """Asserts that the process failed with exactly one error line, and returns the line."""
    assert done.returncode == 2
    assert done.stdout == ""
    line = done.stderr.splitlines()[-1]
    assert line.startswith("cellreap: error: ")
    assert sum(text.startswith("cellreap: error") for text in done.stderr.splitlines()) == 1
    return line
