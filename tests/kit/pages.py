# SPDX-License-Identifier: BSD-2-Clause
"""Traces and pages that tests of pictures make."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

import pytest

from cellreap.trace.writer import Draft, seal
from kit.command_line import cellreap
from kit.trace_simulator import Target

NEEDS_DOT: Final = pytest.mark.skipif(shutil.which("dot") is None, reason="no dot")


def written(events: list[Draft], path: Path) -> Path:
    path.write_text("\n".join(seal(events)) + "\n")
    return path


def page_for(trace: Path, folder: Path, code: int = 0) -> Path:
    page = folder / f"{trace.stem}.html"
    done = cellreap("report", str(trace), "-o", str(page))
    assert done.returncode == code, done.stderr
    return page


def crashed(target: Target, server: str) -> list[Draft]:
    """The events of a run in which the server crashes, everybody is told, and nothing follows."""
    target.quiet()
    target.fault(server)
    target.cleanup()
    target.serve_all()
    target.account()
    return target.end()
