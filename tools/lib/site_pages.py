# SPDX-License-Identifier: BSD-2-Clause
"""What MkDocs calls when it builds the site: README.md is the first page, and a link to what is
outside of docs/ becomes its name.
"""

from __future__ import annotations

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
_OUTSIDE = re.compile(r"\[([^\]]+)\]\(\.\./([^)#\s]+)(?:#[^)]*)?\)")
_INSIDE = re.compile(r"\]\(docs/")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds README.md."""
    text = _INSIDE.sub("](", (ROOT / "README.md").read_text(encoding="utf-8"))
    text = re.sub(r"\[([^\]]+)\]\(((?!https?:|#)[\w/.-]+)\)", _named_in_readme, text)
    files.append(File.generated(config, "index.md", content=text))
    return files


def _named_in_readme(link: re.Match[str]) -> str:
    """A link of README.md: to a page of docs/, or the name of what is beside it."""
    return link[0] if (ROOT / "docs" / link[2]).exists() else _named(link[1], link[2])


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Names what is outside of docs/. README.md itself is the first page."""
    markdown = markdown.replace("](../README.md", "](index.md")
    return _OUTSIDE.sub(lambda link: _named(link[1], link[2]), markdown)


def _named(text: str, path: str) -> str:
    return f"`{path}`" if Path(path).name == text else f"{text} (`{path}`)"
