# SPDX-License-Identifier: BSD-2-Clause
"""Builds systems, boots them under QEMU and checks their traces."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import pickle
import unittest
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypedDict, Unpack

from pydantic import ValidationError

from cellreap.errors import UsageError, hint
from cellreap.progress import Progress
from cellreap.runs.boot import End, boot_image, drives_beside
from cellreap.runs.expectation import expected_of_image
from cellreap.runs.places import Places, programs_beside
from cellreap.runs.qemu import memory_in
from cellreap.runs.reading import read_run
from cellreap.system.build import build_image
from cellreap.system.config import (
    Config,
    Depth,
    Mode,
    asking,
    override,
    parse_config,
    read_text,
    scheduled,
    timed,
)
from cellreap.system.fills import fills_of
from cellreap.system.image import read_image
from cellreap.system.parts import build_pd_library
from cellreap.system.programs import Source, build_programs, keep_programs
from cellreap.system.sdk import Sdk, counter_missing, debug_missing, is_mcs, timer_missing
from cellreap.system.toolchain import find_toolchain
from cellreap.testing.changes import Change, validated
from cellreap.testing.run import Run

# Seconds. They only end runs that hang, so they are long enough for a busy machine.
TIMEOUT, IDLE = 600, 90


class NotOnKernel(unittest.SkipTest):
    """The system needs something that the kernel does not have.

    Test frameworks count a test that raises this as skipped.
    """


class NoTimer(NotOnKernel):
    """The system needs a timer, and the kernel leaves none to user level."""


class NoMcs(NotOnKernel):
    """The configuration needs scheduling contexts, and the kernel has none."""


class NoDebug(NotOnKernel):
    """The system asks the kernel for what it holds, which only a debug kernel tells."""


class How(TypedDict, total=False):
    """How a configuration is run, for `Target` and for the fixture of the pytest plugin."""

    pd_depth: Depth | None
    rs_depth: Depth | None
    crash: str | None
    mode: Mode | None
    """These four are the options of `cellreap run`."""
    change: Change | None
    """Applied to the configuration before the build."""
    qemu_args: tuple[str, ...]
    """Further arguments for QEMU."""
    typed: Path | None
    """The file that the UART of the console receives."""
    again: int
    """Different numbers cause different boots of the same system."""


class Target:
    """Boots systems on one kernel. Equal systems are booted once.

    sdk: the kernel. folder: where images, traces and runs are kept; processes with the same folder
    share them. configs: the folders that are searched for configurations, in this order. change:
    applied to every configuration, before that of a run.
    """

    def __init__(
        self, sdk: Sdk, folder: Path, configs: Sequence[Path], change: Change | None = None
    ) -> None:
        self.sdk = sdk
        self.change = change
        self.folder = folder
        self.configs = tuple(configs)
        self._runs: dict[str, Run] = {}

    def load(self, name: str) -> tuple[str, Config]:
        """Returns the text of configuration NAME.toml and the configuration.

        Raises FileNotFoundError if no folder has the file, and InputError if the configuration is
        wrong.
        """
        path = self.find(name)
        text = read_text(path)
        return text, parse_config(text, path)

    def find(self, name: str) -> Path:
        """Returns the file of configuration NAME.toml. Raises FileNotFoundError."""
        for folder in self.configs:
            path = folder / f"{name}.toml"
            if path.exists():
                return path
        raise FileNotFoundError(f"{name}.toml is in none of {', '.join(map(str, self.configs))}")

    def run(self, name: str, *, passes: bool = True, **how: Unpack[How]) -> Run:
        """Returns the run of configuration NAME.toml.

        The trace must be complete and pass the check. Otherwise raises AssertionError. Raises
        NotOnKernel if the system needs what the kernel does not have: a timer, debug calls.

        passes: False if the check may find violations. The test then reads them in the report.

        how: see `How`.
        """
        run = self.boot(name, **how)
        if run.boot.end is not End.COMPLETE:
            raise AssertionError(f"{run.trace}: {run.boot}")
        if passes and not run.report.passed:
            raise AssertionError(f"{run.trace}: {run.report.violations[:5]}")
        return run

    def boot(self, name: str, **how: Unpack[How]) -> Run:
        """Returns the run of configuration NAME.toml, however it went. See `run`."""
        text, config = self.load(name)
        return self.boot_read(Source(config, text, self.find(name)), **how)

    def boot_read(self, source: Source, **how: Unpack[How]) -> Run:
        """Returns the run of a configuration that is read already, however it went. See `run`."""
        refuse_unknown(how)
        change, qemu_args, typed = how.get("change"), how.get("qemu_args", ()), how.get("typed")
        config = source.config
        if self.change is not None:
            config = self.change(config)
        config = override(
            config,
            pd_depth=how.get("pd_depth"),
            rs_depth=how.get("rs_depth"),
            crash=how.get("crash"),
            mode=how.get("mode"),
        )
        if change is not None:
            config = change(config)
        config = _checked(config)
        missing = timer_missing(self.sdk.options, self.sdk.kernel.arch)
        counter = counter_missing(self.sdk.options, self.sdk.kernel.arch)
        if missing is None and counter is not None and config.system.trace_time:
            raise NoTimer(f"{self.sdk.kernel} leaves no counter to user level: it has no {counter}")
        if missing is not None and any(timed(config)):
            raise NoTimer(f"{self.sdk.kernel} leaves no timer to user level: it has no {missing}")
        missing = debug_missing(self.sdk.options)
        if missing is not None and any(asking(config)):
            raise NoDebug(f"{self.sdk.kernel} does not tell what it holds: it has no {missing}")
        if not is_mcs(self.sdk.options) and any(scheduled(config)):
            raise NoMcs("no MCS kernel")
        source = replace(source, config=config)
        own = self._own(source)
        told = repr(
            (config.model_dump_json(by_alias=True), own, qemu_args, typed, how.get("again", 0))
        )
        key = f"{source.path.stem}-{hashlib.sha256(told.encode()).hexdigest()[:16]}"
        if key not in self._runs:
            self._runs[key] = self._shared(source, key, qemu_args, typed)
        return self._runs[key]

    def image(self, name: str) -> Path:
        """Returns the image of configuration NAME.toml. Builds it but does not boot it."""
        text, config = self.load(name)
        path = self.folder / f"{name}.only.img"
        with _locked(path.with_suffix(".lock")):
            if not path.exists():
                build_image(
                    config, text, self.sdk, path, Progress(quiet=True), path=self.find(name)
                )
        return path

    def _own(self, source: Source) -> list[str]:
        """What identifies the programs and other files of the configuration itself, which can
        change.
        """
        built = fills_of(source)
        if source.config.programs:
            toolchain = find_toolchain(self.sdk.kernel.arch)
            library = build_pd_library(self.sdk, toolchain, Progress(quiet=True))
            built |= build_programs(source, self.sdk, toolchain, library, Progress(quiet=True))
        return [hashlib.sha256(raw).hexdigest() for raw in built.values()]

    def _shared(
        self, source: Source, key: str, qemu_args: tuple[str, ...], typed: Path | None
    ) -> Run:
        kept = self.folder / f"{key}.pickle"
        with _locked(kept.with_suffix(".lock")):
            if kept.exists():
                loaded = pickle.loads(kept.read_bytes())
                assert isinstance(loaded, Run)
                return loaded
            run = self._boot(source, key, qemu_args, typed)
            kept.write_bytes(pickle.dumps(run))
            return run

    def _boot(
        self, source: Source, key: str, qemu_args: tuple[str, ...], typed: Path | None
    ) -> Run:
        image, trace = self.folder / f"{key}.img", self.folder / f"{key}.trace"
        quiet = Progress(quiet=True)
        asked = memory_in(qemu_args)
        programs = build_image(
            source.config,
            source.text,
            self.sdk,
            image,
            quiet,
            path=source.path,
            machine_bytes=asked,
            variant=key,
        ).programs
        keep_programs(programs_beside(image), programs)
        made = read_image(image)
        with trace.open("wb") as file:
            boot = boot_image(
                made,
                file,
                extra=qemu_args,
                timeout=TIMEOUT,
                idle=IDLE,
                drives=drives_beside(made, trace),
                typed=typed,
            )
        expected = expected_of_image(made, source.config)
        places = Places(source.config, programs)
        reading = read_run(trace, boot, expected, keep_events=True, explain=places.explain())
        return Run(boot, reading.report, reading.events, trace, image)


def refuse_unknown(how: Mapping[str, object], also: Sequence[str] = ()) -> None:
    """A misspelt argument would have a test pass that tests nothing. also: further ones that the
    caller has.
    """
    known = [*How.__annotations__, *also]
    for name in how.keys() - How.__annotations__.keys():
        near = hint(name, known)
        raise UsageError(f"{name}: unknown argument, {near}expected one of {', '.join(known)}")


def _checked(config: Config) -> Config:
    try:
        return validated(config)
    except ValidationError as error:
        (first, *_) = error.errors()
        key = ".".join(map(str, first["loc"]))
        what = f"{key}: got {first['input']!r}: {first['msg']}"
        raise UsageError(f"{config.system.name}: {what}") from None


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
