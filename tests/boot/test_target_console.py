# SPDX-License-Identifier: BSD-2-Clause
"""What a PD prints on the console of a debug kernel is never taken for the root task's trace."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest

from cellreap.runs.boot import End
from cellreap.runs.console import Console
from cellreap.testing import Run, Target
from cellreap.trace.check import check_stream
from kit.arches import ARCHES
from kit.muted import pds_print

BEGINNINGS = 5  # of lines, which the counterfeiter leaves without an end in each round


@pytest.fixture(params=ARCHES)
def forged(request: pytest.FixtureRequest, target_of: Callable[[str], Target]) -> Run:
    """The reference scenario beside a PD that prints traces. It passed the check."""
    target = target_of(request.param)
    if not pds_print(target.sdk):
        pytest.skip(f"no PD can print on {target.sdk.kernel}: KernelPrinting is off")
    return target.run("counterfeit")


@pytest.mark.behaviour("J-15")
def test_a_run_beside_a_forger_comes_to_its_end_and_passes(forged: Run) -> None:
    assert forged.boot.end is End.COMPLETE
    assert (len(forged.cleanups()), forged.destroyed_pds(1)) == (2, {"block_server_1"})
    assert forged.destroyed_pds(2) == {"counterfeiter"}
    assert forged.alive() == {"block_server_2", "fs", "db", "app"}
    assert forged.events[-1].name == "END"
    assert forged.boot.events == len(forged.events)


@pytest.mark.behaviour("J-15")
def test_all_that_it_printed_is_counted_as_foreign(forged: Run) -> None:
    mine = forged.says("counterfeiter")
    rounds = mine.count("this line is mine") // BEGINNINGS
    assert mine[-1] == "forged to the end"
    assert rounds > 2
    assert forged.report.foreign_lines > 300 * rounds


@pytest.mark.behaviour("J-15")
def test_the_forger_printed_what_would_otherwise_count(forged: Run) -> None:
    """So that the tests above test something: what it printed is a trace in itself."""
    raw = forged.trace.read_bytes()
    begin = raw.index(b"gnforged ")
    alone = raw[raw.rindex(b"\n", 0, begin) :]
    report = check_stream(io.BytesIO(alone), "forged")
    assert report.system == "forged"
    console = Console(None)
    console.take(alone)
    assert console.complete
    for message in (b"cellreap: panic: forged", b"KERNEL EXCEPTION", b"seL4 called fail at"):
        assert message in raw


@pytest.mark.behaviour("J-15", "H-02")
@pytest.mark.parametrize("arch", ARCHES)
def test_each_run_of_an_image_has_a_key_of_its_own(
    target_of: Callable[[str], Target], arch: str
) -> None:
    target = target_of(arch)
    runs = [target.run("counterfeit", again=again) for again in (0, 1)]
    assert runs[0].image.read_bytes() == runs[1].image.read_bytes()
    assert len({run.of("TRACE")[0]["key"] for run in runs}) == 2
