# SPDX-License-Identifier: BSD-2-Clause
"""Systems of Microkit, with the programs of tests/microkit, on a kernel of its SDK."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterable
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


PROGRAMS: Final = ROOT / "tests" / "microkit"
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
    virtio: int
    """The page with the registers of the last virtio device."""
    status: int
    """The offset of that which is the device's status."""


BOARDS: Final = [
    Board(
        "qemu_virt_aarch64",
        "aarch64",
        ("-mcpu=cortex-a53", "-mstrict-align"),
        0x9010000,
        34,
        62_500_000,
        0xA003000,
        0xE70,
    ),
    Board(
        "qemu_virt_riscv64",
        "riscv64",
        ("-march=rv64imafdc", "-mabi=lp64d", "-mcmodel=medany", "-static", "-no-pie"),
        0x101000,
        11,
        10_000_000,
        0x10008000,
        0x70,
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
        link(
            PROGRAMS.glob("*.c"), folder, self.board, self.sdk / "board" / self.board.name / config
        )
        return replace(self, programs=folder)

    def run(
        self, system: str, policy: str, folder: Path, config: str = "debug", options: str = ""
    ) -> dict[str, Any]:
        """What a run says of a system, and what its PDs said. options: of the command."""
        (folder / "a.system").write_text(f"<system>{system}</system>")
        (folder / "policy.toml").write_text(policy)
        words = ["run", str(folder / "a.system"), "--policy", str(folder / "policy.toml")]
        words += ["--sdk", str(self.sdk), "--board", f"{self.board.name}/{config}", "--json"]
        words += ["--search", str(self.programs), "-o", str(folder / "out"), *options.split()]
        said = dict(json.loads(CliRunner().invoke(cli, words, standalone_mode=False).stdout))
        return said | {"said": re.findall(r"^(\w+): (.*?)\r?$", spoken(folder), re.MULTILINE)}

    def tool(self, path: Path) -> tuple[str, bytes]:
        """The report of Microkit's tool on a description, and its image."""
        tool, image, report = (path.with_name(name) for name in ("microkit", "a.img", "report.txt"))
        tool.write_bytes((self.sdk / "bin" / tool.name).read_bytes())
        tool.chmod(0o755)
        words = [str(tool), str(path), "--search-path", str(self.programs)]
        words += ["--board", self.board.name, "--config", "debug", "-o", str(image)]
        where = {"MICROKIT_SDK": str(self.sdk)}
        subprocess.run([*words, "-r", str(report)], check=True, env=where, capture_output=True)
        return report.read_text(), image.read_bytes()


def link(sources: Iterable[Path], folder: Path, board: Board, place: Path) -> None:
    """Links programs as Microkit's examples are. place: the board's folder of the SDK."""
    tool = board.arch + "-linux-gnu-"
    options = ["-ffreestanding", "-nostdlib", "-O2", "-Wall", f"-I{place / 'include'}"]
    options.append(f"-I{ROOT / 'pds' / 'include'}")
    library = folder / "libmicrokit.a"
    without_debug(place / "lib" / library.name, library, board)
    script = f"-Wl,-T,{place / 'lib' / 'microkit.ld'},--build-id=none"
    for source in sources:
        words = [f"{tool}gcc", *board.options, *options, str(source), str(library), script]
        subprocess.run([*words, "-o", str(folder / f"{source.stem}.elf")], check=True)


def without_debug(library: Path, copy: Path, board: Board) -> None:
    """Debian's linkers cannot read the debug information of newer compilers for riscv64."""
    words = [f"{board.arch}-linux-gnu-objcopy", "--strip-debug", str(library), str(copy)]
    subprocess.run(words, check=True)


def with_tool(folder: Path, board: Board = BOARDS[0]) -> Path:
    """Makes the folder an SDK like that of CELLREAP_MICROKIT_SDK, with a tool that can be run, and
    for the board a library that can be linked. The test is skipped without.
    """
    found = prefix_of(f"{board.name}/debug").parents[2]
    shutil.copytree(found / "board" / board.name, folder / "board" / board.name)
    for other in (found / "board").iterdir():
        if other.name != board.name:
            (folder / "board" / other.name).symlink_to(other)
    library = folder / "board" / board.name / "debug" / "lib" / "libmicrokit.a"
    without_debug(library, library, board)
    (folder / "bin").mkdir()
    shutil.copy(found / "bin" / "microkit", folder / "bin")
    (folder / "bin" / "microkit").chmod(0o755)
    return folder


def spoken(folder: Path, system: str = "a") -> str:
    """What a run printed without the lines of the trace, in the midst of which a PD may be."""
    with (folder / "out" / f"{system}.trace").open("rb") as file:
        return Lines().without(file).decode(errors="replace")


LONG_TURNS: Final = 'budget="20000"'
"""PDs of one priority print their lines one after the other then, also on a busy machine."""


def pd(name: str, more: str = LONG_TURNS, within: str = "", program: str = "hello") -> str:
    image = f'<program_image path="{program}.elf"/>'
    return f'<protection_domain name="{name}" {more}>{image}{within}</protection_domain>'
