# SPDX-License-Identifier: BSD-2-Clause
"""The reference model: what a crash or a collection dooms, what happens to the rest, and the order.

It is written from docs/semantics.md alone and follows its text. It never calls the C core: the
checker and the tests compare the two. It prefers clarity to speed: every step looks at all edges.
"""

from cellreap.model.plan import WHYS, Broken, Plan, depth_text
from cellreap.model.reference.causes import check_why
from cellreap.model.reference.collection import collect, reached, reconcile, spare
from cellreap.model.reference.explaining import explain, label
from cellreap.model.reference.hanging import built_on, hanging, hanging_on, uppers
from cellreap.model.reference.metrics import Measuring, metrics
from cellreap.model.reference.planning import apply, destructors, going, plan, replan, subtree

__all__ = [
    "WHYS",
    "Broken",
    "Measuring",
    "Plan",
    "apply",
    "built_on",
    "check_why",
    "collect",
    "depth_text",
    "destructors",
    "explain",
    "going",
    "hanging",
    "hanging_on",
    "label",
    "metrics",
    "plan",
    "reached",
    "reconcile",
    "replan",
    "spare",
    "subtree",
    "uppers",
]
