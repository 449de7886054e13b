# SPDX-License-Identifier: BSD-2-Clause
"""Kernels that people deploy, on the machines that they are for: cleanups do what they always do.

A kernel is the installed one of $XDG_DATA_HOME/cellreap/sdk/<name>, or one of Microkit's SDK 2.0.1,
which CELLREAP_MICROKIT_SDK names. A test of one that is not there is skipped.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from cellreap.cli.main import cli
from cellreap.testing import Target
from kit.kernels import prefix_of
from kit.marks import thorough_but
from kit.outcomes import ALL, LONG, compare
from kit.paths import CONFIGS
from kit.truth_traces import WITH_TRUTH

SCENARIO = "block_fs_db_app"
INSTALLED = (
    "aarch64-el2",
    "aarch64-el2-verified",  # with KernelVerificationBuild
    "aarch64-mcs-el2",
    "aarch64-microkit-el1",  # with the options of Microkit 2.3's board qemu_virt_aarch64_el1
    "x86_64-verified",
    "zcu102-verified",
)
"""How `ninja install` was told the prefix of each."""
BOARDS = tuple(
    f"{board}/{config}"
    for board in ("qemu_virt_aarch64", "zcu102")
    for config in ("debug", "release")
)
KERNELS = (*INSTALLED, *BOARDS)
VERIFIED = "zcu102-verified"
ALWAYS = (VERIFIED, *BOARDS[:1])
"""Those that stand for the others: from EL3 to EL2, and with MCS."""
WITH_SMC = "zcu102-debug"
"""A debug kernel for zynqmp, with all options of the verified one that it can have."""
DEBUG = (
    "aarch64-el2",
    "aarch64-mcs-el2",
    WITH_SMC,
    *(board for board in BOARDS if board.endswith("/debug")),
)
SHORT = [name for name in ALL if name not in LONG | {"spawn"}]


@pytest.mark.behaviour("B-05", "B-06")
@pytest.mark.parametrize(
    "system",
    thorough_but(
        [f"{name}:{kernel}" for name in SHORT for kernel in KERNELS],
        *(f"{SCENARIO}:{kernel}" for kernel in ALWAYS),
    ),
)
def test_every_configuration_does_the_same(
    target_on: Callable[[str], Target], target_of: Callable[[str], Target], system: str
) -> None:
    name, kernel = system.split(":")
    target = target_on(kernel)
    run = target.run(name)
    assert run.cleanups()
    compare(run, target_of(target.sdk.kernel.arch).run(name))


@pytest.mark.behaviour("B-05")
@pytest.mark.slow
@pytest.mark.parametrize("kernel", thorough_but(KERNELS, VERIFIED))
def test_who_computes_for_ever_takes_turns_with_its_equals(
    target_on: Callable[[str], Target], kernel: str, tmp_path: Path
) -> None:
    """One of three PDs of a priority computes for long and does not wait. Whichever is the first,
    another one is behind it, and ends before it only if the kernel's timer interrupts.
    """
    config = tmp_path / "turns.toml"
    config.write_text(TURNS)
    (tmp_path / "long.c").write_text(LONG_TIME)
    found = target_on(kernel).sdk
    sdk = ("--arch", found.kernel.arch, "--sdk", str(found.root))
    words = ["run", str(config), *sdk, "--until", "SETTLED:n=3", "--json"]
    done = CliRunner().invoke(cli, words, standalone_mode=False)
    said = json.loads(done.stdout)
    *first, last = [said["names"][each["trigger"]] for each in said["cleanups"]]
    assert (sorted(first), last) == (["after", "before"], "computes")


LONG_TIME = """
#include <cellreap/client.h>
void cr_main(void)
{
    for (volatile uint32_t turns = 0; turns < 100000000; turns++) {
    }
    cr_exit(0);
}
"""
TURNS = """
[system]
name = "turns"
scenario = false

[[program]]
name = "long"
sources = ["long.c"]
""" + "".join(
    f"""
[[pd]]
name = "{name}"
program = "{program}"
"""
    for name, program in (("before", "quitter"), ("computes", "long"), ("after", "quitter"))
)


@pytest.mark.behaviour("B-05")
@pytest.mark.parametrize("kernel", thorough_but(DEBUG))
def test_the_kernel_agrees_with_the_model(target_on: Callable[[str], Target], kernel: str) -> None:
    """The check compares what the kernel says it has with what it should have. So no PD has a
    capability that the model does not know, such as the one to call firmware.
    """
    target = target_on(kernel)
    assert target.sdk.options["ALLOW_SMC_CALLS"] is (kernel == WITH_SMC)
    assert target.run(SCENARIO, change=WITH_TRUTH, pd_depth=1, rs_depth=1).of("TRUTH")


@pytest.mark.behaviour("B-06")
@pytest.mark.slow
def test_the_command_takes_a_board_of_microkits_sdk(tmp_path: Path) -> None:
    sdk = prefix_of(BOARDS[0]).parents[2]
    command = ["run", str(CONFIGS / f"{SCENARIO}.toml"), "--arch", "aarch64", "--sdk", str(sdk)]
    words = [*command, "--board", BOARDS[1], "-o", str(tmp_path), "--json"]
    done = CliRunner().invoke(cli, words, standalone_mode=False)
    said = json.loads(done.stdout)
    assert said["verdict"] == "pass"
    assert said["kernel"]["version"] == "13.0.0"  # whose libsel4 that SDK has
