# SPDX-License-Identifier: BSD-2-Clause
"""Random systems of honest and hostile PDs. The same seed yields the same system.

The honest are a storage stack with maps, two servers that check their own state, two clients that
count their answers, and a subscriber. None of them depends on a hostile PD.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Final

Table = dict[str, Any]

HONEST: Final = ("disk_server", "fs", "db", "app", "echo1", "echo2", "client1", "client2", "watch")
CLIENTS: Final = ("client1", "client2")
DEADLINE_MS: Final = 500


def _pd(name: str, program: str, **keys: Any) -> Table:
    return {"name": name, "program": program, **keys}


def _space(name: str, kind: str) -> list[Table]:
    return [{"name": name, "type": kind}]


def _honest(rng: random.Random) -> list[Table]:
    requests = rng.randint(4, 16)
    echoes = ["echo_space1", "echo_space2"]
    return [
        _pd("disk_server", "block_server", space=_space("disk", "BLOCK")),
        _pd("fs", "file_server", requests=["disk"], space=_space("files", "FILE")),
        _pd("db", "database", requests=["files"], space=_space("database", "TABLE")),
        _pd("app", "app", requests=["database"]),
        _pd("echo1", "honest", space=_space(echoes[0], "ECHO")),
        _pd("echo2", "honest", space=_space(echoes[1], "ECHO")),
        _pd("client1", "crowd_client", requests=echoes, args=[requests, 1, 0]),
        _pd("client2", "crowd_client", requests=echoes[::-1], args=[requests, 2, 1]),
        _pd("watch", "subscriber", requests=["files"], args=[1, 0]),
    ]


def _respawns(rng: random.Random) -> Table:
    return {"respawn": True, "respawn_budget": rng.randint(1, 5)} if rng.random() < 0.5 else {}


def _fuzzer(rng: random.Random, name: str) -> list[Table]:
    return [
        _pd(
            name,
            "fuzzer",
            requests=[rng.choice(["echo_space1", "echo_space2"])],
            spawns=["idler"],
            may_extract=rng.random() < 0.5,
            args=[rng.randrange(1 << 31), 3000, rng.choice([0, 1, 2, 4, 8]), 0],
            space=_space(f"{name}_space", "FUZZ"),
            **_respawns(rng),
        )
    ]


def _filler(rng: random.Random, name: str) -> list[Table]:
    space = _space(f"{name}_space", "FULL")
    return [
        _pd(
            name,
            "filler",
            args=[rng.randint(0, 4), rng.randint(50, 200)],
            spawns=["idler"],
            space=space,
        )
    ]


def _hoarder_of_notices(rng: random.Random, name: str) -> list[Table]:
    """A server that never fetches, and its client that takes from it and exits."""
    kept = _pd(name, "deaf", args=[rng.randint(1, 40)], space=_space(f"{name}_space", "DEAF"))
    taker = _pd(f"{name}_taker", "hoarder", requests=[f"{name}_space"], args=[40, 0])
    return [kept, taker]


def _spinner(rng: random.Random, name: str) -> list[Table]:
    return [_pd(name, "worker", args=[rng.randint(1, 20), 20000])]


def _deserter(rng: random.Random, name: str) -> list[Table]:
    space = _space(f"{name}_space", "GONE")
    return [_pd(name, rng.choice(["leaver", "quitter"]), space=space, **_respawns(rng))]


def _silent_subscriber(rng: random.Random, name: str) -> list[Table]:
    return [_pd(name, "subscriber", requests=["echo_space1"], args=[4 | rng.choice([1, 8]), 2])]


def _forger(rng: random.Random, name: str) -> list[Table]:
    return [_pd(name, "counterfeiter")]


def _colluders(rng: random.Random, name: str) -> list[Table]:
    """Two servers that each wait for the other's space."""
    return [
        _pd(f"{name}_a", "ring", requests=[f"{name}_sb"], space=_space(f"{name}_sa", "RING")),
        _pd(f"{name}_b", "ring", requests=[f"{name}_sa"], space=_space(f"{name}_sb", "RING")),
    ]


HOSTILE: Final[tuple[Callable[[random.Random, str], list[Table]], ...]] = (
    _fuzzer,
    _filler,
    _hoarder_of_notices,
    _spinner,
    _deserter,
    _silent_subscriber,
    _forger,
    _colluders,
)


def chaos(seed: int) -> Table:
    """The configuration of a seed, as the tables of a TOML file. Its PDs need a timer."""
    rng = random.Random(seed)
    hostile: list[Table] = []
    for number in range(rng.randint(3, 6)):
        hostile += rng.choice(HOSTILE)(rng, f"hostile{number}")
    pds = _honest(rng)
    for pd in hostile:
        pd["priority"] = rng.choice([90, 100, 100, 110])
        pds.append(pd)
    if rng.random() < 0.5:
        pds.append(_pd("background", "spinner", background=True, priority=10))
    system = {
        "name": f"chaos{seed}",
        "mode": rng.choice(["async", "sync"]),
        "deadline_ms": DEADLINE_MS,
        "await_ms": 200,
    }
    policy = {
        "pd_depth": rng.choice([0, 1, "inf"]),
        "rs_depth": rng.choice([0, 1, "inf"]),
        "allow_cycles": True,
    }
    return {"system": system, "policy": policy, "pd": pds}
