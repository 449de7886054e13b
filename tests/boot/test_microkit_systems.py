# SPDX-License-Identifier: BSD-2-Clause
"""Systems of Microkit, with programs that are linked with its library, on a kernel of its SDK.

The SDK is where CELLREAP_MICROKIT_SDK says.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from cellreap.cli.main import cli
from kit.kernels import prefix_of
from kit.paths import ROOT

BOARD = "qemu_virt_aarch64"
FRESH = "hello, fresh"


@pytest.fixture(scope="module")
def sdk() -> Path:
    return prefix_of(f"{BOARD}/debug").parents[2]


@pytest.fixture(scope="module")
def programs(sdk: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the programs of tests/microkit, linked as Microkit's examples are."""
    folder = tmp_path_factory.mktemp("programs")
    board = sdk / "board" / BOARD / "debug"
    options = ["-mcpu=cortex-a53", "-mstrict-align", "-ffreestanding", "-nostdlib", "-O2", "-Wall"]
    library = [f"-L{board / 'lib'}", "-Wl,-T,microkit.ld", "-lmicrokit"]
    for source in (ROOT / "tests" / "microkit").glob("*.c"):
        words = ["aarch64-linux-gnu-gcc", *options, f"-I{board / 'include'}", str(source)]
        made = folder / f"{source.stem}.elf"
        subprocess.run([*words, *library, "-o", str(made)], check=True)
    return folder


def run(system: str, policy: str, sdk: Path, programs: Path, folder: Path) -> dict[str, Any]:
    """What a run says of a system, and what its PDs said."""
    (folder / "a.system").write_text(f"<system>{system}</system>")
    (folder / "policy.toml").write_text(policy)
    words = ["run", str(folder / "a.system"), "--sdk", str(sdk), "--board", BOARD, "--json"]
    words += ["--search", str(programs), "--policy", str(folder / "policy.toml")]
    done = CliRunner().invoke(cli, [*words, "-o", str(folder / "out")], standalone_mode=False)
    said = dict(json.loads(done.stdout))
    console = (folder / "out" / "a.trace").read_text(errors="replace")
    return said | {"said": re.findall(r"^(\w+): (.*?)\r?$", console, re.MULTILINE)}


def pd(name: str, more: str = "", within: str = "", program: str = "hello") -> str:
    image = f'<program_image path="{program}.elf"/>'
    return f'<protection_domain name="{name}" {more}>{image}{within}</protection_domain>'


def test_two_pds_notify_each_other(sdk: Path, programs: Path, tmp_path: Path) -> None:
    """One of them is passive. The program is as it was linked. Every capability is checked."""
    before = (programs / "hello.elf").read_bytes()
    channels = (
        '<channel><end pd="hello" id="0"/><end pd="world" id="0"/></channel>'
        '<channel><end pd="hello" id="61"/><end pd="world" id="33" notify="false"/></channel>'
    )
    system = pd("hello", 'priority="100"') + pd("world", 'priority="9" passive="true"') + channels
    shown = run(system, "", sdk, programs, tmp_path)
    assert (shown["verdict"], shown["violations"]) == ("pass", [])
    for name in ("hello", "world"):
        heard = [text for pd_, text in shown["said"] if pd_ == name]
        assert heard[0] == FRESH
        assert set(heard[1:]) == {"notified on 0"}
    assert (programs / "hello.elf").read_bytes() == before


def test_a_pd_that_faults_comes_back_fresh(sdk: Path, programs: Path, tmp_path: Path) -> None:
    """Its peer is told by a notification, also over the channel that nobody uses."""
    channels = (
        '<channel><end pd="hello" id="0"/><end pd="faulty" id="0"/></channel>'
        '<channel><end pd="hello" id="5"/><end pd="faulty" id="7"/></channel>'
    )
    policy = '[[pd]]\nname = "faulty"\nrespawn = true\n'
    shown = run(pd("hello") + pd("faulty") + channels, policy, sdk, programs, tmp_path)
    assert (shown["verdict"], shown["violations"]) == ("pass", [])
    assert len(shown["cleanups"]) >= 1
    starts = [text for name, text in shown["said"] if name == "faulty" and "hello" in text]
    assert starts == [FRESH] * (1 + len(shown["cleanups"]))
    assert ("hello", "notified on another") in shown["said"]


