# SPDX-License-Identifier: BSD-2-Clause
"""The pages of memory, which are small or large."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from cellreap import headers

PAGE_BITS: Final = headers.constant("protocol.h", "CR_PAGE_BITS")
LARGE_PAGE_BITS: Final = headers.constant("protocol.h", "CR_LARGE_PAGE_BITS")


@dataclass(frozen=True)
class Pages:
    """So many pages of 2^bits bytes each."""

    count: int
    bits: int

    @property
    def bytes(self) -> int:
        """What all have."""
        return self.count << self.bits

    @property
    def small(self) -> int:
        """How many small pages they could be: so quotas count them."""
        return self.bytes >> PAGE_BITS

    def __str__(self) -> str:
        """As EXTRA has them."""
        return f"{self.count}_{self.bits}"
