# SPDX-License-Identifier: BSD-2-Clause
"""The architectures that the root task supports, by seL4's names. The first is the default."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

ARCHES: Final = ("x86_64", "aarch64")

MACHINE_MIB: Final[Mapping[str, int]] = {"x86_64": 512}
"""Memory of the emulated machine in MiB, where the kernel does not determine it."""
