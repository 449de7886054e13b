# SPDX-License-Identifier: BSD-2-Clause
"""The slots of the capabilities that a PD has of its own, which no edge stands for."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Final

from cellreap import headers
from cellreap.model.ids import is_bare, pd_behind
from cellreap.trace.check.context import Context
from cellreap.trace.expected import ExpectedPd

_NAMES: Final = ("ROOT", "ENDPOINT", "NOTIFICATION", "FAULT", "REPLY")
_MICROKIT: Final = {"NOTIFICATION": "INPUT", "FAULT": "FAULT", "REPLY": "REPLY"}


def has_door(context: Context, pd: str) -> bool:
    """Whether others call the PD over channels, or its children's faults go to it. Its endpoint is
    then in the slot of its input.
    """
    return context.configured.edges.config(pd).has_door


def is_of_microkit(context: Context, pd: str) -> bool:
    """Whether the PD is for Microkit. Then the configuration gives it the capabilities with which
    it calls others, whatever becomes of edges.
    """
    config = _config_of(context, pd)
    return config is not None and config.microkit


def child_of(context: Context, node: str) -> str | None:
    """The PD whose thread the resource stands for, which a PD for Microkit has as its parent."""
    pd = pd_behind(node)
    config = None if pd is None else _config_of(context, pd)
    return pd if config is not None and config.parent_badge is not None else None


def _config_of(context: Context, pd: str) -> ExpectedPd | None:
    """What the configuration says of a PD, also of one that is being made."""
    config = context.configured.edges.configs.get(pd)
    if config is None and context.expected is not None:
        config = context.expected.pd(context.report.names.get(pd, ""))
    return config


def has_parent(context: Context, node: str) -> bool:
    """Whether the root task has a capability from which those to the resource are derived."""
    return not is_bare(node) and child_of(context, node) is None


@functools.cache
def _slots(microkit: bool) -> Mapping[str, int]:
    if not microkit:
        return {name: headers.constant("protocol.h", f"CR_SLOT_{name}") for name in _NAMES}
    words = {name: f"MICROKIT_SLOT_{word}" for name, word in _MICROKIT.items()}
    return {name: headers.constant("protocol.h", f"CR_{word}") for name, word in words.items()}


def own_slots(context: Context, pd: str) -> Mapping[str, int]:
    """What they are for -> the slot. Without a configuration, PDs are built for cellreap."""
    return _slots(is_of_microkit(context, pd))
