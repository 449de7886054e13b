# SPDX-License-Identifier: BSD-2-Clause
"""The core's tests once more, with AddressSanitizer and UndefinedBehaviorSanitizer in the core.

They run in a Python of their own, because the library needs libasan before everything else. Python
allocates objects of more than 512 bytes with malloc, so the sanitizer knows where an arena ends.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cellreap.headers import source_root
from cellreap.model.core.library import LIBRARY_VARIABLE
from kit.marks import thorough_but
from kit.paths import ROOT, TESTS

MODULES = ("test_core_model", "test_core_plan", "test_core_again", "test_steps", "test_work")
TELL_A_SMALL_ARENA_TO_BE_LARGE = """
from cellreap.model.core.library import allocator, load_core
ffi, lib = load_core()
size = lib.cr_model_bytes(100, 100)
memory = allocator()("uint64_t[]", size // 8 - 1)
status = lib.cr_model_init(memory, size, 100, 100, ffi.new("cr_model **"))
print("status", status)
"""


def _libasan() -> str | None:
    if shutil.which("gcc") is None:
        return None
    done = subprocess.run(
        ["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
    )
    path = Path(done.stdout.strip())
    return str(path.resolve()) if path.is_absolute() and path.exists() else None


@pytest.fixture(scope="module")
def sanitized(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment in which Python loads the core with both sanitizers."""
    libasan = _libasan()
    if libasan is None:
        pytest.skip("gcc has no AddressSanitizer here (libasan)")
    folder = tmp_path_factory.mktemp("sanitized")
    for command in (
        ["-S", str(source_root()), "-B", str(folder), "-G", "Ninja", "-DCELLREAP_SANITIZE=ON"],
        ["--build", str(folder)],
    ):
        done = subprocess.run(["cmake", *command], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    return {
        **os.environ,
        "LD_PRELOAD": libasan,
        # Python leaves memory to the operating system when it ends.
        "ASAN_OPTIONS": "detect_leaks=0",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "PYTHONPATH": os.pathsep.join((str(ROOT / "pyhost"), str(TESTS))),
        LIBRARY_VARIABLE: str(folder / "libcellreap_core.so"),
    }


@pytest.mark.slow
@pytest.mark.parametrize("module", thorough_but(MODULES, "test_work"))
def test_the_sanitizers_find_nothing(sanitized: dict[str, str], module: str) -> None:
    arguments = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not slow"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *arguments, f"tests/host/core/{module}.py"],
        cwd=ROOT,
        env=sanitized,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert " passed" in done.stdout


@pytest.mark.slow
def test_a_byte_beyond_the_arena_is_found(sanitized: dict[str, str]) -> None:
    """Otherwise the test above would show nothing."""
    done = subprocess.run(
        [sys.executable, "-c", TELL_A_SMALL_ARENA_TO_BE_LARGE],
        env=sanitized,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "AddressSanitizer: heap-buffer-overflow" in done.stderr
    assert "model.c" in done.stderr
