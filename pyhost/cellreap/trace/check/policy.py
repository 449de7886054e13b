# SPDX-License-Identifier: BSD-2-Clause
"""Where the rules of trace versions differ: one policy for each version.

The names of older versions are not here: `trace.upgrade` gives every event its current name. What
an older root task did differently cannot be renamed, so the checker asks the policy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Policy:
    """What a version demands where versions differ. The defaults are the current version's."""

    says_mode: bool = True
    """MODE stands right after BASE."""
    lanes: bool = True
    """Each receiver has a strictly ordered lane for each space. Else it has one queue, finishes in
    any order, and a failure stops nothing."""
    tells_subscribers: bool = True
    """The subscribers of doomed nodes are told before these are destroyed."""
    owes_disconnect: bool = True
    """A client's UNREQUEST owes the server a notice."""
    gives_tickets: bool = True
    """A PD that terminates another gets a ticket."""
    stops_at_trigger: bool = True
    """A PD that cannot act cannot fault or exit, and a terminated PD stops at its TERMINATE. Else
    it stops at its cleanup."""
    max_refusals: int | None = 64
    """So many refusals of a PD are told one by one."""
    max_lost_slots: int | None = 32
    """A PD with so many slots that wait for its answer to LOST notices is given no more."""


CURRENT: Final = Policy()
VERSION_1: Final = Policy(
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
    return VERSION_1 if version == 1 else CURRENT
