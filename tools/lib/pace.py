# SPDX-License-Identifier: BSD-2-Clause
"""How long it takes from a command to its verdict, by phase, and how much is done in a minute.

Seconds, of this machine. All else that tools/bench measures repeats exactly.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from cellreap.errors import CellreapError
from cellreap.headers import source_root
from cellreap.progress import Progress
from cellreap.runs.boot import End, boot_image
from cellreap.runs.expectation import expected_of_image
from cellreap.runs.reading import read_run
from cellreap.system.build import build_image
from cellreap.system.config import parse_config
from cellreap.system.image import read_image
from cellreap.trace.check import check_file
from on_target import CONFIGS, SCENARIO, sdk_for

_TIMES: Final = 5
"""How often each phase is measured. The median is reported."""
_ROWS: Final = 1_000_000
RECORDED: Final = Path("tests/data/goldens")


def _seconds(act: Callable[[], object]) -> float:
    times = []
    for _ in range(_TIMES):
        start = time.perf_counter()
        act()
        times.append(time.perf_counter() - start)
    return round(statistics.median(times), 3)


def _command(*arguments: str) -> None:
    """Runs `cellreap`. CellreapError if it fails."""
    done = subprocess.run(
        [sys.executable, "-m", "cellreap", *arguments],
        cwd=source_root(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise CellreapError(f"cellreap {' '.join(arguments)}: {done.stderr.strip()}")


def pace(arch: str, folder: Path, jobs: int) -> dict[str, Any]:
    """Of the reference scenario: seconds by phase, of the whole command, and boots in a minute.

    The image is built before. CellreapError if a run does not pass.
    """
    quiet = Progress(quiet=True)
    sdk = sdk_for(arch)
    path = source_root() / CONFIGS[0] / f"{SCENARIO}.toml"
    text = path.read_text(encoding="utf-8")
    config = parse_config(text, path)
    image, trace = folder / f"pace-{arch}.img", folder / f"pace-{arch}.trace"

    def build() -> None:
        build_image(config, text, sdk, image, quiet, path=path)

    def boot(to: Path = trace) -> Any:
        with to.open("wb") as file:
            ended = boot_image(read_image(image), file, timeout=300)
        if ended.end is not End.COMPLETE:
            raise CellreapError(f"{to}: {ended}")
        return ended

    def check() -> None:
        reading = read_run(trace, ended, expected_of_image(read_image(image), config))
        if not reading.report.passed:
            raise CellreapError(f"{trace}: {reading.report.violations[0]}")

    build()
    ended = boot()
    phases = {
        "start": _seconds(lambda: _command("run", "--help")),
        "build, from the cache": _seconds(build),
        "boot": _seconds(boot),
        "check": _seconds(check),
    }
    whole = _seconds(
        lambda: _command("run", str(path), "--arch", arch, "-o", str(folder / f"whole-{arch}"))
    )
    many = 4 * jobs
    start = time.perf_counter()
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(boot, (folder / f"pace-{arch}-{number}.trace" for number in range(many))))
    minute = round(60 * many / (time.perf_counter() - start), 1)
    return {
        "kernel": str(sdk.kernel),
        "seconds": phases,
        "command_seconds": whole,
        "boots_per_minute": minute,
        "emulators": jobs,
    }


def checking_speed(large: Path | None = None) -> dict[str, Any]:
    """How many events are checked in a second of processor time: in the recorded boots of the
    checkout, which are short, and in a trace of many events.

    CellreapError if a trace does not pass the check.
    """
    speed: dict[str, Any] = {}
    recorded = sorted((source_root() / RECORDED).glob("*.trace"))
    for name, traces in (("recorded", recorded), ("large", [] if large is None else [large])):
        events = 0
        start = time.process_time()
        for trace in traces:
            report = check_file(trace)
            if not report.passed:
                raise CellreapError(f"{trace.name} does not pass: {report.violations[0]}")
            events += report.events
        if events:
            rate = round(events / (time.process_time() - start))
            speed[name] = {"events": events, "events_per_second": rate}
    return speed


def _rows(count: int) -> Iterator[str]:
    """A state of about so many rows: servers with 100 clients each, that have six resources."""
    yield "NODE_TYPE,NODE_ID,DATA,EDGE_TYPE,EDGE_FROM,EDGE_TO,EXTRA"
    yield "PD,PD_0,root_task,,,,"
    edges = []
    pd = space = 0
    while pd * 2603 // 101 < count:  # rows and PDs of each space
        space += 1
        server = pd = pd + 1
        yield f"PD,PD_{server:x},server_{space},,,,"
        yield f"RESOURCE_SPACE,FILE_SPACE_{space:x},FILE,,,,"
        edges.append(f",,NONE,HOLD,PD_{server:x},FILE_SPACE_{space:x},")
        for client in range(100):
            pd += 1
            yield f"PD,PD_{pd:x},client_{pd},,,,"
            edges.append(f",,FILE,REQUEST,PD_{pd:x},PD_{server:x},FILE_SPACE_{space:x}")
            for number in range(6 * client + 1, 6 * client + 7):
                file = f"FILE_{space:x}_{number:x}"
                yield f"RESOURCE,{file},FILE,,,,"
                edges.append(f",,NONE,SUBSET,{file},FILE_SPACE_{space:x},")
                edges += [f",,NONE,HOLD,PD_{holder:x},{file}," for holder in (server, pd)]
    yield from edges


def reading_speed(folder: Path, rows: int = _ROWS) -> dict[str, Any]:
    """The processor time of `cellreap plan` on a state of so many rows at depth 0."""
    path = folder / "rows.csv"
    made = list(_rows(rows))
    path.write_text("\n".join(made) + "\n", encoding="ascii")
    start = _children()
    _command("plan", str(path), "--crash", "PD_2")
    return {"rows": len(made) - 1, "seconds": round(_children() - start, 2)}


def doomed_rows(count: int, *, deep: bool) -> list[str]:
    """A state of about so many rows in which the crash of PD_1 dooms every PD but the root task, at
    unlimited depth. Each server has clients that hold files of it, and each PD has a body.

    deep: each server has one client and is a client of the server before it. Otherwise it has 100,
    and is a client of the first server.
    """
    nodes = [
        "NODE_TYPE,NODE_ID,DATA,EDGE_TYPE,EDGE_FROM,EDGE_TO,EXTRA",
        "PD,PD_0,root_task,,,,",
        "RESOURCE_SPACE,PD_SPACE_1,PD,,,,",
    ]
    edges = [",,NONE,HOLD,PD_0,PD_SPACE_1,"]
    pds = 0

    def made(name: str, server: int, space: int) -> int:
        """A PD that requests a space of a server, unless it is the first."""
        nonlocal pds
        pds += 1
        nodes.append(f"PD,PD_{pds:x},{name}_{pds},,,,")
        nodes.append(f"RESOURCE,PD_1_{pds:x},PD,,,,")
        edges.append(f",,NONE,SUBSET,PD_1_{pds:x},PD_SPACE_1,")
        edges.append(f",,NONE,HOLD,PD_0,PD_1_{pds:x},")
        if space > 1:
            edges.append(f",,FILE,REQUEST,PD_{pds:x},PD_{server:x},FILE_SPACE_{space:x}")
        return pds

    first, space = (1, 2), 1
    above = (0, 0)
    while len(nodes) + len(edges) < count:
        space += 1
        server = made("server", *above)
        nodes.append(f"RESOURCE_SPACE,FILE_SPACE_{space:x},FILE,,,,")
        edges.append(f",,NONE,HOLD,PD_{server:x},FILE_SPACE_{space:x},")
        above = (server, space) if deep else first
        for client in range(1 if deep else 100):
            pd = made("client", server, space)
            for number in range(6 * client + 1, 6 * client + 7):
                file = f"FILE_{space:x}_{number:x}"
                nodes.append(f"RESOURCE,{file},FILE,,,,")
                edges.append(f",,NONE,SUBSET,{file},FILE_SPACE_{space:x},")
                edges += [f",,NONE,HOLD,PD_{holder:x},{file}," for holder in (server, pd)]
    return nodes + edges


def dooming_speed(folder: Path, rows: int = _ROWS) -> dict[str, Any]:
    """The processor time of `cellreap plan --pd-depth inf` where everything is doomed, and how many
    times that of a plain search it is.
    """
    found: dict[str, Any] = {"rows": rows}
    for name, deep in (("wide", False), ("deep", True)):
        path = folder / f"{name}.csv"
        path.write_text("\n".join(doomed_rows(rows, deep=deep)) + "\n", encoding="ascii")
        start = _children()
        _command("plan", str(path), "--crash", "PD_1", "--pd-depth", "inf")
        planned = _children()
        search = [sys.executable, str(Path(__file__).with_name("search.py")), str(path), "PD_1"]
        subprocess.run(search, check=True, capture_output=True)
        seconds, plain = planned - start, _children() - planned
        path.unlink()
        found[name] = {"seconds": round(seconds, 2), "times_a_search": round(seconds / plain, 1)}
    return found


def _children() -> float:
    """The processor time of ended child processes."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
