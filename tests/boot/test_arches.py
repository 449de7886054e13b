# SPDX-License-Identifier: BSD-2-Clause
"""The effect of a crash does not depend on the architecture.

All architectures give the same lists, by name. Each run has passed the check of its trace. These
tests compare the runs with each other. Most other tests of this folder boot one kernel, that of
--kernel.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cellreap.platforms import PLATFORMS
from cellreap.progress import Progress
from cellreap.runs.boot import End, boot_image
from cellreap.system.build import build_image
from cellreap.system.image import LOADER, read_image
from cellreap.testing import Run, Target
from demo import DEPTHS
from kit.arches import ARCHES
from kit.marks import slow_but, thorough_but
from kit.outcomes import ALL, LONG, compare, depth

pytestmark = pytest.mark.slow

FIRST, *OTHERS = ARCHES


@pytest.mark.behaviour("C-28")
@pytest.mark.parametrize("arch", OTHERS)
@pytest.mark.parametrize(("pd_depth", "rs_depth"), thorough_but(DEPTHS, DEPTHS[0], DEPTHS[-1]))
def test_every_depth_does_the_same(
    target_of: Callable[[str], Target], arch: str, pd_depth: str, rs_depth: str
) -> None:
    depths: dict[str, Any] = {"pd_depth": depth(pd_depth), "rs_depth": depth(rs_depth)}
    compare(
        target_of(FIRST).run("block_fs_db_app", **depths),
        target_of(arch).run("block_fs_db_app", **depths),
    )


@pytest.mark.behaviour("C-02", "C-03", "C-28")
@pytest.mark.parametrize("arch", OTHERS)
@pytest.mark.parametrize(
    "name",
    thorough_but(
        (name for name in ALL if name not in LONG), "protocol", "handler", "extract", "spawn"
    ),
)
def test_every_configuration_does_the_same(
    target_of: Callable[[str], Target], arch: str, name: str
) -> None:
    compare(target_of(FIRST).run(name), target_of(arch).run(name))


@pytest.mark.parametrize("arch", OTHERS)
def test_the_trace_names_the_architecture(target_of: Callable[[str], Target], arch: str) -> None:
    target = target_of(arch)
    (trace,) = target.run("block_fs_db_app", pd_depth=0, rs_depth=0).of("TRACE")
    kernel = target.sdk.kernel
    assert (trace["arch"], trace["kernel"]) == (arch, f"{kernel.name} {kernel.version}")


@pytest.mark.slow
@pytest.mark.behaviour("H-02")
@pytest.mark.parametrize("arch", thorough_but(ARCHES))
def test_an_image_built_twice_is_the_same_also_in_another_cache(
    target_of: Callable[[str], Target], arch: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = target_of(arch)
    text, config = target.load("block_fs_db_app")
    first = target.image("block_fs_db_app")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    build_image(config, text, target.sdk, tmp_path / "b.img", Progress(quiet=True))
    with zipfile.ZipFile(first) as one, zipfile.ZipFile(tmp_path / "b.img") as two:
        assert [name for name in one.namelist() if one.read(name) != two.read(name)] == []
    assert (tmp_path / "b.img").read_bytes() == first.read_bytes()


def loaders() -> list[str]:
    """The architectures of this file whose images contain cellreap's own boot loader."""
    known = [(each.arch, each.emulation) for each in PLATFORMS.values()]
    found = {arch for arch, its in known if its is not None and ("-kernel", LOADER) in its.files}
    return sorted(found & set(ARCHES))


# What is changed about the machine, and the line that the loader then prints about its entry state.
ENTRIES: dict[str, tuple[tuple[str, ...], str]] = {
    "usual": ((), "entered in EL1"),
    "hypervisor": (("-machine", "virtualization=on"), "entered in EL2"),
    "more memory": (("-m", "2G"), "entered in EL1"),
}


@pytest.mark.parametrize("arch", loaders())
@pytest.mark.parametrize("entry", slow_but(ENTRIES, "usual"))
def test_the_loader_takes_what_it_finds(
    target_of: Callable[[str], Target], arch: str, entry: str
) -> None:
    qemu_args, level = ENTRIES[entry]
    target = target_of(arch)
    run = target.run("block_fs_db_app", pd_depth=0, rs_depth=0, qemu_args=qemu_args)
    said = loader_line(run)
    assert " from start of memory, " in said
    assert said.endswith(level)
    compare(target.run("block_fs_db_app", pd_depth=0, rs_depth=0), run)


@pytest.mark.slow
@pytest.mark.parametrize("arch", loaders())
def test_without_a_device_tree_the_kernels_own_is_used(
    target_of: Callable[[str], Target], arch: str, tmp_path: Path
) -> None:
    """QEMU passes no device tree if there is no room for one in front of the loader."""
    target = target_of(arch)
    large = tmp_path / "large.dtb"
    tree = target.sdk.fdt()
    large.write_bytes(tree + bytes(32 << 20))
    run = target.run("block_fs_db_app", pd_depth=0, rs_depth=0, qemu_args=("-dtb", str(large)))
    assert " from image, " in loader_line(run)
    compare(target.run("block_fs_db_app", pd_depth=0, rs_depth=0), run)


def loader_line(run: Run) -> str:
    """The line that the loader prints."""
    lines = run.trace.read_text(errors="replace").splitlines()
    (said,) = (line for line in lines if line.startswith("cellreap loader:"))
    return said


@pytest.mark.parametrize("arch", loaders())
def test_the_loader_says_what_is_in_its_way(target_of: Callable[[str], Target], arch: str) -> None:
    image = read_image(target_of(arch).image("block_fs_db_app"))
    boot = boot_image(image, io.BytesIO(), extra=("-machine", "secure=on"))
    assert boot.end is End.FATAL
    assert boot.detail == "cellreap loader: error: entered in exception level 0x3, expected 0x2"
