# SPDX-License-Identifier: BSD-2-Clause
"""What a C header offers, as a page: each group of declarations with the comment above it."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import tree_sitter_c
from tree_sitter import Language, Node, Parser

_LANGUAGE: Final = Language(tree_sitter_c.language())
_SHOWN: Final = frozenset(
    {"declaration", "function_definition", "type_definition", "enum_specifier"}
)
_USES: Final = 4
"""How many programs that use a function are named."""


@dataclass
class Group:
    """Declarations without an empty line or a comment between them. title: of a section that begins
    with them.
    """

    comment: str
    title: str = ""
    code: list[str] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)


def groups_of(header: Path) -> tuple[str, list[Group]]:
    """The comment on top of a header, and its groups."""
    text = header.read_bytes()
    root = Parser(_LANGUAGE).parse(text).root_node
    nodes = list(_inside(root))
    head, found, title = "", [], ""
    comment, last = "", -2
    for node in nodes:
        if node.type == "comment":
            said = _prose(node)
            if not head:
                head = said
            elif match := re.match(r"-- (.*)\Z", said, re.DOTALL):
                title, comment = match[1], ""
            else:
                comment = said
            last = -2
        elif node.type in _SHOWN:
            if node.start_point.row > last + 1 or comment:
                found.append(Group(comment, title))
                comment = title = ""
            found[-1].code.append(_code(node))
            found[-1].functions += _functions(node)
            last = node.end_point.row
    return head.removeprefix("SPDX-License-Identifier: BSD-2-Clause").strip(), found


def _inside(node: Node) -> Iterator[Node]:
    for child in node.children:
        if child.type.startswith("preproc_if"):
            yield from _inside(child)
        else:
            yield child


def _prose(comment: Node) -> str:
    """A comment as paragraphs. An indented block in it is code."""
    assert comment.text is not None
    lines = comment.text.decode().removeprefix("/*").removesuffix("*/").splitlines()
    return "\n".join(re.sub(r"^ ?\*? ?", "", line.strip("\t")).rstrip() for line in lines).strip()


def _code(node: Node) -> str:
    """A declaration; of a function that is defined, without what it does."""
    assert node.text is not None
    body = node.child_by_field_name("body") if node.type == "function_definition" else None
    text = node.text[: body.start_byte - node.start_byte].decode() if body else node.text.decode()
    return f"{text.rstrip()};" if body or not text.endswith((";", "}")) else text


def _functions(node: Node) -> Iterator[str]:
    if node.type not in ("declaration", "function_definition"):
        return
    todo = [node.child_by_field_name("declarator")]
    while todo:
        found = todo.pop()
        if found is None:
            continue
        if found.type == "function_declarator":
            name = found.child_by_field_name("declarator")
            assert name is not None
            assert name.text is not None
            yield name.text.decode()
        else:
            todo.append(found.child_by_field_name("declarator"))


def uses_in(programs: Sequence[Path]) -> dict[str, list[str]]:
    """Function of the library -> the programs that call it, by name."""
    uses: dict[str, list[str]] = {}
    for path in sorted(programs):
        for name in sorted(set(re.findall(r"\b(cr_\w+)\(", path.read_text(encoding="utf-8")))):
            uses.setdefault(name, []).append(path.name)
    return uses


def page_of(
    header: Path, meanings: Mapping[str, str], uses: Mapping[str, Sequence[str]], where: str
) -> Iterator[str]:
    """The lines about a header. meanings: of functions that are operations, in words. where: the
    folder of the programs, from the page.
    """
    head, groups = groups_of(header)
    yield from ("", f"## {header.name}", "", f"`#include <cellreap/{header.name}>`", "")
    yield from _paragraphs(head)
    for group in groups:
        if group.title:
            title, _, rest = group.title.partition("\n\n")
            yield from ("", f"### {title.partition(':')[0].partition(' (')[0].capitalize()}")
            yield from ("", *_paragraphs(rest)) if rest else ()
        yield from ("", "```c", *"\n".join(group.code).splitlines(), "```")
        if group.comment:
            yield from ("", *_paragraphs(group.comment))
        told = [(name, meanings[name]) for name in group.functions if name in meanings]
        if told:
            yield ""
            for name, meaning in told:
                yield from _filled(f"- `{name}`: {meaning}", "  ")
        used = dict.fromkeys(each for name in group.functions for each in uses.get(name, ()))
        if used:
            shown = ", ".join(f"[{each}]({where}/{each})" for each in list(used)[:_USES])
            yield from ("", *_filled(f"Used in {shown}."))
    yield ""


def _paragraphs(text: str) -> Iterator[str]:
    """Prose, with lists, and blocks that are indented as code."""
    text = re.sub(r"(?<![\w/])\*(\w+)", r"`*\1`", text)
    text = re.sub(r"docs/([\w-]+\.md)", r"[\1](\1)", text)
    for number, part in enumerate(text.split("\n\n")):
        if number:
            yield ""
        if part.startswith("    "):
            yield from ("```c", *(line.removeprefix("    ") for line in part.splitlines()), "```")
        elif part.lstrip().startswith("- "):
            for item in re.split(r"^ *- ", part, flags=re.MULTILINE)[1:]:
                yield from _filled(f"- {' '.join(item.split())}", "  ")
        else:
            yield from _filled(part)


def _filled(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(
        text,
        100,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
