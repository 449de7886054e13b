# SPDX-License-Identifier: BSD-2-Clause
"""The boot loader's plan: all parts have places without overlap. Impossible plans are refused."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from cellreap import headers
from cellreap.errors import InputError, UsageError
from cellreap.runs.boot import boot_files
from cellreap.system.elf import read_executable
from cellreap.system.image import LOADER, MANIFEST, MEMBERS, members_of, read_image, write_image
from cellreap.system.loader import (
    FDT_BLOB,
    KERNEL_BLOB,
    PLATFORM_FILE,
    USER_BLOB,
    Load,
    bytes_needed,
    check_loader,
    check_memory,
    memory_around,
    plan_load,
    read_memory,
    source,
)
from kit.image_members import manifest, members, refused, rewrite
from kit.sdk_kit import (
    AARCH64_FDT,
    AARCH64_KERNEL,
    AARCH64_MEMORY,
    AARCH64_OPTIONS,
    GOOD_OPTIONS,
    make_aarch64_kernel,
    make_elf,
    memory_text,
)

USER = [
    (0x40_0000, 0x40_0000, b"text", 4),
    (0x40_1000, 0x40_1000, b"constants", 9),
    (0x40_2010, 0x40_2010, b"data", 0x5000),
]


def plan(
    kernel: bytes | None = None,
    *,
    user: list[tuple[int, int, bytes, int]] = USER,
    fdt: bytes = AARCH64_FDT,
    **options: Any,
) -> Load:
    raw = make_aarch64_kernel() if kernel is None else kernel
    return plan_load(
        read_executable(raw, "kernel.elf", "aarch64"),
        read_executable(
            make_elf(user, arch="aarch64", entry=user[0][0]), "roottask.elf", "aarch64"
        ),
        AARCH64_MEMORY,
        fdt,
        "kernel.dtb",
        {**AARCH64_OPTIONS, **options},
    )


def test_every_fact_and_every_blob_that_the_loader_declares_is_there_and_no_other() -> None:
    declared = (headers.source_root() / "roottask/loader/loader.h").read_text()
    facts = re.findall(r"extern const uint64_t cr_fact_(\w+);", declared)
    blobs = re.findall(r"extern const uint8_t cr_(\w+)_start\[\], cr_\1_end\[\];", declared)
    load = plan()
    assert sorted(load.facts) == sorted(facts)
    assert sorted(load.blobs) == sorted(f"{name}.bin" for name in blobs)
    text = source(load)
    for name, value in load.facts.items():
        assert f"\ncr_fact_{name}: .quad {value:#x}\n" in text
    for name in load.blobs:
        stem = name.removesuffix(".bin")
        assert f'\ncr_{stem}_start:\n.incbin "{name}"\ncr_{stem}_end:\n' in text


def test_kernel_device_tree_root_task_and_loader_have_places_of_their_own() -> None:
    facts = plan().facts
    kernel_end = facts["kernel"] + facts["kernel_bytes"]
    room = facts["loader"] - kernel_end
    assert (facts["kernel"], facts["kernel_bytes"]) == (0x4000_0000, 0x23_D000)
    assert (facts["kernel_virt"], facts["kernel_entry"]) == (AARCH64_KERNEL, AARCH64_KERNEL)
    assert (facts["user_virt"], facts["user_bytes"]) == (0x40_0000, 0x2010 + 0x5000)
    # the largest device tree, and the root task behind it
    assert room >= (2 << 20) + facts["user_bytes"]
    assert facts["loader"] % (2 << 20) == 0
    assert (facts["ram_start"], facts["ram_end"], facts["uart"]) == (*AARCH64_MEMORY, 0x900_0000)


@pytest.mark.parametrize(
    ("platform", "data", "status", "mask", "busy"),
    [
        ("qemu-arm-virt", 0x900_0000, 0x900_0018, 1 << 5, 1 << 5),
        ("odroidc4", 0xFF80_3000, 0xFF80_300C, 1 << 21, 1 << 21),
        ("rpi4", 0xFE21_5040, 0xFE21_5054, 1 << 5, 0),
        ("zcu102", 0xFF00_0030, 0xFF00_002C, 1 << 4, 1 << 4),
    ],
)
def test_the_loader_knows_the_uart_that_the_kernel_prints_to(
    platform: str, data: int, status: int, mask: int, busy: int
) -> None:
    facts = plan(ARM_PLAT=platform).facts
    names = ("uart_data", "uart_status", "uart_mask", "uart_busy")
    assert tuple(facts[name] for name in names) == (data, status, mask, busy)
    assert facts["uart"] & -4096 == data & -4096


def test_contents_are_flat_and_end_where_zeros_begin() -> None:
    blobs = plan().blobs
    flat = blobs[USER_BLOB]
    assert len(flat) == 0x2010 + 4
    filled = {0: b"text", 0x1000: b"constants", 0x2010: b"data"}
    for at, content in filled.items():
        assert flat[at : at + len(content)] == content
    gaps = [(at + len(content)) for at, content in filled.items()]
    for start, end in zip(gaps, [*list(filled)[1:], len(flat)], strict=True):
        assert not any(flat[start:end])
    assert (blobs[KERNEL_BLOB], blobs[FDT_BLOB]) == (b"kernel", AARCH64_FDT)


@pytest.mark.parametrize("start", [0x40_0000, 0x40_0FF0])
def test_the_root_task_starts_with_a_whole_page(start: int) -> None:
    load = plan(user=[(start, start, b"abc", 100)])
    assert load.facts["user_virt"] == 0x40_0000
    assert load.blobs[USER_BLOB][start - 0x40_0000 :] == b"abc"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"fdt": b"\x7fELF"}, "kernel.dtb: expected a device tree .* begins with d00dfeed"),
        ({"fdt": AARCH64_FDT + bytes(2 << 20)}, "expected a device tree of at most 2097152 bytes"),
        ({"ARM_PLAT": "tx2"}, r"ARM_PLAT \(KernelPlatform\): is tx2: expected qemu-arm-virt or "),
        (
            {
                "kernel": make_elf(
                    [(0x4123_4000, 0x4000_0000, b"k", 9)], arch="aarch64", entry=0x4123_4000
                )
            },
            "kernel.elf: p_vaddr: 0x1234000 above .*expected whole blocks of 2 MiB",
        ),
        (
            {
                "kernel": make_elf(
                    [
                        (AARCH64_KERNEL, 0x4000_0000, b"k", 9),
                        (AARCH64_KERNEL + 4096, 0x8000_1000, b"k", 9),
                    ],
                    arch="aarch64",
                    entry=AARCH64_KERNEL,
                )
            },
            "kernel.elf: p_vaddr: 0xffffff7fc0000000, 0xffffff8000000000 above",
        ),
        (
            {"kernel": make_aarch64_kernel(paddr=0x4000_0010)},
            "begin at 0x40000010: expected whole blocks",
        ),
    ],
)
def test_what_cannot_be_laid_out_is_refused(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        plan(**changed)


def test_a_kernel_in_el2_is_entered_there_with_the_physical_size_that_it_compares() -> None:
    el1, el2 = plan().facts, plan(ARM_HYPERVISOR_SUPPORT=True).facts
    assert (el1["kernel_level"], el2["kernel_level"]) == (1, 2)
    assert el2["physical_size"] == 2
    assert plan(ARM_PA_SIZE_BITS_44=True).facts["physical_size"] == 4


def test_firmware_may_have_the_only_device_tree() -> None:
    assert plan(fdt=b"").blobs[FDT_BLOB] == b""


@pytest.mark.parametrize(
    ("regions", "mib"),
    [
        ([(0x4000_0000, 0x8000_0000)], 1024),
        ([(0x6000_0000, 0xC000_0000)], 2048),
        ([(0x4000_0000, 0x6000_0000), (0x6000_1000, 0x8000_0000)], 1024),
    ],
)
def test_the_machine_has_all_the_memory_that_the_kernel_has_built_in(
    regions: list[tuple[int, int]], mib: int
) -> None:
    """The kernel may begin behind the start of the machine's memory."""
    kernel = read_executable(make_aarch64_kernel(regions[0][0]), "kernel.elf", "aarch64")
    assert bytes_needed(AARCH64_OPTIONS, tuple(regions), kernel, "p") == mib << 20
    check_memory(None, mib << 20)
    check_memory(mib << 20, mib << 20)
    with pytest.raises(UsageError, match=f"expected at least {mib} MiB"):
        check_memory((mib << 20) - 1, mib << 20)


