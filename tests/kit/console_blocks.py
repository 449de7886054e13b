# SPDX-License-Identifier: BSD-2-Clause
"""Runs the commands that a page shows, and compares what they print with what the page says.

A block of a page that begins with ```console is a shell session. Lines that begin with "$ " are
commands, and the lines after a command are its output. A block may need something that is not in
the checkout. A comment directly before the block names the need:

    <!-- test: needs damaged-trace -->

`PREPARATIONS` defines the needs. Commands run in a folder that has the checkout's files and that
receives the files that commands write. A page shows the stdout of a command, or its stderr if it
exits with 2.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cellreap.trace import frames
from cellreap.trace.frames import MARK
from kit.paths import GOLDENS, ROOT

BOOTING: Final = re.compile(r"^(cellreap (run|boot|conformance)|tools/)\b")
"""Commands that need QEMU."""

VARYING: Final = (
    (re.compile(r"\b(seL4|refkernel) \d+(\.\d+)+\+?"), "KERNEL"),
    (re.compile(r"\binstruction at 0x[0-9a-f]+"), "instruction at ADDRESS"),
    (re.compile(r"; \d+ events in \d+\.\d s$"), "; N events in N s"),
    (re.compile(r"\bpassed in \d+\.\d\ds( \(\d+:\d\d:\d\d\))?$"), "passed in N s"),
    (re.compile(r"^  line \d+: unstaged crash: "), "  line N: unstaged crash: "),
    (re.compile(r"^  registers  .*"), "  registers  N"),
    (re.compile(r"\bwith (no|\d+) snapshots?\."), "with N snapshots."),
    (re.compile(r"\bnot acknowledged for \d+ ms"), "not acknowledged for N ms"),
)
"""Text that differs between machines or builds. The order of what PDs say differs too.

