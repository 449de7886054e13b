# SPDX-License-Identifier: BSD-2-Clause
"""Campaigns on several machines, on real servers of this machine.

Where cells are booted, a script is the emulator.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("taskflow", reason="campaigns need taskflow: pip install 'cellreap[campaign]'")

from cellreap.campaign import running, shared
from cellreap.campaign.address import CA, CERTIFICATE, PASSWORD, parse_address
from cellreap.campaign.connecting import connect
from cellreap.campaign.matrix import Campaign, Cell, read_campaign
from cellreap.campaign.server import CLAIM_SECONDS, LOST, Server
from cellreap.errors import UsageError
from kit.job_servers import NEEDS_OPENSSL, JobServer, param
from kit.paths import CONFIGS
from kit.small_campaigns import (
    HEAD,
    Lost,
    campaign_bench,
    campaign_of,
    identities,
    started,
    written,
)
from kit.small_checkout import NEEDS_TOOLCHAIN, Bench, error_of

TAKEN_OVER_SECONDS = 10
BOTH = pytest.mark.parametrize("server", [param("redis"), param("zookeeper")], indirect=True)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return campaign_bench(tmp_path_factory.mktemp("bench"))


@pytest.fixture(scope="module")
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[JobServer]:
    made = JobServer(request.param, tmp_path_factory.mktemp("server") / "data")
    made.start()
    yield made
    made.kill()


@contextlib.contextmanager
def connected(server: JobServer, key: str) -> Iterator[Server]:
    made = connect(parse_address(server.url), key, "test")
    try:
        yield made
    finally:
        made.close()


@pytest.mark.parametrize(
    "url", ["redis://", "mysql://a", "redis://a,b", "redis://a/x", "zookeeper://a:x", "a:1", "[::"]
)
def test_a_wrong_address_is_told(url: str) -> None:
    with pytest.raises(UsageError, match=r"expected zookeeper://HOST:PORT"):
        parse_address(url)


def test_an_address_has_hosts_path_and_a_password_that_is_not_shown() -> None:
    zookeeper = parse_address("zookeeper://a,b:99/lab")
    assert (zookeeper.hosts, zookeeper.path) == ("a:2181,b:99", "/lab")
    redis = parse_address("redis://me:secret@a/3")
    assert (redis.hosts, redis.user, redis.password) == ("a:6379", "me", "secret")
    assert redis.shown() == "redis://a:6379/3"


SECRET = "s3cret/@: word"


@pytest.mark.behaviour("T-20")
def test_what_a_wrong_secret_is_told_without_the_secret(tmp_path: Path) -> None:
    env = {PASSWORD: SECRET}
    for url, said in (
        ("zookeeper://:s3cret%2F@a", "has a password without a user"),
        ("zookeeper://me@a", f"has no password: expected {PASSWORD}"),
        ("redis://me:s3cret@a/s3cret@a:b", "expected zookeeper://"),
        ("redis://me:s3cret@[a", "expected zookeeper://"),
    ):
        with pytest.raises(UsageError, match=said) as caught:
            parse_address(url, {})
        assert "s3cret" not in str(caught.value)
    read = [parse_address(url, env) for url in ("zookeepers://me@a", "rediss://a", "redis://:x@a")]
    assert [(it.hosts, it.user, it.password) for it in read] == [
        ("a:2281", "me", SECRET),
        ("a:6379", None, SECRET),
        ("a:6379", None, "x"),
    ]
    assert [it.shown() for it in read] == [
        "zookeepers://a:2281",
        "rediss://a:6379",
        "redis://a:6379",
    ]
    assert SECRET not in repr(read)
    for name in (CA, CERTIFICATE):
        with pytest.raises(UsageError, match=f"{name}=.*expected a file|expected {CERTIFICATE}"):
            parse_address("rediss://a", {name: str(tmp_path / "none")})
    (tmp_path / "no.pem").write_text("no certificate")
    with pytest.raises(UsageError, match=r"no\.pem: cannot be used for TLS"):
        parse_address("rediss://a", {CA: str(tmp_path / "no.pem")}).check_tls()


@NEEDS_OPENSSL
@NEEDS_TOOLCHAIN
@pytest.mark.slow
@pytest.mark.behaviour("T-20")
@pytest.mark.parametrize("kind", [param("redis"), param("zookeeper")])
def test_a_server_with_tls_and_a_password_is_used_and_the_secret_is_nowhere(
    kind: str, bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = JobServer(kind, tmp_path / "server", tls=True)
    redis = ("--appendonly", "yes", "--appendfsync", "always", "--requirepass", SECRET)
    made.start(*(redis if kind == "redis" else ()))
    url = made.url if kind == "redis" else made.url.replace("//", "//me@")
    arguments = (*campaign_of(bench, 1, tmp_path), "--jobboard", url)
    told = []

    def said(status: int) -> str:
        ran = bench.cellreap(*arguments)
        told.append(ran.stdout + ran.stderr)
        assert ran.returncode == status, ran.stderr
        return ran.stderr if status else ran.stdout

    try:
        monkeypatch.setitem(bench.env, PASSWORD, SECRET)
        assert "certificate is refused" in said(2)
        monkeypatch.setitem(bench.env, CA, str(tmp_path / "server" / "ca.pem"))
        assert "1 cells: 1 pass" in said(0)
        monkeypatch.setitem(bench.env, PASSWORD, SECRET + "x")
        refused = "invalid username-password" if kind == "redis" else "refuses this user"
        assert refused in said(2)
        if kind == "redis":
            monkeypatch.delitem(bench.env, PASSWORD)
            assert "Authentication required" in said(2)
    finally:
        made.kill()
    assert SECRET not in "".join(told)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.name == "cell.trace" for path in files)
    assert [path for path in files if SECRET.encode() in path.read_bytes()] == []


@pytest.mark.behaviour("A-16", "A-17")
@pytest.mark.parametrize("kind", [param("redis")])
def test_a_redis_that_may_forget_jobs_is_refused(kind: str, tmp_path: Path) -> None:
    made = JobServer(kind, tmp_path / "server")
    try:
        for options, said in (
            (("--appendonly", "no"), "appendonly is no"),
            (("--appendonly", "yes", "--appendfsync", "everysec"), "appendfsync is everysec"),
        ):
            made.start(*options)
            with pytest.raises(UsageError, match=said):
                connect(parse_address(made.url), "c", "test")
            made.kill()
    finally:
        made.kill()


@pytest.mark.behaviour("A-16", "A-17", "T-21", "T-25")
@BOTH
def test_what_was_accepted_is_there_after_a_kill_of_the_server(server: JobServer) -> None:
    with connected(server, "kept") as one:
        one.put("data", {"a": b"1", "b": b"2"})
        one.put("data", {"a": None})
        for number in range(20):
            one.post(f"job {number}", {"cell": str(number)})
        parts = one.put_large("large", "x", bytes(range(256)) * 5000)
        server.kill()
        server.start()
        assert one.names("data") == ["b"]
        assert one.get_large("large", "x", parts) == bytes(range(256)) * 5000
        jobs = one.jobs()
        assert [job.details["cell"] for job in jobs] == [str(number) for number in range(20)]
        with connected(server, "kept") as two:
            two.who = "other"
            assert one.claim(jobs[3])
            assert not two.claim(two.jobs()[3])
            if server.kind == "redis":  # the first extension comes after a second
                redis: Any = one
                assert 0 < redis._client.pttl(jobs[3].owner_key) <= CLAIM_SECONDS * 1000
            one.assert_owned()
            one.done()
            assert len(two.jobs()) == 19


@pytest.mark.behaviour("T-21", "T-25")
@BOTH
def test_a_claim_that_is_gone_is_noticed_before_a_task_and_by_a_write(
    server: JobServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost() -> None:
        if threading.current_thread() is threading.main_thread():
            raise Lost

    with connected(server, "gone") as one, connected(server, "gone") as two:
        monkeypatch.setattr(one, "lost", lost)
        one.post("job", {"cell": "0"})
        (job,) = one.jobs()
        assert one.claim(job)
        one.put("data", {"a": b"1"})
        two.board.abandon(two.jobs()[0], one.who)
        with pytest.raises(Lost):
            one.assert_owned()
        if server.kind == "redis":  # ZooKeeper refuses what comes from a session that has ended
            with pytest.raises(Lost):
                one.put("data", {"b": b"2"})
        assert two.names("data") == ["a"]


@pytest.mark.behaviour("A-23")
def test_a_worker_without_a_job_waits_before_it_asks_again(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = read_campaign(Path(campaign_of(bench, 1, tmp_path)[1]))
    happened: list[str] = []

    class Asked:
        """A server whose only job somebody else has, and whose result comes at last."""

        def names(self, _kind: str) -> list[str]:
            happened.append("asked")
            return [campaign.cells[0].key] if happened.count("asked") == 4 else []

        def each_job(self) -> Iterator[SimpleNamespace]:
            yield SimpleNamespace(details={"cell": campaign.cells[0].key})

        def claim(self, _job: object) -> bool:
            return False

    def slept(seconds: float) -> None:
        happened.append("waited")
        assert seconds >= 0.1

    monkeypatch.setattr(time, "sleep", slept)
    server: Any = Asked()
    shared._Worker(campaign, server, tmp_path).run()
    assert happened == ["asked", "waited"] * 3 + ["asked"]


# -- with a script as the emulator

HELD = "echo >> {0}/n; [ $(wc -l < {0}/n) -gt 1 ] || until [ -e {0}/go ]; do sleep 0.1; done\n"
"""The first boot says nothing until there is a file `go`."""


@pytest.fixture
def holding(bench: Bench, tmp_path: Path) -> Iterator[Path]:
    """Makes the emulator hold the first boot. The file has a line for each boot."""
    path = bench.folder / "bin" / "qemu-system-x86_64"
    before = path.read_text()
    path.write_text(before.replace("#!/bin/sh\n", "#!/bin/sh\n" + HELD.format(tmp_path)))
    yield tmp_path / "n"
    path.write_text(before)


def workers_of(pid: int) -> list[int]:
    """The processes that a process has started."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def has_ended(pid: int) -> bool:
    """Whether a process is gone, or its parent need only ask."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def until(true: Callable[[], bool], running: subprocess.Popen[str], seconds: float = 60) -> None:
    limit = time.monotonic() + seconds
    while not true():
        assert running.poll() is None, running.communicate()
        assert time.monotonic() < limit
        time.sleep(0.02)


CELLS = 3


def keys_of(bench: Bench, campaign: str) -> dict[str, str]:
    """The keys of the cells by their ids."""
    return {name: key for name, (_, key) in identities(bench, campaign).items()}


@NEEDS_TOOLCHAIN
@pytest.mark.slow
@pytest.mark.behaviour("A-18", "A-21", "A-23", "T-21", "T-23", "T-24", "T-25")
@pytest.mark.parametrize(
    ("server", "how"),
    [
        param("redis", "paused"),
        param("zookeeper", "killed"),
        param("redis", "killed", thorough=True),
        param("zookeeper", "paused", thorough=True),
    ],
    indirect=["server"],
)
def test_a_worker_that_is_gone_is_replaced_and_its_cell_goes_on(
    how: str, server: JobServer, bench: Bench, holding: Path, tmp_path: Path
) -> None:
    """paused: it comes back when another one has its cell, and must not write a word."""
    head = HEAD.replace('"c"', f'"{how}"').replace("idle = 1", "idle = 60")
    arguments = campaign_of(bench, CELLS, tmp_path, head)
    key = shared.key_of(read_campaign(Path(arguments[1])))
    board = ("--jobboard", server.url, "-j", "1", "--json")
    first = started(bench, *arguments, *board)
    until(holding.exists, first)
    with connected(server, key) as client:
        (held,) = [job for job in client.jobs() if client.owner(job)]
        cell = held.details["cell"]
        image = [name for name in client.names(f"files.{cell}") if name.startswith("image")]
        assert image
        second = started(bench, *arguments[:3], str(tmp_path / "other"), *board)
        until(lambda: len(client.names("results")) == CELLS - 1, second)
        gone = [first.pid, *workers_of(first.pid)]
        number = signal.SIGKILL if how == "killed" else signal.SIGSTOP
        for pid in gone[:1] if how == "killed" else gone:
            os.kill(pid, number)
        began = time.monotonic()
        until(lambda: len(client.names(f"boots.{cell}")) == 2, second, TAKEN_OVER_SECONDS)
        assert time.monotonic() - began < TAKEN_OVER_SECONDS
        out, error = second.communicate(timeout=60)
        assert second.returncode == 0, error
        shown = json.loads(out)
        assert [each["verdict"] for each in shown["cells"]] == ["pass"] * CELLS
        assert all(
            (tmp_path / "other" / each["id"] / "cell.trace").exists() for each in shown["cells"]
        )
        result = client.get("results", cell)
        flow = {name: client.get(f"flow.{cell}", name) for name in client.names(f"flow.{cell}")}
        built = [json.loads(raw or b"{}") for raw in flow.values()]
        tokens = [
            at["atom"]["results"] for at in built if at.get("atom", {}).get("name") == "build"
        ]
        assert [f"{token[0]}.0" for token in tokens] == image, "it was built again"
        if how == "paused":
            (tmp_path / "go").touch()
            os.kill(gone[1], signal.SIGCONT)
            until(lambda: has_ended(gone[1]), first)
            assert client.get("results", cell) == result
            assert {name: client.get(f"flow.{cell}", name) for name in flow} == flow
            os.kill(gone[0], signal.SIGCONT)
            out, error = first.communicate(timeout=60)
            assert first.returncode == 0, error
            assert json.loads(out)["cells"] == shown["cells"]
        else:
            first.communicate()
        assert client.get("results", cell) == result
        assert {name: client.get(f"flow.{cell}", name) for name in flow} == flow
        keys = keys_of(bench, arguments[1])
        counted = [len(client.names(f"boots.{keys[each['id']]}")) for each in shown["cells"]]
        assert sorted(counted) == [1] * (CELLS - 1) + [2]
        assert client.jobs() == []
    watched = bench.cellreap(*arguments, "--watch", "--jobboard", server.url).stdout.splitlines()
    assert len(watched) == CELLS + 1
    assert watched[-1] == f"the campaign is done: {CELLS} of {CELLS} results"


@NEEDS_TOOLCHAIN
@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.behaviour("A-20", "T-14")
@BOTH
def test_the_only_worker_goes_on_when_it_is_back_and_so_does_the_server(
    server: JobServer, bench: Bench, holding: Path, tmp_path: Path
) -> None:
    head = HEAD.replace('"c"', '"alone"').replace("idle = 1", "idle = 60")
    arguments = (*campaign_of(bench, 2, tmp_path, head), "--jobboard", server.url, "-j", "1")
    running = started(bench, *arguments)
    until(holding.exists, running)
    running.kill()
    running.communicate()
    again = started(bench, *arguments, "--json")
    with connected(server, shared.key_of(read_campaign(Path(arguments[1])))) as client:
        until(lambda: len(client.names("results")) >= 1, again)
        server.kill()
        time.sleep(1)
        server.start()
        out, error = again.communicate(timeout=60)
        assert again.returncode == 0, error
        assert [each["verdict"] for each in json.loads(out)["cells"]] == ["pass"] * 2
        assert client.jobs() == []


def test_a_server_that_is_not_there_is_told(bench: Bench, tmp_path: Path) -> None:
    arguments = campaign_of(bench, 1, tmp_path)
    done = bench.cellreap(*arguments, "--jobboard", "http://a")
    assert "--jobboard http://a: expected zookeeper://HOST:PORT" in error_of(done)


CHANGED = """
import errno, os, pkgutil, signal, sys, time
from cellreap.cli.main import main
from cellreap.errors import CellreapError

