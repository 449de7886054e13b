# SPDX-License-Identifier: BSD-2-Clause
"""Reads traces that are kept in files, with all their events."""

from __future__ import annotations

from pathlib import Path

from cellreap.trace.expected import Expected
from cellreap.trace.reading import Reading, read_trace


def read_file(path: Path, *, expected: Expected | None = None) -> Reading:
    """Reads and checks the trace in a file."""
    with path.open("rb") as stream:
        return read_trace(stream, str(path), keep_events=True, expected=expected)
