# SPDX-License-Identifier: BSD-2-Clause
"""system.cdl on the host: in the tools' grammar, consistent, and true to the loaded programs.

tests/boot compares it with the kernel's own snapshot of a running system.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from cellreap.errors import CellreapError
from cellreap.system.capdl.checking import problems
from cellreap.system.capdl.describing import capdl_text, describe
from cellreap.system.capdl.objects import Cap, Description, Object
from cellreap.system.capdl.rendering import render
from cellreap.system.capdl.target import Target, facts_source, read_target
from cellreap.system.config import Config, parse_config
from kit.capdl_reader import Held, Spec, read_capdl
from kit.sdk_kit import ARCH, make_elf

X86_64 = Target("x86_64", 5, 11, 5, 4, 12, 12, (12, 12, 12), (39, 30, 21))
AARCH64 = replace(X86_64, arch="aarch64", notification_bits=5)
CONFIG = """
[system]
name = "s"
[[pd]]
name = "nurse"
program = "small"
cspace_bits = 6
[[pd]]
name = "late"
program = "small"
start = "after-cleanup"
[[pd]]
name = "nurse_0"
program = "big"
fault_handler = "nurse"
holds_pds = ["late", "client", "nurse"]
cspace_bits = 10
stack_pages = 64
priority = 7
[[pd]]
name = "client"
program = "small"
"""
TEXT, DATA = bytes(range(256)) * 20, b"data" * 300
PROGRAMS = {
    "small": make_elf([(0x40_0000, 0x40_0000, b"code", 4096)], entry=0x40_0000),
    # The second segment starts within a page. Its memory extends beyond the file's contents and
    # over 2 MiB.
    "big": make_elf(
        [(0x40_0000, 0x40_0000, TEXT, len(TEXT)), (0x5F_F234, 0x5F_F234, DATA, 0x2000)],
        entry=0x40_0010,
    ),
}


def config(text: str = CONFIG) -> Config:
    return parse_config(text, Path("f.toml"))


def spec() -> Spec:
    return read_capdl(capdl_text(config(), PROGRAMS, X86_64))


def described() -> Description:
    return describe(config(), PROGRAMS, X86_64)


def test_the_same_input_gives_the_same_text_and_another_one_another() -> None:
    text = capdl_text(config(), PROGRAMS, X86_64)
    assert capdl_text(config(), PROGRAMS, X86_64) == text
    assert (
        capdl_text(config(CONFIG.replace("priority = 7", "priority = 8")), PROGRAMS, X86_64) != text
    )


def test_who_starts_later_is_left_out_by_name_and_keeps_its_slot() -> None:
    text = capdl_text(config(), PROGRAMS, X86_64)
    assert "-- Created after the first cleanup, so not listed: late." in text
    found = read_capdl(text)
    assert set(found.untypeds) == {"ut_nurse", "ut_nurse_0", "ut_client"}
    # Indices are those of boot time: nurse 1, nurse_0 2, client 3. A badge is 4, 28 and 32 bits.
    assert found.caps["cspace_nurse_0"] == {
        1: Held("root_ep", "GPW", {"badge": 0x1_0000001_00000002}),
        2: Held("ep_nurse_0", "R"),
        3: Held("ntfn_nurse_0", "R"),
        4: Held("root_ep", "PW", {"badge": 0x2_0000001_00000002}),
        9: Held("root_ep", "P", {"badge": 0x3_0000001_00000003}),
        10: Held("root_ep", "P", {"badge": 0x3_0000001_00000001}),
    }
    assert found.caps["cspace_client"][4] == Held("root_ep", "PW", {"badge": 0x2_0000001_00000003})
    assert list(found.caps["root_cspace"]) == [4, 5, 6]


def test_a_thread_has_what_its_configuration_says() -> None:
    found = spec()
    assert found.objects["tcb_nurse_0"].params == {
        "addr": 0x1000_1000,
        "ip": 0x40_0010,
        "sp": 0x1001_0000 + 64 * 4096,
        "prio": 7,
        "max_prio": 0,
        "affinity": 0,
        "fault_ep": 4,
        "dom": 0,
    }
    slots = found.caps["tcb_nurse_0"]
    assert slots["cspace"] == Held("cspace_nurse_0", "", {"guard": 0, "guard_size": 54})
    assert found.objects["cspace_nurse_0"].params == {"bits": 10}
    assert slots["ipc_buffer_slot"] == Held("frame_nurse_0.0x10001000", "RW")
    assert slots["bound_notification"] == Held("ntfn_nurse_0", "R")


def memory(found: Spec, pd: str) -> dict[int, tuple[bytes, str]]:
    """The mappings of a PD's address space, walked from its root as the hardware does."""
    pages: dict[int, tuple[bytes, str]] = {}

    def walk(table: str, base: int, span: int) -> None:
        for slot, held in found.caps[table].items():
            assert isinstance(slot, int)
            at = base + (slot << span)
            thing = found.objects[held.target]
            if thing.kind != "frame":
                walk(held.target, at, span - 9)
                continue
            assert span == 12
            assert thing.params["size"] == 4096
            content = bytearray(4096)
            if "fill" in thing.params:
                start, count, what, file, offset = str(thing.params["fill"]).split()
                assert what == "CDL_FrameFill_FileData"
                data = PROGRAMS[file.strip('"').removesuffix(".elf")][
                    int(offset) : int(offset) + int(count)
                ]
                assert len(data) == int(count) > 0
                content[int(start) : int(start) + int(count)] = data
                assert len(content) == 4096
            pages[at] = bytes(content), held.rights
            assert found.caps[f"body_{pd}"][_slot_of(found, pd, held.target)].mapping == (
                table,
                slot,
            )

    walk(f"vspace_{pd}", 0, 39)
    return pages


