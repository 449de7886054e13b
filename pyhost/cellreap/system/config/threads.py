# SPDX-License-Identifier: BSD-2-Clause
"""Threads: PDs that share the address space of an earlier one, their process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from cellreap import headers
from cellreap.system.config.channel_rules import Problem, unknown
from cellreap.system.config.schema import Config, Pd
from cellreap.system.toml_lines import KeyPath

_MOST: Final = headers.constant("protocol.h", "CR_THREADS_MAX")
OF_PROCESS: Final = (
    "program",
    "start",
    "respawn",
    "respawn_budget",
    "respawn_window_ms",
    "respawn_delay_ms",
)
"""The keys in which a thread is as its process: they come and go together."""


def processes(config: Config) -> dict[str, int]:
    """The PDs whose address space others share -> how many threads there are in it."""
    found: dict[str, int] = {}
    for pd in config.pds:
        if pd.thread_of is not None:
            found[pd.thread_of] = found.get(pd.thread_of, 1) + 1
    return found


def thread_of(config: Config, pd: Pd) -> tuple[int, int]:
    """The PD's number among the threads of its process, and how many these are."""
    first = pd.thread_of or pd.name
    names = [first, *(other.name for other in config.pds if other.thread_of == first)]
    return names.index(pd.name), len(names)


def links_of(config: Config) -> list[tuple[str, str]]:
    """The PDs that are linked. A thread is, with its process."""
    links = [(link.between[0], link.between[1]) for link in config.links]
    return links + [(pd.thread_of, pd.name) for pd in config.pds if pd.thread_of is not None]


def problems(config: Config) -> Iterator[Problem]:
    """The rules of `thread_of`."""
    counts: dict[str, int] = {}
    links = [frozenset(link.between) for link in config.links]
    for i, pd in enumerate(config.pds):
        at: KeyPath = ("pd", i, "thread_of")
        if pd.thread_of is None:
            continue
        earlier = [other.name for other in config.pds[:i]]
        process = config.pd(pd.thread_of)
        if process is None:
            yield at, unknown("PD", pd.thread_of, earlier)
            continue
        if process is pd:
            yield at, "is the PD itself; expected an earlier PD"
            continue
        if process.name not in earlier:
            yield at, f'"{process.name}" is created after "{pd.name}"; expected an earlier PD'
        if process.thread_of is not None:
            said = f'"{process.name}" is a thread itself; expected "{process.thread_of}"'
            yield at, said
        if process.abi == "microkit":
            yield at, f'"{process.name}" is for Microkit, where PDs share no address space'
        for key in OF_PROCESS:
            if getattr(pd, key) != getattr(process, key):
                where: KeyPath = ("pd", i, key)
                yield where, f'"{pd.name}" is a thread of "{process.name}"; expected the same there'
        if frozenset((pd.name, process.name)) in links:
            yield at, "the two are linked in [[link]]; a thread is linked with its process"
        for j, region in enumerate(config.regions):
            for k, each in enumerate(region.maps):
                if each.pd == pd.name:
                    said = f'"{pd.name}" has what its process has; expected "{process.name}"'
                    yield ("region", j, "map", k, "pd"), said
        counts[process.name] = counts.get(process.name, 1) + 1
        if counts[process.name] == _MOST + 1:
            yield at, f'"{process.name}" has more than {_MOST} threads'
