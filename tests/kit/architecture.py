# SPDX-License-Identifier: BSD-2-Clause
"""What the page about the architecture says of the root task's folders."""

from __future__ import annotations

import re
from pathlib import Path

from kit.paths import ROOT

PAGE = ROOT / "docs" / "architecture.md"


def named_in(folder: str) -> list[str]:
    """The files that the page lists for a folder, in the page's order."""
    text = PAGE.read_text(encoding="utf-8")
    (section,) = re.findall(rf"^### {folder}/\n(.*?)^##", text, re.MULTILINE | re.DOTALL)
    table = section.partition("| file | purpose |\n")[2].partition("\n<!--")[0]
    first = [row.split("|")[1] for row in table.splitlines()[1:]]
    return [name for cell in first for name in re.findall(r"`([^`]+)`", cell)]


def purpose(path: Path) -> str:
    """The first sentence of a C file's comment."""
    text = path.read_text(encoding="utf-8")
    found = re.match(r"/\* SPDX[^\n]*\n \*\n(.*?)(?:\*/|\n \*\n)", text, re.DOTALL)
    assert found, f"{path.name} does not begin with what it is for"
    words = " ".join(re.sub(r"^ \* ?", "", found[1], flags=re.MULTILINE).split())
    return re.split(r"(?<=\.) (?=[A-Z])|[:.]$", words)[0].removesuffix(".")


def purposes(folder: str) -> list[tuple[str, str]]:
    """What the table of a folder must say: its files in the page's order, and what each is for."""
    rows = []
    for name in named_in(folder):
        stem = Path(name).stem
        files = [ROOT / "roottask" / folder / f"{stem}{ending}" for ending in (".h", ".c")]
        rows.append((f"`{name}`", purpose(next(path for path in files if path.is_file()))))
    return rows


def code_lines(path: Path) -> int:
    """The lines of a C file that are more than comments."""
    text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    return sum(bool(line.strip()) for line in text.splitlines())
