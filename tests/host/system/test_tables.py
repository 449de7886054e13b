# SPDX-License-Identifier: BSD-2-Clause
"""The size of the root task's tables follows the configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from cellreap import headers
from cellreap.errors import InputError
from cellreap.system.config import Config, parse_config, quotas, tables
from cellreap.system.config.tables import bytes_of
from cellreap.system.elf import Executable, Segment
from cellreap.system.memory import check_slots
from cellreap.system.programs import Source

PAGE = 4096


def text_of(pds: int, quota: str = "") -> str:
    """A configuration of so many PDs, of which the first one has a quota."""
    rows = "".join(f'[[pd]]\nname = "p{i}"\nprogram = "p"\n' for i in range(1, pds))
    first = f'[[pd]]\nname = "p0"\nprogram = "large"\n[pd.quota]\n{quota}\n'
    return f'[system]\nname = "s"\n{first}{rows}'


def config_of(pds: int, quota: str = "") -> Config:
    """The same, read."""
    return parse_config(text_of(pds, quota), Path("s.toml"))


@pytest.mark.behaviour("L-05", "M-11")
@pytest.mark.parametrize(
    ("pds", "quota", "wanted"),
    [
        (1, "", {"pds": 10, "nodes": 1045, "edges": 3119, "spaces": 130, "close": 0}),
        (1000, "", {"pds": 1024, "nodes": 3073, "edges": 29117, "tickets": 2000, "pool": 8192}),
        (1023, "", {"pds": 1024, "tombstones": 4096, "bodies": 2048}),
        (2, "nodes = 4090", {"nodes": 5137, "edges": 3124}),
        (2, "edges = 40000", {"nodes": 1047, "edges": 43124}),
        (2, "pds = 125", {"pds": 136, "blocks": 2048}),
        (2, "pds = 1021", {"pds": 1024}),
        (2, "bytes = 4000000000", {"pds": 11}),
    ],
)
def test_the_tables_are_as_large_as_the_system_needs(
    pds: int, quota: str, wanted: dict[str, int]
) -> None:
    sizes = tables(config_of(pds, quota))
    assert {word: sizes[word] for word in wanted} == wanted
    rows = headers.table("limits.h", "CR_TABLE_LIMIT")
    assert all(sizes[str(word)] <= int(most) for _, most, word, *_ in rows)


@pytest.mark.behaviour("L-05", "S-15")
@pytest.mark.parametrize("policy", ["metric", "both"])
def test_what_is_close_has_a_table_if_the_policy_asks_for_it(policy: str) -> None:
    text = f'{text_of(2)}[policy]\npolicy = "{policy}"\nfr_max = 2\n'
    sizes = tables(parse_config(text, Path("s.toml")))
    assert sizes["close"] == sizes["nodes"] + sizes["tombstones"]


def test_a_pd_that_may_spawn_shares_what_is_left_of_the_entries_for_pds() -> None:
    text = text_of(2).replace('program = "large"', 'program = "large"\nspawns = ["p"]')
    config = parse_config(text, Path("s.toml"))
    assert tables(config)["pds"] == 3 + 8 + 112
    assert quotas.quotas(config, "pds") == [120, 0]


@pytest.mark.behaviour("L-05")
@pytest.mark.parametrize(("pds", "most"), [(15, 4 << 20), (1000, 40 << 20)])
def test_the_tables_take_no_more_memory_than_they_may(pds: int, most: int) -> None:
    """Each PD has a request, and none has a quota. A boot shows what the image itself takes."""
    space = '[[pd.space]]\nname = "s0"\ntype = "T"\n'
    clients = "".join(
        f'[[pd]]\nname = "p{i}"\nprogram = "p"\nrequests = ["s0"]\n' for i in range(1, pds)
    )
    text = f'[system]\nname = "s"\n[[pd]]\nname = "p0"\nprogram = "p"\n{space}{clients}'
    size = bytes_of(tables(parse_config(text, Path("s.toml"))))
    assert most / 2 < size < most - (1 << 20)


@pytest.mark.parametrize("bits", [12, 16])
def test_an_image_with_more_pages_than_slots_is_refused_with_the_largest_program(bits: int) -> None:
    text = text_of(3)
    source = Source(parse_config(text, Path("s.toml")), text, Path("s.toml"))
    programs = {"p": b"1", "large": b"22"}
    options = {"ROOT_CNODE_SIZE_BITS": str(bits)}

    def check(pages: int) -> None:
        segment = Segment(0, PAGE, PAGE, 0, memory_bytes=pages * PAGE, flags=0, align=PAGE)
        root_task = Executable("root", "x86_64", 0, (segment,), b"")
        check_slots(source, programs, root_task, options)

    most = (1 << bits) - 64 - 100 - 69
    check(most)
    with pytest.raises(InputError) as refused:
        check(most + 1)
    assert str(refused.value) == (
        's.toml:5: pd[0].program: "large" has 2 bytes, and no program of the system has more; '
        f"the root task's image has {most + 1} pages with all programs; expected at most {most}: "
        f"with KernelRootCNodeSizeBits = {bits} the kernel has slots for no more"
    )
