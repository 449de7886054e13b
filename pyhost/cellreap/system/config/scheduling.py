# SPDX-License-Identifier: BSD-2-Clause
"""Settings that need a kernel with scheduling contexts (MCS)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from cellreap.errors import InputError
from cellreap.system.config.schema import Config
from cellreap.system.toml_lines import KeyPath, Lines
from cellreap.system.toml_tables import dotted


def scheduled(config: Config) -> Iterator[KeyPath]:
    """The keys of a configuration that need scheduling contexts."""
    for i, pd in enumerate(config.pds):
        if pd.budget_us is not None:
            yield ("pd", i, "budget_us")
        if pd.passive:
            yield ("pd", i, "passive")
        if pd.abi == "microkit":
            yield ("pd", i, "abi")


def check_scheduling(config: Config, text: str, path: Path, mcs: bool) -> None:
    """InputError if a configuration needs scheduling contexts and the kernel has none.

    config: as in the file. text: the text of that file. mcs: whether the kernel has them.
    """
    for at in scheduled(config) if not mcs else ():
        message = "needs scheduling contexts: expected a kernel with KernelIsMCS, which this one "
        raise InputError(str(path), Lines(text).of(at), dotted(at), f"{message}has not")
