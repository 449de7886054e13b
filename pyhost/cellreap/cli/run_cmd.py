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

from cellreap.cli.boot_cmd import boot_json, boot_options, record_image
from cellreap.cli.exit_codes import ExitCode
from cellreap.cli.params import Depth as DepthOption
from cellreap.cli.params import depth_options, json_option, kernel_options
from cellreap.errors import UsageError
from cellreap.progress import Progress
from cellreap.runs.boot import Boot, End
from cellreap.runs.expectation import expected_of_image
from cellreap.runs.qemu import check_bootable, machine_for
from cellreap.runs.reading import read_run
from cellreap.runs.summary import tell
from cellreap.system.build import build_image
from cellreap.system.config import Depth, Mode, check_timer, override, parse_config, read_text
from cellreap.system.files import write_atomically
from cellreap.system.image import Overrides, read_image
from cellreap.system.programs import keep_programs
from cellreap.system.refkernel import find_kernel
from cellreap.system.sdk import CONFIG_FILE, Kernel, load_sdk, timer_missing
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
    pd_depth: DepthOption | None,
    rs_depth: DepthOption | None,
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
    text = read_text(config)
    parsed = parse_config(text, config)
    overrides = Overrides(
        pd_depth=_depth(pd_depth), rs_depth=_depth(rs_depth), crash=crash, mode=mode
    )
    given = parsed
    parsed = override(
        parsed, pd_depth=overrides.pd_depth, rs_depth=overrides.rs_depth, crash=crash, mode=mode
    )
    progress = Progress()
    found = load_sdk(find_kernel(arch, sdk, progress), arch)
    # Before the build, which would be in vain.
    check_timer(given, text, config, timer_missing(found.options, arch))
    check_bootable(found.options, machine_for(arch), str(found.root / CONFIG_FILE))
    with _folder(output) as folder:
        image_path, trace = (
            folder / f"{parsed.system.name}.img",
            folder / f"{parsed.system.name}.trace",
        )
        built = build_image(parsed, text, found, image_path, progress, overrides, path=config)
        if output is not None:
            keep_programs(image_path.with_suffix(".programs"), built)
        image = read_image(image_path)
        expected = expected_of_image(image, parsed)
        boot = record_image(image, trace, qemu_args, timeout, idle, progress)
        with progress.step("checking the trace"):
            reading = read_run(trace, boot, expected)
        shown = _json(reading.report, boot, found.kernel)
        files: dict[int, str] = {}
        if output is not None:
            write_atomically(
                trace.with_suffix(".json"), (json.dumps(shown, indent=2) + "\n").encode()
            )
            files = write_extractions(reading.report, trace)
    if as_json:
        click.echo(json.dumps(shown, indent=2))
    else:
        for line in tell(reading, str(found.kernel), shown["violations"], boot.seconds, files):
            click.echo(line)
        if output is not None:
            names = (image_path.name, f"{trace.stem}.programs", trace.name, f"{trace.stem}.json")
            click.echo(f"kept in {output}: {', '.join(names)}")
    return _exit_code(reading.report, boot, shown["violations"])


def _exit_code(report: Report, boot: Boot, complaints: list[str]) -> ExitCode:
    if boot.end.is_limit and all(each.rule.startswith("line.") for each in report.violations):
        return ExitCode.NO_END
    if complaints:
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


def _depth(given: DepthOption | None) -> Depth | None:
    if given is None:
        return None
    return "inf" if given.limit is None else given.limit


def _json(report: Report, boot: Boot, kernel: Kernel) -> dict[str, Any]:
    """`run --json`: the keys of the report, the kernel as the SDK names it, and the result of the
    boot.
    """
    shown = report_json(report)
    complaints = list(shown["violations"])
    complaints += [
        f"crash {number} of the configuration, of {name}, never came about"
        for number, name in report.unreached
    ]
    complaints += [
        f"{pd} ({report.names.get(pd, '-')}) did not come to the end of its round"
        for pd in report.unfinished
    ]
    if boot.end is not End.COMPLETE:
        complaints.insert(0, f"the run did not come to its end: {boot}")
    said = (shown["kernel"]["name"], shown["kernel"]["version"], shown["kernel"]["arch"])
    if report.kernel and said != (kernel.name, kernel.version, kernel.arch):
        complaints.insert(0, f"the trace is of {' '.join(said)}: expected {kernel}")
    return {
        **shown,
        "kernel": {"name": kernel.name, "version": kernel.version, "arch": kernel.arch},
        "verdict": "fail" if complaints or report.unexpected else "pass",
        "violations": complaints,
        "boot": boot_json(boot),
    }
