# SPDX-License-Identifier: BSD-2-Clause
"""A board of which every part is a program, in a folder.

The power is a file: each command of the description appends a line to it. The console is
kit.scripted_uboot. As a program: `board_bench.py FOLDER WAY` boots on it.
"""

from __future__ import annotations

import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from cellreap.boards.description import Description, parse_description
from cellreap.boards.drivers import CommandBoard
from cellreap.boards.flash import Flashed, Limits, Tries, flash_image, script_for
from cellreap.boards.payload import Payload
from cellreap.progress import Progress

UBOOT = Path(__file__).with_name("scripted_uboot.py")
PAYLOAD = Payload(b"payload " * 100, (0x40000000, 0x42000000))
GENEROUS = 120.0
"""Seconds: more than a busy machine needs. Tests in which nothing is awaited in vain take less."""


@dataclass
class Bench:
    """A board in a folder."""

    folder: Path

    @property
    def power(self) -> list[str]:
        """The power commands so far."""
        return (self.folder / "power").read_text().split()

    def text(
        self, *ways: str, on: str = "", off: str = "", console: str = "", **limits: float
    ) -> str:
        """The description. ways: of the scripted U-Boot, one for each time the power comes on."""
        power = self.folder / "power"
        script = [sys.executable, str(UBOOT), str(power), str(len(PAYLOAD.content))]
        words = [*script, str(PAYLOAD.checksum), *ways]
        listed = ", ".join(f"'{word}'" for word in words)
        named = {"prompt": GENEROUS, "command": GENEROUS, "load": GENEROUS, "boot": GENEROUS}
        seconds = {f"{name}_seconds": value for name, value in (named | limits).items()}
        return textwrap.dedent(f"""
            [board]
            driver = "command"
            platform = "qemu-arm-virt"
            [power]
            on = '''{on or f"echo on >>{power}"}'''
            off = '''{off or f"echo off >>{power}"}'''
            [console]
            command = {console or f"[{listed}]"}
            [uboot]
            prepare = ["dhcp"]
            address = 0x50000000
            [tftp]
            folder = "{self.folder}"
            server = "10.0.2.2"
            [limits]
            off_seconds = 0
            retries = 1
            """) + "".join(f"{name} = {value}\n" for name, value in seconds.items())

    def described(self, *ways: str, **more: object) -> Description:
        """The description, read."""
        text = self.text(*ways, **more)  # type: ignore[arg-type]
        return parse_description(text, self.folder / "bench.toml")

    def flash(self, description: Description, limits: Limits | None = None) -> Flashed:
        """Boots on the board."""
        assert description.power is not None
        assert description.console is not None
        script = script_for(description, PAYLOAD, in_qemu=False)
        limits = limits or Limits(idle=GENEROUS)
        with (self.folder / "log").open("wb") as log:
            tries = Tries(
                CommandBoard(description.power, description.console),
                "bench",
                script,
                PAYLOAD,
                description,
                limits,
                log,
            )
            notes: list[str] = []
            return tries.run(
                self.folder / "trace", lambda text: None, notes.append, self.folder / "log"
            )


def flash_whole(folder: Path, way: str) -> None:
    """Boots on the board in a folder as the command does, with its locks and its file for TFTP."""
    image: Any = SimpleNamespace(manifest=SimpleNamespace(system="bench"))
    description = Bench(folder).described(way)
    limits, quiet = Limits(idle=GENEROUS), Progress(quiet=True)
    with patch("cellreap.boards.flash.payload_of", lambda *_: PAYLOAD):
        flash_image(image, folder / "bench.toml", description, folder / "trace", limits, quiet)


if __name__ == "__main__":
    flash_whole(Path(sys.argv[1]), sys.argv[2])
