# SPDX-License-Identifier: BSD-2-Clause
"""The longest chains of steps of a system, worked out when it is built.

Nothing in a chain depends on what PDs do beyond their quotas: neither the steps of making a PD, nor
those of the largest cleanup that there can be.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import TypeAdapter

from cellreap.system.capdl.layout import Layout, spawned_pd
from cellreap.system.capdl.target import Target
from cellreap.system.config import (
    Config,
    Pd,
    ends_of,
    lines,
    links_of,
    processes,
    quotas,
    tables,
    thread_of,
)
from cellreap.system.elf import read_executable
from cellreap.system.memory import Memory
from cellreap.system.regions import ranges_of, steps_of

_LINE_STEPS, _LINE_CALLS = 5, 6
"""slot, parent, node, edge, grant; the line is taken, bound in three calls, acknowledged, given"""
_BEFORE_BODY: Final = 3
"""entry, layout, block"""
_OBJECTS: Final = 6
"""The body's CNode, CSpace and address space; the thread, its notification and its endpoint."""
_CAPS, _THREAD, _ASID = 5, 4, 1
_MCS_OBJECTS, _MCS_CALLS = 2, 3
"""A scheduling context and a reply object; the fault endpoint is minted and deleted, time given."""
_CAPABILITY: Final = 7
"""The resource of the body (slot, node, parent), its edge, and a hold (edge, slot, grant)."""


@dataclass(frozen=True)
class Making:
    """The chain that makes a PD."""

    steps: int
    kernel_calls: int
    """At most: a block of memory is split with further calls."""


@dataclass(frozen=True)
class Cleanup:
    """The largest cleanup that there can be."""

    steps: int
    kernel_calls: int
    plan_entries: int
    """Entries of the plan: nodes that are doomed, and consequences for others."""
    plan_limit: int
    """The entries that the plan's memory has room for."""


@dataclass(frozen=True)
class Table:
    """A table of the root task that the PDs share."""

    needed: int
    """Entries that the configuration itself needs, and those that its quotas set aside."""
    limit: int
    """Entries that there are for PDs."""


@dataclass(frozen=True)
class Bounds:
    """The longest chains of a system, and what it needs of what is limited."""

    pds: Mapping[str, Making]
    """Name of a configured PD -> its chain, with all PDs alive that it has edges to."""
    spawned: Mapping[str, Making]
    """Program -> the chain of a PD that is spawned from it."""
    cleanup: Cleanup
    tables: Mapping[str, Table]
    """Word of a quota -> the table. Bytes are in `memory`."""
    sizes: Mapping[str, int]
    """Word of a table -> its entries, as the image has them."""
    memory: Memory

    def longest(self) -> tuple[str, Making]:
        """The PD or program with the longest chain."""
        chains = {**self.spawned, **self.pds}
        return max(chains.items(), key=lambda each: (each[1].steps, each[0]))


_JSON: Final = TypeAdapter(Bounds)


def to_json(bounds: Bounds) -> bytes:
    """Bounds as a file of the cache."""
    return _JSON.dump_json(bounds)


def from_json(raw: bytes) -> Bounds:
    """The bounds that `to_json` wrote."""
    return _JSON.validate_json(raw)


def bounds_of(
    config: Config,
    programs: Mapping[str, bytes],
    target: Target,
    options: Mapping[str, Any],
    memory: Memory,
) -> Bounds:
    """The bounds of a system. programs: by name. options: the kernel's gen_config.json."""
    fan_out = int(options.get("RETYPE_FAN_OUT_LIMIT", 256))

    def body(pd: Pd) -> tuple[int, int]:
        elf = read_executable(programs[pd.program], f"{pd.program}.elf", target.arch)
        number, _ = thread_of(config, pd)
        return _body(Layout(pd, elf, target, ranges_of(config, pd.name), thread=number), fan_out)

    def chain(pd: Pd, more_steps: int, more_calls: int) -> Making:
        steps, calls = body(pd)
        return Making(steps + more_steps, calls + more_calls)

    def spawned_by(pd: Pd, program: str) -> Pd:
        time = {"budget_us": pd.budget_us, "period_us": pd.period_us, "overrun": pd.overrun}
        return spawned_pd(program).model_copy(update=time)

    spawned = {
        program: chain(spawned_by(pd, program), 1 + _CAPABILITY, 2)  # 1: OWN
        for pd in sorted(
            config.pds, key=lambda pd: pd.has_timeout
        )  # the last one of a program counts
        for program in pd.spawns
    }
    pds = {}
    for pd in config.pds:
        steps, calls = steps_of(config, pd, fan_out)
        channels = list(ends_of(config, pd.name))  # each has a node, an edge, perhaps a capability
        caps = sum(end.slot != 0 for end in channels)
        has = sum(line.pd == pd.name for line in lines(config))
        more = _edges(config, pd) + steps + 2 * len(channels) + caps + has * _LINE_STEPS
        calls += caps + bool(channels) + has * _LINE_CALLS
        pds[pd.name] = chain(pd, more, calls)
    return Bounds(pds, spawned, _cleanup(config), _tables(config), tables(config), memory)


