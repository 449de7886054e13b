# SPDX-License-Identifier: BSD-2-Clause
"""What a driver of a board offers: power and console."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Protocol

from cellreap.runs.boot import Source


class Stream(Source, Protocol):
    """A console that can be read and written."""

    def write(self, data: bytes) -> None:
        """Writes to the console. CellreapError if it does not take the data."""


class Board(Protocol):
    """A board. Every function raises CellreapError if it cannot do its work."""

    tftp_folder: Path | None
    """The folder that the board loads from by TFTP, if the driver knows it."""

    def console(self) -> contextlib.AbstractContextManager[Stream]:
        """Opens the console, before the power is on: what is said first is not lost."""

    def power_on(self) -> None:
        """Switches the power on. If this fails, the power may be on."""

    def power_off(self) -> None:
        """Switches the power off. It may be off already."""
