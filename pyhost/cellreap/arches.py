# SPDX-License-Identifier: BSD-2-Clause
"""The architectures that the root task supports, by seL4's names. The first is the default."""

from __future__ import annotations

from typing import Final

ARCHES: Final = ("x86_64", "aarch64", "riscv64")
