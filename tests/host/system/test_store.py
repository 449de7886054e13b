# SPDX-License-Identifier: BSD-2-Clause
"""Folders of the cache: who uses, builds and removes them, in threads and processes."""

from __future__ import annotations

import multiprocessing
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cellreap.cached import cache_folder
from cellreap.errors import CellreapError, UsageError
from cellreap.progress import Progress
from cellreap.system.cache import Key, Place, entries, prune, size_limit
from cellreap.system.locks import take, take_at_once
from cellreap.system.store import Use, use

QUIET = Progress(quiet=True)
OLD, NEW = Key("image", "1", "old"), Key("image", "1", "new")
PROCESSES = 8
LONG = 120
"""Seconds after which processes are waited for no longer."""


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def filled(text: str = "made", then: Callable[[], object] = lambda: None) -> Callable[[Path], str]:
    """Builds a folder with one file. then: called at the end of the build."""

    def make(folder: Path) -> str:
        (folder / "file").write_text(text)
        then()
        return "note"

    return make


def never(folder: Path) -> str:
    raise AssertionError("it is built again")


def text_of(found: Use) -> str:
    return (found.folder / "file").read_text()


@pytest.mark.behaviour("K-01", "K-02", "K-03")
def test_an_entry_lies_under_name_version_and_id_and_stays() -> None:
    with use(OLD, filled(), QUIET) as found:
        assert found.folder == cache_folder() / "image" / "1" / "old"
        assert not found.reused
    assert [(entry.kind, entry.name, entry.bytes) for entry in entries()] == [
        ("image", "1/old", len("made") + len("note"))
    ]
    with use(OLD, never, QUIET) as again:
        assert again.reused
        assert text_of(again) == "made"


@pytest.mark.behaviour("K-04", "K-06", "K-13")
def test_users_share_an_entry_and_the_last_one_lets_it_go() -> None:
    first, second = use(OLD, filled(), QUIET), use(OLD, never, QUIET)
    place = Place.of(OLD)
    assert not place.remove()
    first.close()
    assert not place.remove()
    second.close()
    assert place.remove()
    assert not place.folder.exists()


@pytest.mark.behaviour("K-06")
def test_a_use_ends_with_its_object() -> None:
    found: Use | None = use(OLD, filled(), QUIET)
    assert found is not None
    assert not Place.of(OLD).remove()
    found = None
    assert Place.of(OLD).remove()


def _hold(folder: str, ready: str) -> None:
    os.environ["XDG_CACHE_HOME"] = folder
    with use(OLD, never, QUIET):
        Path(ready).touch()
        time.sleep(600)


@pytest.mark.behaviour("K-05", "K-13", "K-16")
def test_a_process_keeps_an_entry_until_it_is_killed(tmp_path: Path) -> None:
    use(OLD, filled(), QUIET).close()
    ready = tmp_path / "ready"
    context = multiprocessing.get_context("fork")
    holder = context.Process(target=_hold, args=(str(tmp_path), str(ready)))
    holder.start()
    try:
        while not ready.exists():
            assert holder.is_alive()
            time.sleep(0.01)
        assert prune(time.time() + 1) == []
    finally:
        holder.kill()
        holder.join()
    assert [entry.path for entry in prune(time.time() + 1)] == [Place.of(OLD).folder]


def _killed_in_its_build(folder: str) -> None:
    os.environ["XDG_CACHE_HOME"] = folder
    use(OLD, filled("half", lambda: os.kill(os.getpid(), 9)), QUIET)


@pytest.mark.behaviour("K-16")
def test_a_builder_that_is_killed_leaves_nothing_locked_and_nothing_half_built(
    tmp_path: Path,
) -> None:
    builder = multiprocessing.get_context("fork").Process(
        target=_killed_in_its_build, args=(str(tmp_path),)
    )
    builder.start()
    builder.join()
    assert builder.exitcode == -9
    place = Place.of(OLD)
    (part,) = place.parts()
    assert (part / "file").read_text() == "half"
    assert not place.folder.exists()
    with use(OLD, filled(), QUIET) as found:
        assert text_of(found) == "made"
        assert place.parts() == []


@pytest.mark.behaviour("K-08")
def test_a_build_that_fails_is_told_and_tried_again_by_the_next() -> None:
    def broken(folder: Path) -> str:
        raise CellreapError("does not build")

    with pytest.raises(CellreapError, match="does not build"):
        use(OLD, broken, QUIET)
    with use(OLD, filled(), QUIET) as found:
        assert text_of(found) == "made"


