# SPDX-License-Identifier: BSD-2-Clause
"""A driver that shares a region comes back many times in one boot: nothing adds up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from cellreap.model.ids import is_line, is_memory
from cellreap.system.config import Config, Pd, Region
from cellreap.testing import Change, Target, together, validated
from kit.arches import ARCHES
from kit.marks import thorough_but
from kit.truth_traces import WITH_TRUTH

FEW, MANY = 6, 10_000


def often(cycles: int) -> Change:
    """Each time it also gets a region that a peer has, and one that is its own."""

    def change(config: Config) -> Config:
        (driver,), (clock,), (crash,) = config.pds, config.regions, config.crashes
        driver = driver.model_copy(update={"respawn_budget": 1_000_000, "respawn_delay_ms": 0})
        peer = Pd(name="peer", program="sharer", args=(3,))
        shared = Region.model_validate(
            {
                "name": "shared",
                "size": 12288,
                "map": [
                    {"pd": "driver", "address": 0x4000_1000, "writable": True},
                    {"pd": "peer", "address": 0x4000_0000, "writable": True},
                ],
            }
        )
        own = Region.model_validate(
            {"name": "own", "size": 8192, "map": [{"pd": "driver", "address": 0x4000_4000}]}
        )
        return validated(
            config.model_copy(
                update={
                    "pds": (driver, peer),
                    "regions": (clock, shared, own),
                    "crashes": (crash.model_copy(update={"repeat": cycles}),),
                    "expect": config.expect.model_copy(
                        update={"alive": ("driver", "peer"), "cleanups": cycles}
                    ),
                }
            )
        )

    return change


@pytest.mark.parametrize(
    ("arch", "cycles"),
    thorough_but([(arch, n) for arch in ARCHES for n in (FEW, MANY)], (ARCHES[0], FEW)),
)
def test_a_driver_that_comes_back_leaves_nothing_behind(
    target_of: Callable[[str], Target], arch: str, cycles: int
) -> None:
    """Pages, regions, handlers and masks are as before. When there are few cycles, the kernel's
    word has nothing else.
    """
    truth = [WITH_TRUTH] if cycles == FEW else []
    run = target_of(arch).run(f"driver_{arch}", change=together(*truth, often(cycles)))
    assert len(run.cleanups()) == cycles
    assert run.says("driver").count("interrupted") == 2 * (cycles + 1), "no line stayed masked"
    there = [row[1] for row in run.last_state()]
    kinds = Counter(node.partition("_")[0] for node in there if is_memory(node) or is_line(node))
    ports = {"PORT": 1} if arch == "x86_64" else {}
    assert kinds == {"MO": 3, "VMR": 4, "IRQ": 1, **ports}
    after = [event for event in run.of("SETTLED") if event["n"] != "0"]
    assert len({(e["bytes"], e["slots"], e["objects"]) for e in after}) == 1
    ((costs, _),) = Counter(
        tuple(sorted(run.calls(e.number("n")).items())) for e in run.cleanups()
    ).most_common(1)
    assert all(tuple(sorted(run.calls(e.number("n")).items())) == costs for e in run.cleanups())
    places = {e["paddr"] for e in run.of("BODY") if e["of"] not in there}
    assert len(places) == 6, "the driver, two memory objects, three regions: made there again"
