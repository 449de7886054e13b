# SPDX-License-Identifier: BSD-2-Clause
"""A PD that lives and answers nobody goes by heartbeat_ms or call_ms, and no other PD does."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cellreap.system.config import Config, Pd
from cellreap.testing import Change, Run, Target, together, with_crashes, with_pd
from kit.counted import SLOW_COUNTED
from kit.marks import slow_but, thorough_but

PASSES, BLOCKS, SPINS, SLOW, KEEPS, NONE, COMPUTES, LOSES, BUSY = range(9)
ONCE, AGAIN = 1, 2
LIMIT = 200


def server(how: int, **more: object) -> Change:
    """A change: what the server does with a call."""
    return with_pd("server", args=(how,), **more)


def hung(run: Run) -> list[tuple[str, str | None, bool]]:
    """The PDs that hung, by whose call, and whether each left a probe."""
    found = []
    for event in run.of("TRIGGER", cause="hung"):
        by = event.optional("by")
        found.append((run.name(event["pd"]), by and run.name(by), event["token"] != "0"))
    return found


def causes(run: Run) -> list[tuple[str, str]]:
    """The PD and the cause of each cleanup."""
    return [(run.name(c["trigger"]), c["cause"]) for c in run.cleanups()]


def with_pds(*more: Pd) -> Change:
    """A change: these PDs in addition."""
    return lambda config: config.model_copy(update={"pds": (*config.pds, *more)})


BEATS: dict[str, Change] = {
    "blocks": server(BLOCKS, heartbeat_ms=LIMIT),
    "spins": server(SPINS, heartbeat_ms=LIMIT),
    "computes and is called by nobody": server(COMPUTES, heartbeat_ms=LIMIT),
    "is frozen": together(
        server(SPINS, heartbeat_ms=LIMIT),
        with_crashes({"pd": "server", "at": 1, "how": "freeze", "after_ns": 1000}),
    ),
}
ELSEWHERE: dict[str, Change] = {
    "handles notices and does not answer": server(KEEPS, heartbeat_ms=LIMIT),
    "handles notices and receives no call": server(NONE, heartbeat_ms=LIMIT),
}
BEATS |= ELSEWHERE
CALLS: dict[str, tuple[int, bool]] = {
    "blocks": (BLOCKS, False),
    "spins": (SPINS, True),
    "handles notices and does not answer": (KEEPS, False),
    "handles notices and receives no call": (NONE, False),
    "receives the next call and forgets this one": (LOSES, False),
}
SYSTEMS = ("x86_64-seL4", "aarch64-seL4", "x86_64-refkernel", "aarch64-refkernel", "aarch64-mcs")


@pytest.mark.behaviour("S-05")
@pytest.mark.parametrize("how", slow_but(BEATS, "spins", "handles notices and receives no call"))
def test_a_pd_without_a_heartbeat_goes(target: Target, how: str) -> None:
    run = target.run("kept_call", change=BEATS[how])
    probe = how not in ELSEWHERE
    assert hung(run) == [("server", None, probe)]
    assert run.of("TRIGGER", cause="hung")[0].number("ms") >= (LIMIT if probe else 2 * LIMIT)
    assert causes(run) == [("server", "hung")]
    assert run.says("client")[0] in ("answer: server died", "nobody to call")
    assert run.alive() == {"last", "client"}


@pytest.mark.behaviour("S-05")
@pytest.mark.parametrize("how", slow_but(CALLS, "blocks", "spins"))
def test_who_keeps_a_call_goes_by_the_limit_of_the_caller(target: Target, how: str) -> None:
    """Also of one of lower priority, to which the server leaves no time."""
    does, probe = CALLS[how]
    change = together(server(does, priority=150), with_pd("client", call_ms=LIMIT))
    run = target.run("kept_call", change=change)
    assert hung(run) == [("server", "client", probe)]
    assert run.of("TRIGGER", cause="hung")[0].number("ms") >= (LIMIT if probe else 2 * LIMIT)
    assert causes(run) == [("server", "hung")]
    assert run.says("client")[0] == "answer: server died"
    assert run.alive() == {"last", "client"}


def limited(*names: str, **limits: int) -> Change:
    """A change: the PDs have these limits."""
    return together(*(with_pd(name, **limits) for name in names))


ALL = ("last", "server", "client")


@pytest.mark.behaviour("S-05")
def test_the_last_one_of_a_chain_of_calls_goes(target: Target) -> None:
    """The server waits in a call itself: neither its heartbeat nor its client's limit ends it."""
    change = together(
        with_pd("last", args=(BLOCKS,)),
        server(PASSES, heartbeat_ms=50),
        with_pd("client", call_ms=LIMIT, heartbeat_ms=50),
    )
    run = target.run("kept_call", change=change)
    assert hung(run) == [("last", "client", False)]
    assert run.says("client")[0] == "answer: server died"  # as the server answered
    assert run.alive() == {"server", "client"}


