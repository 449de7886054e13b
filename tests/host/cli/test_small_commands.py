# SPDX-License-Identifier: BSD-2-Clause
"""`programs`, `cache` and `completion`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from cellreap.progress import Progress
from cellreap.system.cache import DONE, Key, Place, entries, prune
from cellreap.system.locks import file_lock, take
from kit.command_line import cellreap
from kit.forked import run_cellreap
from kit.paths import ROOT
from kit.small_checkout import NEEDS_TOOLCHAIN, Bench, error_of

DAY = 24 * 3600


@pytest.mark.behaviour("Y-08")
def test_the_samples_are_listed_and_described() -> None:
    listed = cellreap("programs").stdout
    for path in (ROOT / "examples").glob("*.c"):
        assert f"\n{path.stem} " in f"\n{listed}"
    (quitter,) = json.loads(cellreap("programs", "quitter", "--json").stdout)["programs"]
    assert quitter["summary"].startswith("A client that connects to its servers")
    assert "Argument 1: the number of operations" in cellreap("programs", "quitter").stdout
    done = cellreap("programs", "tester")  # a program of the tests
    assert 'no program of cellreap is named "tester"; expected one of app, ' in error_of(done)


def test_programs_says_where_headers_and_sources_are() -> None:
    """An editor needs the folders, and a newcomer the sources. A wheel has both."""
    found = [line.split(maxsplit=1) for line in cellreap("programs", "--paths").stdout.splitlines()]
    folders = [Path(path) for what, path in found if what == "headers"]
    sources = [Path(path) for what, path in found if what == "source"]
    assert all(path.is_file() for path in sources)
    for header in ("cellreap/client.h", "cellreap/protocol.h", "kernel/compat.h"):
        assert any((folder / header).is_file() for folder in folders), header
    shown = json.loads(cellreap("programs", "--json").stdout)
    assert shown["headers"] == list(map(str, folders))
    assert [each["source"] for each in shown["programs"]] == list(map(str, sources))


@pytest.mark.behaviour("Y-08")
@NEEDS_TOOLCHAIN
def test_the_cache_is_listed_and_pruned_by_age(tmp_path: Path) -> None:
    def built(entries: list[dict[str, Any]]) -> list[str]:
        """The kinds of entries, without what each command reads of the headers."""
        return sorted(each["kind"] for each in entries if each["kind"] != "headers")

    bench = Bench(tmp_path, tmp_path / "cache")
    assert bench.cellreap("build", bench.config, "-o", "a.img").returncode == 0
    shown = json.loads(bench.cellreap("cache", "--json").stdout)
    assert shown["folder"] == str(tmp_path / "cache" / "cellreap")
    kinds = sorted(entry["kind"] for entry in shown["entries"])
    all_built = ["image", *["objects"] * 4, "pds", "programs", "roottask"]
    assert built(shown["entries"]) == all_built
    assert len(kinds) > len(all_built)
    assert all(entry["bytes"] > 0 for entry in shown["entries"] if entry["kind"] != "objects")
    lines = [line.split() for line in bench.cellreap("cache").stdout.splitlines()]
    assert {words[1]: int(words[0]) for words in lines if words[1] in kinds} == Counter(kinds)
    first = (tmp_path / "a.img").read_bytes()
    old = time.time() - 10 * DAY
    for path in (tmp_path / "cache").rglob("*"):
        os.utime(path, (old, old))
    assert json.loads(bench.cellreap("cache", "--prune", "--json").stdout)["deleted"] == []
    assert bench.cellreap("build", bench.config, "-o", "a.img").returncode == 0  # uses all of it
    pruned = bench.cellreap("cache", "--prune", "--days", "9", "--json")
    assert built(json.loads(pruned.stdout)["deleted"]) == []
    gone = json.loads(bench.cellreap("cache", "--prune", "--all", "--json").stdout)["deleted"]
    assert built(gone) == all_built
    assert json.loads(bench.cellreap("cache", "--json").stdout)["entries"] == []
    assert bench.cellreap("build", bench.config, "-o", "a.img").returncode == 0
    assert (tmp_path / "a.img").read_bytes() == first


@pytest.mark.behaviour("Y-08", "K-13")
def test_what_is_used_or_built_is_not_pruned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    used, built, idle = (Place.of(Key("roottask", "v", name)) for name in ("used", "built", "idle"))
    for folder in (used.folder, built.new_part(), idle.folder):
        folder.mkdir(parents=True)
        (folder / "file").write_bytes(b"1234")
    for place in (used, idle):
        (place.folder / DONE).touch()
    locks = take(used.use_lock, shared=True), take(built.use_lock, shared=True)
    assert {entry.name for entry in entries()} == {"v/used", "v/built", "v/idle"}
    assert [entry.path for entry in prune(time.time() + DAY)] == [idle.folder]
    assert {entry.path for entry in entries()} == {used.folder, built.folder}
    for lock in locks:
        lock.release()
    assert [entry.bytes for entry in prune(time.time() + DAY)] == [4, 4]
    assert not (tmp_path / "cellreap" / "roottask" / "v").exists()


@pytest.mark.behaviour("Y-08")
def test_folders_of_earlier_versions_are_pruned_unless_they_are_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    held, done = (tmp_path / "cellreap" / "build" / name for name in ("held", "done"))
    for folder in (held, done):
        folder.mkdir(parents=True)
        (folder / DONE).touch()
    with file_lock(held.with_name("held.lock"), Progress(quiet=True)):
        assert [entry.path for entry in prune(time.time() + DAY)] == [done]
        assert [entry.path for entry in entries()] == [held]
    assert [entry.name for entry in prune(time.time() + DAY)] == ["held"]


@pytest.mark.behaviour("K-18")
def test_what_was_used_longest_ago_goes_first_when_there_is_too_much(tmp_path: Path) -> None:
    objects = tmp_path / "cellreap" / "objects"
    objects.mkdir(parents=True)
    for number, name in enumerate(("old", "middle", "new")):
        (objects / name).write_bytes(bytes(1000))
        os.utime(objects / name, (time.time() - DAY * (3 - number),) * 2)
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    pruned = run_cellreap(
        "cache", "prune", "--size", "1K", "--json", env=env, cwd=tmp_path, timeout=60
    )
    deleted = json.loads(pruned.stdout)["deleted"]
    assert [entry["name"] for entry in deleted] == ["old", "middle"]
    assert [path.name for path in objects.iterdir()] == ["new"]


def test_what_is_for_pruning_alone_is_refused_without_it() -> None:
    for option in ("--all", "--days=3", "--size=1G"):
        assert "--days, --size and --all are for prune" in error_of(cellreap("cache", option))
    assert "'much' is no size" in error_of(cellreap("cache", "prune", "--size", "much"))


@pytest.mark.behaviour("Y-02")
@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_the_shell_completes_commands_and_options(tmp_path: Path) -> None:
    script = cellreap("completion", "bash")
    assert script.returncode == 0
    program = tmp_path / "cellreap"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m cellreap "$@"\n')
    program.chmod(0o755)
    ask = (
        f"{script.stdout}\n"
        'complete_it() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=();'
        " _cellreap_completion cellreap; printf '%s\\n' \"${COMPREPLY[@]}\"; }\n"
        "complete_it cellreap pro; complete_it cellreap run --pd\n"
    )
    done = subprocess.run(
        ["bash", "-c", ask],
        capture_output=True,
        text=True,
        env={
            **os.environ,
            "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join(sys.path),
        },
        check=True,
        timeout=120,
    )
    assert done.stdout.split() == ["programs", "--pd-depth"]
    assert error_of(cellreap("completion", "tcsh"))
