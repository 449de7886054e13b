# SPDX-License-Identifier: BSD-2-Clause
"""Systems of sDDF, built by their own makefiles, and how they are run.

CELLREAP_SDDF names a checkout of sDDF 0.6.0, CELLREAP_MICROKIT_SDK an SDK 2.0.1. PYTHON is a Python
with sdfgen 0.23.1, by default python3.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Unpack

import pytest

from cellreap.runs.boot import End
from cellreap.system.config import Config, Crash
from cellreap.system.microkit.board import board_facts
from cellreap.system.microkit.runnable import runnable_system
from cellreap.system.programs import Source
from cellreap.system.sdk import kernel_memory, kernel_options, load_sdk
from cellreap.testing import Change, Run, Target, validated
from cellreap.testing.target import How
from cellreap.trace.lines import Lines
from kit.kernels import prefix_of
from kit.microkit import BOARDS, Board, pd, with_tool

CHECKOUT: Final = "CELLREAP_SDDF"
BOARD: Final = BOARDS[0]


_STEP_S: Final = 0.01
EXAMPLES: Final = ("serial", "timer", "blk")


def systems(tmp_path_factory: pytest.TempPathFactory, *examples: str, board: Board = BOARD) -> Path:
    """A folder with one for each of these systems, or of all, with its programs and description."""
    checkout, python = os.environ.get(CHECKOUT), os.environ.get("PYTHON", "python3")
    if not checkout:
        pytest.skip(f"{CHECKOUT} names no checkout of sDDF")
    if shutil.which("ld.lld") is None or shutil.which("dtc") is None:
        pytest.skip("clang, lld and dtc are not installed")
    if subprocess.run([python, "-c", "import sdfgen"], check=False, capture_output=True).returncode:
        pytest.skip(f"{python} has no sdfgen")
    folder = tmp_path_factory.mktemp("sddf")
    sdk = with_tool(tmp_path_factory.mktemp("sdk"), board)
    source = folder / "source"
    shutil.copytree(checkout, source, ignore=shutil.ignore_patterns(".git", "build"))
    where = [f"MICROKIT_BOARD={board.name}", f"MICROKIT_SDK={sdk}", f"PYTHON={python}"]
    for example in examples or EXAMPLES:
        words = ["make", "-s", "-C", str(source / "examples" / example), *where]
        made = [*words, f"BUILD_DIR={folder / example}"]
        subprocess.run(made, check=True, capture_output=True)
    return folder


def killed(driver: str, times: int, own: Mapping[str, Any] = {}, after_ns: int = 50_000) -> Change:
    """The driver is killed so often, each instance at an instant of the 2 ms after `after_ns`. own:
    keys by PD.
    """

    def change(config: Config) -> Config:
        crash = Crash(
            pd=driver, how="kill", repeat=times, seed=times, after_ns=after_ns, spread_ns=2_000_000
        )
        often = {"respawn_budget": times + 1, "respawn_delay_ms": 0}
        pds = tuple(
            each.model_copy(update=(often if each.respawn else {}) | own.get(each.name, {}))
            for each in config.pds
        )
        parts = {
            "pds": pds,
            "crashes": (crash,),
            "system": config.system.model_copy(update={"truth": False}),
            "expect": config.expect.model_copy(update={"cleanups": times}),
        }
        return validated(config.model_copy(update=parts))

    return change


def boot_of(
    system: Path,
    search: list[Path],
    policy: str,
    folder: Path,
    board: Board = BOARD,
    **how: Unpack[How],
) -> Run:
    """A run, however it went."""
    (folder / "policy.toml").write_text(policy)
    root = prefix_of(f"{board.name}/debug")
    facts = board_facts(kernel_options(root), kernel_memory(root))
    made = runnable_system(system, search, folder / "policy.toml", facts)
    sdk = load_sdk(root, board.arch)
    return Target(sdk, folder, (folder,)).boot_read(Source(made.config, made.text, system), **how)


def run_of(
    system: Path,
    search: list[Path],
    policy: str,
    folder: Path,
    board: Board = BOARD,
    **how: Unpack[How],
) -> tuple[Run, str]:
    """A run, and what its PDs printed."""
    run = boot_of(system, search, policy, folder, board, **how)
    assert (run.boot.end, run.report.violations) == (End.COMPLETE, [])
    with run.trace.open("rb") as file:
        return run, Lines().without(file).decode(errors="replace")


def kept_busy(system: Path, folder: Path) -> Path:
    """The same with a PD that runs while all others wait: else the run would be over."""
    (folder / system.name).write_text(
        system.read_text().replace(
            "</system>", pd("counter", 'priority="0"', "", "counter") + "</system>"
        )
    )
    return folder / system.name


def back(*names: str) -> str:
    return "".join(f'[[pd]]\nname = "{name}"\nrespawn = true\n' for name in names)


def together(depths: Mapping[str, int]) -> str:
    """A policy by which all come back with the first one. depths: how far from it each is."""
    policy = f"[policy]\npd_depth = {max(depths.values())}\n" + back(*depths)
    for server, depth in depths.items():
        clients = json.dumps([name for name, other in depths.items() if other == depth + 1])
        policy += f'[[serves]]\nserver = "{server}"\nclients = {clients}\n'
    return policy


@contextmanager
def terminal(folder: Path, typed: bytes, seconds: float) -> Iterator[tuple[tuple[str, ...], Path]]:
    """A console at a virtio device: the arguments for QEMU, and the file into which it prints. From
    its first word on, it is typed to, all of this in about this time, and again.
    """
    keys, printed, over = folder / "tty.in", folder / "tty.out", threading.Event()
    os.mkfifo(keys)
    printed.write_bytes(b"")

    def type_all() -> None:
        size = -(-len(typed) // int(seconds / _STEP_S))
        while not (over.wait(_STEP_S) or printed.stat().st_size):
            pass
        with keys.open("r+b", buffering=0) as file:
            for at in itertools.count(0, size):
                if over.wait(_STEP_S):
                    return
                file.write((typed * 2)[at % len(typed) :][:size])

    args: tuple[str, ...] = ("-global", "virtio-mmio.force-legacy=false")
    args += ("-device", "virtio-serial-device", "-device", "virtconsole,chardev=tty")
    args += ("-chardev", f"pipe,id=tty,path={folder / 'tty'}")
    typist = threading.Thread(target=type_all)
    typist.start()
    try:
        yield args, printed
    finally:
        over.set()
        typist.join()
