# SPDX-License-Identifier: BSD-2-Clause
"""`cellreap run`: builds, boots and checks a configuration, and prints a summary."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import click

from cellreap.api.results import Run
from cellreap.api.running import Limits, boot_and_check, build_system
from cellreap.api.systems import System, kernel_for
from cellreap.cli.boot_cmd import boot_json, boot_options
from cellreap.cli.exit_codes import ExitCode
from cellreap.cli.params import Depth, depth_options, given, json_option, kernel_options
from cellreap.errors import UsageError
from cellreap.progress import Progress
from cellreap.runs.qemu import check_bootable, machine_for
from cellreap.system.config import Mode
from cellreap.system.files import write_atomically
from cellreap.system.image import read_image
from cellreap.system.sdk import CONFIG_FILE
from cellreap.trace.report import Report, report_json


@click.command()
@click.argument("config", type=click.Path(path_type=Path), metavar="CONFIG.toml")
@kernel_options("Architecture to run on.")
@click.option("--crash", metavar="NAME", help="Crash this PD instead of those in the file.")
@depth_options(note=". Overrides the file")
@click.option(
    "--mode",
    type=click.Choice(get_args(Mode)),
    help="When to answer a PD that terminates another: at once, or when all notices are "
    "acknowledged. Overrides the file.",
)
@boot_options
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Keep the image, the PDs' programs, the trace (the raw console) and the report in this "
    "directory.",
)
@json_option
def run(
    config: Path,
    arch: str,
    sdk: Path | None,
    crash: str | None,
    pd_depth: Depth | None,
    rs_depth: Depth | None,
    mode: Mode | None,
    qemu_args: tuple[str, ...],
    timeout: float,
    idle: float,
    output: Path | None,
    as_json: bool,
) -> int:
    """Build, boot and check a configuration.

    The exit code is 1 if the check fails, 3 if the run is not what the configuration expects, and 4
    if it does not come to its end in time.
    """
    progress = Progress()
    system = System.read(config).changed(
        crash=crash, pd_depth=given(pd_depth), rs_depth=given(rs_depth), mode=mode
    )
    found = kernel_for(arch, sdk, progress)
    # Before the build, which would be in vain.
    system.check_kernel(found)
    check_bootable(found.options, machine_for(arch), str(found.root / CONFIG_FILE))
    limits = Limits(timeout, idle, qemu_args)
    with _folder(output) as folder:
        path = folder / f"{system.name}.img"
        trace = path.with_suffix(".trace")
        build_system(system, found, path, progress, keep=output is not None)
        result = boot_and_check(read_image(path), trace, limits, progress, config=system.config)
        report = result.reading.report
        shown = run_json(result)
        files: dict[int, str] = {}
        if output is not None:
            write_atomically(
                trace.with_suffix(".json"), (json.dumps(shown, indent=2) + "\n").encode()
            )
            files = write_extractions(report, trace)
    if as_json:
        click.echo(json.dumps(shown, indent=2))
    else:
        for line in result.told(files):
            click.echo(line)
        if output is not None:
            names = (path.name, f"{trace.stem}.programs", trace.name, f"{trace.stem}.json")
            click.echo(f"kept in {output}: {', '.join(names)}")
    return _exit_code(result)


def _exit_code(run: Run) -> ExitCode:
    report, boot = run.reading.report, run.boot
    sound = all(each.rule.startswith("line.") for each in report.violations)
    if boot is not None and boot.end.is_limit and sound:
        return ExitCode.NO_END
    if run.violations:
        return ExitCode.FAILED
    return ExitCode.UNEXPECTED if report.unexpected else ExitCode.DONE


@contextlib.contextmanager
def _folder(kept: Path | None) -> Iterator[Path]:
    if kept is None:
        with tempfile.TemporaryDirectory(prefix="cellreap-run-") as name:
            yield Path(name)
        return
    try:
        kept.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"-o {kept}: {error.strerror}; expected a directory") from None
    yield kept


def write_extractions(report: Report, trace: Path) -> dict[int, str]:
    """Writes each extraction beside the trace, as a model state. Returns the paths by number."""
    files = {}
    for extraction in report.extractions:
        if extraction.done:
            path = trace.with_suffix(f".extract{extraction.number}.csv")
            write_atomically(path, extraction.csv().encode())
            files[extraction.number] = str(path)
    return files


def run_json(run: Run) -> dict[str, Any]:
    """`run --json`: the keys of the report, the kernel as the SDK names it, and the result of the
    boot.
    """
    kernel = run.sdk_kernel
    assert kernel is not None
    assert run.boot is not None
    return {
        **report_json(run.reading.report),
        "kernel": {"name": kernel.name, "version": kernel.version, "arch": kernel.arch},
        "verdict": "pass" if run.passed else "fail",
        "violations": run.violations,
        "boot": boot_json(run.boot),
    }
