# SPDX-License-Identifier: BSD-2-Clause
"""A server with 100 clients and 14 spaces, and one with 1,000 resources in one client.

Either side crashes. Every other PD acknowledges what it is told within the default deadline, and
lives. Under -icount the time is that of the instructions, so no run depends on the machine's load.
"""

from __future__ import annotations

from collections import Counter

import pytest

from cellreap.testing import Run, Target, together, with_crashes
from kit.counted import COUNTED
from kit.crowds import CLIENT_OF_MANY, SERVER_OF_MANY, many, rich
from kit.marks import thorough_but

SPACES = 14
RESOURCES = 1000


def check(run: Run, gone: str, owed: Counter[str]) -> None:
    """Only one PD is destroyed. The others are told what they are owed, and acknowledge it."""
    assert [event["cause"] for event in run.cleanups()] == ["fault"]
    assert run.doomed() == {gone: "0"}
    assert not run.of("TRIGGER", cause="late")
    told = run.of("QUEUE", n=1)
    assert Counter(run.name(event["to"]) for event in told) == owed
    done = {event["token"] for event in run.of("FINISH_WORK", result="ok")}
    assert {event["token"] for event in told} <= done
    everyone = {run.name(event["id"]) for event in run.of("PD")}
    assert run.alive() == everyone - {gone, "ROOT_TASK"}


@pytest.mark.slow
@pytest.mark.behaviour("J-06", "J-09")
@pytest.mark.parametrize("clients", thorough_but([30, 100], 30))
def test_the_clients_of_many_spaces_of_a_crashed_server_all_live(
    target: Target, clients: int
) -> None:
    change = together(many(clients), with_crashes({**SERVER_OF_MANY, "at": clients // 2}))
    run = target.run("multitude", change=change, qemu_args=COUNTED)
    names = ["client", *(f"client_{i}" for i in range(1, clients))]
    check(run, "server", Counter(dict.fromkeys(names, SPACES) | {"bystander": 1}))
    # The round in which the server crashes: those that called it were answered or told.
    said = [text for name in names for text in run.says(name)]
    assert len(said) == clients
    told = [text.removeprefix(f"connected {SPACES}, took 1, lost {SPACES}, ") for text in said]
    assert set(told) <= {"server died 0", "server died 1"}
    assert "server died 1" in told


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.behaviour("J-06")
def test_a_server_of_many_lives_when_one_of_its_clients_crashes(target: Target) -> None:
    run = target.run("multitude", change=many(100), qemu_args=COUNTED)
    check(run, "client", Counter(server=SPACES + 1))  # each space, and the resource


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.behaviour("J-06")
def test_a_server_acknowledges_a_thousand_resources_of_a_crashed_client(target: Target) -> None:
    run = target.run("multitude", change=rich(RESOURCES, CLIENT_OF_MANY), qemu_args=COUNTED)
    check(run, "client", Counter(server=SPACES + RESOURCES))
    assert len(run.of("DELETE")) == RESOURCES


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.behaviour("J-06")
def test_a_client_of_a_thousand_resources_lives_when_the_server_crashes(target: Target) -> None:
    run = target.run("multitude", change=rich(RESOURCES, SERVER_OF_MANY), qemu_args=COUNTED)
    check(run, "server", Counter(client=SPACES, bystander=1))
    assert len(run.plan()["revoked"]) == RESOURCES
