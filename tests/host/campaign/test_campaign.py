# SPDX-License-Identifier: BSD-2-Clause
"""Campaigns, with a script as the emulator: what is run, what is not run again, what is told."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

pytest.importorskip("taskflow", reason="campaigns need taskflow: pip install 'cellreap[campaign]'")

from cellreap.campaign import reports
from cellreap.campaign.depot import FolderDepot, boots_of
from cellreap.campaign.effort import Effort
from cellreap.campaign.flow import copy_database, make_database, result_of, run_cell
from cellreap.campaign.matrix import read_campaign
from cellreap.campaign.no_result import FULL_DISK
from cellreap.campaign.running import Interrupt, Result
from cellreap.errors import InputError, UsageError
from kit.paths import CONFIGS
from kit.small_campaigns import (
    HEAD,
    Lost,
    campaign_bench,
    campaign_of,
    identities,
    started,
    written,
)
from kit.small_checkout import NEEDS_TOOLCHAIN, Bench, error_of


def scenario(folder: Path) -> str:
    """A configuration beside the campaign's file."""
    (folder / "a.toml").write_text((CONFIGS / "block_fs_db_app.toml").read_text())
    return 'config = ["a.toml"]\n'


@pytest.mark.behaviour("H-11")
def test_there_is_a_cell_for_each_combination(tmp_path: Path) -> None:
    matrix = (
        'pd_depth = [0, "inf"]\ncrash = ["fs", "db"]\ninject = ["none", "step:3:fault"]\n'
        'arch = ["x86_64", "aarch64"]\nkernel = ["refkernel", "./sdk"]\n'
    )
    cells = read_campaign(written(tmp_path, scenario(tmp_path) + matrix)).cells
    assert len(cells) == 32
    assert len({cell.id for cell in cells}) == 32
    assert cells[-1].title == ("a aarch64 kernel=sdk pd_depth=inf crash=db inject=step:3:fault")
    config = cells[-1].system().config
    assert (config.policy.pd_depth, config.bench.inject) == ("inf", ("step:3:fault",))
    assert [crash.pd for crash in config.crashes] == ["db"]
    assert cells[-1].kernel_path == str(tmp_path / "sdk")


@pytest.mark.behaviour("H-11")
def test_the_campaigns_of_the_project_have_as_many_cells_as_they_say() -> None:
    for path in sorted((CONFIGS / "campaigns").glob("*.toml")):
        cells = read_campaign(path).cells
        assert f" {len(cells)}\n# cells." in path.read_text() or (
            f" {len(cells)} cells." in path.read_text()
        ), path.name


@pytest.mark.behaviour("H-11", "H-04")
def test_a_board_is_an_axis_and_needs_aarch64(tmp_path: Path) -> None:
    matrix = scenario(tmp_path) + 'board = ["qemu-uboot", "odroid-c4"]\n'
    cells = read_campaign(written(tmp_path, matrix)).cells
    assert [(cell.board, cell.arch) for cell in cells] == [
        ("qemu-uboot", "aarch64"),
        ("odroid-c4", "aarch64"),
    ]
    assert cells[0].board_path().name == "qemu-uboot.toml"


@pytest.mark.behaviour("H-11")
def test_a_seed_replaces_that_of_crashes_by_time(tmp_path: Path) -> None:
    text = (CONFIGS / "block_fs_db_app.toml").read_text()
    crash = '[[crash]]\npd = "fs"\nhow = "kill"\nspread_ns = 1000\nseed = 1\n'
    (tmp_path / "b.toml").write_text(text[: text.index("[[crash]]")] + crash)
    path = written(tmp_path, 'config = ["b.toml"]\nseed = [7, 8]\n')
    seeds = [cell.system().config.crashes[0].seed for cell in read_campaign(path).cells]
    assert seeds == [7, 8]


