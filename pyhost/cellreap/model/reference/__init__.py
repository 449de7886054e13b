# SPDX-License-Identifier: BSD-2-Clause
"""The reference model: what a crash dooms, what happens to the other nodes, and in which order.

It is written from docs/semantics.md alone and follows its text. It never calls the C core: the
checker and the tests compare the two. It prefers clarity to speed: every step looks at all edges.
"""

from cellreap.model.plan import WHYS, Plan, depth_text
from cellreap.model.reference.causes import check_why
from cellreap.model.reference.explaining import explain, label
from cellreap.model.reference.metrics import Measuring, metrics
from cellreap.model.reference.planning import apply, plan, replan

__all__ = [
    "WHYS",
    "Measuring",
    "Plan",
    "apply",
    "check_why",
    "depth_text",
    "explain",
    "label",
    "metrics",
    "plan",
    "replan",
]
