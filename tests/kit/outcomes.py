# SPDX-License-Identifier: BSD-2-Clause
"""What the cleanups of a run did, by name, so that runs can be compared."""

from __future__ import annotations

from dataclasses import dataclass

from cellreap.system.config import Depth
from cellreap.testing import Run
from cellreap.trace.events import Event
from kit.paths import CONFIGS

ALL = sorted(path.stem for path in CONFIGS.glob("*.toml"))
# These runs have thousands of events. The smaller ones show that the events are the same.
LONG = {"hung", "respawn"}


@dataclass(frozen=True)
class Outcome:
    """What one cleanup did, by name.

    Lists are in the order of the trace, except where there is no order.
    """

    trigger: str
    cause: str
    doomed: dict[str, str]
    destroyed: list[str]
    revoked: list[tuple[str, str]]
    lost_requests: list[tuple[str, str]]
    notices: list[tuple[str, str, str, str]]
    bodies: list[str]


def outcomes(run: Run) -> list[Outcome]:
    """What each cleanup of a run did.

    Resources are numbered anew, in the order in which they go: which one a server gives to which of
    its clients depends on who asks first.
    """
    found = []
    gone: dict[str, int] = {}

    def anew(node: str) -> str:
        space, colon, _ = node.rpartition(":")
        return f"{space}:{gone.setdefault(node, len(gone))}" if colon else node

    for cleanup in run.cleanups():
        n = cleanup.number("n")
        found.append(
            Outcome(
                run.name(cleanup["trigger"]),
                cleanup["cause"],
                run.doomed(n),
                list(map(anew, run.destroyed(n))),
                sorted((run.name(pd), anew(run.name(node))) for pd, node in run.plan(n)["revoked"]),
                sorted(
                    (run.name(pd), run.name(space)) for pd, space in run.plan(n)["removed_requests"]
                ),
                [(to, kind, anew(node), dead) for to, kind, node, dead in sorted(run.notices(n))],
                [run.name(e["pd"]) for e in run.of("STEP", name="destroy-pd", n=n)],
            )
        )
    return found


def faults(run: Run) -> list[tuple[str, str]]:
    """Which PDs took a fault of which kind.

    Addresses are left out, as they depend on the programs.
    """
    return [(run.name(event["pd"]), event["kind"]) for event in run.of("FAULT")]


def unkeyed(event: Event) -> str:
    """An event without the key that each run has of its own."""
    values = {name: value for name, value in event.values.items() if name != "key"}
    return str(Event(event.name, values if event.name == "TRACE" else event.values))


def depth(said: str) -> Depth:
    """A depth as the command line writes it."""
    return "inf" if said == "inf" else int(said)


def compare(first: Run, other: Run) -> None:
    """Asserts that both runs did the same in the same order, and that every PD printed the same."""
    assert outcomes(first)
    assert outcomes(other) == outcomes(first)
    assert faults(other) == faults(first)
    assert other.alive() == first.alive()
    for name in sorted(set(first.names.values())):
        assert other.says(name) == first.says(name), name
