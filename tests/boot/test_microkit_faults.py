# SPDX-License-Identifier: BSD-2-Clause
"""Faults in the machine code of PDs of sDDF's serial system: whatever they do, the PD comes back,
and no other one goes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Final

import pytest

from cellreap.runs.boot import End
from kit.counted import SLOW_COUNTED
from kit.faults_in_code import OUTCOMES, Fault, Injector, Result, experiment, faults_in, results
from kit.sddf import back, boot_of, killed, systems

CODE: Final = {
    "serial_driver": ("init", "notified", "tx_provide", "rx_return", "main"),
    "serial_virt_rx": ("init", "notified", "rx_return", "reset_state", "main"),
}
"""All that runs of these PDs: the rest is for messages."""
LIFE_NS: Final = 60_000_000
"""For each instance, if its fault does not end it before: its limit is a third of that."""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def serial(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return systems(tmp_path_factory, "serial") / "serial"


def booted(serial: Path, name: str, faults: Sequence[Fault], folder: Path) -> list[Result] | None:
    """The faults in one boot. Their queues are empty when the PD comes back."""
    folder.mkdir()
    described = (serial / "serial.system").read_text()
    queues = [
        region
        for region in re.findall('memory_region name="([^"]*/queue/[^"]*)"', described)
        if name in region
    ]
    policy = back(name) + "heartbeat_ms = 20\n"
    policy += "".join(f'[[region]]\nname = "{queue}"\nafter = "zero"\n' for queue in queues)
    injector = Injector(folder, (serial / f"{name}.elf").read_bytes(), name, faults)
    lives = 2 * len(faults) + 1
    injector.start()
    run = boot_of(
        serial / "serial.system",
        [serial],
        policy,
        folder,
        change=killed(name, lives, {name: {"respawn_budget": 2 * lives}}, LIFE_NS),
        typed=injector.typed,
        qemu_args=(*SLOW_COUNTED, *injector.qemu_args),
    )
    found = results(run, injector)
    return None if run.boot.end is not End.COMPLETE or run.report.violations else found


@pytest.mark.parametrize("name", CODE)
@pytest.mark.behaviour("P-06")
def test_what_a_fault_in_its_code_does_to_a_pd_is_over_when_it_comes_back(
    serial: Path, tmp_path: Path, pytestconfig: pytest.Config, name: str
) -> None:
    """No other PD is destroyed. If it crashes or hangs, its next instance passes all on that comes.
    If it floods its peers, they still have that to pass on. --faults: how many.
    """
    count, elf = int(pytestconfig.getoption("--faults")), (serial / f"{name}.elf").read_bytes()
    faults = list(islice(faults_in(elf, CODE[name], seed=1), count))
    boots = iter(range(2 * count))

    def boot(batch: Sequence[Fault]) -> list[Result] | None:
        return booted(serial, name, batch, tmp_path / str(next(boots)))

    found = list(experiment(faults, boot))
    judged = [each for each in found if isinstance(each, Result)]
    assert len(judged) == len(found) == count
    told = Counter(each.outcome for each in judged)
    print(f"\n{name}: ", *(f"{outcome}: {told[outcome]}" for outcome in OUTCOMES))
    down = [each for each in judged if each.outcome in OUTCOMES[:2]]
    assert down
    assert [each for each in down if not each.recovered] == []
    assert [each for each in judged if not each.alone] == []
