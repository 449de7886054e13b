# SPDX-License-Identifier: BSD-2-Clause
"""The pytest plugin, in projects outside this checkout. A script serves as the emulator."""

from __future__ import annotations

import os
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from cellreap.model.core.library import LIBRARY_VARIABLE, library_path
from cellreap.model.csvstate import write_state
from cellreap.system.sdk import MICROKIT_VARIABLE
from kit.core_support import system
from kit.small_checkout import NEEDS_TOOLCHAIN, Bench
from kit.small_runs import console, told, trace

pytest_plugins = ["pytester"]
pytestmark = NEEDS_TOOLCHAIN

CORE = library_path()
THREE_LINES = """
def test_server_crash(cellreap):
    run = cellreap.run("small.toml", crash="server")
    assert run.passed and run.alive == {"client"}
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All tests share one cache because they build the same sources."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def bench(pytester: pytest.Pytester, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """A project with a configuration, and an emulator that prints a good run of it."""
    bench = Bench(pytester.path, cache)
    for key, value in bench.env.items():
        monkeypatch.setenv(key, value)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setenv("PYTEST_PLUGINS", "cellreap.pytest_plugin")
    bench.emulator(trace(bench))
    return bench


def run_tests(pytester: pytest.Pytester, text: str, *args: str) -> pytest.RunResult:
    pytester.makepyfile(test_it=text)
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", *args)


@pytest.mark.behaviour("Y-03")
def test_three_lines_test_a_system(pytester: pytest.Pytester, bench: Bench) -> None:
    result = run_tests(pytester, THREE_LINES)
    result.assert_outcomes(passed=1)


@pytest.mark.behaviour("Y-03", "S-01")
def test_an_audit_is_an_assertion_about_what_a_run_tells(
    pytester: pytest.Pytester, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(LIBRARY_VARIABLE, str(CORE))
    state = write_state(
        system("""
        PD_1 manages FILE_SPACE_1 with FILE_1_1
        PD_2 manages TABLE_SPACE_2 with TABLE_2_1
        TABLE_2_1 maps FILE_1_1
    """)
    )
    (pytester.path / "state.csv").write_text(state, encoding="utf-8")
    pds = "".join(
        f'<protection_domain name="{name}"><program_image path="a.elf"/></protection_domain>'
        for name in "ab"
    )
    channel = '<channel><end pd="a" id="1"/><end pd="b" id="1"/></channel>'
    (pytester.path / "a.system").write_text(f"<system>{pds}{channel}</system>")
    policy = '[policy]\npd_depth = 1\n[[serves]]\nserver = "a"\nclients = ["b"]\n'
    (pytester.path / "policy.toml").write_text(policy)
    text = """
def test_good(cellreap):
    cellreap.audit("small.toml", max_destroyed=1, no_worse_than="small.toml")
def test_far(cellreap):
    cellreap.audit("small.toml", max_destroyed=0)
def test_broken(cellreap):
    cellreap.audit("state.csv")
def test_allowed(cellreap):
    cellreap.audit("state.csv", unbroken=False)
def test_described(cellreap):
    cellreap.audit("a.system", policy="policy.toml", max_destroyed=2)
def test_described_far(cellreap):
    cellreap.audit("a.system", policy="policy.toml", max_destroyed=1)
def test_undirected(cellreap):
    cellreap.audit("a.system")
def test_worse(cellreap):
    cellreap.audit("small.toml", no_worse_than="state.csv")
def test_wrong(cellreap):
    cellreap.audit("none.csv")
