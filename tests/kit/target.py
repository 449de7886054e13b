# SPDX-License-Identifier: BSD-2-Clause
"""Boots systems under QEMU, each once, and answers questions about what they did.

A run is asked in the names of its configuration ("fs", "disk1"), never in numbers, which are the root task's
to give. What is answered comes from the events of the trace. Every run has passed `cellreap check` before a
test sees it, so a test says only what is to be seen beyond that.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import io
import os
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest

from cellreap.model.ids import ROOT, parse_id
from cellreap.progress import Progress
from cellreap.run.boot import Boot, End, boot_image
from cellreap.system.build import build_image
from cellreap.system.config import Config, Depth, Mode, override, parse_config, timed
from cellreap.system.image import read_image
from cellreap.system.sdk import Sdk, timer_missing
from cellreap.trace.events import Event
from cellreap.trace.reading import read_trace
from cellreap.trace.report import Report
from kit.paths import BOOT_CONFIGS, CONFIGS

# Seconds. No test is about them: more than a busy machine needs.
TIMEOUT, IDLE = 600, 90

Change = Callable[[Config], Config]


@dataclass(frozen=True)
class Run:
    """One boot, to its end."""

    boot: Boot
    report: Report
    events: list[Event]
    trace: Path
    image: Path

    @cached_property
    def names(self) -> dict[str, str]:
        """id -> name in the configuration, of all PDs and spaces there ever were."""
        names = {event["id"]: event["name"] for event in self.of("PD")}
        names |= {e["id"]: e["name"] if e["name"] != "-" else e["id"] for e in self.of("SPACE")}
        return names

    def name(self, id_: str) -> str:
        """A node's name; of a resource, that of its space and the object's number: "disk1:1"."""
        if id_ in self.names or id_ == "-":
            return self.names.get(id_, id_)
        parsed = parse_id(id_)
        assert parsed is not None
        space = next(event["space"] for event in self.of("RESOURCE", id=id_))
        return f"{self.names[space]}:{parsed.number}"

    def ids(self, name: str) -> list[str]:
        """The ids of all PDs or spaces that had that name, in the order of creation."""
        return [id_ for id_, known in self.names.items() if known == name]

    def id(self, name: str) -> str:
        """The id of the only PD or space that ever had that name."""
        (found,) = self.ids(name)
        return found

    def of(self, *names: str, **fields: object) -> list[Event]:
        """The events of these names, with these values in their fields."""
        return [
            event
            for event in self.events
            if event.name in names and all(event[key] == str(value) for key, value in fields.items())
        ]

    def says(self, name: str) -> list[str]:
        """What all PDs of that name said, in order."""
        return [event["text"] for event in self.of("SAY") if self.names[event["pd"]] == name]

    def cleanups(self) -> list[Event]:
        """The CLEANUP events."""
        return self.of("CLEANUP")

    def doomed(self, n: int = 1) -> dict[str, str]:
        """The PDs that the n-th cleanup doomed, and at which depth."""
        return {self.names[event["pd"]]: event["depth"] for event in self.of("DOOM_PD", n=n)}

    def destroyed(self, n: int = 1) -> list[str]:
        """What the n-th cleanup destroyed, in order."""
        return [self.name(event["node"]) for event in self.of("DESTROY", n=n)]

    def destroyed_pds(self, n: int = 1) -> set[str]:
        """The PDs that the n-th cleanup destroyed."""
        nodes = {event["node"] for event in self.of("DESTROY", n=n)}
        return {self.names[node] for node in nodes if node in self.names and "_SPACE_" not in node}

    def deleted_spaces(self, n: int = 1) -> set[str]:
        """The spaces that the n-th cleanup destroyed."""
        return {self.names[e["node"]] for e in self.of("DESTROY", n=n) if "_SPACE_" in e["node"]}

    def alive(self) -> set[str]:
        """The names of the PDs at the end, the root task left out."""
        gone = {event["node"] for event in self.of("DESTROY")}
        return {e["name"] for e in self.of("PD") if e["id"] not in gone and e["id"] != ROOT}

    def notices(self, n: int = 1) -> set[tuple[str, str, str, str]]:
        """(to, kind, node, from) of every notice that the n-th cleanup queued. None twice."""
        found = [
            (self.name(e["to"]), e["kind"], self.name(e["node"]), self.name(e["from"]))
            for e in self.of("QUEUE", n=n)
        ]
        assert len(set(found)) == len(found), f"a notice was queued twice: {found}"
        return set(found)

    def calls(self, n: int = 1) -> dict[str, int]:
        """Kernel calls of the n-th cleanup, by kind."""
        return {event["kind"]: event.number("count") for event in self.of("CALLS", n=n)}

    def step_calls(self, n: int, step: str) -> list[int]:
        """Kernel calls of each of the n-th cleanup's steps of that name."""
        return [event.number("calls") for event in self.of("STEP", n=n, name=step)]

    def state(self, n: int) -> list[list[str]]:
        """The rows of the state that was printed after the n-th cleanup, as columns."""
        return [event["row"].split(",") for event in self.of("STATE", n=n)]

    def at(self, event: Event) -> int:
        """Where in the run an event is."""
        return self.events.index(event)


