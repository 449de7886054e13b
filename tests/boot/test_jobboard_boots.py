# SPDX-License-Identifier: BSD-2-Clause
"""Campaigns that boot refkernel on two machines, which share a server: one is killed, and so is
the server.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("taskflow", reason="campaigns need taskflow: pip install 'cellreap[campaign]'")

from cellreap.campaign.matrix import read_campaign
from cellreap.campaign.server import connect, parse_address
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
