# SPDX-License-Identifier: BSD-2-Clause
"""PDs that behave badly: nothing that they do decides how they are cleaned up."""

from __future__ import annotations

import pytest

from cellreap import headers
from cellreap.system.config import Config
from cellreap.system.config.schema import Quota
from cellreap.testing import Change, Run, Target, together, with_pd
from kit.freed import bodies_of, freed
from kit.marks import WITH_MCS, thorough_but

pytestmark = pytest.mark.acceptance("hostile")

FULL, UNACKED = (
    headers.constant("protocol.h", f"CR_RESULT_{name}") for name in ("FULL", "UNACKED")
)
GIVE = headers.constant("protocol.h", "CR_OP_GIVE")
LOST_SLOTS = headers.constant("limits.h", "CR_MAX_LOST_SLOTS")


@pytest.fixture
def scribble(target: Target) -> Run:
    return target.run("scribble")


@pytest.mark.behaviour("D-09", "D-08")
@pytest.mark.kernels.with_args(*WITH_MCS)
def test_a_client_that_overwrites_its_memory_goes_as_any_dependent_does(scribble: Run) -> None:
    assert scribble.says("scribbler") == ["scribbling over all my memory"]
    assert scribble.doomed(2) == {"block_server_1": "0", "fs": "1", "scribbler": "1"}
    assert scribble.notices(2) >= {
        ("block_server_2", "free", "disk2:3", "scribbler"),
        ("block_server_2", "disconnect", "disk2", "scribbler"),
    }


@pytest.mark.behaviour("D-08", "C-01")
def test_a_pd_that_overwrote_its_memory_can_be_terminated(scribble: Run) -> None:
    first = scribble.cleanups()[0]
    assert (scribble.names[first["trigger"]], first["cause"]) == ("scribbler2", "terminate")
    assert scribble.doomed(1) == {"scribbler2": "0"}
    assert scribble.alive() == {"block_server_2", "db", "app"}


@pytest.mark.behaviour("D-08", "D-05")
def test_what_it_was_made_of_is_free(scribble: Run) -> None:
    numbers = [cleanup.number("n") for cleanup in scribble.cleanups()]
    gone = set[str]().union(*map(scribble.destroyed_pds, numbers))
    assert gone >= {"scribbler", "scribbler2"}
    for n in numbers:
        assert freed(scribble, n) == bodies_of(scribble, n) > 0


# -- false claims

FORGED = [
    "a request that there is not",
    "a request's badge beyond the table",
    "a PD's badge for a request's",
    "guessed badges hit others' requests and are denied",
    "taking back from another's client",
    "nobody is told of a fault but its handler",
    "a space's number and 2^32 more",
    "an object's number and 2^32 more",
    "the largest number",
    "no number",
    "a core space",
    "a PD capability that it does not hold",
    "a depth that is too large",
    "work that was not handed out",
    "more work than fits",
    "less work than is said",
    "a line longer than allowed",
    "a line longer than the message",
    "a core type",
    "a type in small letters",
    "a space without a name",
    "a name with a blank",
    "a name that is another's",
    "a name that it may not ask for",
    "a name that there is not",
    "a second space",
    "releasing what it serves",
    "mapping another's block",
    "mapping a resource to a space",
    "mapping a resource to itself",
    "mapping its space to the disk",
    "the same again",
    "mapping its second space to the first",
    "a circle of maps",
    "deleting its second space",
    "what it holds and does not serve",
    "calling a PD capability",
    "a label beyond all operations",
    "most slots are not its own",
    "what only a root task may do",
    "a notice comes",
    "of the space that is lost",
    "one right and one made up",
    "one twice",
    "what was refused changed nothing",
    "once more",
]


@pytest.fixture
def forged(target: Target) -> Run:
    return target.run("forge")


@pytest.mark.behaviour("R-02", "R-03", "N-10", "M-07", "D-08")
@pytest.mark.parametrize("name", FORGED)
def test_a_claim_that_is_not_so_is_refused(forged: Run, name: str) -> None:
    assert [text for text in forged.says("forger") if text.startswith(f"check {name}: ")] == [
        f"check {name}: ok"
    ]


