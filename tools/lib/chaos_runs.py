# SPDX-License-Identifier: BSD-2-Clause
"""tools/chaos: boots random systems, each of which the check must pass.

The systems are those of `kit.disturbed`, or those for Microkit of `kit.restless`. Whatever their
PDs do, the root task treats them rightly, so a violation is a fault of the root task, of the check,
or of the tools. Each system that fails is made smaller as long as it fails by the same rule.
"""

from __future__ import annotations

import json
import random
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Final

import click
import tomlkit

from cellreap.api.running import Limits, build_system, checked_run, record_image
from cellreap.api.systems import System, kernel_for
from cellreap.arches import ARCHES
from cellreap.cached import digest_of
from cellreap.cli.exit_codes import ExitCode
from cellreap.cli.main import run_and_exit
from cellreap.errors import CellreapError, InputError
from cellreap.platforms import emulator_of
from cellreap.progress import Progress
from cellreap.runs.boot import Boot, End, Watch
from cellreap.runs.places import programs_beside
from cellreap.system.config import parse_config
from cellreap.system.image import read_image
from cellreap.system.microkit.board import board_facts
from cellreap.system.refkernel import arches_of_refkernel
from cellreap.system.sdk import Sdk, board_of, debug_missing, is_mcs, kernel_memory
from cellreap.trace.reader import Reader
from cellreap.trace.silence import NO_SOUND
from kit.chaos import Table
from kit.disturbed import QEMU, disturb, disturbed
from kit.microkit import BOARDS, PROGRAMS, Board, link
from kit.paths import ROOT
from kit.restless import PROGRAM, found_wrong, restless
from kit.saved_states import saved_state
from kit.shrunk import shrunk

QUIET: Final = Progress(quiet=True)
TRIES: Final = 150
EVENTS: Final = 20_000
"""A system that goes on for ever is cut after so many events."""
SECONDS, IDLE = 12.0, 10.0
"""Longer than any other system takes, on a busy machine. One that says nothing is not cut."""
ALONE: Final = 6.0
"""A system that nothing ends is silent after so many seconds, and may print nothing any more."""
WITH_TRUTH: Final = 3
"""So many times longer takes one with all of the kernel's word."""
MICROKITS: Final = {board.name: board for board in BOARDS}
SOURCES: Final = ("roottask", "refkernel", "pds", "examples", "configs", "pyhost", "tests", "tools")
_RULE: Final = re.compile(r":\d+: ([a-z_]+\.[a-z_]+): ")


@dataclass(frozen=True)
class Outcome:
    """What became of a run.

    end: `ended`: with END; `still`: it had nothing more to tell, and some PD computes for ever;
    `cut`: it went on for ever; `refused`: this kernel has no room for it, or no timer; `failed`.
    said: what is wrong with it.
    """

    seed: int
    arch: str
    kernel: str
    end: str
    said: list[str]
    events: int
    seconds: float

    @property
    def title(self) -> str:
        """Its seed, architecture and kernel."""
        return f"seed {self.seed} {self.arch} {self.kernel}"


