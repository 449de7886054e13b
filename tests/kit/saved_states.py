# SPDX-License-Identifier: BSD-2-Clause
"""Random states that an earlier version of a system may have left."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from typing import Final

from cellreap.model.csvstate.writing import write_state
from cellreap.model.ids import ROOT
from kit.core_support import random_model

FIRST: Final = {"BLOCK": 0x100, "FILE": 0x200, "TOY_BLOCK": 0x300}
"""The numbers of spaces begin there: two never have the same, and core spaces have smaller ones."""
_ID: Final = re.compile(r"\b(BLOCK|FILE|TOY_BLOCK)_(SPACE_)?([0-9a-f]+)(?:_([0-9a-f]+))?")


def _numbered(found: re.Match[str]) -> str:
    """An id with a number that the root task gives. Those of resources begin with 1."""
    space = f"{found[1]}_{found[2] or ''}{FIRST[found[1]] + int(found[3], 16):x}"
    return space if found[4] is None else f"{space}_{int(found[4], 16) + 1:x}"


def saved_state(seed: int, names: list[str]) -> str:
    """A legal state, as CSV. names: of PDs that go on, or are spawned. It has some of them."""
    rng = random.Random(f"saved {seed}")
    scale = rng.choice([1, 1, 2, 4])
    model = random_model(rng, scale)
    while model.check_legal():
        model = random_model(rng, scale)
    going_on = rng.sample(names, rng.randint(0, len(names)))
    for pd in sorted(set(model.pds()) - {ROOT}):
        name = going_on.pop() if going_on and rng.random() < 0.6 else f"gone_{pd.lower()}"
        model.nodes[pd] = replace(model.nodes[pd], name=name)
    return _ID.sub(_numbered, write_state(model))
