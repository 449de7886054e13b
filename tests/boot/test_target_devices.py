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
from cellreap.model.ids import is_line, is_memory
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
    """Its registers are as the last one left them. It is interrupted though its predecessor died
    with the interrupt asserted and not acknowledged, and has exactly its ports. The kernel's word
    has nothing else, and that each interrupt is signalled to the PD that is there.
    """
    arch = kernel.partition("-")[0]
    run = target_on(kernel).run(f"driver_{arch}")
    said = run.says("driver")
    assert [text for text in said if text.startswith("found")][1:] == ["found 1"] * 2
    assert said.count("interrupted") == 6
    assert {text.rpartition(": ")[2] for text in said if text.startswith("check")} == {"ok"}
    gone = [node for node, _ in run.destroys()]
    assert len(list(filter(is_memory, gone))) == 4, "twice a region and what it maps"
    lines = [node for node in gone if is_line(node)]
    kinds = ["IRQ", "PORT"] if arch == "x86_64" else ["IRQ"]
    assert sorted(node.partition("_")[0] for node in lines) == sorted(2 * kinds)
    steps = [step for step in run.of("STEP", name="destroy-resource") if step["node"] in lines]
    assert {step["kinds"] for step in steps} == {"delete:1,revoke:1"}
    assert len([row for row in run.last_state() if is_line(row[1])]) == len(kinds)


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


@pytest.mark.parametrize(
    ("arch", "change", "why"),
    [
        ("aarch64", {"interrupts": {"number": 30}}, r"interrupt\[0\]\.number: 30 is of the root"),
        ("x86_64", {"interrupts": {"number": 2}}, r"interrupt\[0\]\.number: 2 is of the root"),
        ("x86_64", {"ports": {"first": 0x43, "last": 0x50}}, r"port\[0\]\.first: 0x40 to 0x43 are"),
        ("x86_64", {"ports": {"first": 0x3F8, "last": 0x3F8}}, r"first: 0x3f8 to 0x3ff are"),
    ],
)
def test_the_root_tasks_own_lines_are_refused_when_it_is_built(
    target_of: Callable[[str], Target],
    tmp_path: Path,
    arch: str,
    change: dict[str, dict[str, int]],
    why: str,
) -> None:
    target = target_of(arch)
    text, config = target.load(f"driver_{arch}")
    for table, values in change.items():
        (row,) = getattr(config, table)
        config = config.model_copy(update={table: (row.model_copy(update=values),)})
    with pytest.raises(InputError, match=why):
        build_image(config, text, target.sdk, tmp_path / "a.img", Progress(quiet=True))


def test_ports_are_refused_where_there_are_none(
    target_of: Callable[[str], Target], tmp_path: Path
) -> None:
    target = target_of("aarch64")
    text, config = target.load("driver_x86_64")
    config = config.model_copy(update={"regions": (), "interrupts": ()})
    with pytest.raises(InputError, match=r"port\[0\]: there are no I/O ports on aarch64"):
        build_image(config, text, target.sdk, tmp_path / "a.img", Progress(quiet=True))


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
