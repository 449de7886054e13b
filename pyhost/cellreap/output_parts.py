# SPDX-License-Identifier: BSD-2-Clause
"""Parts of the objects that `--json` prints (output.py)."""

from __future__ import annotations

from typing_extensions import TypedDict


class Amount(TypedDict):
    """Kernel memory and slots of the root task."""

    bytes: int
    """Bytes of kernel memory."""
    slots: int
    """Slots of the root task's CSpace."""


class Chain(TypedDict):
    """The chain of steps that makes a PD."""

    steps: int
    """Its steps."""
    kernel_calls: int
    """Its kernel calls, at most: a block of memory is split with further calls."""


class LargestCleanup(TypedDict):
    """The largest cleanup that the quotas allow."""

    steps: int
    """Its steps, at most."""
    kernel_calls: int
    """Its kernel calls, at most."""
    plan_entries: int
    """Entries of its plan, at most: nodes that are doomed, and consequences for others."""
    plan_limit: int
    """The entries that the plan's memory has room for."""


class Bounds(TypedDict):
    """The longest chains of steps of a system."""

    making: dict[str, Chain]
    """Name of a configured PD -> its chain, if all PDs are alive that it has edges to."""
    spawning: dict[str, Chain]
    """Program -> the chain of a PD that is spawned from it."""
    cleanup: LargestCleanup
    """The largest cleanup."""
