# SPDX-License-Identifier: BSD-2-Clause
"""The file that U-Boot loads: the boot loader of an image, in U-Boot's own format.

The format has the address, the entry point and a checksum, which `bootm` verifies. `mkimage`, the
tool of U-Boot, writes it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path

from cellreap.errors import CellreapError, InputError, UsageError
from cellreap.system.elf import read_executable
from cellreap.system.image import Image
from cellreap.system.loader import flat, platform_of

_PACKAGE = "u-boot-tools"


@dataclass(frozen=True)
class Payload:
    """A file for U-Boot."""

    content: bytes
    taken: tuple[int, int]
    """[start, end) of the memory that it unpacks itself to."""

    @property
    def checksum(self) -> int:
        """Its CRC-32."""
        return zlib.crc32(self.content)

    def check_address(self, address: int, name: str) -> None:
        """InputError, which names the description, if the file would overlap what it becomes."""
        if address < self.taken[1] and self.taken[0] < address + len(self.content):
            where = f"{self.taken[0]:#x} to {self.taken[1]:#x}"
            message = f"{address:#x}: expected an address outside {where}, where the image goes"
            raise InputError(name, None, "uboot.address", message)


def payload_of(image: Image, platform: str) -> Payload:
    """The file for U-Boot of an image. UsageError if the image is for another board."""
    if not image.loader:
        arch = image.manifest.arch
        raise UsageError(f"{image.path}: is for {arch}; boards with U-Boot need aarch64")
    found = platform_of(image.options)
    if found != platform:
        raise UsageError(
            f"{image.path}: its kernel is for the platform {found}: expected {platform}"
        )
    loader = read_executable(image.loader, f"{image.path}: loader.elf", image.manifest.arch)
    kernel = read_executable(image.kernel, f"{image.path}: kernel.elf", image.manifest.arch)
    end = max(segment.vaddr + segment.memory_bytes for segment in loader.segments)
    start = min(segment.paddr for segment in kernel.segments)
    content = _mkimage(flat(loader, loader.entry), loader.entry, image.manifest.system)
    return Payload(content, (start, end))


def _mkimage(content: bytes, address: int, name: str) -> bytes:
    tool = shutil.which("mkimage")
    if tool is None:
        raise CellreapError(f"mkimage is not installed: on Debian, apt install {_PACKAGE}")
    with tempfile.TemporaryDirectory(prefix="cellreap-uboot-") as folder:
        data, made = Path(folder, "loader.bin"), Path(folder, "loader.uimg")
        data.write_bytes(content)
        done = subprocess.run(
            [
                *(tool, "-A", "arm64", "-O", "linux", "-T", "kernel", "-C", "none"),
                *("-a", f"{address:#x}", "-e", f"{address:#x}", "-n", name, "-d", data, made),
            ],
            env={**os.environ, "SOURCE_DATE_EPOCH": "0"},  # equal images make equal files
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip() or "it said nothing"
            raise CellreapError(f"mkimage failed: {said}")
        return made.read_bytes()
