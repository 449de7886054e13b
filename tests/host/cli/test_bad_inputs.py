# SPDX-License-Identifier: BSD-2-Clause
"""Whatever is wrong with what a user gives, the answer is one line, before anything is built."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from kit.command_line import cellreap
from kit.paths import GOLDENS, ROOT

CONFIG = ROOT / "configs" / "block_fs_db_app.toml"
TRACE = GOLDENS / "hang.trace"
STATE = ROOT / "tests" / "data" / "scenario.csv"


@dataclass(frozen=True)
class Command:
    """A command with a file. before, behind: the arguments around it that make it complete."""

    name: str
    file: Path
    before: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()
    option: str = "--json"
    """One of its options."""
    output: str = ""
    """The option that names a file that it writes."""


COMMANDS = (
    Command("plan", STATE, behind=("--crash", "fs"), option="--crash"),
    Command("reconcile", STATE, behind=(str(CONFIG),)),
    Command("reconcile", CONFIG, before=(str(STATE),)),
    Command("metrics", STATE, option="--after"),
    Command("audit", STATE, option="--list"),
    Command("build", CONFIG, behind=("-o", "a.img"), option="--arch", output="-o"),
    Command("run", CONFIG, option="--pd-depth"),
    Command("boot", CONFIG, option="--timeout"),
    Command("debug", CONFIG, option="--port"),
    Command("flash", CONFIG, behind=("--board", "odroid-c4"), option="--board"),
    Command("check", TRACE, option="--image"),
    Command("show", TRACE, option="--records"),
    Command("report", TRACE, option="--perfetto", output="-o"),
    Command("graph", TRACE, behind=("-o", "a.dot"), option="--crash", output="-o"),
    Command("capdl", TRACE, behind=("--after", "1"), option="--after"),
    Command("campaign", CONFIG, option="--json"),
    Command("import", CONFIG, behind=("-o", "a.toml"), option="--json", output="-o"),
)
DAMAGED = {"empty": b"", "binary": bytes(range(256)) * 8}


def with_file(command: Command, file: Path) -> tuple[str, ...]:
    return (command.name, *command.before, str(file), *command.behind)


def cases(folder: Path) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """(what is wrong, the arguments, what is suggested: empty if there is nothing to suggest)."""
    for command in COMMANDS:
        near = folder / command.file.name
        near.write_bytes(command.file.read_bytes())
        right = with_file(command, near)
        yield "misspelt option", (*right, f"{command.option}x"), command.option
        yield "unknown option", (*right, "--zzzz"), ""
        yield "no arguments", (command.name,), ""
        missing = with_file(command, near.with_name(f"x{near.name}"))
        # capdl looks for the image beside the trace first.
        yield "no such file", missing, "" if command.name == "capdl" else str(near)
        yield "a folder", with_file(command, folder), ""
        for what, content in DAMAGED.items():
            damaged = folder / f"{what}{near.suffix}"
            damaged.write_bytes(content)
            yield what, with_file(command, damaged), ""
        if command.output:
            yield "no place", (*right, command.output, str(folder / "none" / "x.html")), ""
    yield "misspelt command", ("plann", str(STATE)), "plan"
    yield "misspelt command", ("metric",), "metrics"
    yield "unknown command", ("zzzz",), ""
    yield "misspelt PD", ("plan", str(STATE), "--crash", "block_servr_1"), "block_server_1"
    wanted = ("--crash", "block_servr_1", "-o", "a.dot")
    yield "misspelt PD", ("graph", str(STATE), *wanted), "block_server_1"
    yield "unknown PD", ("plan", str(STATE), "--crash", "zzzz"), ""
    yield "misspelt program", ("programs", "block_servr"), "block_server"
    yield "unknown program", ("programs", "zzzz"), ""
    yield "misspelt board", ("flash", "a.img", "--board", "odroid-c3"), "odroid-c4"
    yield "wrong depth", ("plan", str(STATE), "--crash", "fs", "--pd-depth", "-1"), ""
    yield "wrong depth", ("run", str(CONFIG), "--rs-depth", "deep"), ""
    yield "wrong architecture", ("build", str(CONFIG), "--arch", "x86"), ""
    yield "no SDK", ("build", str(CONFIG), "--sdk", str(folder / "none")), ""
    yield "two questions", ("plan", str(STATE), "--crash", "fs", "--collect"), ""
    yield "no question", ("plan", str(STATE)), ""
    yield "no cleanup", ("capdl", str(TRACE), "--after", "99"), ""
    yield "unknown shell", ("completion", "zzzz"), ""
    yield "not a number", ("run", str(CONFIG), "--timeout", "soon"), ""


@pytest.mark.behaviour("V-05")
def test_each_is_one_line_before_anything_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "files"
    folder.mkdir()
    wrong, count = [], 0
    for what, arguments, suggested in cases(folder):
        count += 1
        done = cellreap(*arguments)
        lines = done.stderr.splitlines()
        told = f"{what}: {' '.join(arguments)}: {done.returncode} {done.stdout!r} {done.stderr!r}"
        one = len(lines) == 1 and lines[0].startswith("cellreap: error: ") and not done.stdout
        if done.returncode != 2 or not one or "Traceback" in done.stderr:
            wrong.append(told)
        elif suggested and not re.search(rf"[Dd]id you mean .*{re.escape(suggested)}", lines[0]):
            wrong.append(f"no suggestion: {told}")
    assert "\n".join(wrong) == ""
    assert count >= 125
    assert not (tmp_path / "cache" / "cellreap" / "roottask").exists()
