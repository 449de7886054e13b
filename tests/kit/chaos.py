# SPDX-License-Identifier: BSD-2-Clause
"""Random systems of honest and hostile PDs. The same seed yields the same system.

The honest are a storage stack with maps, a store that a hoarder empties, two servers that check
their own state, two clients that count their answers, a subscriber, and a PD that uses its own part
of the root task's tables in each round. None of them depends on a hostile PD. Colluders also catch
clients of those two servers: these are honest too, and hang in a call. In half of the seeds the
scenario crashes servers that the clients call, and in half of them a background computation never
rests.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Final

Table = dict[str, Any]

HONEST: Final = (
    *("disk_server", "store", "fs", "db", "app"),
    *("echo1", "echo2", "client1", "client2", "watch", "tenant"),
)
ECHOES: Final = ("echo1", "echo2")
CLIENTS: Final = {"client1": ECHOES, "client2": ECHOES[::-1]}
"""client -> the servers that it asks in turn"""
WAYS: Final = ("page-fault", "illegal-instruction", "cap-fault", "unknown-syscall", "exit", "kill")
KILLED_WITHIN_NS: Final = 100_000
TENANT_RESOURCES: Final = 4
CAUGHT: Final = "_caught"
"""What names of honest clients of a colluder have in them."""
DEADLINE_MS: Final = 500
HONEST_PRIORITY: Final = 100


def _pd(name: str, program: str, **keys: Any) -> Table:
    return {"name": name, "program": program, **keys}


def _space(name: str, kind: str) -> list[Table]:
    return [{"name": name, "type": kind}]


def _echo_space(server: str) -> str:
    return f"{server}_space"


def _honest(requests: int, crashed: frozenset[str]) -> list[Table]:
    """requests: what each client asks each server in a round. crashed: servers that will crash."""
    # Its depth is its own: at another its clients would go with it, by the configuration.
    comes_back = {"respawn": True, "pd_depth": 0, "rs_depth": 0}
    return [
        _pd("disk_server", "block_server", space=_space("disk", "BLOCK")),
        _pd("store", "block_server", space=_space("disk2", "BLOCK")),
        _pd("fs", "file_server", requests=["disk"], space=_space("files", "FILE")),
        _pd("db", "database", requests=["files"], space=_space("database", "TABLE")),
        _pd("app", "app", requests=["database"]),
        *(
            _pd(
                name,
                "honest",
                space=_space(_echo_space(name), "ECHO"),
                **(comes_back if name in crashed else {}),
            )
            for name in ECHOES
        ),
        *(
            _pd(
                name,
                "crowd_client",
                requests=[_echo_space(server) for server in servers],
                args=[requests, 1 + number, 2 | number],
            )
            for number, (name, servers) in enumerate(CLIENTS.items())
        ),
        _pd("watch", "subscriber", requests=[_echo_space(ECHOES[0])], args=[1, 0]),
        _pd(
            "tenant",
            "tenant",
            requests=["disk"],
            spawns=["idler"],
            spawn_allow=1,
            args=[1, TENANT_RESOURCES],
            space=_space("tenant_space", "TENANT"),
            # Two spaces, the resources, and a PD, which counts twice.
            quota={"spaces": 2, "types": 2, "nodes": 2 + TENANT_RESOURCES + 2, "pds": 1},
        ),
    ]


def _crashes(rng: random.Random) -> list[Table]:
    """Crashes of servers that the clients call, without their instants."""
    crashes: list[Table] = [
        {"pd": rng.choice(ECHOES), "how": rng.choice(WAYS)} for _ in range(rng.randint(1, 2))
    ]
    for crash in crashes:
        if crash["how"] == "kill":
            crash |= {"after_ns": rng.randrange(KILLED_WITHIN_NS)}
    return crashes


def _instants(rng: random.Random, requests: int, crashes: list[Table], pds: list[Table]) -> None:
    """Chooses at which checkpoint each crash comes.

    It comes in the second round after the crash before, or later, when all clients are connected.
    So each is in a call to the server, or calls it afterwards.
    """
    a_round = len(CLIENTS) * requests + sum(CAUGHT in pd["name"] for pd in pds)
    for crash in crashes:
        crash["at"] = a_round + rng.randint(1, requests)


def _respawns(rng: random.Random) -> Table:
    return {"respawn": True, "respawn_budget": rng.randint(1, 3)} if rng.random() < 0.5 else {}


def _some_echo(rng: random.Random) -> str:
    return _echo_space(rng.choice(ECHOES))


def _fuzzer(rng: random.Random, name: str) -> list[Table]:
    return [
        _pd(
            name,
            "fuzzer",
            requests=[_some_echo(rng)],
            spawns=["idler"],
            may_extract=rng.random() < 0.5,
            args=[rng.randrange(1 << 31), rng.randint(300, 1000), rng.choice([0, 1, 2, 4, 8]), 0],
            space=_space(f"{name}_space", "FUZZ"),
            **_respawns(rng),
        )
    ]


PDS, SPACES, TYPES, TICKETS = 0, 1, 5, 6
FILLS: Final = (PDS, SPACES, 2, 3, 4, TYPES, TICKETS)
"""argument 0 of filler.c"""
UNTIL_REFUSED: Final = 1000


def _filler(rng: random.Random, name: str) -> list[Table]:
    """It makes things of one kind, in two of the smaller tables until it is refused."""
    kind = rng.choice(FILLS)
    most = rng.randint(30, 60)
    if kind == PDS:
        most = rng.randint(5, 10)
    elif kind == TICKETS:
        most = rng.randint(5, 10)  # each is a cleanup, which prints the state of the system
    elif kind in (SPACES, TYPES):
        most = UNTIL_REFUSED
    return [
        _pd(
            name,
            "filler",
            args=[kind, most, ord(rng.choice("ijklmnop"))],
            requests=[_some_echo(rng)] if kind == TICKETS else [],
            spawns=["idler"],
            spawn_allow=1,
            space=_space(f"{name}_space", "FULL"),
        )
    ]


def _hoarder_of_notices(rng: random.Random, name: str) -> list[Table]:
    """A server that never fetches, and its client that takes from it and exits."""
    kept = _pd(name, "deaf", args=[rng.randint(1, 40)], space=_space(f"{name}_space", "DEAF"))
    taker = _pd(
        f"{name}_taker", "hoarder", requests=[f"{name}_space"], args=[40, 0, rng.randint(0, 2)]
    )
    return [kept, taker]


def _hoarder_of_slots(rng: random.Random, name: str) -> list[Table]:
    """It takes what an honest server has, and mostly exits with it, and comes again."""
    args = [rng.randint(20, 100), 0, rng.randint(0, 2)]
    return [_pd(name, "hoarder", requests=["disk2"], args=args, **_respawns(rng))]


def _spinner(rng: random.Random, name: str) -> list[Table]:
    """Computations at the priority of the honest."""
    return [
        _pd(f"{name}_{i}", "worker", args=[rng.randint(5, 20), 1000000], priority=HONEST_PRIORITY)
        for i in range(rng.randint(1, 2))
    ]


def _hog(rng: random.Random, name: str) -> list[Table]:
    """A server that never rests, mostly above the honest. A client that leaves ends it."""
    hog = _pd(
        name,
        "hog",
        space=_space(f"{name}_space", "HOG"),
        priority=rng.choice([HONEST_PRIORITY, 110]),
    )
    return [hog, _pd(f"{name}_left", "quitter", requests=[f"{name}_space"], priority=120)]


def _deserter(rng: random.Random, name: str) -> list[Table]:
    if rng.random() < 0.5:
        return [_pd(name, "quitter", requests=[_some_echo(rng)], args=[0, 0], **_respawns(rng))]
    return [_pd(name, "leaver", space=_space(f"{name}_space", "GONE"), **_respawns(rng))]


def _silent_subscriber(rng: random.Random, name: str) -> list[Table]:
    """It subscribes to a space of an honest server and to itself, and never answers."""
    return [_pd(name, "subscriber", requests=[_some_echo(rng)], args=[rng.choice([1, 5, 13]), 2])]


def _counterfeiter(rng: random.Random, name: str) -> list[Table]:
    """It prints what looks like the trace."""
    return [_pd(name, "counterfeiter")]


def _forger(rng: random.Random, name: str) -> list[Table]:
    """It uses badges, tokens and numbers that are not its own."""
    mate = _pd(f"{name}_mate", "quitter", args=[9, 0])
    space = _space(f"{name}_space", "FORGE")
    return [mate, _pd(name, "forger", requests=["disk"], holds_pds=[f"{name}_mate"], space=space)]


def _ring(rng: random.Random, name: str) -> list[Table]:
    """Two servers that each wait for the other's space."""
    return [
        _pd(f"{name}_a", "ring", requests=[f"{name}_sb"], space=_space(f"{name}_sa", "RING")),
        _pd(f"{name}_b", "ring", requests=[f"{name}_sa"], space=_space(f"{name}_sb", "RING")),
    ]


