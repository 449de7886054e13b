# SPDX-License-Identifier: BSD-2-Clause
"""A call to a PD that lives and does not answer: who waits at the end is named."""

from __future__ import annotations

import pytest

from cellreap.runs.summary import tell
from cellreap.system.config import Config
from cellreap.testing import Change, Run, Target, together, with_pd
from cellreap.trace.reading import reading_of
from kit.marks import slow_but

BLOCKS, KEEPS, NEVER = 1, 4, 5
SILENT = {
    "keeps what it received": with_pd("last", args=(KEEPS,)),
    "blocks": with_pd("last", args=(BLOCKS,)),
    "receives nothing": with_pd("last", args=(NEVER,)),
}


def waits(run: Run) -> dict[str, tuple[str | None, str | None]]:
    """Name of a PD of which was told at the end -> what it does, and for whom it waits."""
    names = run.report.names
    return {each.name: (each.state, each.on and names[each.on]) for each in run.report.waits}


def expects(*names: str) -> Change:
    """A change: these PDs wait at the end."""

    def change(config: Config) -> Config:
        expect = config.expect.model_copy(update={"waits": names})
        return config.model_copy(update={"expect": expect})

    return change


@pytest.mark.parametrize("how", slow_but(SILENT, "receives nothing"))
def test_who_waits_at_the_end_is_named_with_the_whole_chain(target: Target, how: str) -> None:
    run = target.run("unanswered", change=SILENT[how])
    assert waits(run) == {
        "client": ("call", "server"),
        "server": ("call", "last"),
        "last": ("receive", None),
    }
    told = "\n".join(tell(reading_of(run.report, run.events), run.report.kernel))
    assert "client (PD_3): in a call to server (PD_2)" in told
    assert "server (PD_2): in a call to last (PD_1)" in told
    assert "2 PDs still waiting for an answer" in told
    assert run.report.unexpected == []


def test_a_configuration_says_who_may_wait(target: Target) -> None:
    named = target.run("unanswered", change=expects("client", "server"))
    assert named.report.unexpected == []
    other = target.run("unanswered", change=expects("client"))
    assert [str(each) for each in other.report.unexpected] == [
        "waits: server: it still waits for last: expected it not to"
    ]
    answered = target.run("unanswered", change=together(with_pd("last", args=(3,)), expects()))
    assert waits(answered) == {}
    assert answered.report.unexpected == []
