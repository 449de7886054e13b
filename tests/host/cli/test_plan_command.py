# SPDX-License-Identifier: BSD-2-Clause
"""`cellreap plan` as its user sees it: output, exit codes, and one line for each error."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cellreap
from cellreap import __version__
from cellreap.cli.main import main
from cellreap.errors import CellreapError
from cellreap.model.core import library_path
from cellreap.model.ids import ROOT
from kit.output_schema import check_printed
from kit.paths import CELLULOS, DATA

SCENARIO = str(DATA / "scenario.csv")
BAD = sorted((DATA / "bad_models").glob("*.csv"))
needs_cellulos = pytest.mark.skipif(
    not CELLULOS.is_dir(), reason="the files that CellulOS wrote are not here"
)

Run = Callable[..., tuple[int, str, str]]


def core_is_built() -> bool:
    """Whether the library of the default engine is built."""
    try:
        return library_path().is_file()
    except CellreapError:
        return False


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command line in this process: (exit code, stdout, stderr)."""

    def call(*args: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as caught:
            main(args)
        out, err = capsys.readouterr()
        check_printed(args, out)
        code = caught.value.code
        assert isinstance(code, int)
        return code, out, err

    return call


@pytest.fixture(
    params=[
        "reference",
        pytest.param(
            "core", marks=pytest.mark.skipif(not core_is_built(), reason="the core is not built")
        ),
    ]
)
def engine(request: pytest.FixtureRequest) -> str:
    """Each engine in turn."""
    return str(request.param)


D1, FILES, TABLES = "BLOCK_SPACE_1", "FILE_SPACE_3", "TABLE_SPACE_4"


@pytest.mark.behaviour("C-04", "C-05", "C-06", "C-07", "C-08", "C-10", "C-12", "D-01", "X-22")
@pytest.mark.parametrize(
    ("pd_depth", "rs_depth", "pds", "spaces"),
    [
        ("0", "0", [], [D1]),
        ("0", "1", [], [D1, FILES]),
        ("0", "2", [], [D1, FILES, TABLES]),
        ("1", "0", ["PD_3"], [D1, FILES]),
        ("1", "1", ["PD_3"], [D1, FILES]),
        ("1", "2", ["PD_3"], [D1, FILES, TABLES]),
        ("2", "0", ["PD_3", "PD_4"], [D1, FILES, TABLES]),
        ("2", "inf", ["PD_3", "PD_4"], [D1, FILES, TABLES]),
        ("3", "0", ["PD_3", "PD_4", "PD_5"], [D1, FILES, TABLES]),
        ("inf", "inf", ["PD_3", "PD_4", "PD_5"], [D1, FILES, TABLES]),
    ],
)
def test_the_scenario_s_table(
    run: Run, engine: str, pd_depth: str, rs_depth: str, pds: list[str], spaces: list[str]
) -> None:
    before = Path(SCENARIO).read_bytes()
    options = ["--pd-depth", pd_depth, "--rs-depth", rs_depth, "--engine", engine, "--json"]
    code, out, err = run("plan", SCENARIO, "--crash", "block_server_1", *options)
    assert (code, err) == (0, "")
    plan = json.loads(out)
    assert plan["destroyed_pds"] == [[pd, depth] for depth, pd in enumerate(["PD_1", *pds])]
    assert plan["deleted_spaces"] == spaces
    assert plan["engine"] == engine
    assert [plan["pd_depth"], plan["rs_depth"]] == [
        int(d) if d != "inf" else d for d in (pd_depth, rs_depth)
    ]
    assert Path(SCENARIO).read_bytes() == before


def test_json_has_the_documented_keys(run: Run, engine: str) -> None:
    code, out, _ = run(
        "plan", SCENARIO, "--crash", "PD_1", "--engine", engine, "--json", "--explain", "app"
    )
    assert code == 0
    plan = json.loads(out)
    lists = {
        "destroyed_pds",
        "deleted_spaces",
        "removed_requests",
        "revoked",
        "revoked_spaces",
        "revoked_bodies",
        "core_freed",
        "notices",
        "pre_destroy",
    }
    assert lists | {"groups", "doomed_why", "trigger", "pd_depth", "rs_depth", "engine"} <= set(
        plan
    )
    for key in lists:
        assert plan[key] == sorted(plan[key])
    assert plan["notices"] == [["PD_3", "lost", "BLOCK_SPACE_1", None]]
    assert plan["groups"] == [["BLOCK_SPACE_1"], ["PD_1"]]
    assert plan["input"] == {
        "kind": "csv",
        "notes": [],
        "version": None,
        "ours": True,
        "rows": 42,
        "skipped_lines": 0,
        "duplicate_rows": 0,
        "empty_requests": 0,
        "left_out": [],
        "violations": [],
    }
    assert plan["explain"]["node"] == "PD_5"


def test_depths_are_0_if_not_given(run: Run) -> None:
    _, out, _ = run("plan", SCENARIO, "--crash", "PD_1", "--engine", "reference", "--json")
    assert [json.loads(out)[key] for key in ("pd_depth", "rs_depth")] == [0, 0]


def test_output_for_people(run: Run, engine: str) -> None:
    options = ("--pd-depth", "1", "--rs-depth", "2", "--engine", engine, "--explain", "app")
    code, out, err = run("plan", SCENARIO, "--crash", "block_server_1", *options)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "PD_1 (block_server_1) crashes, pd_depth 1, rs_depth 2"
    assert "  PD_1 (block_server_1)  depth 0  crashed" in lines
    assert "  TABLE_SPACE_4  1 resource   maps to FILE_SPACE_3" in lines
    assert "  PD_5 (app)  request to TABLE_SPACE_4" in lines
    assert "  PD_2 (block_server_2)  free: 1 resource of BLOCK_SPACE_2 that PD_3 (fs) held" in lines
    assert "  PD_2 (block_server_2)  disconnect: PD_3 (fs) from BLOCK_SPACE_2" in lines
    assert "  PD_4 (db)              destroy: TABLE_SPACE_4" in lines
    assert lines[lines.index("Why") + 1] == "  PD_5 (app) lives"
    assert "\x1b" not in out


def test_output_for_people_on_a_terminal(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    odd = tmp_path / "odd.csv"
    odd.write_text(Path(SCENARIO).read_text().replace(",fs,", ",[bold]fs,"))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    code, out, _ = run(
        "plan", str(odd), "--crash", "PD_1", "--pd-depth", "1", "--engine", "reference"
    )
    assert code == 0
    assert "[bold]fs" in out  # a name is text, even if rich could read it as markup
    assert "Order of destruction" in out


# -- errors


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_bad_file_ends_with_one_line_and_exit_2(run: Run, path: Path) -> None:
    message = path.with_suffix(".err").read_text().strip().replace("{path}", str(path))
    for options in ((), ("--json",)):
        code, out, err = run("plan", str(path), "--crash", "PD_1", *options)
        assert (code, out, err) == (2, "", f"cellreap: error: {message}\n")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (
            (SCENARIO,),
            "expected one of --crash, --subtree and --collect (see cellreap plan --help)",
        ),
        (
            (SCENARIO, "--crash", "PD_1", "--collect"),
            "expected one of --crash, --subtree and --collect (see cellreap plan --help)",
        ),
        (
            (SCENARIO, "--collect", "--pd-depth", "1"),
            "--collect: expected no --pd-depth and no --rs-depth with it",
        ),
        (
            (SCENARIO, "--subtree", "nobody"),
            f"{SCENARIO}: --subtree: no PD has the id or name 'nobody'",
        ),
        (
            (SCENARIO, "--subtree", "PD_0"),
            "--subtree: PD_0 is the root task, expected another PD",
        ),
        (
            ("--crash", "PD_1"),
            "Missing argument 'CONFIG.toml|X.system|TRACE|MODEL.csv'. (see cellreap plan --help)",
        ),
        (
            ("nowhere.csv", "--crash", "PD_1"),
            "nowhere.csv: cannot be read: No such file or directory",
        ),
        (("/", "--crash", "PD_1"), "/: cannot be read: Is a directory"),
        ((SCENARIO, "--crash", "PD_9"), f"{SCENARIO}: --crash: no PD has the id or name 'PD_9'"),
        ((SCENARIO, "--crash", FILES), f"{SCENARIO}: --crash: no PD has the id or name '{FILES}'"),
        ((SCENARIO, "--crash", "root_task"), "--crash: PD_0 is the root task, expected another PD"),
        (
            (SCENARIO, "--crash", "PD_1", "--explain", "PD_9"),
            f"{SCENARIO}: --explain: no node has the id or name 'PD_9'",
        ),
        (
            (SCENARIO, "--crash", "PD_1", "--pd-depth", "-1"),
            "Invalid value for '--pd-depth': '-1', expected inf or a number from 0 to 4294967293 "
            "(see cellreap plan --help)",
        ),
        (
            (SCENARIO, "--crash", "PD_1", "--rs-depth", "4294967295"),
            "Invalid value for '--rs-depth': '4294967295', expected inf or a number from "
            "0 to 4294967293 (see cellreap plan --help)",
        ),
    ],
)
def test_bad_usage(run: Run, args: tuple[str, ...], message: str) -> None:
    assert run("plan", *args) == (2, "", f"cellreap: error: {message}\n")


