# SPDX-License-Identifier: BSD-2-Clause
"""The policy beside a description: what it does not say of crashes and of coming back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field

from cellreap.errors import InputError, hint
from cellreap.model.plan import MAX_DEPTH
from cellreap.system.config.schema import MAX_DEADLINE_MS, MIN_LIMIT_MS, Callers, OnDeath
from cellreap.system.microkit.rows import System
from cellreap.system.toml_lines import KeyPath, Lines
from cellreap.system.toml_tables import (
    Table,
    checked,
    dotted,
    expect,
    read_text,
    toml_values,
)

_WORD: Final = 8

_Name = Annotated[str, expect("a name of the description")]
_Depth = Annotated[
    Annotated[int, Field(ge=0, le=MAX_DEPTH)] | Literal["inf"],
    expect(f'an integer from 0 to {MAX_DEPTH}, or "inf"'),
]
_Limit = Annotated[
    int,
    Field(ge=MIN_LIMIT_MS, le=MAX_DEADLINE_MS),
    expect(f"milliseconds from {MIN_LIMIT_MS} to {MAX_DEADLINE_MS}"),
]
_Faults = Annotated[Literal["parent", "cellreap"], expect('"parent" or "cellreap"')]
_After = Annotated[Literal["keep", "zero", "refill"], expect('"keep", "zero" or "refill"')]


class Depths(Table):
    """[policy]: how far a crash reaches."""

    pd_depth: _Depth = 0
    """Hops of dependents that are destroyed with a PD that crashes."""
    rs_depth: _Depth = 0
    """Hops of mapped spaces that are deleted."""


class Serves(Table):
    """[[serves]]: the direction of a connection."""

    server: _Name
    """The PD that serves."""
    clients: Annotated[tuple[_Name, ...], Field(strict=False), expect("a list of PD names")]
    """The PDs that depend on it."""


class PdPolicy(Table):
    """[[pd]]: what becomes of a PD."""

    name: _Name
    """Its name in the description."""
    pd_depth: _Depth | None = None
    """As in [policy], when this PD crashes. The default is that of [policy]."""
    rs_depth: _Depth | None = None
    """The same for mapped spaces."""
    respawn: Annotated[bool, expect("true or false")] = False
    """Whether it comes back."""
    callers: Callers | None = None
    """What becomes of a call that it had taken when it died: "repeat" makes it anew, a label
    answers it. By default, it is answered that the server died."""
    faults: _Faults = "parent"
    """Of a PD within another one: who handles its faults. With "cellreap", each is a crash, and the
    PD does not need its parent."""
    heartbeat_ms: _Limit | None = None
    """It has hung if it could run for so long and did not wait for its next message."""
    call_ms: _Limit | None = None
    """Whom it calls has hung if the call lasts twice as long."""


class RegionPolicy(Table):
    """[[region]]: what becomes of a region when a PD that maps it comes back."""

    name: _Name
    """Its name in the description."""
    after: _After = "keep"
    """Its content: as it is, zero, or as it was filled at first. A region that no survivor maps is
    always as at first."""
    epoch: Annotated[int, Field(ge=0), expect("an offset in bytes from 0")] | None = None
    """The offset of a word that is one larger each time."""
    on_death: Annotated[tuple[OnDeath, ...], Field(strict=False)] = ()
    """Of a device: what makes it quiet when a PD that has it goes, as in a configuration."""


class Policy(Table):
    """A policy."""

    policy: Depths = Depths()
    serves: Annotated[tuple[Serves, ...], Field(strict=False)] = ()
    pd: Annotated[tuple[PdPolicy, ...], Field(strict=False)] = ()
    region: Annotated[tuple[RegionPolicy, ...], Field(strict=False)] = ()


_TABLES: Final[dict[tuple[str, ...], type[Table]]] = {
    ("policy",): Depths,
    ("serves",): Serves,
    ("pd",): PdPolicy,
    ("region",): RegionPolicy,
    ("region", "on_death"): OnDeath,
}
_LISTED: Final = ("serves", "pd", "region", "on_death")


def read_policy(path: Path, system: System) -> Policy:
    """The policy in a file, for this description. InputError for the first problem."""
    text = read_text(path)
    lines = Lines(text)
    policy = checked(toml_values(text, path), path, lines, Policy, _TABLES, _LISTED)
    for at, message in _problems(policy, system):
        raise InputError(str(path), lines.of(at), dotted(at), message)
    return policy


def called(system: System) -> set[str]:
    """The PDs that others call."""
    return {
        other.pd
        for channel in system.channels
        for end, other in (channel.ends, channel.ends[::-1])
        if end.pp
    }


def _problems(policy: Policy, system: System) -> Iterator[tuple[KeyPath, str]]:
    pds = {pd.name for pd in system.pds()}
    parents = {pd.name: parent for pd, parent in system.families()}
    regions = {region.name: region for region in system.regions}
    others_call = called(system)
    for i, serves in enumerate(policy.serves):
        if serves.server not in pds:
            yield ("serves", i, "server"), _unknown("PD", serves.server, pds)
        for j, client in enumerate(serves.clients):
            if client not in pds:
                yield ("serves", i, "clients", j), _unknown("PD", client, pds)
            if client == serves.server:
                yield ("serves", i, "clients", j), "a PD does not serve itself"
    for table, what, known in (("pd", "PD", pds), ("region", "region", set(regions))):
        seen: dict[str, int] = {}
        for i, each in enumerate(getattr(policy, table)):
            if each.name not in known:
                yield (table, i, "name"), _unknown(what, each.name, known)
            if seen.setdefault(each.name, i) != i:
                expected = f'"{each.name}" is also that of {table}[{seen[each.name]}]'
                yield (table, i, "name"), expected
    for i, pd in enumerate(policy.pd):
        if pd.callers is not None and pd.name not in others_call:
            yield ("pd", i, "callers"), f'nobody calls "{pd.name}"'
        if pd.faults != "parent" and parents.get(pd.name) is None:
            yield ("pd", i, "faults"), f'"{pd.name}" is in no other PD'
    for i, region in enumerate(policy.region):
        size = regions[region.name].size
        if region.after == "refill" and regions[region.name].prefill_path is None:
            what = f'nothing fills "{region.name}"; expected "keep" or "zero"'
            yield ("region", i, "after"), what
        if region.epoch is not None and region.epoch % _WORD:
            yield ("region", i, "epoch"), f"expected a multiple of {_WORD}, got {region.epoch}"
        if region.epoch is not None and size is not None and region.epoch > size - _WORD:
            yield ("region", i, "epoch"), f"expected at most {size - _WORD}, got {region.epoch}"


def _unknown(what: str, name: str, known: set[str]) -> str:
    return f'there is no {what} "{name}"; {hint(name, known)}expected one of the description'
