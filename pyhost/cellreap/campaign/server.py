# SPDX-License-Identifier: BSD-2-Clause
"""What a campaign needs of the server that its machines share: ZooKeeper or Redis.

The server has TaskFlow's job board, and the campaign's data in folders of named values. All that is
written is on the server's disk when the call returns. A claim belongs to a process and ends some
seconds after it, however it ends. Whoever has a claim writes only as long as it has it: the server
itself refuses the rest.
"""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from taskflow import exceptions

from cellreap.campaign.address import Address
from cellreap.errors import CellreapError

CLAIM_SECONDS = 5.0
"""A claim ends so long after its owner. With the time until somebody looks, less than 10 s."""
PATIENCE_SECONDS = 60.0
"""How long a server may be away."""
LOST = 76
"""Exit code of a process that no longer has its claim."""
_PAUSE = 0.25

T = TypeVar("T")


class ServerLostError(CellreapError):
    """The server does not answer."""


class Server(ABC):
    """The server, as one process uses it for one campaign."""

    who: str
    """A name that no other process has."""
    board: Any
    """TaskFlow's job board."""

    def __init__(self, address: Address, who: str) -> None:
        self.address = address
        self.who = who
        self._job: Any = None
        self._asked: Any = None
        """The job whose claim was asked for last."""

    # -- data

    @abstractmethod
    def names(self, folder: str) -> list[str]:
        """The names of the values in a folder."""

    @abstractmethod
    def get(self, folder: str, name: str) -> bytes | None:
        """A value. None: there is none."""

    @abstractmethod
    def put(self, folder: str, values: Mapping[str, bytes | None]) -> None:
        """Writes values, all or none. None deletes one.

        A process that has a claim ends if it no longer has it.
        """

    @abstractmethod
    def put_large(self, folder: str, name: str, value: bytes) -> int:
        """Writes a value of any size. Returns how many values it has become: NAME.0, ..."""

    def get_large(self, folder: str, name: str, parts: int) -> bytes:
        """What `put_large` has written. CellreapError if it is not there."""
        found = []
        for number in range(parts):
            part = self.get(folder, f"{name}.{number}")
            if part is None:
                raise CellreapError(f"{self.address.shown()}: {folder}/{name} is no longer there")
            found.append(part)
        return b"".join(found)

    @abstractmethod
    def campaigns(self) -> list[str]:
        """The names of all campaigns that the server has something of."""

    @abstractmethod
    def delete(self, campaign: str) -> None:
        """Deletes all that the server has of a campaign. Nobody may use it meanwhile."""

    # -- jobs

    @abstractmethod
    def posting(self) -> AbstractContextManager[bool]:
        """Only one process at a time posts jobs. False: another one does."""

    @abstractmethod
    def close(self) -> None:
        """Ends the connection, and the claim with it."""

    def jobs(self) -> list[Any]:
        """All jobs that are not done, in the order in which they were posted."""
        return sorted(self.each_job(), key=lambda job: job.sequence)

    def each_job(self) -> Iterator[Any]:
        """The same, one after the other. The server is asked about each of them, which takes long.

        A job is missing if the connection broke while the server was asked about it.
        """
        found = self.board.iterjobs(ensure_fresh=True)
        while (job := self.patiently(lambda: next(found, None))) is not None:
            yield job

    def post(self, name: str, details: dict[str, Any]) -> None:
        """Posts a job. It is on the server's disk when this returns."""
        self.patiently(lambda: self.board.post(name, details=details))

    def claim(self, job: Any) -> bool:
        """Claims a job. False: it is done, or somebody else has it."""

        def once() -> bool:
            try:
                self._claim(job)
            except exceptions.UnclaimableJob:
                # A claim whose answer was lost is this process's own.
                return self.owner(job) == self.who
            except exceptions.NotFound:
                return False
            return True

        self._asked = job
        if not self.patiently(once):
            return False
        self._job = job
        return True

    def _claim(self, job: Any) -> None:
        self.board.claim(job, self.who)

    def assert_owned(self) -> None:
        """Ends this process if it no longer has its claim."""
        if self.patiently(lambda: self.owner(self._job)) != self.who:
            self.lost()

    def owner(self, job: Any) -> str | None:
        """Who has claimed a job. None: nobody."""
        found: str | None = self.board.find_owner(job)
        return found

    def lost(self) -> None:
        """Ends this process at once, and its emulator with it. It must write nothing more."""
        os._exit(LOST)

    def done(self) -> None:
        """Takes the claimed job off the board."""
        self._give_up(self.board.consume)

    def give_back(self) -> None:
        """Gives the claimed job back, if there is one, for somebody else to claim."""
        if self._job is None and self._asked is not None:
            # `claim` may have been interrupted after the server had agreed.
            asked = self._asked
            if self.patiently(lambda: self.owner(asked)) == self.who:
                self._job = asked
        if self._job is not None:
            self._give_up(self.board.abandon)

    def _give_up(self, how: Callable[[Any, str], None]) -> None:
        job = self._job

        def once() -> None:
            try:
                how(job, self.who)
            except exceptions.NotFound:
                return  # done already, by a call whose answer was lost

        self.patiently(once)
        self._job = self._asked = None

    # -- patience

    @abstractmethod
    def is_away(self, error: BaseException) -> bool:
        """Whether an error means that the server cannot be reached at the moment."""

    def patiently(self, call: Callable[[], T], seconds: float = PATIENCE_SECONDS) -> T:
        """Calls until the server answers. ServerLostError if it does not for `seconds`."""
        until = time.monotonic() + seconds
        while True:
            try:
                return call()
            except Exception as error:
                chain = list(causes(error))
                if not any(self.is_away(cause) for cause in chain):
                    if isinstance(error, exceptions.JobFailure) and self._job is not None:
                        self.lost()
                    raise
                if time.monotonic() > until:
                    raise ServerLostError(
                        f"{self.address.shown()}: no answer for {seconds:.0f} s: {chain[-1]}"
                    ) from None
            time.sleep(_PAUSE)


def causes(error: BaseException) -> Iterable[BaseException]:
    """An error, and those that led to it."""
    at: BaseException | None = error
    while at is not None:
        yield at
        at = at.__cause__ or at.__context__
