# SPDX-License-Identifier: BSD-2-Clause
"""Building images: repeatable, once for all configurations, one at a time, errors in one line.

The sources built here are a root task of one function. The boot tests show that the real one
builds.
"""

from __future__ import annotations

import fcntl
import io
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cellreap.cached import cache_folder
from cellreap.errors import CellreapError, InputError
from cellreap.progress import Progress
from cellreap.system import assembling, image_cache
from cellreap.system.bounds import Bounds
from cellreap.system.build import build_image
from cellreap.system.cache import entries
from cellreap.system.config import Config, parse_config
from cellreap.system.image import Overrides, read_image
from cellreap.system.linking import link
from cellreap.system.locks import file_lock
from cellreap.system.parts import build_parts, cache_key
from cellreap.system.programs import loadable
from cellreap.system.sdk import Sdk, load_sdk
from cellreap.system.toolchain import find_toolchain, run_tool
from kit.sdk_kit import make_sdk
from kit.small_checkout import MAIN, NEEDS_TOOLCHAIN, make_checkout

CONFIG = '[system]\nname = "s"\n[[pd]]\nname = "a"\nprogram = "server"\n'
QUIET = Progress(quiet=True)

pytestmark = NEEDS_TOOLCHAIN


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small checkout, found by the code under test, and an empty cache."""
    root = tmp_path / "checkout"
    make_checkout(root)
    monkeypatch.setattr("cellreap.system.parts.source_root", lambda: root)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return root


@pytest.fixture
def sdk(tmp_path: Path) -> Sdk:
    return load_sdk(make_sdk(tmp_path / "sdk"), "x86_64")


def config(extra: str = "") -> Config:
    return parse_config(CONFIG + extra, Path("f.toml"))


@pytest.mark.behaviour("H-02")
def test_an_unchanged_build_is_used_again_and_a_changed_one_is_not(sources: Path, sdk: Sdk) -> None:
    toolchain = find_toolchain("x86_64")
    first = build_parts(sdk, toolchain, QUIET)
    assert not first.reused
    again = build_parts(sdk, toolchain, QUIET)
    assert again.reused
    assert again.folder == first.folder
    main = sources / "roottask" / "main.c"
    text = main.read_text()
    main.write_text(f"{text}\n/* changed */\n")
    changed = build_parts(sdk, toolchain, QUIET)
    assert not changed.reused
    assert changed.folder != first.folder
    main.write_text(text)
    assert build_parts(sdk, toolchain, QUIET).folder == first.folder


@pytest.mark.behaviour("H-02")
def test_the_key_is_of_sources_sdk_and_compiler(sources: Path, sdk: Sdk, tmp_path: Path) -> None:
    toolchain = find_toolchain("x86_64")
    key = cache_key(sources, sdk, toolchain)
    assert key == cache_key(sources, sdk, toolchain)
    other = load_sdk(make_sdk(tmp_path / "other", release="15.0.0"), "x86_64")
    assert cache_key(sources, other, toolchain) != key
    newer = type(toolchain)(toolchain.arch, toolchain.compiler, "gcc 99")
    assert cache_key(sources, sdk, newer) != key
    (sources / "roottask" / "empty.h").touch()
    assert cache_key(sources, sdk, toolchain) != key


def test_the_same_configuration_gives_the_same_image_also_in_another_cache(
    sources: Path, sdk: Sdk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build_image(config(), CONFIG, sdk, tmp_path / "a.img", QUIET)
    assert [entry.delete() for entry in entries() if entry.kind == "image"] == [True]
    build_image(config(), CONFIG, sdk, tmp_path / "b.img", QUIET)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))
    build_image(config(), CONFIG, sdk, tmp_path / "c.img", QUIET)
    first = (tmp_path / "a.img").read_bytes()
    assert (tmp_path / "b.img").read_bytes() == first
    assert (tmp_path / "c.img").read_bytes() == first


@pytest.mark.behaviour("H-02", "K-01", "K-12")
def test_an_image_is_used_again_and_replaced_when_what_it_is_made_of_changed(
    sources: Path, sdk: Sdk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    linked: list[None] = []

    def counted(*asked: Any) -> bytes:
        linked.append(None)
        return link(*asked)

    monkeypatch.setattr(assembling, "link", counted)

    def images() -> list[str]:
        return [entry.name for entry in entries() if entry.kind == "image"]

    def built(**how: Any) -> tuple[bytes, Bounds]:
        asked = {"config": config(), "text": CONFIG, **how}
        made = build_image(
            asked.pop("config"), asked.pop("text"), sdk, tmp_path / "a.img", QUIET, **asked
        )
        return (tmp_path / "a.img").read_bytes(), made.bounds

    first = built()
    assert built() == first
    assert len(linked) == len(images()) == 1
    folder = cache_folder() / "image" / images()[0]
    assert folder.stat().st_mode & 0o77 == 0, "others can read the secret of the trace"
    # What is asked for has an entry of its own.
    others: list[dict[str, Any]] = [
        {"text": CONFIG + "\n", "variant": "another"},
        {"overrides": Overrides(pd_depth=3)},
        {"machine_bytes": 1 << 30},
    ]
    for number, how in enumerate(others, 2):
        assert built(**how) != first
        assert len(linked) == len(images()) == number
    # What it is made of replaces the entry.
    (before,) = (name for name in images() if (cache_folder() / "image" / name) == folder)
    asked: dict[str, Any] = {}
    changed: tuple[Callable[[], object], ...] = (
        lambda: asked.update(text=CONFIG + "# edited\n"),
        lambda: (sources / "pds" / "more.h").touch(),
        lambda: monkeypatch.setenv("CELLREAP_TRACE_KEY", "12" * 16),
        lambda: monkeypatch.setattr(image_cache, "_package", lambda: "another"),
    )
    for number, change in enumerate(changed, 5):
        change()
        built(**asked)
        assert len(linked) == number
        assert len(images()) == 4
        assert before not in images()
        (before,) = (name for name in images() if name.split("/")[0] == before.split("/")[0])
    # What cannot be built leaves nothing.
    monkeypatch.setattr(assembling, "link", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        built(text=CONFIG + "\n\n")
    assert len(images()) == 4


@pytest.mark.behaviour("H-01")
def test_the_configuration_is_in_the_root_task_and_in_the_image(
    sources: Path, sdk: Sdk, tmp_path: Path
) -> None:
    from cellreap.system.blob import build_blob

    built = build_image(config(), CONFIG, sdk, tmp_path / "a.img", QUIET)
    image = read_image(tmp_path / "a.img")
    programs = loadable(built.programs, "x86_64")
    blob = build_blob(config(), programs, f"seL4 {sdk.kernel.version}", "x86_64")
    assert image.roottask.count(blob) == 1
    assert image.config == config()
    assert (image.manifest.system, image.manifest.pds) == ("s", ["a"])
    assert image.manifest.kernel.sha256 == sdk.kernel.sha256
    assert image.programs() == programs
    other = parse_config(CONFIG.replace('"server"', '"other"'), Path("f.toml"))
    with pytest.raises(InputError, match=r'roottask\.elf: has no program "other", which "a" of'):
        replace(image, config=other).programs()


def test_sources_that_do_not_build_are_told_in_a_line_with_the_log(sources: Path, sdk: Sdk) -> None:
    (sources / "roottask" / "main.c").write_text("int broken(\n")
    with pytest.raises(
        CellreapError,
        match=r"cmake failed: .*main\.c:1:\d+: error: .* \(all of it in .*build\.log\)",
    ):
        build_parts(sdk, find_toolchain("x86_64"), QUIET)


@pytest.mark.behaviour("K-08")
def test_a_build_that_fails_gives_the_lock_back(sources: Path, sdk: Sdk) -> None:
    main = sources / "roottask" / "main.c"
    main.write_text("int broken(\n")
    toolchain = find_toolchain("x86_64")
    failed: list[str] = []

    def build() -> None:
        with pytest.raises(CellreapError) as caught:
            build_parts(sdk, toolchain, QUIET)
        failed.append(str(caught.value))

    # Whoever waited for the first to fail builds and fails too. None waits forever.
    threads = [threading.Thread(target=build, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(600)
    assert len(failed) == 2
    assert all("main.c:1:" in text for text in failed)
    key = cache_key(sources, sdk, toolchain)
    locks = (Path(os.environ["XDG_CACHE_HOME"]) / "cellreap" / "roottask").glob(f"*/.{key}.*")
    found = {path.suffix: path for path in locks}
    for suffix in (".use", ".build"):
        with found[suffix].open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # BlockingIOError if it is held
    main.write_text(MAIN)
    assert not build_parts(sdk, toolchain, QUIET).reused


def test_what_cmake_refuses_is_told_with_its_reason(sources: Path, sdk: Sdk) -> None:
    lists = sources / "roottask" / "CMakeLists.txt"
    lists.write_text('project(x LANGUAGES NONE)\nmessage(FATAL_ERROR "nothing for this arch")\n')
    with pytest.raises(
        CellreapError, match=r"cmake failed: CMake Error at .* nothing for this arch"
    ):
        build_parts(sdk, find_toolchain("x86_64"), QUIET)


def test_a_build_that_failed_is_not_used_again(sources: Path, sdk: Sdk) -> None:
    toolchain = find_toolchain("x86_64")
    parts = build_parts(sdk, toolchain, QUIET)
    (parts.folder / "complete").unlink()  # as after a kill in the middle
    (parts.folder / "libcellreap_root.a").write_bytes(b"half")
    rebuilt = build_parts(sdk, toolchain, QUIET)
    assert not rebuilt.reused
    assert rebuilt.library.read_bytes() != b"half"


def test_a_program_that_was_not_built_is_told(sources: Path, sdk: Sdk, tmp_path: Path) -> None:
    text = CONFIG.replace("server", "sever")
    with pytest.raises(InputError) as caught:
        build_image(
            parse_config(text, Path("f.toml")),
            text,
            sdk,
            tmp_path / "a.img",
            QUIET,
            path=Path("f.toml"),
        )
    said = 'no program is named "sever"; did you mean "server"? expected one of server'
    assert caught.value.line() == f"f.toml:5: pd[0].program: {said}"
    assert not (tmp_path / "a.img").exists()


def test_missing_tools_are_named_with_their_package(
    sources: Path, sdk: Sdk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toolchain = find_toolchain("x86_64")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CellreapError, match="cmake is not installed: on Debian, apt install cmake"):
        build_parts(sdk, toolchain, QUIET)
    with pytest.raises(
        CellreapError, match=r"no compiler for aarch64 .* apt install gcc-aarch64-linux-gnu"
    ):
        find_toolchain("aarch64")


@pytest.mark.behaviour("K-07", "K-08", "K-09")
def test_two_at_once_build_once_and_the_second_waits(sources: Path, sdk: Sdk) -> None:
    toolchain = find_toolchain("x86_64")
    found: list[bool] = []
    threads = [
        threading.Thread(target=lambda: found.append(build_parts(sdk, toolchain, QUIET).reused))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [False, True, True]


@pytest.mark.behaviour("K-16")
def test_a_lock_goes_with_the_process_that_held_it(tmp_path: Path) -> None:
    lock = tmp_path / "locks" / "a.lock"
    code = (
        "import sys, time\nfrom pathlib import Path\n"
        "from cellreap.system.locks import file_lock\nfrom cellreap.progress import Progress\n"
        "with file_lock(Path(sys.argv[1]), Progress(quiet=True)):\n"
        "    print('held', flush=True)\n    time.sleep(600)\n"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", code, str(lock)], stdout=subprocess.PIPE, env=env
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        said = io.StringIO()
        taken: list[float] = []

        def take() -> None:
            with file_lock(lock, Progress(stream=said)):
                taken.append(time.monotonic())

        waiter = threading.Thread(target=take)
        waiter.start()
        until = time.monotonic() + 120
        while "waiting for another build" not in said.getvalue() and time.monotonic() < until:
            time.sleep(0.02)
        assert "waiting for another build" in said.getvalue()
        time.sleep(0.1)
        assert not taken
        holder.kill()
        waiter.join(120)
        assert taken


def test_a_build_is_of_the_version_and_target_that_the_compiler_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another version is another key of the cache."""
    compiler = tmp_path / "x86_64-linux-gnu-gcc"
    compiler.write_text('#!/bin/sh\n[ "$1" = --version ] && echo "made up 1.2" || echo nowhere\n')
    compiler.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert find_toolchain("x86_64").version == "made up 1.2 nowhere"


def test_a_tool_that_cannot_be_started_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(CellreapError, match=f"^{tmp_path}/tool cannot be started: No such file"):
        run_tool([str(tmp_path / "tool")], None)


@pytest.mark.behaviour("Y-01")
def test_what_the_compiler_says_of_a_program_comes_before_the_root_task_is_built(
    sources: Path, sdk: Sdk, tmp_path: Path
) -> None:
    """With an empty cache, whoever wrote the program waits for the library for PDs alone."""
    (sources / "roottask" / "main.c").write_text("int broken(\n")
    path, said = tmp_path / "f.toml", io.StringIO()
    path.with_name("own.c").write_text("int mine(\n")
    text = CONFIG.replace("server", "own") + '[[program]]\nname = "own"\nsources = ["own.c"]\n'
    with pytest.raises(InputError, match=r"own\.c:1:"):
        build_image(
            parse_config(text, path),
            text,
            sdk,
            tmp_path / "a.img",
            Progress(stream=said),
            path=path,
        )
    assert "root task" not in said.getvalue()
