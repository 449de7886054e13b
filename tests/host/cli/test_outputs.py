# SPDX-License-Identifier: BSD-2-Clause
"""Files that commands read and write.

No command waits for what has no end, or writes over its own input, a folder, or what is no regular
file.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cellreap.errors import InputError
from cellreap.system.files import write_atomically
from kit.command_line import cellreap, cellreap_json, environment
from kit.paths import CONFIGS, DATA, GOLDENS
from kit.small_checkout import error_of

SCENARIO = "block_fs_db_app"
Made = Callable[[str], tuple[str, ...]]
COMMANDS: dict[str, Made] = {
    "build": lambda out: ("build", "system.toml", "-o", out),
    "boot": lambda out: ("boot", "system.img", "-o", out),
    "report": lambda out: ("report", "run.trace", "-o", out),
    "perfetto": lambda out: ("report", "run.trace", "--perfetto", out),
    "capdl": lambda out: ("capdl", "run.trace", "--after", "1", "--image", "system.img", "-o", out),
    "graph": lambda out: ("graph", "state.dot", "-o", out),
    "import": lambda out: ("import", "some.system", "-o", out),
}
INPUTS = {
    "build": "system.toml",
    "boot": "system.img",
    "report": "run.trace",
    "perfetto": "run.trace",
    "capdl": "system.img",
    "graph": "state.dot",
    "import": "some.system",
}


INPUT_COMMANDS = (
    ("plan", "PLACE", "--crash", "PD_1"),
    ("reconcile", "PLACE", "system.toml"),
    ("reconcile", "run.trace", "PLACE"),
    ("metrics", "PLACE"),
    ("audit", "PLACE"),
    ("build", "PLACE", "-o", "new.img"),
    ("boot", "PLACE"),
    ("flash", "PLACE", "--board", "qemu-uboot"),
    ("check", "PLACE"),
    ("check", "run.trace", "--image", "PLACE"),
    ("show", "PLACE"),
    ("graph", "PLACE", "-o", "new.svg"),
    ("report", "PLACE"),
    ("capdl", "PLACE", "--after", "1"),
    ("run", "PLACE"),
    ("campaign", "PLACE"),
    ("import", "PLACE"),
    ("debug", "PLACE"),
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with a file for each input."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(CONFIGS / f"{SCENARIO}.toml", "system.toml")
    shutil.copy(GOLDENS / "hang.trace", "run.trace")
    shutil.copy(DATA / "scenario.csv", "state.dot")
    for name in ("system.img", "some.system"):
        Path(name).write_text("kept")
    return tmp_path


@pytest.mark.behaviour("Y-02")
@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_writes_over_what_it_reads(folder: Path, name: str) -> None:
    given = Path(INPUTS[name])
    before = given.read_bytes()
    Path("link.dot").symlink_to(given)
    for out in (str(given), f"./{given}", "link.dot"):
        done = cellreap(*COMMANDS[name](out))
        assert "is read or written by this command already" in error_of(done), out
    assert given.read_bytes() == before
    assert Path("link.dot").is_symlink()


@pytest.mark.behaviour("Y-02")
def test_no_command_writes_two_things_to_one_file(folder: Path) -> None:
    done = cellreap("report", "run.trace", "-o", "page.html", "--perfetto", "page.html")
    assert "is read or written by this command already" in error_of(done)
    assert not Path("page.html").exists()


@pytest.mark.behaviour("Y-02")
@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "graph"])
@pytest.mark.parametrize("out", ["", ".", "..", "/"])
def test_a_folder_is_no_output(folder: Path, name: str, out: str) -> None:
    assert "is a folder, expected the name of a file" in error_of(cellreap(*COMMANDS[name](out)))


@pytest.mark.behaviour("Y-02")
def test_a_pipe_is_written_to_and_stays(folder: Path) -> None:
    os.mkfifo("pipe")
    reader = os.open("pipe", os.O_RDWR | os.O_NONBLOCK)
    try:
        write_atomically(Path("pipe"), b"all of it")
        assert os.read(reader, 100) == b"all of it"
        assert stat.S_ISFIFO(Path("pipe").stat().st_mode)
        done = cellreap("build", "system.toml", "-o", "pipe")
        assert "is no regular file, expected one or a new name" in error_of(done)
        assert stat.S_ISFIFO(Path("pipe").stat().st_mode)
    finally:
        os.close(reader)


@pytest.mark.behaviour("Y-02")
def test_what_a_link_leads_to_is_written(folder: Path) -> None:
    Path("link").symlink_to("there.txt")
    for text in (b"new", b"newer"):
        write_atomically(Path("link"), text)
        assert Path("there.txt").read_bytes() == text
        assert Path("link").is_symlink()
    Path("loop").symlink_to("loop")
    with pytest.raises(InputError, match="is a loop of links"):
        write_atomically(Path("loop"), b"")
    left = {path.name for path in folder.iterdir() if path.name.startswith(".")}
    assert left == set()


@pytest.mark.behaviour("Y-02")
@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "system.toml", "--timeout", "nan"),
        ("run", "system.toml", "--timeout", "inf"),
        ("boot", "system.img", "--idle", "nan"),
        ("cache", "prune", "--days", "nan"),
    ],
    ids=lambda arguments: arguments[-2].strip("-") + "-" + arguments[-1],
)
def test_a_time_is_a_number(folder: Path, arguments: tuple[str, ...]) -> None:
    assert f"'{arguments[-1]}', expected a number" in error_of(cellreap(*arguments))


@pytest.mark.behaviour("W-04")
def test_the_page_of_a_trace_without_its_end_does_not_pass(folder: Path) -> None:
    whole = Path("run.trace").read_bytes()
    assert cellreap("report", "run.trace").stdout.splitlines()[0].endswith(", pass")
    Path("half.trace").write_bytes(whole[: len(whole) // 2])
    done = cellreap("report", "half.trace")
    assert done.stdout.startswith("half.html: ")
    assert done.stdout.splitlines()[0].endswith(", no end")
    for command in ("report", "show"):
        for trace, verdict, no_end in (("run.trace", "pass", None), ("half.trace", "no end", True)):
            _, told = cellreap_json(command, trace)
            assert (told["verdict"], told.get("no_end")) == (verdict, no_end)


@pytest.mark.parametrize("command", INPUT_COMMANDS, ids="-".join)
@pytest.mark.parametrize("place", [".", "/", "/dev/zero", "silent"])
def test_what_is_no_file_is_refused_at_once(
    command: tuple[str, ...], place: str, folder: Path
) -> None:
    os.mkfifo("silent")  # nobody writes to it, so a command must not wait for it
    before = sorted(folder.iterdir())
    done = cellreap(*(place if word == "PLACE" else word for word in command))
    assert place in error_of(done)
    assert done.returncode == 2
    assert sorted(folder.iterdir()) == before


def test_a_pipe_with_a_writer_is_read(folder: Path) -> None:
    shell = f"exec {sys.executable} -m cellreap.cli.main check <(cat run.trace)"
    done = subprocess.run(
        ["bash", "-c", shell], env=environment(), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "pass"), done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_an_output_in_a_folder_that_is_not_there_is_refused_first(
    command: str, folder: Path
) -> None:
    Path(INPUTS[command]).write_text("")  # reading it would be an error of its own
    said = error_of(cellreap(*COMMANDS[command]("none/new.svg")))
    assert "none/new.svg: cannot be written: there is no folder" in said