@pytest.mark.parametrize(
    ("matrix", "said"),
    [
        (
            'config = ["none.toml"]',
            "5: matrix.config[0]: {}/none.toml: cannot be read: No such file",
        ),
        ('config = ["a.toml"]\narch = ["mips"]', "6: matrix.arch[0]: expected x86_64 or aarch64"),
        ('config = ["a.toml"]\npd_depth = [0,\n-1]', "7: matrix.pd_depth[1]: expected an integer"),
        ('config = ["a.toml"]\ncrash = ["nobody"]', '6: matrix.crash[0]: no PD is named "nobody"'),
        (
            'config = ["a.toml"]\ninject = ["fire"]',
            "6: matrix.inject[0]: {}/a.toml: bench.inject[0]: ",
        ),
        ('config = ["a.toml"]\nseed = [1]', "5: matrix.config[0]: {}/a.toml has no crash with a "),
        ('config = ["a.toml", "a.toml"]', "5: matrix.config[1]: 'a.toml' is in the list twice"),
        (
            'config = ["a.toml"]\ndepth = [1]',
            '6: matrix.depth: unknown key; did you mean "rs_depth"? expected one of ',
        ),
        (
            'config = ["a.toml"]\nboard = ["qemu-uboot", "beagle"]',
            "6: matrix.board[1]: expected a file NAME.toml, or one of ",
        ),
        (
            'config = ["a.toml"]\nboard = ["qemu-uboot"]\narch = ["x86_64"]',
            "7: matrix.arch[0]: boards need aarch64",
        ),
        ("config = []", "5: matrix.config: expected a list that is not empty, got []"),
        ("config = [", "5: not valid TOML: "),
    ],
)
def test_what_is_wrong_in_a_file_is_told_with_line_and_field(
    matrix: str, said: str, tmp_path: Path
) -> None:
    scenario(tmp_path)
    with pytest.raises(InputError) as caught:
        read_campaign(written(tmp_path, matrix))
    assert caught.value.line().startswith(f"{tmp_path}/c.toml:{said.format(tmp_path)}")


def results(tmp_path: Path) -> list[Result]:
    path = written(tmp_path, scenario(tmp_path) + "pd_depth = [0, 1, 2, 3, 4]\n")
    verdicts = ("pass", "flaky", "fail", "no end", "error")
    return [
        Result(cell, verdict, () if number < 2 else ("a <b>", "c"), "k", number, 0.5)
        for number, (cell, verdict) in enumerate(
            zip(read_campaign(path).cells, verdicts, strict=True)
        )
    ]


@pytest.mark.behaviour("H-13")
def test_results_are_tap_junit_and_lines(tmp_path: Path) -> None:
    found = results(tmp_path)
    tap = reports.tap(found).splitlines()
    assert tap[:4] == [
        "TAP version 13",
        "1..5",
        "ok 1 - a x86_64 pd_depth=0",
        "ok 2 - a x86_64 pd_depth=1 (flaky)",
    ]
    assert tap[4:7] == ["not ok 3 - a x86_64 pd_depth=2", "# a <b>", "# c"]
    suite = ElementTree.fromstring(reports.junit("c", found))
    assert {key: suite.get(key) for key in ("tests", "failures", "errors")} == {
        "tests": "5",
        "failures": "2",
        "errors": "1",
    }
    kinds = [[child.tag for child in case] for case in suite]
    assert kinds == [[], ["system-out"], ["failure"], ["failure"], ["error"]]
    assert suite[2][0].get("message") == "a <b>"
    assert reports.table(found)[-1] == "5 cells: 1 pass, 1 flaky, 1 no end, 1 fail, 1 error"
    assert reports.busy(Effort(10, 15, 2)) == "2 cores 75% busy with it"


# -- with a script as the emulator


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return campaign_bench(tmp_path_factory.mktemp("bench"))


def boots(folder: Path) -> dict[str, int]:
    return {path.name: boots_of(path) for path in (folder / "out").iterdir() if path.is_dir()}


def done(folder: Path) -> set[str]:
    found = (path for path in (folder / "out").iterdir() if path.is_dir())
    return {path.name for path in found if result_of(path) is not None}


