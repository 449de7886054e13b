# SPDX-License-Identifier: BSD-2-Clause
"""Who has which memory, by a model state."""

from __future__ import annotations

import re
from typing import Final

from cellreap.model.graph import Model
from cellreap.model.ids import MEMORY, REGION
from cellreap.model.pages import PAGE_BITS, Pages

_PAGES: Final = re.compile(r"[^_]+_([0-9]{1,9})_([0-9]{1,2})\Z")


def pages_of(model: Model, memory: str) -> Pages | None:
    """The pages of a memory object, as EXTRA has them. None: it does not say."""
    found = _PAGES.match(model.nodes[memory].extra)
    if found is None or not PAGE_BITS <= int(found[2]) <= 30:
        return None
    return Pages(int(found[1]), int(found[2]))


def users(model: Model) -> dict[str, set[str]]:
    """Memory object -> the PDs that hold it, or have it mapped."""
    found: dict[str, set[str]] = {}
    mapped: dict[str, list[str]] = {}
    for upper, lower in model.maps:
        if model.nodes[upper].type == REGION:
            mapped.setdefault(upper, []).append(lower)
    for pd, node in model.holds:
        memory = [node] if model.nodes[node].type == MEMORY else mapped.get(node, ())
        for each in memory:
            found.setdefault(each, set()).add(pd)
    return found


def size_told(count: int) -> str:
    """A number of bytes."""
    if count >= 1 << 20 and count % (1 << 20) == 0:
        return f"{count >> 20} MiB"
    return f"{count >> 10} KiB" if count >= 1 << 10 else f"{count} bytes"
