# SPDX-License-Identifier: BSD-2-Clause
"""Arguments of QEMU under which time is the number of instructions.

A boot repeats exactly, and no run depends on how fast the machine is.
"""

from __future__ import annotations

from typing import Final

from cellreap.system.loader import platform_of
from cellreap.system.sdk import Sdk, is_mcs

COUNTED: Final = ("-icount", "shift=0,sleep=off")
"""An instruction takes 1 ns."""
SLOW_COUNTED: Final = ("-icount", "shift=3,sleep=off")
"""An instruction takes 8 ns. Numbers of turns then take long enough for others to run meanwhile."""


def counted_on(sdk: Sdk) -> tuple[str, ...]:
    """COUNTED, or nothing where time would stand still with it.

    The comparators of SiFive's PWM are 0 after a reset. In QEMU they then raise interrupts every
    ns, from the first write to the device on, and the processor waits for them.
    """
    stands = platform_of(sdk.options) == "hifive" and not is_mcs(sdk.options)
    return () if stands else COUNTED