owner, _, name = sys.argv.pop(1).rpartition(".")
how = sys.argv.pop(1)
real = getattr(pkgutil.resolve_name(owner), name)

def changed(*args, **more):
    if how == "full":
        try:
            raise OSError(errno.ENOSPC, "full")
        except OSError as error:
            raise CellreapError("it cannot be written") from error
    if how == "late":
        time.sleep(1)
    found = real(*args, **more)
    if how == "interrupted":
        os.killpg(0, signal.SIGINT)
    return found

setattr(pkgutil.resolve_name(owner), name, changed)
signal.signal(signal.SIGINT, signal.default_int_handler)
main()
"""


def changed(
    bench: Bench, name: str, how: str, *arguments: str, to_end: bool = True
) -> subprocess.Popen[str]:
    """Runs a command in which a function finds the disk full, or after which Ctrl-C is typed."""
    made = subprocess.Popen(
        [sys.executable, "-c", CHANGED, name, how, *arguments],
        env=bench.env,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    if to_end:
        made.wait(60)
    return made


@NEEDS_TOOLCHAIN
@pytest.mark.slow
@pytest.mark.behaviour("A-18")
@pytest.mark.parametrize(
    "server", [param("redis"), param("zookeeper", thorough=True)], indirect=True
)
def test_a_campaign_does_not_end_before_its_last_job_is_off_the_board(
    server: JobServer, bench: Bench, tmp_path: Path
) -> None:
    head = HEAD.replace('"c"', '"late"')
    arguments = (*campaign_of(bench, 1, tmp_path, head), "--jobboard", server.url, "-j", "1")
    ended = changed(bench, "cellreap.campaign.server.Server.done", "late", *arguments)
    assert ended.returncode == 0, ended.communicate()
    with connected(server, shared.key_of(read_campaign(Path(arguments[1])))) as client:
        assert len(client.names("results")) == 1
        assert client.jobs() == []


@NEEDS_TOOLCHAIN
@pytest.mark.slow
@pytest.mark.behaviour("S-04")
@BOTH
def test_a_board_keeps_apart_what_is_made_from_something_else(
    server: JobServer, bench: Bench, tmp_path: Path
) -> None:
    head = HEAD.replace('"c"', '"apart"')
    arguments = campaign_of(bench, 1, tmp_path, head)
    board = ("--jobboard", server.url, "-j", "1")
    log, emulator = tmp_path / "n", bench.folder / "bin" / "qemu-system-x86_64"
    source = bench.folder / "checkout" / "examples" / "server.c"
    before = source.read_text(), emulator.read_text()

    def ran(folder: str, *how: str) -> tuple[dict[str, Any], int, str]:
        """The cell, how many boots there were for it, and what was said."""
        begin = log.read_text().count("\n") if log.exists() else 0
        out = (*arguments[:3], str(tmp_path / folder), *board, *how, "--json")
        ended = bench.cellreap(*out)
        (cell,) = json.loads(ended.stdout)["cells"]
        return cell, log.read_text().count("\n") - begin, ended.stderr

    try:
        emulator.write_text(before[1].replace("#!/bin/sh\n", f"#!/bin/sh\necho >> {log}\n"))
        assert ran("one")[:2][1] == 1
        assert ran("two")[1] == 0
        source.write_text(f"{before[0]}#error no more\n")
        cell, count, said = ran("one")
        assert (cell["verdict"], count) == ("error", 0)
        assert "#error no more" in cell["findings"][0]
        assert "1 cells made from other sources, kernels or tools than here" in said
        assert not (tmp_path / "one" / cell["id"] / "cell.trace").exists(), "it is another cell's"
        told = bench.cellreap(*arguments, *board, "--tasks", "--json")
        (tasks,) = json.loads(told.stdout)["tasks"]
        assert tasks["verdict"] == "error"
        assert [each["state"] for each in tasks["tasks"]][2:] == ["PENDING"] * 3
        source.write_text(before[0])
        assert ran("two")[1] == 0
        assert ran("two", "--again")[1] == 1
        assert ran("three")[1] == 0
        with connected(server, shared.key_of(read_campaign(Path(arguments[1])))) as client:
            client.post("job", {"cell": "of somebody"})
            (job,) = client.jobs()
            assert client.claim(job)
            refused = bench.cellreap(*arguments, *board, "--clear")
            assert "test (HOST-PID-...) runs one of its cells" in error_of(refused)
            client.done()
            campaigns = client.campaigns()
        cleared = bench.cellreap(*arguments, *board, "--clear")
        assert cleared.stdout.startswith("1 results deleted from"), cleared.stderr
        with connected(server, "another") as client:
            gone = set(campaigns) - set(client.campaigns())
            assert [name.rpartition("-")[0] for name in gone] == ["apart"]
        assert ran("four")[1] == 1
    finally:
        source.write_text(before[0])
        emulator.write_text(before[1])


def error_line(ended: subprocess.Popen[str]) -> str:
    """The one line that says why it ended, after those of progress."""
    said = ended.communicate()[1]
    assert "Traceback" not in said, said
    return said.splitlines()[-1]


@NEEDS_TOOLCHAIN
@pytest.mark.slow
@pytest.mark.behaviour("T-24", "T-29", "X-26")
@pytest.mark.parametrize(
    "server", [param("redis"), param("zookeeper", thorough=True)], indirect=True
)
def test_a_full_disk_and_ctrl_c_are_no_results_and_the_claim_is_given_back(
    server: JobServer, bench: Bench, holding: Path, tmp_path: Path, thorough: bool
) -> None:
    """Each command goes on where the one before it was ended."""
    head = HEAD.replace('"c"', '"ended"').replace("idle = 1", "idle = 60")
    arguments = (*campaign_of(bench, 1, tmp_path, head), "--jobboard", server.url, "-j", "1")
    backend = f"taskflow.jobs.backends.impl_{server.kind}.{server.kind.title()}JobBoard"
    flow, board = "cellreap.campaign.flow", "cellreap.campaign.shared"
    with connected(server, shared.key_of(read_campaign(Path(arguments[1])))) as client:

        def free() -> bool:
            return [client.owner(job) for job in client.jobs()] == [None]

        for name in (
            f"{board}._Machine._post_missing",
            f"{backend}.claim",
            f"{flow}.kernel_for",
            f"{flow}.build_system",
            "held",
            f"{flow}.record_image",
            f"{flow}.checked_run",
            f"{board}._Worker._publish",
        ):
            if not thorough and name not in ("held", f"{backend}.claim", f"{flow}.checked_run"):
                continue
            if name == "held":
                ended = changed(bench, f"{flow}.kernel_for", "held", *arguments, to_end=False)
                until(holding.exists, ended)
                os.killpg(ended.pid, signal.SIGINT)
                ended.wait(60)
            else:
                ended = changed(bench, name, "interrupted", *arguments)
            assert error_line(ended) == "cellreap: interrupted", name
            assert ended.returncode == 130
            assert free(), name
            assert programs_with(str(tmp_path)) == [], name
            assert len(client.names("results")) == name.endswith("_publish")
            if name == f"{flow}.checked_run":
                ended = changed(bench, f"{flow}.checked_run", "full", *arguments)
                assert "the disk is full; what is done is kept" in error_line(ended)
                assert free()
        (cell,) = json.loads(bench.cellreap(*arguments, "--json").stdout)["cells"]
        assert cell["verdict"] == "pass"
        keys = keys_of(bench, arguments[1])
        # The boot that was held, the one that was thrown away when it had ended, and the last.
        assert len(client.names(f"boots.{keys[cell['id']]}")) == (3 if thorough else 2)


def programs_with(word: str) -> list[str]:
    """The commands that run now and have a word."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found.append(path.read_text())
    return [command for command in found if word in command]


