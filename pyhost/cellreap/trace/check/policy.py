# SPDX-License-Identifier: BSD-2-Clause
"""The differences between the rules of trace versions: one policy for each version.

This module does not contain the names of older versions: `trace.upgrade` gives every event its
current name. Where an older root task behaved differently, the checker asks the policy.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final


@dataclass(frozen=True)
class Policy:
    """The rules that differ between versions. The defaults are those of the current version."""

    says_mode: bool = True
    """MODE stands directly after BASE."""
    lanes: bool = True
    """Each receiver has a strictly ordered lane for each space. If False, each receiver has one
    queue, finishes its notices in any order, and a failure stops nothing.
    """
    tells_subscribers: bool = True
    """The subscribers of doomed nodes are notified before the nodes are destroyed."""
    owes_disconnect: bool = True
    """A client's UNREQUEST owes the server a notice."""
    gives_tickets: bool = True
    """A PD that terminates another gets a ticket."""
    stops_at_trigger: bool = True
    """A PD that cannot act cannot fault or exit, and a terminated PD stops at its TERMINATE. If
    False, it stops at its cleanup.
    """
    holds_faults: bool = True
    """A fault of a PD with a fault handler is held until the handler answers. If False, the handler
    reports it with an operation.
    """
    frees_first: bool = True
    """A PD is stopped at once when it becomes a trigger: the PDs that are in a call to it are
    answered, and its notices are dropped. If False, it is suspended by its cleanup, which answers
    those PDs after the destruction.
    """
    side_by_side: bool = True
    """A cleanup begins while another one waits if the two do not touch, and a trigger or a cleanup
    waits no longer than it must. If False, a trigger waits until no cleanup is under way.
    """
    clocks: bool = True
    """AWAIT stands directly after MODE. LATE names the oldest notice that its PD could finish. A PD
    that waits for a ticket is told before the ticket is over only if it has a notice to finish. If
    False, it also needs a deadline.
    """
    max_cleanups: int = 8
    """Maximum number of cleanups that wait."""
    max_refusals: int | None = 64
    """Maximum number of a PD's refusals that are printed one by one. None: no limit."""
    max_lost_slots: int | None = 32
    """A PD gets no more slots while this number of its slots wait for it to finish LOST notices.
    None: no limit.
    """
    tells_every_loss: bool = True
    """A slot that somebody else emptied stays empty until its PD finished the notice of the loss.
    If False, this holds only for what a cleanup of a space took, and UNHOLD has no `by`.
    """
    limits_taken: bool = True
    """A receiver fetches only so many notices before it finishes them. What nobody has fetched is
    withdrawn with its extraction, and merged where an account is full.
    """
    stages: bool = True
    """STAGE tells of each crash that the scenario stages."""
    tells_time: bool = True
    """CLOCK tells the time."""
    says_rights: bool = True
    """RIGHTS and DEPTHS say what each PD may do, and each edge names the PD that made it."""
    names_causes: bool = True
    """Each change of the model names the operation that makes it, and the PD that asked."""
    leaves_for_good: bool = True
    """A step that fails in the second run over its phase, or a TELL, is left for a later run of the
    cleanup. If False, the system stops.
    """
    tells_kinds: bool = True
    """STEP tells the kernel calls of each kind. If False, it tells only their sum."""

    tells_objects: bool = True
    """The kernel objects are told by kind, and IN_USE tells tickets and slots by use."""
    tells_steps: bool = True
    """CLEANUP tells how many steps its plan has, and RIGHTS who may listen."""
    digests: bool = True
    """A cleanup tells a digest of the state before and after it, and the rows that it removed.
    Whole states stand at the beginning and at the end. If False, a cleanup ends with the whole
    state, and a snapshot shows each change before the next cleanup.
    """
    tells_tombstones: bool = True
    """TOMBSTONE and FORGOTTEN tell what is still known of destroyed nodes."""
    tells_broken: bool = True
    """BROKEN and `lost` notices tell what survivors keep that is built on what goes."""
    names_handlers: bool = True
    """A pre-destroy notice names the handlers of its receiver for the node."""
    names_waits: bool = True
    """At the end STANDS tells who waits for whom."""
    tells_answers: bool = True
    """ANSWER has a digest of what PDs are told."""


CURRENT: Final = Policy()
VERSION_7: Final = replace(CURRENT, names_waits=False, tells_answers=False)
"""Versions 6 and 7."""
VERSION_5: Final = replace(
    VERSION_7, tells_tombstones=False, tells_broken=False, names_handlers=False
)
VERSION_4: Final = replace(
    VERSION_5, leaves_for_good=False, tells_objects=False, tells_steps=False, digests=False
)
VERSION_3: Final = replace(
    VERSION_4,
    clocks=False,
    frees_first=False,
    side_by_side=False,
    tells_every_loss=False,
    says_rights=False,
    names_causes=False,
    tells_kinds=False,
    limits_taken=False,
    stages=False,
    tells_time=False,
    holds_faults=False,
)
"""Versions 2 and 3."""
VERSION_1: Final = replace(
    VERSION_3,
    says_mode=False,
    lanes=False,
    tells_subscribers=False,
    owes_disconnect=False,
    gives_tickets=False,
    stops_at_trigger=False,
    max_refusals=None,
    max_lost_slots=None,
)


def policy_of(version: int) -> Policy:
    """The policy of a trace version."""
    if version == 1:
        return VERSION_1
    if version <= 3:
        return VERSION_3
    return {4: VERSION_4, 5: VERSION_5, 6: VERSION_7, 7: VERSION_7}.get(version, CURRENT)
