# SPDX-License-Identifier: BSD-2-Clause
"""Plants faults in copies, several at a time, and finds out what notices them."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from cellreap.errors import CellreapError
from mutation.checks import Plan, Runner, commands
from mutation.copies import Copy
from mutation.faults import Fault, edited
from mutation.results import NOTICED, SURVIVED, UNBUILT, Result, Results

Report = Callable[[Fault, Result], None]
_CLEAN: Final = "without a fault: "
_PREPARE_SECONDS: Final = 900


class BrokenCheck(CellreapError):
    """A check fails without a fault. It would seem to notice every fault."""


class Trial:
    """Tries faults. Results that are known already are taken as they are."""

    def __init__(
        self,
        root: Path,
        files: Mapping[str, bytes],
        plan: Plan,
        results: Results,
        folder: Path,
        jobs: int,
        runner: Runner,
        left_out: frozenset[str],
    ) -> None:
        """folder: for the copies. left_out: the names of checks that do not run."""
        self._files = files
        self._plan = plan
        self._results = results
        self._runner = runner
        self._left_out = left_out
        self._clean = threading.Lock()
        self._prepared: set[Path] = set()  # folders of copies that build without a fault
        self._copies: queue.SimpleQueue[Copy | int] = queue.SimpleQueue()
        self._jobs = jobs
        self._root = root
        self._folder = folder
        for number in range(jobs):
            self._copies.put(number)  # made when it is needed

    def run(self, faults: Iterable[Fault], report: Report) -> list[Result]:
        """Tries these faults and returns their results in the same order.

        report: called with each as it comes, one at a time.
        """
        lock = threading.Lock()

        def one(fault: Fault) -> Result:
            result = self._results.get(fault.key)
            if result is None:
                copy = self._copies.get()
                try:
                    if isinstance(copy, int):
                        copy = Copy(self._root, self._files, self._folder / f"copy-{copy}")
                    result = self._try(copy, fault)
                    self._results.add(result)
                finally:
                    self._copies.put(copy)
            with lock:
                report(fault, result)
            return result

        with ThreadPoolExecutor(self._jobs) as pool:
            futures = [pool.submit(one, fault) for fault in faults]
            try:
                return [future.result() for future in futures]
            except BaseException:
                self._runner.stop()
                pool.shutdown(cancel_futures=True)
                raise

    def _try(self, copy: Copy, fault: Fault) -> Result:
        start = time.monotonic()

        def result(outcome: str, by: str = "", says: str = "") -> Result:
            seconds = round(time.monotonic() - start, 1)
            return self._results.make(fault.key, outcome, by, says, seconds)

        try:
            copy.plant(edited(self._files, fault))
            built, says = self._prepare(copy)
            if not built:
                copy.restore()
                self._check_prepare(copy)
                return result(UNBUILT, "prepare", says)
            for name, label, command in self._commands(fault):
                check = self._plan.check_of(name)
                ok, says = self._runner.run(
                    command, copy.tree, self._env(copy, check.env), check.seconds
                )
                if not ok and check.builds:
                    return result(UNBUILT, label, says)
                if not ok:
                    copy.restore()
                    self._check_clean(copy, name, label, command)
                    return result(NOTICED, label, says)
            return result(SURVIVED)
        finally:
            copy.restore()

    def _commands(self, fault: Fault) -> list[tuple[str, str, Sequence[str]]]:
        names = dict.fromkeys((*fault.checks, *self._plan.checks_for(fault.file)))
        # Whether it builds must be known before anything else can fail.
        ordered = sorted(names, key=lambda name: not self._plan.check_of(name).builds)
        return [
            (name, f"{name} {which}".strip(), command)
            for name in ordered
            if name not in self._left_out
            for which, command in commands(self._plan.check_of(name))
        ]

    def _env(self, copy: Copy, more: Mapping[str, str]) -> dict[str, str]:
        own = {key: value.replace("{copy}", str(copy.folder)) for key, value in more.items()}
        return {**copy.env, **own}

    def _prepare(self, copy: Copy) -> tuple[bool, str]:
        for command in self._plan.prepare:
            ok, says = self._runner.run(command, copy.tree, copy.env, _PREPARE_SECONDS)
            if not ok:
                return False, says
        return True, ""

    def _check_prepare(self, copy: Copy) -> None:
        """Raises BrokenCheck if the sources without a fault do not build. Tried once a copy."""
        with self._clean:
            if copy.folder in self._prepared:
                return
            built, says = self._prepare(copy)
            if not built:
                raise BrokenCheck(f"the sources do not build without a fault: {says}")
            self._prepared.add(copy.folder)

    def _check_clean(self, copy: Copy, name: str, label: str, command: Sequence[str]) -> None:
        """Raises BrokenCheck if the check fails without a fault. It is run once for that."""
        with self._clean:
            if self._results.get(_CLEAN + label) is not None:
                return
            built, says = self._prepare(copy)
            if not built:
                raise BrokenCheck(f"the sources do not build without a fault: {says}")
            check = self._plan.check_of(name)
            ok, says = self._runner.run(
                command, copy.tree, self._env(copy, check.env), check.seconds
            )
            if not ok:
                raise BrokenCheck(f"{label} fails without a fault: {says}")
            self._results.add(self._results.make(_CLEAN + label, SURVIVED))
