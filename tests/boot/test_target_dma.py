# SPDX-License-Identifier: BSD-2-Clause
"""A device that writes to memory when its driver is dead: the disk of QEMU, which is slow."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cellreap.headers import source_root
from cellreap.model.ids import is_memory
from cellreap.system.config import Config
from cellreap.testing import Change, Run, Target, together, validated, with_pd, with_system
from cellreap.trace.events import Event
from kit.paths import BOOT_CONFIGS
from kit.planted import run_planted
from mutation.copies import Copy, files_of
from mutation.faults import Edit, Fault, edited

SECTOR = bytes(range(1, 255)) * 2 + bytes(4)


@pytest.fixture(scope="module")
def slow_disk(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Arguments of a disk that answers four times a second."""
    path = tmp_path_factory.mktemp("disk") / "disk.img"
    path.write_bytes(SECTOR * 16)
    drive = f"-drive file={path},format=raw,if=none,id=disk,throttling.iops-total=4"
    return f"{drive} -device virtio-blk-device,drive=disk"


def ran(target: Target, disk: str, *changes: Change) -> Run:
    return target.run("dma", qemu_args=tuple(disk.split()), change=together(*changes))


@pytest.mark.behaviour("E-05")
def test_a_disk_that_is_reset_writes_to_no_memory_that_others_have(
    target_of: Callable[[str], Target], slow_disk: str
) -> None:
    """The heir has the memory of the dead driver at once, and nothing comes to be there."""
    run = ran(target_of("aarch64"), slow_disk)
    (asked,) = run.says("driver")
    assert run.says("heir") == ["check new memory: ok", "buffers clean", "check letters: ok"]
    place = int(asked.split()[-1])
    bodies = [event["of"] for event in run.of("BODY") if holds(event, place)]
    assert len(list(filter(is_memory, bodies))) == 2, "of the driver and of the heir"
    assert run.report.undone == []


@pytest.mark.behaviour("E-05")
def test_a_disk_that_nothing_makes_quiet_goes_on_writing(
    target_of: Callable[[str], Target], slow_disk: str
) -> None:
    """The memory was asked for before the driver died. The heir shares the disk, so it may have it.
    The story says that nobody else does.
    """
    run = ran(target_of("aarch64"), slow_disk, without_on_death(shared=True))
    assert run.says("heir")[1:] == ["buffers written", "check letters: ok"]
    (undone,) = run.report.undone
    assert run.names[undone.pd] == "driver"
    assert undone.what.endswith("is kept from others: disk, which may write there, has no on_death")


FREED = (
    b"take(bits, 0, block);\n        if (status == CR_OK) {",
    b"take(bits, 0, block);\n        if (status == CR_OK && owner < CR_OWNER_MEMORY) {",
)
"""In `cr_body_take_block`: the memory of regions is given back to everybody."""


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.behaviour("E-05")
@pytest.mark.parametrize("planted", [False, True])
def test_memory_that_a_disk_may_write_goes_to_nobody(
    target_of: Callable[[str], Target], tmp_path: Path, slow_disk: str, planted: bool
) -> None:
    """A root task that gives it away is found, before and beside what the disk does to it."""
    target = target_of("aarch64")
    change = without_on_death(shared=False)
    if not planted:
        run = ran(target, slow_disk, change, with_system(truth=True))
        place = int(run.says("driver")[0].split()[-1])
        assert [is_memory(event["of"]) for event in run.of("BODY") if holds(event, place)] == [True]
        assert run.says("heir")[1:] == ["buffers clean", "check letters: ok"]
        return
    root = source_root()
    files = files_of(root)
    file = "roottask/system/body.c"
    edit = Edit(file, files[file].index(FREED[0]), *FREED)
    copy = Copy(root, files, tmp_path)
    copy.plant(edited(files, Fault("freed", (edit,), named=True)))
    config = tmp_path / "freed.toml"
    text = (BOOT_CONFIGS / "dma.toml").read_text()
    for cut in (
        "\n[[region.on_death]]\noffset = 0xe70\nvalue = 0\nuntil = 0\n",
        '\n[[region.map]]\npd = "heir"\naddress = 0x80000000\n',
    ):
        assert text.count(cut) == 1
        text = text.replace(cut, "")
    text = text.replace("args = [8328, 2]", "args = [8328, 3]")
    config.write_text(text)
    options = ("--arch", "aarch64", "--sdk", str(target.sdk.root), "--qemu-arg", slow_disk)
    shown = run_planted(copy, config, *options)
    assert any("config.kept" in found for found in shown["violations"])


def without_on_death(*, shared: bool) -> Change:
    """Nothing makes the disk quiet. The heir has it, and the memory, or neither."""

    def change(config: Config) -> Config:
        disk, clock, buffers, letters = config.regions
        heirs = buffers.maps[1].model_copy(update={"address": 4 << 30})
        disk = disk.model_copy(update={
            "on_death": (),
            "shared": shared,
            "maps": (*disk.maps, heirs) if shared else disk.maps,
        })  # fmt: skip
        if not shared:
            buffers = buffers.model_copy(update={"maps": buffers.maps[:1]})
            config = with_pd("heir", args=(8328, 3))(config)
        return validated(config.model_copy(update={"regions": (disk, clock, buffers, letters)}))

    return change


def holds(body: Event, address: int) -> bool:
    begin = int(body["paddr"], 0)
    return begin <= address < begin + body.number("bytes")