# -- queues: what is booted does not matter here


WORKERS = 3


def board_cells(tmp_path: Path) -> Campaign:
    """Three cells for each of two boards, and three without."""
    (tmp_path / "a.toml").write_text((CONFIGS / "block_fs_db_app.toml").read_text())
    matrix = 'config = ["a.toml"]\npd_depth = [0, 1, 2]\n'
    read = read_campaign(written(tmp_path, matrix))
    boards = ("x.toml", "y/z.toml", None)
    return replace(read, cells=tuple(replace(c, board=b) for b in boards for c in read.cells))


def queue_test(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    run: Callable[[Campaign, bool], running.Standing],
) -> None:
    """The first job of x.toml fails. It stops that queue only, until --resume.

    As many workers as were asked for have a cell at once, and never more.
    """
    log = tmp_path / "log"
    campaign = board_cells(tmp_path)
    cells = {cell.id: cell for cell in campaign.cells}
    names = {cell.key: cell.id for cell in campaign.cells}

    def boot(cell: Cell, *_: Any) -> None:
        with log.open("a") as file:
            file.write(f"begin {cell.id}\n")
        limit = time.monotonic() + 10
        while log.read_text().count("begin") < WORKERS and time.monotonic() < limit:
            time.sleep(0.02)  # for the other workers
        time.sleep(0.1)
        with log.open("a") as file:
            file.write(f"end {cell.id}\n")

    def result(cell: str) -> dict[str, Any] | None:
        if not log.exists() or f"end {cell}\n" not in log.read_text():
            return None
        bad = cells[cell].board == "x.toml" and cells[cell].pd_depth == 0
        return {"verdict": "error" if bad else "pass", "findings": [], "boots": 1, "trace": None}

    monkeypatch.setattr(running, "run_cell", boot)
    monkeypatch.setattr(running, "result_of", lambda folder: result(folder.name))
    monkeypatch.setattr(shared, "run_flow", boot)
    monkeypatch.setattr(
        shared, "result_in", lambda backend, _: result(names[backend.folder.removeprefix("flow.")])
    )
    first = run(campaign, False)
    assert [(cell.board, cell.pd_depth) for cell in first.not_run()] == [
        ("x.toml", 1),
        ("x.toml", 2),
    ]
    second = run(campaign, True)
    assert second.not_run() == []
    assert [it.verdict for it in second.in_order()].count("pass") == 8
    lines = log.read_text().split()
    changes = [{"begin": 1, "end": -1}[word] for word in lines[::2]]
    assert max(accumulate(changes)) == WORKERS
    for board in ("x.toml", "y/z.toml"):
        told = [name for name in lines if name in cells and cells[name].board == board]
        wanted = [cell.id for cell in campaign.cells if cell.board == board]
        assert told == [name for name in wanted for _ in range(2)], "not one after the other"


@pytest.mark.slow
@pytest.mark.behaviour("A-22", "H-11", "T-22", "A-02")
@BOTH
def test_the_queue_of_a_board_is_in_order_and_stops_alone(
    server: JobServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first worker ends as one does that has lost its claim. Another one comes in its place."""
    real = shared._work

    def work(*arguments: Any) -> None:
        with contextlib.suppress(FileExistsError):
            (tmp_path / "lost").mkdir()
            sys.exit(LOST)
        real(*arguments)

    monkeypatch.setattr(shared, "_work", work)

    def run(campaign: Campaign, resume: bool) -> running.Standing:
        return shared.run_shared(
            campaign,
            tmp_path / "out",
            WORKERS,
            parse_address(server.url),
            resume=resume,
            on_result=lambda *_: None,
        )

    queue_test(tmp_path, monkeypatch, run)


@pytest.mark.behaviour("A-22", "H-11", "T-22", "A-02")
def test_on_one_machine_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(campaign: Campaign, resume: bool) -> running.Standing:
        return running.run_campaign(
            campaign, tmp_path / "out", WORKERS, resume=resume, on_result=lambda *_: None
        )

    queue_test(tmp_path, monkeypatch, run)
