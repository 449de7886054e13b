# SPDX-License-Identifier: BSD-2-Clause
"""Properties of all commands: exit codes, shared options, and how the help lists the commands."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import click
import pytest

from cellreap import __version__
from cellreap.cli.exit_codes import ExitCode
from cellreap.cli.main import cli
from cellreap.headers import source_root
from kit.docs_tables import check_table, table_lines

PAGE = source_root() / "docs" / "command-line.md"
COMMANDS = source_root() / "pyhost" / "cellreap" / "cli"
SAME_NAME_OTHER_MEANING = {"--output", "--crash", "--image", "--strict", "--board"}
"""Options that have different meanings in different commands."""


def cellreap(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "cellreap", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def test_the_docs_list_the_exit_codes(rewrite: bool) -> None:
    rows = [(str(int(code)), code.meaning) for code in ExitCode]
    check_table(PAGE, "exit codes", table_lines(("exit code", "meaning"), rows), rewrite)


def test_help_lists_the_commands_and_the_exit_codes() -> None:
    done = cellreap("--help")
    assert done.returncode == ExitCode.DONE
    shown = " ".join(done.stdout.split())
    for code in ExitCode:
        assert f" {int(code)} {code.meaning}" in shown
    for name in cli.list_commands(click.Context(cli)):
        assert f" {name} " in shown


def test_the_package_is_the_command() -> None:
    assert cellreap("--version").stdout.split()[-1] == __version__


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--version",), ExitCode.DONE),
        (("no-such-command",), ExitCode.USAGE),
        (("plan", "no-such-file.csv", "--crash", "a"), ExitCode.USAGE),
        ((), ExitCode.USAGE),
    ],
)
def test_codes_of_usage_errors(arguments: tuple[str, ...], code: ExitCode) -> None:
    done = cellreap(*arguments)
    assert done.returncode == code
    assert bool(done.stderr) == (code != ExitCode.DONE)


@pytest.mark.behaviour("V-05")
@pytest.mark.parametrize("command", ["run", "plan"])
def test_an_option_with_two_values_is_refused(command: str) -> None:
    done = cellreap(command, "no-such.toml", "--crash", "a", "--crash=b")
    assert done.returncode == ExitCode.USAGE
    assert "--crash: is given twice; expected once" in done.stderr
    assert "cannot be read" in cellreap("run", "no-such.toml", "-v", "-v").stderr


def test_a_failed_check_has_its_own_code(tmp_path: Path) -> None:
    traces = sorted((source_root() / "tests" / "data" / "goldens").rglob("*.trace"))
    lines = traces[0].read_bytes().splitlines(keepends=True)
    trace = tmp_path / "cut.trace"
    middle = len(lines) // 2
    assert cellreap("check", str(traces[0])).returncode == ExitCode.DONE
    trace.write_bytes(b"".join([*lines[:middle], *lines[middle + 1 :]]))
    assert cellreap("check", str(trace)).returncode == ExitCode.FAILED
    trace.write_bytes(b"".join(lines[:middle]))
    assert cellreap("check", str(trace)).returncode == ExitCode.NO_END


def declared_options(path: Path) -> list[str]:
    """The long option names in all calls of click.option in a module."""
    return [
        str(argument.value)
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "click.option"
        for argument in call.args
        if isinstance(argument, ast.Constant) and str(argument.value).startswith("--")
    ]


def test_an_option_that_commands_share_is_declared_once() -> None:
    counts = Counter(name for path in COMMANDS.glob("*.py") for name in declared_options(path))
    assert {"--json", "--sdk"} <= counts.keys()
    assert {name for name, count in counts.items() if count > 1} <= SAME_NAME_OTHER_MEANING


def test_exit_codes_stand_in_one_table_only() -> None:
    """No command returns or exits with a bare number."""
    for path in sorted(COMMANDS.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "sys.exit":
                values = list(node.args)
            elif isinstance(node, ast.Return) and node.value is not None:
                values = [node.value]
            else:
                continue
            for value in values:
                bare = isinstance(value, ast.Constant) and type(value.value) is int
                assert not bare, f"{path.name}: {ast.unparse(node)}"
