# SPDX-License-Identifier: BSD-2-Clause
"""`cellreap docs`: the pages about cellreap, which come with it."""

from __future__ import annotations

from pathlib import Path

import click

from cellreap.cli.echo import echo_json
from cellreap.cli.params import json_option
from cellreap.errors import UsageError, hint
from cellreap.headers import source_root


def pages() -> dict[str, Path]:
    """Name of a page -> its file. README is the first one."""
    root = source_root()
    found = {path.stem: path for path in sorted((root / "docs").glob("*.md"))}
    return {"README": root / "README.md"} | found


def title_of(page: Path) -> str:
    """The first heading of a page."""
    lines = page.read_text(encoding="utf-8").splitlines()
    return next(line[2:] for line in lines if line.startswith("# "))


@click.command()
@click.argument("page", required=False, metavar="[PAGE]")
@json_option
def docs(page: str | None, as_json: bool) -> None:
    """List the pages about cellreap, or show one.

    They are Markdown, and lie in the folder that the list begins with. On a terminal, a page is
    shown in a pager.
    """
    found = pages()
    if page is not None and page.removesuffix(".md") not in found:
        expected = f"{hint(page, found)}expected one of {', '.join(found)}"
        raise UsageError(f'no page is named "{page}"; {expected}')
    if page is not None:
        path = found[page.removesuffix(".md")]
        text = path.read_text(encoding="utf-8")
        if as_json:
            echo_json("docs", {"pages": [_row(path)], "text": text})
        else:
            click.echo_via_pager(text.rstrip("\n"))
        return
    if as_json:
        echo_json("docs", {"pages": [_row(path) for path in found.values()], "text": None})
        return
    click.echo(found["README"].parent / "docs")
    width = max(map(len, found))
    for name, path in found.items():
        click.echo(f"  {name:<{width}}  {title_of(path)}")


def _row(path: Path) -> dict[str, str]:
    return {"name": path.stem, "title": title_of(path), "path": str(path)}
