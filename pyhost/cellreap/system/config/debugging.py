# SPDX-License-Identifier: BSD-2-Clause
"""Settings that need a debug kernel."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from cellreap.errors import InputError
from cellreap.system.config.schema import Config
from cellreap.system.toml_lines import KeyPath, Lines
from cellreap.system.toml_tables import dotted


def asking(config: Config) -> Iterator[KeyPath]:
    """The keys of a configuration because of which the kernel is asked for what it holds."""
    if config.system.truth:
        yield ("system", "truth")
    if config.bench.snapshot:
        yield ("bench", "snapshot")


def on_kernel(config: Config, missing: str | None) -> Config:
    """The configuration as a kernel takes it: a kernel that cannot tell is asked for nothing.

    missing: as for `check_debug`.
    """
    if missing is None or config.system.truth is not None:
        return config
    return config.model_copy(update={"system": config.system.model_copy(update={"truth": False})})


def check_debug(config: Config, text: str, path: Path, missing: str | None) -> None:
    """InputError if a configuration asks the kernel for what it holds, and the kernel cannot tell.

    config: as in the file. text: the text of that file. missing: the kernel's option without which
    it cannot (`sdk.debug_missing`); None if it can.
    """
    for at in asking(config) if missing is not None else ():
        message = f"only a debug kernel tells what it holds: expected a kernel with {missing}"
        place = Lines(text).of(at)
        raise InputError(str(path), place, dotted(at), f"{message}, which this one has not")
