# SPDX-License-Identifier: BSD-2-Clause
"""Builds, boots and checks a system, step by step."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from cellreap.api.results import Run
from cellreap.api.systems import System
from cellreap.errors import CellreapError
from cellreap.progress import Progress
from cellreap.runs.boot import (
    DEFAULT_IDLE,
    Boot,
    End,
    Watch,
    boot_image,
    drives_beside,
    record,
)
from cellreap.runs.expectation import config_of, expected_of_image
from cellreap.runs.places import explain_of_image, programs_beside
from cellreap.runs.qemu import split_arguments
from cellreap.runs.reading import read_run
from cellreap.runs.root_task import boot_root_task
from cellreap.system.build import Built, build_image
from cellreap.system.config import Config
from cellreap.system.elf import arch_of, read_executable
from cellreap.system.image import Image
from cellreap.system.locks import written_alone
from cellreap.system.parts import Parts, build_parts
from cellreap.system.programs import keep_programs
from cellreap.system.refkernel import find_kernel
from cellreap.system.sdk import Kernel, Sdk, load_sdk
from cellreap.system.toolchain import find_toolchain
from cellreap.trace.explain import Explain


@dataclass(frozen=True)
class Limits:
    """How the emulator is run.

    timeout, idle, typed: as for `boot_image`. qemu_args: further arguments for QEMU.
    """

    timeout: float | None = None
    idle: float | None = DEFAULT_IDLE
    qemu_args: Sequence[str] = ()
    typed: Path | None = None


def build_system(
    system: System,
    sdk: Sdk,
    output: Path,
    progress: Progress,
    *,
    trace_key: bytes | None = None,
    keep: bool = False,
    machine_bytes: int | None = None,
) -> Built:
    """Builds the image of a system and writes it to `output`. See `build_image` for errors.

    keep: keep the programs' ELF files, with debug information, beside the image.
    """
    built = build_image(
        system.config,
        system.text,
        sdk,
        output,
        progress,
        system.overrides,
        trace_key=trace_key,
        path=system.path,
        machine_bytes=machine_bytes,
        variant=system.variant,
    )
    if keep:
        keep_programs(programs_beside(output), built.programs)
    return built


def record_image(
    image: Image, trace: Path, limits: Limits, progress: Progress, watch: Watch | None = None
) -> Boot:
    """Boots an image and writes its console to the file `trace`. CellreapError if that fails.

    watch: who watches the run.
    """
    quiet = watch is not None and watch.shows  # progress would mix with it
    kernel = image.manifest.kernel
    what = f"{image.manifest.system} on {kernel.name} {kernel.version}"
    run = functools.partial(
        boot_image,
        image,
        extra=split_arguments(tuple(limits.qemu_args)),
        timeout=limits.timeout,
        idle=limits.idle,
        watch=watch,
        drives=drives_beside(image, trace),
        typed=limits.typed,
    )
    return _record(what, trace, progress, run, quiet=quiet)


def record_root_task(
    path: Path, sdk: Path | None, trace: Path, limits: Limits, progress: Progress
) -> tuple[Boot, Kernel]:
    """Boots a root task that is an ELF file, and writes its console to the file `trace`.

    CellreapError if that fails. sdk: as find_kernel takes it.
    """
    extra = split_arguments(tuple(limits.qemu_args))
    raw = path.read_bytes()
    arch = arch_of(raw, str(path))
    read_executable(raw, str(path), arch)
    found = load_sdk(find_kernel(arch, sdk, progress), arch)
    toolchain = find_toolchain(arch)

    def parts() -> Parts:
        return build_parts(found, toolchain, progress)

    def run(file: BinaryIO, on_events: Callable[[int], None]) -> Boot:
        record_as = functools.partial(
            record,
            trace=file,
            timeout=limits.timeout,
            idle=limits.idle,
            on_events=on_events,
            typed=limits.typed,
        )
        return boot_root_task(found, toolchain, parts, raw, str(path), extra, record_as)

    what = f"{path.name} on {found.kernel.name} {found.kernel.version}"
    return _record(what, trace, progress, run), found.kernel


def _record(
    what: str, trace: Path, progress: Progress, run: Callable[..., Boot], *, quiet: bool = False
) -> Boot:
    """Calls `run` with the file of the trace and a function for the number of events.

    quiet: the number is not shown.
    """
    with progress.step(f"booting {what}", signs=not quiet) as update:

        def on_events(count: int) -> None:
            if not quiet:
                update(f"{count} events")

        with written_alone(trace) as file:
            boot = run(file, on_events=on_events)
    return refuse_failed(boot)


def refuse_failed(boot: Boot, machine: str = "QEMU") -> Boot:
    """CellreapError if the run says nothing about the system.

    That is the case if its emulator did not start or was killed. Otherwise returns `boot`.
    machine: what failed then.
    """
    if boot.end is End.FAILED:
        raise CellreapError(
            f"{machine} failed after {boot.seconds:.1f} s and {boot.events} events: {boot.detail}"
        )
    return boot


def boot_and_check(
    image: Image,
    trace: Path,
    limits: Limits,
    progress: Progress,
    *,
    config: Config | None = None,
    keep_events: bool = False,
    watch: Watch | None = None,
    explain: Explain | None = None,
) -> Run:
    """Boots an image, records its trace and checks it.

    config: what the root task contains; None: what the image says. keep_events: the run has the
    events of the trace. watch: who watches the run. explain: of the image; None: it is made anew.
    """
    boot = record_image(image, trace, limits, progress, watch)
    return checked_run(
        image, boot, trace, progress, config=config, keep_events=keep_events, explain=explain
    )


def checked_run(
    image: Image,
    boot: Boot,
    trace: Path,
    progress: Progress,
    *,
    config: Config | None = None,
    keep_events: bool = False,
    explain: Explain | None = None,
) -> Run:
    """Checks the recorded trace of an image. The arguments are those of `boot_and_check`."""
    expected = expected_of_image(image, config_of(image) if config is None else config)
    with progress.step("checking the trace"):
        reading = read_run(
            trace,
            boot,
            expected,
            keep_events=keep_events,
            explain=explain or explain_of_image(image),
        )
    entry = image.manifest.kernel
    kernel = Kernel(entry.name, entry.version, entry.arch, entry.sha256)
    return Run(
        name=image.manifest.system,
        kernel=str(kernel),
        reading=reading,
        trace=trace,
        image=image.path,
        boot=boot,
        sdk_kernel=kernel,
    )
