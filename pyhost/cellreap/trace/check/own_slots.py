# SPDX-License-Identifier: BSD-2-Clause
"""The slots of the capabilities that a PD has of its own, which no edge stands for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from cellreap import headers
from cellreap.trace.check.context import Context

_NAMES: Final = ("ROOT", "ENDPOINT", "NOTIFICATION", "FAULT", "REPLY")
_MICROKIT: Final = {"NOTIFICATION": "INPUT", "FAULT": "FAULT", "REPLY": "REPLY"}


class OwnSlots:
    """Knows them from the configuration. Without one, PDs are built for cellreap."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._cellreap = {
            name: headers.constant("protocol.h", f"CR_SLOT_{name}") for name in _NAMES
        }
        self._microkit = {
            name: headers.constant("protocol.h", f"CR_MICROKIT_SLOT_{word}")
            for name, word in _MICROKIT.items()
        }

    def of(self, pd: str) -> Mapping[str, int]:
        """What they are for -> the slot."""
        config = self._context.configured.edges.config_of(pd)
        return self._microkit if config is not None and config.microkit else self._cellreap

    def has_door(self, pd: str) -> bool:
        """Whether others call it over channels. Then its endpoint is in the slot of its input."""
        config = self._context.configured.edges.config_of(pd)
        return config is not None and config.has_door

    def are_given(self, pd: str) -> bool:
        """Whether the configuration gives the PD the capabilities with which it calls others."""
        config = self._context.configured.edges.config_of(pd)
        return config is not None and config.microkit
