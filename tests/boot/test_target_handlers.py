# SPDX-License-Identifier: BSD-2-Clause
"""The fault of a PD with a fault handler is held until the handler answers or loses it."""

from __future__ import annotations

import pytest

from cellreap.system.config import Config, Pd
from cellreap.testing import Change, Run, Target, together, with_crashes, with_pd
from kit.counted import SLOW_COUNTED
from kit.marks import slow_but

FAULTS = ("page-fault", "cap-fault", "illegal-instruction", "unknown-syscall")
WHAT = ("kind", "address", "ip")


def nurse(**values: object) -> Change:
    """The fault handler with other values."""
    return with_pd("nurse", **values)


KEEPS = nurse(args=(0, 1))


def held(run: Run) -> list[tuple[str, str]]:
    """(PD, its fault handler) of each fault that was held."""
    return [(run.name(e["pd"]), run.name(e["handler"])) for e in run.of("FAULT_HELD")]


@pytest.mark.behaviour("J-08")
@pytest.mark.parametrize("how", slow_but(FAULTS, "page-fault"))
def test_a_handler_continues_a_pd_until_it_leaves_it_to_the_root_task(
    target: Target, how: str
) -> None:
    """A PD that continues repeats the instruction that faulted."""
    run = target.run("nursed", change=with_crashes({"pd": "patient", "at": 2, "how": how}))
    faults = run.of("FAULT_HELD")
    assert held(run) == [("patient", "nurse")] * 3
    assert [run.name(event["pd"]) for event in run.of("resumed THREAD")] == ["patient"] * 2
    (fault,) = run.of("FAULT")
    assert {tuple(event[name] for name in WHAT) for event in (*faults, fault)} == {
        tuple(fault[name] for name in WHAT)
    }
    told = [event["result"] for event in run.of("FINISH_WORK", pd=run.id("nurse"))]
    assert told[:3] == ["ok", "ok", "failed"]
    said = [text for text in run.says("nurse") if text.startswith("fault of PD_")]
    assert len(said) == 3
    assert said[0].endswith(f"address {fault['address']}")
    assert run.doomed(1) == {"patient": "0"}
    assert run.alive() == {"nurse"}


@pytest.mark.behaviour("J-08", "C-22")
def test_a_handler_that_keeps_a_fault_beyond_its_deadline_is_late(target: Target) -> None:
    run = target.run("nursed", change=KEEPS)
    (late,) = run.of("TRIGGER", cause="late")
    assert run.name(late["pd"]) == "nurse"
    assert late.number("ms") >= 200
    (notice,) = run.of("QUEUE", token=late["token"])
    assert (notice["kind"], run.name(notice["node"])) == ("fault", "patient")
    assert run.of("FAULT") == []
    assert run.doomed(1) == {"nurse": "0", "patient": "0"}


def with_visits(config: Config) -> Config:
    """A client of the handler connects and disconnects, again and again."""
    visitor = {"name": "guest", "program": "visitor", "requests": ["ward"], "args": [30, 500_000]}
    return config.model_copy(update={"pds": (*config.pds, Pd.model_validate(visitor))})


@pytest.mark.behaviour("J-08")
def test_other_notices_that_a_handler_finishes_do_not_excuse_it(target: Target) -> None:
    """An instruction takes 8 ns, so the visits take far longer than the deadline."""
    change = together(KEEPS, with_visits)
    run = target.run("nursed", change=change, qemu_args=SLOW_COUNTED)
    (late,) = run.of("TRIGGER", cause="late")
    assert run.name(late["pd"]) == "nurse"
    assert 200 <= late.number("ms") < 300
    (notice,) = run.of("QUEUE", token=late["token"])
    assert notice["kind"] == "fault"
    done = [event for event in run.of("FINISH_WORK") if event["pd"] == late["pd"]]
    assert sum(run.at(notice) < run.at(event) < run.at(late) for event in done) > 2


@pytest.mark.behaviour("J-08")
def test_a_handler_without_a_deadline_loses_the_fault_to_the_root_task(target: Target) -> None:
    """It is not blamed. The notice of the fault stays."""
    change = nurse(args=(0, 1), deadline_ms=0)
    run = target.run("nursed", change=change, passes=False)
    assert not run.of("TRIGGER", cause="late")
    (held_fault,) = run.of("FAULT_HELD")
    (fault,) = run.of("FAULT")
    assert all(fault[name] == held_fault[name] for name in ("pd", *WHAT))
    assert run.doomed(2) == {"patient": "0"}
    assert "nurse" in run.alive()
    assert all("was never acknowledged" in found.text for found in run.report.violations)
