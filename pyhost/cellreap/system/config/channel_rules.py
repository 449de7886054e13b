# SPDX-License-Identifier: BSD-2-Clause
"""The rules of channels and of PDs for Microkit, and what all rules have in common."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

from cellreap import headers
from cellreap.errors import hint
from cellreap.system.config.channels import ends_of, hold_slots
from cellreap.system.config.schema import Config, Pd
from cellreap.system.config.signals import End
from cellreap.system.toml_lines import KeyPath

Problem: TypeAlias = tuple[KeyPath, str]
_OF_MICROKIT: Final = frozenset(
    {
        *("name", "program", "abi", "microkit_name", "symbols", "priority", "stack_pages"),
        *("cspace_bits", "passive"),
        *("budget_us", "period_us", "overrun", "respawn", "respawn_budget", "respawn_window_ms"),
        *("respawn_delay_ms", "pinned", "pd_depth", "rs_depth", "heartbeat_ms", "callers"),
        *("call_ms", "requests", "spaces", "child_id", "holds_pds", "fault_handler"),
    }
)
"""The keys that a PD for Microkit may have."""


def unknown(what: str, name: str, known: list[str]) -> str:
    """The message for a name that refers to nothing."""
    shown = ", ".join(known[:12]) + (", ..." if len(known) > 12 else "")
    expected = f"{hint(name, known)}expected one of {shown}" if known else "there is none so far"
    return f'no {what} is named "{name}"; {expected}'


def channels(config: Config) -> Iterator[Problem]:
    """Those of [[channel]]."""
    most = headers.constant("image.h", "CR_IMAGE_MAX_CHANNELS")
    limits = ("protocol.h", "CR_STARTUP_CHANNELS"), ("image.h", "CR_IMAGE_MAX_IDS")
    of_microkit = ("image.h", "CR_IMAGE_MAX_ENDS"), ("image.h", "CR_IMAGE_MICROKIT_IDS")
    room, microkit = (
        [headers.constant(*each) for each in found] for found in (limits, of_microkit)
    )
    abis = {pd.name: pd.abi for pd in config.pds}
    pds = [pd.name for pd in config.pds]
    names: set[str] = set()
    has: dict[str, list[int | None]] = {name: [] for name in pds}
    if len(config.channels) > most:
        yield ("channel", most), f"{len(config.channels)} channels; expected at most {most}"
    for i, channel in enumerate(config.channels):
        at: KeyPath = ("channel", i)
        if channel.name in names:
            said = f'a channel named "{channel.name}" was there before'
            yield (*at, "name"), f"{said}; expected another name"
        names.add(channel.name)
        if len(channel.ends) != 2:
            yield at, f"{len(channel.ends)} ends; expected two [[channel.end]]"
            return
        if not any(end.notify or end.pp for end in channel.ends):
            yield at, "neither PD may signal the other; expected notify = true at an end"
        if channel.ends[0].pd == channel.ends[1].pd:
            yield (*at, "end", 1, "pd"), "is the other end, too; expected another PD"
        for j, end in enumerate(channel.ends):
            here: KeyPath = (*at, "end", j)
            if end.pd not in pds:
                yield (*here, "pd"), unknown("PD", end.pd, pds)
                continue
            if end.id is not None and end.id in has[end.pd]:
                said = f"another channel of {end.pd} has this number"
                yield (*here, "id"), f"{said}; expected another number"
            has[end.pd].append(end.id)
            each, ids = microkit if abis[end.pd] == "microkit" else room
            if end.id is not None and end.id >= ids:
                yield (*here, "id"), f"expected an integer from 0 to {ids - 1}, got {end.id}"
            yield from _calls(config, channel.ends[j], channel.ends[1 - j], here)
            if len(has[end.pd]) > each:
                yield (*here, "pd"), f"{end.pd} has more than {each} channels"
    for i, pd in enumerate(config.pds):
        last = max((max(end.slot, end.calls) for end in ends_of(config, pd.name)), default=0)
        if last >> pd.cspace_bits:
            said = f"its channels take slots up to {last}"
            yield ("pd", i, "cspace_bits"), f"{said}; expected at least {last.bit_length()}"


def _calls(config: Config, end: End, other: End, at: KeyPath) -> Iterator[Problem]:
    """Who calls depends on who is called: by a request."""
    pd, peer = config.pd(end.pd), config.pd(other.pd)
    if not end.pp or pd is None or peer is None:
        return
    if pd.abi != "microkit" or peer.abi != "microkit":
        yield (*at, "pp"), 'calls are for Microkit; expected two PDs with abi = "microkit"'
    elif not peer.spaces or peer.spaces[0].name not in pd.requests:
        yield (*at, "pp"), f"expected {peer.name} to have a space, and {pd.name} to request it"


def _given(pd: Pd) -> set[str]:
    """The keys that are not as by default. A configuration that was read again has all keys."""
    defaults = {key: field.get_default() for key, field in Pd.model_fields.items()}
    return {key for key, default in defaults.items() if getattr(pd, key) != default}


def microkit(config: Config) -> Iterator[Problem]:
    """A PD for Microkit has its time, its channels and an ELF file of its own, and nothing else."""
    elfs = [program.name for program in config.programs if program.elf is not None]
    for i, pd in enumerate(config.pds):
        if pd.abi != "microkit":
            for key in ("microkit_name", "symbols", "callers", "child_id"):
                if getattr(pd, key) not in ({}, None):
                    yield ("pd", i, key), 'is for Microkit; expected abi = "microkit"'
            continue
        runs = [other for other in config.pds if pd.program in (other.program, *other.spawns)]
        if pd.program not in elfs or len(runs) > 1:
            said = "is of a PD for Microkit"
            yield ("pd", i, "program"), f"{said}; expected an ELF file that no other PD runs"
        given = sorted(_given(pd) - _OF_MICROKIT)
        if given:
            yield (
                ("pd", i, given[0]),
                "a PD for Microkit asks for no operations, and has no such key",
            )
        yield from _children(config, pd, i)


def _children(config: Config, pd: Pd, i: int) -> Iterator[Problem]:
    """A PD for Microkit has one parent, or none. The parent has its thread."""
    holders = [other.name for other in config.pds if pd.name in other.holds_pds]
    held = {other.name: other for other in config.pds if other.name in pd.holds_pds}
    ids = [other.child_id for other in held.values()]
    for j, name in enumerate(pd.holds_pds):
        if name in held and held[name].child_id is None:
            yield ("pd", i, "holds_pds", j), f'expected "{name}" to have a child_id'
        elif name in held and ids.count(held[name].child_id) > 1:
            yield ("pd", i, "holds_pds", j), "has the child_id of another one; expected another"
    if pd.child_id is not None and len(holders) != 1:
        yield ("pd", i, "child_id"), f"{len(holders)} PDs have it in holds_pds; expected one"
    if pd.child_id is not None and holders and pd.fault_handler not in (None, holders[0]):
        yield ("pd", i, "fault_handler"), f'expected its parent "{holders[0]}", or none'
    if pd.child_id is None and pd.fault_handler is not None:
        yield ("pd", i, "fault_handler"), "is of a child; expected a child_id"
    last = max(hold_slots(config, pd).values(), default=0)
    if last >> pd.cspace_bits:
        said = f"its children take slots up to {last}"
        yield ("pd", i, "cspace_bits"), f"{said}; expected at least {last.bit_length()}"
