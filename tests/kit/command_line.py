# SPDX-License-Identifier: BSD-2-Clause
"""The command line in a separate process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from kit.forked import run_cellreap
from kit.output_schema import check_printed
from kit.paths import ROOT

HEARS_SIGNALS: Final = ("env", "--default-signal=INT,HUP")
"""Goes before a command that a test ends by a signal. A shell starts background jobs with SIGINT
ignored, nohup its command with SIGHUP, and programs inherit that.
"""


def command(*arguments: str) -> list[str]:
    """The command that runs `cellreap` as these tests import it."""
    return [sys.executable, "-m", "cellreap.cli.main", *arguments]


def environment() -> dict[str, str]:
    """The environment with the package in the path."""
    return {**os.environ, "PYTHONPATH": str(ROOT / "pyhost")}


def cellreap(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end."""
    done = run_cellreap(*arguments, env=environment(), cwd=Path.cwd(), timeout=600)
    check_printed(arguments, done.stdout)
    return done


def cellreap_json(*arguments: str) -> tuple[int, dict[str, Any]]:
    """The exit code and the object that a command with --json prints."""
    done = cellreap(*arguments, "--json")
    assert "Traceback" not in done.stderr
    shown = json.loads(done.stdout)
    assert isinstance(shown, dict)
    return done.returncode, shown
