# SPDX-License-Identifier: BSD-2-Clause
"""What Microkit's own tool makes of a description, and what cellreap makes of it, differ in nothing
that a program can see, but for what docs/microkit.md says.
"""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as xml

import pytest

from cellreap.system.microkit.board import board_facts
from cellreap.system.microkit.runnable import runnable_system
from cellreap.system.sdk import kernel_memory, load_sdk
from kit.microkit import Microkit
from kit.microkit_tool import Facts, of_cellreap, of_microkit, place_of
from kit.restless import written

NEWER = ("setvar_id", "prefill_path", "setvar_prefill_size")
"""Attributes that Microkit 2.0 does not have."""
BUFFER = "__sel4_ipc_buffer"


def as_for_2_0(path: Path) -> set[str]:
    """Leaves out of a description what Microkit 2.0 does not have, and the time of passive PDs, and
    names the default stack. The symbols that are told an address that the tool chooses.
    """
    tree = xml.parse(path)
    for each in tree.iter("memory_region"):
        if "size" not in each.attrib:
            size = path.with_name(each.attrib["prefill_path"]).stat().st_size
            page = int(each.get("page_size", "0x1000"), 0)
            each.set("size", hex(-(-size // page) * page))
    for each in tree.iter():
        for name in NEWER:
            each.attrib.pop(name, None)
        if each.tag == "protection_domain":
            each.attrib.setdefault("stack_size", "0x1000")
            for name in ("budget", "period") if each.get("passive") == "true" else ():
                each.attrib.pop(name, None)
    tree.write(path)
    placed = {each.get("name") for each in tree.iter("memory_region") if each.get("phys_addr")}
    return {
        each.attrib["symbol"]
        for each in tree.iter("setvar")
        if each.attrib["region_paddr"] not in placed
    }


def alike(facts: dict[str, Facts], free: list[int]) -> dict[str, Facts]:
    """Without what each tool chooses freely, and what the page says. free: words of memory."""
    ranks = sorted({pd.priority for pd in facts.values()})
    for pd in facts.values():
        pd.priority = ranks.index(pd.priority)
        for at in free:
            pd.memory = pd.memory[:at] + bytes(8) + pd.memory[at + 8 :]
    return facts


@pytest.mark.parametrize("seeds", [10, pytest.param(300, marks=pytest.mark.thorough)])
@pytest.mark.behaviour("P-03")
def test_a_pd_has_what_microkits_tool_gives_it(
    microkit: Microkit, tmp_path: Path, seeds: int
) -> None:
    """Of random descriptions: program, symbols, capabilities, memory, interrupts, time."""
    sdk = load_sdk(microkit.sdk / "board" / microkit.board.name / "debug", microkit.board.arch)
    facts = board_facts(sdk.options, kernel_memory(sdk.root))
    program = (microkit.programs / "restless.elf").read_bytes()
    for seed in range(seeds):
        path, _ = written(seed, microkit.board, tmp_path)
        free = [place_of(symbol, program, microkit.board) for symbol in (BUFFER, *as_for_2_0(path))]
        theirs = alike(of_microkit(*microkit.tool(path), microkit.board), free)
        made = runnable_system(path, (microkit.programs,), None, facts)
        assert alike(of_cellreap(made, tmp_path, microkit.board), free) == theirs, path.read_text()
        assert list(theirs) == list(of_cellreap(made, tmp_path, microkit.board))