def with_cycles(config: Config) -> Config:
    """The requests may form a cycle."""
    policy = config.policy.model_copy(update={"allow_cycles": True})
    return config.model_copy(update={"policy": policy})


@pytest.mark.slow
@pytest.mark.behaviour("S-05")
@pytest.mark.parametrize("caller", ["client", "server"])
def test_all_in_a_circle_of_calls_go(target: Target, caller: str) -> None:
    """The caller whose limit it is may be outside or in the circle."""
    change = together(
        with_pd("server", args=(PASSES, ONCE), requests=("last_space",)),
        with_pd("last", args=(PASSES, ONCE), requests=("goods",)),
        with_pd(caller, call_ms=LIMIT),
        with_cycles,
    )
    run = target.run("kept_call", change=change)
    assert sorted(hung(run)) == [("last", caller, True), ("server", caller, True)]
    assert run.says("client")[0] == "answer: server died"
    assert run.alive() == {"client"}


@pytest.mark.behaviour("S-05")
def test_a_slow_server_that_answers_probes_stays_with_all_that_wait(target: Target) -> None:
    """The call takes many limits. Meanwhile one PD computes, one waits in a call, and one has
    nothing to do.
    """
    change = together(
        with_pd("server", args=(SLOW, 0, 200)), limited(*ALL, heartbeat_ms=50, call_ms=50)
    )
    run = target.run("kept_call", change=change, qemu_args=SLOW_COUNTED)
    assert not run.of("TRIGGER", cause="hung")
    assert {run.name(event["to"]) for event in run.of("QUEUE", kind="probe")} == {"server"}
    assert len(run.of("QUEUE", kind="probe")) >= 4
    assert run.says("client")[0] == "answer: ok"
    assert run.alive() == set(ALL)


@pytest.mark.behaviour("S-05")
@pytest.mark.parametrize("same", slow_but([0, 1], 1))
def test_a_client_that_calls_again_and_again_harms_no_server(target: Target, same: int) -> None:
    """A look cannot tell its calls from one that lasts, if their registers are the same. Each takes
    a fifth of the limit.
    """
    change = together(
        with_pd("server", args=(BUSY, 0, 5)),
        with_pd("client", args=(PASSES, AGAIN, 60, same)),
        limited(*ALL, heartbeat_ms=50, call_ms=50),
    )
    run = target.run("kept_call", change=change, qemu_args=SLOW_COUNTED)
    assert not run.of("TRIGGER", cause="hung")
    assert len(run.of("QUEUE", kind="probe")) >= 4 * same
    assert run.says("client")[:2] == ["answer: ok", "last answer: ok"]


@pytest.mark.behaviour("S-05")
def test_who_cannot_run_has_not_hung(target: Target) -> None:
    """A PD of higher priority computes for many limits, and the client waits for the server."""
    busy = {"name": "busy", "program": "late_starter", "requests": ["goods"], "args": [12_500_000]}
    change = together(
        server(PASSES, priority=50),
        with_pd("last", args=(BUSY, 0, 1), priority=50),
        limited(*ALL, heartbeat_ms=50, call_ms=50),
        with_pds(Pd.model_validate({**busy, "priority": 150})),
    )
    run = target.run("kept_call", change=change, qemu_args=SLOW_COUNTED)
    assert run.says("busy") == ["computed"]
    assert not run.of("TRIGGER", cause="hung")
    assert run.says("client")[0] == "answer: ok"


@pytest.mark.behaviour("S-05")
def test_who_waits_and_does_not_finish_a_probe_keeps_no_run_from_its_end(target: Target) -> None:
    """Nothing will be decided about it: it waits, and a probe of its heartbeat has no deadline."""
    dawdler = {"name": "dawdler", "program": "dawdler", "heartbeat_ms": LIMIT, "deadline_ms": 100}
    run = target.run("kept_call", change=with_pds(Pd.model_validate(dawdler)))
    assert [run.name(event["to"]) for event in run.of("QUEUE", kind="probe")] == ["dawdler"]
    assert run.says("dawdler") == ["signalled"]
    assert run.alive() == {*ALL, "dawdler"}


@pytest.mark.slow
@pytest.mark.behaviour("S-05")
@pytest.mark.parametrize("system", thorough_but(SYSTEMS, *SYSTEMS[1:3]))
def test_so_on_each_kernel(target_on: Callable[[str], Target], system: str) -> None:
    run = target_on(system).run("kept_call", change=BEATS["blocks"])
    assert hung(run) == [("server", None, True)]
    change = together(server(BLOCKS), with_pd("client", call_ms=LIMIT))
    run = target_on(system).run("kept_call", change=change)
    assert hung(run) == [("server", "client", False)]
