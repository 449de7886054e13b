# SPDX-License-Identifier: BSD-2-Clause
"""Systems without an end: watched while they run, ended from outside, and checked so far."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from cellreap.cli.main import cli
from cellreap.testing import Target
from cellreap.trace.frames import MARK
from kit.command_line import HEARS_SIGNALS
from kit.paths import BOOT_CONFIGS

SPINNING = """\
[system]
name = "spinning"

[[program]]
name = "spin"
sources = ["spinner.c"]

[[pd]]
name = "spinner"
program = "spin"
"""
SPINNER = """\
#include <cellreap/client.h>
void cr_main(void)
{
    volatile uint32_t turns = 0;
    cr_say_text("I spin");
    for (;;) {
        turns++;
    }
}
"""
EXPECTED = '\n[expect]\ncrashes = ["quitter", "crasher"]\n'


class Runs:
    """Runs a configuration with the command, with a folder of its own for temporary files."""

    def __init__(self, target: Target, folder: Path) -> None:
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        self._sdk = target.sdk
        self._folder = folder

    def start(self, text: str, *options: str) -> subprocess.Popen[str]:
        config = self._folder / "going.toml"
        config.write_text(text)
        kernel = ("--arch", self._sdk.kernel.arch, "--sdk", str(self._sdk.root))
        return subprocess.Popen(
            [
                *HEARS_SIGNALS,
                sys.executable,
                "-m",
                "cellreap",
                "run",
                str(config),
                *kernel,
                *options,
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env={**os.environ, "TMPDIR": str(self.temporary)},
        )


@pytest.fixture
def runs(target: Target, tmp_path: Path) -> Runs:
    return Runs(target, tmp_path)


@pytest.fixture
def bare() -> str:
    return (BOOT_CONFIGS / "bare.toml").read_text()


@pytest.mark.behaviour("Y-06")
def test_a_system_runs_until_an_event_and_its_console_is_shown_live(runs: Runs, bare: str) -> None:
    with runs.start(bare + EXPECTED, "--until", "SETTLED:n=2", "-v") as running:
        out, err = running.communicate()
    assert running.returncode == 0, out + err
    lines = out.splitlines()
    at = {text: next(i for i, line in enumerate(lines) if text in line) for text in (
        "server (PD_1) was created",
        "quitter (PD_2): exit with code 3",
        "crasher (PD_3): page fault at",
        "Crash 1:",
        "Crash 2:",
        "bare on ",
    )}  # fmt: skip
    assert at["server (PD_1) was created"] < min(at["Crash 1:"], at["Crash 2:"])
    assert max(at["Crash 1:"], at["Crash 2:"]) < at["bare on "]
    assert out.count("Crash 1:") == out.count("Crash 2:") == 1
    assert " in " in lines[at["crasher (PD_3): page fault at"]]
    assert "Not verified: what only the end of a run shows" in out
    assert lines[-1].startswith("ENDED AS ASKED: right as far as it goes")
    assert "\n0 TRACE version=1 " in err
    assert MARK.decode() not in out + err
    assert list(runs.temporary.iterdir()) == []


@pytest.mark.behaviour("Y-06", "Y-05")
def test_ctrl_c_ends_it_with_a_summary_and_a_failure_is_kept(runs: Runs, bare: str) -> None:
    with runs.start(bare) as running:
        assert running.stdout is not None
        told = ""
        while "Crash 2:" not in told:
            line = running.stdout.readline()
            assert line, told
            told += line
        running.send_signal(signal.SIGINT)
        out, err = running.communicate()
    assert running.returncode == 3, told + out + err
    assert "unstaged crash: crasher (PD_3): page fault" in out
    (folder,) = runs.temporary.iterdir()
    assert f"kept in {folder}: bare.img, bare.programs, bare.trace, bare.json" in out
    shown = json.loads((folder / "bare.json").read_text())
    assert shown["boot"]["end"] == "interrupted"
    assert shown["unverified"]
    # The trace has no END. It is told and checked as far as it goes.
    asked = [str(folder / "bare.trace"), "--image", str(folder / "bare.img")]
    done = CliRunner().invoke(cli, ["show", *asked], standalone_mode=False)
    assert done.return_value == 3, done.output
    for text in ("Crash 1:", "Crash 2:", "Alive when the trace broke off: server (PD_1)"):
        assert text in done.output
    assert re.search(r"where +[a-z_]+ at \S+\.c:[0-9]+", done.output)
    done = CliRunner().invoke(cli, ["check", *asked], standalone_mode=False)
    assert done.return_value == 3, done.output
    assert "not as expected: " in done.output
    assert "not verified: what only the end of a run shows" in done.output


@pytest.mark.slow
@pytest.mark.behaviour("Y-06")
def test_ctrl_c_ends_a_run_that_has_an_end_with_a_code_of_its_own(
    runs: Runs, tmp_path: Path
) -> None:
    (tmp_path / "spinner.c").write_text(SPINNER)
    with runs.start(SPINNING, "-v") as running:
        assert running.stderr is not None
        while " SAY " not in (line := running.stderr.readline()):
            assert line
        running.send_signal(signal.SIGINT)
        out, err = running.communicate()
    assert running.returncode == 130, out + err
    verdict, kept, *after = out.splitlines()[-4:]
    assert verdict.startswith("ENDED AS ASKED: right as far as it goes")
    assert kept.startswith("kept in ")
    assert [line.split()[:3] for line in after] == [
        ["next:", "cellreap", "report"],
        ["cellreap", "show", kept.split()[2].rstrip(":") + "/spinning.trace"],
    ]
    assert "Alive at the end: spinner (PD_1)" in out


@pytest.mark.behaviour("Y-06")
@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("soon", "expected a duration such as 30s"),
        ("30", "expected a duration such as 30s"),
        ("SETTLED:m=1", "expected FIELD=VALUE with one of n, rows"),
        ("SAY:text", "expected FIELD=VALUE with one of pd, text"),
    ],
)
def test_what_a_run_may_last_until_is_checked(value: str, message: str) -> None:
    done = CliRunner().invoke(cli, ["run", "none.toml", "--until", value], standalone_mode=False)
    assert message in str(done.exception)


@pytest.mark.behaviour("Y-06")
def test_a_run_that_is_ended_before_its_first_event_tells_that_nothing_was_seen(
    runs: Runs, bare: str
) -> None:
    with runs.start(bare, "--until", "1ms") as running:
        told, _ = running.communicate(timeout=120)
    assert "ENDED AS ASKED: right as far as it goes; 0 events" in told
    assert "Not verified: " in told
    assert "PASS" not in told


@pytest.mark.behaviour("Y-06")
@pytest.mark.parametrize(
    ("options", "end"), [((), "complete"), (("--until", "8s"), "asked")], ids=["", "until"]
)
def test_a_run_with_a_scenario_lasts_as_long_as_is_said(
    runs: Runs, bare: str, options: tuple[str, ...], end: str
) -> None:
    """Its PD waits all the time."""
    text = bare.partition('[[pd]]\nname = "quitter"')[0].replace("scenario = false\n", "")
    with runs.start(text, "--json", *options) as running:
        out, err = running.communicate()
    assert (running.returncode, json.loads(out)["boot"]["end"]) == (0, end), out + err


@pytest.mark.behaviour("S-02")
def test_what_is_expected_of_a_run_holds_where_it_is_ended(runs: Runs, bare: str) -> None:
    unmet = EXPECTED + 'said = { server = ["never said"] }\n'
    with runs.start(bare + unmet, "--until", "SETTLED:n=2") as running:
        out, err = running.communicate()
    assert running.returncode == 3, out + err
    assert "NOT AS EXPECTED: 1 finding" in out
    assert "  not said: server: expected 'never said'" in out
    assert "NO END" not in out