@pytest.mark.behaviour("K-07", "K-09")
def test_who_comes_second_waits_and_uses_what_the_first_made() -> None:
    second: list[Use] = []
    waiter = threading.Thread(target=lambda: second.append(use(OLD, never, QUIET)), daemon=True)

    def while_building() -> None:
        waiter.start()
        while not _waits_for(Place.of(OLD).use_lock):
            assert waiter.is_alive()
            time.sleep(0.01)
        assert not second

    first = use(OLD, filled(then=while_building), QUIET)
    waiter.join()
    assert (first.reused, second[0].reused) == (False, True)


def _waits_for(lock: Path) -> bool:
    """Whether two descriptors of this process have the file of a lock open."""
    links = Path("/proc/self/fd").iterdir()
    return sum(os.path.realpath(link) == os.path.realpath(lock) for link in links) == 2


@pytest.mark.behaviour("K-10", "K-12", "K-17")
def test_another_id_built_meanwhile_removes_nothing_in_use() -> None:
    """While the old id is being built, and again while it is used, others build the new one."""
    newer: list[Use] = []
    first = use(OLD, filled("old", lambda: newer.append(use(NEW, filled("new"), QUIET))), QUIET)
    # Both made an entry and found the other in use. Nobody waited, and both are whole.
    assert (text_of(first), text_of(newer[0])) == ("old", "new")
    first.close()
    with use(OLD, never, QUIET) as again:
        assert text_of(again) == "old"


@pytest.mark.behaviour("K-12")
def test_who_builds_removes_the_other_ids_that_nobody_uses() -> None:
    apart = Key("image", "2", "old")
    for key in (OLD, apart):
        use(key, filled(), QUIET).close()
    with pytest.raises(CellreapError, match="no more"):
        use(Key("image", "1", "broken"), _broken, QUIET)
    use(NEW, filled(), QUIET).close()
    assert {entry.name for entry in entries()} == {"1/new", "2/old"}
    assert sorted(path.name for path in (cache_folder() / "image" / "1").iterdir()) == [
        ".new.build",
        ".new.use",
        "new",
    ]


def _broken(folder: Path) -> str:
    (folder / "file").touch()
    raise CellreapError("no more")


@pytest.mark.behaviour("K-14")
def test_several_versions_are_in_use_at_once() -> None:
    keys = [Key("image", version, "id") for version in "123"]
    held = [use(key, filled(key.version), QUIET) for key in keys]
    assert prune(time.time() + 1) == []
    assert [text_of(each) for each in held] == ["1", "2", "3"]


@pytest.mark.behaviour("K-15")
def test_what_is_replaced_while_in_use_stays_usable() -> None:
    """The source goes, comes back changed, with another version and without, and goes again."""
    held = use(OLD, filled("old"), QUIET)
    use(NEW, filled("new"), QUIET).close()
    use(Key("image", "2", "new"), filled("newer"), QUIET).close()
    assert text_of(held) == "old"
    assert {entry.path for entry in prune(time.time() + 1)} == {
        Place.of(NEW).folder,
        cache_folder() / "image" / "2" / "new",
    }
    use(NEW, filled("new again"), QUIET).close()
    assert text_of(held) == "old"
    held.close()
    # The old one is out of date only now for who builds next.
    assert Place.of(NEW).remove()
    use(NEW, filled("last"), QUIET).close()
    assert [entry.name for entry in entries()] == ["1/new"]


@pytest.mark.behaviour("K-11")
def test_two_users_of_an_entry_that_is_gone_do_not_wait_for_each_other() -> None:
    """Both have the use lock, and one builds under it without having it alone."""
    place = Place.of(OLD)
    other = take(place.use_lock, shared=True)
    with use(OLD, filled(), QUIET) as found:
        assert text_of(found) == "made"
        assert take_at_once(place.use_lock) is None
    other.release()


@pytest.mark.behaviour("K-10")
def test_a_lock_of_a_file_that_was_deleted_meanwhile_is_taken_again(tmp_path: Path) -> None:
    path = tmp_path / "a" / "lock"
    remover = take(path)
    waits = threading.Event()
    taken = []

    def wait() -> None:
        taken.append(take(path, shared=True, on_wait=waits.set))

    waiter = threading.Thread(target=wait)
    waiter.start()
    assert waits.wait(600)
    path.unlink()
    path.parent.rmdir()
    remover.release()
    waiter.join()
    assert take_at_once(path) is None, "the waiter has a lock that others see"
    taken[0].release()


@pytest.mark.behaviour("K-18")
def test_a_build_keeps_the_cache_to_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CELLREAP_CACHE_SIZE", "25K")
    for number in range(4):
        use(Key("image", str(number), "id"), filled("x" * 10000), QUIET).close()
        os.utime(cache_folder() / "image" / str(number) / "id" / "complete", (number, number))
        if number == 2:
            assert len(entries()) == 3, "each build has looked at all of the cache"
            os.utime(cache_folder() / ".looked", (0, 0))  # a minute has gone by, and more
    assert [entry.name for entry in entries()] == ["2/id", "3/id"]


