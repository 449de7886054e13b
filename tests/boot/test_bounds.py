# SPDX-License-Identifier: BSD-2-Clause
"""What `cellreap build` tells of the longest chains and of memory, held against boots."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable
from pathlib import Path

import pytest

from cellreap.errors import InputError
from cellreap.progress import Progress
from cellreap.runs.qemu import memory_in
from cellreap.system.bounds import Bounds
from cellreap.system.build import build_image
from cellreap.system.config import load_config
from cellreap.system.config.schema import Quota
from cellreap.testing import Change, Target, together, with_pd
from kit.paths import BAD_MEMORY
from kit.truth_traces import WITHOUT_TRUTH

QUIET = Progress(quiet=True)
BAD = sorted(BAD_MEMORY.glob("*.toml"))
NARROW = {
    "block_server_1": Quota(nodes=2, edges=6, spaces=1, types=1, requests=0, tickets=0, maps=0),
    "block_server_2": Quota(nodes=2, edges=6, spaces=1, types=1, requests=0, tickets=0, maps=0),
    "fs": Quota(nodes=3, edges=16, spaces=1, types=1, requests=2, tickets=0, maps=0),
    "db": Quota(nodes=2, edges=9, spaces=1, types=1, requests=1, tickets=0, maps=0),
    "app": Quota(nodes=0, edges=3, spaces=0, types=0, requests=1, tickets=0, maps=0),
}
"""Little more than the PDs of the scenario use."""


def bounds_with(target: Target, name: str, change: Change, folder: Path) -> Bounds:
    text, config = target.load(name)
    made = build_image(change(config), text, target.sdk, folder / "a.img", QUIET)
    return made.bounds


@pytest.mark.behaviour("C-25")
def test_the_largest_cleanup_is_within_its_bound_and_the_bound_is_near(
    target: Target, tmp_path: Path
) -> None:
    """A bound is for all that the quotas allow, in the most expensive way."""
    narrow = together(*(with_pd(name, quota=quota) for name, quota in NARROW.items()))
    bound = bounds_with(target, "block_fs_db_app", narrow, tmp_path).cleanup
    runs = [
        target.run("block_fs_db_app", pd_depth=depth, rs_depth="inf", change=narrow)
        for depth in (0, "inf")
    ]
    steps = max(len(run.of("STEP", n=1)) for run in runs)
    calls = max(sum(run.calls(1).values()) for run in runs)
    assert steps <= bound.steps <= 4 * steps
    assert calls <= bound.kernel_calls <= 6 * calls
    entries = max(len(run.destroys()) + len(run.of("QUEUE")) for run in runs)
    assert entries <= bound.plan_entries <= bound.plan_limit


@pytest.mark.behaviour("C-25")
def test_the_memory_that_is_told_is_what_the_root_task_has(target: Target, tmp_path: Path) -> None:
    """The root task gives all that is free to the only PD that spawns."""
    run = target.run("spawn")
    memory = bounds_with(target, "spawn", WITHOUT_TRUTH, tmp_path).memory
    base = run.of("USAGE")[0]
    assert base.number("bytes") == memory.own
    assert sum(event.number("bytes") for event in run.of("BODY")[:2]) == memory.bodies
    free = max(event.number("bytes") for event in run.of("QUOTA"))
    # The largest untyped is for bodies only, and may be half of the memory.
    assert free + memory.own + memory.bodies <= memory.room <= 2.1 * free
    assert memory.quotas == 0


@pytest.mark.behaviour("X-25")
@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_what_needs_more_memory_than_there_is_is_refused(
    path: Path, target: Target, tmp_path: Path
) -> None:
    image = tmp_path / "a.img"
    with pytest.raises(InputError) as caught:
        build_image(load_config(path), path.read_text(), target.sdk, image, QUIET, path=path)
    said = caught.value.line().replace(str(path), path.name)
    expected = path.with_suffix(".err").read_text().strip().replace("[", "[[]")
    assert fnmatch.fnmatchcase(said, expected)
    assert not image.exists()


@pytest.mark.behaviour("X-25")
def test_a_system_that_does_not_fit_the_emulated_machine_may_fit_a_larger_one(
    target_of: Callable[[str], Target], tmp_path: Path
) -> None:
    """Always on x86_64: a kernel for Arm has the size of its memory built in."""
    target = target_of("x86_64")
    path = BAD_MEMORY / "bodies_beyond_memory.toml"
    image = tmp_path / "a.img"
    text, config = path.read_text(), load_config(path)
    size = memory_in(["-m", "3G"])
    made = build_image(config, text, target.sdk, image, QUIET, path=path, machine_bytes=size)
    assert made.bounds.memory.machine == 3 << 30
    assert made.bounds.memory.bodies == 60 * (16 << 20) < made.bounds.memory.room
