# SPDX-License-Identifier: BSD-2-Clause
"""Campaigns of the small checkout, with a script as the emulator."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from kit.small_checkout import Bench
from kit.small_runs import trace

HEAD = '[campaign]\nname = "c"\nidle = 1\n'


class Lost(BaseException):
    """Stands for the end of a process that has lost its claim."""


def written(folder: Path, matrix: str, head: str = HEAD) -> Path:
    """Writes a campaign's file."""
    path = folder / "c.toml"
    path.write_text(f"{head}[matrix]\n{matrix}")
    return path


def campaign_bench(folder: Path) -> Bench:
    """A bench with eight equal configurations."""
    made = Bench(folder, folder / "cache")
    made.emulator(trace(made))
    for number in range(8):
        (folder / f"s{number}.toml").write_text(made.config.read_text())
    return made


def campaign_of(bench: Bench, count: int, folder: Path, head: str = HEAD) -> tuple[str, ...]:
    """The arguments that run a campaign of so many cells."""
    names = ", ".join(f'"{bench.folder}/s{number}.toml"' for number in range(count))
    path = written(folder, f"config = [{names}]\n", head)
    return "campaign", str(path), "-o", str(folder / "out")


def started(bench: Bench, *arguments: str) -> subprocess.Popen[str]:
    """A command that runs in the background."""
    # A shell has what runs in its background ignore SIGINT, the tests too.
    begin = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
        "from cellreap.cli.main import main; main()"
    )
    return subprocess.Popen(
        [sys.executable, "-c", begin, *arguments],
        env=bench.env,
        cwd=bench.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
