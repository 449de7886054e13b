# SPDX-License-Identifier: BSD-2-Clause
"""Systems of Microkit, with the programs of tests/microkit, on a kernel of its SDK."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from click.testing import CliRunner

from cellreap.cli.main import cli
from cellreap.trace.lines import Lines
from kit.kernels import prefix_of
from kit.paths import ROOT

FRESH: Final = "hello, fresh"
"""What those of tests/microkit say when they start."""


CHECKOUT: Final = "CELLREAP_MICROKIT"
"""The variable that names a checkout of Microkit."""


class Board(NamedTuple):
    """A board of Microkit's SDK, and how programs are made for it on Debian."""

    name: str
    arch: str
    options: tuple[str, ...]
    clock: int
    """The address of a clock that the kernel leaves to user level."""
    clock_irq: int
    clock_hz: int
    """Of the counter that all PDs read."""


BOARDS: Final = [
    Board(
        "qemu_virt_aarch64",
        "aarch64",
        ("-mcpu=cortex-a53", "-mstrict-align"),
        0x9010000,
        34,
        62_500_000,
    ),
    Board(
        "qemu_virt_riscv64",
        "riscv64",
        ("-march=rv64imafdc", "-mabi=lp64d", "-mcmodel=medany", "-static", "-no-pie"),
        0x101000,
        11,
        10_000_000,
    ),
]


@dataclass(frozen=True)
class Microkit:
    """A board of an SDK, and the folder with the programs of tests/microkit."""

    sdk: Path
    board: Board
    programs: Path

    def linked(self, folder: Path, config: str) -> Microkit:
        """The same with programs in this folder, linked as Microkit's examples are."""
        place, tool = self.sdk / "board" / self.board.name / config, self.board.arch + "-linux-gnu-"
        options = ["-ffreestanding", "-nostdlib", "-O2", "-Wall", f"-I{place / 'include'}"]
        options.append(f"-I{ROOT / 'pds' / 'include'}")
        # Debian's linker cannot read the debug information of newer compilers for riscv64.
        library = folder / "libmicrokit.a"
        words = [f"{tool}objcopy", "--strip-debug", str(place / "lib" / library.name), str(library)]
        subprocess.run(words, check=True)
        script = f"-Wl,-T,{place / 'lib' / 'microkit.ld'},--build-id=none"
        for source in (ROOT / "tests" / "microkit").glob("*.c"):
            words = [f"{tool}gcc", *self.board.options, *options, str(source), str(library), script]
            subprocess.run([*words, "-o", str(folder / f"{source.stem}.elf")], check=True)
        return replace(self, programs=folder)

    def run(self, system: str, policy: str, folder: Path, config: str = "debug") -> dict[str, Any]:
        """What a run says of a system, and what its PDs said."""
        (folder / "a.system").write_text(f"<system>{system}</system>")
        (folder / "policy.toml").write_text(policy)
        words = ["run", str(folder / "a.system"), "--policy", str(folder / "policy.toml")]
        words += ["--sdk", str(self.sdk), "--board", f"{self.board.name}/{config}", "--json"]
        words += ["--search", str(self.programs), "-o", str(folder / "out")]
        said = dict(json.loads(CliRunner().invoke(cli, words, standalone_mode=False).stdout))
        return said | {"said": re.findall(r"^(\w+): (.*?)\r?$", spoken(folder), re.MULTILINE)}


def with_tool(folder: Path) -> Path:
    """Makes the folder an SDK like that of CELLREAP_MICROKIT_SDK, with a tool that can be run. The
    test is skipped without.
    """
    found = prefix_of(f"{BOARDS[0].name}/debug").parents[2]
    (folder / "board").symlink_to(found / "board")
    (folder / "bin").mkdir()
    shutil.copy(found / "bin" / "microkit", folder / "bin")
    (folder / "bin" / "microkit").chmod(0o755)
    return folder


def spoken(folder: Path, system: str = "a") -> str:
    """What a run printed without the lines of the trace, in the midst of which a PD may be."""
    with (folder / "out" / f"{system}.trace").open("rb") as file:
        return Lines().without(file).decode(errors="replace")


def pd(name: str, more: str = "", within: str = "", program: str = "hello") -> str:
    image = f'<program_image path="{program}.elf"/>'
    return f'<protection_domain name="{name}" {more}>{image}{within}</protection_domain>'
