# SPDX-License-Identifier: BSD-2-Clause
"""The notifications of PDs with channels, which outlive them, and the capabilities to signal them.

Which PD has which channel, only the configuration tells.
"""

from __future__ import annotations

from cellreap.trace.check.context import Context
from cellreap.trace.check.snapshot import Cap


class Bells:
    """What the kernel's word has shown of them."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._addresses: dict[str, int] = {}
        """By the name of the PD."""

    def _has_one(self, pd: str) -> bool:
        config = self._context.configured.edges.config_of(pd)
        return config is not None and bool(config.ends)

    def learn(self, pd: str, address: int) -> bool:
        """Takes the address of a PD's notification. Whether it can be one that outlives the PD."""
        name = self._context.report.names[pd]
        if not self._has_one(pd) or name in self._addresses:
            return True
        taken = address in self._addresses.values()
        self._addresses[name] = address
        bodies = map(self._context.memory.body, self._context.model.pds())
        return not taken and not any(
            body is not None and body.paddr <= address < body.paddr + body.bytes for body in bodies
        )

    def of(self, pd: str, own: int) -> int:
        """The address of a PD's notification. own: if it has none that outlives it."""
        return self._addresses.get(self._context.report.names[pd], own)

    def capability(self, pd: str, slot: int) -> Cap | None:
        """That with which the PD signals the other one of a channel."""
        config = self._context.configured.edges.config_of(pd)
        for end in () if config is None else config.ends:
            if end.slot == slot:
                address = self._addresses.get(end.peer, 0)
                return Cap("notification", address, "W", end.badge)
        return None
