# SPDX-License-Identifier: BSD-2-Clause
"""`cellreap run`: builds, boots and checks a configuration, and prints a summary."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, get_args

import click
from click.core import ParameterSource

from cellreap.api.results import Run
from cellreap.api.running import Limits, boot_and_check, build_system
from cellreap.api.systems import System, kernel_for
from cellreap.cli.boot_cmd import boot_json, boot_options
from cellreap.cli.check_cmd import code_of
from cellreap.cli.echo import echo_json, json_text
from cellreap.cli.exit_codes import ExitCode
from cellreap.cli.params import (
    Depth,
    depth_options,
    given,
    json_option,
    kernel_options,
    policy_file_option,
    typed_option,
)
from cellreap.cli.story import echo_story
from cellreap.errors import UsageError
from cellreap.progress import Progress
from cellreap.runs.boot import End, Watch
from cellreap.runs.evidence import Evidence
from cellreap.runs.expectation import expected_of_image
from cellreap.runs.follow import Follower, Until, parse_until
from cellreap.runs.live import Live
from cellreap.runs.places import explain_of_image
from cellreap.runs.qemu import check_before_build, memory_in, split_arguments
from cellreap.system.config import Mode
from cellreap.system.files import write_atomically
from cellreap.system.image import read_image
from cellreap.system.microkit.board import ANY_BOARD, board_facts
from cellreap.system.sdk import kernel_memory
from cellreap.system.sdk import kernel_options as kernel_options_of
from cellreap.trace.reading import reading_json
from cellreap.trace.report import Report, Verdict


def _to_until(ctx: click.Context, param: click.Parameter, value: str | None) -> Until | None:
    return None if value is None else parse_until(value)


@click.command()
@click.argument("config", type=click.Path(path_type=Path), metavar="CONFIG.toml|X.system")
@kernel_options("Architecture to run on.")
@click.option(
    "--crash",
    metavar="NAME[@N]",
    help="Crash this PD instead of those in the file: as the file's entries for it say, else by a "
    "page fault at the checkpoint of the file's first crash. With @N: at its Nth checkpoint.",
)
@depth_options(note=". Overrides the file")
@policy_file_option
@click.option(
    "--search",
    type=click.Path(path_type=Path, file_okay=False),
    multiple=True,
    metavar="DIR",
    help="Where the programs and files of X.system are, besides its own folder. May be repeated.",
)
@click.option(
    "--mode",
    type=click.Choice(get_args(Mode)),
    help="When to answer a PD that terminates another: at once, or when all notices are "
    "acknowledged. Overrides the file.",
)
@boot_options
@typed_option
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Keep the image, the PDs' programs, the trace (the raw console) and the report in this "
    "directory. Without it they are kept in a new one if the run does not pass.",
)
@click.option(
    "--until",
    metavar="EVENT|DURATION",
    callback=_to_until,
    help="End the run after this time (30s, 5m), and not when all PDs wait; or at its end or this "
    "event of its trace (SETTLED, SAY:text=ready).",
)
@click.option(
    "-v",
    "--verbose",
    is_flag=True,
    help="Show the console live on stderr: what PDs print, and the records of the trace.",
)
@json_option
@click.pass_context
def run(
    ctx: click.Context,
    config: Path,
    arch: str,
    sdk: Path | None,
    crash: str | None,
    pd_depth: Depth | None,
    rs_depth: Depth | None,
    mode: Mode | None,
    policy: Path | None,
    search: tuple[Path, ...],
    qemu_args: tuple[str, ...],
    timeout: float | None,
    idle: float,
    typed: Path | None,
    output: Path | None,
    until: Until | None,
    verbose: bool,
    as_json: bool,
) -> int:
    """Build, boot and check a configuration.

    X.system is a system description for Microkit, whose programs run as they are.

    The exit code is 1 if the check fails, 3 if the run is not what the configuration expects, and 4
    if it does not come to its end in time.

    A system with `scenario = false` in [system] has no end. It goes on until Ctrl-C or as --until
    says, and what happens is told at once. Without --timeout and --idle nothing else ends it. What
    its trace has so far is checked, and the exit code is 0, 1 or 3. If Ctrl-C ends another run, the
    exit code is 130.
    """
    progress = Progress()
    for_microkit = config.suffix == ".system"
    if for_microkit:
        options = {} if sdk is None else kernel_options_of(sdk)
        if not _by_user(ctx, "arch"):
            arch = str(options.get("SEL4_ARCH", arch))
        board = ANY_BOARD if sdk is None else board_facts(options, kernel_memory(sdk))
        read = System.described(config, search, policy, board)
        if sdk is None:
            raise UsageError(f"{config}: expected --board, which says on what it runs")
    else:
        read = System.read(config)
        for option, given_ in (("--policy", policy), ("--search", search)):
            if given_:
                raise UsageError(f"{option}: is for descriptions for Microkit, X.system")
    system = read.changed(
        crash=crash,
        pd_depth=given(pd_depth),
        rs_depth=given(rs_depth),
        mode=mode,
        ends=until is None or until.seconds is None,
    )
    found = kernel_for(arch, sdk, progress)
    # Before the build, which would be in vain.
    system.check_kernel(found)
    check_before_build(found.options, str(found.config_file))
    goes_on = until is not None or not system.config.system.scenario
    tells = goes_on and not as_json
    limits = Limits(
        _limit(ctx, "timeout", timeout, goes_on),
        _limit(ctx, "idle", idle, goes_on),
        qemu_args,
        typed,
    )
    with Evidence(output, system.name, for_microkit) as kept:
        asked = memory_in(split_arguments(qemu_args))
        build_system(system, found, kept.image, progress, keep=True, machine_bytes=asked)
        image = read_image(kept.image)
        explain = explain_of_image(image)
        follower = Follower(
            until,
            expected_of_image(image, system.config),
            explain,
            _echo if tells else None,
            others=for_microkit,
        )
        watch = _watch(follower, until, verbose, verbose or tells)
        result = boot_and_check(
            image,
            kept.trace,
            limits,
            progress,
            config=system.config,
            watch=watch,
            explain=explain,
        )
        code = _exit_code(result, goes_on)
        kept.passed = code == ExitCode.DONE
        shown = run_json(result)
        files: dict[int, str] = {}
        if kept.stays:
            shown["kept"] = str(kept.folder)
            write_atomically(kept.report, (json_text("run", shown) + "\n").encode())
            files = write_extractions(result.reading.report, kept.trace)
    if as_json:
        echo_json("run", shown)
    else:
        echo_story(result.told(files, follower.told))
        if kept.stays:
            echo_story(kept.told())
    return code


def _echo(line: str) -> None:
    echo_story([line])
    sys.stdout.flush()


def _by_user(ctx: click.Context, name: str) -> bool:
    return ctx.get_parameter_source(name) is not ParameterSource.DEFAULT


def _limit(ctx: click.Context, name: str, value: float | None, goes_on: bool) -> float | None:
    """The value of a limit. A system that goes on has none but what the user gives."""
    return value if _by_user(ctx, name) or not goes_on else None


def _watch(follower: Follower, until: Until | None, verbose: bool, shows: bool) -> Watch:
    """The watcher of a run."""

    live = Live()

    def take(data: bytes) -> bool:
        if verbose:
            sys.stderr.buffer.write(live.take(data))
            sys.stderr.flush()
        return follower.take(data)

    return Watch(take, until.seconds if until is not None else None, shows)


def _exit_code(run: Run, goes_on: bool) -> ExitCode:
    end = None if run.boot is None else run.boot.end
    if end is End.INTERRUPTED and not goes_on and run.verdict is not Verdict.FAIL:
        return ExitCode.INTERRUPTED
    if run.verdict is Verdict.NO_END and end is not None and end.was_wanted:
        return ExitCode.DONE
    return code_of(run.reading.report)


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
        **reading_json(run.reading),
        "kernel": {"name": kernel.name, "version": kernel.version, "arch": kernel.arch},
        "verdict": run.verdict,
        "violations": run.violations,
        "boot": boot_json(run.boot),
    }