@pytest.mark.parametrize(("after", "then"), [("keep", "later"), ("zero", "first")])
def test_pds_share_a_region(
    sdk: Path, programs: Path, tmp_path: Path, after: str, then: str
) -> None:
    """Each finds it where its symbols say. Who comes back finds it as the policy says."""
    mapped = '<map mr="r" vaddr="{}" perms="rw" setvar_vaddr="ring_vaddr" setvar_size="ring_size"/>'
    system = (
        '<memory_region name="r" size="0x3000"/>'
        + pd("hello", 'priority="9"', mapped.format("0x4000000"))
        + pd("faulty", 'priority="8"', mapped.format("0x801ff000"))
        + '<channel><end pd="hello" id="0"/><end pd="faulty" id="0"/></channel>'
    )
    policy = f'''
[[pd]]
name = "faulty"
respawn = true
[[region]]
name = "r"
after = "{after}"
'''
    shown = run(system, policy, sdk, programs, tmp_path)
    assert (shown["verdict"], shown["violations"]) == ("pass", [])
    found = [text for _, text in shown["said"] if text in ("first", "second", "later")]
    assert found[:3] == ["first", "second", then]


ADDER = '<channel><end pd="caller" id="0" pp="true"/><end pd="adder" id="7"/></channel>'


def served(passive: bool) -> str:
    """A system in which a client calls a server, which faults in its third call."""
    said = f'priority="100" passive="{str(passive).lower()}"'
    return pd("adder", said, program="adder") + pd("caller", 'priority="50"', "", "caller") + ADDER


@pytest.mark.parametrize("passive", [False, True])
@pytest.mark.parametrize("callers", ['"repeat"', "77", "nobody comes back"])
@pytest.mark.behaviour("P-04")
def test_a_server_faults_in_a_call(
    sdk: Path, programs: Path, tmp_path: Path, passive: bool, callers: str
) -> None:
    """It is fresh each time. Its client is as it was linked, and knows nothing: its call is made
    anew, or answered with the label. Without the server its calls end with the kernel's error.
    """
    back = callers != "nobody comes back"
    policy = f'[[pd]]\nname = "adder"\nrespawn = true\ncallers = {callers}\n' if back else ""
    shown = run(served(passive), policy, sdk, programs, tmp_path)
    assert shown["violations"] == []
    assert shown["verdict"] == ("pass" if back else "not as expected")
    heard = [text for name, text in shown["said"] if name == "caller"]
    said = {'"repeat"': {}, "77": {2: 77}}.get(callers, dict.fromkeys((2, 3, 4), 2))
    answers = [f"label {said[i]}" if i in said else f"answer {i}" for i in range(5)]
    assert heard == [*answers, "done 5"]
    starts = [text for name, text in shown["said"] if name == "adder"]
    assert starts == [FRESH] * {'"repeat"': 3, "77": 2}.get(callers, 1)


def test_a_driver_comes_back_and_has_its_interrupt(
    sdk: Path, programs: Path, tmp_path: Path
) -> None:
    """It went with the interrupt asserted and not acknowledged. The number is beyond 31."""
    within = (
        '<map mr="clock" vaddr="0x40000000" perms="rw" cached="false"'
        ' setvar_vaddr="clock_registers"/>'
        '<irq irq="34" id="40" setvar_id="clock_interrupt"/>'
        '<setvar symbol="clock_address" region_paddr="clock"/>'
    )
    system = (
        '<memory_region name="clock" size="0x1000" phys_addr="0x9010000"/>'
        + pd("clock", "", within, "clock")
        + pd("hello")
        + '<channel><end pd="hello" id="0"/><end pd="clock" id="0"/></channel>'
    )
    policy = '[[pd]]\nname = "clock"\nrespawn = true\n'
    shown = run(system, policy, sdk, programs, tmp_path)
    assert shown["violations"] == []
    heard = [text for name, text in shown["said"] if name == "clock" and text != "notified"]
    assert heard == [FRESH, "address", "interrupted", "interrupted"] * (len(heard) // 4)
    assert len(heard) > 4
