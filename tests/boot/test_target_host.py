# SPDX-License-Identifier: BSD-2-Clause
"""The host's side of a boot: repeatable, bounded in time, and clear about errors."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from cellreap.runs.boot import End, boot_image
from cellreap.system.image import read_image
from cellreap.testing import Run, Target, with_system
from cellreap.trace.events import Event
from cellreap.trace.writer import seal
from kit.command_line import cellreap, cellreap_json, command, environment
from kit.image_members import damage
from kit.marks import thorough_but
from kit.outcomes import unkeyed
from kit.paths import CONFIGS


def _children(pid: int) -> list[int]:
    """The processes that a process started and that still exist."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            stat = (folder / "stat").read_text() if folder.name.isdecimal() else ""
        except OSError:
            continue
        if stat and int(stat.rpartition(")")[2].split()[1]) == pid and ") Z" not in stat:
            found.append(int(folder.name))
    return found


def _is_qemu(pid: int) -> bool:
    try:
        return "qemu-system" in Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return False


@pytest.mark.behaviour("H-03")
def test_a_run_ends_by_itself_at_the_end_of_its_trace_and_leaves_no_emulator(
    target: Target,
) -> None:
    image = read_image(target.run("faults_exit").image)
    with Path(os.devnull).open("wb") as nowhere:
        boot = boot_image(image, nowhere, timeout=600, idle=90)
    assert boot.end is End.COMPLETE  # so no wait ran into a limit
    assert [pid for pid in _children(os.getpid()) if _is_qemu(pid)] == []


@pytest.mark.behaviour("H-01")
def test_what_runs_is_what_was_asked_for(target: Target) -> None:
    run = target.run("block_fs_db_app", pd_depth=1, rs_depth="inf", crash="block_server_2")
    (trace,) = run.of("TRACE")
    assert [trace[key] for key in ("system", "pd_depth", "rs_depth")] == [
        "block_fs_db_app",
        "1",
        "inf",
    ]
    assert [run.names[event["trigger"]] for event in run.cleanups()] == ["block_server_2"]


# -- repeated runs

_CYCLES = re.compile(r" cycles=\d+| instructions=\d+")


def _lines(run: Run) -> list[str]:
    """All lines before the last, whose digest is about all bytes, without the run's own key."""
    return [unkeyed(event) for event in run.events if event.name != "END"]


def _timeless(run: Run) -> list[str]:
    return [_CYCLES.sub("", line) for line in _lines(run)]


@pytest.mark.slow
@pytest.mark.behaviour("C-28", "D-04")
@pytest.mark.parametrize("name", thorough_but(["block_fs_db_app", "protocol"], "block_fs_db_app"))
def test_two_boots_of_one_image_have_the_same_trace(target: Target, name: str) -> None:
    """Equal to the last cycle if QEMU counts instructions.

    Otherwise time slices end by the host's clock.
    """
    counted = ("-icount", "shift=0")
    first, second = (target.run(name, qemu_args=counted, again=again) for again in (1, 2))
    assert first.image.read_bytes() == second.image.read_bytes()
    assert _lines(first) == _lines(second)


@pytest.mark.slow
@pytest.mark.behaviour("C-28")
def test_by_the_hosts_clock_they_differ_in_the_cycles_alone(target: Target) -> None:
    first, second = (target.run("block_fs_db_app", again=again) for again in (0, 1))
    assert _timeless(first) == _timeless(second)


# -- errors


@pytest.mark.slow
def test_an_emulator_that_is_killed_is_told_as_such(target: Target, tmp_path: Path) -> None:
    image = read_image(target.image("respawn"))
    killed: list[int] = []

    def kill(events: int) -> None:
        if events > 100 and not killed:
            killed.extend(pid for pid in _children(os.getpid()) if _is_qemu(pid))
            for pid in killed:
                os.kill(pid, signal.SIGKILL)

    path = tmp_path / "killed.trace"
    with path.open("wb") as file:
        boot = boot_image(image, file, on_events=kill)
    assert len(killed) == 1
    assert (boot.end, boot.detail) == (End.FAILED, "signal 9")
    assert boot.events > 100
    assert path.stat().st_size == boot.bytes  # the output before the end is kept
    code, shown = cellreap_json("check", str(path))
    assert (code, shown["verdict"], shown["violations"]) == (4, "no end", [])


@pytest.mark.slow
def test_a_run_whose_emulator_is_killed_says_so_in_one_line(target: Target, tmp_path: Path) -> None:
    target.image("respawn")  # built before the clock starts
    arguments = command("run", str(CONFIGS / "respawn.toml"), "-o", str(tmp_path), "--json")
    trace = tmp_path / "respawn.trace"
    with subprocess.Popen(
        arguments, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline and not (
            trace.exists() and trace.stat().st_size > 20_000
        ):
            time.sleep(0.02)
        emulators = [pid for pid in _children(process.pid) if _is_qemu(pid)]
        for pid in emulators:
            os.kill(pid, signal.SIGKILL)
        out, err = process.communicate(timeout=300)
    assert len(emulators) == 1
    assert (process.returncode, out) == (2, "")
    last = err.splitlines()[-1]
    assert last.startswith("cellreap: error: QEMU failed after ")
    assert last.endswith("events: signal 9")
    assert trace.stat().st_size > 20_000  # the output before the end is kept


def test_a_full_disk_ends_a_boot_with_one_line(target: Target) -> None:
    done = cellreap("boot", str(target.image("faults_exit")), "-o", "/dev/full")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1] == "cellreap: error: No space left on device"


