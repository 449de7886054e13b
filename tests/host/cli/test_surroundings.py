# SPDX-License-Identifier: BSD-2-Clause
"""What surrounds a command: its streams, the signals that end it, and the emulator."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from kit.command_line import HEARS_SIGNALS, command, environment
from kit.paths import GOLDENS
from kit.small_checkout import NEEDS_TOOLCHAIN, Bench, error_of

TRACE = str(GOLDENS / "hang.trace")


def in_shell(redirections: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs a command with redirections of a shell."""
    return subprocess.run(
        ["bash", "-c", f'exec "$@" {redirections}', "bash", *command(*arguments)],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )


def test_without_stdout_nothing_is_done(tmp_path: Path) -> None:
    made = tmp_path / "state.csv"
    done = in_shell(">&-", "report", TRACE, "-o", str(made))
    assert error_of(done).endswith("stdout is closed: expected a terminal, a file or a pipe")
    assert not made.exists()


def test_stdin_and_stderr_may_be_closed() -> None:
    done = in_shell("<&- 2>&-", "check", TRACE)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "pass")
    done = in_shell("<&- 2>&-", "check", "none.trace")
    assert (done.returncode, done.stdout) == (2, "")


@NEEDS_TOOLCHAIN
@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_a_build_leaves_no_folder(sign: signal.Signals, tmp_path: Path) -> None:
    """The compiler waits for ever, so the signal always comes in the middle."""
    bench = Bench(tmp_path, tmp_path / "cache")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    tool = tmp_path / "bin" / "cmake"
    tool.write_text(f"#!/bin/sh\ntouch {tmp_path}/begun\nexec sleep 600\n")
    tool.chmod(0o755)
    bench.emulator("")
    process = subprocess.Popen(
        [*HEARS_SIGNALS, *command("run", str(bench.config))],
        env={**bench.env, "TMPDIR": str(temporary)},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        while not (tmp_path / "begun").exists():
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(sign)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 128 + sign
    assert "Traceback" not in said
    assert list(temporary.iterdir()) == []


@NEEDS_TOOLCHAIN
def test_an_emulator_that_is_not_there_is_noticed_before_the_build(tmp_path: Path) -> None:
    bench = Bench(tmp_path, tmp_path / "cache")
    for tool in ("cmake", "ninja", "gcc"):
        (tmp_path / "bin" / tool).symlink_to("/bin/false")
    bench.env["PATH"] = str(tmp_path / "bin")
    for arguments in (("run", bench.config), ("conformance",)):
        said = error_of(bench.cellreap(*arguments))
        assert "qemu-system-x86_64 is not installed: on Debian, apt install qemu-system" in said


@NEEDS_TOOLCHAIN
def test_an_emulator_that_is_no_program_is_told_in_one_line(tmp_path: Path) -> None:
    bench = Bench(tmp_path, tmp_path / "cache")
    bench.emulator("")
    (tmp_path / "bin" / "qemu-system-x86_64").write_text("no program\n")
    said = error_of(bench.cellreap("run", bench.config))
    assert "qemu-system-x86_64 cannot be started" in said
    assert os.strerror(8) in said
