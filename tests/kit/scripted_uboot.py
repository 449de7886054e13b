# SPDX-License-Identifier: BSD-2-Clause
"""A U-Boot that does what a script says, right or wrong. As a program, it is a board's console.

    scripted_uboot.py POWER SIZE CHECKSUM WAY...

POWER: a file whose last line says whether the power is on. Each time the power is switched on, the
next WAY is taken; after the last one, the last one again.
"""

from __future__ import annotations

import os
import random
import select
import sys
import time
from pathlib import Path

BANNER = b"\r\n\r\nU-Boot 2023.01 (Jan 01 2023)\r\n\r\nDRAM:  1 GiB\r\nNet:   eth0\r\n"
AUTOBOOT = b"Hit any key to stop autoboot:  2 "
PROMPT = b"=> "
WAYS = (
    "right",
    "noisy",
    "silence",
    "garbage",
    "no prompt",
    "no file",
    "wrong file",
    "no size",
    "checksum error",
    "no checksum",
    "reset midway",
    "hangs",
    "refuses",
    "dead image",
    "reset at boot",
    "breaks off",
    "reset in the run",
    "closes",
)


TRACE = b"~:0101gn6e6f626f647927732073656372657421 =jb2An<D\n"
END = b"~:1111gn00000000 YPCf8`mg\n"
"""The first line of a trace, with its version and its key, and the last one."""


class ScriptedUboot:
    """A board with U-Boot, from power on."""

    def __init__(self, way: str, size: int, checksum: int) -> None:
        assert way in WAYS
        self.way = way
        self.lines: list[str] = []
        """The commands that it was given."""
        self.closed = False
        """Whether its console is closed."""
        self._size = size
        self._checksum = checksum
        self._stopped = False
        self._dead = way == "silence"
        self._line = b""

    def power_on(self) -> bytes:
        """What it prints first."""
        if self.way == "silence":
            return b""
        if self.way == "garbage":
            return random.Random(1).randbytes(4000).replace(b"autoboot", b"")
        if self.way == "noisy":
            return b"\x00\xffbl2: => \r\n=> is no prompt here" + BANNER + AUTOBOOT
        return BANNER + AUTOBOOT

    def take(self, data: bytes) -> bytes:
        """What it answers to what is typed."""
        if self._dead or self.closed or self.way in ("garbage", "no prompt"):
            return b""
        said = b""
        if not self._stopped and data:
            self._stopped, data = True, data[1:]
            said = b"\x08\x08\x08 0 \r\n" + PROMPT
        for byte in data:
            if byte in b"\r\n":
                line, self._line = self._line.decode(), b""
                said += b"\r\n" + self._run(line)
            else:
                self._line += bytes([byte])
                said += bytes([byte])
        return said

    def _run(self, line: str) -> bytes:
        text, _, echo = line.partition("; echo ")
        self.lines.append(text.strip())
        said, status = self._do(text.strip())
        if status is None:
            return said
        noise = b"\x1b[1meth0: link up\x1b[0m\r\n=> \r\n" if self.way == "noisy" else b""
        end = echo.replace("$?", str(status)).encode() + b"\r\n" if echo else b""
        return said + noise + end + PROMPT

    def _do(self, text: str) -> tuple[bytes, int | None]:
        """What a command prints, and its status. None: the prompt does not come back."""
        word = text.split()[0] if text else ""
        if word == "tftpboot":
            return self._load()
        if word == "crc32":
            checksum = self._checksum ^ (self.way == "checksum error")
            told = b"" if self.way == "no checksum" else f"5006d157 ==> {checksum:08x}".encode()
            return b"crc32 for 50000000 ... " + told + b"\r\n", 0
        if word == "bootm":
            return self._boot()
        return (
            (b"Unknown command '%s' - try 'help'\r\n" % word.encode(), 1)
            if text == "bad"
            else (
                b"",
                0,
            )
        )

    def _load(self) -> tuple[bytes, int | None]:
        loading = b"Using eth0 device\r\nLoading: *####"
        if self.way == "no file":
            return loading + b"\r\nTFTP error: 'File not found' (1)\r\nNot retrying...\r\n", 1
        if self.way == "no size":
            return loading + b"\r\ndone\r\n", 0
        if self.way == "hangs":
            self._dead = True
            return loading + b"T T T ", None
        if self.way == "reset midway":
            self._stopped = False
            return loading + BANNER + AUTOBOOT, None
        if self.way == "closes":
            self.closed = True
            return loading, None
        size = self._size + (self.way == "wrong file")
        return loading + b"\r\ndone\r\nBytes transferred = %d (%x hex)\r\n" % (size, size), 0

    def _boot(self) -> tuple[bytes, int | None]:
        starting = b"## Booting kernel from Legacy Image ...\r\nStarting kernel ...\r\n\r\n"
        if self.way == "refuses":
            return b"Wrong Image Format for bootm command\r\nERROR: can't get kernel image!\r\n", 1
        self._dead = True
        if self.way == "dead image":
            return starting, None
        if self.way == "reset at boot":
            return starting + BANNER + AUTOBOOT, None
        begun = starting + TRACE
        if self.way == "breaks off":
            return begun, None
        if self.way == "reset in the run":
            return begun + BANNER + AUTOBOOT, None
        return begun + END, None


def main() -> None:
    """Is the console of a board until it is ended."""
    power, size, checksum, *ways = sys.argv[1:]
    file = Path(power)
    while not file.is_file() or not file.read_text().endswith("on\n"):
        time.sleep(0.01)
    count = file.read_text().splitlines().count("on")
    uboot = ScriptedUboot(ways[min(count, len(ways)) - 1], int(size), int(checksum))
    os.write(1, uboot.power_on())
    while not uboot.closed:
        select.select([0], [], [])
        data = os.read(0, 1 << 16)
        if not data:
            return
        os.write(1, uboot.take(data))


if __name__ == "__main__":
    main()
