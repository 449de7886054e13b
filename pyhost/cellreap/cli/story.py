# SPDX-License-Identifier: BSD-2-Clause
"""Prints the lines of a story: on a terminal with its width and in colour, else as they are."""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterable
from typing import Final

import click

_LABELLED: Final = re.compile(r"  ([a-z][a-z ]{9}| {10}) (?=\S)")
"""A label on the left, or the room for it, as `runs/summary.py` has them."""
_STYLES: Final = (
    (re.compile(r"(Crash(es)?|Collection|The (end|start)|cleanup) .*:"), "bold red"),
    (re.compile(r"PASS\b.*"), "bold green"),
    (re.compile(r"(FAIL|NOT AS EXPECTED|NO END)\b.*"), "bold red"),
    (re.compile(r"ENDED AS ASKED\b.*"), "bold"),
    (re.compile(r"(Not verified|Refused|Waiting)\b[^:]*:"), "yellow"),
    (re.compile(r"(Alive|next)\b[^:]*:"), "bold"),
)


def echo_story(lines: Iterable[str]) -> None:
    """Prints the lines. On a terminal a line that is too long goes on below its own text. Colours
    follow NO_COLOR and TERM.
    """
    if not sys.stdout.isatty():
        for line in lines:
            click.echo(line)
        return
    from rich.console import Console  # takes long, and a file needs none
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=False)
    for line in lines:
        text = Text("\n".join(wrapped(line, console.width)))
        label = _LABELLED.match(line)
        if label is not None and label[1].strip():
            text.stylize("cyan", label.start(1), label.end(1))
        for pattern, style in _STYLES:
            if found := pattern.match(line):
                text.stylize(style, 0, found.end())
        console.print(text, overflow="ignore", no_wrap=True, crop=False)


def wrapped(line: str, width: int) -> list[str]:
    """The line in lines of at most `width` columns, broken at words. A word that is longer stays
    whole, so that it can be copied.
    """
    label = _LABELLED.match(line)
    indent = label.end() if label is not None else len(line) - len(line.lstrip()) + 2
    return textwrap.wrap(
        line,
        width,
        subsequent_indent=" " * min(indent, width // 2),
        drop_whitespace=True,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [""]
