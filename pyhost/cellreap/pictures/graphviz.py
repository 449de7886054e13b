# SPDX-License-Identifier: BSD-2-Clause
"""Runs Graphviz' program `dot`, which lays graphs out and draws them."""

from __future__ import annotations

import shutil
import subprocess
from typing import Final

from cellreap.errors import CellreapError

SECONDS: Final = 120
"""dot is ended after this time. A graph of some thousand edges takes a few seconds."""
DPI: Final = 144
_LARGE: Final = 2_000_000
"""From this length of its text on, a graph is placed by forces, without ranks, which is quick."""


def render(text: str, form: str) -> bytes:
    """A graph in Graphviz' language as `svg`, `png` or `json`. CellreapError."""
    program = shutil.which("dot")
    if program is None:
        raise CellreapError("dot is not installed: on Debian, apt install graphviz")
    command = [program, f"-T{form}"]
    if form == "png":
        command.append(f"-Gdpi={DPI}")
    if len(text) > _LARGE:
        command += ["-Ksfdp", "-Goverlap=prism", "-Gsplines=line"]
    try:
        done = subprocess.run(
            command,
            input=text.encode(),
            capture_output=True,
            check=False,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise CellreapError(f"dot took more than {SECONDS} s: the graph is too large") from None
    except OSError as error:
        raise CellreapError(f"dot cannot be started: {error.strerror}") from None
    if done.returncode or not done.stdout:
        said = done.stderr.decode(errors="replace").strip().splitlines() or ["it said nothing"]
        raise CellreapError(f"dot failed: {said[0]}")
    return done.stdout
