# SPDX-License-Identifier: BSD-2-Clause
"""Microkit's own examples, built by their own makefiles, do what they do under its own tool.

CELLREAP_MICROKIT names a checkout of Microkit, CELLREAP_MICROKIT_SDK an SDK.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from cellreap.cli.main import cli
from cellreap.system.microkit.runnable import runnable_system
from kit.microkit import BOARDS, CHECKOUT, spoken, with_tool

BOARD = BOARDS[0].name
QUIET_S = 4
"""So long nothing is printed when an example has done what it does."""
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def sdk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The SDK, with a tool that can be run."""
    return with_tool(tmp_path_factory.mktemp("sdk"))


def built(example: str, board: str, sdk: Path, folder: Path) -> Path:
    """Builds an example. Returns its description."""
    checkout = os.environ.get(CHECKOUT)
    if not checkout:
        pytest.skip(f"{CHECKOUT} names no checkout of Microkit")
    if shutil.which("ld.lld") is None:
        pytest.skip("clang and lld are not installed")
    source = Path(checkout) / "example" / example
    where = [f"MICROKIT_BOARD={board}", "MICROKIT_CONFIG=debug", f"MICROKIT_SDK={sdk}"]
    words = ["make", "-s", "-C", str(source), f"BUILD_DIR={folder}", "LLVM=True", *where]
    subprocess.run(words, check=True, capture_output=True)
    return source / f"{example}.system"


def under_microkit(image: Path) -> str:
    """What the PDs of an image of Microkit's own tool print."""
    words = ["qemu-system-aarch64", "-machine", "virt,virtualization=on", "-cpu", "cortex-a53"]
    words += ["-m", "2G", "-nographic", "-device", f"loader,file={image},addr=0x70000000,cpu-num=0"]
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as qemu:
        assert qemu.stdout is not None
        os.set_blocking(qemu.stdout.fileno(), False)
        said, silent = b"", 0.0
        while not said or silent < QUIET_S:
            more = qemu.stdout.read()
            said, silent = said + (more or b""), 0.0 if more else silent + 0.1
            subprocess.run(["sleep", "0.1"], check=True)
        qemu.kill()
    return said.decode(errors="replace")


def lines_of(console: str, example: Path) -> list[str]:
    """The lines that begin as texts of the example's PDs."""
    texts = tuple(
        text
        for source in example.glob("*.c")
        for text in re.findall(r'microkit_dbg_puts\("(.+?)(?:\\n)?"\)', source.read_text())
    )
    assert texts
    return [line for line in map(str.rstrip, console.splitlines()) if line.startswith(texts)]


@pytest.mark.parametrize("example", ["hello", "hierarchy", "passive_server"])
@pytest.mark.behaviour("P-02")
def test_an_example_says_what_it_says_under_microkit(
    example: str, sdk: Path, tmp_path: Path
) -> None:
    system = built(example, BOARD, sdk, tmp_path)
    words = ["run", str(system), "--sdk", str(sdk), "--board", BOARD, "--search", str(tmp_path)]
    result = CliRunner().invoke(cli, [*words, "-o", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    expected = lines_of(under_microkit(tmp_path / "loader.img"), system.parent)
    assert expected
    assert lines_of(spoken(tmp_path, example), system.parent) == expected


@pytest.mark.behaviour("P-02")
def test_an_example_for_a_board_is_built_for_it(sdk: Path, tmp_path: Path) -> None:
    """No machine here has this timer. Registers and interrupt are those of the description."""
    system = built("timer", "odroidc4", sdk, tmp_path)
    made = runnable_system(system, [tmp_path])
    (made_of := tmp_path / "timer.toml").write_text(
        made.text.replace('elf = "', f'elf = "{system.parent}/')
    )
    words = ["build", str(made_of), "--arch", "aarch64", "--sdk", str(sdk), "--board", "odroidc4"]
    result = CliRunner().invoke(cli, [*words, "-o", str(tmp_path / "timer.img")])
    assert result.exit_code == 0, result.output
    (region,), (irq,) = made.config.regions, made.config.interrupts
    assert (region.physical, region.size, irq.number) == (0xFFD0F000, 0x10000, 42)
