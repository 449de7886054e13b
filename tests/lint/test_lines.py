# SPDX-License-Identifier: BSD-2-Clause
"""Every tracked text file: the length and the end of its lines, and words that do not belong.

A file is text if it is UTF-8 without NUL bytes.
"""

from __future__ import annotations

import re
import subprocess
from functools import cache

import pytest

from kit.paths import ROOT

COLUMNS = 100

# Recorded and made data, which is kept as it is.
DATA = re.compile(r"tests/data/")
# Files whose lines have the form that others decide: expected messages, and the licence's text.
# Two configurations have a long line, or none that ends, on purpose. Old event tables are copies.
# The schema and the picture are generated.
FREE = re.compile(
    r"tests/data/|tests/configs/.*\.err$|LICENSE$|pyhost/cellreap/trace/versions/"
    r"|pyhost/cellreap/output\.schema\.json$|docs/crash\.svg$"
    r"|tests/configs/bad/(nested_too_deep|number_too_long|unclosed_string)\.toml$"
)

# Paths of the machine that a file was written on, and references to a tracker of issues.
FOREIGN = (
    re.compile(r"(^|[^A-Za-z.])/(home|root|Users)/[a-z]", re.MULTILINE),
    re.compile(r"[Ii]ssue #?\d"),
)


@cache
def tracked() -> list[str]:
    """The paths of all tracked files that exist, relative to the checkout."""
    done = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    names = done.stdout.split("\0")
    return [name for name in names if (ROOT / name).is_file() and not (ROOT / name).is_symlink()]


def text_of(name: str) -> str | None:
    """The text of a file, or None if it is binary. Line ends are left as they are."""
    raw = (ROOT / name).read_bytes()
    if b"\0" in raw:
        return None
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None


def bad_lines(name: str, text: str) -> list[str]:
    """The faults of the lines of a text. In Markdown, table rows and code blocks may be long."""
    found = []
    in_block = False
    if text and not text.endswith("\n"):
        found.append(f"{name}: no newline at the end")
    for number, line in enumerate(text.removesuffix("\n").split("\n"), 1):
        markdown = name.endswith(".md")
        in_block ^= markdown and line.startswith("```")
        may_be_long = markdown and (line.lstrip().startswith("|") or in_block)
        if len(line) > COLUMNS and not may_be_long:
            found.append(f"{name}:{number}: {len(line)} columns")
        if line != line.rstrip():
            found.append(f"{name}:{number}: white space at the end")
        if markdown and not in_block and re.search(r"\| \| ?:?---", line):
            found.append(f"{name}:{number}: the rows of a table on one line")
    return found


def foreign_words(name: str, text: str) -> list[str]:
    """The places of a text that match one of FOREIGN."""
    return [
        f"{name}:{text.count(chr(10), 0, match.end()) + 1}: {match.group().strip()}"
        for pattern in FOREIGN
        for match in pattern.finditer(text)
    ]


def test_there_are_files_to_look_at() -> None:
    """Without files, the tests below would pass without looking at anything."""
    names = tracked()
    assert len(names) > 300
    assert {"README.md", "pyproject.toml", "tests/lint/test_lines.py"} <= set(names)
    looked_at = [name for name in names if not FREE.match(name) and text_of(name) is not None]
    assert {name.rpartition(".")[2] for name in looked_at} >= {"c", "h", "S", "md", "py", "toml"}


def test_lines_have_their_form() -> None:
    found = []
    for name in tracked():
        text = None if FREE.match(name) else text_of(name)
        if text is not None:
            found += bad_lines(name, text)
    assert found == []


def test_no_file_has_foreign_words() -> None:
    found = []
    for name in tracked():
        text = None if DATA.match(name) else text_of(name)
        if text is not None:
            found += foreign_words(name, text)
    assert found == []


@pytest.mark.parametrize(
    ("name", "text", "bad"),
    [
        ("a.c", "x" * COLUMNS + "\n", 0),
        ("a.c", "x" * (COLUMNS + 1) + "\n", 1),
        ("a.c", "| " + "x" * COLUMNS + "\n", 1),
        ("a.md", "| " + "x" * COLUMNS + "\n", 0),
        ("a.md", "x" * (COLUMNS + 1) + "\n", 1),
        ("a.md", "```\n" + "x" * (COLUMNS + 1) + "\n```\n", 0),
        ("a.md", "```\n```\n" + "x" * (COLUMNS + 1) + "\n", 1),
        ("a.c", "\u00e9" * COLUMNS + "\n", 0),
        ("a.c", "x\n\ny\n", 0),
        ("a.c", "x \n", 1),
        ("a.c", "x\r\n", 1),
        ("a.c", "\t\nx\n", 1),
        ("a.c", "x", 1),
        ("a.c", "", 0),
        ("a.md", "  | a | | --- | | b |\n", 1),
        ("a.md", "  | a |\n  | --- |\n", 0),
        ("a.c", "x " + "y" * COLUMNS + "\t", 3),
    ],
)
def test_the_rule_tells_good_lines_from_bad(name: str, text: str, bad: int) -> None:
    assert len(bad_lines(name, text)) == bad


@pytest.mark.parametrize(
    ("text", "places"),
    [
        # In two parts, so that this file does not match itself.
        ("see /" + "home/x", ["1"]),
        ("a\nb\n/" + "root/x", ["3"]),
        ("x=/" + "Users/x", ["1"]),
        ("as in issue " + "7", ["1"]),
        ("a\nIssue " + "#12", ["2"]),
        ("tests/home/x, /homes/x, a/root/, issues 8, an issue", []),
    ],
)
def test_the_rule_tells_foreign_words(text: str, places: list[str]) -> None:
    assert [found.split(":")[1] for found in foreign_words("a.c", text)] == places
