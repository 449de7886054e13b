# SPDX-License-Identifier: BSD-2-Clause
"""Many clients of one server, which is brought down at some instant."""

from __future__ import annotations

from typing import Final

from cellreap.system.config import Config
from cellreap.system.config.schema import Quota
from cellreap.testing import Change, together, with_crashes, with_pd

CLIENTS: Final = 64


def crowd(clients: int = CLIENTS, *, later: bool = False) -> Change:
    """So many clients in place of one of the system `crowd`.

    later: a client whose call was lost connects again before it acknowledges that.
    """

    def change(config: Config) -> Config:
        one = config.pd("client")
        assert one is not None
        others = tuple(pd for pd in config.pds if pd.name != "client")
        many = tuple(
            one.model_copy(update={"name": f"client_{i}", "args": (one.args[0], i, int(later))})
            for i in range(clients)
        )
        return config.model_copy(update={"pds": (*others, *many)})

    return change


def down(how: str, seed: int, repeat: int) -> Change:
    """The server goes down at an instant within two milliseconds after its 20th call."""
    entry = {
        "pd": "server",
        "at": 20,
        "how": how,
        "spread_ns": 2_000_000,
        "seed": seed,
        "repeat": repeat,
    }
    return with_crashes(entry)


def idle(count: int) -> Change:
    """So many PDs that do nothing but wait, in the system `counter`."""

    def change(config: Config) -> Config:
        pd = config.pd("steady")
        assert pd is not None
        idler = {"program": "idler", "requests": (), "stack_pages": 1, "cspace_bits": 5}
        more = tuple(
            pd.model_copy(update={**idler, "name": f"idler_{number}"}) for number in range(count)
        )
        return config.model_copy(update={"pds": (*config.pds, *more)})

    return change


LEAF: Final = together(
    with_pd("hasty", respawn=False, respawn_budget=None, respawn_delay_ms=None),
    with_crashes({"pd": "hasty", "at": 2, "how": "page-fault"}),
)
"""A client crashes once, in the system `counter`."""


def many(clients: int) -> Change:
    """More clients of the same kind, in the system `multitude`.

    A fair share of the edges is the same for each PD. The server makes resources for all.
    """

    def change(config: Config) -> Config:
        one = config.pd("client")
        assert one is not None
        more = tuple(one.model_copy(update={"name": f"client_{i}"}) for i in range(1, clients))
        config = config.model_copy(update={"pds": (*config.pds, *more)})
        return with_pd("server", quota=Quota(edges=1000))(config)

    return change


def rich(resources: int, crash: dict[str, object]) -> Change:
    """One client with so many resources, in the system `multitude`."""
    return together(
        with_pd("server", quota=Quota(nodes=resources + 28, edges=2 * resources + 100)),
        with_pd(
            "client",
            args=(resources,),
            cspace_bits=10,
            quota=Quota(edges=2 * resources + 100),
        ),
        with_crashes(crash),
    )


SERVER_OF_MANY: Final[dict[str, object]] = {"pd": "server", "at": 2, "how": "page-fault"}
CLIENT_OF_MANY: Final[dict[str, object]] = {"pd": "client", "at": 2, "how": "page-fault"}
