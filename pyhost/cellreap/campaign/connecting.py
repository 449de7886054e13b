# SPDX-License-Identifier: BSD-2-Clause
"""Which server a campaign's address names. The libraries of the other one need not be there."""

from __future__ import annotations

from taskflow import exceptions

from cellreap.campaign.address import Address
from cellreap.campaign.server import Server, causes
from cellreap.errors import CellreapError, UsageError


def connect(address: Address, key: str, who: str, *, leave_if_lost: bool = False) -> Server:
    """Connects to a server, for the campaign `key`. CellreapError.

    leave_if_lost: this process claims jobs, so it ends when the server has given up on it.
    """
    address.check_tls()
    try:
        if address.kind == "redis":
            from cellreap.campaign.redis_server import RedisServer

            return RedisServer(address, key, who)
        from cellreap.campaign.zookeeper_server import ZookeeperServer

        return ZookeeperServer(address, key, who, leave_if_lost)
    except exceptions.TaskFlowException as error:
        said = list(causes(error))[-1]
        raise CellreapError(f"{address.shown()}: cannot be used: {said}") from None
    except ImportError as error:
        raise UsageError(
            f"--jobboard needs {error.name}: pip install 'cellreap[jobboard]'"
        ) from None