def _slot_of(found: Spec, pd: str, frame: str) -> int | str:
    (slot,) = [slot for slot, held in found.caps[f"body_{pd}"].items() if held.target == frame]
    return slot


def test_address_spaces_hold_the_programs() -> None:
    pages = memory(spec(), "nurse_0")
    stack = [0x1001_0000 + i * 4096 for i in range(64)]
    code = [0x40_0000, 0x40_1000]
    data = [0x5F_F000, 0x60_0000, 0x60_1000]
    assert sorted(pages) == [*code, *data, 0x1000_0000, 0x1000_1000, *stack]
    assert b"".join(pages[at][0] for at in code)[: len(TEXT)] == TEXT
    assert b"".join(pages[at][0] for at in data) == (bytes(0x234) + DATA).ljust(3 * 4096, b"\0")
    assert all(pages[at][0] == bytes(4096) for at in [0x1000_1000, *stack])
    assert {at: rights for at, (_, rights) in pages.items() if rights != "RWX"} == {
        0x1000_0000: "RX"
    }


def test_on_aarch64_only_code_is_executable_and_the_root_is_a_pgd() -> None:
    programs = {
        name: make_elf([(0x40_0000, 0x40_0000, b"code", 4096)], entry=0x40_0000, arch="aarch64")
        for name in PROGRAMS
    }
    found = read_capdl(capdl_text(config(), programs, AARCH64))
    assert found.arch == "aarch64"
    kinds = [found.objects[name].kind for name in found.untypeds["ut_nurse"][1]]
    assert kinds[2:6] == ["pud", "pd", "pt", "pt"]
    assert kinds[kinds.index("tcb") - 2 :][:2] == ["frame", "pgd"]
    entries = {**found.caps["pt_nurse.0x400000"], **found.caps["pt_nurse.0x10000000"]}
    assert entries[0] == Held("frame_nurse.0x10000000", "R")
    assert found.caps["pt_nurse.0x400000"][0].rights == "RWX"
    assert found.caps["pt_nurse.0x10000000"][1].rights == "RW"


def test_descriptions_have_no_problems_of_their_own() -> None:
    assert list(problems(described())) == []


REGIONS = """
[[region]]
name = "ring"
size = 8192
[[region.map]]
pd = "client"
address = 0x20001000
writable = true
[[region.map]]
pd = "nurse"
address = 0x20001000
[[region]]
name = "clock"
size = 4096
physical = 0xfed00000
[[region.map]]
pd = "client"
address = 0x20004000
"""