@NEEDS_TOOLCHAIN
@pytest.mark.slow
@pytest.mark.behaviour("H-11", "H-13", "T-12", "T-13", "X-26")
def test_all_cells_are_run_and_a_campaign_that_is_done_runs_nothing(
    bench: Bench, tmp_path: Path
) -> None:
    arguments = campaign_of(bench, 2, tmp_path)
    ran = bench.cellreap(*arguments, "--json", "--tap", str(tmp_path / "t.tap"), "-j", "1")
    shown = json.loads(ran.stdout)
    assert ran.returncode == 0, ran.stderr
    assert [(cell["verdict"], cell["boots"]) for cell in shown["cells"]] == [("pass", 1)] * 2
    effort = shown["effort"]
    assert 0.1 < effort["processor_seconds"] < effort["seconds"] * effort["cores"] * 1.05
    assert (tmp_path / "t.tap").read_text().count("\nok ") == 2
    before = boots(tmp_path)
    assert "--resume goes on with it" in error_of(bench.cellreap(*arguments))
    again = bench.cellreap(*arguments, "--resume", "--json")
    assert json.loads(again.stdout)["cells"] == shown["cells"]
    assert boots(tmp_path) == before
    cells = [tmp_path / "out" / cell["id"] / "flow.sqlite" for cell in shown["cells"]]
    kill_in_transaction(cells[0], "UPDATE flowdetails SET state = 'RUNNING'")
    again = bench.cellreap(*arguments, "--resume", "--json")
    assert json.loads(again.stdout)["cells"] == shown["cells"]
    assert boots(tmp_path) == before
    watched = bench.cellreap(*arguments, "--watch").stdout.splitlines()
    assert watched[0] == "1/2 pass s0 x86_64"
    assert watched[-1] == "the campaign is done: 2 of 2 results"
    state = (tmp_path / "out" / "state.json").read_text()
    # What another version, or a failing disk, has left there is told in a line.
    (tmp_path / "out" / "state.json").write_text('{"state": "done"}')
    for how in ("--watch", "--resume", "--tasks"):
        assert "state.json: is damaged, or of" in error_of(bench.cellreap(*arguments, how))
    (tmp_path / "out" / "state.json").write_text(state)
    database = cells[1]
    database.write_bytes(database.read_bytes()[:100])
    assert f"{database}: cannot be used: " in error_of(bench.cellreap(*arguments, "--resume"))
    shutil.rmtree(database.parent)
    again = bench.cellreap(*arguments, "--resume", "--json")
    assert [cell["boots"] for cell in json.loads(again.stdout)["cells"]] == [1, 1]


IN_TRANSACTION = """
import os, signal, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA cache_size = 1")
connection.execute("BEGIN")
connection.execute(sys.argv[2])
connection.execute("CREATE TABLE filler (text)")
connection.executemany("INSERT INTO filler VALUES (?)", [("x" * 4096,)] * 200)
os.kill(os.getpid(), signal.SIGKILL)
"""


def kill_in_transaction(database: Path, statement: str) -> None:
    """Leaves the statement in the database as a killed process does: written, not committed."""
    subprocess.run([sys.executable, "-c", IN_TRANSACTION, str(database), statement])
    assert database.with_name("flow.sqlite-journal").stat().st_size, "there is nothing to undo"
    assert database.stat().st_size > 200 * 4096, "it is not in the file"


@pytest.mark.behaviour("A-18", "T-24")
def test_what_a_killed_process_has_not_committed_does_not_count(tmp_path: Path) -> None:
    folder = tmp_path / "a b=c#d"
    folder.mkdir()
    with pytest.raises(UsageError, match=r"c\?d: cannot be used: expected a path without \? and %"):
        make_database(tmp_path / "c?d" / "empty.sqlite")
    empty, database = folder / "empty.sqlite", folder / "flow.sqlite"
    make_database(empty)
    ended = "INSERT INTO flowdetails (uuid, state) VALUES ('a', 'SUCCESS')"
    copy_database(empty, database)
    kill_in_transaction(database, ended)
    assert result_of(folder) is None
    with contextlib.closing(sqlite3.connect(database)) as connection, connection:
        connection.execute(ended)
    kill_in_transaction(database, "UPDATE flowdetails SET state = 'RUNNING'")
    database.unlink()  # its journal stays, and has the flow that has ended
    copy_database(empty, database)
    assert result_of(folder) is None


