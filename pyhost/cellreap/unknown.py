# SPDX-License-Identifier: BSD-2-Clause
"""What the source of a model state leaves open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

UnknownKind = Literal["made", "requests", "pds", "connection", "rows", "trace"]


@dataclass(frozen=True)
class Unknown:
    """Something that the source of a model state does not tell, so that no answer is certain."""

    kind: UnknownKind
    """`made`: what programs make when they run. `requests`: whether PDs make those that they may
    make. `pds`: PDs that are made later. `connection`: one that an import left out, or that has no
    direction. `rows`: nodes that a CSV file does not describe in full. `trace`: what a trace that
    is wrong or broke off does not tell."""
    text: str
    """What it is, for people."""

    def to_json(self) -> dict[str, str]:
        """It as `--json` prints it."""
        return {"kind": self.kind, "text": self.text}
