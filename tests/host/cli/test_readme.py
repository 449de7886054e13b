# SPDX-License-Identifier: BSD-2-Clause
"""The commands in README and in the tour print the output that the pages show.

tests/boot/test_readme_boots.py has the commands that boot.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click import Context

from cellreap.cli.main import cli
from kit.console_blocks import (
    PREPARATIONS,
    Block,
    Command,
    check_block,
    read_blocks,
    same_everywhere,
)
from kit.paths import ROOT

PAGES = (ROOT / "README.md", ROOT / "docs" / "tour.md")
BLOCKS = [(page, block) for page in PAGES for block in read_blocks(page.read_text())]


@pytest.mark.parametrize(("page", "block"), [each for each in BLOCKS if not each[1].boots], ids=str)
def test_a_block_that_boots_nothing_prints_what_the_page_says(
    page: Path, block: Block, tmp_path: Path, rewrite: bool
) -> None:
    check_block(block, tmp_path, page if rewrite else None)


def test_the_table_of_what_exists_has_all_commands() -> None:
    text = (ROOT / "docs" / "status.md").read_text()
    (row,) = (line for line in text.splitlines() if line.startswith("| host |"))
    assert re.findall("`([a-z]+)`", row.partition(";")[0]) == cli.list_commands(Context(cli))


def test_a_page_can_be_corrected(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```console\n$ echo a; echo b\na\n\n$ echo c\nc\n```\n")
    (tmp_path / "work").mkdir()
    (block,) = read_blocks(page.read_text())
    check_block(block, tmp_path / "work", page)
    assert page.read_text() == "```console\n$ echo a; echo b\na\nb\n$ echo c\nc\n```\n"


def test_the_pages_show_blocks_of_both_kinds() -> None:
    """Without blocks of a kind, the tests of that kind would pass without running."""
    assert {block.boots for _, block in BLOCKS} == {True, False}
    assert any(block.needs for _, block in BLOCKS)


def test_what_blocks_need_is_known() -> None:
    assert {need for _, block in BLOCKS for need in block.needs} <= PREPARATIONS.keys()


PAGE = """\
text
<!-- test: needs damaged-trace -->
```console
$ true
$ echo a; echo b
a
b
```
```
$ not a session
```
"""


def test_blocks_are_found_with_their_commands_and_needs() -> None:
    commands = (Command(4, "true", ()), Command(5, "echo a; echo b", ("a", "b")))
    assert read_blocks(PAGE) == [Block(3, ("damaged-trace",), commands)]
    assert not read_blocks(PAGE)[0].boots


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("$ true\n$ echo a; echo b\n", "", "line 4: output before the first command"),
        ("$ true\n$ echo a; echo b\na\nb\n", "", "line 4: a console block without a command"),
        ("```\n```\n$ not a session\n```\n", "", "line 3: the block does not end"),
        ("needs damaged-trace", "need damaged-trace", "line 2: expected '<!-- test: needs NAME"),
        ("-->\n", "-->\nmore text\n", "line 3: expected a console block"),
    ],
)
def test_a_page_that_cannot_be_meant_is_an_error(old: str, new: str, message: str) -> None:
    assert old in PAGE
    page = PAGE.replace(old, new, 1)
    with pytest.raises(ValueError, match=message):
        read_blocks(page)


@pytest.mark.parametrize(
    ("said", "passes"), [("a\nb\n", True), ("a\n", False), ("a\nb\nc\n", False), ("b\na\n", False)]
)
def test_a_block_passes_only_if_all_lines_are_right(
    tmp_path: Path, said: str, passes: bool
) -> None:
    (block,) = read_blocks(f"```console\n$ echo a; echo b\n{said}```\n")
    if passes:
        check_block(block, tmp_path)
    else:
        with pytest.raises(AssertionError, match="line 2: \\$ echo a"):
            check_block(block, tmp_path)


def test_only_what_differs_between_machines_is_left_out() -> None:
    shown = [
        "x on seL4 16.0.0+ (x86_64)",
        "page fault at 0xdead000, instruction at 0x400bd0",
        "  registers  rip=0x400989 rsp=0x10013f00",
        "             r8=0x10001000 r11=0x246",
        "             disk1 (BLOCK_SPACE_4): managed by fs (PD_3)",
        "PASS: everything as the reference model has it; 193 events in 0.9 s",
        "  then said  fs (PD_3): b",
        "             app (PD_5): a",
        "x.trace: 73 events",
        "",
    ]
    assert same_everywhere(shown) == [
        "x on KERNEL (x86_64)",
        "page fault at 0xdead000, instruction at ADDRESS",
        "  registers  N",
        "             disk1 (BLOCK_SPACE_4): managed by fs (PD_3)",
        "PASS: everything as the reference model has it; N events in N s",
        "  then said  app (PD_5): a",
        "  then said  fs (PD_3): b",
        "x.trace: 73 events",
    ]
