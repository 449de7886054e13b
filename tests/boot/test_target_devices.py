# SPDX-License-Identifier: BSD-2-Clause
"""Devices: what a driver has of its device, and its next instance has again."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from cellreap import headers
from cellreap.cli.main import cli
from cellreap.errors import InputError
from cellreap.headers import source_root
from cellreap.model.ids import is_line, is_memory
from cellreap.platforms import emulated
from cellreap.progress import Progress
from cellreap.system.build import build_image
from cellreap.system.config import PAGE, Config, Region
from cellreap.system.config.region import OnDeath
from cellreap.system.loader import platform_of
from cellreap.system.sdk import Sdk, is_mcs
from cellreap.testing import (
    Change,
    Target,
    together,
    validated,
    with_bench,
    with_crashes,
    with_pd,
    with_system,
)
from kit.arches import ARCHES
from kit.marks import thorough_but
from kit.paths import BOOT_CONFIGS
from kit.planted import run_planted
from kit.truth_traces import WITH_TRUTH
from mutation.copies import Copy, files_of
from mutation.faults import Edit, Fault, edited

OTHERS = (
    *("aarch64-mcs", "aarch64-el2", "x86_64-mcs", "riscv64-mcs"),
    *("hifive-verified", "hifive-mcs-verified"),
)
KERNELS = (*ARCHES, *thorough_but(OTHERS, "aarch64-mcs"))
((_, GIC, _),) = headers.own_table("platforms/platforms.h", "CR_GIC")
DRIVERS = {
    "pc99": "driver_x86_64",
    "qemu-arm-virt": "driver_aarch64",
    "qemu-riscv-virt": "driver_riscv64",
    "hifive": "driver_hifive",
}
KEEPS = """\
    (void)parent;
    if (cr_calls[CR_CALL_REVOKE]++ + cr_calls[CR_CALL_DELETE]++ + cr_calls_changed++ == 0) {
"""
MEMORY = 0x10000000
"""On x86_64, where the machine has half a GiB."""


def driver_for(sdk: Sdk) -> str:
    """The configuration with a driver of a device that the machine has for user level."""
    platform = platform_of(sdk.options)
    if platform not in DRIVERS:
        pytest.skip(f"no driver of this suite is for {platform}")
    if platform == "qemu-riscv-virt" and not is_mcs(sdk.options):
        pytest.skip("without MCS, the root task has the clock of the machine")
    return DRIVERS[platform]


@pytest.mark.behaviour("E-04")
@pytest.mark.acceptance("drivers")
@pytest.mark.kernels.with_args(*KERNELS)
def test_the_next_instance_has_the_same_device(target: Target) -> None:
    """Its registers are as the last one left them. It is interrupted though its predecessor died
    with the interrupt asserted and not acknowledged, and has exactly its ports. The kernel's word
    has nothing else, and that each interrupt is signalled to the PD that is there.
    """
    arch = target.sdk.kernel.arch
    run = target.run(driver_for(target.sdk))
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


def twice(config: Config) -> Config:
    """The driver drives its device through the second of two regions with its addresses."""
    (clock,) = config.regions
    (map_,) = clock.maps
    elsewhere = map_.model_copy(update={"address": 0x9000_0000})
    regions = (
        clock.model_copy(update={"shared": True, "maps": (elsewhere,)}),
        clock.model_copy(update={"shared": True, "name": "again"}),
    )
    return validated(config.model_copy(update={"regions": regions}))


@pytest.mark.behaviour("E-04")
def test_regions_may_have_the_same_registers(target: Target) -> None:
    run = target.run(driver_for(target.sdk), change=together(WITH_TRUTH, twice))
    assert run.says("driver").count("interrupted") == 6


QUIET = {
    "aarch64": ({"offset": 0x1C, "value": 1}, {"offset": 0x14, "until": 0, "mask": 1}),
    "x86_64": ({"offset": 0x128, "value": 7, "until": 7},),
}
"""The PL031's interrupt is cleared, and is not asserted then; a comparator of the HPET is set."""


def with_dma(arch: str, **values: int) -> Change:
    """The device becomes quiet when its driver dies. The driver has memory for it to write to."""

    def change(config: Config) -> Config:
        (pd,), (clock,) = config.pds, config.regions
        entries = tuple(OnDeath(**{**entry, **values}) for entry in QUIET[arch])
        memory = Region.model_validate(
            {
                "name": "buffers",
                "size": 4096,
                "physical_word": 0,
                "device": "clock",
                "map": [{"pd": pd.name, "address": 0x8000_0000, "writable": True}],
            }
        )
        return validated(
            config.model_copy(
                update={
                    "pds": (pd.model_copy(update={"args": (1,)}),),
                    "regions": (clock.model_copy(update={"on_death": entries}), memory),
                }
            )
        )

    return change


@pytest.mark.behaviour("E-05")
@pytest.mark.parametrize("arch", ARCHES)
def test_a_device_becomes_quiet_before_anything_of_its_driver_is_used_again(
    target_of: Callable[[str], Target], arch: str
) -> None:
    """The memory to which it may write is that of the same region ever after, and of nobody else:
    no other body was made there.
    """
    run = target_of(arch).run(f"driver_{arch}", change=with_dma(arch))
    said = [text for text in run.says("driver") if "quiet, at" in text]
    assert [text.startswith("quiet") for text in said[1:]] == [True, True]
    (place,) = {int(text.split()[-1]) for text in said}
    bodies = [(body["of"], int(body["paddr"], 0)) for body in run.of("BODY")]
    assert [of.partition("_")[0] for of, at in bodies if at == place - PAGE] == ["MO"] * 3
    count = len(QUIET[arch])
    for step in run.of("STEP", name="suspend"):
        kinds = step.counts("kinds")
        assert (kinds["map"], kinds["copy"], kinds["delete"]) == (2 * count, count, 1 + count)


@pytest.mark.behaviour("E-05", "T-01")
@pytest.mark.parametrize("deaths", [("step:1.1:fault", "step:1.2:fault"), ("step:1.2:error",)])
def test_a_device_becomes_quiet_though_cleaners_die_at_that(
    target_of: Callable[[str], Target], deaths: tuple[str, ...]
) -> None:
    """One dies before it sees the device, the next before it has hidden it again."""
    change = together(with_dma("x86_64"), with_bench(inject=deaths))
    run = target_of("x86_64").run("driver_x86_64", change=change)
    assert [event["step"] for event in run.of("TAKEOVER")] == ["suspend"] * len(deaths)
    said = [text for text in run.says("driver") if "quiet, at" in text]
    assert [text.startswith("quiet") for text in said[1:]] == [True, True]


@pytest.mark.behaviour("E-05")
@pytest.mark.parametrize(
    "goes", [with_crashes({"pd": "driver", "how": "exit"}), with_system(stop_in_order=True)]
)
def test_a_device_that_does_not_become_quiet_holds_up_what_its_driver_had(
    target_of: Callable[[str], Target], goes: Change
) -> None:
    """Its memory is not used again, and the driver does not come back. It crashed, or was stopped
    by its cleanup.
    """
    change = together(with_dma("x86_64", until=8), with_crashes(), goes)
    run = target_of("x86_64").boot("driver_x86_64", change=change)
    assert run.report.violations == []
    assert {event["step"] for event in run.of("TAKEOVER", left=1)} == {"suspend"}
    assert len(run.of("PD", name="driver")) == 1
    made = {body["of"] for body in run.of("BODY") if is_memory(body["of"])}
    assert len(made) == 4, "the device, the memory to which it writes, and the region of each"
    assert made <= {row[1] for row in run.state(1)}


def leaves_its_lines(config: Config) -> Config:
    """The driver dies once, and comes back no more. Half of what takes its lines fails."""
    (pd,) = config.pds
    failures = tuple(f"step:{number}.2:error:always" for number in (4, 5))
    dies = with_pd(pd.name, respawn=False), with_crashes({"pd": pd.name, "how": "exit"})
    return together(*dies, with_bench(inject=failures))(config)


@pytest.mark.behaviour("E-04", "S-11")
def test_lines_that_are_left_may_outlive_their_driver(target: Target) -> None:
    """The kernel has the root task's own capabilities to them. The check knows whose they were."""
    run = target.run(driver_for(target.sdk), change=together(WITH_TRUTH, leaves_its_lines))
    left = {event["node"] for event in run.of("TAKEOVER", left=1)}
    assert {row[1] for row in run.last_state() if is_line(row[1])} == left != set()
    assert run.of("STEP", name="destroy-pd")


def at(address: int) -> Change:
    """The device is somewhere else."""

    def change(config: Config) -> Config:
        (region,) = config.regions
        return config.model_copy(
            update={"regions": (region.model_copy(update={"physical": address}),)}
        )

    return change


@pytest.mark.parametrize("address", [0x901_0000, (1 << 30) + (1 << 20), (2 << 30) - PAGE])
def test_an_address_without_free_memory_is_refused_when_it_is_built(
    target_of: Callable[[str], Target], tmp_path: Path, address: int
) -> None:
    target = target_of("aarch64")
    text, config = target.load("region")
    first = config.regions[0].model_copy(update={"memory_at": address})
    config = config.model_copy(update={"regions": (first, *config.regions[1:])})
    with pytest.raises(InputError, match=r"region\[0\]\.memory_at: .* has no free memory from 0x"):
        build_image(config, text, target.sdk, tmp_path / "a.img", Progress(quiet=True))


@pytest.mark.parametrize(
    ("address", "why"),
    [
        (emulated("aarch64").uart.address, "is of the console"),
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


@pytest.mark.slow
@pytest.mark.thorough
def test_memory_without_a_cache_is_refused_where_the_machine_decides_that(
    target_of: Callable[[str], Target], tmp_path: Path
) -> None:
    target = target_of("riscv64")
    text, config = target.load("region")
    kept, *others = config.regions
    maps = (kept.maps[0].model_copy(update={"cached": False}), *kept.maps[1:])
    kept = kept.model_copy(update={"maps": maps})
    config = config.model_copy(update={"regions": (kept, *others)})
    with pytest.raises(InputError, match=r"region\[0\]\.map\[0\]\.cached: on riscv64 the machine"):
        build_image(config, text, target.sdk, tmp_path / "a.img", Progress(quiet=True))


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (f"physical = {MEMORY:#x}", f"frames of a region at {MEMORY:#x}"),
        ("memory_at = 0xfed00000", "memory of a region at 0xfed00000"),
    ],
)
def test_what_the_kernel_does_not_give_stops_the_root_task_with_words(
    target_of: Callable[[str], Target], tmp_path: Path, wanted: str, words: str
) -> None:
    """On x86_64 no file says what the kernel hands out. The first is memory, and the other one is a
    device.
    """
    path = tmp_path / "memory.toml"
    text = (BOOT_CONFIGS / "driver_x86_64.toml").read_text()
    path.write_text(text.replace("physical = 0xfed00000", wanted))
    where = ["--arch", "x86_64", "--sdk", str(target_of("x86_64").sdk.root)]
    result = CliRunner().invoke(cli, ["run", str(path), *where, "-o", str(tmp_path / "run")])
    assert f"does not give the {words}" in result.output


LEAKS = (
    ("roottask/system/take.c", "    if (cr_revoke(parent) || cr_delete(parent)) {\n", KEEPS),
    (
        "roottask/system/memory.c",
        "return make->uncached ?",
        "return make->uncached && make->pd == 0 ?",
    ),
)
FOUND = {
    "an interrupt and ports stay": (
        r"truth\.own: .*o",
        r"truth\.threads: .* and interrupts of",
    ),
    "the registers are cached": (None, r"truth\.tables: .*has not the pages of VMR"),
}


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.behaviour("E-04")
def test_what_is_kept_of_a_dead_driver_is_found_in_the_kernels_word(
    target_of: Callable[[str], Target], tmp_path: Path
) -> None:
    """The lines stay taken, which nothing but the kernel tells. The device is mapped as memory."""
    root = source_root()
    files = files_of(root)
    copy = Copy(root, files, tmp_path)
    edits = tuple(
        Edit(file, files[file].index(old.encode()), old.encode(), new.encode())
        for file, old, new in LEAKS
    )
    copy.plant(edited(files, Fault("leaks", edits, named=True)))
    text = (BOOT_CONFIGS / "driver_x86_64.toml").read_text()
    config = tmp_path / "dies.toml"
    config.write_text(
        text.replace("respawn = true\n", "")
        .replace("repeat = 2\n", "")
        .replace('alive = ["driver"]\ncleanups = 2', "alive = []\ncleanups = 1")
    )
    sdk = target_of("x86_64").sdk
    shown = run_planted(copy, config, "--arch", "x86_64", "--sdk", str(sdk.root))
    for walk, snapshot in FOUND.values():
        wanted = [walk] if walk is not None else []
        wanted += [snapshot] if sdk.kernel.name == "seL4" else []
        for pattern in wanted:
            assert any(re.search(pattern, found) for found in shown["violations"]), pattern
