# SPDX-License-Identifier: BSD-2-Clause
"""The root task's own sizes, slots and addresses, from its headers."""

from __future__ import annotations

from cellreap import headers


def protocol(name: str) -> int:
    """The value of an enumerator of protocol.h."""
    return headers.constant("protocol.h", name)


def body_slot(name: str) -> int:
    """The value of an enumerator of body.h."""
    return roottask("system/body.h", name)


def roottask(header: str, name: str) -> int:
    """The value of an enumerator of a header that is not public."""
    return headers.own_constant(header, name)


def limit(name: str) -> int:
    """The value of an enumerator of limits.h."""
    return headers.constant("limits.h", name)


def badge(kind: str, index: int, generation: int = 1) -> str:
    """A badge as cr_badge of protocol.h computes it, as a capDL parameter.

    The first user of an index has generation 1.
    """
    kind_shift, mask, generation_shift = headers.badge_layout()
    value = protocol(kind) << kind_shift | (generation & mask) << generation_shift | index
    return f"badge: {value:#x}"