@pytest.mark.behaviour("W-05")
def test_memory_is_mapped_from_copies_of_its_capabilities_and_devices_are_in_no_untyped() -> None:
    made = describe(config(CONFIG + REGIONS), PROGRAMS, X86_64)
    assert list(problems(made)) == []
    found = read_capdl(render(made))
    ring, clock = "frame_mo.ring.0x0", "frame_mo.clock.0x0"
    assert found.untypeds["ut_mo.ring"][1] == ["mo.ring", ring, "frame_mo.ring.0x1"]
    assert found.untypeds["ut_mo.clock"][1] == ["mo.clock"]
    assert found.objects[clock].params == {"size": 4096, "paddr": 0xFED0_0000}
    assert found.objects[ring].params == {"size": 4096}
    for memory in ("ring", "clock"):
        for slot, held in found.caps[f"mo.{memory}"].items():
            copies = found.derived[f"mo.{memory}", slot]
            assert {holder for holder, _ in copies} == {
                holder for holder in found.caps if holder.startswith(f"vmr.{memory}.")
            }
            assert {found.caps[holder][at].target for holder, at in copies} == {held.target}


def _with_caps(made: Description, holder: str, *caps: Cap) -> Description:
    return replace(made, caps={**made.caps, holder: (*made.caps.get(holder, ()), *caps)})


def _with_derived(
    made: Description, parent: tuple[str, int], *children: tuple[str, int]
) -> Description:
    return replace(
        made, derived={**made.derived, parent: (*made.derived.get(parent, ()), *children)}
    )


def _with_body(made: Description, bits: int = 0, *more: Object) -> Description:
    first = made.bodies[0]
    changed = replace(first, bits=first.bits + bits, objects=(*first.objects, *more))
    return replace(made, bodies=(changed, *made.bodies[1:]))


# The Haskell tool accepts each of these silently, except for undeclared targets.
@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (
            _with_caps(described(), "cspace_nurse", Cap(64, "root_ep")),
            "(cspace_nurse, 0x40): cspace_nurse has 64 slots",
        ),
        (
            _with_caps(described(), "cspace_nurse", Cap(1, "root_ep")),
            "(cspace_nurse, 0x1) is filled 2 times",
        ),
        (
            _with_caps(described(), "cspace_nurse", Cap("cspace", "root_ep")),
            "cspace_nurse has 64 slots",
        ),
        (
            _with_caps(described(), "pt_nurse.0x400000", Cap(512, "ep_nurse")),
            "pt_nurse.0x400000 has 512 slots",
        ),
        (
            _with_caps(described(), "tcb_nurse", Cap(0, "ep_nurse")),
            "a TCB has the slots cspace, vspace",
        ),
        (
            _with_caps(described(), "cspace_nurse", Cap(9, "ep_none")),
            "(cspace_nurse, 0x9): ep_none is not declared",
        ),
        (
            _with_caps(described(), "cspace_none", Cap(9, "ep_nurse")),
            "cspace_none has capabilities but is not declared",
        ),
        (
            _with_caps(
                described(), "cspace_nurse", Cap(9, "cspace_client", ("guard: 0", "guard_size: 59"))
            ),
            "a guard of 59 bits and 6 bits of index are more than 64",
        ),
        (
            _with_caps(
                described(), "cspace_nurse", Cap(9, "ep_nurse", (), ("pt_nurse.0x400000", 0))
            ),
            "ep_nurse is said to be mapped by (pt_nurse.0x400000, 0x0), which is "
            "frame_nurse.0x400000",
        ),
        (
            _with_derived(described(), ("body_nurse", 4), ("cspace_nurse", 60)),
            "(cspace_nurse, 0x3c) is empty",
        ),
        (
            _with_derived(described(), ("body_none", 4), ("cspace_nurse", 1)),
            "(body_none, 0x4) is empty",
        ),
        (_with_derived(described(), ("body_nurse", 4), ("cspace_nurse", 3)), "is not for ep_nurse"),
        (
            _with_derived(described(), ("body_nurse", 4), ("cspace_nurse", 2)),
            "(cspace_nurse, 0x2) is derived 2 times",
        ),
        (_with_body(described(), 0, Object("ep_client", "ep", 4)), "ep_client is declared 2 times"),
        (_with_body(described(), -1), "ut_nurse has 32768 bytes: its objects take"),
        (
            _with_body(described(), 0, Object("huge", "frame", 21)),
            "ut_nurse has 65536 bytes: its objects take",
        ),
    ],
)
def test_what_no_kernel_could_hold_is_found(wrong: Description, said: str) -> None:
    assert [problem for problem in problems(wrong) if said in problem], list(problems(wrong))


