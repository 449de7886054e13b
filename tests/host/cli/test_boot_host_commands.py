# SPDX-License-Identifier: BSD-2-Clause
"""`build`, `boot` and `run` on the command line.

A script that prints a trace serves as the emulator.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from kit.paths import BAD_CONFIGS
from kit.records import names_in
from kit.small_checkout import NEEDS_TOOLCHAIN, Bench, error_of
from kit.small_runs import console, told, trace

pytestmark = NEEDS_TOOLCHAIN


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All tests share one cache because they build the same sources."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def bench(tmp_path: Path, cache: Path) -> Bench:
    return Bench(tmp_path, cache)


@pytest.mark.slow
@pytest.mark.behaviour("H-01", "H-03", "H-08", "H-10")
def test_run_tells_who_crashed_what_went_and_who_lives(bench: Bench) -> None:
    bench.emulator(trace(bench))
    done = bench.cellreap("run", bench.config)
    assert done.returncode == 0, done.stdout + done.stderr
    told = done.stdout
    for part in (
        "small on seL4 16.0.0+ (x86_64)",
        "Crash 1: server (PD_1): page fault at 0xdead000, instruction at 0x400123",
        "PDs 0, spaces 0",
        "server (PD_1), depth 0: it began here",
        "disk (BLOCK_SPACE_3): managed by server (PD_1)",
        "client (PD_2): its request to disk (BLOCK_SPACE_3), BLOCK_3_1",
        "client (PD_2): lost disk (BLOCK_SPACE_3)",
        "1 of 1 notice acknowledged",
        "KiB and 2 slots back",
        "client (PD_2): lost disk, but I still work",
        "Alive at the end: client (PD_2)",
        "PASS: everything as the reference model has it",
    ):
        assert part in told


@pytest.mark.slow
@pytest.mark.behaviour("H-10")
def test_run_json_has_what_is_promised(bench: Bench) -> None:
    bench.emulator(trace(bench, pd_depth=1))
    done = bench.cellreap(
        "run", bench.config, "--json", "--pd-depth", "1", "-o", bench.folder / "kept"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    shown: dict[str, Any] = json.loads(done.stdout)
    assert shown["kernel"] == {"name": "seL4", "version": "16.0.0+", "arch": "x86_64"}
    assert (shown["verdict"], shown["violations"]) == ("pass", [])
    assert shown["names"]["PD_1"] == "server"
    assert shown["names"]["BLOCK_SPACE_3"] == "disk"
    [cleanup] = shown["cleanups"]
    assert cleanup["destroyed_pds"] == [["PD_1", 0], ["PD_2", 1]]
    assert cleanup["cause"] == "fault"
    assert cleanup["kernel_calls"]
    assert shown["boot"]["end"] == "complete"
    kept = bench.folder / "kept"
    assert sorted(path.name for path in kept.iterdir()) == [
        "small.img",
        "small.json",
        "small.programs",
        "small.trace",
    ]
    assert (kept / "small.trace").read_text() == trace(bench, pd_depth=1)
    assert json.loads((kept / "small.json").read_text()) == shown
    assert bench.cellreap("check", kept / "small.trace").returncode == 0


@pytest.mark.slow
@pytest.mark.behaviour("H-13")
def test_run_fails_where_the_trace_is_wrong(bench: Bench) -> None:
    bench.emulator(
        "\n".join(x for x in trace(bench).splitlines() if "PLAN" not in names_in(x)) + "\n"
    )
    done = bench.cellreap("run", bench.config)
    assert done.returncode == 1
    assert "FAIL: " in done.stdout
    assert "PASS" not in done.stdout


@pytest.mark.slow
@pytest.mark.behaviour("H-13")
def test_run_fails_where_the_trace_has_no_end(bench: Bench) -> None:
    bench.emulator("".join(trace(bench).splitlines(keepends=True)[:-1]))
    done = bench.cellreap("run", bench.config, "--idle", "2", "--json")
    assert done.returncode == 4
    shown = json.loads(done.stdout)
    assert (shown["verdict"], shown["violations"]) == ("no end", [])
    assert shown["boot"]["end"] == "silent"
    assert shown["no_end"] is True


@pytest.mark.slow
@pytest.mark.behaviour("H-13")
def test_a_violation_before_a_missing_end_is_a_violation(bench: Bench) -> None:
    """The exit code tells a run that was too slow from one that went wrong."""
    lines = [line for line in trace(bench).splitlines() if "PLAN" not in names_in(line)]
    events = [event for event in told(bench) if event[0] != "PLAN"]
    assert len(events) == len(lines) - 1
    bench.emulator(console(events[:-1]))
    done = bench.cellreap("run", bench.config, "--idle", "2")
    assert done.returncode == 1
    assert "cleanup." in done.stdout


@pytest.mark.slow
@pytest.mark.behaviour("Y-04", "H-13")
def test_what_the_configuration_does_not_expect_has_an_exit_code_of_its_own(bench: Bench) -> None:
    bench.emulator(trace(bench))
    with bench.config.open("a") as file:
        file.write('[expect]\nalive = ["client"]\nsaid = { client = ["I still work"] }\n')
    done = bench.cellreap("run", bench.config)
    assert done.returncode == 0, done.stdout + done.stderr
    with bench.config.open("a") as file:
        file.write("cleanups = 2\n")
    done = bench.cellreap("run", bench.config, "-o", bench.folder / "kept")
    assert done.returncode == 3
    assert "NOT AS EXPECTED: 1 finding; the cleanups are as" in done.stdout
    assert "  cleanups: 1: expected 2" in done.stdout
    assert "PASS" not in done.stdout
    shown = json.loads((bench.folder / "kept" / "small.json").read_text())
    assert (shown["verdict"], shown["violations"]) == ("not as expected", [])
    assert shown["unexpected"] == [{"word": "cleanups", "text": "1: expected 2"}]
    done = bench.cellreap("check", bench.folder / "kept" / "small.trace", "--image", bench.config)
    assert done.returncode == 3
    assert done.stdout.endswith("small.trace:cleanups: 1: expected 2\nnot as expected: 1 finding\n")
    changed = bench.cellreap("run", bench.config, "--pd-depth", "0")
    assert changed.returncode == 0, "another system than the file's is expected of nothing"


@pytest.mark.slow
@pytest.mark.behaviour("H-13")
def test_run_fails_where_there_is_no_trace_at_all(bench: Bench) -> None:
    bench.emulator("seL4 failed assertion 'x' at a.c:1 in function f\n")
    done = bench.cellreap("run", bench.config)
    assert done.returncode == 1
    assert "Nothing crashed." not in done.stdout
    assert "FAIL: 1 violation" in done.stdout
    assert "stopped: seL4 failed assertion 'x'" in done.stdout


@pytest.mark.slow
def test_run_says_if_another_kernel_ran_than_was_meant(bench: Bench) -> None:
    bench.emulator(trace(bench, kernel="refkernel 1"))
    done = bench.cellreap("run", bench.config)
    assert done.returncode == 1
    assert "config.system: TRACE: kernel=refkernel 1: expected seL4 16.0.0+" in done.stdout


@pytest.mark.behaviour("H-01")
def test_build_then_boot_records_the_console(bench: Bench) -> None:
    bench.emulator(trace(bench))
    image = bench.folder / "a.img"
    built = bench.cellreap("build", bench.config, "-o", image, "--json")
    assert built.returncode == 0, built.stderr
    assert json.loads(built.stdout)["kernel"]["version"] == "16.0.0+"
    booted = bench.cellreap("boot", image, "--qemu-arg", "-icount shift=0", "--json")
    assert booted.returncode == 0, booted.stderr
    shown = json.loads(booted.stdout)
    assert shown["end"] == "complete"
    assert Path(shown["trace"]).read_text() == trace(bench)
    arguments = (bench.folder / "arguments").read_text().splitlines()
    assert arguments[-2:] == ["-icount", "shift=0"]
    assert "-kernel" in arguments


@pytest.mark.slow
@pytest.mark.behaviour("Y-07")
def test_boot_takes_another_root_task_without_an_image(bench: Bench) -> None:
    bench.emulator(trace(bench))
    assert bench.cellreap("build", bench.config, "-o", "a.img").returncode == 0
    with zipfile.ZipFile(bench.folder / "a.img") as image:
        raw = image.read("roottask.elf")
    (bench.folder / "own.elf").write_bytes(raw)
    done = bench.cellreap("boot", "own.elf", "--sdk", bench.sdk, "--json")
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    assert (shown["trace"], shown["kernel"]["version"]) == ("own.trace", "16.0.0+")
    assert (bench.folder / "own.trace").read_text() == trace(bench)

    assert "--sdk: a.img is an image" in error_of(
        bench.cellreap("boot", "a.img", "--sdk", bench.sdk)
    )
    (bench.folder / "mips.elf").write_bytes(raw[:18] + b"\x08" + raw[19:])
    expected = "expected 62 (x86_64) or 183 (aarch64) or 243 (riscv64)"
    assert f"mips.elf: e_machine: is 8: {expected}" in error_of(bench.cellreap("boot", "mips.elf"))
    (bench.folder / "cut.elf").write_bytes(raw[:40])
    assert "cut.elf: is cut" in error_of(bench.cellreap("boot", "cut.elf"))


@pytest.mark.slow
def test_boot_without_an_end_is_a_failure_and_keeps_the_console(bench: Bench) -> None:
    bench.emulator("hello\n")
    bench.cellreap("build", bench.config, "-o", "a.img")
    done = bench.cellreap("boot", "a.img", "-o", "b.trace", "--idle", "2")
    assert done.returncode == 4
    assert "the run was ended after " in done.stdout
    assert (bench.folder / "b.trace").read_text() == "hello\n"


@pytest.mark.slow
def test_each_architecture_has_its_own_kernel(bench: Bench) -> None:
    done = bench.cellreap("run", bench.config, "--arch", "aarch64")
    assert "no seL4 SDK for aarch64" in error_of(done)
    done = bench.cellreap("run", bench.config, "--arch", "aarch64", "--sdk", bench.sdk)
    assert "SEL4_ARCH (KernelSel4Arch): is x86_64: expected aarch64" in error_of(done)


@pytest.mark.slow
def test_mistakes_are_one_line_and_exit_2(bench: Bench) -> None:
    bad = BAD_CONFIGS / "unknown_key_pd.toml"
    assert f"{bad}:7: pd[0].color: unknown key" in error_of(bench.cellreap("run", bad))
    assert f"{bad}:7: pd[0].color: unknown key" in error_of(bench.cellreap("build", bad, "-o", "x"))
    assert "No such file" in error_of(bench.cellreap("run", "none.toml"))
    assert "expected a file made by" in error_of(bench.cellreap("boot", bench.config))
    assert '--crash: no PD is named "x"' in error_of(
        bench.cellreap("run", bench.config, "--crash", "x")
    )
    assert "expected inf or a number" in error_of(
        bench.cellreap("run", bench.config, "--pd-depth", "-1")
    )
    assert "--timeout" in error_of(bench.cellreap("run", bench.config, "--timeout", "0"))
    assert "such directory" in error_of(bench.cellreap("run", bench.config, "--sdk", "none"))
    assert "cannot be written" in error_of(
        bench.cellreap("build", bench.config, "-o", "none/a.img")
    )
    del bench.env["CELLREAP_SDK_X86_64"]
    assert "no seL4 SDK for x86_64" in error_of(bench.cellreap("run", bench.config))


@pytest.mark.slow
def test_an_emulator_that_is_missing_is_named_with_its_package(bench: Bench) -> None:
    bench.emulator("")
    bench.cellreap("build", bench.config, "-o", "a.img")
    bench.env["PATH"] = str(bench.folder)
    assert "on Debian, apt install qemu-system-x86" in error_of(bench.cellreap("boot", "a.img"))
