# SPDX-License-Identifier: BSD-2-Clause
"""A PD for Microkit that has a bit of everything comes back many times: nothing adds up, and who
has nothing to do with it runs on.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from cellreap.model.ids import is_channel, is_line, is_memory
from cellreap.runs.boot import End
from cellreap.system.config import Config, Crash
from cellreap.system.microkit.runnable import runnable_system
from cellreap.system.programs import Source
from cellreap.system.sdk import load_sdk
from cellreap.testing import Run, Target, validated
from cellreap.trace.lines import Lines
from kit.counted import COUNTED
from kit.microkit import Microkit, pd

FEW, MANY = 20, 1_000
WORK_NS = 150_000
"""For the start and an interrupt of the PD that comes back, and twenty calls of its peer."""
POLICY = """
[[pd]]
name = "cycled"
respawn = true
callers = "repeat"
"""


def described(microkit: Microkit, folder: Path) -> Source:
    ring = '<map mr="ring" vaddr="0x50000000" perms="rw" setvar_vaddr="ring_vaddr"/>'
    within = (
        '<map mr="clock" vaddr="0x40000000" perms="rw" cached="false"'
        ' setvar_vaddr="clock_registers"/>'
        f'<irq irq="{microkit.board.clock_irq}" id="40" setvar_id="clock_interrupt"/>{ring}'
    )
    system = (
        f'<memory_region name="clock" size="0x1000" phys_addr="{microkit.board.clock:#x}"/>'
        '<memory_region name="ring" size="0x2000"/>'
        + pd("cycled", 'priority="100"', within, "cycled")
        + pd("peer", 'priority="50"', ring, "peer")
        + pd("counter", 'priority="1"', "", "counter")
        + '<channel><end pd="cycled" id="0"/><end pd="peer" id="0"/></channel>'
        + '<channel><end pd="peer" id="1" pp="true"/><end pd="cycled" id="7"/></channel>'
    )
    (folder / "a.system").write_text(f"<system>{system}</system>")
    (folder / "policy.toml").write_text(POLICY)
    made = runnable_system(folder / "a.system", [microkit.programs], folder / "policy.toml")
    return Source(made.config, made.text, folder / "a.system")


def cycles(config: Config, count: int, truth: bool, hz: int) -> Config:
    """It is killed so often, each instance at an instant of its first 2 ms."""
    crash = Crash(
        pd="cycled", how="kill", repeat=count, seed=count, after_ns=50_000, spread_ns=2_000_000
    )
    own: dict[str, dict[str, Any]] = {
        "cycled": {"respawn_budget": count + 1, "respawn_delay_ms": 0},
        "peer": {"symbols": {**config.pds[1].symbols, "interrupts": count // 2}},
        "counter": {"symbols": {"ticks": hz // 1000 * count}},
    }
    pds = tuple(each.model_copy(update=own[each.name]) for each in config.pds)
    system = config.system.model_copy(update={"trace_time": not truth, "truth": truth})
    return validated(config.model_copy(update={"pds": pds, "crashes": (crash,), "system": system}))


def run_of(microkit: Microkit, folder: Path, count: int, truth: bool) -> tuple[Run, str]:
    """The run, in which all answers were right and each instance was fresh; and its console."""
    board = microkit.board
    sdk = load_sdk(microkit.sdk / "board" / board.name / "debug", board.arch)
    run = Target(sdk, folder, (folder,)).boot_read(
        described(microkit, folder),
        change=lambda config: cycles(config, count, truth, board.clock_hz),
        qemu_args=COUNTED,
    )
    assert (run.boot.end, run.report.violations) == (End.COMPLETE, [])
    assert len(run.cleanups()) == count
    with run.trace.open("rb") as file:
        console = Lines().without(file).decode(errors="replace")
    assert "peer: all answers" in console
    assert "WRONG" not in console
    assert "STALE" not in console
    return run, console


@pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.thorough)])
@pytest.mark.behaviour("P-05")
def test_a_pd_that_comes_back_leaves_nothing_behind(
    microkit: Microkit, tmp_path: Path, count: int
) -> None:
    """When there are few cycles, the kernel's word has nothing else."""
    run, _ = run_of(microkit, tmp_path, count, truth=count == FEW)
    there = [row[1] for row in run.last_state()]
    kinds = Counter(
        node.partition("_")[0]
        for node in there
        if is_memory(node) or is_line(node) or is_channel(node)
    )
    assert kinds == {"MO": 2, "VMR": 3, "IRQ": 1, "CHANNEL": 2}
    after = [event for event in run.of("SETTLED") if event["n"] != "0"]
    assert len(after) == count
    assert len({(e["bytes"], e["slots"], e["objects"]) for e in after}) == 1


@pytest.mark.behaviour("P-05")
def test_a_bystander_runs_on(microkit: Microkit, tmp_path: Path) -> None:
    """It counts in turn with nobody, below all others. It loses no more than a cleanup takes, and
    what the PD that came back and its peer then do.
    """
    run, console = run_of(microkit, tmp_path, FEW, truth=False)
    took: list[list[int]] = []
    for event in run.events[1:]:
        assert event.time is not None
        if event.name == "TRIGGER":
            took.append([event.time, event.time])
        elif took and event.name != "END":
            took[-1][1] = event.time
    longest = max(end - begin for begin, end in took[:-1])
    said = dict(re.findall(r"^counter: (\w+) (\d+)\r?$", console, re.MULTILINE))
    lost, worst = (int(said[key]) * 10**9 // microkit.board.clock_hz for key in ("lost", "longest"))
    assert FEW // 2 <= int(said["pauses"]) <= FEW
    assert worst <= longest + WORK_NS
    assert lost <= int(said["pauses"]) * (longest + WORK_NS)
