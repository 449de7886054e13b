# SPDX-License-Identifier: BSD-2-Clause
"""tools/chaos: random systems as a campaign, each of which the check must pass.

The systems are those of `kit.disturbed`. Whatever their PDs do, the root task treats them rightly,
so a violation is a fault of the root task, of the check, or of the tools. Each system that fails is
made smaller as long as it fails by the same rule.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Final

import click
import tomlkit

from cellreap.api.results import Run
from cellreap.api.running import Limits, build_system, checked_run, record_image
from cellreap.api.systems import System, kernel_for
from cellreap.arches import ARCHES
from cellreap.campaign.matrix import Campaign, read_campaign
from cellreap.campaign.running import Result, Standing, run_campaign
from cellreap.cli.exit_codes import ExitCode
from cellreap.cli.main import run_and_exit
from cellreap.errors import CellreapError
from cellreap.progress import Progress
from cellreap.runs.boot import Boot, End
from cellreap.system.config import Config, parse_config
from cellreap.system.image import read_image
from kit.chaos import Table
from kit.disturbed import QEMU, disturbed, shrunk

QUIET: Final = Progress(quiet=True)
TRIES: Final = 150
SECONDS, IDLE = 8.0, 7.0
"""A system in which a PD computes for ever does not come to an end."""
PATIENCE: Final = 60.0
"""Seconds of another boot of a system whose console went silent. The root task tells what the PDs
do when it has had nothing to tell for 5 s of the machine's own time.
"""
STILL: Final = ("STANDS", "CLOCK")
"""The last events of a trace that has nothing more to tell."""
_RULE: Final = re.compile(r":\d+: ([a-z_]+\.[a-z_]+): ")
KERNELS: Final = ("seL4", "refkernel")


def expecting_nothing(table: Table) -> Table:
    """The system with [expect] that any PD may crash, and that nobody need be left."""
    names = [pd["name"] for pd in table["pd"]]
    spawned = [program for pd in table["pd"] for program in pd.get("spawns", [])]
    return {
        **table,
        "expect": {"crashes": list(dict.fromkeys(names + spawned)), "nobody_left": True},
    }


def written(table: Table, path: Path) -> Path:
    """Writes a system as a TOML file."""
    first = {key: value for key, value in table.items() if key == "inject" and value}
    rest = {key: value for key, value in table.items() if key != "inject" and value}
    path.write_text(tomlkit.dumps({**first, **rest}), encoding="utf-8")
    return path


def faults(run: Run) -> list[str]:
    """What no system of any kind may cause: a violated rule, a root task that says nothing.

    A crash that did not come about, a PD that did not end its round, and one that was never created
    are what such a system may come to. So is a run that goes on until it is ended.
    """
    report, end = run.reading.report, run.boot.end if run.boot is not None else End.COMPLETE
    last = run.events[-1].name if run.events else "none"
    found = []
    if end not in (End.COMPLETE, End.TIMEOUT) and not (end is End.SILENT and last in STILL):
        found.append(f"the run did not come to its end: {run.boot}, last event {last}")
    return found if report.passed else found + run.violations


def kinds(said: list[str]) -> set[str]:
    """The rules that were violated; without one, the first finding."""
    rules = {found.group(1) for line in said if (found := _RULE.search(line))}
    return rules or set(said[:1])


def boot(path: Path, arch: str, kernel: str) -> list[str]:
    """Builds, boots and checks the system of a file. Returns what is wrong with the run."""
    text = path.read_text(encoding="utf-8")
    system = System(path, text, parse_config(text, path))
    sdk = kernel_for(arch, kernel, QUIET)
    image, trace = path.with_suffix(".img"), path.with_suffix(".trace")
    build_system(system, sdk, image, QUIET, keep=True)
    made = read_image(image)
    booted = record_image(made, trace, Limits(SECONDS, IDLE, QEMU), QUIET)
    return faults(checked(image, trace, booted, system.config))


def checked(image: Path, trace: Path, boot: Boot, config: Config) -> Run:
    """Checks a trace, of a run that was ended as far as it goes."""
    return checked_run(read_image(image), boot, trace, QUIET, config=config, keep_events=True)


def cell_faults(result: Result, folder: Path) -> list[str]:
    """What is wrong with the run of a cell."""
    if result.verdict == "error":
        return list(result.findings)
    if result.passed:
        return []
    at = folder / result.cell.id
    broken_off = (
        each for each in End if any(f"its end: {each.value}" in text for text in result.findings)
    )
    end = next(broken_off, End.COMPLETE)
    config = result.cell.system().config
    told = Boot(end, result.seconds, 0, result.events, "")
    found = faults(checked(at / "cell.img", at / "cell.trace", told, config))
    if found and end is End.SILENT:  # a PD may compute for so long, on a busy machine
        again = at / "again.trace"
        longer = Limits(PATIENCE, PATIENCE, QEMU)
        booted = record_image(read_image(at / "cell.img"), again, longer, QUIET)
        found = faults(checked(at / "cell.img", again, booted, config))
    return found


def make_smaller(result: Result, said: list[str], folder: Path, tries: int) -> Path:
    """Makes the system of a cell smaller while it fails by one of the same rules."""
    cell, wanted = result.cell, kinds(said)
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{Path(cell.config).stem}-{cell.arch}-{cell.kernel}"
    kept, tried = folder / f"{name}.toml", folder / f"{name}.try.toml"
    table: Table = tomlkit.parse(cell.text).unwrap()
    written(table, kept)

    def fails(candidate: Table) -> bool:
        written(expecting_nothing(candidate), tried)
        try:
            found = boot(tried, cell.arch, str(cell.kernel))
        except CellreapError as error:
            found = [str(error)]
        return bool(kinds(found) & wanted)

    def told(smaller: Table) -> None:
        path = written(expecting_nothing(smaller), kept)
        for suffix in (".img", ".trace"):
            tried.with_suffix(suffix).replace(kept.with_suffix(suffix))
        count = len(path.read_text(encoding="utf-8").splitlines())
        click.echo(f"  smaller: {len(smaller['pd'])} PDs, {count} lines")

    shrunk(table, fails, tries, told)
    for path in folder.glob(f"{tried.stem}.*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return kept


def campaign_of(seeds: range, arches: list[str], kernels: list[str], folder: Path) -> Campaign:
    """Writes the systems of the seeds, and the campaign of them."""
    systems = folder / "systems"
    systems.mkdir(parents=True, exist_ok=True)
    names = []
    for seed in seeds:
        path = systems / f"seed{seed}.toml"
        if not path.exists():
            written(expecting_nothing(disturbed(seed)), path)
        names.append(f"systems/{path.name}")
    table = {
        "campaign": {
            "name": "chaos",
            "qemu_args": list(QEMU),
            "timeout": SECONDS,
            "idle": IDLE,
            "attempts": 1,
        },
        "matrix": {"config": names, "arch": arches, "kernel": kernels},
    }
    return read_campaign(written(table, folder / "chaos.toml"))


@click.command()
@click.option("--seeds", default=100, metavar="N", help="How many systems: 100 by default.")
@click.option("--first", default=1, metavar="N", help="The first seed: 1 by default.")
@click.option("--arch", "arches", multiple=True, type=click.Choice(ARCHES), help="Default: both.")
@click.option("--kernel", "kernels", multiple=True, default=["refkernel"], metavar="NAME",
              help="seL4, refkernel, or an SDK directory; refkernel by default.")  # fmt: skip
@click.option("-o", "--output", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
              default=Path("build/chaos"), help="build/chaos by default.")  # fmt: skip
@click.option("-j", "--workers", default=1, metavar="N", help="Cells that run at a time.")
@click.option("--tries", default=TRIES, metavar="N", help="Runs to make one system smaller.")
def main(
    seeds: int,
    first: int,
    arches: tuple[str, ...],
    kernels: tuple[str, ...],
    output: Path,
    workers: int,
    tries: int,
) -> int:
    """Boot random systems, and make those smaller that fail.

    What has a result is not run again, so the same command goes on where it was ended.
    """
    folder = output.absolute()
    chosen = range(first, first + seeds)
    campaign = campaign_of(chosen, list(arches or ARCHES), list(kernels), folder)
    failed: list[tuple[Result, list[str]]] = []

    def on_result(standing: Standing, result: Result) -> None:
        said = cell_faults(result, folder)
        done, every = len(standing.results), len(standing.cells)
        click.echo(
            f"{done}/{every} {result.cell.title}: {'FAIL' if said else 'ok'} {result.seconds} s"
        )
        for line in said[:3]:
            click.echo(f"  {line}")

    standing = run_campaign(campaign, folder, workers, resume=True, on_result=on_result)
    for result in standing.in_order():
        said = cell_faults(result, folder)
        if said:
            failed.append((result, said))
    for result, said in failed:
        click.echo(f"{result.cell.title}: {said[0]}")
        if tries:
            kept = make_smaller(result, said, folder / "smallest", tries)
            click.echo(kept.read_text(encoding="utf-8"))
            click.echo(f"kept in {kept}")
    click.echo(f"{len(standing.results)} runs, {len(failed)} failed")
    return ExitCode.FAILED if failed else ExitCode.DONE


if __name__ == "__main__":
    run_and_exit(main, "chaos")
