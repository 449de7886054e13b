# SPDX-License-Identifier: BSD-2-Clause
"""Follows a tutorial: runs its commands in one shell, and writes the files that it shows.

Shell sessions are as in console_blocks.py, but one shell runs all of them, so `cd` and `source`
last. A comment before another block says which file the block is, or is the end of:

    <!-- file: NAME -->
    <!-- added to: NAME -->
"""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kit.console_blocks import Command, read_blocks

_FILE: Final = re.compile(
    r"^<!-- (file|added to): ([\w.]+) -->\n```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
_MARK: Final = "=== the tutorial: "
_CODES: Final = ("0", "1", "2", "3")


@dataclass(frozen=True)
class File:
    """A file of the page, or an addition to one."""

    line: int
    name: str
    text: str
    added: bool

    @property
    def shell(self) -> str:
        """What writes it."""
        arrow = ">>" if self.added else ">"
        return f"printf %s {shlex.quote(self.text)} {arrow} {shlex.quote(self.name)}"


def read_files(text: str) -> list[File]:
    """The files of a page, in order. Raises ValueError for a comment without a block."""
    found = [
        File(text.count("\n", 0, match.start()) + 1, match[2], match[3], match[1] == "added to")
        for match in _FILE.finditer(text)
    ]
    for word in ("file", "added to"):
        if text.count(f"<!-- {word}:") != sum(each.added == (word == "added to") for each in found):
            raise ValueError(f"expected a block directly after each comment '{word}: NAME'")
    return found


def follow(
    text: str, folder: Path, env: Mapping[str, str], after: Mapping[str, str]
) -> list[tuple[Command, list[str]]]:
    """Does what a page says in a folder. Returns the commands with the lines that they printed.

    Of a command that exits with 2 these are the lines of stderr. after: shell commands that follow
    those commands of the page that begin with the key.
    """
    commands = [command for block in read_blocks(text) for command in block.commands]
    errors = folder / ".errors"
    errors.mkdir()
    script = []
    items: list[Command | File] = [*commands, *read_files(text)]
    for item in sorted(items, key=lambda each: each.line):
        if isinstance(item, File):
            script.append(item.shell)
            continue
        script.append(f"{{ {item.text}\n}} 2>{shlex.quote(str(errors / str(item.line)))}")
        script.append(f"printf '\\n%s\\n' '{_MARK}'$?")
        script += [more for start, more in after.items() if item.text.startswith(start)]
    done = subprocess.run(
        ["bash", "-c", "\n".join(script)],
        cwd=folder,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        timeout=1800,
        check=False,
    )
    pieces = re.split(rf"\n{re.escape(_MARK)}(\d+)\n", done.stdout)
    assert len(pieces) == 2 * len(commands) + 1, done.stdout
    result = []
    for command, printed, code in zip(commands, pieces[::2], pieces[1::2], strict=False):
        said = (errors / str(command.line)).read_text()
        assert "Traceback" not in said, said
        assert code in _CODES, f"line {command.line}: $ {command.text}: exit code {code}\n{said}"
        result.append((command, (said if code == "2" else printed).splitlines()))
    return result