def _caught(rng: random.Random, name: str, space: str) -> list[Table]:
    """Honest clients of both servers that the scenario crashes, which a colluder never answers."""
    return [
        _pd(
            f"{name}{CAUGHT}{i}",
            "caught",
            requests=[space, *map(_echo_space, ECHOES)],
            args=[10 * int(name[-1]) + i + len(CLIENTS) + 1],
            priority=HONEST_PRIORITY,
        )
        for i in range(rng.randint(1, 2))
    ]


def _colluder(name: str, space: str, requests: list[str]) -> Table:
    # At another depth its clients would go with it, by the configuration.
    depths = {"pd_depth": 0, "rs_depth": 0}
    return _pd(name, "colluder", requests=requests, space=_space(space, "KEPT"), args=[1], **depths)


def _circle(rng: random.Random, name: str) -> list[Table]:
    """Servers that call each other in a circle."""
    count = rng.randint(2, 3)
    circle = [
        _colluder(f"{name}_{i}", f"{name}_s{i}", [f"{name}_s{(i + 1) % count}", _some_echo(rng)])
        for i in range(count)
    ]
    return [*circle, *_caught(rng, name, f"{name}_s0")]


def _keeper_of_calls(rng: random.Random, name: str) -> list[Table]:
    """A server that keeps its callers' calls."""
    space = f"{name}_space"
    callers = [
        _colluder(f"{name}_caller{i}", f"{name}_s{i}", [space, _some_echo(rng)])
        for i in range(rng.randint(1, 2))
    ]
    return [_colluder(name, space, []), *callers, *_caught(rng, name, space)]


