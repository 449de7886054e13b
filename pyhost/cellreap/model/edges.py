# SPDX-License-Identifier: BSD-2-Clause
"""The kinds of edge, in one table that the model and the reader and writer of states use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from cellreap.model.ids import NodeKind


@dataclass(frozen=True)
class EdgeKind:
    """A kind of edge, defined by the kinds of node that may be at its ends."""

    sources: tuple[NodeKind, ...]
    targets: tuple[NodeKind, ...]
    counted: bool = False
    """The same edge may exist several times."""
    ours: bool = False
    """CellulOS does not write such edges."""


EDGE_KINDS: Final[dict[str, EdgeKind]] = {
    "SUBSET": EdgeKind(("RESOURCE",), ("RESOURCE_SPACE",)),
    "HOLD": EdgeKind(("PD",), ("RESOURCE", "RESOURCE_SPACE"), counted=True),
    "REQUEST": EdgeKind(("PD",), ("RESOURCE_SPACE",)),
    "MAP": EdgeKind(("RESOURCE", "RESOURCE_SPACE"), ("RESOURCE", "RESOURCE_SPACE")),
    "FAULT": EdgeKind(("PD",), ("PD",), ours=True),
    "LINK": EdgeKind(("PD",), ("PD",), ours=True),
    "OWN": EdgeKind(("PD",), ("PD",), ours=True),
    "SUBSCRIBE": EdgeKind(("PD",), ("PD", "RESOURCE_SPACE"), counted=True, ours=True),
}