def test_a_machine_may_have_its_memory_in_two_places() -> None:
    zcu102 = {**AARCH64_OPTIONS, "ARM_PLAT": "zcu102"}
    kernel = read_executable(make_aarch64_kernel(0), "kernel.elf", "aarch64")
    regions = ((0, 0x8000_0000), (0x8_0000_0000, 0x8_8000_0000))
    assert bytes_needed(zcu102, regions, kernel, "p") == 4 << 30
    facts = plan(ARM_PLAT="zcu102").facts
    assert (facts["gic_distributor"], facts["uart_on"]) == (0xF901_0000, 0x14)
    assert plan().facts["gic_distributor"] == 0


def test_the_region_of_memory_is_the_kernels() -> None:
    kernel = read_executable(make_aarch64_kernel(), "kernel.elf", "aarch64")
    regions = read_memory(memory_text((0x8000_0000, 0x9000_0000), AARCH64_MEMORY).encode(), "p")
    assert memory_around(regions, kernel, "p") == AARCH64_MEMORY
    for region in ((0x4000_1000, 0x8000_0000), (0x4000_0000, 0x4010_0000)):
        with pytest.raises(InputError, match="p_paddr: 0x40000000 to 0x4023d000: expected it in"):
            memory_around((region,), kernel, "p")
    with pytest.raises(InputError, match="which p says is none"):
        memory_around((), kernel, "p")


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{}",
        b"[]",
        b"null",
        b'{"memory": 1}',
        b'{"memory": [1]}',
        b'{"memory": [{"start": 1}]}',
        b"[" * 100_000,
        b" " * (2 << 20),
        *(memory_text(region).encode() for region in ((2, 1), (-1, 4), (0, 1 << 49))),
        json.dumps({"memory": [{"start": "0", "end": True}]}).encode(),
        json.dumps({"memory": [{"start": 0, "end": 1.5}]}).encode(),
    ],
)
def test_a_platform_description_that_is_none_is_refused_in_a_line(raw: bytes) -> None:
    with pytest.raises(InputError, match=r"platform_gen\.json:? ?memory: .*expected") as caught:
        read_memory(raw, "platform_gen.json")
    assert "\n" not in str(caught.value)


