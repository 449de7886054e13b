# SPDX-License-Identifier: BSD-2-Clause
"""Checks: commands that may notice a fault, and which of them run for a fault in which file."""

from __future__ import annotations

import fnmatch
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pydantic

from cellreap.errors import CellreapError, InputError
from mutation.faults import read_toml

_STRICT: Final = pydantic.ConfigDict(extra="forbid", frozen=True)
# The lines of the output that say what noticed a fault, the most telling first.
_TELLING: Final = (
    re.compile(r"^(?:FAILED|ERROR) (.+)", re.MULTILINE),
    re.compile(r"^FAIL: .*\n\s+(.+)", re.MULTILINE),  # `cellreap run`: the first violation
    re.compile(r"\berror: (.+)"),
)
_SHOWN: Final = 150
_GRACE: Final = 10.0  # seconds that an interrupted command has to end what it started


class Check(pydantic.BaseModel):
    """A command that fails if it notices a fault.

    command: {python} is the running Python. env: set for the command; {copy} is the folder of the
    copy, outside its tree. configs: the command is repeated for each, in the place of {config}.
    builds: it fails if the sources do not build, and then the fault counts for nothing. whole: it
    is a whole suite, of many minutes, and can be left out. thorough: it takes long, and runs only
    if asked for. seconds: after these, the fault has made it hang.
    """

    model_config = _STRICT
    command: tuple[str, ...]
    env: dict[str, str] = {}
    configs: tuple[str, ...] = ()
    builds: bool = False
    whole: bool = False
    thorough: bool = False
    seconds: float = 900


class Rule(pydantic.BaseModel):
    """The checks for faults in these files, patterns as of fnmatch, in the order in which they run.

    The first rule with a pattern that fits decides.
    """

    model_config = _STRICT
    files: tuple[str, ...]
    checks: tuple[str, ...]


class Plan(pydantic.BaseModel):
    """What is mutated and what may notice it.

    named, reasons: files with the named faults, and with reasons why faults may survive. sources:
    patterns of the files from which seeded faults are drawn. without: those left out. neutral:
    files that no check reads; results stay valid if they change. ignored_calls: functions whose
    calls no operator drops. prepare: commands that run before the checks of every fault; if one
    fails, the sources do not build. check: by name. tests: what stands for checks whose names are
    paths, each in the place of {config}: files of tests.
    """

    model_config = _STRICT
    named: str
    reasons: str
    sources: tuple[str, ...]
    without: tuple[str, ...] = ()
    neutral: tuple[str, ...] = ()
    ignored_calls: tuple[str, ...] = ()
    prepare: tuple[tuple[str, ...], ...] = ()
    check: dict[str, Check]
    tests: Check | None = None
    rule: tuple[Rule, ...]

    @pydantic.model_validator(mode="after")
    def _names_exist(self) -> Plan:
        for rule in self.rule:
            self.known(rule.checks)
        return self

    def known(self, names: Sequence[str]) -> None:
        """ValueError if a name is not that of a check."""
        for name in names:
            self.check_of(name)

    def check_of(self, name: str) -> Check:
        """The check with this name. ValueError: there is none."""
        if self.tests is not None and name.endswith(".py"):
            command = tuple(part.replace("{config}", name) for part in self.tests.command)
            return self.tests.model_copy(update={"command": command})
        if name not in self.check:
            raise ValueError(f"no check is named {name!r}")
        return self.check[name]

    def checks_for(self, file: str) -> tuple[str, ...]:
        """The names of the checks for a fault in a file."""
        for rule in self.rule:
            if _fits(file, rule.files):
                return rule.checks
        raise CellreapError(f"{file}: no rule says what would notice a fault there")

    def is_source(self, file: str) -> bool:
        """Whether seeded faults are drawn from the file."""
        return _fits(file, self.sources) and not _fits(file, self.without)

    def is_neutral(self, file: str) -> bool:
        """Whether results stay valid if the file changes."""
        return _fits(file, (*self.neutral, self.reasons))


def _fits(file: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(file, pattern) for pattern in patterns)


def read_plan(path: Path) -> Plan:
    """The plan in a TOML file."""
    table: dict[str, Any] = read_toml(path)
    try:
        return Plan.model_validate(table)
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or None
        raise InputError(str(path), None, where, first["msg"]) from None


def commands(check: Check) -> list[tuple[str, tuple[str, ...]]]:
    """The commands of a check, each with what distinguishes it from the others."""
    fixed = tuple(part.replace("{python}", sys.executable) for part in check.command)
    if not check.configs:
        return [("", fixed)]
    return [
        (config, tuple(part.replace("{config}", config) for part in fixed))
        for config in check.configs
    ]


def telling_line(output: str) -> str:
    """The line of a command's output that says best what failed."""
    for pattern in _TELLING:
        match = pattern.search(output)
        if match is not None:
            return match[1].strip()[:_SHOWN]
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1][:_SHOWN] if lines else "it said nothing"


class Interrupted(Exception):
    """The tool was interrupted while a command ran."""


class Runner:
    """Runs commands, several at a time, and can end them all.

    Every command has a process group of its own: what it started ends with it.
    """

    def __init__(self, under: Sequence[str]) -> None:
        """under: a command that runs each command, such as nice."""
        self._under = tuple(under)
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[str]] = set()
        self._stopped = False

    def run(
        self, command: Sequence[str], folder: Path, env: Mapping[str, str], seconds: float
    ) -> tuple[bool, str]:
        """Whether the command succeeded, and the line of its output that says why not."""
        with self._lock:
            if self._stopped:
                raise Interrupted
            try:
                process = subprocess.Popen(
                    [*self._under, *command],
                    cwd=folder,
                    env={**os.environ, **env},
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    errors="replace",
                    start_new_session=True,
                )
            except OSError as error:
                raise CellreapError(f"{error.filename}: {error.strerror}") from None
            self._running.add(process)
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            _signal(process, signal.SIGTERM)  # so that it ends what it started
            try:
                process.communicate(timeout=_GRACE)
            except subprocess.TimeoutExpired:
                _signal(process, signal.SIGKILL)
                process.communicate()
            return False, f"it hangs: no end after {seconds:g} s"
        finally:
            with self._lock:
                self._running.discard(process)
        if self._stopped:
            raise Interrupted
        return process.returncode == 0, telling_line(output)

    def stop(self) -> None:
        """Ends all running commands. From now on none can be started."""
        with self._lock:
            self._stopped = True
            running = list(self._running)
        for process in running:
            _signal(process, signal.SIGTERM)
        for process in running:
            try:
                process.wait(_GRACE)
            except subprocess.TimeoutExpired:
                _signal(process, signal.SIGKILL)


def _signal(process: subprocess.Popen[str], number: int) -> None:
    """Sends a signal to a command's process group, unless the command has ended."""
    if process.poll() is None:
        os.killpg(process.pid, number)
