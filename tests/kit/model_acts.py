# SPDX-License-Identifier: BSD-2-Clause
"""Random changes of a small model."""

from __future__ import annotations

import random

from cellreap.model.ids import ROOT

PDS = [ROOT, "PD_1", "PD_2", "PD_3"]
SPACES = ["PD_SPACE_1", "BLOCK_SPACE_2", "FILE_SPACE_3"]
RESOURCES = ["PD_1_1", "PD_1_2", "BLOCK_2_1", "BLOCK_2_2", "FILE_3_1"]
NODES = [*PDS, *SPACES, *RESOURCES]

Act = tuple[str, tuple[object, ...]]


def random_act(rng: random.Random) -> Act:
    """One call of a method that changes a model, with arguments that often make sense."""
    pd, other, space = rng.choice(PDS), rng.choice(PDS), rng.choice(SPACES)
    res, node, more = rng.choice(RESOURCES), rng.choice(NODES), rng.choice(NODES)
    of = f"{res.split('_')[0]}_SPACE_{res.split('_')[1]}"
    return rng.choice(
        [
            ("add_pd", (pd,)),
            ("add_space", (space, ROOT if space.startswith("PD") else pd)),
            ("add_resource", (res, of)),
            ("add_hold", (pd, node)),
            ("drop_hold", (pd, node)),
            ("cut_hold", (pd, node)),
            ("add_request", (pd, space)),
            ("drop_request", (pd, space)),
            ("add_map", (node, more)),
            ("drop_map", (node, more)),
            ("set_fault", (pd, other)),
            ("drop_fault", (pd,)),
            ("add_link", (pd, other)),
            ("drop_link", (pd, other)),
            ("add_own", (pd, other)),
            ("drop_own", (pd, other)),
            ("add_subscribe", (pd, node)),
            ("add_subscribe", (pd, pd)),
            ("drop_subscribe", (pd, node)),
            ("add_subscribe", (pd, pd, 1, rng.choice((1, 31, 32)))),
            ("drop_subscribe", (pd, pd, 1, rng.choice((1, 31)))),
            ("drop_subscribe", (pd, pd)),
            ("remove_resource", (res,)),
            ("discard", ([rng.choice(PDS[1:])],)),
        ]
    )
