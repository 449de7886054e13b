# SPDX-License-Identifier: BSD-2-Clause
"""The real U-Boot loads, checks and boots an image, and its trace passes the check."""

from __future__ import annotations

import importlib.util
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cellreap.boards.description import Qemu
from cellreap.testing import Target
from kit.command_line import HEARS_SIGNALS, cellreap, cellreap_json, command, environment
from kit.paths import CONFIGS, ROOT

MISSING = [
    what
    for what, there in (
        ("u-boot-qemu", Path(Qemu().bios).is_file()),
        ("u-boot-tools", shutil.which("mkimage") is not None),
    )
    if not there
]
pytestmark = pytest.mark.skipif(
    bool(MISSING), reason=f"no {' and no '.join(MISSING)}: tools/setup --boards installs them"
)


LABGRID = ROOT / "build" / "boards" / "bin" / "python"
"""The Python of the virtual environment that `tools/setup --boards` makes."""


def built(target: Target, folder: Path) -> Path:
    """The scenario's image for aarch64."""
    image = folder / "scenario.img"
    config = str(CONFIGS / "block_fs_db_app.toml")
    sdk = ("--sdk", str(target.sdk.root))
    done = cellreap("build", config, "--arch", "aarch64", *sdk, "-o", str(image))
    assert done.returncode == 0, done.stderr
    return image


def checked(trace: Path, image: Path) -> None:
    """Asserts that the trace passes."""
    done = cellreap("check", str(trace), "--image", str(image))
    assert done.returncode == 0, done.stdout
    assert done.stdout.splitlines()[-1] == "pass"


def flashed_and_checked(image: Path, folder: Path, board: str) -> dict[str, Any]:
    """What `flash` prints, of a run that passes."""
    trace = folder / "board.trace"
    code, shown = cellreap_json("flash", str(image), "--board", board, "-o", str(trace))
    assert code == 0, (folder / "board.uboot.log").read_text(errors="replace")
    assert shown["end"] == "complete"
    checked(trace, image)
    return shown


@pytest.mark.behaviour("H-04")
@pytest.mark.slow
def test_uboot_loads_the_scenario_by_tftp_and_its_trace_passes(
    target_of: Callable[[str], Target], tmp_path: Path
) -> None:
    image = built(target_of("aarch64"), tmp_path)
    shown = flashed_and_checked(image, tmp_path, "qemu-uboot")
    assert shown["board"]["tries"] == 1
    log = (tmp_path / "board.uboot.log").read_text(errors="replace")
    assert "U-Boot 20" in log
    assert "Bytes transferred = " in log


@pytest.mark.behaviour("H-04")
@pytest.mark.thorough
@pytest.mark.slow
def test_uboot_boots_refkernel(on_refkernel: Callable[[str], Target], tmp_path: Path) -> None:
    image = built(on_refkernel("aarch64"), tmp_path)
    shown = flashed_and_checked(image, tmp_path, "qemu-uboot")
    assert shown["kernel"]["name"] == "refkernel"


@pytest.mark.behaviour("H-04")
@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("xmodem") is None, reason="no xmodem")
def test_uboot_loads_an_image_on_the_console(
    target_of: Callable[[str], Target], tmp_path: Path
) -> None:
    image = built(target_of("aarch64"), tmp_path)
    board = tmp_path / "serial.toml"
    board.write_text(
        '[board]\ndriver = "qemu-uboot"\nplatform = "qemu-arm-virt"\n'
        '[uboot]\nload = "serial"\naddress = 0x50000000\n'
    )
    flashed_and_checked(image, tmp_path, str(board))
    assert b"Total Size" in (tmp_path / "board.uboot.log").read_bytes()


LAB = """
targets:
  main:
    drivers:
      QEMUDriver:
        qemu_bin: qemu
        machine: virt
        cpu: {cpu}
        memory: 1G
        bios: uboot
        display: none
        nic: user,tftp={folder}
        extra_args: ""
tools:
  qemu: {qemu}
images:
  uboot: {bios}
"""
LAB_BOARD = """
[board]
driver = "labgrid"
platform = "qemu-arm-virt"
[labgrid]
environment = "lab.yaml"
[uboot]
prepare = ["setenv autoload no", "dhcp"]
address = 0x50000000
[tftp]
folder = "{folder}"
server = "10.0.2.2"
"""


