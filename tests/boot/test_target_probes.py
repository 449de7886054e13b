# SPDX-License-Identifier: BSD-2-Clause
"""Who waits for another PD is not blamed: the one that it waits for must answer a probe."""

from __future__ import annotations

import pytest

from cellreap.system.config import Config
from cellreap.testing import Change, Run, Target, together, with_crashes, with_pd, with_system
from kit.counted import SLOW_COUNTED
from kit.marks import slow_but
from kit.undone import undone

PASSES, BLOCKS, SPINS, SLOW, KEEPS = range(5)
HOWS: dict[str, Change] = {
    "blocks": with_pd("server", args=(BLOCKS,)),
    "spins": with_pd("server", args=(SPINS,)),
    "is frozen": together(
        with_pd("server", args=(SPINS,)),
        with_crashes({"pd": "server", "at": 1, "how": "freeze", "after_ns": 1000}),
    ),
}


def with_cycles(config: Config) -> Config:
    """The requests may form a cycle."""
    policy = config.policy.model_copy(update={"allow_cycles": True})
    return config.model_copy(update={"policy": policy})


def probes(run: Run) -> set[tuple[str, str]]:
    """(PD, the PD that waits for it) of each probe."""
    return {
        (run.name(event["to"]), run.name(event["from"])) for event in run.of("QUEUE", kind="probe")
    }


def late(run: Run) -> list[tuple[str, str]]:
    """The late PDs and the kind of the notice that each did not finish."""
    found = []
    for event in run.of("TRIGGER", cause="late"):
        (notice,) = run.of("QUEUE", token=event["token"])
        assert notice["to"] == event["pd"]
        found.append((run.name(event["pd"]), notice["kind"]))
    return found


def finished(run: Run, name: str) -> list[str]:
    """The kinds of the notices that the PD finished with `ok`."""
    tokens = [e["token"] for e in run.of("FINISH_WORK", result="ok") if run.name(e["pd"]) == name]
    return [run.of("QUEUE", token=token)[0]["kind"] for token in tokens]


@pytest.mark.behaviour("J-07", "X-16")
@pytest.mark.parametrize("how", slow_but(HOWS, "blocks"))
def test_the_server_that_hangs_goes_and_its_client_lives(target: Target, how: str) -> None:
    run = target.run("probes", change=HOWS[how])
    assert probes(run) == {("server", "client")}
    assert late(run) == [("server", "probe")]
    assert run.of("TRIGGER", cause="late")[0].number("ms") >= 100
    assert run.says("client")[0] == "answer: server died"
    assert "disconnect" in finished(run, "client")
    assert "server" not in run.alive()
    assert {"client", "last"} <= run.alive()


@pytest.mark.behaviour("J-07")
def test_the_last_one_of_a_chain_of_calls_is_probed(target: Target) -> None:
    """The server is in a call itself, and is not blamed."""
    run = target.run("probes")
    assert probes(run) == {("last", "client")}
    assert late(run) == [("last", "probe")]
    assert run.says("client")[0] == "answer: server died"  # as the server answered
    assert {"client", "server"} <= run.alive()


@pytest.mark.behaviour("J-07")
def test_all_in_a_circle_of_calls_are_probed(target: Target) -> None:
    """Nobody in the circle can answer, so its calls excuse nobody."""
    change = together(
        with_pd("server", args=(0, 1), requests=("last_space",)),
        with_pd("last", args=(0, 1), requests=("goods",)),
        with_cycles,
    )
    run = target.run("probes", change=change)
    assert probes(run) == {("last", "client"), ("server", "client")}
    assert sorted(late(run)) == [("last", "probe"), ("server", "probe")]
    assert run.says("client")[0] == "answer: server died"
    assert "client" in run.alive()


@pytest.mark.behaviour("J-07")
def test_a_slow_server_that_answers_probes_lives_and_so_does_its_client(target: Target) -> None:
    """The call takes five deadlines and more. The server looks for notices meanwhile."""
    change = together(with_pd("server", args=(SLOW, 0, 200)), with_system(deadline_ms=100))
    run = target.run("probes", change=change, qemu_args=SLOW_COUNTED)
    assert probes(run) == {("server", "client")}
    assert len(run.of("QUEUE", kind="probe")) >= 4
    assert finished(run, "server") == ["probe"] * len(run.of("QUEUE", kind="probe"))
    assert not run.of("TRIGGER", cause="late")
    assert run.says("client")[0] == "answer: ok"
    assert {"client", "server"} <= run.alive()


@pytest.mark.behaviour("J-07")
def test_a_run_ends_beside_a_server_that_answers_probes_and_keeps_its_caller(
    target: Target,
) -> None:
    """Nobody can be blamed, so the scenario does not wait for the client's notice. The report says
    that the client never fetched it.
    """
    change = with_pd("server", args=(KEEPS,))
    run = target.run("probes", change=change, qemu_args=SLOW_COUNTED)
    assert undone(run) == [("client", "never fetched (disconnect front)")]
    assert probes(run) == {("server", "client")}
    assert len(run.of("QUEUE", kind="probe")) >= 2
    assert finished(run, "server").count("probe") >= 2
    assert not run.of("TRIGGER", cause="late")
    assert {"client", "server"} <= run.alive()
    assert run.says("client") == []


@pytest.mark.slow
@pytest.mark.behaviour("J-07")
def test_a_server_without_a_deadline_is_not_probed(target: Target) -> None:
    change = together(with_pd("server", args=(SLOW, 0, 200), deadline_ms=0))
    run = target.run("probes", change=change, qemu_args=SLOW_COUNTED)
    assert not run.of("QUEUE", kind="probe")
    assert not run.of("TRIGGER", cause="late")
    assert run.says("client")[0] == "answer: ok"