@pytest.mark.behaviour("T-25")
def test_a_task_begins_only_with_the_cell_still_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*_: object) -> None:
        raise Lost

    campaign = read_campaign(written(tmp_path, scenario(tmp_path)))
    empty, folder = tmp_path / "empty.sqlite", tmp_path / "cell"
    make_database(empty)
    began: list[object] = []
    monkeypatch.setattr("cellreap.campaign.flow.kernel_for", lambda *it: began.append(it))
    monkeypatch.setattr(FolderDepot, "assert_owned", lost)
    with pytest.raises(Lost):
        run_cell(campaign.cells[0], campaign.settings, folder, empty)
    assert began == []
    assert result_of(folder) is None


@pytest.fixture
def sources(bench: Bench) -> Iterator[Path]:
    """The checkout of the bench, whose files are as before after the test, as are the others."""
    files = [*bench.folder.glob("s*.toml"), *(bench.folder / "bin").iterdir()]
    files += [path for path in (bench.folder / "checkout").rglob("*") if path.is_file()]
    files += [path for path in bench.sdk.rglob("*") if path.is_file()]
    before = {path: path.read_bytes() for path in files}
    yield bench.folder / "checkout"
    for path, content in before.items():
        if path.read_bytes() != content:
            path.write_bytes(content)


def added(path: Path, text: str = "\n/* changed */\n") -> None:
    path.write_text(path.read_text() + text)


def counting(bench: Bench, tmp_path: Path) -> Path:
    """Makes the emulator add a line to a file at each boot."""
    emulator = bench.folder / "bin" / "qemu-system-x86_64"
    text = emulator.read_text().replace("#!/bin/sh\n", f"#!/bin/sh\necho >> {tmp_path}/n\n")
    emulator.write_text(text)
    return tmp_path / "n"


@NEEDS_TOOLCHAIN
@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.behaviour("S-04")
def test_a_result_is_of_what_it_was_made_from(bench: Bench, sources: Path, tmp_path: Path) -> None:
    log = counting(bench, tmp_path)
    arguments = campaign_of(bench, 1, tmp_path)
    bench.cellreap(*arguments)

    def resumed(how: str = "--resume") -> tuple[str, list[str], int]:
        """The verdict, the findings, and how many boots there were for it."""
        before = log.read_text().count("\n")
        (cell,) = json.loads(bench.cellreap(*arguments, how, "--json").stdout)["cells"]
        return cell["verdict"], cell["findings"], log.read_text().count("\n") - before

    assert resumed() == ("pass", [], 0)
    server = sources / "examples" / "server.c"
    file = tmp_path / "c.toml"
    for change in (
        lambda: added(server, "int added;\n"),
        lambda: added(sources / "roottask" / "main.c"),
        lambda: added(sources / "roottask" / "include" / "cellreap" / "protocol.h"),
        lambda: added(bench.sdk / "libsel4" / "include" / "sel4" / "constants.h"),
        lambda: added(bench.folder / "s0.toml", "# changed\n"),
        lambda: added(bench.folder / "bin" / "qemu-system-x86_64", "# changed\n"),
        lambda: file.write_text(file.read_text().replace("[matrix]", "attempts = 1\n[matrix]")),
    ):
        change()
        assert resumed() == ("pass", [], 1)
    assert resumed() == ("pass", [], 0)
    before = server.read_text()
    added(server, "#error no more\n")
    (told,) = json.loads(bench.cellreap(*arguments, "--tasks", "--json").stdout)["tasks"]
    assert (told["verdict"], told["outdated"]) == ("pass", True)
    verdict, findings, count = resumed()
    assert (verdict, count) == ("error", 0)
    assert "#error no more" in findings[0]
    (told,) = json.loads(bench.cellreap(*arguments, "--tasks", "--json").stdout)["tasks"]
    assert (told["verdict"], told["outdated"]) == ("error", False)
    states = {each["task"]: each["state"] for each in told["tasks"]}
    assert states["boot"] == "PENDING"
    assert any("#error no more" in (each["failure"] or "") for each in told["tasks"])
    server.write_text(before)
    assert resumed() == ("pass", [], 1)
    assert resumed("--again") == ("pass", [], 1)
    shown = bench.cellreap(*arguments, "--tasks").stdout.splitlines()
    assert shown[0] == "s0 x86_64: pass"
    assert [line.split() for line in shown[1:]] == [
        [name, "SUCCESS"] for name in ("configure", "build", "boot", "capture", "check")
    ]


