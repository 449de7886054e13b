# SPDX-License-Identifier: BSD-2-Clause
"""The slots of the capabilities that a PD has of its own, which no edge stands for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from cellreap import headers
from cellreap.trace.check.context import Context

_NAMES: Final = ("ROOT", "ENDPOINT", "NOTIFICATION", "FAULT", "REPLY")
_MICROKIT: Final = {"NOTIFICATION": "INPUT", "FAULT": "FAULT", "REPLY": "REPLY"}


def has_door(context: Context, pd: str) -> bool:
    """Whether others call the PD over channels. Its endpoint is then in the slot of its input."""
    config = context.configured.edges.config_of(pd)
    return config is not None and config.has_door


def is_of_microkit(context: Context, pd: str) -> bool:
    """Whether the PD is for Microkit. Then the configuration gives it the capabilities with which
    it calls others, whatever becomes of edges.
    """
    config = context.configured.edges.config_of(pd)
    return config is not None and config.microkit


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
        microkit = is_of_microkit(self._context, pd)
        return self._microkit if microkit else self._cellreap
