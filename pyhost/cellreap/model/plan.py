# SPDX-License-Identifier: BSD-2-Clause
"""A plan: what a cleanup will do. The C core and the Python reference both compute it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from cellreap.model.closeness import Closeness

WHYS: Final = (
    "trigger",
    "link",
    "fault",
    "request",
    "hold",
    "managed",
    "map",
    "own",
    "unreached",
    "unnamed",
    "metric",
)
"""Why a node is doomed. Each word has its cause, in this order: none; the linked PD; the fault
handler; the requested space; the held resource; the manager; the space mapped to; the creator. The
next two have none: a collection did not reach the PD; a configuration does not name the node. The
last one: the trigger, to which it is close.
"""

COLLECTED_DEPTH: Final = 1
"""The PD depth of a PD that is doomed without a trigger: it still runs and is notified."""

MAX_DEPTH: Final = 0xFFFF_FFFD
"""The largest depth other than `inf`.

Of the 32-bit values, the last one is `inf`. The last but one means "the system's depth" in an
image.
"""


Broken = tuple[str, str, str]
"""A survivor, what it holds, and what that was built on and goes."""


@dataclass(frozen=True)
class Plan:
    """What a cleanup will do.

    Lists are sorted. `groups` begins with the group that is destroyed first.
    """

    trigger: str | None
    """the PD that crashes, or the first of a subtree; None: a collection or a reconciliation"""
    pd_depth: int | None
    """hops of clients that are destroyed; None: unlimited"""
    rs_depth: int | None
    """hops of mapped spaces that are destroyed; None: unlimited"""
    destroyed_pds: list[tuple[str, int]] = field(default_factory=list)
    """(PD, PD depth), with the trigger"""
    deleted_spaces: list[str] = field(default_factory=list)
    """the spaces that go, also those of destroyed PDs"""
    removed_requests: list[tuple[str, str]] = field(default_factory=list)
    """(survivor, space)"""
    revoked: list[tuple[str, str]] = field(default_factory=list)
    """(survivor other than the root task, resource in a destroyed space)"""
    revoked_spaces: list[tuple[str, str]] = field(default_factory=list)
    """(survivor other than the root task, destroyed space that it held)"""
    revoked_bodies: list[tuple[str, str]] = field(default_factory=list)
    """(survivor other than the root task, capability to the body of a doomed PD)"""
    core_freed: list[str] = field(default_factory=list)
    """core resources that no PD except the root task holds after the cleanup"""
    notices: list[tuple[str, str, str, str | None]] = field(default_factory=list)
    """(to, kind, node, dead PD). kind is free, destroy, disconnect or lost. The dead PD is given
    for free and disconnect.
    """
    pre_destroy: list[tuple[str, str]] = field(default_factory=list)
    """(subscriber, doomed node)"""
    groups: list[list[str]] = field(default_factory=list)
    """the doomed PDs and spaces in the order of destruction; those of one group in any order"""
    doomed_why: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    """doomed PD or space -> (one of WHYS, cause). If several causes hold, it names any of them."""
    closeness: Closeness | None = None
    """the policy, if depth alone does not decide"""
    possible: list[str] = field(default_factory=list, compare=False)
    """the doomed PDs and spaces that go only if PDs made requests of which that is not known"""

    def doomed(self) -> set[str]:
        """The doomed PDs and spaces."""
        return {pd for pd, _ in self.destroyed_pds} | set(self.deleted_spaces)

    def outcome(self) -> dict[str, Any]:
        """All fields except `doomed_why`, as an object.

        Two plans with the same decisions have equal outcomes, even if they name different causes.
        """
        shown = self.to_json()
        del shown["doomed_why"]
        return shown

    def to_json(self) -> dict[str, Any]:
        """The plan as `cellreap plan --json` prints it."""
        closeness = {} if self.closeness is None else {"closeness": self.closeness.to_json()}
        return {
            "trigger": self.trigger,
            "pd_depth": depth_text(self.pd_depth),
            "rs_depth": depth_text(self.rs_depth),
            **closeness,
            "destroyed_pds": [list(item) for item in self.destroyed_pds],
            "deleted_spaces": list(self.deleted_spaces),
            "removed_requests": [list(item) for item in self.removed_requests],
            "revoked": [list(item) for item in self.revoked],
            "revoked_spaces": [list(item) for item in self.revoked_spaces],
            "revoked_bodies": [list(item) for item in self.revoked_bodies],
            "core_freed": list(self.core_freed),
            "notices": [list(item) for item in self.notices],
            "pre_destroy": [list(item) for item in self.pre_destroy],
            "groups": [list(group) for group in self.groups],
            "doomed_why": {node: list(why) for node, why in sorted(self.doomed_why.items())},
        }

    @classmethod
    def from_json(cls, shown: dict[str, Any]) -> Plan:
        """The inverse of `to_json`. Ignores unknown keys. KeyError if a key is missing."""
        closeness = shown.get("closeness")
        return cls(
            closeness=None if closeness is None else Closeness.from_json(closeness),
            trigger=shown["trigger"],
            pd_depth=None if shown["pd_depth"] == "inf" else shown["pd_depth"],
            rs_depth=None if shown["rs_depth"] == "inf" else shown["rs_depth"],
            destroyed_pds=[(pd, depth) for pd, depth in shown["destroyed_pds"]],
            deleted_spaces=list(shown["deleted_spaces"]),
            removed_requests=[(pd, space) for pd, space in shown["removed_requests"]],
            revoked=[(pd, res) for pd, res in shown["revoked"]],
            revoked_spaces=[(pd, space) for pd, space in shown["revoked_spaces"]],
            revoked_bodies=[(pd, res) for pd, res in shown["revoked_bodies"]],
            core_freed=list(shown["core_freed"]),
            notices=[(to, kind, node, dead) for to, kind, node, dead in shown["notices"]],
            pre_destroy=[(pd, node) for pd, node in shown["pre_destroy"]],
            groups=[list(group) for group in shown["groups"]],
            doomed_why={node: (why, cause) for node, (why, cause) in shown["doomed_why"].items()},
        )


def depth_text(depth: int | None) -> int | str:
    """A depth as in JSON and options: a number, or `inf`."""
    return "inf" if depth is None else depth
