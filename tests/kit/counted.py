# SPDX-License-Identifier: BSD-2-Clause
"""Arguments of QEMU under which time is the number of instructions.

A boot repeats exactly, and no run depends on how fast the machine is.
"""

from __future__ import annotations

from typing import Final

COUNTED: Final = ("-icount", "shift=0,sleep=off")
"""An instruction takes 1 ns."""
SLOW_COUNTED: Final = ("-icount", "shift=3,sleep=off")
"""An instruction takes 8 ns. Numbers of turns then take long enough for others to run meanwhile."""
