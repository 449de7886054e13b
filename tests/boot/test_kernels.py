# SPDX-License-Identifier: BSD-2-Clause
"""refkernel behaves as seL4 does, as far as a run shows: the same lists, by name, in order.

Each run has passed the check of its trace. If no seL4 is installed for an architecture, only
refkernel's runs are checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from cellreap.system.refkernel import has_refkernel
from cellreap.system.sdk import installed_sdk
from cellreap.testing import Run, Target
from kit.arches import ARCHES
from kit.marks import slow_but
from kit.outcomes import ALL, LONG, compare

BUILT = [arch for arch in ARCHES if has_refkernel(arch)]
SHORT = [name for name in ALL if name not in LONG]
SCENARIO = "block_fs_db_app"
# Those that stand for the others: between them they use all operations.
ALWAYS = (SCENARIO, "extract", "protocol", "second_crash", "spawn", "subscribed")


@pytest.mark.parametrize(
    ("name", "arch"),
    [
        pytest.param(
            name,
            arch,
            marks=[
                *([] if name == SCENARIO and arch == BUILT[0] else [pytest.mark.slow]),
                *([] if name in ALWAYS and arch == BUILT[0] else [pytest.mark.thorough]),
            ],
        )
        for name in SHORT
        for arch in BUILT
    ],
)
def test_every_configuration_does_the_same_on_both_kernels(
    on_refkernel: Callable[[str], Target], target_of: Callable[[str], Target], arch: str, name: str
) -> None:
    ours = on_refkernel(arch).run(name)
    assert ours.cleanups()
    if installed_sdk(arch) is not None:
        theirs = target_of(arch).run(name)
        compare(theirs, ours)
        assert list(kernel_calls(ours)) == list(kernel_calls(theirs))


def kernel_calls(run: Run) -> Iterator[dict[str, int]]:
    """The kernel calls of each cleanup, by kind."""
    for cleanup in run.cleanups():
        yield run.calls(cleanup.number("n"))


@pytest.mark.parametrize("arch", slow_but(BUILT, BUILT[0]))
def test_its_first_line_says_that_it_is_not_sel4(
    on_refkernel: Callable[[str], Target], arch: str
) -> None:
    target = on_refkernel(arch)
    run = target.run("block_fs_db_app", pd_depth=0, rs_depth=0)
    lines = [line for line in run.trace.read_text(errors="replace").splitlines() if line]
    first = next(line for line in lines if not line.startswith("cellreap loader:"))
    name = f"refkernel {target.sdk.kernel.version}"
    assert first == f"{name} ({arch}): this is not seL4, and nothing about it is verified"
    (trace,) = run.of("TRACE")
    assert trace["kernel"] == name
