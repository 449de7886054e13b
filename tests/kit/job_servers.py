# SPDX-License-Identifier: BSD-2-Clause
"""Redis and ZooKeeper for tests: real servers on this machine, each on a free port."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

_JAR = Path("/usr/share/java/zookeeper.jar")
_START_SECONDS = 60
ZOOKEEPER = """\
tickTime=2000
dataDir={folder}
clientPort={port}
clientPortAddress=127.0.0.1
admin.enableServer=false
"""


def _missing(kind: str) -> str:
    if kind == "redis":
        lacks = shutil.which("redis-server") is None or importlib.util.find_spec("redis") is None
        return "no redis-server" if lacks else ""
    there = _JAR.exists() and shutil.which("java") and importlib.util.find_spec("kazoo")
    return "" if there else "no ZooKeeper"


def param(kind: str, *more: object, thorough: bool = False) -> object:
    """A kind of server, and further parameters of a test. It is skipped where there is none."""
    why = _missing(kind)
    marks = [pytest.mark.skipif(bool(why), reason=f"{why}: tools/setup --jobboards installs it")]
    return pytest.param(kind, *more, marks=[*marks, pytest.mark.thorough] if thorough else marks)


class JobServer:
    """A server with an empty folder of its own. It keeps its port when it is started again."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind = kind
        self.folder = folder
        folder.mkdir(parents=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self.url = f"{kind}://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, *options: str) -> None:
        """Returns when it takes connections."""
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command(options), stdout=log, stderr=log, cwd=self.folder
            )
        until = time.monotonic() + _START_SECONDS
        while not self._answers():
            assert self._process.poll() is None, (self.folder / "log").read_text()
            assert time.monotonic() < until, (self.folder / "log").read_text()
            time.sleep(0.05)

    def kill(self) -> None:
        """As a machine ends whose power fails, but for its disk's cache."""
        if self._process is not None:
            os.kill(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def _command(self, options: tuple[str, ...]) -> list[str]:
        if self.kind == "redis":
            asked = options or ("--appendonly", "yes", "--appendfsync", "always")
            place = ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder)]
            return ["redis-server", *place, *asked]
        config = self.folder / "zoo.cfg"
        config.write_text(ZOOKEEPER.format(folder=self.folder, port=self.port))
        main = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
        java = ["java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", str(_JAR)]
        return [*java, main, str(config)]

    def _answers(self) -> bool:
        ask, answer = (
            (b"PING\r\n", b"+PONG") if self.kind == "redis" else (b"srvr", b"Zookeeper version")
        )
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as link:
                link.sendall(ask)
                return link.recv(100).startswith(answer)
        except OSError:
            return False