@pytest.mark.behaviour("D-08")
@pytest.mark.kernels.with_args(*WITH_MCS)
def test_nobody_but_the_one_that_crashes_comes_to_harm(forged: Run) -> None:
    said = forged.says("forger")
    assert said[:-1] == [f"check {name}: ok" for name in FORGED]
    assert said[-1] == "all checks made"
    assert [forged.names[event["pd"]] for event in forged.of("FAULT")] == ["block_server_1"]
    assert forged.alive() == {"block_server_2", "both", "forger"}
    assert forged.says("both")[-1] == "at the end: block: ok; request: bad request"


@pytest.mark.behaviour("N-10", "N-14")
def test_a_notice_is_finished_by_the_one_acknowledgement_that_is_accepted(forged: Run) -> None:
    """Three messages are refused: a made-up token beside it, the token twice, and a repeat."""
    forger = forged.id("forger")
    (ack,) = forged.of("FINISH_WORK", pd=forger)
    refused = [
        forged.at(event) for event in forged.of("REFUSE", pd=forger, op=18) if forged.cleanups()
        and forged.at(event) > forged.at(forged.cleanups()[0])
    ]  # fmt: skip
    assert len(refused) == 3
    assert refused[1] < forged.at(ack) < refused[2]


# -- faults while notices are handled


@pytest.fixture
def fragile(target: Target) -> Run:
    return target.run("fragile")


@pytest.mark.behaviour("C-02", "N-09")
def test_a_crash_at_being_told_of_a_crash_is_cleaned_up_and_so_is_the_next(fragile: Run) -> None:
    triggers = [fragile.names[event["trigger"]] for event in fragile.cleanups()]
    assert triggers == ["block_server_1", "fragile_client", "fragile_server"]
    assert [fragile.destroyed_pds(n) for n in (1, 2, 3)] == [{name} for name in triggers]
    assert fragile.alive() == {"steady"}
    assert fragile.says("steady")[-1] == "at the end: block: server died; request: server died"


@pytest.mark.behaviour("N-09", "N-14")
def test_what_a_dead_receiver_was_owed_goes_to_nobody_else(fragile: Run) -> None:
    """A notice that was handed out and not finished is not handed out again."""
    fetched = [event["token"] for event in fragile.of("fetched NOTICE")]
    finished = [event["token"] for event in fragile.of("FINISH_WORK")]
    assert len(set(fetched)) == len(fetched)
    owed = {event["token"]: fragile.names[event["to"]] for event in fragile.of("QUEUE")}
    assert {owed[token] for token in finished} == {"steady"}
    assert {owed[token] for token in set(fetched) - set(finished)} == {
        "fragile_client",
        "fragile_server",
    }
    assert {owed[token] for token in set(owed) - set(fetched)} == {"fragile_server"}


# -- servers that remove what clients call


def _cut(take: int, caller: int, *, calls: int = 1, fails: bool = True) -> Change:
    """take: 0 the hold, 1 the resource, 2 the space, 3 nothing.

    caller: 1 drops its request, 2 calls the server.
    """

    def change(config: Config) -> Config:
        config = with_pd("cutter", args=(take, int(fails)))(config)
        return with_pd("caller", args=(calls, caller))(config)

    return change


@pytest.mark.slow
@pytest.mark.behaviour("C-21")
@pytest.mark.parametrize(
    ("take", "caller"),
    [(3, 0), (3, 1), (3, 2), (0, 0), (1, 0), (1, 1), (2, 2)],
    ids=[
        "nothing",
        "nothing, a hold only",
        "nothing, by request",
        "the hold",
        "the resource",
        "the resource, a hold only",
        "the space",
    ],
)
def test_a_caller_is_answered_whatever_its_server_took_away_before_it_died(
    target: Target, take: int, caller: int
) -> None:
    """No PD is blocked on a destroyed PD, even if the called object was deleted before the PD."""
    run = target.run("cut", change=_cut(take, caller))
    assert run.doomed() == {"cutter": "0"}
    assert run.says("caller")[:1] == ["calls: 1; the last: server died"]


@pytest.mark.slow
@pytest.mark.behaviour("C-19", "R-06", "R-07", "J-02")
@pytest.mark.parametrize("take", [0, 1], ids=["taken back", "deleted"])
def test_a_slot_can_be_used_again_once_its_loss_is_acknowledged(target: Target, take: int) -> None:
    """More resources in succession than the caller's CSpace has slots: 64."""
    acknowledges = with_pd("caller", args=(100, 0, 1))
    run = target.run("cut", change=together(_cut(take, 0, fails=False), acknowledges))
    assert run.says("caller") == ["calls: 100; the last: ok"]


