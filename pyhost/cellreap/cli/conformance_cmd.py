# SPDX-License-Identifier: BSD-2-Clause
"""`cellreap conformance`: boots the root task that checks the kernel, and reads its results.

The image (roottask/conformance) prints one line for each check and one at the end. The lines name
no kernel and no address, so two kernels that behave alike print the same lines. All other console
output comes from the kernel.
"""

from __future__ import annotations

import functools
import re
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import click

from cellreap.api.running import refuse_failed
from cellreap.cli.boot_cmd import boot_json, boot_options
from cellreap.cli.echo import echo_json
from cellreap.cli.exit_codes import ExitCode
from cellreap.cli.params import json_option, kernel_options
from cellreap.errors import InputError
from cellreap.progress import Progress
from cellreap.runs.boot import Boot, End, record
from cellreap.runs.qemu import check_before_build, split_arguments
from cellreap.runs.root_task import boot_root_task
from cellreap.system.parts import CONFORMANCE, Parts, build_conformance, build_parts
from cellreap.system.refkernel import find_kernel
from cellreap.system.sdk import Sdk, load_sdk
from cellreap.system.toolchain import find_toolchain

_CHECK = re.compile(
    rb"^conformance: ([a-z0-9-]+): (ok|not on this kernel|FAILED \(([^\r\n]*)\))\r*$", re.MULTILINE
)
_SUMMARY = re.compile(
    rb"^conformance: (\d+) checks, (\d+) failed(?:, (\d+) not on this kernel)?\r*$", re.MULTILINE
)


@dataclass(frozen=True)
class Check:
    """The result of one check."""

    name: str
    ok: bool
    detail: str  # the actual and the expected result; empty if it is ok
    # False: the kernel lacks the feature. The check is neither ok nor failed.
    made: bool = True

    @property
    def failed(self) -> bool:
        """Whether the check was made and did not find the expected result."""
        return self.made and not self.ok

    def line(self) -> str:
        """The line as the image printed it."""
        if not self.made:
            return f"conformance: {self.name}: not on this kernel"
        return f"conformance: {self.name}: " + ("ok" if self.ok else f"FAILED ({self.detail})")


@dataclass(frozen=True)
class Summary:
    """The counts in the last line: checks that were made, that failed, and that were left out."""

    made: int
    failed: int
    left_out: int

    def __str__(self) -> str:
        text = f"{self.made} checks, {self.failed} failed"
        return f"{text}, {self.left_out} not on this kernel" if self.left_out else text


@dataclass(frozen=True)
class Conformance:
    """The result of a run of the image."""

    checks: tuple[Check, ...]
    summary: Summary | None  # of the last line; None: there is none
    boot: Boot

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines that the image printed, without the output of the kernel."""
        lines = [check.line() for check in self.checks]
        if self.summary is not None:
            lines.append(f"conformance: {self.summary}")
        return tuple(lines)

    @property
    def complaints(self) -> tuple[str, ...]:
        """The reasons, besides failed checks, why the run does not pass."""
        found = []
        if self.boot.end is not End.COMPLETE:
            after = f", after {self.checks[-1].name}" if self.checks else ""
            why = ": ".join(filter(None, (self.boot.end.value, self.boot.detail)))
            found.append(f"the checks did not come to their end{after}: {why}")
        made = sum(check.made for check in self.checks)
        counted = Summary(made, sum(check.failed for check in self.checks), len(self.checks) - made)
        if self.summary is not None and self.summary != counted:
            found.append(
                f"{self.summary}, says the last line: {counted.made} are on the console, "
                f"{counted.failed} failed, {counted.left_out} not on this kernel"
            )
        twice = [
            name
            for name, count in Counter(check.name for check in self.checks).items()
            if count > 1
        ]
        found += [f"two checks have the name {name}" for name in twice]
        if made == 0:
            found.append("no check was made")
        return tuple(found)

    @property
    def passed(self) -> bool:
        """Whether every check was made and found the expected result."""
        return not self.complaints and not any(check.failed for check in self.checks)


def run_conformance(
    sdk: Sdk,
    console: BinaryIO,
    progress: Progress,
    *,
    extra: Sequence[str],
    timeout: float | None,
    idle: float,
) -> Conformance:
    """Builds and boots the image and writes the console, byte by byte, to `console`.

    console: must also be readable. extra: further arguments for QEMU. timeout, idle: seconds.
    CellreapError if the image cannot be built or booted.
    """
    toolchain = find_toolchain(sdk.kernel.arch)
    built = build_conformance(sdk, toolchain, progress)
    image = built.folder / CONFORMANCE
    record_as = functools.partial(
        record, trace=console, timeout=timeout, idle=idle, finish=_SUMMARY
    )

    def parts() -> Parts:
        return build_parts(sdk, toolchain, progress)

    with progress.step(f"checking {sdk.kernel}"):
        boot = boot_root_task(
            sdk, toolchain, parts, image.read_bytes(), str(image), extra, record_as
        )
    console.seek(0)
    return read_console(console.read(), boot)


def read_console(console: bytes, boot: Boot) -> Conformance:
    """The lines that the image printed, separated from the output of the kernel."""
    checks = tuple(
        Check(
            found[1].decode(),
            found[2] == b"ok",
            (found[3] or b"").decode("ascii", "replace"),
            found[2] != b"not on this kernel",
        )
        for found in _CHECK.finditer(console)
    )
    last = _SUMMARY.search(console)
    summary = None if last is None else Summary(int(last[1]), int(last[2]), int(last[3] or 0))
    return Conformance(checks, summary, boot)


@click.command()
@kernel_options("Architecture to run on.")
@boot_options
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the raw console to this file.",
)
@json_option
def conformance(
    arch: str,
    sdk: Path | None,
    qemu_args: tuple[str, ...],
    timeout: float | None,
    idle: float,
    output: Path | None,
    as_json: bool,
) -> int:
    """Check that a kernel behaves as the root task and its PDs require.

    The exit code is 1 if it does not.
    """
    extra = split_arguments(qemu_args)
    progress = Progress()
    found = load_sdk(find_kernel(arch, sdk, progress), arch)
    config = str(found.config_file)
    check_before_build(found.options, config)
    with _console(output) as console:
        result = run_conformance(found, console, progress, extra=extra, timeout=timeout, idle=idle)
    refuse_failed(result.boot)
    if as_json:
        echo_json("conformance", conformance_json(result, found))
    else:
        for line in (*result.lines, *result.complaints):
            click.echo(line)
        verdict = "pass" if result.passed else "fail"
        click.echo(f"{verdict}: {found.kernel}, {result.boot.seconds:.1f} s")
    return ExitCode.DONE if result.passed else ExitCode.FAILED


def conformance_json(result: Conformance, sdk: Sdk) -> dict[str, Any]:
    """The object that `conformance --json` prints."""
    boot = {key: value for key, value in boot_json(result.boot).items() if key != "events"}
    return {
        "kernel": {"name": sdk.kernel.name, "version": sdk.kernel.version, "arch": sdk.kernel.arch},
        "verdict": "pass" if result.passed else "fail",
        "checks": [
            {"name": c.name, "made": c.made, "ok": c.ok, "detail": c.detail} for c in result.checks
        ],
        "complaints": list(result.complaints),
        "boot": boot,
    }


def _console(output: Path | None) -> Any:
    if output is None:
        return tempfile.TemporaryFile()
    try:
        return output.open("w+b")
    except OSError as error:
        raise InputError(str(output), None, None, f"cannot be written: {error.strerror}") from None
