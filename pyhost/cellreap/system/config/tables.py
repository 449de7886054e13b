# SPDX-License-Identifier: BSD-2-Clause
"""The sizes of the root task's tables: as large as the configuration needs.

The image tells the root task the number of entries of each table (cr_image_tables of image.h). What
an entry takes is in limits.h.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from cellreap import headers
from cellreap.system.config.schema import Config, Pd
from cellreap.system.config.threads import links_of, processes

SHARED: Final = {
    "nodes": (4, 1024),
    "edges": (24, 3072),
    "spaces": (1, 128),
    "types": (1, 64),
    "requests": (4, 512),
    "tickets": (2, 352),
    "pds": (0, 112),
    "maps": (4, 1024),
}
"""Word of a table that PDs share -> what there is for each PD without a quota, beside its need,
and for all of them at least: so few PDs have more.
"""
_OF_PD: Final = {"pds": 1, "nodes": 2, "edges": 5}
"""What a PD as such takes: its capability has a node, too, and both and the PD's requests to the
core spaces have edges, as its fault handler does."""
_LEFT: Final = 8
_TOMBSTONES: Final = 128
_OWN_BLOCKS: Final = 32
"""For the root task's threads, numbers of address spaces, probes, and the tables themselves."""
_OF_PLACE: Final = 64
_SIZES: Final = 16
"""Of the blocks that are set aside for an account: CR_RESERVE_MIN_BITS to 31."""


@dataclass(frozen=True)
class Claim:
    """What one PD claims of a table."""

    need: int
    asked: int | None
    """None: a fair share."""
    may: bool
    """Whether it can use more than its need at all."""

    @property
    def sure(self) -> int:
        """What is the PD's before anything is shared."""
        return self.need if self.asked is None else self.asked

    @property
    def shares(self) -> bool:
        """Whether the PD has a part of what is shared."""
        return self.asked is None and self.may


_NEEDS: Final[Mapping[str, Callable[[Pd], int]]] = {
    "nodes": lambda pd: len(pd.spaces),
    # a space: its manager and its hold; a request: also the notice that it leaves behind
    "edges": lambda pd: 2 * len(pd.spaces) + 2 * len(pd.requests),
    "spaces": lambda pd: len(pd.spaces),
    "types": lambda pd: len({space.type for space in pd.spaces}),
    "requests": lambda pd: len(pd.requests),
}


def need(pd: Pd, word: str) -> int:
    """What the configuration itself makes a PD use."""
    needs = _NEEDS.get(word)
    return 0 if needs is None else needs(pd)


def may(pd: Pd, word: str) -> bool:
    """Whether a PD can use more than its need: only managers make resources, for example."""
    if word in ("spaces", "types", "maps"):
        return bool(pd.spaces)
    if word == "pds":
        return bool(pd.spawns)
    if word == "bytes":
        return bool(pd.spawns) or pd.allocates
    if word == "pages":
        return pd.allocates
    return word != "nodes" or bool(pd.spaces or pd.spawns) or pd.allocates


def claims(config: Config, word: str) -> list[Claim]:
    """The claims of all PDs, in the order of the configuration."""
    return [Claim(need(pd, word), getattr(pd.quota, word), may(pd, word)) for pd in config.pds]


def core_spaces(config: Config) -> int:
    """The spaces of the root task: two, two for memory if there is any, and one each for channels,
    interrupts, ports and shared address spaces.
    """
    more = bool(config.channels) + bool(config.interrupts) + bool(config.ports)
    return 2 + 2 * has_memory(config) + more + bool(processes(config))


def is_pinned(pd: Pd) -> bool:
    """Whether policy does not doom it."""
    return pd.pinned or pd.prevent_destroy


def has_memory(config: Config) -> bool:
    """Whether PDs may allocate memory, or have regions."""
    return bool(config.regions) or any(pd.allocates for pd in config.pds)


def _maps(config: Config) -> int:
    return sum(len(region.maps) for region in config.regions)


def taken(config: Config, word: str) -> int:
    """What the root task and the PDs as such take of a table."""
    count = len(config.pds)
    holds = sum(len(pd.holds_pds) for pd in config.pds)
    spaces = core_spaces(config)
    regions, maps, channels = len(config.regions), _maps(config), len(config.channels)
    lines = len(config.interrupts) + len(config.ports)
    shared = processes(config)
    threads = sum(shared.values())
    counts = {
        "nodes": 1 + spaces + regions + maps + channels + lines + len(shared),
        # All PDs may request memory if one may. A region has a hold and a map, a channel two
        # holds, a line one. Each thread holds the address space, and all but one are owned.
        "edges": spaces
        + has_memory(config) * count
        + holds
        + len(links_of(config))
        + regions
        + 3 * maps
        + 3 * channels
        + 2 * lines
        + 2 * threads,
        "spaces": spaces,
        "types": spaces,
        "pds": 1,
    }
    return counts.get(word, 0) + _OF_PD.get(word, 0) * count


