# SPDX-License-Identifier: BSD-2-Clause
"""Devices: what a driver has of its device, and its next instance has again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from cellreap import headers
from cellreap.cli.main import cli
from cellreap.errors import InputError
from cellreap.model.ids import is_memory
from cellreap.platforms import emulated
from cellreap.progress import Progress
from cellreap.system.build import build_image
from cellreap.system.config import Config
from cellreap.testing import Change, Target
from kit.arches import ARCHES
from kit.marks import thorough_but
from kit.paths import BOOT_CONFIGS

KERNELS = (*ARCHES, *thorough_but(["aarch64-mcs", "aarch64-el2", "x86_64-mcs"], "aarch64-mcs"))
((_, GIC, _),) = headers.own_table("platforms/platforms.h", "CR_GIC")
MEMORY = 0x10000000
"""On x86_64, where the machine has half a GiB."""


@pytest.mark.behaviour("E-04")
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_next_instance_has_the_same_device(
    target_on: Callable[[str], Target], kernel: str
) -> None:
    """Its registers are as the last one left them, and the kernel's word has nothing else."""
    arch = kernel.partition("-")[0]
    run = target_on(kernel).run(f"driver_{arch}")
    found = [int(text.split()[1]) for text in run.says("driver") if text.startswith("found")]
    assert len(found) == 3
    assert [(at - found[0]) % 2**32 for at in found] == [0, 1, 2]
    gone = [node for node, _ in run.destroys() if is_memory(node)]
    assert len(gone) == 4, "twice a region and what it maps"


def at(address: int) -> Change:
    """The device is somewhere else."""

    def change(config: Config) -> Config:
        (region,) = config.regions
        return config.model_copy(
            update={"regions": (region.model_copy(update={"physical": address}),)}
        )

    return change


@pytest.mark.parametrize(
    ("address", "why"),
    [
        (emulated("aarch64").uart.address, "are of the root task or the kernel"),
        (int(GIC), "does not give .* to user level"),
        (1 << 30, "it is memory, or a device of the kernel's own"),
    ],
)
def test_what_no_pd_gets_is_refused_when_it_is_built(
    target_of: Callable[[str], Target], tmp_path: Path, address: int, why: str
) -> None:
    target = target_of("aarch64")
    text, config = target.load("driver_aarch64")
    with pytest.raises(InputError, match=rf"region\[0\]\.physical: .*{why}"):
        build_image(at(address)(config), text, target.sdk, tmp_path / "a.img", Progress(quiet=True))


def test_what_the_kernel_does_not_give_stops_the_root_task_with_words(
    target_of: Callable[[str], Target], tmp_path: Path
) -> None:
    """On x86_64 no file says what the kernel hands out. This address is memory."""
    path = tmp_path / "memory.toml"
    text = (BOOT_CONFIGS / "driver_x86_64.toml").read_text()
    path.write_text(text.replace("0xfed00000", hex(MEMORY)))
    where = ["--arch", "x86_64", "--sdk", str(target_of("x86_64").sdk.root)]
    result = CliRunner().invoke(cli, ["run", str(path), *where, "-o", str(tmp_path / "run")])
    assert f"does not give the device of a region at {MEMORY:#x}" in result.output
