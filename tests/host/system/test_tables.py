# SPDX-License-Identifier: BSD-2-Clause
"""The size of the root task's tables follows the configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from cellreap import headers
from cellreap.errors import InputError
from cellreap.system.config import Config, parse_config, quotas
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


@pytest.mark.behaviour("M-11")
@pytest.mark.parametrize(
    ("pds", "quota", "doublings"),
    [
        (1, "", 0),
        (127, "", 0),
        (128, "", 1),
        (255, "", 1),
        (256, "", 2),
        (1000, "", 3),
        (1023, "", 3),
        (2, "nodes = 4089", 0),
        (2, "nodes = 4090", 1),
        (2, "edges = 40000", 2),
        (2, "pds = 125", 0),
        (2, "pds = 1021", 3),
        (2, "bytes = 4000000000", 0),
    ],
)
def test_the_tables_are_the_smallest_that_hold_the_system(
    pds: int, quota: str, doublings: int
) -> None:
    assert quotas.doublings(config_of(pds, quota)) == doublings


@pytest.mark.behaviour("M-11")
def test_every_table_is_doubled_and_no_other_limit() -> None:
    tables = {str(name) for name, *_ in headers.table("limits.h", "CR_TABLE_LIMIT")}
    others = {str(name) for name, *_ in headers.table("limits.h", "CR_SYSTEM_LIMIT")}
    for name in tables | others:
        times = 8 if name in tables else 1
        small, large = (headers.constant("limits.h", name, n) for n in (0, 3))
        assert large == small * times, name
    assert headers.constant("limits.h", "CR_IMAGE_MAX_PDS", 3) == 1023
    assert headers.constant("limits.h", "CR_STEP_CALLS", 0) == 255


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

    most = (1 << bits) - 64 - 100
    check(most)
    with pytest.raises(InputError) as refused:
        check(most + 1)
    assert str(refused.value) == (
        's.toml:5: pd[0].program: "large" has 2 bytes, and no program of the system has more; '
        f"the root task's image has {most + 1} pages with all programs; expected at most {most}: "
        f"with KernelRootCNodeSizeBits = {bits} the kernel has slots for no more"
    )
