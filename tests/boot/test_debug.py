# SPDX-License-Identifier: BSD-2-Clause
"""`cellreap debug`: the stub stops the system at its start, and lets it run when it is told to."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from cellreap.testing import Target
from kit.output_schema import faults


class Stub:
    """A client of the remote protocol of gdb."""

    def __init__(self, port: int) -> None:
        self._socket = self._connected(port)

    @staticmethod
    def _connected(port: int) -> socket.socket:
        for _ in range(600):
            try:
                return socket.create_connection(("127.0.0.1", port), timeout=60)
            except ConnectionRefusedError:
                time.sleep(0.1)
        raise AssertionError(f"nobody listens at port {port}")

    def send(self, command: str) -> None:
        """Sends a packet and waits until it is accepted."""
        total = sum(command.encode()) % 256
        self._socket.sendall(f"${command}#{total:02x}".encode())
        assert self._socket.recv(1) == b"+"

    def ask(self, command: str) -> str:
        """Sends a packet and returns the answer to it."""
        self.send(command)
        raw = b""
        while not re.search(rb"#[0-9a-f]{2}$", raw):
            raw += self._socket.recv(4096)
        self._socket.sendall(b"+")
        found = re.search(rb"\$([^#]*)#", raw)
        assert found is not None
        return found[1].decode()


@pytest.mark.behaviour("Y-08")
def test_a_debugger_attaches_reads_registers_and_lets_the_system_run(
    target: Target, tmp_path: Path
) -> None:
    image = target.image("faults_page_fault")
    command = [sys.executable, "-m", "cellreap", "debug", str(image), "--port", "0"]
    with subprocess.Popen(
        [*command, "-o", str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as running:
        assert running.stdout is not None
        try:
            said = b""
            while b"`continue` starts the system" not in said:
                line = running.stdout.readline()
                assert line, said
                said += line
            found = re.search(rb"target remote 127\.0\.0\.1:([0-9]+)", said)
            assert found is not None, said
            stub = Stub(int(found[1]))
            assert stub.ask("?").startswith(("S", "T"))  # it is stopped
            first = stub.ask("g")
            assert re.fullmatch("(?:[0-9a-fx]{2}){100,}", first)
            assert stub.ask("g") == first  # and stays so
            assert not any((tmp_path / "faults_page_fault.trace").read_bytes())
            stub.send("c")
            rest = running.stdout.read()
        finally:
            running.kill()
    assert running.wait() in (0, -9)
    assert b" END count=" in rest
    assert b"the trace is complete" in rest
    script = (tmp_path / "debug.gdb").read_text()
    for name in ("roottask.elf", "programs/block_server.elf"):
        assert f"symbol-file {tmp_path / name}" in script
        with (tmp_path / name).open("rb") as file:
            assert ELFFile(file)["e_type"] == "ET_EXEC"


@pytest.mark.behaviour("Y-08")
def test_json_tells_how_to_attach_and_the_console_is_on_stderr(
    target: Target, tmp_path: Path
) -> None:
    image = target.image("faults_page_fault")
    command = [sys.executable, "-m", "cellreap", "debug", str(image), "--port", "0", "--json"]
    with (
        (tmp_path / "console").open("wb") as console,
        subprocess.Popen(
            [*command, "-o", str(tmp_path)], stdout=subprocess.PIPE, stderr=console
        ) as running,
    ):
        assert running.stdout is not None
        try:
            said = b""
            while not said.endswith(b"\n}\n"):
                line = running.stdout.readline()
                assert line, said
                said += line
            shown = json.loads(said)
            assert faults(shown) == []
            assert shown["root_task"]["users"] == []
            assert "block_server_1" in {pd for file in shown["programs"] for pd in file["users"]}
            Stub(int(shown["remote"].split(":")[1])).send("c")
            rest = running.stdout.read()
        finally:
            running.kill()
    assert rest == b""
    assert b" END count=" in (tmp_path / "console").read_bytes()
