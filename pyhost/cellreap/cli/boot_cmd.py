# SPDX-License-Identifier: BSD-2-Clause
"""`cellreap boot`: boots an image on an emulator and records its console."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import click

from cellreap.cli.exit_codes import ExitCode
from cellreap.cli.params import json_option, sdk_option
from cellreap.errors import CellreapError, InputError, UsageError
from cellreap.progress import Progress
from cellreap.runs.boot import DEFAULT_IDLE, DEFAULT_TIMEOUT, Boot, End, boot_image, record
from cellreap.runs.qemu import split_arguments
from cellreap.runs.root_task import boot_root_task
from cellreap.system.elf import arch_of, is_elf, read_executable
from cellreap.system.image import Image, KernelEntry, read_image
from cellreap.system.parts import Parts, build_parts
from cellreap.system.refkernel import find_kernel
from cellreap.system.sdk import Kernel, load_sdk
from cellreap.system.toolchain import find_toolchain


def boot_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options of every command that boots: --qemu-arg, --timeout, --idle."""
    for option in (
        click.option(
            "--idle",
            type=click.FloatRange(min=0, min_open=True),
            default=DEFAULT_IDLE,
            show_default=True,
            metavar="SECONDS",
            help="End the run if nothing is printed for this time.",
        ),
        click.option(
            "--timeout",
            type=click.FloatRange(min=0, min_open=True),
            default=DEFAULT_TIMEOUT,
            show_default=True,
            metavar="SECONDS",
            help="End the run after this time.",
        ),
        click.option(
            "--qemu-arg",
            "qemu_args",
            multiple=True,
            metavar="ARG",
            help="Further arguments for QEMU. One option may hold several words: "
            "--qemu-arg '-icount shift=0'.",
        ),
    ):
        command = option(command)
    return command


def record_image(
    image: Image,
    trace: Path,
    qemu_args: tuple[str, ...],
    timeout: float,
    idle: float,
    progress: Progress,
) -> Boot:
    """Boots an image and writes its console to the file `trace`. CellreapError if that fails.

    timeout, idle: seconds.
    """
    extra = split_arguments(qemu_args)
    kernel = image.manifest.kernel
    what = f"{image.manifest.system} on {kernel.name} {kernel.version}"
    run = functools.partial(boot_image, image, extra=extra, timeout=timeout, idle=idle)
    return _record(what, trace, progress, run)


def record_root_task(
    path: Path,
    sdk: Path | None,
    trace: Path,
    qemu_args: tuple[str, ...],
    timeout: float,
    idle: float,
    progress: Progress,
) -> tuple[Boot, Kernel]:
    """Boots a root task that is an ELF file, and writes its console to the file `trace`.

    CellreapError if that fails. sdk: as find_kernel takes it. timeout, idle: seconds.
    """
    extra = split_arguments(qemu_args)
    raw = path.read_bytes()
    arch = arch_of(raw, str(path))
    read_executable(raw, str(path), arch)
    found = load_sdk(find_kernel(arch, sdk, progress), arch)
    toolchain = find_toolchain(arch)

    def parts() -> Parts:
        return build_parts(found, toolchain, progress)

    def run(file: BinaryIO, on_events: Callable[[int], None]) -> Boot:
        record_as = functools.partial(
            record, trace=file, timeout=timeout, idle=idle, on_events=on_events
        )
        return boot_root_task(found, toolchain, parts, raw, str(path), extra, record_as)

    what = f"{path.name} on {found.kernel.name} {found.kernel.version}"
    return _record(what, trace, progress, run), found.kernel


def _record(what: str, trace: Path, progress: Progress, run: Callable[..., Boot]) -> Boot:
    """Calls `run` with the file of the trace and a function for the number of events."""
    with progress.step(f"booting {what}") as update:
        try:
            file = trace.open("wb")
        except OSError as error:
            raise InputError(
                str(trace), None, None, f"cannot be written: {error.strerror}"
            ) from None
        with file:
            boot = run(file, on_events=lambda count: update(f"{count} events"))
    return refuse_failed(boot)


def refuse_failed(boot: Boot) -> Boot:
    """CellreapError if the run says nothing about the system.

    That is the case if its emulator did not start or was killed. Otherwise returns `boot`.
    """
    if boot.end is End.FAILED:
        raise CellreapError(
            f"QEMU failed after {boot.seconds:.1f} s and {boot.events} events: {boot.detail}"
        )
    return boot


@click.command()
@click.argument("image", type=click.Path(path_type=Path), metavar="IMAGE|ROOTTASK.elf")
@sdk_option
@boot_options
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="TRACE",
    help="Where to write the raw console.  [default: the image's name with .trace]",
)
@json_option
def boot(
    image: Path,
    sdk: Path | None,
    qemu_args: tuple[str, ...],
    timeout: float,
    idle: float,
    output: Path | None,
    as_json: bool,
) -> int:
    """Boot an image, or another root task, and record its trace.

    An image contains its kernel. A root task of your own that includes the component is an ELF
    file, and boots on the kernel of the SDK.

    The run lasts until the trace ends, an error occurs (exit code 1) or a limit is reached
    (exit code 4).
    """
    trace = output if output is not None else image.with_suffix(".trace")
    limits = (qemu_args, timeout, idle, Progress())
    kernel: Kernel | KernelEntry
    if _begins_as_elf(image):
        result, kernel = record_root_task(image, sdk, trace, *limits)
    elif sdk is not None:
        raise UsageError(f"--sdk: {image} is an image, which contains its kernel")
    else:
        read = read_image(image)
        result, kernel = record_image(read, trace, *limits), read.manifest.kernel
    if as_json:
        shown = {
            "trace": str(trace),
            "kernel": {"name": kernel.name, "version": kernel.version, "arch": kernel.arch},
            **boot_json(result),
        }
        click.echo(json.dumps(shown, indent=2))
    else:
        click.echo(f"{trace}: {result} ({kernel.name} {kernel.version}, {kernel.arch})")
    if result.end.is_limit:
        return ExitCode.NO_END
    return ExitCode.DONE if result.end is End.COMPLETE else ExitCode.FAILED


def _begins_as_elf(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return is_elf(file.read(4))
    except (OSError, ValueError):
        return False  # read_image tells what is wrong


def boot_json(result: Boot) -> dict[str, Any]:
    """The result of a run, for --json."""
    return {
        "end": result.end.name.lower(),
        "detail": result.detail,
        "seconds": round(result.seconds, 3),
        "bytes": result.bytes,
        "events": result.events,
    }
