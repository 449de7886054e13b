# SPDX-License-Identifier: BSD-2-Clause
"""The results of a run of the tool, kept in a file so that an interrupted run can be continued."""

from __future__ import annotations

import fcntl
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from cellreap.errors import CellreapError, InputError

NOTICED, SURVIVED, UNBUILT = "noticed", "survived", "unbuilt"


@dataclass(frozen=True)
class Result:
    """What became of a fault.

    state: of the checkout and of the checks. by: the check that noticed the fault; says: the line
    of its output that tells most.
    """

    state: str
    fault: str
    outcome: str
    by: str = ""
    says: str = ""
    seconds: float = 0.0


class Results:
    """The results in a file: one line of JSON each, appended as they come."""

    def __init__(self, path: Path, state: str, extent: str = "") -> None:
        """state: only results of this state are found again. extent: which checks run.

        A fault that survived counts for this extent alone. One that a check noticed, or that does
        not build, needs no other checks.
        """
        self.path = path
        self.state = state
        self._survived = state + extent
        self._lock = threading.Lock()
        self._found: dict[str, Result] = {}
        if path.exists():
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                try:
                    result = Result(**json.loads(line))
                except (ValueError, TypeError):
                    raise InputError(str(path), number, None, "is no result") from None
                if result.state == self._state_of(result.outcome):
                    self._found[result.fault] = result

    def _state_of(self, outcome: str) -> str:
        return self._survived if outcome == SURVIVED else self.state

    def make(
        self, fault: str, outcome: str, by: str = "", says: str = "", seconds: float = 0.0
    ) -> Result:
        """A result of this state and extent."""
        return Result(self._state_of(outcome), fault, outcome, by, says, seconds)

    def get(self, fault: str) -> Result | None:
        """The result of a fault, if it is known."""
        return self._found.get(fault)

    def add(self, result: Result) -> None:
        """Keeps a result."""
        with self._lock:
            self._found[result.fault] = result
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(result)) + "\n")


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Makes the folder. CellreapError if another process works in it."""
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise CellreapError(f"{folder}: another tools/mutate works there") from None
    finally:
        os.close(descriptor)
