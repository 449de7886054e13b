# SPDX-License-Identifier: BSD-2-Clause
"""What becomes of the memory of doomed PDs, for the story."""

from __future__ import annotations

from collections import Counter

from cellreap.model.ids import ROOT
from cellreap.model.memory import users
from cellreap.model.plan import Plan
from cellreap.trace.check.context import Context


def memory_after(context: Context, plan: Plan) -> list[tuple[str, str, int, tuple[str, ...]]]:
    """(word, PD, bytes, other PDs): it is `freed` with a doomed PD and the others; a survivor
    `keeps` what others had, too; and it `loses` what was lent to it, by others.

    The registers of devices are no memory.
    """
    model, memory = context.model, context.memory
    doomed = {pd for pd, _ in plan.destroyed_pds}
    lent = {
        lower: model.manager[space]
        for upper, lower in model.maps
        if (space := model.space_of.get(upper, "")) in plan.deleted_spaces
    }
    found: Counter[tuple[str, str, tuple[str, ...]]] = Counter()
    for node, having in users(model).items():
        dead = tuple(sorted((having | {lent.get(node, ROOT)}) & doomed))
        if memory.is_device(node) or not dead:
            continue
        size = memory.objects.pages(node).bytes
        alive = sorted(having - doomed - {ROOT})
        if not alive:
            found["freed", dead[0], dead[1:]] += size
        for pd in alive:
            loses = node in lent and (pd, node) not in model.holds
            found["loses" if loses else "keeps", pd, dead] += size
    return [(word, pd, size, others) for (word, pd, others), size in sorted(found.items())]