def test_a_loader_that_was_linked_elsewhere_or_has_no_room_is_refused() -> None:
    load = plan()

    def loader(base: int, memory: int) -> None:
        raw = make_elf([(base, base, b"l", memory)], arch="aarch64", entry=base)
        check_loader(read_executable(raw, LOADER, "aarch64"), load)

    loader(load.base, 1 << 20)
    with pytest.raises(InputError, match=r"e_entry: .*: expected "):
        loader(load.base + 4096, 1 << 20)
    with pytest.raises(InputError, match=r"end at 0x[0-9a-f]+: expected at most 0x80000000"):
        loader(load.base, 0x4000_0000)


# -- images


def aarch64_members() -> dict[str, bytes]:
    elf = make_elf([(0x4100_0000, 0x4100_0000, b"loader", 4096)], arch="aarch64", entry=0x4100_0000)
    return {
        **members(
            kernel_elf=make_aarch64_kernel(),
            roottask_elf=make_elf(USER, arch="aarch64", entry=0x40_0000),
            gen_config_json=json.dumps({**GOOD_OPTIONS, **AARCH64_OPTIONS}).encode(),
        ),
        PLATFORM_FILE: memory_text(AARCH64_MEMORY).encode(),
        LOADER: elf,
    }


def make(path: Path, **changed: Any) -> Path:
    content = {**aarch64_members(), **changed}
    values = manifest(content, arch="aarch64")
    values["kernel"]["arch"] = "aarch64"
    write_image(path, values, content)
    return path


def test_an_image_for_aarch64_boots_its_loader_with_the_memory_that_its_kernel_expects(
    tmp_path: Path,
) -> None:
    image = read_image(make(tmp_path / "a.img"))
    assert members_of("aarch64") == (*MEMBERS, PLATFORM_FILE, LOADER)
    assert image.memory == 1 << 30
    assert boot_files(image) == {LOADER: aarch64_members()[LOADER]}


@pytest.mark.parametrize("name", [PLATFORM_FILE, LOADER])
def test_its_members_missing_or_changed_are_told(tmp_path: Path, name: str) -> None:
    path = make(tmp_path / "a.img")
    whole = path.read_bytes()
    assert "is a zip file with" in refused(rewrite(path, lambda content: content.pop(name)))
    path.write_bytes(whole)
    said = refused(rewrite(path, lambda content: content.update({name: content[name] + b" "})))
    assert f"{name}: has SHA-256" in said


def test_an_image_for_one_architecture_is_none_for_the_other(tmp_path: Path) -> None:
    more = (PLATFORM_FILE, LOADER)
    path = rewrite(make(tmp_path / "a.img"), lambda content: [content.pop(name) for name in more])
    assert "expected kernel.elf, " in refused(path)

    def alter(content: dict[str, bytes]) -> None:
        values = json.loads(content[MANIFEST])
        values["sha256"]["more"] = "0" * 64
        content[MANIFEST] = json.dumps(values).encode()

    assert "sha256: is of " in refused(rewrite(make(tmp_path / "b.img"), alter))


@pytest.mark.parametrize(
    ("name", "raw", "said"),
    [
        (LOADER, b"", "loader.elf: is empty"),
        (LOADER, make_elf(), "loader.elf: e_machine"),
        (PLATFORM_FILE, b"{}", "platform_gen.json: memory: is no description"),
        (PLATFORM_FILE, memory_text((0, 4096)).encode(), "p_paddr: .*expected it in memory"),
    ],
)
def test_a_member_that_is_not_what_it_should_be_is_told(
    tmp_path: Path, name: str, raw: bytes, said: str
) -> None:
    path = make(tmp_path / "a.img", **{name: raw})
    assert re.search(said, refused(path))
