# SPDX-License-Identifier: BSD-2-Clause
"""Campaigns of the small checkout, with a script as the emulator."""

from __future__ import annotations

import json
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


IDENTITIES = """
import json, sys
from pathlib import Path
from cellreap.campaign.identity import identified
from cellreap.campaign.matrix import read_campaign
from cellreap.system import image_cache
if len(sys.argv) > 2:
    image_cache._package = lambda: sys.argv[2]
cells = identified(read_campaign(Path(sys.argv[1]))).cells
print(json.dumps({cell.id: [cell.made_from, cell.key] for cell in cells}))
"""


def identities(bench: Bench, campaign: str, *tool: str) -> dict[str, tuple[str, str]]:
    """Id of each cell: what it is made from, and its key. tool: stands for the code of cellreap."""
    command = [sys.executable, "-c", IDENTITIES, campaign, *tool]
    ran = subprocess.run(command, env=bench.env, capture_output=True, text=True, check=True)
    return {name: (made, key) for name, (made, key) in json.loads(ran.stdout).items()}


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
