# SPDX-License-Identifier: BSD-2-Clause
"""A plan: what a cleanup will do, as the C core and the Python reference both decide it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

WHYS: Final = ("trigger", "link", "fault", "request", "hold", "managed", "map")
"""Why a node is doomed. The cause that goes with it: nothing; the linked PD; the fault handler; the
space requested; the resource held; the manager; the space mapped to.
"""

MAX_DEPTH: Final = 0xFFFF_FFFD
"""The largest depth that is not `inf`. Of 32 bits, the last value is `inf`; the last but one stands
in an image for "the system's depth"."""


@dataclass(frozen=True)
class Plan:
    """What a cleanup will do.

    Lists are sorted; `groups` has the group that is destroyed first in front.
    """

    trigger: str
    pd_depth: int | None
    """None is unlimited"""
    rs_depth: int | None
    """None is unlimited"""
    destroyed_pds: list[tuple[str, int]] = field(default_factory=list)
    """(PD, pd depth), the trigger included"""
    deleted_spaces: list[str] = field(default_factory=list)
    removed_requests: list[tuple[str, str]] = field(default_factory=list)
    """(survivor, space)"""
    revoked: list[tuple[str, str]] = field(default_factory=list)
    """(survivor other than the root task, resource in a deleted space)"""
    revoked_spaces: list[tuple[str, str]] = field(default_factory=list)
    """(survivor other than the root task, deleted space that it held)"""
    revoked_bodies: list[tuple[str, str]] = field(default_factory=list)
    """(survivor other than the root task, capability to a doomed PD's body)"""
    core_freed: list[str] = field(default_factory=list)
    """core resources that nobody but the root task would hold any more"""
    notices: list[tuple[str, str, str, str | None]] = field(default_factory=list)
    """(to, kind, node, dead PD): kind is free, destroy, disconnect or lost; the dead PD for free
    and disconnect
    """
    pre_destroy: list[tuple[str, str]] = field(default_factory=list)
    """(subscriber, doomed node)"""
    groups: list[list[str]] = field(default_factory=list)
    doomed_why: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    """doomed PD or space -> (one of WHYS, cause). Where several causes hold, any one of them"""

    def doomed(self) -> set[str]:
        """The doomed PDs and spaces."""
        return {pd for pd, _ in self.destroyed_pds} | set(self.deleted_spaces)

    def outcome(self) -> dict[str, Any]:
        """All but `doomed_why`, as an object: equal for two plans that decide the same, whatever
        cause they name.
        """
        shown = self.to_json()
        del shown["doomed_why"]
        return shown

    def to_json(self) -> dict[str, Any]:
        """The plan as `cellreap plan --json` prints it."""
        return {
            "trigger": self.trigger,
            "pd_depth": depth_text(self.pd_depth),
            "rs_depth": depth_text(self.rs_depth),
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
        """The inverse of `to_json`. Keys that a plan does not have are ignored; a missing one
        raises KeyError.
        """
        return cls(
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
    """A depth as JSON and options have it: a number, or `inf`."""
    return "inf" if depth is None else depth