All other text must equal the page.
"""
_REGISTERS: Final = re.compile(r" {13}(\w+=0x[0-9a-f]+ ?)+")
"""Further lines of registers. They are left out."""


@dataclass(frozen=True)
class Command:
    """A command, the number of its line on the page, and its expected output lines."""

    line: int
    text: str
    output: tuple[str, ...]


@dataclass(frozen=True)
class Block:
    """A shell session of a page."""

    line: int
    needs: tuple[str, ...]
    commands: tuple[Command, ...]

    @property
    def boots(self) -> bool:
        """Whether any of the commands needs QEMU."""
        return any(BOOTING.match(command.text) for command in self.commands)

    def __str__(self) -> str:
        return f"line {self.line}"


_NEEDS: Final = re.compile(r"<!-- test: needs ([a-z][a-z-]*(?:, [a-z][a-z-]*)*) -->")


def read_blocks(text: str) -> list[Block]:
    """The console blocks of a page in Markdown, in order.

    Raises ValueError for a block that does not end, has text before its first command, or has no
    command, and for a test comment that is not before a block.
    """
    blocks: list[Block] = []
    lines = text.splitlines()
    needs: tuple[str, ...] | None = None
    at = 0
    while at < len(lines):
        if comment := _NEEDS.fullmatch(lines[at]):
            needs = tuple(comment[1].split(", "))
        elif "<!-- test:" in lines[at]:
            raise ValueError(f"line {at + 1}: expected '<!-- test: needs NAME -->'")
        elif lines[at] == "```console":
            end = next((n for n in range(at + 1, len(lines)) if lines[n] == "```"), None)
            if end is None:
                raise ValueError(f"line {at + 1}: the block does not end")
            blocks.append(Block(at + 1, needs or (), _commands(lines[at + 1 : end], at + 2)))
            needs, at = None, end
        elif needs is not None and lines[at].strip():
            raise ValueError(f"line {at + 1}: expected a console block after 'test: needs'")
        at += 1
    if needs is not None:
        raise ValueError("expected a console block after 'test: needs'")
    return blocks


def _commands(lines: list[str], first: int) -> tuple[Command, ...]:
    found: list[tuple[int, str, list[str]]] = []
    for number, line in enumerate(lines, first):
        if line.startswith("$ "):
            found.append((number, line[2:], []))
        elif not found:
            raise ValueError(f"line {number}: output before the first command")
        else:
            found[-1][2].append(line)
    if not found:
        raise ValueError(f"line {first}: a console block without a command")
    return tuple(Command(number, text, tuple(output)) for number, text, output in found)


def same_everywhere(lines: tuple[str, ...] | list[str]) -> list[str]:
    """The lines without the text that differs between machines and builds.

    Empty lines at the end are left out too.
    """
    result = []
    for line in lines:
        shown = line.rstrip()
        if _REGISTERS.fullmatch(shown):
            continue
        for pattern, word in VARYING:
            shown = pattern.sub(word, shown)
        result.append(shown)
    while result and not result[-1]:
        result.pop()
    return _said_in_any_order(result)


_SAID: Final = "  then said  "


def _said_in_any_order(lines: list[str]) -> list[str]:
    """The lines, with those under "then said" sorted, as their order depends on the machine."""
    result: list[str] = []
    said: list[str] = []
    for line in [*lines, ""]:
        if line.startswith(_SAID) or (said and line.startswith(" " * len(_SAID))):
            said.append(line[len(_SAID) :])
            continue
        result += [_SAID + text for text in sorted(said)]
        said = []
        result.append(line)
    return result[:-1]


def make_folder(folder: Path) -> None:
    """Fills a folder with links to the checkout's files and to the environment of the tests.

    Adds `.bin/` with the commands that pyproject.toml declares, as an installer writes them.
    """
    for path in ROOT.iterdir():
        if path.name not in (".venv", "out", ".git"):
            (folder / path.name).symlink_to(path)
    (folder / ".venv").symlink_to(sys.prefix)
    (folder / ".bin").mkdir()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for name, entry in project["scripts"].items():
        module, function = entry.split(":")
        script = folder / ".bin" / name
        script.write_text(
            f"#!{sys.executable}\nimport sys\nfrom {module} import {function}\n"
            f"sys.exit({function}())\n"
        )
        script.chmod(0o755)


def run_block(block: Block, folder: Path) -> list[tuple[Command, list[str]]]:
    """Runs each command of a block in a shell.

    Returns the commands with the lines that they printed.
    """
    for need in block.needs:
        PREPARATIONS[need](folder)
    return [(command, _run(command.text, folder)) for command in block.commands]


def _run(text: str, folder: Path) -> list[str]:
    done = subprocess.run(
        ["bash", "-c", text],
        cwd=folder,
        env=environment(os.environ, folder),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode in (0, 1, 2), f"{text}: exit code {done.returncode}\n{done.stderr}"
    return (done.stderr if done.returncode == 2 else done.stdout).splitlines()


def environment(base: Mapping[str, str], folder: Path) -> dict[str, str]:
    """An environment in which `cellreap` is the command of this checkout."""
    path = os.pathsep.join((str(folder / ".bin"), base.get("PATH", os.defpath)))
    return {**base, "PATH": path, "PYTHONPATH": str(ROOT / "pyhost"), "COLUMNS": "100"}


def _damaged_trace(folder: Path) -> None:
    """out/block_fs_db_app.trace: a recorded run, without the line that has its event 73."""
    lines = (GOLDENS / "block_fs_db_app-0-0.trace").read_bytes().splitlines(keepends=True)
    kept = [line for line in lines if 73 not in (frames.claims(line[len(MARK) :]) or ())]
    assert len(kept) == len(lines) - 1
    (folder / "out").mkdir()
    (folder / "out" / "block_fs_db_app.trace").write_bytes(b"".join(kept))


PREPARATIONS: Final[Mapping[str, Callable[[Path], None]]] = {"damaged-trace": _damaged_trace}
"""Need -> the function that makes it in the folder of the commands."""


def check_block(block: Block, folder: Path, rewrite: Path | None = None) -> None:
    """Asserts that each command of a block prints what the page says.

    rewrite: a page to correct. Then nothing is asserted.
    """
    make_folder(folder)
    for command, printed in run_block(block, folder):
        want, got = same_everywhere(command.output), same_everywhere(printed)
        if rewrite is None:
            assert got == want, f"line {command.line}: $ {command.text}"
        elif got != want:
            correct(rewrite, command, printed)


def correct(page: Path, command: Command, printed: list[str]) -> None:
    """Replaces the output that the page shows for a command with what the command printed.

    Raises ValueError unless the page shows the command with its output exactly once.
    """
    text = page.read_text(encoding="utf-8")
    shown = "\n".join((f"$ {command.text}", *command.output)) + "\n"
    if text.count(shown) != 1:
        raise ValueError(f"{page}: expected '$ {command.text}' with its output once")
    page.write_text(text.replace(shown, "\n".join((f"$ {command.text}", *printed)) + "\n"))
