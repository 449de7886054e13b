# SPDX-License-Identifier: BSD-2-Clause
"""More PDs than the smallest tables of the root task hold, up to 1,004.

One of them crashes. Its cleanup is the same, in the same kernel calls, as among 20 PDs. All others
live. On x86_64 the machine has 2 GiB; on aarch64 the kernel's build decides, and 1 GiB is enough.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cellreap.system.sdk import installed_sdk
from cellreap.testing import Run, Target, together, with_crashes, with_pd
from kit.arches import ARCHES
from kit.counted import COUNTED
from kit.crowds import idle

FEW = 16
BOOTS = [
    (f"{arch}-{kernel}", idlers)
    for idlers in (150, 1000)
    for kernel in ("seL4", "refkernel")
    for arch in ARCHES
    if kernel == "refkernel" or installed_sdk(arch) is not None
]
MEMORY = {"x86_64": ("-m", "2048"), "aarch64": ()}


def cleanup(run: Run) -> tuple[dict[str, int], list[str], list[tuple[str, str]]]:
    """The kernel calls of the first cleanup, what went, and who was told what."""
    calls = run.calls()
    told = [(run.name(event["to"]), event["kind"]) for event in run.of("QUEUE", n=1)]
    return calls, list(run.doomed()), told


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.behaviour("M-11")
@pytest.mark.parametrize(("system", "idlers"), BOOTS)
def test_a_crash_among_a_thousand_is_cleaned_up_as_among_a_few(
    target_of: Callable[[str], Target],
    on_refkernel: Callable[[str], Target],
    system: str,
    idlers: int,
) -> None:
    arch, kernel = system.split("-")
    target = on_refkernel(arch) if kernel == "refkernel" else target_of(arch)
    crash = together(
        with_pd("hasty", respawn=False, respawn_budget=None, respawn_delay_ms=None),
        with_crashes({"pd": "hasty", "at": 2, "how": "page-fault"}),
    )
    args = (*COUNTED, *MEMORY[arch])
    few, many = (
        target.run("counter", change=together(crash, idle(count)), qemu_args=args)
        for count in (FEW, idlers)
    )
    assert [event["cause"] for event in many.cleanups()] == ["fault"]
    names = {"counter", "steady", "leaving", *(f"idler_{number}" for number in range(idlers))}
    assert many.alive() == names
    assert cleanup(many)[1] == ["hasty"]
    assert cleanup(many) == cleanup(few)
