# SPDX-License-Identifier: BSD-2-Clause
"""Runs of a root task in whose sources a test has planted something."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from kit.command_line import command
from mutation.copies import Copy


def run_planted(copy: Copy, config: Path, *options: str, passes: bool = False) -> dict[str, Any]:
    """What `cellreap run --json` prints of a system that the copy builds.

    passes: the run must pass. Else it must fail.

    Its trace is in the folder of the copy. The limits of time only end runs that hang.
    """
    limits = ("--timeout", "900", "--idle", "300")
    done = subprocess.run(
        command("run", str(config), "--json", "-o", str(copy.folder), *limits, *options),
        env={**os.environ, **copy.env},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == (0 if passes else 1), done.stderr
    shown = json.loads(done.stdout)
    assert isinstance(shown, dict)
    return shown
