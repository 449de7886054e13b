# SPDX-License-Identifier: BSD-2-Clause
"""The digest of a model state from its definition, as a sum over all that there is."""

from __future__ import annotations

from collections.abc import Mapping

from cellreap.model.digest import label, term
from cellreap.model.graph import Model


def digest_of(model: Model, gone: Mapping[str, int] | None = None) -> str:
    """The digest of a state, as an event tells it. gone: the labels of nodes that are not there."""
    labels = {id_: label(id_, node.name or node.type) for id_, node in model.nodes.items()}
    labels = {**(gone or {}), **labels}
    terms = [term("NODE", labels[node.id], int(node.pinned)) for node in model.nodes.values()]
    edges = [
        *(edge[:5] for edge in model.edges()),
        *(("SUBSET", res, space, 1, 0) for res, space in model.space_of.items()),
        *(("MANAGE", manager, space, 1, 0) for space, manager in model.manager.items()),
    ]
    for kind, a, b, times, handler in edges:
        terms.append(times * term(kind, labels[a], labels[b], handler))
    return f"{sum(terms) % 2**64:016x}"