@pytest.mark.parametrize("text", ["", "much", "-1", "1T"])
def test_a_size_that_is_none_is_refused(text: str) -> None:
    if not text:
        assert size_limit({}) == 10 << 30
        return
    with pytest.raises(UsageError, match=f"CELLREAP_CACHE_SIZE={text}: expected a size"):
        size_limit({"CELLREAP_CACHE_SIZE": text})


@pytest.mark.parametrize("times", [1, 2])
def test_a_folder_that_another_deletes_while_it_is_made_is_made_again(
    times: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`mkdir` finds a folder there, looks at it, and then it is gone."""
    mkdir, left = Path.mkdir, [FileExistsError(17, "File exists")] * times

    def make(
        folder: Path, mode: int = 0o777, parents: bool = False, exist_ok: bool = False
    ) -> None:
        if left:
            raise left.pop()
        mkdir(folder, mode, parents, exist_ok)

    monkeypatch.setattr(Path, "mkdir", make)
    take(tmp_path / "new" / ".lock").release()
    assert not left


@pytest.mark.parametrize("kind", ["file", "link"])
def test_what_is_no_folder_for_locks_is_named(kind: str, tmp_path: Path) -> None:
    place = tmp_path / "place"
    if kind == "file":
        place.write_text("")
    else:
        place.symlink_to("nowhere")
    with pytest.raises(
        CellreapError, match=r"place/\.lock: cannot be used as a cache: File exists"
    ):
        take(place / ".lock")


@pytest.mark.slow
@pytest.mark.behaviour("K-05", "K-07", "K-10", "K-12", "K-13", "K-16")
def test_processes_that_are_killed_at_random_harm_no_other(tmp_path: Path, thorough: bool) -> None:
    """No two build an id at once, none uses what is half built or removed, and none waits for
    ever.
    """
    used, built = tmp_path / "used", tmp_path / "built"
    chance = random.Random(20)
    begun = time.monotonic()

    def is_enough() -> bool:
        """Processes begin late on a machine that has much else to do."""
        past = time.monotonic() - begun
        who = {line.split()[0] for line in _lines(used)}
        return past >= (60 if thorough else 4) and (len(who) > PROCESSES or past >= LONG)

    crowd = [_crowd(tmp_path, number) for number in range(PROCESSES)]
    started = PROCESSES
    while not is_enough():
        time.sleep(chance.random() * 0.4)
        victim = chance.randrange(PROCESSES)
        crowd[victim].kill()
        crowd[victim].wait()
        crowd[victim] = _crowd(tmp_path, started)
        started += 1
    (tmp_path / "stop").touch()
    for process in crowd:
        assert process.wait(120) == 0, "it waits for a lock that nobody gives back"
    wrong = tmp_path / "wrong"
    assert not wrong.exists(), wrong.read_text()[:4000]
    assert len({line.split()[0] for line in _lines(used)}) > PROCESSES / 2, "they came to nothing"
    assert {line.split()[1] for line in _lines(built)} == {f"{v}{i}" for v in "vw" for i in "abc"}


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def _crowd(folder: Path, seed: int) -> subprocess.Popen[bytes]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "kit.cache_crowd", str(folder), str(seed)]
    return subprocess.Popen(command, env=env)


RUNS_ON = """
import os, sys, time
from pathlib import Path
from cellreap.progress import Progress
from cellreap.system.cache import Key
from cellreap.system.store import use
from cellreap.system.toolchain import run_tool

def make(folder):
    go, began, file = sys.argv[1], f"{folder}/began", f"{folder}/file"
    wait = f"touch {began}; while [ ! -e {go} ]; do sleep 0.01; done"
    run_tool(["/bin/sh", "-c", f"{wait}; (echo half > {file}) 2>/dev/null; touch {go}.ended"], None)
    return "note"

use(Key("image", "1", "old"), make, Progress(quiet=True))
"""


@pytest.mark.behaviour("S-04", "K-16")
def test_the_compiler_of_a_killed_builder_does_not_write_into_what_the_next_one_builds(
    tmp_path: Path,
) -> None:
    go, place = tmp_path / "go", Place.of(OLD)
    builder = subprocess.Popen([sys.executable, "-c", RUNS_ON, str(go)])
    try:
        until = time.monotonic() + LONG
        while not any((part / "began").exists() for part in place.parts()):
            assert builder.poll() is None
            assert time.monotonic() < until
            time.sleep(0.01)
    finally:
        builder.kill()
        builder.wait()

    def meanwhile() -> None:
        go.touch()
        until = time.monotonic() + LONG
        while not go.with_name("go.ended").exists():
            assert time.monotonic() < until
            time.sleep(0.01)

    with use(OLD, filled(then=meanwhile), QUIET) as found:
        assert text_of(found) == "made"
        assert place.parts() == []
