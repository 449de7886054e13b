# SPDX-License-Identifier: BSD-2-Clause
"""riscv64, for which there is no refkernel: every configuration does the same there as on x86_64.

`--acceptance --kernel riscv64` runs what every kernel must pass.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cellreap.testing import Target
from kit.marks import thorough_but
from kit.outcomes import ALL, LONG, compare

SCENARIO = "block_fs_db_app"
KERNELS = ("riscv64", "riscv64-mcs")
VERIFIED = ("hifive-verified", "hifive-mcs-verified")
SYSTEMS = [
    *(f"{name}:{kernel}" for name in ALL if name not in LONG for kernel in KERNELS),
    *(f"{SCENARIO}:{kernel}" for kernel in VERIFIED),
]


@pytest.mark.behaviour("B-08", "C-28")
@pytest.mark.parametrize("system", thorough_but(SYSTEMS, f"{SCENARIO}:hifive-mcs-verified"))
def test_every_configuration_does_the_same(
    target_on: Callable[[str], Target], target_of: Callable[[str], Target], system: str
) -> None:
    name, kernel = system.split(":")
    run = target_on(kernel).run(name)
    assert run.report.kernel.startswith("seL4 ")
    assert run.cleanups()
    console = run.trace.read_text(errors="replace").splitlines()
    (said,) = (line for line in console if line.startswith("cellreap loader:"))
    assert " from firmware, " in said
    assert said.endswith("entered in S mode")
    compare(run, target_of("x86_64").run(name))


@pytest.mark.behaviour("B-03")
@pytest.mark.slow
@pytest.mark.thorough
def test_a_kernel_with_mcs_gives_the_time(target_on: Callable[[str], Target]) -> None:
    run = target_on("riscv64-mcs").run("hang")
    assert run.of("TRIGGER", cause="late")