@pytest.mark.slow
def test_a_damaged_configuration_in_the_image_is_the_root_tasks_panic(
    target: Target, tmp_path: Path
) -> None:
    """One flipped bit in the middle of the blob.

    The root task detects it by the checksum and starts nothing.
    """
    damaged = tmp_path / "damaged.img"
    damage(target.image("block_fs_db_app"), b"block_server_2\0", damaged)
    done = cellreap("boot", str(damaged), "-o", str(tmp_path / "damaged.trace"), "--json")
    assert done.returncode == 1
    shown = json.loads(done.stdout)
    assert shown["end"] == "fatal"
    assert shown["events"] == 0
    assert shown["detail"].startswith(
        "cellreap: panic: the configuration in the image is not valid"
    )
    assert shown["seconds"] < 15
    again = cellreap("check", str(tmp_path / "damaged.trace"))
    assert again.returncode == 2
    assert again.stderr.count("\n") == 1


def test_an_image_that_is_damaged_is_not_booted(target: Target, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.img"
    shutil.copy(target.image("block_fs_db_app"), damaged)
    raw = bytearray(damaged.read_bytes())
    raw[raw.index(b"block_server_2\0")] ^= 1
    damaged.write_bytes(bytes(raw))
    done = cellreap("boot", str(damaged))
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert str(damaged) in done.stderr
    assert not damaged.with_suffix(".trace").exists()


SHIPPED = sorted(path.stem for path in CONFIGS.glob("*.toml"))


@pytest.mark.parametrize("name", thorough_but(SHIPPED, "hang"))
def test_no_shipped_configuration_needs_a_fast_machine(target: Target, name: str) -> None:
    """At 4 million instructions a second of the machine's own time, so every deadline is short."""
    run = target.run(name, qemu_args=("-icount", "shift=8,sleep=off"))
    assert run.report.unexpected == []


@pytest.mark.slow
def test_a_time_limit_ends_the_run_and_keeps_what_there_is(target: Target, tmp_path: Path) -> None:
    """At 8 million instructions a second no kernel completes 50 crashes in the time limit."""
    trace = tmp_path / "short.trace"
    slow = ("--qemu-arg", "-icount", "--qemu-arg", "shift=7,align=on,sleep=on")
    image = str(target.image("respawn"))
    done = cellreap("boot", image, "-o", str(trace), "--timeout", "2.5", *slow, "--json")
    assert done.returncode == 4
    shown = json.loads(done.stdout)
    assert shown["end"] == "timeout"
    assert shown["detail"].startswith("limit 2.5 s")
    assert trace.stat().st_size == shown["bytes"] > 0


@pytest.mark.slow
def test_silence_ends_the_run(target: Target, tmp_path: Path) -> None:
    """The emulated processor never starts, so the console stays empty."""
    code, shown = cellreap_json(
        "run",
        str(CONFIGS / "faults_exit.toml"),
        "--idle",
        "1",
        "--qemu-arg",
        "-S",
        "-o",
        str(tmp_path),
    )
    assert target
    assert code == 4
    assert (shown["verdict"], shown["violations"]) == ("no end", [])
    assert (shown["boot"]["end"], shown["boot"]["bytes"]) == ("silent", 0)


def test_an_emulator_that_will_not_start_says_so(target: Target, tmp_path: Path) -> None:
    image = str(target.image("faults_exit"))
    done = cellreap(
        "boot", image, "-o", str(tmp_path / "t"), "--qemu-arg", "-no-such-option", "--json"
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "no-such-option" in done.stderr.splitlines()[-1]


@pytest.mark.behaviour("H-08", "H-10", "M-06")
def test_a_kept_run_can_be_checked_again(target: Target) -> None:
    run = target.run("terminate", change=with_system(truth=None))
    code, shown = cellreap_json("check", str(run.trace))
    assert (code, shown["verdict"]) == (0, "pass")
    assert shown["cleanups"][0]["cause"] == "terminate"


@pytest.mark.behaviour("H-10", "M-06")
def test_a_state_that_is_not_the_one_replayed_fails(target: Target, tmp_path: Path) -> None:
    """The cleanup removed a row less from the state, as it says.

    The check that passed the run objects.
    """
    run = target.run("terminate")
    settled = run.of("SETTLED", n=1)[0]
    rows = settled.number("rows")
    fewer = Event(settled.name, {**settled.values, "rows": str(rows - 1)})
    changed = [fewer if event is settled else event for event in run.events]
    path = tmp_path / "less.trace"
    path.write_text("\n".join(seal(changed)) + "\n")
    code, shown = cellreap_json("check", str(path))
    assert (code, shown["verdict"]) == (1, "fail")
