# SPDX-License-Identifier: BSD-2-Clause
"""A PD that sends 100,000 messages of all kinds: the root task goes on, and nobody else notices.

Every run has passed the check of its trace against the reference model before a test sees it: whatever a
message of chance brought about, the root task's state was legal, and as its events say.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from target import Run, Target

from cellreap.config import Config
from cellreap.headers import enums
from cellreap.sdk import ARCHES

BYSTANDERS = ("block_server_1", "block_server_2", "fs", "db", "app")
MESSAGES = 100_000
RESULT = enums("protocol.h")["cr_result"]
SAID = re.compile(r"sent (\d+): answered (\d+), refused (\d+)")


def _alone(config: Config) -> Config:
    """The configuration without the one that fuzzes and what is there for it."""
    return config.model_copy(update={"pds": tuple(pd for pd in config.pds if pd.name in BYSTANDERS)})


def _words(run: Run, name: str) -> list[str]:
    """What a PD said, without numbers of PDs and spaces: others that come and go use up some."""
    return [re.sub(r"(PD_|space )[0-9a-f]+", r"\1N", text) for text in run.says(name)]


@pytest.fixture(params=ARCHES)
def fuzzed_target(request: pytest.FixtureRequest, target_of: Callable[[str], Target]) -> Target:
    return target_of(str(request.param))


@pytest.fixture
def fuzzed(fuzzed_target: Target) -> Run:
    return fuzzed_target.run("fuzz")


def test_it_sends_all_its_messages_and_lives(fuzzed: Run) -> None:
    (said,) = [match for match in map(SAID.fullmatch, fuzzed.says("fuzzer")) if match]
    sent, answered, refused = map(int, said.groups())
    assert sent == MESSAGES
    assert answered > 1000
    assert refused > 1000
    assert "fuzzer" in fuzzed.alive()


def test_others_work_beside_it_as_they_do_without(fuzzed_target: Target, fuzzed: Run) -> None:
    alone = fuzzed_target.run("fuzz", change=_alone)
    for name in BYSTANDERS:
        assert _words(fuzzed, name) == _words(alone, name)
    assert any(_words(alone, name) for name in BYSTANDERS)
    assert set(BYSTANDERS) - fuzzed.alive() == {"block_server_1"}


def test_the_crash_beside_it_is_cleaned_up_as_without(fuzzed_target: Target, fuzzed: Run) -> None:
    alone = fuzzed_target.run("fuzz", change=_alone)

    def crash(run: Run) -> tuple[object, ...]:
        (cleanup,) = [event for event in run.cleanups() if run.names[event["trigger"]] == "block_server_1"]
        n = cleanup.number("n")
        return run.doomed(n), sorted(run.destroyed(n)), run.notices(n)

    assert crash(fuzzed) == crash(alone)
    assert [fuzzed.names[event["pd"]] for event in fuzzed.of("FAULT")].count("block_server_1") == 1


def test_nobody_but_the_crash_and_the_fuzzer_brings_anybody_down(fuzzed: Run) -> None:
    """It may terminate what it has a capability to, and report the faults of its prey."""
    down = {fuzzed.names[event["trigger"]] for event in fuzzed.cleanups()}
    assert {"block_server_1", "prey"} <= down <= {"block_server_1", "prey", "idler"}
    assert fuzzed.of("EXIT") == []


def test_deep_paths_are_reached(fuzzed: Run) -> None:
    """Else nothing much would have been tried."""
    fuzzer = fuzzed.id("fuzzer")
    made = {event["manager"] for event in fuzzed.of("SPACE")}
    assert fuzzer in made
    assert fuzzed.of("FETCH", pd=fuzzer)
    assert fuzzed.of("ACK", pd=fuzzer)
    assert {event["name"] for event in fuzzed.of("PD")} >= {"idler", "prey"}
    refused = {event.number("status") for event in fuzzed.of("REFUSE", pd=fuzzer)}
    assert refused >= {
        RESULT[f"CR_RESULT_{name}"] for name in ("BAD_MAGIC", "BAD_LENGTH", "DENIED", "NO_SUCH")
    }