@pytest.mark.parametrize(
    ("segments", "said"),
    [
        (
            [(0x40_0000, 0, b"a", 4), (0x40_0800, 0, b"b", 4)],
            "a segment from 0x400800 to 0x400804: expected pages",
        ),
        ([(0x40_0000, 0, b"a", 4), (0xFFF_F000, 0, b"b", 0x1001)], "between 0x1000 and 0x10000000"),
        ([(0x40_0000, 0, b"a", 4), (0x200, 0, b"b", 4)], "a segment from 0x200 to 0x204"),
        ([(0x40_0000, 0, b"a", 16400 << 12)], "16466 pages in all: expected at most 16384"),
        ([(0x40_0000 + (i << 21), 0, b"a", 4) for i in range(15)], None),
        (
            [(0x40_0000 + (i << 12), 0, b"a", 4) for i in range(17)],
            "too many segments: expected at most 16",
        ),
        (
            [(0x40_0000, 0, b"a", 4), (0x1_0000_0000, 0, b"b", 4)],
            "between 0x1000 and 0x10000000",
        ),
        (
            [
                (0x20_0000, 0, b"a", 4),
                *((0x5F_F000 + (i << 22), 0, b"a", 0x2000) for i in range(15)),
            ],
            "page tables",
        ),
    ],
)
def test_a_program_that_the_root_task_would_refuse_is_told(
    segments: list[tuple[int, int, bytes, int]], said: str | None
) -> None:
    programs = {**PROGRAMS, "big": make_elf(segments, entry=segments[0][0])}
    if said is None:
        assert "frame_nurse_0.0x400000" in capdl_text(config(), programs, X86_64)
        return
    with pytest.raises(CellreapError) as caught:
        capdl_text(config(), programs, X86_64)
    assert str(caught.value).startswith('big.elf, which "nurse_0" runs: ')
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_what_the_kernel_decides_is_asked_of_the_compiler(tmp_path: Path) -> None:
    def compiled(arch: str) -> bytes:
        (tmp_path / "kernel" / "arch" / "x86_64").mkdir(parents=True, exist_ok=True)
        (tmp_path / "kernel" / "arch" / "x86_64" / "arch.c").write_text(arch)
        (tmp_path / "facts.c").write_text(facts_source("x86_64"))
        command = ["gcc", "-O2", "-iquote", str(tmp_path), "-c", "facts.c", "-o", "facts.o"]
        subprocess.run(command, cwd=tmp_path, check=True)
        return (tmp_path / "facts.o").read_bytes()

    assert read_target("x86_64", compiled(ARCH)) == X86_64
    other = ARCH.replace("seL4_TCBBits = 11", "seL4_TCBBits = 12")
    assert read_target("x86_64", compiled(other)) == replace(X86_64, tcb_bits=12)
    renamed = ARCH.replace("cr_arch_table_span", "spans")
    with pytest.raises(
        CellreapError, match="cr_arch_table_span is not in the object file: expected 2 or 3 words"
    ):
        read_target("x86_64", compiled(renamed))
    longer = ARCH.replace("{39, 30, 21}", "{39, 30, 21, 12}")
    with pytest.raises(
        CellreapError, match="cr_arch_table_span is not in the object file: expected 2 or 3 words"
    ):
        read_target("x86_64", compiled(longer))
