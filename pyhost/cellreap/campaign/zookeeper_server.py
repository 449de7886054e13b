# SPDX-License-Identifier: BSD-2-Clause
"""ZooKeeper as the server of a campaign.

A claim is an ephemeral node of the process's session, and the session is what all writes go
through. When the session has ended, the server refuses its writes, and the process ends before
there is another session.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator, Mapping
from typing import Any

from kazoo import exceptions as kazoo_errors
from kazoo.client import KazooClient
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.protocol.states import KazooState
from kazoo.retry import KazooRetry
from kazoo.security import make_digest_acl
from taskflow.jobs.backends.impl_zookeeper import ZookeeperJobBoard
from taskflow.utils.kazoo_utils import checked_commit

from cellreap.campaign.address import Address
from cellreap.campaign.server import CLAIM_SECONDS, LOST, PATIENCE_SECONDS, Server, causes
from cellreap.errors import UsageError

# It would tell every attempt to connect on stderr.
logging.getLogger("kazoo").addHandler(logging.NullHandler())

_PART = 512 << 10
"""A node has at most 1 MiB, unless the server is told otherwise."""
_AWAY = (
    kazoo_errors.ConnectionLoss,
    kazoo_errors.ConnectionClosedError,
    kazoo_errors.OperationTimeoutError,
    kazoo_errors.SessionExpiredError,
    kazoo_errors.SessionMovedError,
    KazooTimeoutError,
)


def _options(address: Address) -> dict[str, Any]:
    """For TLS, and for a user: what it makes can be read and written by nobody else."""
    found: dict[str, Any] = {}
    if address.user is not None:
        found["auth_data"] = [("digest", f"{address.user}:{address.password}")]
        found["default_acl"] = [make_digest_acl(address.user, address.password, all=True)]
    if address.tls is not None:
        found["use_ssl"] = True
        found["ca"] = address.tls.ca
        found["certfile"] = address.tls.certificate
        found["keyfile"] = address.tls.key
        found["check_hostname"] = True
    return found


class ZookeeperServer(Server):
    """A session of ZooKeeper."""

    def __init__(self, address: Address, key: str, who: str, leave_if_lost: bool) -> None:
        super().__init__(address, who)
        self._all = f"{address.path}/cellreap"
        self._base = f"{self._all}/{key}"
        self._closing = False
        self._client: Any = KazooClient(
            address.hosts,
            timeout=CLAIM_SECONDS,
            connection_retry=KazooRetry(
                max_tries=-1, delay=0.1, max_delay=0.5, deadline=PATIENCE_SECONDS
            ),
            **_options(address),
        )
        if leave_if_lost:
            self._client.add_listener(self._leave_if_lost)
        self.board = ZookeeperJobBoard(
            "campaign",
            # The version is told only by a command that ZooKeeper has switched off by default.
            {"path": f"{self._base}/jobs", "check_compatible": False},
            client=self._client,
            emit_notifications=False,
        )
        try:
            self.patiently(lambda: self.board.connect(timeout=10), 1)
            self.names("results")
        except Exception as error:
            self.close()
            if not any(isinstance(it, kazoo_errors.NoAuthError) for it in causes(error)):
                raise
            user = "needs a user and a password" if address.user is None else "refuses this user"
            message = f"{address.shown()}: {user}: {self._base} belongs to another one"
            raise UsageError(message) from None

    def _leave_if_lost(self, state: str) -> None:
        # kazoo calls this before it begins another session.
        if state == KazooState.LOST and not self._closing:
            os._exit(LOST)

    def _path(self, folder: str, name: str = "") -> str:
        return f"{self._base}/{folder}" + (f"/{name}" if name else "")

    def names(self, folder: str) -> list[str]:
        """The children of a node."""

        def once() -> list[str]:
            try:
                found: list[str] = self._client.get_children(self._path(folder))
            except kazoo_errors.NoNodeError:
                return []
            return found

        return self.patiently(once)

    def get(self, folder: str, name: str) -> bytes | None:
        """The data of a node."""

        def once() -> bytes | None:
            try:
                data, _ = self._client.get(self._path(folder, name))
            except kazoo_errors.NoNodeError:
                return None
            assert isinstance(data, bytes)
            return data

        return self.patiently(once)

    def put(self, folder: str, values: Mapping[str, bytes | None]) -> None:
        """A transaction. It can be repeated if its answer was lost."""

        def once() -> None:
            self._client.ensure_path(self._path(folder))
            changes = self._client.transaction()
            for name, value in values.items():
                path = self._path(folder, name)
                there = self._client.exists(path)
                if value is None:
                    if there:
                        changes.delete(path)
                elif there:
                    changes.set_data(path, value)
                else:
                    changes.create(path, value)
            checked_commit(changes)

        self.patiently(once)

    def put_large(self, folder: str, name: str, value: bytes) -> int:
        """Parts that fit into a node."""
        parts = range(0, max(len(value), 1), _PART)
        for number, at in enumerate(parts):
            self.put(folder, {f"{name}.{number}": value[at : at + _PART]})
        return len(parts)

    def campaigns(self) -> list[str]:
        """The children of the node of all campaigns."""
        return sorted(self.patiently(lambda: self._client.get_children(self._all)))

    def delete(self, campaign: str) -> None:
        """Its node, with all below."""
        self.patiently(lambda: self._client.delete(f"{self._all}/{campaign}", recursive=True))

    @contextlib.contextmanager
    def posting(self) -> Iterator[bool]:
        """An ephemeral node."""
        path = self._path("posting")

        def once() -> bool:
            try:
                self._client.create(path, self.who.encode(), ephemeral=True, makepath=True)
            except kazoo_errors.NodeExistsError:
                return False
            return True

        have = self.patiently(once)
        try:
            yield have
        finally:
            if have:
                with contextlib.suppress(kazoo_errors.NoNodeError):
                    self.patiently(lambda: self._client.delete(path))

    def close(self) -> None:
        """Ends the session."""
        self._closing = True
        with contextlib.suppress(*_AWAY):
            self.board.close()
            self._client.stop()
            self._client.close()

    def is_away(self, error: BaseException) -> bool:
        """Errors of the connection, not of the request."""
        return isinstance(error, _AWAY)
