# SPDX-License-Identifier: BSD-2-Clause
"""The quotas of PDs: what each needs, what there is, and whether quotas that were asked for fit.

The root task divides its tables by the same rules (roottask/core/accounts, system/charge.c). It
alone knows how much memory there is, so nothing is checked for the quotas `bytes` and `pages`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Final

from cellreap import headers
from cellreap.system.config.schema import Config
from cellreap.system.config.tables import SHARED, Claim, claims, entries, taken
from cellreap.system.toml_lines import KeyPath

PDS: Final = "CR_IMAGE_MAX_PDS"
"""The limit of the PDs in a configuration."""


class ShareError(ValueError):
    """Needs and quotas are together more than there is, or a quota is below the need."""


@functools.cache
def words() -> tuple[str, ...]:
    """The words of the quotas, in the order of limits.h."""
    return tuple(headers.printed_names("limits.h", "CR_QUOTA"))


def share(total: int, claims: Sequence[Claim]) -> list[int]:
    """Divides a table. Who asked gets that; the others their need and equal parts of the rest."""
    sure = [claim.sure for claim in claims]
    if any(got < claim.need for got, claim in zip(sure, claims, strict=True)):
        raise ShareError("below the need")
    left = total - sum(sure)
    if left < 0:
        raise ShareError("more than there is")
    sharers = sum(claim.shares for claim in claims)
    part = left // sharers if sharers else 0
    return [got + part * claim.shares for got, claim in zip(sure, claims, strict=True)]


def available(config: Config, word: str) -> int | None:
    """What there is for all accounts, without what is set aside for the PDs as such.

    None: only the root task knows.
    """
    return entries(config, word) - taken(config, word) if word in SHARED else None


def needed(config: Config, word: str) -> int:
    """What all PDs need at least: what the configuration makes them use, and their quotas."""
    return sum(claim.sure for claim in claims(config, word))


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
            yield at, f"{said}, which {_limit(word)} leaves"


def _limit(word: str) -> str:
    """The name of the limit of a table."""
    if word == "pds":
        return PDS
    return next(
        str(row[0]) for row in headers.table("limits.h", "CR_TABLE_LIMIT") if row[2] == word
    )
