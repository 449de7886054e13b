# SPDX-License-Identifier: BSD-2-Clause
"""Docstrings of attributes, and Markdown made of docstrings.

Python keeps no docstrings of attributes, so they are read from the source: a string that stands
right after the annotated attribute.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator

_INDENT = "    "


def attribute_docs(cls: type) -> dict[str, str]:
    """The annotated attributes of a class itself, in order, with their docstrings as one line."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0]
    assert isinstance(tree, ast.ClassDef)
    found: dict[str, str] = {}
    last: str | None = None
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            last = node.target.id
            found[last] = ""
            continue
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and last:
            found[last] = one_line(str(node.value.value))
        last = None
    return found


def one_line(text: str) -> str:
    """Text with its white space folded."""
    return " ".join(text.split())


def markdown(doc: str) -> Iterator[str]:
    """A docstring as lines of Markdown: examples become blocks of code."""
    in_example = False
    for line in inspect.cleandoc(doc).splitlines():
        if line.startswith(">>> ") and not in_example:
            in_example = True
            yield "```python"
        elif not line and in_example:
            in_example = False
            yield "```"
        yield line
    if in_example:
        yield "```"


def signature_lines(name: str, function: object) -> list[str]:
    """A function's signature as lines of code, without `self`."""
    assert callable(function)
    signature = inspect.signature(function)
    shown = []
    star = False
    for parameter in signature.parameters.values():
        if parameter.name in ("self", "cls"):
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not star:
            star = True
            shown.append("*")
        text = re.sub(r"(: )'([^']*)'", r"\1\2", str(parameter))
        shown.append(text)
    result = signature.return_annotation
    gives = "" if result is inspect.Signature.empty else f" -> {result}"
    line = f"{name}({', '.join(shown)}){gives}"
    if len(line) <= 90:
        return [line]
    return [f"{name}(", *(f"{_INDENT}{each}," for each in shown), f"){gives}"]
