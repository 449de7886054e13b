# SPDX-License-Identifier: BSD-2-Clause
"""The public functions: a thin face over the steps that the command line takes, too.

They print nothing.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypeAlias

from cellreap.api.auditing import Audit, audit_state
from cellreap.api.configured import of_system
from cellreap.api.measuring import Blast, blasts_of, find_pd, measuring, pairs
from cellreap.api.planning import Engine, collect_state, plan_state, reconcile_state
from cellreap.api.results import Run
from cellreap.api.running import Limits, boot_and_check, build_system
from cellreap.api.states import State, checked, state_of
from cellreap.api.systems import System, kernel_for
from cellreap.api.traced import of_trace
from cellreap.errors import IncompleteError, UsageError
from cellreap.inputs import beside, opened
from cellreap.model.closeness import Closeness
from cellreap.model.graph import Model
from cellreap.model.metrics import Metrics
from cellreap.model.plan import Plan
from cellreap.progress import Progress
from cellreap.runs.boot import DEFAULT_IDLE
from cellreap.runs.expectation import (
    config_of,
    expected_of_config,
    expected_of_image,
)
from cellreap.runs.known import Known, known_of
from cellreap.runs.places import Places, explain_of_image
from cellreap.runs.qemu import check_before_build, memory_in, split_arguments
from cellreap.system.config import Depth, Mode
from cellreap.system.image import Image, read_image
from cellreap.system.locks import alone
from cellreap.trace.events import record_text
from cellreap.trace.reader import Reader, read

Source: TypeAlias = str | Path | System | Run | Model
"""What a model state can come from."""


def state(source: Source, *, after: int | None = None, strict: bool = False) -> Model:
    """The model state that a configuration, a trace or a CSV file describes.

    A file is a configuration if its name ends in `.toml`, a trace if a trace begins in it, and else
    a model state as CSV. `unknown` of the state says what its source leaves open: a configuration
    does not tell what programs make when they run, and its requests are only possible ones.

    `after`: for a trace, the state after the cleanup of that number, 0 for the state before the
    first one. By default it is the state at the end of the trace. `strict`: UsageError if the state
    is illegal, if something had to be left out of it, or if the trace does not pass its check.

    >>> model = cellreap.state("configs/block_fs_db_app.toml")
    >>> model.nodes["PD_3"].name, sorted(model.requests)[1:4]
    ('fs', [('PD_2', 'RESSPC_SPACE_1'), ('PD_3', 'BLOCK_SPACE_3'), ('PD_3', 'BLOCK_SPACE_4')])
    """
    return _state(source, after, strict)[0].model


def plan(
    source: Source,
    crash: str,
    *,
    pd_depth: Depth | None = None,
    rs_depth: Depth | None = None,
    subtree: bool = False,
    after: int | None = None,
    strict: bool = False,
    incomplete: bool = False,
    engine: Engine = "core",
    closeness: Closeness | Literal["depth"] | None = None,
) -> Plan:
    """What the crash of a PD would doom, and in which order. Nothing is booted.

    `source`, `after` and `strict` are those of `state`. `crash` is the name or the id of the PD.
    `pd_depth`, `rs_depth`: 0, 1, 2, ... or "inf"; by default those of the configuration or the
    trace, or 0 for CSV. `subtree`: the PD is terminated, together with all PDs that it created,
    transitively. `engine`: "core" is the root task's own code, "reference" the independent
    model in Python. `closeness`: the policy, as `Closeness("both", fr_max=1)`, or "depth"; by
    default that of the configuration or the trace. `incomplete`: without it, IncompleteError if the
    source does not tell everything, as no configuration does; with it, the plan is that of what the
    source tells, and `possible` of the plan names what goes only if PDs make requests that they may
    make.

    From a model state in CSV:

    >>> plan = cellreap.plan("tests/data/scenario.csv", "block_server_1", pd_depth=1)
    >>> plan.destroyed_pds
    [('PD_1', 0), ('PD_3', 1)]
    >>> plan.groups
    [['BLOCK_SPACE_1'], ['FILE_SPACE_3', 'PD_1'], ['PD_3']]

    From a configuration:

    >>> config = "configs/block_fs_db_app.toml"
    >>> plan = cellreap.plan(config, "block_server_1", pd_depth="inf", incomplete=True)
    >>> plan.doomed_why
    {'BLOCK_SPACE_3': ('managed', 'PD_1'), 'FILE_SPACE_5': ('managed', 'PD_3'), \
'PD_1': ('trigger', None), 'PD_3': ('request', 'BLOCK_SPACE_3'), \
'PD_4': ('request', 'FILE_SPACE_5'), 'PD_5': ('request', 'TABLE_SPACE_6'), \
'TABLE_SPACE_6': ('managed', 'PD_4')}
    >>> plan.possible
    ['FILE_SPACE_5', 'PD_3', 'PD_4', 'PD_5', 'TABLE_SPACE_6']

    From a trace, in the state before its first crash:

    >>> trace = "tests/data/goldens/block_fs_db_app-0-0.trace"
    >>> cellreap.plan(trace, "fs", rs_depth=1, after=0).deleted_spaces
    ['FILE_SPACE_5', 'TABLE_SPACE_6']
    """
    found, name = _whole(source, after, strict, incomplete)
    return plan_state(found, name, crash, pd_depth, rs_depth, engine, closeness, subtree=subtree)


def collect(
    source: Source,
    *,
    after: int | None = None,
    strict: bool = False,
    incomplete: bool = False,
    engine: Engine = "core",
) -> Plan:
    """What a collection would doom: the PDs that cannot be reached, and their spaces.

    `source`, `after`, `strict`, `incomplete` and `engine` are those of `plan`. PDs are reached from
    the root task, from pinned PDs and, in a configuration or a trace, from those that the root task
    made.

    >>> cellreap.collect("configs/block_fs_db_app.toml", incomplete=True).destroyed_pds
    []
    >>> model = cellreap.state("configs/block_fs_db_app.toml")
    >>> model.set_pinned("PD_4", True)
    >>> cellreap.collect(model, incomplete=True).destroyed_pds
    [('PD_5', 1)]
    """
    return collect_state(_whole(source, after, strict, incomplete)[0], engine)


def reconcile(
    saved: Source,
    system: str | Path | System,
    *,
    after: int | None = None,
    strict: bool = False,
    incomplete: bool = False,
    engine: Engine = "core",
) -> Plan:
    """What a saved state has and a configuration no longer names, with the order in which it goes.

    `saved`, `after`, `strict`, `incomplete` and `engine` are `source` and the others of `plan`.
    `system`: the new configuration. It names PDs by their names, and the spaces of a PD by their
    types.

    >>> cellreap.reconcile("tests/data/scenario.csv", "configs/counter.toml").groups[0]
    ['BLOCK_SPACE_1', 'BLOCK_SPACE_2']
    """
    found = _whole(saved, after, strict, incomplete)[0]
    return reconcile_state(found, _system(system).config, engine)


def metrics(
    source: Source,
    a: str,
    b: str,
    *,
    with_root: bool = False,
    after: int | None = None,
    strict: bool = False,
    incomplete: bool = False,
    engine: Engine = "core",
) -> Metrics:
    """How close two PDs are: what they share, and how far the PD is that both depend on.

    `source`, `after`, `strict`, `incomplete` and `engine` are those of `plan`. `a`, `b`: the names
    or the ids of the PDs. `with_root`: the root task may be the PD on which both depend.

    >>> metrics = cellreap.metrics("tests/data/scenario.csv", "app", "block_server_1")
    >>> metrics.fr, metrics.rsi["BLOCK"], float(metrics.share("BLOCK"))
    (0, (1, 1), 1.0)
    """
    found, name = _whole(source, after, strict, incomplete)
    two = find_pd(found, name, a), find_pd(found, name, b)
    return measuring(found.model, engine, with_root).measure(*two)


def matrix(
    source: Source,
    *,
    with_root: bool = False,
    after: int | None = None,
    strict: bool = False,
    incomplete: bool = False,
    engine: Engine = "core",
) -> list[Metrics]:
    """How close all pairs of different PDs are, as `metrics` says it.

    The root task is among them only `with_root`.

    >>> [pair.pds for pair in cellreap.matrix("tests/data/scenario.csv") if pair.fr is None]
    [('PD_1', 'PD_2')]
    """
    found, _ = _whole(source, after, strict, incomplete)
    measures = measuring(found.model, engine, with_root)
    return pairs(found.model, measures, with_root=with_root)


def audit(
    source: Source,
    *,
    max_depth: int = 4,
    pairs: bool = False,
    after: int | None = None,
    strict: bool = False,
    incomplete: bool = False,
) -> Audit:
    """What each single crash would do, at each pair of depths up to `max_depth`, and unlimited.

    `source`, `after`, `strict` and `incomplete` are those of `plan`. `pairs`: also what the crashes
    of two PDs would do, one after the other. Nothing is booted.

    >>> audit = cellreap.audit("tests/data/scenario.csv")
    >>> audit.smallest
    [(0, 2), (2, 0)]
    >>> audit.at(0, 0).broken["PD_1"][0]
    ('PD_3', 'FILE_3_1', 'BLOCK_1_1')
    """
    found, _ = _whole(source, after, strict, incomplete)
    return audit_state(found, max_depth, pairs=pairs)


def blasts(trace: str | Path | Run, *, with_root: bool = False) -> list[Blast]:
    """How far each cleanup of a trace reached.

    UsageError if the trace does not pass its check: its states may be wrong.

    >>> [blast] = cellreap.blasts("tests/data/goldens/block_fs_db_app-0-0.trace")
    >>> blast.trigger, blast.destroyed, blast.stays_within(0)
    ('PD_1', [], True)
    """
    path = trace.trace if isinstance(trace, Run) else Path(trace)
    return blasts_of(path, with_root=with_root)[0]


def build(
    system: str | Path | System,
    output: str | Path,
    *,
    arch: str | None = None,
    kernel: str | Path | None = None,
) -> Image:
    """Builds an image: kernel, root task, PDs and configuration in one file.

    `arch`: as seL4 names it; "x86_64" by default. `kernel`: "seL4", "refkernel" or the path of an
    SDK; by default seL4 if it is installed, else refkernel. The programs' ELF files with debug
    information are kept beside the image. CellreapError if a program or a tool is missing or does
    not build.
    """
    system = _system(system)
    quiet = Progress(quiet=True)
    sdk = kernel_for(arch, kernel, quiet)
    system.check_kernel(sdk)
    with alone(Path(output)):
        build_system(system, sdk, Path(output), quiet, keep=True)
        return read_image(Path(output))


def boot(
    image: str | Path | Image,
    trace: str | Path | None = None,
    *,
    timeout: float | None = None,
    idle: float = DEFAULT_IDLE,
    qemu_args: Sequence[str] = (),
    typed: str | Path | None = None,
) -> Run:
    """Boots an image on QEMU, records its trace and checks it against the image.

    `trace`: where to write the console; by default beside the image, with the suffix `.trace`.
    `timeout`: the run ends after this many seconds; by default it may take any time, and ends after
    16 MiB of output. `idle`: it also ends if nothing is printed for this many seconds. `qemu_args`:
    further arguments for QEMU. `typed`: a file that the UART of the console receives, from its
    beginning.
    """
    image = image if isinstance(image, Image) else read_image(Path(image))
    path = beside(image.path, ".trace") if trace is None else Path(trace)
    limits = Limits(timeout, idle, tuple(qemu_args), None if typed is None else Path(typed))
    return boot_and_check(image, path, limits, Progress(quiet=True), keep_events=True)


def check(trace: str | Path, against: str | Path | System | Image | None = None) -> Run:
    """Replays a trace against the reference model. What it finds is in the run that it returns.

    `against`: the image that was booted, or a configuration. Without it, that is NAME.img beside
    NAME.trace. Without that too, the check does not know what the system was to be, and what it was
    to come to. InputError if the file has no trace.
    """
    if isinstance(against, System):
        expected = expected_of_config(against.config, str(against.path))
        known = Known(expected, Places(against.config).explain())
    elif isinstance(against, Image):
        expected = expected_of_image(against, config_of(against))
        known = Known(expected, explain_of_image(against))
    else:
        known = known_of(Path(trace), None if against is None else Path(against), None)
    reading = known.read(Path(trace), keep_events=True)
    report = reading.report
    kernel = f"{report.kernel or 'an unknown kernel'} ({report.arch})"
    return Run(report.system or "the system", kernel, reading, Path(trace))


def records(trace: str | Path) -> list[str]:
    """The records of a trace as text, one each: number, event, fields, and the time if it has one.

    They end where the trace is damaged; `check` tells of damage. InputError if the file has no
    trace.

    >>> cellreap.records("tests/data/goldens/block_fs_db_app-0-0.trace")[2]
    '2 SETTING what=mode word=async value=0 second=0 third=0'
    """
    with opened(trace) as stream:
        return [record_text(event) for event in read(Reader(str(trace)), stream)]


def run(
    system: str | Path | System,
    *,
    crash: str | None = None,
    pd_depth: Depth | None = None,
    rs_depth: Depth | None = None,
    mode: Mode | None = None,
    arch: str | None = None,
    kernel: str | Path | None = None,
    output: str | Path | None = None,
    timeout: float | None = None,
    idle: float = DEFAULT_IDLE,
    qemu_args: Sequence[str] = (),
    typed: str | Path | None = None,
) -> Run:
    """Builds a system, boots it on QEMU and checks its trace.

    `crash`: the PD that crashes, instead of those in the file: as the file's entries for it say,
    else at the checkpoint of the file's first crash; `"fs@2"`: at its second one. `pd_depth`,
    `rs_depth`: 0, 1, 2, ... or "inf". `mode`: "async" or "sync". These four replace what the file
    says. `arch`, `kernel`: as for `build`. `timeout`, `idle`, `qemu_args`, `typed`: as for `boot`.
    `output`: a folder that keeps image, programs and trace; without it they go when the result is
    no longer used.

    A run that fails is no error: the result says why. CellreapError if the system cannot be built
    or booted.

    >>> run = cellreap.run("configs/block_fs_db_app.toml", rs_depth=1)  # boots
    >>> run.passed, sorted(run.alive)
    (True, ['app', 'block_server_2', 'db', 'fs'])
    >>> run.said("fs")
    ['told: my space 5 is destroyed', 'told: I have lost space 4']
    """
    system = _system(system).changed(crash=crash, pd_depth=pd_depth, rs_depth=rs_depth, mode=mode)
    quiet = Progress(quiet=True)
    sdk = kernel_for(arch, kernel, quiet)
    system.check_kernel(sdk)
    check_before_build(sdk.options, str(sdk.config_file))
    temporary = None
    if output is None:
        temporary = tempfile.TemporaryDirectory(prefix="cellreap-run-")
    folder = Path(temporary.name if temporary is not None else str(output))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"output={folder}: {error.strerror}; expected a directory") from None
    image = folder / f"{system.name}.img"
    asked = memory_in(split_arguments(tuple(qemu_args)))
    limits = Limits(timeout, idle, tuple(qemu_args), None if typed is None else Path(typed))
    with alone(image):
        build_system(system, sdk, image, quiet, keep=True, machine_bytes=asked)
        result = boot_and_check(
            read_image(image), image.with_suffix(".trace"), limits, quiet, keep_events=True
        )
    return replace(result, folder=temporary)


def _system(system: str | Path | System) -> System:
    return system if isinstance(system, System) else System.read(system)


def _whole(source: Source, after: int | None, strict: bool, incomplete: bool) -> tuple[State, str]:
    """As `_state`. IncompleteError if the source does not tell everything, unless that is asked
    for.
    """
    found, name = _state(source, after, strict)
    if found.model.unknown and not incomplete:
        raise IncompleteError(name, found.model.unknown)
    return found, name


def _state(source: Source, after: int | None, strict: bool) -> tuple[State, str]:
    """The state of a source, and the name of the source in messages."""
    if isinstance(source, (str, Path)):
        return state_of(Path(source), after=after, strict=strict), str(source)
    if isinstance(source, Run):
        found = of_trace(source.trace, after, strict=strict)
        return checked(found, str(source.trace), strict=strict), str(source.trace)
    if after is not None:
        raise UsageError(f"after={after}: only a trace has cleanups")
    if isinstance(source, System):
        return checked(of_system(source), str(source.path), strict=strict), str(source.path)
    return checked(State(source, "model"), "the model", strict=strict), "the model"