HOSTILE: Final[tuple[Callable[[random.Random, str], list[Table]], ...]] = (
    _fuzzer,
    _filler,
    _hoarder_of_notices,
    _hoarder_of_slots,
    _spinner,
    _hog,
    _deserter,
    _silent_subscriber,
    _counterfeiter,
    _forger,
    _ring,
    _circle,
    _keeper_of_calls,
)


def chaos(seed: int, mode: str) -> Table:
    """The configuration of a seed, as the tables of a TOML file. Its PDs need a timer.

    mode: of [system]. It changes nothing else.
    """
    rng = random.Random(seed)
    requests = rng.randint(2, 8)
    crashes = _crashes(rng) if seed // 2 % 2 == 1 else []
    pds = _honest(requests, frozenset(crash["pd"] for crash in crashes))
    # A kind may come twice.
    for number, hostile in enumerate(rng.sample(HOSTILE * 2, rng.randint(3, 6))):
        for pd in hostile(rng, f"hostile{number}"):
            pds.append({"priority": rng.choice([90, HONEST_PRIORITY, HONEST_PRIORITY, 110]), **pd})
    if seed % 2 == 1:
        pds.append(_pd("background", "spinner", background=True, priority=10))
    _instants(rng, requests, crashes, pds)
    system = {"name": f"chaos{seed}", "mode": mode, "deadline_ms": DEADLINE_MS, "await_ms": 200}
    policy = {
        "pd_depth": rng.choice([0, 1, "inf"]),
        "rs_depth": rng.choice([0, 1, "inf"]),
        "allow_cycles": True,
    }
    return {"system": system, "policy": policy, "pd": pds, "crash": crashes}


def counted(seed: int) -> tuple[str, str]:
    """QEMU's arguments for a seed. Its time is that of the instructions, so each run is the same.

    An instruction takes 8 to 32 ns, so a deadline is not many of them.
    """
    return ("-icount", f"shift={3 + seed // 4 % 3},sleep=off")