class Ending:
    """Watches a console: a run ends that has nothing more to tell, or goes on for ever."""

    def __init__(self) -> None:
        self._rest = b""
        self._reader = Reader("the console")  # PDs print what looks like an event
        self._line = 0
        self.events = 0
        self.still = False

    def take(self, data: bytes) -> bool:
        """Takes the next bytes. Returns whether the run is to end."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        told = False
        for line in lines:
            self._line += 1
            for event in self._reader.feed(self._line, line):
                self.events += 1
                told |= self.still and event.name == "CLOCK"  # all STANDS have come
                # The root task says what each PD does when nothing has happened for 5 s of the
                # machine's own time.
                self.still = event.name == "STANDS" or (self.still and event.name in NO_SOUND)
        return told or self.events > EVENTS


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
    path.write_text(
        tomlkit.dumps({key: value for key, value in table.items() if value}), encoding="utf-8"
    )
    return path


def kinds(said: list[str]) -> set[str]:
    """The rules that were violated; without one, the first finding."""
    rules = {found.group(1) for line in said if (found := _RULE.search(line))}
    return rules or set(said[:1])


def boot(path: Path, arch: str, kernel: str, seed: int = 0) -> Outcome:
    """Builds, boots and checks the system of a file. Image and trace are beside it."""
    text = path.read_text(encoding="utf-8")
    system = System(path, text, parse_config(text, path))
    image, trace = path.with_suffix(".img"), path.with_suffix(".trace")
    sdk = sdk_of(arch, kernel)
    system.check_kernel(sdk)
    build_system(system, sdk, image, QUIET, keep=True)
    ending = Ending()
    seconds = SECONDS * (WITH_TRUTH if system.config.system.truth else 1)
    limits = Limits(seconds, IDLE, QEMU)
    ends = system.config.system.scenario and system.config.system.ends
    watch = Watch(ending.take, None if ends else ALONE)
    booted = record_image(read_image(image), trace, limits, QUIET, watch)
    if booted.end is End.INTERRUPTED:
        raise KeyboardInterrupt
    # A crash that did not come about, or a PD that was never created, is what such a system may
    # come to, and no violation. A trace that was ended is checked as far as it goes.
    run = checked_run(read_image(image), booted, trace, QUIET, config=system.config)
    said, end = [*run.violations, *found_wrong(run, system.config)], end_of(booted, ending)
    if end == "failed" and not said:
        said = [f"the run did not come to its end: {booted}"]
    end = "failed" if said else end
    return Outcome(seed, arch, kernel, end, said, booted.events, round(booted.seconds, 2))


def end_of(booted: Boot, ending: Ending) -> str:
    """How a run ended, whatever its trace says."""
    if booted.end is End.COMPLETE:
        return "ended"
    if ending.still and booted.end in (End.ASKED, End.SILENT):
        return "still"
    return "cut" if booted.end in (End.ASKED, End.TIMEOUT) else "failed"


def sdk_of(arch: str, kernel: str) -> Sdk:
    """The kernel of this name."""
    board = kernel if kernel.partition("/")[0] in MICROKITS else None
    return kernel_for(arch, board_of(None, board) or kernel, QUIET)


def system_of(seed: int, arch: str, kernel: str, folder: Path) -> Table:
    """The system of a seed, for this kernel. folder: where its programs are, if it has others than
    those of cellreap, and the saved state with which one of six begins.
    """
    sdk, board = sdk_of(arch, kernel), MICROKITS.get(kernel.partition("/")[0])
    if board is None:
        table = disturbed(seed, arch, is_mcs(sdk.options))
        table = updated(table, seed, folder) if seed % 6 == 0 else table
    else:
        programs = linked(board, sdk.root, folder / kernel.replace("/", "-"))
        facts = board_facts(sdk.options, kernel_memory(sdk.root))
        table = restless(seed, board, facts, programs)
    if debug_missing(sdk.options):
        table["system"].pop("truth", None)
    return table


def updated(table: Table, seed: int, folder: Path) -> Table:
    """The system, beginning with a saved state, whose cleanup some PDs start after. Those have
    nothing to do with it, or the state is refused.
    """
    state, rng = folder / f"saved{seed}.csv", random.Random(f"updated {seed}")
    table = disturb(rng, table, ((0.5, _starts_later),) * 3)
    spawned = [program for pd in table["pd"] for program in pd.get("spawns", [])]
    names = [*(pd["name"] for pd in table["pd"] if "start" not in pd), *spawned]
    state.write_text(saved_state(seed, list(dict.fromkeys(names))), encoding="utf-8")
    table["system"]["reconcile"] = str(state)
    bench = table["bench"]  # its numbers are given, and the root task ends if it is not made
    bench.pop("numbers_left", None)
    if "inject" in bench:
        bench["inject"] = [each for each in bench["inject"] if not each.startswith("make")]
    return table


def _starts_later(rng: random.Random, table: Table) -> None:
    rng.choice(table["pd"])["start"] = "after-cleanup"


@cache
def linked(board: Board, sdk: Path, folder: Path) -> Path:
    """The folder, with the program of systems for Microkit in it."""
    folder.mkdir(exist_ok=True)
    link([PROGRAMS / f"{PROGRAM}.c"], folder, board, sdk)
    return folder


def run_seed(seed: int, arch: str, kernel: str, folder: Path) -> Outcome:
    """Runs the system of a seed. What failed, or was cut, is kept in `folder`."""
    path = folder / f"seed{seed}-{arch}-{Path(kernel).name}.toml"
    try:
        written(expecting_nothing(system_of(seed, arch, kernel, folder)), path)
        outcome = boot(path, arch, kernel, seed)
    except InputError as error:  # The system is valid, so this kernel has no room or no timer.
        outcome = Outcome(seed, arch, kernel, "refused", [str(error)], 0, 0.0)
    except CellreapError as error:
        outcome = Outcome(seed, arch, kernel, "failed", [str(error)], 0, 0.0)
    if outcome.end not in ("failed", "cut"):
        _remove(path)
    return outcome


def _remove(path: Path) -> None:
    """Removes a system with its image, its trace, its drives and its programs."""
    shutil.rmtree(programs_beside(path.with_suffix(".img")), ignore_errors=True)
    for made in (
        *(path.with_suffix(suffix) for suffix in (".toml", ".img", ".trace")),
        *path.parent.glob(f"{path.stem}.*.drive"),
    ):
        made.unlink(missing_ok=True)


def make_smaller(outcome: Outcome, folder: Path, tries: int) -> Path:
    """Makes the system of a seed smaller while it fails by one of the same rules."""
    wanted = kinds(outcome.said)
    folder.mkdir(parents=True, exist_ok=True)
    name = f"seed{outcome.seed}-{outcome.arch}-{Path(outcome.kernel).name}"
    kept, tried = folder / f"{name}.toml", folder / f"{name}.try.toml"
    table = system_of(outcome.seed, outcome.arch, outcome.kernel, folder.parent)
    written(expecting_nothing(table), kept)

    def fails(candidate: Table) -> bool:
        written(expecting_nothing(candidate), tried)
        try:
            found = boot(tried, outcome.arch, outcome.kernel).said
        except CellreapError as error:
            found = [str(error)]
        return bool(kinds(found) & wanted)

    def told(smaller: Table) -> None:
        path = written(expecting_nothing(smaller), kept)
        for made in (tried.with_suffix(suffix) for suffix in (".img", ".trace")):
            if made.exists():  # not of what does not build
                made.replace(kept.with_suffix(made.suffix))
        count = len(path.read_text(encoding="utf-8").splitlines())
        click.echo(f"  smaller: {len(smaller['pd'])} PDs, {count} lines")

    shrunk(table, fails, tries, told)
    _remove(tried)
    return kept


def made_from(arch: str, kernel: str) -> str:
    """A name for all that a result depends on."""
    files = sorted(
        path
        for folder in SOURCES
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and path.suffix in (".py", ".c", ".h", ".S", ".ld", ".toml", ".csv")
    )
    emulator = Path(shutil.which(emulator_of(arch)) or "")
    sources = [part for path in files for part in (str(path), path.read_bytes())]
    return digest_of(kernel, str(sdk_of(arch, kernel).kernel), emulator.read_bytes(), *sources)


class Results:
    """The results of a folder that were made from what is there now, one a line in a file."""

    def __init__(self, folder: Path, made_from: str) -> None:
        self._path = folder / f"results-{made_from[:16]}.jsonl"
        self.found: list[Outcome] = []
        if self._path.exists():
            lines = self._path.read_text(encoding="utf-8").splitlines(keepends=True)
            whole = [line for line in lines if line.endswith("\n")]
            self.found = [Outcome(**json.loads(line)) for line in whole]
            self._path.write_text("".join(whole), encoding="utf-8")

    def add(self, outcome: Outcome) -> None:
        """Adds a result, also to the file."""
        self.found.append(outcome)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(outcome)) + "\n")


def run_seeds(seeds: range, arch: str, kernel: str, folder: Path) -> Iterator[tuple[Outcome, bool]]:
    """The results of the seeds, and whether each is new."""
    results = Results(folder, made_from(arch, kernel))
    known = {outcome.seed for outcome in results.found}
    yield from ((outcome, False) for outcome in results.found if outcome.seed in seeds)
    for seed in (seed for seed in seeds if seed not in known):
        outcome = run_seed(seed, arch, kernel, folder)
        results.add(outcome)
        yield outcome, True


@click.command()
@click.option("--seeds", default=100, metavar="N", help="How many systems: 100 by default.")
@click.option("--first", default=1, metavar="N", help="The first seed: 1 by default.")
@click.option(
    "--arch",
    "arches",
    multiple=True,
    type=click.Choice(list(ARCHES)),
    default=arches_of_refkernel(),
    help="Those of refkernel by default.",
)
@click.option("--kernel", "kernels", multiple=True, default=["refkernel"], metavar="NAME",
              help="seL4, refkernel, or an SDK directory; refkernel by default.")  # fmt: skip
@click.option("--microkit", multiple=True, metavar="BOARD/CONFIG",
              help="Systems for Microkit instead, on this board of its SDK.")  # fmt: skip
@click.option("-o", "--output", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
              default=Path("build/chaos"), help="build/chaos by default.")  # fmt: skip
@click.option("--tries", default=TRIES, metavar="N", help="Runs to make one system smaller.")
def main(
    seeds: int,
    first: int,
    arches: tuple[str, ...],
    kernels: tuple[str, ...],
    microkit: tuple[str, ...],
    output: Path,
    tries: int,
) -> int:
    """Boot random systems, and make those smaller that fail.

    What has a result is not run again, so the same command goes on where it was ended.
    """
    folder = output.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    chosen = range(first, first + seeds)
    failed: list[Outcome] = []
    ends: Counter[str] = Counter()
    targets = [(arch, kernel) for arch in arches for kernel in kernels]
    if microkit:
        targets = [(MICROKITS[name.partition("/")[0]].arch, name) for name in microkit]
    for outcome, is_new in (
        each for target in targets for each in run_seeds(chosen, *target, folder)
    ):
        ends[outcome.end] += 1
        failed += [outcome] if outcome.end == "failed" else []
        if is_new or outcome.end == "failed":
            told = f"{outcome.events} events, {outcome.seconds} s"
            click.echo(f"{outcome.title}: {outcome.end}, {told}")
            for line in outcome.said[:3]:
                click.echo(f"  {line}")
    for outcome in failed if tries else ():
        click.echo(f"{outcome.title}: {outcome.said[0]}")
        kept = make_smaller(outcome, folder / "smallest", tries)
        click.echo(kept.read_text(encoding="utf-8"))
        click.echo(f"kept in {kept}")
    said = ", ".join(f"{ends[end]} {end}" for end in ("ended", "still", "cut", "refused", "failed"))
    click.echo(f"{ends.total()} runs: {said}")
    return ExitCode.FAILED if failed else ExitCode.DONE


if __name__ == "__main__":
    run_and_exit(main, "chaos")
