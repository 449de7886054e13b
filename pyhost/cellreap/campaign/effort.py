# SPDX-License-Identifier: BSD-2-Clause
"""What a campaign costs this machine."""

from __future__ import annotations

import os
import resource
import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Effort:
    """What this process, and those that it has waited for, took. A killed one's children do not
    count.
    """

    seconds: float
    processor_seconds: float
    cores: int

    @property
    def busy(self) -> float:
        """The part of the time of all cores that was used: 1 if none was ever idle."""
        return self.processor_seconds / (self.seconds * self.cores) if self.seconds else 0.0

    @classmethod
    def now(cls) -> Effort:
        """Up to now. `seconds` counts from some time in the past."""
        used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        total = sum(each.ru_utime + each.ru_stime for each in used)
        return cls(time.monotonic(), total, cores())

    def since(self, begin: Effort) -> Effort:
        """From `begin` to this."""
        return Effort(
            self.seconds - begin.seconds,
            self.processor_seconds - begin.processor_seconds,
            self.cores,
        )


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0))
