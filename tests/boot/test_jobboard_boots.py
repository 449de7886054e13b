# SPDX-License-Identifier: BSD-2-Clause
"""Campaigns that boot refkernel on two machines, which share a server: a machine is killed, a
worker, and the server.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("taskflow", reason="campaigns need taskflow: pip install 'cellreap[campaign]'")

from cellreap.campaign.address import parse_address
from cellreap.campaign.connecting import connect
from cellreap.campaign.matrix import read_campaign
from cellreap.campaign.server import Server
from cellreap.campaign.shared import key_of
from kit.job_servers import JobServer, param
from kit.paths import CONFIGS, ROOT

CAMPAIGN = """\
[campaign]
name = "two"
[matrix]
config = ["{}"]
kernel = ["refkernel"]
pd_depth = [0, 1, "inf"]
rs_depth = [0, "inf"]
crash = ["block_server_1", "fs"]
inject = ["none", "step:1:fault"]
"""
CELLS = 24
AWAY_SECONDS = 2


def started(file: Path, folder: Path, url: str) -> subprocess.Popen[str]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "CELLREAP_HOME": str(ROOT)}
    command = [sys.executable, "-m", "cellreap", "campaign", str(file), "-o", str(folder)]
    return subprocess.Popen(
        [*command, "--jobboard", url, "-j", "1", "--json"],
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.behaviour("A-18", "A-21", "T-24")
@pytest.mark.parametrize("kind", [param("redis"), param("zookeeper")])
def test_a_machine_and_the_server_are_killed_and_no_result_is_lost_or_made_twice(
    kind: str, tmp_path: Path
) -> None:
    file = tmp_path / "two.toml"
    file.write_text(CAMPAIGN.format(CONFIGS / "block_fs_db_app.toml"))
    campaign = read_campaign(file)
    server = JobServer(kind, tmp_path / "server")
    server.start()
    try:
        machines = [started(file, tmp_path / name, server.url) for name in ("a", "b")]
        client = connect(parse_address(server.url), key_of(campaign), "test")

        def boots() -> dict[str, int]:
            return {
                cell.id: len(client.names(f"boots.{cell.id}"))
                for cell in campaign.cells
                if cell.id in results
            }

        def wait_for(count: int) -> None:
            while len(client.names("results")) < count:
                assert all(machine.poll() is None for machine in machines)
                time.sleep(0.05)

        wait_for(CELLS // 3)
        results = set(client.names("results"))
        ended = boots()
        machines[0].kill()
        machines.pop(0).communicate()
        machines.append(started(file, tmp_path / "c", server.url))
        wait_for(2 * CELLS // 3)
        server.kill()
        time.sleep(AWAY_SECONDS)
        server.start()
        for machine in machines:
            out, error = machine.communicate()
            assert machine.returncode == 0, error
            assert [cell["verdict"] for cell in json.loads(out)["cells"]] == ["pass"] * CELLS
        assert {name: boots()[name] for name in ended} == ended, "one was run again"
        results = set(client.names("results"))
        counted = boots()
        assert len(counted) == CELLS
        # The machine that was killed was in one boot; the server's end may have cost two claims.
        assert sum(counted.values()) <= CELLS + 3, counted
        assert client.jobs() == []
        client.close()
    finally:
        server.kill()


DEPTHS = CONFIGS / "campaigns" / "depths.toml"
TAKEN_OVER_SECONDS = 10
CELL_SECONDS = 10
"""More than a cell takes, also on a machine that has other work. Both workers may be in one."""


def workers_of(machine: subprocess.Popen[str]) -> set[int]:
    """Its workers that live. One that was killed stays as a zombie until it is replaced."""
    text = Path(f"/proc/{machine.pid}/task/{machine.pid}/children").read_text()
    stats = {int(pid): Path(f"/proc/{pid}/stat").read_text() for pid in text.split()}
    return {pid for pid, stat in stats.items() if stat.rpartition(")")[2].split()[0] != "Z"}


def kill_worker(machine: subprocess.Popen[str], client: Server) -> None:
    """Kills the worker of a machine while it has a cell. Both are soon replaced and taken over."""
    (worker,) = workers_of(machine)

    def of_worker() -> tuple[Any, str] | None:
        for job in client.each_job():
            who = client.owner(job)
            if who is not None and f"-{worker}-" in who:
                return job, who
        return None

    while (found := of_worker()) is None:
        time.sleep(0.05)
    job, killed = found
    began = time.monotonic()
    os.kill(worker, signal.SIGKILL)
    while not workers_of(machine) - {worker}:
        assert time.monotonic() - began < TAKEN_OVER_SECONDS
        time.sleep(0.1)
    cell = job.details["cell"]
    while client.owner(job) in (None, killed) and cell not in client.names("results"):
        assert time.monotonic() - began < TAKEN_OVER_SECONDS + CELL_SECONDS
        time.sleep(0.1)


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.behaviour("A-18", "A-21", "H-11", "T-24")
@pytest.mark.parametrize("killed", ["worker", "server"])
@pytest.mark.parametrize("kind", [param("redis"), param("zookeeper")])
def test_two_hundred_cells_on_two_machines(kind: str, killed: str, tmp_path: Path) -> None:
    cells = [cell.id for cell in read_campaign(DEPTHS).cells]
    server = JobServer(kind, tmp_path / "server")
    server.start()
    try:
        machines = [started(DEPTHS, tmp_path / name, server.url) for name in ("a", "b")]
        client = connect(parse_address(server.url), key_of(read_campaign(DEPTHS)), "test")

        def boots() -> dict[str, int]:
            return {cell: len(client.names(f"boots.{cell}")) for cell in client.names("results")}

        while len(client.names("results")) < len(cells) // 2:
            assert all(machine.poll() is None for machine in machines)
            time.sleep(0.2)
        ended = boots()
        if killed == "worker":
            kill_worker(machines[0], client)
        else:
            server.kill()
            time.sleep(AWAY_SECONDS)
            server.start()
        for machine, name in zip(machines, ("a", "b"), strict=True):
            out, error = machine.communicate()
            assert machine.returncode == 0, error
            assert [cell["verdict"] for cell in json.loads(out)["cells"]] == ["pass"] * 200
            ran = list((tmp_path / name).glob("*/cell.img"))
            assert len(ran) > 50, "one machine did next to nothing"
        now = boots()
        assert {name: now[name] for name in ended} == ended, "one was run again"
        assert sorted(now) == sorted(cells)
        assert sum(now.values()) <= len(cells) + (1 if killed == "worker" else 2)
        assert client.jobs() == []
        client.close()
    finally:
        server.kill()
