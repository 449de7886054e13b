# SPDX-License-Identifier: BSD-2-Clause
"""All that read a trace say the same of it, and of what they did not look at."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import cellreap as api
from cellreap.cli.exit_codes import ExitCode
from cellreap.runs.expectation import expected_by
from cellreap.trace.expected import NO_END
from cellreap.trace.report import Verdict
from kit.configured_story import Configured
from kit.records import up_to
from kit.small_checkout import CONFIG, NEEDS_TOOLCHAIN, Bench
from kit.small_runs import LeavingServer, console, story

pytestmark = [NEEDS_TOOLCHAIN, pytest.mark.behaviour("S-02")]

PANIC = "cellreap: panic: a table is full 7"
CODES = {
    Verdict.PASS: ExitCode.DONE,
    Verdict.UNEXPECTED: ExitCode.UNEXPECTED,
    Verdict.NO_END: ExitCode.NO_END,
    Verdict.FAIL: ExitCode.FAILED,
}
Said = tuple[str, tuple[str, ...]]
"""A verdict, and what was not looked at."""


@dataclass(frozen=True)
class Case:
    """A system, its console, and what is to be said of it. reason: is in the texts."""

    verdict: Verdict
    print: Callable[[Path], str]
    more: str = ""
    first: str = ""
    reason: str = ""
    unverified: tuple[str, ...] = ()


def good(image: Path) -> str:
    return console(story(Configured(expected_by(image))))


def cut(image: Path) -> str:
    """The console up to the fault."""
    return up_to(good(image), "FAULT")


def left(image: Path) -> str:
    return console(story(LeavingServer(expected_by(image))))


def wrong(image: Path) -> str:
    events = story(Configured(expected_by(image)))
    return console([event for event in events if event[0] != "PLAN"])


def other(image: Path) -> str:
    """The run of another configuration."""
    events = story(Configured(expected_by(image)))
    return console(
        [(name, {**it, "word": "sync"} if it.get("what") == "mode" else it) for name, it in events]
    )


def never(image: Path) -> str:
    """The server does not crash."""
    target = Configured(expected_by(image))
    target.boot()
    target.work("server")
    target.work("client")
    target.quiet()
    target.emit("UNREACHED", crash=1, name="server")
    return console(target.end())


UNMET = "[expect]\ncleanups = 2\n"
CASES = {
    "passes": Case(Verdict.PASS, good),
    "unmet": Case(Verdict.UNEXPECTED, good, UNMET, reason="cleanups: 1: expected 2"),
    "never": Case(Verdict.UNEXPECTED, never, reason="not crashed: crash 1 of the configuration"),
    "left": Case(
        Verdict.UNEXPECTED,
        left,
        first='[bench]\ninject = "step:1:error:x9"\n',
        reason="not cleaned up: cleanup 1 left 1 step: destroy-pd server (PD_1)",
    ),
    "cut": Case(Verdict.NO_END, cut, unverified=(NO_END,)),
    "cut-unmet": Case(
        Verdict.UNEXPECTED, cut, UNMET, reason="cleanups: 0: expected 2", unverified=(NO_END,)
    ),
    "stopped": Case(
        Verdict.FAIL, lambda image: f"{cut(image)}{PANIC}\n", reason=PANIC, unverified=(NO_END,)
    ),
    "wrong": Case(Verdict.FAIL, wrong, reason="cleanup."),
    "other": Case(Verdict.FAIL, other, reason="config.settings"),
}


def config_of(name: str) -> str:
    """The configuration of a case."""
    case = CASES[name]
    return (case.first + CONFIG + case.more).replace('"small"', f'"case-{name}"')


@dataclass(frozen=True)
class All:
    """What each of those that run or read the systems said, by name of the case."""

    bench: Bench
    run: Mapping[str, dict[str, Any]]
    campaign: Mapping[str, Said]
    junit: Mapping[str, str]
    fixture: Mapping[str, Said]

    def kept(self, name: str) -> Path:
        return self.bench.folder / "kept" / name / f"case-{name}.trace"


def said(shown: Mapping[str, Any]) -> Said:
    return shown["verdict"], tuple(shown.get("unverified", ()))


@pytest.fixture(scope="module")
def every(tmp_path_factory: pytest.TempPathFactory) -> All:
    """All cases, run by `run`, by one campaign, and by one test with the fixture.

    The emulator finds the name of the system in what it boots, and prints the console of the case.
    """
    bench = Bench(tmp_path_factory.mktemp("bench"), tmp_path_factory.mktemp("cache"))
    folder = bench.folder
    bench.emulator("")
    script = '#!/bin/sh\nwhile [ "$1" != -initrd ]; do shift; done\n'
    for name in sorted(CASES, key=len, reverse=True):
        config, image = folder / f"{name}.toml", folder / f"{name}.img"
        config.write_text(config_of(name))
        assert bench.cellreap("build", config, "-o", image).returncode == 0
        (folder / f"{name}.console").write_text(CASES[name].print(image))
        script += f'grep -aqF "case-{name}" "$2" && exec cat "{folder}/{name}.console"\n'
    (folder / "bin" / "qemu-system-x86_64").write_text(script)
    run = {name: ran(bench, name) for name in CASES}
    return All(bench, run, *campaign(bench), fixture(bench))


def ran(bench: Bench, name: str) -> dict[str, Any]:
    """What `run --json` printed, with its exit code. The trace is kept."""
    done = bench.cellreap("run", f"{name}.toml", "-o", f"kept/{name}", "--json")
    kept = json.loads((bench.folder / "kept" / name / f"case-{name}.json").read_text())
    shown: dict[str, Any] = json.loads(done.stdout)
    assert said(kept) == said(shown)
    return {**shown, "code": done.returncode}


def campaign(bench: Bench) -> tuple[dict[str, Said], dict[str, str]]:
    """What a campaign said of each system, and the text of each case in JUnit's XML."""
    names = ", ".join(f'"{name}.toml"' for name in CASES)
    (bench.folder / "all.toml").write_text(
        f'[campaign]\nname = "all"\nattempts = 1\n[matrix]\nconfig = [{names}]\n'
    )
    done = bench.cellreap("campaign", "all.toml", "-o", "cells", "--json", "--junit", "all.xml")
    assert done.returncode == 1, done.stderr
    cells = json.loads(done.stdout)["cells"]
    suite = ElementTree.parse(bench.folder / "all.xml").getroot()
    texts = {
        str(case.get("name")).split()[0]: "\n".join(
            f"{part.get('type')}: {part.text}" for part in case
        )
        for case in suite
    }
    return {Path(cell["values"]["config"]).stem: said(cell) for cell in cells}, texts