class Target:
    """Builds, boots and checks. One boot for each system and its options, whoever asks, in all processes."""

    def __init__(self, sdk: Sdk, folder: Path) -> None:
        self.sdk = sdk
        self.folder = folder
        self._runs: dict[str, Run] = {}

    def run(
        self,
        name: str,
        *,
        pd_depth: Depth | None = None,
        rs_depth: Depth | None = None,
        crash: str | None = None,
        mode: Mode | None = None,
        change: Change | None = None,
        qemu_args: tuple[str, ...] = (),
        again: int = 0,
        passes: bool = True,
    ) -> Run:
        """The run of configs/NAME.toml or tests/boot/configs/NAME.toml, which passed the check.

        change: made to the configuration before it is built. again: another number, another boot.
        passes: else what the check found is for the test to look at.
        Skips the test if the system needs real time, and the kernel leaves no timer for that.
        """
        text, config = load(name)
        config = override(config, pd_depth=pd_depth, rs_depth=rs_depth, crash=crash, mode=mode)
        if change is not None:
            config = parse_again(change(config))
        missing = timer_missing(self.sdk.options, self.sdk.kernel.arch)
        if missing is not None and any(timed(config)):
            pytest.skip(f"{self.sdk.kernel} leaves no timer to user level: it has no {missing}")
        told = repr((config.model_dump_json(by_alias=True), qemu_args, again))
        key = f"{name}-{hashlib.sha256(told.encode()).hexdigest()[:16]}"
        if key not in self._runs:
            self._runs[key] = self._shared(key, config, text, qemu_args)
        run = self._runs[key]
        assert run.boot.end is End.COMPLETE, f"{run.trace}: {run.boot}"
        assert not passes or run.report.passed, f"{run.trace}: {run.report.violations[:5]}"
        return run

    def image(self, name: str) -> Path:
        """The image of a configuration, not booted."""
        text, config = load(name)
        path = self.folder / f"{name}.only.img"
        with _locked(path.with_suffix(".lock")):
            if not path.exists():
                build_image(config, text, self.sdk, path, Progress(quiet=True))
        return path

    def _shared(self, key: str, config: Config, text: str, qemu_args: tuple[str, ...]) -> Run:
        kept = self.folder / f"{key}.pickle"
        with _locked(kept.with_suffix(".lock")):
            if kept.exists():
                loaded = pickle.loads(kept.read_bytes())
                assert isinstance(loaded, Run)
                return loaded
            run = self._boot(key, config, text, qemu_args)
            kept.write_bytes(pickle.dumps(run))
            return run

    def _boot(self, key: str, config: Config, text: str, qemu_args: tuple[str, ...]) -> Run:
        image, trace = self.folder / f"{key}.img", self.folder / f"{key}.trace"
        build_image(config, text, self.sdk, image, Progress(quiet=True))
        with trace.open("wb") as file:
            boot = boot_image(read_image(image), file, extra=qemu_args, timeout=TIMEOUT, idle=IDLE)
        raw = trace.read_bytes()
        reading = read_trace(io.BytesIO(raw), trace.name, keep_events=True)
        return Run(boot, reading.report, reading.events, trace, image)


def load(name: str) -> tuple[str, Config]:
    """A configuration's text, and what it says."""
    path = CONFIGS / f"{name}.toml"
    path = path if path.exists() else BOOT_CONFIGS / f"{name}.toml"
    text = path.read_text()
    return text, parse_config(text, path)


def parse_again(config: Config) -> Config:
    """A changed configuration with every rule for configurations checked."""
    checked = Config.model_validate(config.model_dump(by_alias=True))
    return override(checked)


def with_pd(name: str, **values: object) -> Change:
    """A change: other values for one PD."""

    def change(config: Config) -> Config:
        assert config.pd(name) is not None
        pds = tuple(pd.model_copy(update=values) if pd.name == name else pd for pd in config.pds)
        return config.model_copy(update={"pds": pds})

    return change


def with_system(**values: object) -> Change:
    """A change: other values in [system]."""

    def change(config: Config) -> Config:
        return config.model_copy(update={"system": config.system.model_copy(update=values)})

    return change


def together(*changes: Change) -> Change:
    """One change after the other."""

    def change(config: Config) -> Config:
        for one in changes:
            config = one(config)
        return config

    return change


def with_crashes(*entries: dict[str, object]) -> Change:
    """A change: other crashes."""

    def change(config: Config) -> Config:
        values = config.model_dump(by_alias=True)
        values["crash"] = entries
        return Config.model_validate(values)

    return change


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def dangling(rows: list[list[str]]) -> list[str]:
    """The ends of edges in a printed state that no row of it lists as a node."""
    nodes = {row[1] for row in rows if row[0]}
    named = [end for row in rows if not row[0] for end in (row[4], row[5], row[6]) if end]
    return sorted({end for end in named if end not in nodes})
