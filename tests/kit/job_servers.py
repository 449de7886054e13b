# SPDX-License-Identifier: BSD-2-Clause
"""Redis and ZooKeeper for tests: real servers on this machine, each on a free port."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import socket
import ssl
import subprocess
import time
from pathlib import Path

import pytest

_JAR = Path("/usr/share/java/zookeeper.jar")
_JARS = Path("/usr/share/java")
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


SECURE = """\
serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory
secureClientPort={port}
ssl.keyStore.location={folder}/server.pem
ssl.keyStore.type=PEM
ssl.trustStore.location={folder}/ca.pem
ssl.trustStore.type=PEM
ssl.clientAuth=none
"""
NEEDS_OPENSSL = pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl")


def certificates(folder: Path) -> None:
    """A CA, and a certificate of 127.0.0.1 by it: ca.pem, server.crt, server.key, server.pem."""

    def openssl(*words: str) -> None:
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)

    new = ("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2")
    openssl(*new, "-subj", "/CN=test CA", "-keyout", "ca.key", "-out", "ca.pem")
    signed = ("-CA", "ca.pem", "-CAkey", "ca.key", "-addext", "subjectAltName=IP:127.0.0.1")
    plain = ("-addext", "basicConstraints=critical,CA:FALSE")
    names = ("-subj", "/CN=board", "-keyout", "server.key", "-out", "server.crt")
    openssl(*new, *signed, *plain, *names)
    both = (folder / "server.key").read_text() + (folder / "server.crt").read_text()
    (folder / "server.pem").write_text(both)


class JobServer:
    """A server with an empty folder of its own. It keeps its port when it is started again.

    tls: it speaks TLS only, with what `certificates` has put into its folder.
    """

    def __init__(self, kind: str, folder: Path, *, tls: bool = False) -> None:
        self.kind = kind
        self.folder = folder
        self.tls = tls
        folder.mkdir(parents=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self.url = f"{kind}{'s' if tls else ''}://127.0.0.1:{self.port}"
        if tls:
            certificates(folder)
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
            port = ["--tls-port" if self.tls else "--port", str(self.port)]
            if self.tls:
                files = ["--tls-cert-file", "server.crt", "--tls-key-file", "server.key"]
                ca = ["--tls-ca-cert-file", "ca.pem", "--tls-auth-clients", "no"]
                port += ["--port", "0", *files, *ca]
            place = ["--bind", "127.0.0.1", "--dir", str(self.folder)]
            return ["redis-server", *port, *place, *asked]
        config = self.folder / "zoo.cfg"
        text = ZOOKEEPER.format(folder=self.folder, port=self.port)
        if self.tls:
            text = text.replace("clientPort", "#") + SECURE.format(
                folder=self.folder, port=self.port
            )
        config.write_text(text)
        main = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
        # Debian's manifest lacks some of netty's parts.
        classes = ":".join([str(_JAR), *map(str, _JARS.glob("netty-*.jar"))]) if self.tls else _JAR
        java = ["java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", str(classes)]
        return [*java, main, str(config)]

    def _answers(self) -> bool:
        ask, answer = (
            (b"PING\r\n", b"+PONG") if self.kind == "redis" else (b"srvr", b"Zookeeper version")
        )
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as link:
                if self.tls:
                    context = ssl.create_default_context(cafile=self.folder / "ca.pem")
                    link = context.wrap_socket(link, server_hostname="127.0.0.1")
                link.sendall(ask)
                return link.recv(100).startswith((answer, b"-NOAUTH"))
        except OSError:
            return False