@NEEDS_TOOLCHAIN
@pytest.mark.behaviour("S-04")
def test_the_tool_is_a_part_of_what_a_cell_is_made_from(bench: Bench, tmp_path: Path) -> None:
    file = campaign_of(bench, 2, tmp_path)[1]
    first = identities(bench, file)
    assert len({made for made, _ in first.values()}) == 1, "their configurations are equal"
    assert len({key for _, key in first.values()}) == 2
    assert identities(bench, file) == first
    second = identities(bench, file, "another version")
    assert second.keys() == first.keys()
    assert not set(second.values()) & set(first.values())


@NEEDS_TOOLCHAIN
@pytest.mark.slow
@pytest.mark.behaviour("S-04")
def test_what_is_changed_while_a_campaign_runs_has_no_result(
    bench: Bench, sources: Path, tmp_path: Path
) -> None:
    emulator, server = bench.folder / "bin" / "qemu-system-x86_64", sources / "examples/server.c"
    text = emulator.read_text()
    edit = f"echo 'int more;' >> {server}\n"
    emulator.write_text(text.replace("#!/bin/sh\n", f"#!/bin/sh\n{edit}"))
    arguments = campaign_of(bench, 2, tmp_path)
    ended = bench.cellreap(*arguments, "-j", "1")
    assert ended.returncode == 2
    assert "is made from was changed while the campaign ran" in ended.stderr.splitlines()[-1]
    assert len(done(tmp_path)) == 1
    emulator.write_text(text)
    shown = json.loads(bench.cellreap(*arguments, "--resume", "--json").stdout)
    assert [cell["verdict"] for cell in shown["cells"]] == ["pass"] * 2


CELLS = 8
"""Two workers are killed twice, each time after the first result."""


@NEEDS_TOOLCHAIN
@pytest.mark.slow
@pytest.mark.behaviour("A-18", "A-20", "A-22", "T-14", "T-24")
def test_a_campaign_that_is_killed_goes_on_where_it_was(bench: Bench, tmp_path: Path) -> None:
    arguments = campaign_of(bench, CELLS, tmp_path)
    ended: dict[str, int] = {}
    for number in range(2):
        running = started(bench, *arguments, "-j", "2", *(("--resume",) if number else ()))
        assert running.stderr is not None
        running.stderr.readline()  # a cell has a result
        running.kill()
        running.wait()
        running.communicate()
        counted = boots(tmp_path)
        assert all(counted[name] == count for name, count in ended.items()), "one was run again"
        ended = {name: counted[name] for name in done(tmp_path)}
    assert len(ended) < CELLS, "it was not killed in the middle"
    ran = bench.cellreap(*arguments, "--resume", "--json")
    shown = json.loads(ran.stdout)
    assert [cell["verdict"] for cell in shown["cells"]] == ["pass"] * CELLS
    counted = boots(tmp_path)
    assert all(counted[name] == count for name, count in ended.items()), "one was run again"
    assert done(tmp_path) == {cell["id"] for cell in shown["cells"]}


@pytest.fixture
def emulator(bench: Bench) -> Iterator[Path]:
    """The script that serves as the emulator. It is as before after the test."""
    path = bench.folder / "bin" / "qemu-system-x86_64"
    before = path.read_text()
    yield path
    path.write_text(before)


@NEEDS_TOOLCHAIN
@pytest.mark.slow
@pytest.mark.behaviour("H-11", "H-13")
@pytest.mark.parametrize(("hangs", "verdict"), [(1, "flaky"), (2, "no end")])
def test_a_boot_that_hangs_is_tried_again_and_told(
    hangs: int, verdict: str, bench: Bench, emulator: Path, tmp_path: Path
) -> None:
    text = emulator.read_text()
    hang = f"echo >> {tmp_path}/n; [ $(wc -l < {tmp_path}/n) -gt {hangs} ] || exec sleep 600\n"
    emulator.write_text(text.replace("#!/bin/sh\n", f"#!/bin/sh\n{hang}"))
    ran = bench.cellreap(*campaign_of(bench, 1, tmp_path), "--json")
    (cell,) = json.loads(ran.stdout)["cells"]
    assert (cell["verdict"], cell["boots"]) == (verdict, 2)
    assert ran.returncode == (0 if verdict == "flaky" else 1)


