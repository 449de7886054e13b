# SPDX-License-Identifier: BSD-2-Clause
"""The pages: `cellreap docs` shows them, and MkDocs makes a site of them without a warning."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from kit.command_line import cellreap, cellreap_json
from kit.paths import ROOT

PAGES = sorted(path.stem for path in (ROOT / "docs").glob("*.md"))


@pytest.mark.behaviour("V-04")
def test_every_page_is_listed_and_can_be_shown() -> None:
    listed = cellreap("docs").stdout.splitlines()
    assert listed[0] == str(ROOT / "docs")
    assert [line.split()[0] for line in listed[1:]] == ["README", *PAGES]
    assert cellreap("docs", "tutorial").stdout == (ROOT / "docs" / "tutorial.md").read_text()
    assert cellreap("docs", "README.md").stdout == (ROOT / "README.md").read_text()
    code, shown = cellreap_json("docs", "states")
    assert (code, shown["pages"][0]["name"]) == (0, "states")
    assert shown["text"].startswith("<!-- SPDX")
    assert [page["name"] for page in cellreap_json("docs")[1]["pages"]] == ["README", *PAGES]


def test_a_page_that_is_nearly_named_is_suggested() -> None:
    done = cellreap("docs", "tutoral")
    assert done.returncode == 2
    assert 'no page is named "tutoral"; did you mean "tutorial"?' in done.stderr


@pytest.mark.behaviour("V-04")
def test_the_site_has_every_page() -> None:
    named = re.findall(r"([\w-]+)\.md", (ROOT / "mkdocs.yml").read_text())
    assert sorted(set(named) - {"index", "README"}) == PAGES


@pytest.mark.behaviour("V-04")
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert (done.returncode, "WARNING" in done.stderr) == (0, False), done.stderr
    found = (tmp_path / "site" / "search" / "search_index.json").read_text()
    assert "TAKE_BACK" in found
    assert (tmp_path / "site" / "index.html").read_text().count("<h2") >= 5
