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

CORE: Final = 0x100
"""All core spaces have smaller numbers."""
_NUMBER: Final = re.compile(r"\b((?:BLOCK|FILE|TOY_BLOCK)_(?:SPACE_)?)([0-9a-f]+)")


def saved_state(seed: int, names: list[str]) -> str:
    """A legal state, as CSV. names: those of PDs that go on, some of which are in it."""
    rng = random.Random(f"saved {seed}")
    model = random_model(rng)
    while model.check_legal():
        model = random_model(rng)
    going_on = rng.sample(names, rng.randint(0, len(names)))
    for pd in sorted(set(model.pds()) - {ROOT}):
        name = going_on.pop() if going_on and rng.random() < 0.6 else f"gone_{pd.lower()}"
        model.nodes[pd] = replace(model.nodes[pd], name=name)
    return _NUMBER.sub(lambda found: f"{found[1]}{int(found[2], 16) + CORE:x}", write_state(model))