@NEEDS_TOOLCHAIN
@pytest.mark.slow
@pytest.mark.behaviour("X-26", "H-11", "T-29")
def test_ctrl_c_ends_the_emulators_and_keeps_what_is_done(
    bench: Bench, emulator: Path, tmp_path: Path
) -> None:
    text = emulator.read_text()
    pids = f"echo $$ >> {tmp_path}/pids; mkdir {tmp_path}/first 2>&- || exec sleep 600\n"
    emulator.write_text(text.replace("#!/bin/sh\n", f"#!/bin/sh\n{pids}"))
    arguments = campaign_of(bench, 2, tmp_path, HEAD.replace("idle = 1\n", ""))
    running = started(bench, *arguments, "-j", "2")
    noted = tmp_path / "pids"
    give_up = time.monotonic() + 60
    while not noted.exists() or len(noted.read_text().split()) < 2 or not done(tmp_path):
        assert running.poll() is None
        assert time.monotonic() < give_up
        time.sleep(0.02)
    assert "another process runs this campaign" in error_of(bench.cellreap(*arguments, "--resume"))
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=30)
    assert running.returncode == 130
    for pid in noted.read_text().split():
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), 0)
    assert len(done(tmp_path)) == 1
    emulator.write_text(text)
    shown = json.loads(bench.cellreap(*arguments, "--resume", "--json").stdout)
    assert [cell["verdict"] for cell in shown["cells"]] == ["pass"] * 2


@pytest.mark.behaviour("X-26")
def test_ctrl_c_is_not_lost_in_code_that_drops_exceptions() -> None:
    class Dropper:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with Interrupt() as interrupt:
            interrupt.check()
            Dropper()
            assert select.select([interrupt.file], [], [], 0)[0]
            with pytest.raises(KeyboardInterrupt):
                interrupt.check()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


ONE_CELL = """
import errno, os, signal, sys
from pathlib import Path
from unittest.mock import patch
from cellreap.campaign.flow import make_database, run_cell
from cellreap.campaign.no_result import ending_without_result
from cellreap.campaign.matrix import read_campaign
from cellreap.errors import CellreapError

def killed(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

def full(*_, **__):
    try:
        raise OSError(errno.ENOSPC, "full")
    except OSError as error:
        raise CellreapError("it cannot be written") from error

campaign = read_campaign(Path(sys.argv[1]))
empty = Path(sys.argv[2] + ".empty")
make_database(empty)
if sys.argv[3] == "killed":
    patch("cellreap.campaign.flow.checked_run", killed).start()
if sys.argv[3] == "killed at the beginning":
    patch("taskflow.storage.Storage._save_atom_detail", killed).start()
if sys.argv[3] == "full":
    patch("cellreap.campaign.flow.checked_run", full).start()
with ending_without_result():
    run_cell(campaign.cells[0], campaign.settings, Path(sys.argv[2]), empty)
"""


@NEEDS_TOOLCHAIN
@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.behaviour("T-11", "T-15", "H-13")
def test_a_cell_that_fails_after_a_kill_is_an_error_and_reverts_what_it_skipped(
    bench: Bench, tmp_path: Path
) -> None:
    folder = tmp_path / "cell"

    def ran(how: str) -> int:
        command = [sys.executable, "-c", ONE_CELL, campaign_of(bench, 1, tmp_path)[1]]
        return subprocess.run([*command, str(folder), how], env=bench.env).returncode

    for _ in range(2):
        assert ran("killed at the beginning") == -signal.SIGKILL
        assert result_of(folder) is None
    assert ran("full") == FULL_DISK
    assert result_of(folder) is None
    assert ran("killed") == -signal.SIGKILL
    assert result_of(folder) is None
    assert (folder / "cell.trace").exists()
    (folder / "cell.img").unlink()  # so that the check fails
    assert ran("whole") == 0
    found = result_of(folder)
    assert found is not None
    assert found["verdict"] == "error"
    assert "cell.img: cannot be read: No such file or directory" in found["findings"][0]
    assert boots_of(folder) == 1
    assert not (folder / "cell.trace").exists()