def test_open(cellreap):
    trace = cellreap.run("small.toml").trace
    cut = trace.with_name("cut.trace")
    lines = trace.read_text().splitlines(keepends=True)
    cut.write_text("".join(lines[: len(lines) // 2]))
    cellreap.audit(cut, unbroken=False)
"""
    result = run_tests(pytester, text)
    result.assert_outcomes(passed=3, failed=7)
    result.stdout.fnmatch_lines_random(
        [
            "*the crash of PD_1 (a) destroys 2 PDs, not 1*",
            "*unknown: channel of a and b, in no direction*",
            "*the crash of PD_1 (server) destroys 1 PDs, not 0*",
            "*PD_1 leaves 1 broken chains: PD_2 holds TABLE_2_1, which is built on FILE_1_1*",
            "*PD_1 (server) is a single point of failure*",
            "*none.csv*",
            "*unknown: what happened after the last line: the trace has no END*",
        ]
    )


@pytest.mark.behaviour("S-01")
def test_an_audit_of_a_run_that_failed_does_not_pass(
    pytester: pytest.Pytester, bench: Bench
) -> None:
    bench.emulator(console([event for event in told(bench) if event[0] != "PLAN"]))
    text = 'def test_it(cellreap):\n    cellreap.audit("small.toml", unbroken=False)\n'
    result = run_tests(pytester, text)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*small.toml: cannot be audited: its run did not pass*"])


@pytest.mark.behaviour("Y-03", "H-13")
def test_a_failure_tells_the_story_and_where_its_evidence_is(
    pytester: pytest.Pytester, bench: Bench
) -> None:
    wrong = [event for event in told(bench) if event[0] != "PLAN"]
    bench.emulator(console(wrong))
    result = run_tests(
        pytester, THREE_LINES, "--junitxml=junit.xml", "--cellreap-keep=kept", "-p", "no:xdist"
    )
    result.assert_outcomes(failed=1)
    shown = result.stdout.str()
    assert "where False = <small.toml crash=server on seL4 16.0.0+ (x86_64): " in shown
    assert "cleanup.plan" in shown
    assert "FAIL: " in shown
    assert "Crash 1: server (PD_1): page fault at 0xdead000" in shown
    assert "end of the console of small.toml" in shown
    kept = sorted(path.suffix for path in (pytester.path / "kept").iterdir())
    assert kept == [".img", ".programs", ".trace"]
    case = ET.parse(pytester.path / "junit.xml").getroot().find(".//testcase")
    assert case is not None
    properties = {each.get("name"): each.get("value") for each in case.iter("property")}
    assert Path(str(properties["cellreap_trace"])).read_text() == console(wrong)
    assert case.find("failure") is not None


@pytest.mark.slow
@pytest.mark.behaviour("Y-03", "Y-04")
def test_what_is_not_expected_fails(pytester: pytest.Pytester, bench: Bench) -> None:
    with bench.config.open("a") as file:
        file.write("[expect]\ncleanups = 2\n")
    text = 'def test_it(cellreap):\n    assert cellreap.run("small.toml").passed\n'
    result = run_tests(pytester, text)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*cleanups: 1: expected 2*", "NOT AS EXPECTED: 1 finding*"])


@pytest.mark.slow
@pytest.mark.behaviour("Y-03")
def test_a_run_without_an_end_is_a_failure_with_its_console(
    pytester: pytest.Pytester, bench: Bench
) -> None:
    bench.emulator("seL4 failed assertion 'x' at a.c:1 in function f\n")
    result = run_tests(pytester, THREE_LINES)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*the run did not come to its end*", "seL4 failed assertion 'x' at a.c:1 in function f"]
    )


@pytest.mark.slow
@pytest.mark.behaviour("Y-03")
def test_a_marker_repeats_a_test_and_bad_input_is_one_line(
    pytester: pytest.Pytester, bench: Bench
) -> None:
    both = """
import pytest

@pytest.mark.cellreap(arch=["x86_64", "aarch64"])
def test_arch(cellreap):
    assert cellreap.run("small.toml").passed

@pytest.mark.cellreap(pd_depth=[0, "inf"], rs_depth=0)
def test_depths(cellreap):
    assert cellreap.defaults["rs_depth"] == 0
    assert cellreap.defaults["pd_depth"] in (0, "inf")

@pytest.mark.cellreap(kernel="seL4", arch="aarch64")
def test_needs_sel4(cellreap):
    cellreap.run("small.toml")

def test_missing(cellreap):
    cellreap.run("none.toml")
"""
    result = run_tests(pytester, both, "-v", "-rsf")
    result.assert_outcomes(passed=3, failed=2, skipped=1)
    shown = result.stdout.str()
    assert "test_depths[pd_depth=0]" in shown
    assert "test_depths[pd_depth=inf]" in shown
    assert "no seL4 SDK for aarch64" in shown
    assert re.search(r"SKIPPED \[1\] .*: no seL4 SDK$", shown, re.MULTILINE)
    assert re.search(r"none\.toml: .*No such file", shown)
    assert "Traceback" not in shown


@pytest.mark.slow
@pytest.mark.behaviour("Y-03")
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("depth=1", "depth: expected one of arch, kernel, pd_depth"),
        ("arch=[]", "arch: expected a value or a list of at least one"),
    ],
)
def test_a_wrong_key_or_value_of_the_marker_is_named(
    pytester: pytest.Pytester, bench: Bench, given: str, message: str
) -> None:
    text = f"import pytest\n@pytest.mark.cellreap({given})\ndef test_it(cellreap):\n    pass\n"
    result = run_tests(pytester, text)
    assert result.ret != 0
    assert message in result.stdout.str()


@pytest.mark.slow
@pytest.mark.behaviour("Y-03")
def test_what_a_test_misspells_fails_in_one_line(pytester: pytest.Pytester, bench: Bench) -> None:
    """Each of these would pass else, though it tests nothing, or end the whole run."""
    text = """
import pytest

def test_argument(cellreap):
    assert cellreap.run("small.toml", crsh="server").passed

def test_depth(cellreap):
    cellreap.run("small.toml", pd_depth="x")

@pytest.mark.cellreap(rs_depth=-1)
def test_marker(cellreap):
    cellreap.run("small.toml")

def test_name(cellreap):
    assert "lost" not in cellreap.run("small.toml", crash="server").said("clint")
"""
    (pytester.path / "taken").write_text("")
    result = run_tests(pytester, text, "--cellreap-keep=taken", "-p", "no:xdist")
    result.assert_outcomes(failed=4)
    shown = result.stdout.str()
    assert 'crsh: unknown argument, did you mean "crash"? expected one of pd_depth' in shown
    assert "policy.pd_depth: got 'x'" in shown
    assert "policy.rs_depth: got -1" in shown
    assert "'clint' is no PD of this run, expected one of client, server" in shown
    assert "--cellreap-keep taken: cannot be written: File exists" in shown
    assert "INTERNALERROR" not in shown


@pytest.mark.behaviour("Y-03")
def test_a_description_needs_an_sdk_of_microkit(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without one the test is skipped. One that is not what it should be fails."""
    monkeypatch.setenv("PYTEST_PLUGINS", "cellreap.pytest_plugin")
    monkeypatch.delenv(MICROKIT_VARIABLE, raising=False)
    text = """
def test_none(cellreap):
    cellreap.run("a.system", policy="p.toml")

def test_wrong(cellreap):
    cellreap.run("a.system", sdk="sdk", board="b")

def test_other(cellreap):
    cellreap.run("a.toml", policy="p.toml")
"""
    result = run_tests(pytester, text, "-rsf")
    result.assert_outcomes(skipped=1, failed=2)
    shown = result.stdout.str()
    reason = f"no SDK of Microkit: no sdk is given, {MICROKIT_VARIABLE} is not set"
    assert re.search(rf"SKIPPED \[1\] .*: {reason}$", shown, re.MULTILINE)
    assert f"--board b: --sdk {pytester.path / 'sdk'} has no folder board" in shown
    assert "a.toml: only X.system has a policy, a search and an sdk" in shown
    assert "Traceback" not in shown


def counted_boots(bench: Bench) -> Path:
    """The file to which the emulator writes a line in each boot."""
    boots, emulator = bench.folder / "boots", bench.folder / "bin" / "qemu-system-x86_64"
    emulator.write_text(emulator.read_text().replace("\n", f"\necho >> {boots}\n", 1))
    return boots


@pytest.mark.slow
@pytest.mark.behaviour("Y-03")
def test_sessions_that_a_worker_starts_boot_for_themselves(
    pytester: pytest.Pytester, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw0")
    boots = counted_boots(bench)
    for _ in range(2):
        run_tests(pytester, THREE_LINES).assert_outcomes(passed=1)
    assert boots.read_text() == "\n\n"


@pytest.mark.slow
@pytest.mark.behaviour("Y-03")
def test_workers_share_the_boots(pytester: pytest.Pytester, bench: Bench) -> None:
    boots = counted_boots(bench)
    text = "import pytest\n@pytest.mark.parametrize('n', range(4))\ndef test_it(cellreap, n):\n"
    text += '    assert len(cellreap.run("small.toml").cleanups) == 1\n'
    result = run_tests(pytester, text, "-n", "2")
    result.assert_outcomes(passed=4)
    assert boots.read_text() == "\n"


@pytest.mark.slow
@pytest.mark.behaviour("Y-03")
def test_without_the_fixture_the_plugin_loads_nothing(
    pytester: pytest.Pytester, bench: Bench
) -> None:
    text = """
import sys

def test_nothing_is_loaded():
    heavy = [name for name in sys.modules if name.startswith("cellreap.")]
    assert heavy == ["cellreap.pytest_plugin"]
"""
    assert os.environ["PYTEST_PLUGINS"] == "cellreap.pytest_plugin"
    run_tests(pytester, text).assert_outcomes(passed=1)