def _left(config: Config) -> int:
    """How many PDs may be left of whom something cannot be destroyed, while others replace them.

    Each PD of the configuration may have such a predecessor.
    """
    count = len(config.pds)
    sure = taken(config, "pds") + sum(claim.sure for claim in claims(config, "pds"))
    return min(max(_LEFT, count), _most()["pds"] - sure)


def entries(config: Config, word: str) -> int:
    """The entries of a table that the PDs share."""
    each, least = SHARED[word]
    claimed = claims(config, word)
    sharers = sum(claim.shares for claim in claimed)
    wanted = taken(config, word) + sum(claim.sure for claim in claimed)
    wanted += _OF_PD.get(word, 0) * _left(config)
    if word != "pds" or sharers > 0 or config.system.reconcile is not None:
        wanted += max(each * sharers, least)
    return min(wanted, _most()[word])


def tables(config: Config) -> dict[str, int]:
    """The entries of each table of the root task, by its word."""
    sizes = {word: entries(config, word) for word in SHARED}
    pds = sizes["pds"]
    each = headers.constant("limits.h", "CR_TOMBSTONES_EACH")
    sizes["tombstones"] = max(each * pds, _TOMBSTONES)
    sizes["slots"] = pds << _cspace_bits(config)  # the root task's has none, but a place
    sizes["pairs"] = pds * pds
    measured = sizes["nodes"] + sizes["tombstones"]
    sizes["close"] = measured if config.policy.policy != "depth" else 0
    own = functools.partial(headers.own_constant, "kernel/kernel.h")
    sizes["bodies"] = _power_of_2(pds + own("CR_L1_BODIES") + 1)
    sizes["blocks"] = min(_power_of_2(_blocks(config, pds)), _most()["blocks"])
    # the parent of each resource, a probe of each PD, and with MCS where its callers are kept
    resources = sizes["nodes"] + 2 * pds + own("CR_POOL_OWN_MAX")
    sizes["pool"] = _power_of_2(max(resources, sizes["bodies"], sizes["blocks"]))
    return sizes


def _blocks(config: Config, pds: int) -> int:
    """The blocks of kernel memory that there may be.

    Those of boot time; and those that are split off: each PD has one, and the memory set aside for
    a PD that spawns is one of each size. To have a block split off takes two entries, and as many
    are for free blocks between those in use. Each memory object and each region has one, too.
    Memory that has its place is split off at both of its ends.
    """
    spawners = sum(may(pd, "bytes") or bool(pd.quota.bytes) for pd in config.pds)
    of_boot = headers.own_constant("kernel/untyped.h", "CR_FIRST_BLOCKS")
    memory = entries(config, "nodes") if has_memory(config) else 0
    places = _OF_PLACE * sum(region.memory_at is not None for region in config.regions)
    return of_boot + 4 * (pds + _SIZES * spawners + _OWN_BLOCKS) + 2 * memory + places


def bytes_of(sizes: dict[str, int]) -> int:
    """The bytes of tables of these sizes."""
    entries = sum(sizes[str(row[2])] * int(row[3]) for row in _rows())
    return entries + headers.constant("limits.h", "CR_TABLES_BYTES")


def _cspace_bits(config: Config) -> int:
    """Of the largest CSpace. That of a PD of a saved state may be as large as there is any."""
    if config.system.reconcile is not None:
        return headers.constant("limits.h", "CR_CSPACE_BITS_MAX")
    bits = {pd.cspace_bits for pd in config.pds}
    if any(pd.spawns for pd in config.pds):
        bits.add(headers.own_constant("system/body.h", "CR_SPAWNED_CSPACE_BITS"))
    return max(bits)


def _power_of_2(count: int) -> int:
    return 1 << (count - 1).bit_length()


@functools.cache
def _most() -> dict[str, int]:
    """Word of a table -> its entries at most."""
    return {str(word): int(most) for _, most, word, *_ in _rows()}


def _rows() -> Sequence[tuple[str | int, ...]]:
    return headers.table("limits.h", "CR_TABLE_LIMIT")