@pytest.mark.parametrize("depth", ["", "+1", "1.5", "infinity", "0x1", "\u0661", "9" * 5000])
def test_bad_depth(run: Run, depth: str) -> None:
    code, out, err = run("plan", SCENARIO, "--crash", "PD_1", "--pd-depth", depth)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1


def test_missing_core_is_said_with_what_to_do(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from cellreap.model.core import load_core

    monkeypatch.setenv("CELLREAP_CORE_LIB", str(tmp_path / "absent.so"))
    load_core.cache_clear()
    try:
        code, out, err = run("plan", SCENARIO, "--crash", "PD_1")
    finally:
        load_core.cache_clear()
    assert (code, out) == (2, "")
    assert err.startswith("cellreap: error: ")
    assert "absent.so" in err
    assert "tools/setup" in err
    assert err.count("\n") == 1


def test_strict_refuses_an_illegal_state(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "illegal.csv"
    rows = Path(SCENARIO).read_text().replace(",,NONE,HOLD,PD_1,BLOCK_1_1,\n", "")
    path.write_text(rows)
    found = "PD_1 manages BLOCK_SPACE_1 but does not hold BLOCK_1_1"
    args = ("plan", str(path), "--crash", "PD_1", "--engine", "reference")
    code, out, err = run(*args)
    assert (code, err) == (0, f"cellreap: note: {path}: no legal state: {found}\n")
    assert out
    assert run(*args, "--strict") == (
        2,
        "",
        f"cellreap: error: {path}: no legal state: L2: {found}\n",
    )


def test_error_lines_stay_one_line_whatever_the_path(run: Run, tmp_path: Path) -> None:
    code, out, err = run("plan", str(tmp_path / "a\nb\udcff.csv"), "--crash", "PD_1")
    assert (code, out, err.count("\n")) == (2, "", 1)


# -- the command line itself


def test_version_and_help(run: Run) -> None:
    assert run("--version") == (0, f"cellreap, version {__version__}\n", "")
    code, out, _ = run("--help")
    assert code == 0
    assert "plan" in out
    assert run("plan", "--help")[0] == 0
    assert run()[0] == 2


@pytest.mark.parametrize("command", ["", "zzzz", "check/../plan", "__init__"])
def test_unknown_command(run: Run, command: str) -> None:
    code, out, err = run(command)
    assert (code, out) == (2, "")
    assert err == f"cellreap: error: No such command '{command}'. (see cellreap --help)\n"


def test_listed_commands_can_be_imported(run: Run) -> None:
    from cellreap.cli.main import cli

    for name in cli.list_commands(None):  # type: ignore[arg-type]
        assert run(name, "--help")[0] == 0


def test_start_up_imports_no_more_than_it_needs() -> None:
    script = (
        "import sys\nfrom cellreap.cli.main import main\n"
        "try: main(['--version'])\nexcept SystemExit: pass\n"
        "print([m for m in ('pydantic', 'rich', 'cffi', 'elftools') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_run_imports_nothing_that_only_an_image_to_be_built_needs() -> None:
    """Nor what only messages and --json need. Imports took more time than all else of a run."""
    unwanted = (
        "cffi", "pycparser", "difflib", "tree_sitter", "cellreap.output",
        "cellreap.system.assembling", "cellreap.system.bounds", "cellreap.system.capdl.layout",
    )  # fmt: skip
    script = (
        "import sys, cellreap.cli.run_cmd\n"
        "from cellreap.system.config.schema import Config\n"
        f"print([m for m in {unwanted} if m in sys.modules], Config.__pydantic_complete__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[] False"


def test_closed_output_is_no_traceback() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [
        sys.executable,
        "-m",
        "cellreap.cli.main",
        "plan",
        SCENARIO,
        "--crash",
        "PD_1",
        "--engine",
        "reference",
    ]
    for options in ([], ["--json"], ["--help"]):
        done = subprocess.run(
            [*command, *options], stdout=writer, stderr=subprocess.PIPE, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (141, "")
    os.close(writer)


def test_interrupt_is_no_traceback(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("cellreap.cli.plan_cmd.state_of", interrupt)
    code, out, err = run("plan", SCENARIO, "--crash", "PD_1")
    assert (code, out) == (130, "")
    assert err.strip() == "cellreap: interrupted"


def test_full_disk_is_one_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(io.StringIO):
        def flush(self) -> None:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(sys, "stdout", Full())
    code, _, err = run("plan", SCENARIO, "--crash", "PD_1", "--engine", "reference")
    assert (code, err) == (2, "cellreap: error: No space left on device\n")


# -- files that CellulOS wrote


@needs_cellulos
@pytest.mark.behaviour("H-08")
@pytest.mark.parametrize(
    ("name", "crash", "rs_depth", "pds", "spaces"),
    [
        ("GPIKV001.csv", "ramdisk_server", "0", ["PD_2"], ["BLOCK_SPACE_a"]),
        ("GPIKV001.csv", "ramdisk_server", "inf", ["PD_2"], ["BLOCK_SPACE_a", "FILE_SPACE_c"]),
        ("guest_pd.csv", "GPIVM004", "inf", ["PD_1"], []),
        ("GPICL002_pd0_rs0.before.csv", "toy_block_server", "0", ["PD_6"], ["TOY_BLOCK_SPACE_f"]),
        ("GPICL002_pd0_rs0.after.csv", "toy_file_server", "0", ["PD_7"], ["TOY_FILE_SPACE_11"]),
    ],
)
def test_cellulos_files_as_they_are(
    run: Run, engine: str, name: str, crash: str, rs_depth: str, pds: list[str], spaces: list[str]
) -> None:
    options = ("--rs-depth", rs_depth, "--engine", engine, "--json")
    code, out, _ = run("plan", str(CELLULOS / name), "--crash", crash, *options)
    assert code == 0
    plan = json.loads(out)
    assert [pd for pd, _ in plan["destroyed_pds"]] == pds
    assert plan["deleted_spaces"] == spaces


@needs_cellulos
@pytest.mark.behaviour("S-01")
def test_memory_that_survivors_have_attached_stays(run: Run, engine: str) -> None:
    """The root process made the memory of the others: only it holds the MOs that their VMRs map."""
    path = CELLULOS / "GPIKV001.csv"
    model = cellreap.state(path)
    kept = {}
    for crash in ("PD_1", "PD_2", "PD_3", "PD_4"):
        options = ("--crash", crash, "--engine", engine, "--json")
        code, out, _ = run("plan", str(path), *options)
        assert code == 0
        freed = set(json.loads(out)["core_freed"])
        alive = {node for pd, node in model.holds if pd not in (crash, ROOT)}
        attached = {lower for upper, lower in model.maps if upper in alive}
        assert not attached & freed
        held = {node for pd, node in model.holds if pd == crash and node.startswith("MO_")}
        others = {node for pd, node in model.holds if pd not in (crash, ROOT)}
        kept[crash] = len((held - others) & attached)
        assert held - others - attached <= freed, "what nobody uses any more goes"
    assert kept == {"PD_1": 12, "PD_2": 0, "PD_3": 1, "PD_4": 0}


@needs_cellulos
def test_cellulos_console_log_holds_no_state(run: Run) -> None:
    code, out, err = run("plan", str(CELLULOS / "vmm_hello.console"), "--crash", "PD_1")
    assert (code, out) == (2, "")
    assert "no model state in" in err


@needs_cellulos
def test_engines_agree_on_a_large_state(run: Run) -> None:
    if not core_is_built():
        pytest.skip("the core is not built")
    plans = []
    for engine in ("core", "reference"):
        args = (
            "--crash",
            "PD_2",
            "--pd-depth",
            "1",
            "--rs-depth",
            "1",
            "--engine",
            engine,
            "--json",
        )
        _, out, _ = run("plan", str(CELLULOS / "GPIKV001.csv"), *args)
        plan = json.loads(out)
        plans.append(
            {key: value for key, value in plan.items() if key not in ("engine", "doomed_why")}
        )
    assert plans[0] == plans[1]
    assert len(plans[0]["revoked"]) > 0


@pytest.mark.parametrize(
    ("options", "when"),
    [
        ((), "at the end of the trace"),
        (("--after", "1"), "after cleanup 1"),
        (("--after", "0"), "before the first cleanup"),
    ],
)
def test_the_plan_for_a_trace_says_which_state_is_meant(
    run: Run, options: tuple[str, ...], when: str
) -> None:
    trace = str(DATA / "goldens" / "block_fs_db_app-0-0.trace")
    code, out, _ = run("plan", trace, "--crash", "fs", *options)
    assert code == 0
    assert out.splitlines()[0].endswith(f", in the state {when}")
