# SPDX-License-Identifier: BSD-2-Clause
"""What the reader of a state noticed besides the state itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class ReadReport:
    """What the reader of a state noticed besides the state itself."""

    path: str
    version: int | None = None
    """that the state tells; None: none, as CellulOS writes it"""
    ours: bool = False
    rows: int = 0
    skipped: int = 0
    """lines that are not rows; empty lines are not counted"""
    duplicates: int = 0
    """rows that repeat an earlier row"""
    left_out: list[tuple[int, str]] = field(default_factory=list)
    """(line, what) of edges that name a node that is not listed, and of resources whose space is
    not listed
    """
    missing: list[tuple[int, str]] = field(default_factory=list)
    """those of `left_out` that mean that rows are missing. The others are MAP edges to nodes that
    are gone, which CellulOS leaves behind after a cleanup
    """
    empty_requests: int = 0
    """REQUEST rows for a type of which the named PD manages no space"""

    def notes(self) -> list[str]:
        """The report as text, one string a line; empty if there is nothing to report."""
        lines = []
        if self.skipped:
            lines.append(f"{self.path}: {many(self.skipped, 'line')} skipped that are no rows")
        if self.left_out:
            line, what = self.left_out[0]
            more = f" (the first of {len(self.left_out)})" if len(self.left_out) > 1 else ""
            lines.append(f"{self.path}:{line}: left out: {what}{more}")
        if self.duplicates:
            lines.append(f"{self.path}: {many(self.duplicates, 'row')} there more than once")
        if self.empty_requests:
            rows = many(self.empty_requests, "REQUEST row")
            lines.append(
                f"{self.path}: {rows} for a type of which the named PD has no space: no edge"
            )
        return lines

    def to_json(self) -> dict[str, Any]:
        """The report as an object: counts, and each item that was left out."""
        return {
            "version": self.version,
            "ours": self.ours,
            "rows": self.rows,
            "skipped_lines": self.skipped,
            "duplicate_rows": self.duplicates,
            "empty_requests": self.empty_requests,
            "left_out": [{"line": line, "what": what} for line, what in self.left_out],
        }


def many(count: int, what: str) -> str:
    """A count with its noun."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
