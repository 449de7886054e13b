# SPDX-License-Identifier: BSD-2-Clause
"""The quotas of PDs: what each needs, what there is, and whether quotas that were asked for fit.

The root task divides its tables by the same rules (roottask/core/accounts, system/charge.c). It
alone knows how much memory there is, so nothing is checked for the quota `bytes`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from cellreap import headers
from cellreap.system.config.schema import Config, Pd
from cellreap.system.toml_lines import KeyPath

PDS: Final = "CR_IMAGE_MAX_PDS"
"""The limit of the PDs in a configuration."""
_TABLES: Final = {
    "nodes": "CR_MAX_NODES",
    "edges": "CR_MAX_EDGES",
    "spaces": "CR_MAX_SPACES",
    "types": "CR_MAX_TYPES",
    "requests": "CR_MAX_REQUESTS",
    "tickets": "CR_MAX_TICKETS",
    "pds": PDS,
    "maps": "CR_MAX_MAPS",
}
"""Word of a quota -> the limit of its table (limits.h). Only the root task knows that of bytes."""


@dataclass(frozen=True)
class Claim:
    """What one PD claims of a table."""

    need: int
    asked: int | None
    """None: a fair share."""
    may: bool
    """Whether it can use more than its need at all."""


class ShareError(ValueError):
    """Needs and quotas are together more than there is, or a quota is below the need."""


@functools.cache
def words() -> tuple[str, ...]:
    """The words of the quotas, in the order of limits.h."""
    return tuple(headers.printed_names("limits.h", "CR_QUOTA"))


def share(total: int, claims: Sequence[Claim]) -> list[int]:
    """Divides a table. Who asked gets that; the others their need and equal parts of the rest."""
    sure = [claim.need if claim.asked is None else claim.asked for claim in claims]
    if any(got < claim.need for got, claim in zip(sure, claims, strict=True)):
        raise ShareError("below the need")
    left = total - sum(sure)
    if left < 0:
        raise ShareError("more than there is")
    sharers = [claim.asked is None and claim.may for claim in claims]
    part = left // sum(sharers) if any(sharers) else 0
    return [got + part * shares for got, shares in zip(sure, sharers, strict=True)]


def largest(name: str) -> int:
    """A limit of the largest tables that a root task can have."""
    most = headers.constant("limits.h", "CR_DOUBLINGS_MAX")
    return headers.constant("limits.h", name, most)


def doublings(config: Config) -> int:
    """How often the smallest tables of the root task are doubled for a configuration.

    So often that all PDs fit, with what they need and the quotas that they ask for. If even the
    largest tables are too small: as often as there is.
    """
    most = headers.constant("limits.h", "CR_DOUBLINGS_MAX")
    return next((times for times in range(most) if _fits(config, times)), most)


def _fits(config: Config, times: int) -> bool:
    if len(config.pds) > headers.constant("limits.h", PDS, times):
        return False
    totals = ((word, _available(config, word, times)) for word in words())
    return all(total is None or needed(config, word) <= total for word, total in totals)


def available(config: Config, word: str) -> int | None:
    """What there is for all accounts, without what is set aside for the PDs as such.

    None: only the root task knows.
    """
    return _available(config, word, doublings(config))


def _available(config: Config, word: str, times: int) -> int | None:
    count = len(config.pds)
    holds = sum(len(pd.holds_pds) for pd in config.pds)
    if word not in _TABLES:
        return None
    taken = {
        # the root task and its two spaces; each PD and its capability
        "nodes": 3 + 2 * count,
        # the edges of those, two requests to core spaces and the fault handler of each PD
        "edges": 2 + 5 * count + holds + len(config.links),
        "spaces": 2,
        "types": 2,
        "pds": count,
    }
    return headers.constant("limits.h", _TABLES[word], times) - taken.get(word, 0)


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
    if word in ("pds", "bytes"):
        return bool(pd.spawns)
    return word != "nodes" or bool(pd.spaces or pd.spawns)


def claims(config: Config, word: str) -> list[Claim]:
    """The claims of all PDs, in the order of the configuration."""
    return [Claim(need(pd, word), getattr(pd.quota, word), may(pd, word)) for pd in config.pds]


def needed(config: Config, word: str) -> int:
    """What all PDs need at least: what the configuration makes them use, and their quotas."""
    asked = (getattr(pd.quota, word) for pd in config.pds)
    return sum(
        need(pd, word) if quota is None else quota
        for pd, quota in zip(config.pds, asked, strict=True)
    )


def quotas(config: Config, word: str) -> list[int] | None:
    """The quotas of all PDs. None: only the root task knows."""
    total = available(config, word)
    return None if total is None else share(total, claims(config, word))


def problems(config: Config) -> Iterator[tuple[KeyPath, str]]:
    """Quotas that a PD cannot have."""
    for word in words():
        total = available(config, word)
        asking = [i for i, pd in enumerate(config.pds) if getattr(pd.quota, word) is not None]
        claimed = claims(config, word)
        at: KeyPath
        for i in asking:
            at = ("pd", i, "quota", word)
            if (claimed[i].asked or 0) < claimed[i].need:
                said = f"the PD's own spaces and requests need {claimed[i].need}"
                yield at, f"is {claimed[i].asked}; {said}"
        if total is None:
            continue
        sure = needed(config, word)
        if sure > total:
            at = ("pd", asking[-1], "quota", word) if asking else ("pd",)
            said = f"the PDs need {sure} {word} in all; expected at most {total}"
            yield at, f"{said}, which {_TABLES[word]} leaves"
