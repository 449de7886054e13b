# SPDX-License-Identifier: BSD-2-Clause
"""Redis as the server of a campaign.

TaskFlow's claims in Redis never end. These get an expiry, which a thread extends while the process
lives. Whether a claim is still the process's own is asked in the script that extends it, and in the
one that writes, so nothing comes between question and act.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Iterator, Mapping
from typing import Any
from uuid import uuid4

import redis
from taskflow.jobs.backends.impl_redis import RedisJobBoard

from cellreap.campaign.address import Address
from cellreap.campaign.server import CLAIM_SECONDS, Server
from cellreap.errors import UsageError

_PREFIX = "cellreap"
_PART = 8 << 20
_POSTING_SECONDS = 20
_EXTEND = """
if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('pexpire', KEYS[1], ARGV[2])
return 1
"""
_WRITE = """
if ARGV[1] ~= '' and redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
for at = 2, #ARGV, 3 do
    if ARGV[at] == 'set' then
        redis.call('hset', KEYS[2], ARGV[at + 1], ARGV[at + 2])
    else
        redis.call('hdel', KEYS[2], ARGV[at + 1])
    end
end
return 1
"""
_RELEASE = """
if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('del', KEYS[1]) end
"""


def _tls_options(address: Address) -> dict[str, Any]:
    if address.tls is None:
        return {}
    return {
        "ssl": True,
        "ssl_ca_certs": address.tls.ca,
        "ssl_certfile": address.tls.certificate,
        "ssl_keyfile": address.tls.key,
        "ssl_check_hostname": True,
    }


class RedisServer(Server):
    """A connection to Redis."""

    def __init__(self, address: Address, key: str, who: str) -> None:
        super().__init__(address, who)
        self._prefix = f"{_PREFIX}:{key}"
        self._client: Any = redis.Redis(
            host=address.hosts.rpartition(":")[0],
            port=int(address.hosts.rpartition(":")[2]),
            db=int(address.path[1:] or 0),
            username=address.user or None,
            password=address.password,
            socket_timeout=10,
            socket_connect_timeout=5,
            protocol=2,
            **_tls_options(address),
        )
        self.board = RedisJobBoard(
            "campaign", {"namespace": f"{self._prefix}:jobs"}, client=self._client
        )
        self._extend = self._client.register_script(_EXTEND)
        self._write = self._client.register_script(_WRITE)
        self._release = self._client.register_script(_RELEASE)
        self._ended = threading.Event()
        self._alive: threading.Thread | None = None
        try:
            self.patiently(self.board.connect, 10)
            self._check_durable()
        except redis.ResponseError as error:  # also that a password or a right is missing
            raise UsageError(f"{address.shown()}: {error}") from None

    def _check_durable(self) -> None:
        """UsageError unless Redis has written to its disk what it has accepted."""
        if not self.patiently(lambda: self._client.info("persistence")).get("aof_enabled"):
            raise UsageError(
                f"{self.address.shown()}: appendonly is no: expected yes, with appendfsync always, "
                "because a job must be on the disk before it is accepted"
            )
        try:
            told = self.patiently(lambda: self._client.config_get("appendfsync"))
        except redis.ResponseError:
            return  # the account may not ask
        if told.get("appendfsync") != "always":
            raise UsageError(
                f"{self.address.shown()}: appendfsync is {told.get('appendfsync')}: expected "
                "always, because a job must be on the disk before it is accepted"
            )

    def _key(self, folder: str) -> str:
        return f"{self._prefix}:{folder}"

    def names(self, folder: str) -> list[str]:
        """The fields of a hash."""
        found = self.patiently(lambda: self._client.hkeys(self._key(folder)))
        return [name.decode() for name in found]

    def get(self, folder: str, name: str) -> bytes | None:
        """A field of a hash."""
        found = self.patiently(lambda: self._client.hget(self._key(folder), name))
        assert found is None or isinstance(found, bytes)
        return found

    def put(self, folder: str, values: Mapping[str, bytes | None]) -> None:
        """Redis runs a script as one act."""
        words: list[str | bytes] = []
        for name, value in values.items():
            words += ["hdel", name, ""] if value is None else ["set", name, value]
        owner = self._job.owner_key if self._job is not None else ""
        who = self.who if self._job is not None else ""
        keys = [owner, self._key(folder)]
        if not self.patiently(lambda: self._write(keys=keys, args=[who, *words])):
            self.lost()

    def put_large(self, folder: str, name: str, value: bytes) -> int:
        """Parts of a size for which Redis needs not long."""
        parts = range(0, max(len(value), 1), _PART)
        for number, at in enumerate(parts):
            self.put(folder, {f"{name}.{number}": value[at : at + _PART]})
        return len(parts)

    def campaigns(self) -> list[str]:
        """The second part of each key."""
        return sorted({key.decode().split(":")[1] for key in self._keys("*")})

    def delete(self, campaign: str) -> None:
        """Its keys, TaskFlow's among them."""
        keys = self._keys(f"{campaign}:*")
        for at in range(0, len(keys), 1000):
            self.patiently(functools.partial(self._client.delete, *keys[at : at + 1000]))

    def _keys(self, pattern: str) -> list[bytes]:
        match = f"{_PREFIX}:{pattern}"
        return self.patiently(lambda: list(self._client.scan_iter(match=match, count=1000)))

    @contextlib.contextmanager
    def posting(self) -> Iterator[bool]:
        """A key that expires. Jobs that are posted twice after all are noticed when claimed."""
        key, mine = self._key("posting"), uuid4().hex
        have = bool(
            self.patiently(lambda: self._client.set(key, mine, nx=True, ex=_POSTING_SECONDS))
        )
        try:
            yield have
        finally:
            if have:
                self.patiently(lambda: self._release(keys=[key], args=[mine]))

    def _claim(self, job: Any) -> None:
        self.board.claim(job, self.who, expiry=CLAIM_SECONDS)

    def owner(self, job: Any) -> str | None:
        """Asked directly: TaskFlow raises TypeError if nobody has the job."""
        found = self._client.get(job.owner_key)
        return None if found is None else str(found.decode())

    def each_job(self) -> Iterator[Any]:
        """TaskFlow has the newest job of Redis first."""
        return iter(sorted(super().each_job(), key=lambda job: job.sequence))

    def claim(self, job: Any) -> bool:
        """Claims a job, and keeps the claim alive."""
        if not super().claim(job):
            return False
        self._ended = threading.Event()
        self._alive = threading.Thread(
            target=self._keep_alive, args=(job.owner_key, self._ended), daemon=True
        )
        self._alive.start()
        return True

    def _keep_alive(self, owner: str, ended: threading.Event) -> None:
        while not ended.wait(CLAIM_SECONDS / 5):
            try:
                kept = self._extend(keys=[owner], args=[self.who, int(CLAIM_SECONDS * 1000)])
            except redis.RedisError:
                continue  # the claim may end meanwhile, which the next answer will tell
            if not kept and not ended.is_set():
                self.lost()

    def _give_up(self, how: Any) -> None:
        self._ended.set()
        if self._alive is not None:
            self._alive.join()
        super()._give_up(how)

    def close(self) -> None:
        """A claim lasts until its expiry."""
        self._ended.set()
        self._client.close()

    def is_away(self, error: BaseException) -> bool:
        """Redis refuses commands while it loads its data."""
        away = (redis.ConnectionError, redis.TimeoutError, redis.exceptions.BusyLoadingError)
        return isinstance(error, away) and not isinstance(error, redis.AuthenticationError)
