# SPDX-License-Identifier: BSD-2-Clause
"""The blob for the root task says what the configuration says, in the layout of the header."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import pytest

from cellreap.errors import CellreapError
from cellreap.headers import constant, enums
from cellreap.system.blob import build_blob, layout
from cellreap.system.config import Config, load_config, on_kernel, parse_config
from kit.paths import CONFIGS

NONE = constant("image.h", "CR_IMAGE_NONE")
DEFAULT = constant("image.h", "CR_IMAGE_DEPTH_DEFAULT")
INF = constant("policy.h", "CR_DEPTH_INF")

FULL = """
[system]
name = "full"
[policy]
pd_depth = 2
rs_depth = "inf"
[[pd]]
name = "nurse"
program = "watcher"
[[pd]]
name = "server"
program = "block_server"
pinned = true
respawn = true
spawns = ["block_server"]
priority = 7
cspace_bits = 10
stack_pages = 64
fault_handler = "nurse"
pd_depth = 0
rs_depth = "inf"
args = [1, 4294967295]
space = [{ name = "disk", type = "BLOCK" }, { name = "tape", type = "TAPE_0" }]
[[pd]]
name = "client"
program = "watcher"
requests = ["tape", "disk"]
holds_pds = ["server", "nurse"]
[[pd]]
name = "late"
program = "watcher"
start = "after-cleanup"
[[link]]
between = ["client", "nurse"]
[[crash]]
pd = "server"
at = 5
how = "terminate"
by = "client"
repeat = 3
[[crash]]
pd = "late"
how = "unknown-syscall"
"""
PROGRAMS = {"watcher": b"w" * 33, "block_server": b"b" * 100, "unused": b"u" * 1000}


def blob(text: str = FULL, timer: bool = True) -> bytes:
    return build_blob(parse_config(text, Path("f.toml")), PROGRAMS, "seL4 16.0.0", "x86_64", timer)


def rows(raw: bytes, header: Any, table: str, row: str) -> list[Any]:
    ffi = layout()
    place = getattr(header, table)
    size = ffi.sizeof(row)
    assert place.offset % ffi.alignof(row) == 0
    raw_rows = [
        raw[place.offset + i * size : place.offset + (i + 1) * size] for i in range(place.count)
    ]
    # each pointer keeps its bytes alive
    return [ffi.from_buffer(f"{row} *", one) for one in raw_rows]


def text(field: Any) -> str:
    return bytes(layout().string(field)).decode()


def test_the_header_counts_and_checks_everything_after_it() -> None:
    raw = blob()
    header = layout().from_buffer("cr_image_header *", raw)
    size = layout().sizeof("cr_image_header")
    assert header.magic == constant("image.h", "CR_IMAGE_MAGIC")
    assert header.version == constant("image.h", "CR_IMAGE_VERSION")
    assert header.bytes == len(raw)
    assert header.crc == zlib.crc32(raw[size:])
    assert (header.pd_depth, header.rs_depth) == (2, INF)
    assert (text(header.system), text(header.kernel), text(header.arch)) == (
        "full",
        "seL4 16.0.0",
        "x86_64",
    )


def test_a_snapshot_is_taken_only_if_it_is_asked_for() -> None:
    flag = constant("image.h", "CR_IMAGE_SNAPSHOT")
    texts = [
        FULL.replace('name = "full"', 'name = "full"\ntruth = false') + key
        for key in ("", "[bench]\nsnapshot = true")
    ]
    flags = [layout().from_buffer("cr_image_header *", blob(text)).flags for text in texts]
    assert flags == [0, flag]


@pytest.mark.behaviour("A-01")
def test_mode_and_extraction_are_flags_of_the_whole() -> None:
    def flags(keys: str) -> int:
        raw = blob(FULL.replace('name = "full"', f'name = "full"\ntruth = false\n{keys}'))
        return int(layout().from_buffer("cr_image_header *", raw).flags)

    assert flags('mode = "async"\nextract = false') == 0
    assert flags('mode = "sync"') == constant("image.h", "CR_IMAGE_SYNC")
    assert flags("extract = true") == constant("image.h", "CR_IMAGE_EXTRACT")


@pytest.mark.behaviour("A-01")
@pytest.mark.parametrize(
    ("kernel", "arch", "named"),
    [
        ("seL4 16.0.0", "x86_64", {"TRUTH", "TRUTH_SNAPSHOT", "TRUTH_TABLES"}),
        ("seL4 13.0.0", "aarch64", {"TRUTH", "TRUTH_SNAPSHOT"}),
        ("refkernel 1.0", "x86_64", {"TRUTH", "TRUTH_TABLES"}),
    ],
)
def test_the_kernel_decides_which_words_of_it_are_asked_for(
    kernel: str, arch: str, named: set[str]
) -> None:
    all_of_it = FULL.replace('name = "full"', 'name = "full"\ntruth = true')
    for text, more in ((FULL, set()), (all_of_it, {"TRUTH_WHOLE"})):
        raw = build_blob(parse_config(text, Path("f.toml")), PROGRAMS, kernel, arch)
        flags = layout().from_buffer("cr_image_header *", raw).flags
        assert flags == sum(constant("image.h", f"CR_IMAGE_{name}") for name in named | more)


def test_a_kernel_that_tells_nothing_is_asked_for_nothing() -> None:
    config = parse_config(FULL, Path("f.toml"))
    assert on_kernel(config, None).system.truth is None
    plain = build_blob(on_kernel(config, "KernelDebugBuild"), PROGRAMS, "seL4 16.0.0", "x86_64")
    assert layout().from_buffer("cr_image_header *", plain).flags == 0


@pytest.mark.behaviour("S-05")
def test_limits_are_those_of_the_pd_and_need_a_timer() -> None:
    text = FULL.replace("pinned = true", "pinned = true\nheartbeat_ms = 50\ncall_ms = 20")
    raw = blob(text, True)
    header = layout().from_buffer("cr_image_header *", raw)
    found = [(pd.heartbeat_ms, pd.call_ms) for pd in rows(raw, header, "pds", "cr_image_pd")]
    assert found == [(0, 0), (50, 20), (0, 0), (0, 0)]
    with pytest.raises(CellreapError, match="needs a timer"):
        blob(text, False)


@pytest.mark.behaviour("N-11")
def test_a_deadline_is_the_pds_own_or_the_systems_or_a_second_where_there_is_a_timer() -> None:
    def deadlines(text: str, timer: bool = True) -> list[int]:
        raw = blob(text, timer)
        header = layout().from_buffer("cr_image_header *", raw)
        return [pd.deadline_ms for pd in rows(raw, header, "pds", "cr_image_pd")]

    own = FULL.replace("pinned = true", "pinned = true\ndeadline_ms = 50")
    never = FULL.replace("pinned = true", "pinned = true\ndeadline_ms = 0")
    assert deadlines(FULL) == [1000] * 4
    assert deadlines(FULL, timer=False) == [0] * 4
    assert deadlines(own) == [1000, 50, 1000, 1000]
    system = 'name = "full"\ndeadline_ms = 7'
    assert deadlines(own.replace('name = "full"', system)) == [7, 50, 7, 7]
    assert deadlines(never.replace('name = "full"', system)) == [7, 0, 7, 7]
    assert deadlines(never, timer=False) == [0] * 4
    with pytest.raises(
        CellreapError, match=r"full needs a timer, and seL4 16\.0\.0 \(x86_64\) has none"
    ):
        deadlines(own, timer=False)


@pytest.mark.behaviour("X-09", "X-10")
def test_the_rule_of_respawns_is_the_pds_own_or_the_default_and_needs_a_timer_for_time() -> None:
    def rules(text: str, timer: bool = True) -> list[tuple[int, int, int]]:
        raw = blob(text, timer)
        header = layout().from_buffer("cr_image_header *", raw)
        return [
            (pd.respawn_budget, pd.respawn_window_ms, pd.respawn_delay_ms)
            for pd in rows(raw, header, "pds", "cr_image_pd")
        ]

    keys = "respawn = true\nrespawn_budget = 3\nrespawn_window_ms = 4\nrespawn_delay_ms = 0"
    none = (0, 0, 0)
    assert rules(FULL) == [none, (10, 10_000, 10), none, none]
    assert rules(FULL, timer=False) == [none, (10, 0, 0), none, none]
    assert rules(FULL.replace("respawn = true", keys)) == [none, (3, 4, 0), none, none]
    assert rules(FULL.replace("respawn = true", keys), timer=False)[1] == (3, 0, 0)


@pytest.mark.parametrize("word", ["extract", "collect"])
def test_who_may_extract_and_collect_arrives(word: str) -> None:
    raw = blob(FULL.replace('name = "late"', f'name = "late"\nmay_{word} = true'))
    header = layout().from_buffer("cr_image_header *", raw)
    flags = enums("image.h")[""]
    late = rows(raw, header, "pds", "cr_image_pd")[3]
    assert late.flags == flags["CR_IMAGE_LATE"] | flags[f"CR_IMAGE_MAY_{word.upper()}"]


def test_when_a_kill_comes_arrives() -> None:
    kill = 'how = "kill"\nafter_ns = 5\nspread_ns = 4294967295\nseed = 9'
    raw = blob(FULL.replace('how = "unknown-syscall"', kill))
    header = layout().from_buffer("cr_image_header *", raw)
    found = [
        (c.after_ns, c.spread_ns, c.seed) for c in rows(raw, header, "crashes", "cr_image_crash")
    ]
    assert found == [(0, 0, 0), (5, 0xFFFF_FFFF, 9)]


def test_every_key_of_a_configuration_arrives() -> None:
    raw = blob()
    header = layout().from_buffer("cr_image_header *", raw)
    pds = rows(raw, header, "pds", "cr_image_pd")
    assert [text(pd.name) for pd in pds] == ["nurse", "server", "client", "late"]
    flags = enums("image.h")[""]
    every = flags["CR_IMAGE_PINNED"] | flags["CR_IMAGE_RESPAWN"] | flags["CR_IMAGE_MAY_SPAWN"]
    assert [pd.flags for pd in pds] == [0, every, 0, flags["CR_IMAGE_LATE"]]
    server = pds[1]
    assert (server.priority, server.cspace_bits, server.stack_pages) == (7, 10, 64)
    assert (server.fault_handler, server.pd_depth, server.rs_depth) == (0, 0, INF)
    assert list(server.args) == [1, 0xFFFF_FFFF, 0, 0]
    assert (pds[0].fault_handler, pds[0].pd_depth, pds[0].rs_depth) == (NONE, DEFAULT, DEFAULT)

    spaces = rows(raw, header, "spaces", "cr_image_space")
    found = [(text(space.name), text(space.type), space.pd) for space in spaces]
    assert found == [("disk", "BLOCK", 1), ("tape", "TAPE_0", 1)]
    assert [(r.pd, r.space) for r in rows(raw, header, "requests", "cr_image_request")] == [
        (2, 1),
        (2, 0),
    ]
    assert [(h.pd, h.target) for h in rows(raw, header, "holds", "cr_image_pd_hold")] == [
        (2, 1),
        (2, 0),
    ]
    spawns = rows(raw, header, "spawns", "cr_image_spawn")
    assert [(spawn.pd, spawn.program) for spawn in spawns] == [(1, 1)]
    assert [(link.a, link.b) for link in rows(raw, header, "links", "cr_image_link")] == [(2, 0)]
    how = enums("image.h")["cr_crash_how"]
    crashes = rows(raw, header, "crashes", "cr_image_crash")
    assert [(c.pd, c.checkpoint, c.how, c.by, c.repeat) for c in crashes] == [
        (1, 5, how["CR_CRASH_TERMINATE"], 2, 3),
        (3, 1, how["CR_CRASH_UNKNOWN_SYSCALL"], NONE, 1),
    ]


def test_each_program_is_in_it_once_and_aligned() -> None:
    raw = blob()
    header = layout().from_buffer("cr_image_header *", raw)
    programs = rows(raw, header, "programs", "cr_image_program")
    assert [text(program.name) for program in programs] == ["watcher", "block_server"]
    assert [pd.program for pd in rows(raw, header, "pds", "cr_image_pd")] == [0, 1, 0, 0]
    for program in programs:
        assert program.offset % 16 == 0
        assert raw[program.offset : program.offset + program.bytes] == PROGRAMS[text(program.name)]
    assert b"u" * 1000 not in raw


def test_every_way_to_crash_has_its_number() -> None:
    for name, value in enums("image.h")["cr_crash_how"].items():
        if name == "CR_CRASH_COUNT":
            continue
        written = name.removeprefix("CR_CRASH_").lower().replace("_", "-")
        by = 'by = "b"' if written == "terminate" else ""
        raw = blob(
            '[system]\nname = "s"\n[[pd]]\nname = "a"\nprogram = "watcher"\n'
            '[[pd]]\nname = "b"\nprogram = "watcher"\nholds_pds = ["a"]\n'
            f'[[crash]]\npd = "a"\nhow = "{written}"\n{by}\n'
        )
        header = layout().from_buffer("cr_image_header *", raw)
        assert [crash.how for crash in rows(raw, header, "crashes", "cr_image_crash")] == [value]


def test_same_input_same_bytes_and_another_depth_other_bytes() -> None:
    assert blob() == blob()
    assert blob() != blob(FULL.replace("pd_depth = 2", "pd_depth = 3"))


def test_a_program_that_was_not_built_is_named() -> None:
    config: Config = load_config(CONFIGS / "block_fs_db_app.toml")
    with pytest.raises(
        CellreapError, match='no program is named "block_server"; expected one of app, fs'
    ):
        build_blob(config, {"fs": b"", "app": b""}, "seL4", "x86_64")


def test_names_that_do_not_fit_the_layout_are_refused() -> None:
    config = load_config(CONFIGS / "block_fs_db_app.toml")
    programs = dict.fromkeys(("block_server", "file_server", "database", "app"), b"")
    with pytest.raises(CellreapError, match="too long: expected at most 31 characters"):
        build_blob(config, programs, "k" * 32, "x86_64")