@pytest.mark.behaviour("H-04")
@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.skipif(not LABGRID.exists(), reason="no labgrid: tools/setup --boards installs it")
def test_labgrid_switches_the_board_and_carries_its_console(
    target_of: Callable[[str], Target], tmp_path: Path
) -> None:
    image = built(target_of("aarch64"), tmp_path)
    qemu = shutil.which("qemu-system-aarch64")
    lab = LAB.format(cpu="cortex-a53", folder=tmp_path, qemu=qemu, bios=Qemu().bios)
    (tmp_path / "lab.yaml").write_text(lab)
    board, trace = tmp_path / "lab.toml", tmp_path / "board.trace"
    board.write_text(LAB_BOARD.format(folder=tmp_path))
    words = command("flash", str(image), "--board", str(board), "-o", str(trace))[1:]
    done = subprocess.run(
        [str(LABGRID), *words], env=environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    checked(trace, image)


def test_an_image_for_another_machine_and_an_unknown_board_are_refused(
    target_of: Callable[[str], Target], tmp_path: Path
) -> None:
    image = built(target_of("aarch64"), tmp_path)
    done = cellreap("flash", str(image), "--board", "beagle")
    assert done.returncode == 2
    assert "--board beagle: expected a file NAME.toml, or one of odroid-c4, " in done.stderr
    done = cellreap("flash", str(image), "--board", "odroid-c4")
    assert done.returncode == 2
    assert "its kernel is for the platform qemu-arm-virt: expected odroidc4" in done.stderr
    board = tmp_path / "over.toml"
    board.write_text(
        '[board]\ndriver = "qemu-uboot"\nplatform = "qemu-arm-virt"\n'
        "[uboot]\naddress = 0x41000000\n"
    )
    done = cellreap("flash", str(image), "--board", str(board))
    assert done.returncode == 2
    assert "uboot.address: 0x41000000: expected an address outside" in done.stderr


@pytest.mark.behaviour("H-05", "T-29")
@pytest.mark.thorough
@pytest.mark.slow
def test_a_uboot_that_finds_no_network_is_given_up_and_ctrl_c_leaves_no_qemu(
    target_of: Callable[[str], Target], tmp_path: Path
) -> None:
    image = built(target_of("aarch64"), tmp_path)
    board, trace = tmp_path / "lost.toml", tmp_path / "lost.trace"
    text = (
        '[board]\ndriver = "qemu-uboot"\nplatform = "qemu-arm-virt"\n'
        f'[qemu]\narguments = ["-pidfile", "{tmp_path}/pid"]\n'
        "[uboot]\nprepare = [{}]\naddress = 0x50000000\n[limits]\nretries = 1\noff_seconds = 0\n"
    )
    board.write_text(text.format('"dhcpp"'))
    done = cellreap("flash", str(image), "--board", str(board), "-o", str(trace))
    assert done.returncode == 2
    said = "lost did not boot in 2 tries: `dhcpp` failed: Unknown command 'dhcpp' - try 'help'"
    assert said in done.stderr
    board.write_text(text.format('"sleep 600"'))
    words = [*HEARS_SIGNALS, *command("flash", str(image), "--board", str(board), "-o", str(trace))]
    with subprocess.Popen(words, env=environment(), stderr=subprocess.PIPE, text=True) as child:
        log = tmp_path / "lost.uboot.log"
        while child.poll() is None and b"sleep 600" not in (
            log.read_bytes() if log.exists() else b""
        ):
            time.sleep(0.05)
        pid = int((tmp_path / "pid").read_text())
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=120)
    assert child.returncode == 130
    assert errors.splitlines()[-1] == "cellreap: interrupted"
    assert not Path(f"/proc/{pid}").exists()
