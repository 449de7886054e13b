# SPDX-License-Identifier: BSD-2-Clause
"""All commands that read a trace say the same of it, and what they did not look at."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import cellreap as api
from cellreap.trace.report import Verdict
from kit.small_checkout import NEEDS_TOOLCHAIN, Bench
from kit.small_runs import trace

pytestmark = [NEEDS_TOOLCHAIN, pytest.mark.behaviour("S-02")]

UNMET = "[expect]\ncleanups = 2\n"
"""The run has one cleanup."""


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """Its cache is shared, because all tests build the same sources."""
    return Bench(tmp_path_factory.mktemp("bench"), tmp_path_factory.mktemp("cache"))


@pytest.fixture
def kept(bench: Bench) -> Iterator[Path]:
    """The trace that a run kept which was not as expected, beside its image."""
    bench.emulator(trace(bench))
    text = bench.config.read_text()
    bench.config.write_text(text + UNMET)
    folder = bench.folder / "kept"
    done = bench.cellreap("run", bench.config, "-o", folder)
    assert done.returncode == 3, done.stdout + done.stderr
    assert "NOT AS EXPECTED: 1 finding" in done.stdout
    yield folder / "small.trace"
    bench.config.write_text(text)
    shutil.rmtree(folder)


def verdicts(bench: Bench, path: Path, *, pictures: bool = True) -> set[tuple[int, str]]:
    """(exit code, verdict in JSON) of each command that reads the trace, and of Python."""
    found = set()
    page = path.with_suffix(".html")
    for command in ("check", "show", "report"):
        out = ("-o", page) if command == "report" else ()
        done = bench.cellreap(command, path, "--json", *out)
        found.add((done.returncode, json.loads(done.stdout)["verdict"]))
    if pictures:
        graph = bench.cellreap("graph", path, "-o", path.with_suffix(".dot"), "--json")
        (code,) = {code for code, _ in found}
        found.add((code, json.loads(graph.stdout)["verdict"]))
    run = api.check(path)
    assert run.passed == (run.verdict is Verdict.PASS)
    return found | {(code, str(run.verdict)) for code, _ in found}


def test_a_kept_trace_is_held_against_the_image_beside_it(bench: Bench, kept: Path) -> None:
    assert verdicts(bench, kept) == {(3, "not as expected")}
    shown = bench.cellreap("show", kept).stdout
    assert "NOT AS EXPECTED: 1 finding" in shown
    assert "PASS" not in shown
    assert "Not verified" not in shown
    page = kept.with_suffix(".html").read_text()
    assert '<span class="verdict bad">NOT AS EXPECTED</span>' in page


def test_without_its_image_a_trace_says_what_was_not_looked_at(bench: Bench, kept: Path) -> None:
    image, hidden = kept.with_suffix(".img"), kept.with_suffix(".hidden")
    image.rename(hidden)
    assert verdicts(bench, kept) == {(0, "pass")}
    for command in ("check", "show"):
        told = bench.cellreap(command, kept).stdout.lower()
        assert "not verified: the configuration: pds, edges, depths" in told
    hidden.rename(image)
    later = kept.stat().st_mtime_ns + 10**9
    os.utime(image, ns=(later, later))
    assert verdicts(bench, kept) == {(0, "pass")}
    assert f"not verified: {image}, which is newer than the trace" in (
        bench.cellreap("check", kept).stdout
    )
    assert bench.cellreap("check", kept, "--image", image).returncode == 3


def test_a_trace_that_breaks_off_is_nowhere_all_right(bench: Bench, kept: Path) -> None:
    lines = kept.read_text().splitlines(keepends=True)
    quiet = next(i for i, line in enumerate(lines) if " FAULT " in line)
    kept.with_suffix(".img").unlink()
    kept.write_text("".join(lines[:quiet]))
    assert verdicts(bench, kept, pictures=False) == {(4, "no end")}
    shown = bench.cellreap("show", kept).stdout
    assert "Nothing crashed" not in shown
    assert "NO END: right as far as it goes" in shown
    page = kept.with_suffix(".html").read_text()
    assert '<span class="verdict bad">NO END</span>' in page
    kept.write_text("".join(lines[:quiet]) + "cellreap: panic: a table is full 7\n")
    assert verdicts(bench, kept, pictures=False) == {(1, "fail")}
    shown = bench.cellreap("show", kept).stdout
    assert "the kernel or the root task stopped: cellreap: panic: a table is full 7" in shown