def fixture(bench: Bench) -> dict[str, Said]:
    """What a test with the fixture gets of each system."""
    (bench.folder / "test_all.py").write_text(
        "import json\n"
        "def test_it(cellreap):\n"
        f"    runs = {{name: cellreap.run(f'{{name}}.toml') for name in {list(CASES)}}}\n"
        "    said = {name: (run.verdict, run.unverified) for name, run in runs.items()}\n"
        "    assert [name for name, run in runs.items() if run.passed] == ['passes']\n"
        "    json.dump(said, open('said.json', 'w'))\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_all.py"],
        cwd=bench.folder,
        env={**bench.env, "PYTEST_PLUGINS": "cellreap.pytest_plugin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    told = json.loads((bench.folder / "said.json").read_text())
    return {name: (verdict, tuple(unverified)) for name, (verdict, unverified) in told.items()}


@pytest.mark.parametrize("name", CASES)
def test_all_say_the_same(name: str, every: All) -> None:
    case, kept = CASES[name], every.kept(name)
    code, expected = CODES[case.verdict], (str(case.verdict), case.unverified)
    shown = every.run[name]
    assert (shown["code"], said(shown)) == (code, expected), shown
    assert every.campaign[name] == expected
    assert every.fixture[name] == expected
    python = api.check(kept)
    assert (python.verdict, tuple(python.unverified)) == expected
    assert python.passed == (case.verdict is Verdict.PASS)
    for command in ("check", "show", "report", "graph"):
        out = ("-o", kept.with_suffix(".dot")) if command == "graph" else ()
        done = every.bench.cellreap(command, kept, "--json", *out)
        assert said(json.loads(done.stdout)) == expected, command
        assert done.returncode == (0 if command == "graph" else code), command


@pytest.mark.parametrize("name", CASES)
def test_the_texts_have_the_verdict_its_reason_and_what_was_not_looked_at(
    name: str, every: All
) -> None:
    case, kept = CASES[name], every.kept(name)
    heading = case.verdict.upper()
    texts = {
        command: every.bench.cellreap(command, kept).stdout
        for command in ("check", "show", "report")
    }
    assert texts["check"].splitlines()[-1].startswith(case.verdict)
    assert f"\n{heading}: " in texts["show"]
    assert texts["report"].splitlines()[0].endswith(f", {case.verdict}")
    page = kept.with_suffix(".html").read_text()
    badge = "good" if case.verdict is Verdict.PASS else "bad"
    assert f'<span class="verdict {badge}">{heading}</span>' in page
    for text in (texts["check"], texts["show"], every.junit[name] or case.reason):
        assert case.reason in text
    for text in (*texts.values(), every.junit[name]):
        assert all(
            f"not verified: {what}" in text.replace("Not", "not") for what in case.unverified
        )
    if case.verdict is not Verdict.PASS:
        assert every.junit[name].startswith(f"{case.verdict}: ")
        assert "PASS" not in texts["show"]
        drawn = every.bench.cellreap("graph", kept, "-o", kept.with_suffix(".dot")).stderr
        assert f": {case.verdict}" in drawn
    if case.verdict in (Verdict.NO_END, Verdict.FAIL):
        assert "Nothing crashed" not in texts["show"]


def test_without_its_image_a_trace_says_what_was_not_looked_at(every: All) -> None:
    kept = every.kept("unmet")
    image, hidden = kept.with_suffix(".img"), kept.with_suffix(".hidden")
    image.rename(hidden)
    for command in ("check", "show"):
        done = every.bench.cellreap(command, kept)
        assert done.returncode == 0
        assert "not verified: the configuration: pds, edges, depths" in done.stdout.lower()
    hidden.rename(image)


@pytest.mark.parametrize("name", ["passes", "unmet", "other"])
def test_copies_of_a_kept_trace_and_its_image_have_its_verdict(
    name: str, every: All, tmp_path: Path
) -> None:
    """Whatever the times of the files are, which a copy may change."""
    case, kept = CASES[name], every.kept(name)
    trace, image = tmp_path / "a.trace", tmp_path / "a.img"
    shutil.copy(kept, trace)
    shutil.copy(kept.with_suffix(".img"), image)
    assert str(api.check(trace).verdict) == case.verdict
    later = trace.stat().st_mtime_ns + 10**9
    os.utime(image, ns=(later, later))
    doubt = f"whether {image} was booted: it is newer than the trace"
    run = api.check(trace)
    assert (run.verdict, run.unverified) == (case.verdict, [doubt] if name == "other" else [])
    for command in ("check", "show", "report"):
        done = every.bench.cellreap(command, trace, "--json")
        assert said(json.loads(done.stdout)) == (run.verdict, tuple(run.unverified))


@pytest.mark.parametrize("content", [b"", b"no image", b"PK\x03\x04 cut"])
def test_an_image_beside_a_trace_that_is_none_is_told(
    content: bytes, every: All, tmp_path: Path
) -> None:
    trace, image = tmp_path / "a.trace", tmp_path / "a.img"
    shutil.copy(every.kept("passes"), trace)
    image.write_bytes(content)
    run = api.check(trace)
    assert run.passed
    assert run.unverified[-1].startswith(f"{image} beside the trace, which cannot be used: ")