@pytest.mark.slow
@pytest.mark.behaviour("C-19", "J-02", "M-11")
@pytest.mark.parametrize("take", [0, 1], ids=["taken back", "deleted"])
def test_who_acknowledges_no_loss_is_soon_given_nothing_more(target: Target, take: int) -> None:
    run = target.run("cut", change=_cut(take, 0, calls=300, fails=False))
    assert run.says("caller")[0] == f"calls: {LOST_SLOTS}; the last: ok"
    (refused,) = run.of("REFUSE", pd=run.id("cutter"))
    assert (refused["op"], refused.number("status")) == (str(GIVE), UNACKED)


# -- PDs that never listen


@pytest.fixture
def hung(target: Target) -> Run:
    return target.run("hung")


@pytest.mark.slow
@pytest.mark.behaviour("J-09", "N-09", "M-11")
def test_a_server_may_let_its_notices_pile_up_and_nobody_goes(hung: Run) -> None:
    """It is destroyed only when it is terminated, and so is nobody else but who crashes."""
    causes = [(hung.names[event["trigger"]], event["cause"]) for event in hung.cleanups()]
    ends = [("deaf", "terminate"), ("comer", "exit")]
    assert causes == [("hoarder", "fault"), ("hoarder", "fault"), *ends]
    assert hung.doomed(3) == {"deaf": "0"}
    assert hung.alive() == {"bystander_server", "bystander", "hoarder"}
    assert hung.of("fetched NOTICE", pd=hung.id("deaf")) == []
    assert [*hung.of("TRIGGER", cause="late"), *hung.of("GIVE_UP")] == []
    owed = [event for event in hung.of("QUEUE") if event["to"] == hung.id("deaf")]
    assert len(owed) == 2 * (50 + 1) + 950  # of the hoarders, and of the client that comes and goes
    assert max(hung.at(event) for event in owed) < hung.at(hung.cleanups()[2])


@pytest.mark.slow
@pytest.mark.behaviour("J-09", "N-09")
def test_its_clients_are_served_until_it_goes_and_are_told_then(hung: Run) -> None:
    assert hung.says("hoarder")[:-1] == ["resources: 50"] * 3
    assert hung.says("hoarder")[-1].startswith("told: I have lost space ")
    assert hung.says("comer") == ["came and went: 950, then 0"]
    assert hung.says("bystander")[0] == "resources: 3"


# -- limits

SPACIOUS = with_pd("filler", quota=Quota(spaces=600, nodes=600, edges=1200))
"""So many spaces."""


@pytest.mark.slow
@pytest.mark.behaviour("M-11")
@pytest.mark.parametrize(
    ("kind", "least"), thorough_but([(0, 120), (1, 500)], (0, 120)), ids=["PDs", "spaces"]
)
def test_who_uses_up_what_there_is_gets_an_error_and_can_go_on(
    target: Target, kind: int, least: int
) -> None:
    run = target.run("fill", change=together(with_pd("filler", args=(kind, 20000)), SPACIOUS))
    said = run.says("filler")
    made, result = (int(word) for word in said[0].removeprefix("made: ").split(", then result "))
    assert made >= least
    assert result == FULL
    assert said[1] == f"one given back: 0, one made: 0, one more: {FULL}"


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.behaviour("M-11", "D-05")
def test_who_used_up_all_spaces_leaves_nothing_behind(target: Target) -> None:
    """The PD crashes with all it has, is respawned, and can create as many as the first time."""
    run = target.run("fill", change=together(with_pd("filler", args=(1, 20000)), SPACIOUS))
    assert run.doomed() == {"filler": "0"}
    assert len(run.deleted_spaces()) > 500
    said = run.says("filler")
    assert len(said) == 4
    assert said[:2] == said[2:]
    assert run.calls() == {"suspend": 1, "revoke": 2, "delete": 1}


@pytest.mark.slow
@pytest.mark.behaviour("M-11")
def test_a_client_without_a_free_slot_gets_an_error_and_its_server_keeps_the_block(
    target: Target,
) -> None:
    """6 bits of CSpace: 64 slots, of which 8 are the PD's own and one holds its request."""
    run = target.run("hoard")
    assert run.says("hoarder") == ["resources: 55"] * 4
    refused = run.of("REFUSE", pd=run.id("block_server_1"))
    assert {(event["op"], event["status"]) for event in refused} == {("10", str(FULL))}
    assert len(refused) == 4
    assert len([event for event in run.of("RESOURCE") if event["space"] == run.id("disk1")]) == 56
