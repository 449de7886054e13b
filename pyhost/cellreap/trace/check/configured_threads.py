# SPDX-License-Identifier: BSD-2-Clause
"""Threads of the configuration: PDs that share the address space of their process."""

from __future__ import annotations

from cellreap.model.graph import Model
from cellreap.model.ids import is_address_space, number_of
from cellreap.trace.check.context import Context
from cellreap.trace.expected import ExpectedPd


def spaces_of(model: Model, pd: str | None) -> set[str]:
    """The shared address spaces that a PD has: one, or none."""
    return {node for of, node in model.holds if of == pd and is_address_space(node)}


def sharers(model: Model, pd: str) -> tuple[str, ...]:
    """The PDs that have the address space of this one, itself among them, by their numbers."""
    spaces = spaces_of(model, pd)
    pds = {pd} | {of for of, node in model.holds if node in spaces}
    return tuple(sorted(pds, key=number_of))


def is_placed(model: Model, pd: str, config: ExpectedPd, process: str | None) -> bool:
    """Whether a PD that was just made has the address space of its process, which owns it.

    process: the first thread of its process, perhaps itself, if it shares one and that is there.
    """
    held, owners = spaces_of(model, pd), {one for one, other in model.owns if other == pd}
    shared = process == pd and any(other != pd for other, node in model.holds if node in held)
    return (
        (config.process is None or process is not None)
        and held == spaces_of(model, process)
        and len(held) == (process is not None)
        and owners == {process} - {pd, None}
        and not shared
    )


def is_without_process(context: Context, pd: str) -> bool:
    """Whether a thread has been left, and its process is destroyed, whose address space it had."""
    shares = not context.memory.objects.of(pd)["vspace"]
    return shares and not any(other == pd for _, other in context.model.owns)


def is_process(model: Model, pd: str, thread: str) -> bool:
    """Whether the PD is the first thread of the other one's process."""
    return (pd, thread) in model.owns and bool(spaces_of(model, pd) & spaces_of(model, thread))
