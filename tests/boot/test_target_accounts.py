# SPDX-License-Identifier: BSD-2-Clause
"""Accounts: nobody's use of a table keeps another from its quota, or a PD from coming back.

One server of the configuration claims most of each table, so that the fair shares of the others are
small and soon used. Under -icount no run depends on the machine's load.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from cellreap import headers
from cellreap.model.ids import ROOT
from cellreap.system.config import Config
from cellreap.system.config.quotas import quotas, words
from cellreap.testing import Change, Run, Target, together, with_pd
from cellreap.trace.check import Replay, Report
from kit.arches import ARCHES
from kit.counted import COUNTED
from kit.marks import slow_but, thorough_but

FULL, MEMORY, BUSY = (
    headers.constant("protocol.h", f"CR_RESULT_{name}") for name in ("FULL", "MEMORY", "BUSY")
)
PDS, SPACES, RESOURCES, _, EDGES, TYPES, TICKETS = range(7)  # argument 0 of the fillers
HALF = 32  # of the resources that they make for edges between them
FILLERS = ("greedy", "modest")
BYTES = 900_000
FEW_TICKETS = 8
EVERYONE = {"server", "bystander", "client", "deaf", *FILLERS}


def filling(kind: int) -> Change:
    """What both fillers make, as much as they can."""
    first = {"greedy": "g", "modest": "m"}
    return together(
        *(with_pd(name, args=(kind, 20_000, ord(first[name]), HALF)) for name in FILLERS)
    )


def limited(word: str, number: int) -> Change:
    """Gives both fillers a quota."""

    def change(config: Config) -> Config:
        for name in FILLERS:
            pd = config.pd(name)
            assert pd is not None
            config = with_pd(name, quota=pd.quota.model_copy(update={word: number}))(config)
        return config

    return change


def quota(run: Run, name: str, word: str) -> int:
    """A quota as the root task has it."""
    (event,) = run.of("QUOTA", name=name)
    return event.number(word)


def made(run: Run, name: str, result: int) -> int:
    """How many a filler made before it was refused with this result."""
    match = re.fullmatch(r"made: (\d+), then result (\d+)", run.says(name)[0])
    assert match, run.says(name)
    assert int(match[2]) == result
    return int(match[1])


def check_return(run: Run) -> None:
    """Only the server goes, by its own fault. It comes back with its space, and is asked again."""
    causes = [(run.name(e["trigger"]), e["cause"]) for e in run.cleanups()]
    assert [each for each in causes if each[0] != "idler"] == [("server", "fault")]
    assert (len(run.ids("server")), len(run.ids("goods"))) == (2, 2)
    assert run.alive() >= EVERYONE
    (said,) = run.says("client")
    match = re.fullmatch(r"asked (\d+): answered (\d+), lost 1; bystander: .*, lost 0", said)
    assert match, said
    assert int(match[2]) == int(match[1]) - 1
    again = run.made("REQUEST", from_=run.id("client"), to=run.ids("goods")[1])
    filled = [e for e in run.of("SAY") if run.name(e["pd"]) in FILLERS]
    assert len(again) == 1
    assert run.at(filled[1]) < run.at(run.cleanups()[-1]) < run.at(again[0])


# -- quotas


@pytest.mark.behaviour("J-10")
@pytest.mark.parametrize("arch", slow_but(ARCHES, "x86_64"))
def test_the_quotas_are_those_of_the_host(arch: str, target_of: Callable[[str], Target]) -> None:
    """Also the quotas that the configuration sets, and the shares of what they leave."""
    target = target_of(arch)
    run = target.run("accounts", change=filling(TYPES), qemu_args=COUNTED)
    _, config = target.load("accounts")
    told = run.of("QUOTA")
    assert [(e.number("account"), e["name"]) for e in told] == [
        (i, pd.name) for i, pd in enumerate(config.pds, 1)
    ]
    for word in words():
        if (expected := quotas(config, word)) is not None:
            assert [event.number(word) for event in told] == expected, word
    shares = [event.number("bytes") for event in told]
    assert shares[:4] == [0, 0, 0, 0]
    # A share is reserved in whole blocks. The last ones that are left may be smaller.
    assert 0 <= shares[4] - shares[5] < 1 << 17
    assert shares[5] > 1 << 20
    first = next(event for event in run.of("SPACE") if event["manager"] != ROOT)
    assert run.at(told[-1]) < run.at(first)


# -- all that there is


def most(run: Run, name: str, kind: int) -> int:
    """How many a filler can make by its quotas. Its own space and request keep their room."""
    if kind == EDGES:  # the space, the request, and the resources need 2 each
        return quota(run, name, "edges") - 2 - 2 - 2 * 2 * HALF
    if kind == PDS:
        return quota(run, name, "pds")
    word = {SPACES: "spaces", RESOURCES: "nodes", TYPES: "types"}[kind]
    return quota(run, name, word) - 1


@pytest.mark.behaviour("J-10", "M-11")
@pytest.mark.parametrize("arch", thorough_but(ARCHES, "x86_64"))
@pytest.mark.parametrize(
    "kind",
    thorough_but([RESOURCES, SPACES, EDGES, TYPES, PDS], RESOURCES, EDGES),
    ids=("nodes", "spaces", "edges", "types", "PDs"),
)
def test_who_makes_all_it_can_keeps_nobody_from_its_share_or_from_coming_back(
    kind: int, arch: str, target_of: Callable[[str], Target]
) -> None:
    """The second filler begins when the first has all it gets. Each gets exactly its quota."""
    roomy = together(*(with_pd(name, cspace_bits=7) for name in FILLERS))
    change = together(roomy, filling(kind))
    if kind == TYPES:
        change = together(change, limited("types", 40), limited("spaces", 41))
    run = target_of(arch).run("accounts", change=change, qemu_args=COUNTED)
    check_return(run)
    for name in FILLERS:
        assert made(run, name, FULL) == most(run, name, kind) >= 10


@pytest.mark.slow
@pytest.mark.behaviour("J-10")
def test_spaces_are_nodes_and_take_edges(target: Target) -> None:
    """A quota of nodes limits them, and one of edges: each takes 2."""
    quotas_of = {"greedy": {"nodes": 20}, "modest": {"edges": 30}}

    def limit(config: Config) -> Config:
        for name, most_of in quotas_of.items():
            pd = config.pd(name)
            assert pd is not None
            config = with_pd(name, quota=pd.quota.model_copy(update=most_of))(config)
        return config

    run = target.run("accounts", change=together(filling(SPACES), limit), qemu_args=COUNTED)
    assert made(run, "greedy", FULL) == 20 - 1  # and its own
    assert made(run, "modest", FULL) == (30 - 2 - 2) // 2  # and its own, and its request


@pytest.mark.slow
@pytest.mark.behaviour("J-10", "M-11")
@pytest.mark.parametrize("arch", thorough_but(ARCHES, "aarch64"))
def test_the_memory_of_spawned_pds_is_an_account_too(
    arch: str, target_of: Callable[[str], Target]
) -> None:
    change = together(filling(PDS), limited("bytes", BYTES))
    run = target_of(arch).run("accounts", change=change, qemu_args=COUNTED)
    check_return(run)
    (size,) = {e.number("bytes") for e in run.of("BODY") if run.name(e["of"]) == "idler"}
    for name in FILLERS:
        limit = quota(run, name, "bytes")
        assert 0 < limit <= BYTES
        assert made(run, name, MEMORY) == limit // size >= 4


@pytest.mark.slow
@pytest.mark.behaviour("J-10", "M-11")
@pytest.mark.parametrize("arch", thorough_but(ARCHES, "x86_64"))
def test_tickets_that_are_not_over_count_for_their_account(
    arch: str, target_of: Callable[[str], Target]
) -> None:
    """They wait for a server that takes its time. A fair share is more than one PD may have."""
    change = together(filling(TICKETS), limited("tickets", FEW_TICKETS))
    run = target_of(arch).run("accounts", change=change, qemu_args=COUNTED)
    check_return(run)
    for name in FILLERS:
        assert made(run, name, BUSY) == quota(run, name, "tickets") >= 4


# -- what destroyed PDs leave behind

LIVES = 21


@pytest.mark.behaviour("J-10", "M-11", "N-06", "G-21")
@pytest.mark.parametrize("fetches", slow_but([0, 1], 0), ids=("never fetches", "never finishes"))
@pytest.mark.parametrize("arch", thorough_but(ARCHES, "x86_64"))
def test_a_server_that_acknowledges_nothing_keeps_no_client_from_coming_back(
    arch: str, fetches: int, target_of: Callable[[str], Target]
) -> None:
    """The client may have 8 edges. It leaves a notice behind each time, and connects each time.

    The server is told of all clients at last: one notice stands for those that it has not fetched.
    """
    change = with_pd("shelf", args=(0, fetches))
    run = target_of(arch).run("forgotten", change=change, qemu_args=COUNTED)
    clients = run.ids("client")
    assert len(clients) == LIVES > quota(run, "client", "edges")
    for space in ("kept", "goods"):
        asked = run.made("REQUEST", to=run.id(space))
        assert [event["from"] for event in asked] == clients
    assert run.says("client") == []
    assert run.alive() >= {"shelf", "server"}
    mine = {e["token"] for e in run.of("QUEUE", to=run.id("shelf"), kind="disconnect")}
    assert len(mine) == LIVES
    withdrawn = {event["token"] for event in run.of("withdrawn NOTICE")}
    merged = {event["token"] for event in run.of("merged NOTICE")}
    assert len(merged) == 1
    assert len(withdrawn) > quota(run, "client", "edges")
    assert merged | withdrawn <= mine
    assert len(run.of("fetched NOTICE", pd=run.id("shelf"))) == fetches
    # What the server refers to takes no room from what lives, and is no more than its share.
    replay, most = Replay(Report("trace")), 0
    for event in run.events:
        replay.feed(event)
        most = max(most, replay.context.tombstones.count())
    share = headers.constant("limits.h", "CR_TOMBSTONES_EACH")
    assert LIVES > share + 1 >= most > 1, most
    left = mine - withdrawn
    assert {undone.pd for undone in run.report.undone} == {run.id("shelf")}
    assert len(run.report.undone) == len(left) <= quota(run, "client", "edges") + 1 + fetches


@pytest.mark.slow
@pytest.mark.behaviour("J-10", "N-06")
def test_what_is_left_about_each_space_is_merged_for_itself(target: Target) -> None:
    """The server that acknowledges nothing has both spaces."""

    def of_one_server(config: Config) -> Config:
        pds = {pd.name: pd for pd in config.pds}
        spaces = (*pds["shelf"].spaces, *pds.pop("server").spaces)
        pds["shelf"] = pds["shelf"].model_copy(update={"spaces": spaces, "args": (0, 0)})
        return config.model_copy(update={"pds": tuple(pds.values())})

    run = target.run("forgotten", change=of_one_server, qemu_args=COUNTED)
    about = {event["token"]: event["node"] for event in run.of("QUEUE", kind="disconnect")}
    merged = [about[event["token"]] for event in run.of("merged NOTICE")]
    assert sorted(merged) == sorted(map(run.id, ("kept", "goods")))
    assert len(run.ids("client")) == LIVES
    assert {undone.pd for undone in run.report.undone} == {run.id("shelf")}