def _tables(config: Config) -> dict[str, Table]:
    found = {}
    for word in quotas.words():
        total = quotas.available(config, word)
        if total is not None:
            found[word] = Table(quotas.needed(config, word), total)
    return found


def _edges(config: Config, pd: Pd) -> int:
    """The edges that a configured PD has from the start."""
    links = sum(pd.name in pair for pair in links_of(config))
    core = bool(pd.spaces) + bool(pd.spawns) + pd.allocates
    # Of threads, also who owns it, and the hold of the address space, which the first one makes.
    of_process = 2 * (pd.thread_of is not None or pd.name in processes(config))
    return core + (pd.fault_handler is not None) + links + of_process


def _body(layout: Layout, fan_out: int) -> tuple[int, int]:
    """Steps and kernel calls from the entry to the start, without edges and capabilities."""
    frames, tables = len(layout.frames), sum(map(len, layout.tables))
    objects = _OBJECTS + len(layout.tables) + -(-frames // fan_out)
    mcs = layout.target.sc_bits > 0
    objects += mcs * _MCS_OBJECTS
    asids = _ASID * (layout.thread == 0)
    steps = _BEFORE_BODY + objects + asids + tables + frames + _CAPS + _THREAD
    steps += 2  # node, start
    filled = code = 0
    for stretch, vaddr in layout.frames:
        from_file = stretch.start < vaddr + layout.page and vaddr < stretch.start + stretch.count
        startup = stretch is layout.stretches[-3]  # its contents are not in the file
        filled += from_file or startup
        code += from_file and stretch.executable
    # A CNode is moved. A page with contents is mapped, synchronized if it is code, and unmapped.
    calls = objects + 1 + asids + tables + frames + 2 * filled + code + _CAPS + _THREAD + 1
    calls += mcs * (_MCS_CALLS + layout.pd.has_timeout)
    return steps, calls


def _cleanup(config: Config) -> Cleanup:
    """Everybody and everything is destroyed, as far as the quotas of the accounts allow."""
    count, most = len(config.pds), tables(config)
    pds = min(count + _sum(config, "pds", most["pds"] - 1 - count), most["pds"] - 1)
    spaces = _sum(config, "spaces", most["spaces"])
    nodes = min(_sum(config, "nodes", most["nodes"]) + 2 * count, most["nodes"])
    charged = _sum(config, "edges", most["edges"])
    edges = min(charged + 5 * count, most["edges"])
    requests = _sum(config, "requests", most["requests"])
    resources = max(nodes - pds - spaces, 0)
    # An edge has room for the notice that it leaves behind, and for no second one. A subscription
    # counts twice: for its notice, and for the group that may be awaited after it.
    steps = 2 * pds + (pds + spaces) + charged + requests + resources + spaces
    # A stop is three calls, reads the registers of PDs that still run, and resumes those that were
    # in a call to the PD.
    pairs = pds * (pds - 1) // 2
    calls = 3 * pds + 2 * pairs + 3 * (requests + resources) + pds + charged
    room = most["nodes"] + most["edges"]  # cr_max_plan of system.h
    return Cleanup(steps, calls, pds + spaces + resources + edges, room)


def _sum(config: Config, word: str, otherwise: int) -> int:
    shares = quotas.quotas(config, word)
    return otherwise if shares is None else min(sum(shares), otherwise)
