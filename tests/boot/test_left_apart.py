# SPDX-License-Identifier: BSD-2-Clause
"""What a cleanup leaves for good holds up only what it touches, and nobody waits for it."""

from __future__ import annotations

import pytest

from cellreap import headers
from cellreap.system.config import Config
from cellreap.testing import Change, Run, Target, together, with_crashes
from kit.marks import slow_but

RELAYS = 2
CONNECT = headers.constant("protocol.h", "CR_OP_CONNECT")
LEFT = {
    "cut-request": "step:4:error:always",
    "destroy-space": "step:5:error:always",
    "destroy-pd": "step:6:error:always",
    "notify": "step:7:error:always",
}
"""Step of the first cleanup -> what has it fail for good."""


def injecting(*failures: str) -> Change:
    """A change: these failures."""

    def change(config: Config) -> Config:
        return config.model_copy(update={"inject": failures})

    return change


def triggers(run: Run) -> list[str]:
    """The triggers of the cleanups, in order."""
    return [run.name(event["trigger"]) for event in run.cleanups()]


def left_at_the_end(run: Run, n: int) -> set[str]:
    """The kinds of the steps that the n-th cleanup leaves at the end."""
    return {step[0] for step in run.report.cleanups[n - 1].left}


@pytest.mark.behaviour("S-11")
@pytest.mark.parametrize("step", slow_but(LEFT, "notify"))
def test_the_next_crash_is_cleaned_up_whatever_the_first_leaves(target: Target, step: str) -> None:
    run = target.run("left_apart", change=injecting(LEFT[step]))
    assert step in left_at_the_end(run, 1)
    assert triggers(run) == ["other_server", "goods_server"]
    assert left_at_the_end(run, 2) == set()
    assert len(run.ids("goods_server")) == 2, "it is created anew"
    (said,) = run.says("stranger")
    assert said.startswith("asked 12: answered 11, lost 1")
    assert run.report.waits == []


@pytest.mark.behaviour("S-11")
def test_a_notice_is_owed_no_more_when_its_receiver_is_gone(target: Target) -> None:
    """The client to which the notice is owed goes too. Then nothing is left."""
    crash = (
        {"pd": "other_server", "at": 3, "how": "page-fault"},
        {"pd": "common", "at": 5, "how": "page-fault"},
    )
    change = together(with_crashes(*crash), injecting(LEFT["notify"]))
    run = target.run("left_apart", change=change)
    assert triggers(run) == ["other_server", "common"]
    notice = run.of("LEFT", n=1)[0]
    assert (notice["step"], run.name(notice["pd"])) == ("notify", "common")
    assert left_at_the_end(run, 1) == set()
    assert "common" not in run.alive()


@pytest.mark.behaviour("S-11")
def test_a_cleanup_that_touches_what_is_left_waits_and_no_pd_does(target: Target) -> None:
    """The server that cannot be destroyed has a request to the one that crashes next."""

    def change(config: Config) -> Config:
        more = {"requests": ("goods",), "args": (RELAYS,)}
        pds = (pd.model_copy(update=more if pd.name == "other_server" else {}) for pd in config.pds)
        return config.model_copy(update={"pds": tuple(pds)})

    run = target.run("left_apart", change=together(change, injecting(LEFT["destroy-pd"])))
    assert "destroy-pd" in left_at_the_end(run, 1)
    assert triggers(run) == ["other_server"]
    assert [run.name(event["pd"]) for event in run.of("FAULT")] == ["other_server", "goods_server"]
    refused = {run.name(event["pd"]) for event in run.of("REFUSE", op=CONNECT)}
    assert "stranger" in refused, "it is told that the space does not come"
    assert run.report.waits == []
