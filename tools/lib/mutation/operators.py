# SPDX-License-Identifier: BSD-2-Clause
"""Operators: all small faults that a source file of C or Python could have.

tree-sitter says where conditions, statements, operators and constants are. An edit replaces only
the text of one of them, so everything else of the file stays as it is.
"""

from __future__ import annotations

import functools
import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import tree_sitter
import tree_sitter_c
import tree_sitter_python

from cellreap.errors import CellreapError
from mutation.faults import Edit, Fault

Node = tree_sitter.Node
Found = tuple[str, Node | int, bytes]
"""An operator, the node to replace or the place to insert at, and the new text."""

_SHOWN: Final = 60  # characters of replaced text in the name of a fault
_TINY: Final = 20  # a replaced text up to this length is shown with its line
_SWAPPED: Final = {
    **{b"<": b"<=", b"<=": b"<", b">": b">=", b">=": b">"},
    **{b"==": b"!=", b"!=": b"==", b"+": b"-", b"-": b"+"},
    **{b"&&": b"||", b"||": b"&&", b"and": b"or", b"or": b"and"},
    **{b"is": b"is not", b"is not": b"is", b"in": b"not in", b"not in": b"in"},
    **{b"+=": b"-=", b"-=": b"+="},
}
_BINARY: Final = {
    "binary_expression",  # C
    *("binary_operator", "boolean_operator", "comparison_operator"),  # Python
    *("assignment_expression", "augmented_assignment"),
}
_CONSTANT: Final = re.compile(rb"[A-Z][A-Z0-9]*_[A-Z0-9_]+\Z")


def find_faults(file: str, text: bytes, ignored: Sequence[str] = ()) -> list[Fault]:
    """All faults that the operators find in a file, in the order of the text.

    ignored: functions whose calls are left alone, for example those that end the program.
    """
    language = {".c": "c", ".h": "c", ".py": "python"}.get(Path(file).suffix)
    if language is None:
        raise CellreapError(f"{file}: no operators for files of this kind")
    root = _parser(language).parse(text).root_node
    constants = sorted({_text(node) for node in _walk(root) if _is_constant(node)})
    names: Counter[str] = Counter()
    faults = []
    for scope, function in _functions(root):
        for operator, at, new in _in_function(language, function, constants, frozenset(ignored)):
            start, end = (at, at) if isinstance(at, int) else (at.start_byte, at.end_byte)
            edit = Edit(file, start, text[start:end], new)
            name = f"{scope}: {operator}: {_shown(edit, text)}"
            names[name] += 1
            if names[name] > 1:
                name += f" ({names[name]})"
            faults.append(Fault(name, (edit,)))
    return faults


def draw(files: Mapping[str, bytes], ignored: Sequence[str], seed: int) -> Iterator[Fault]:
    """The faults of these files in the order of a seed, C and Python in turn."""
    kinds: dict[bool, list[Fault]] = {False: [], True: []}
    for name, text in sorted(files.items()):
        kinds[name.endswith(".py")] += find_faults(name, text, ignored)
    rng = random.Random(seed)
    for faults in kinds.values():
        rng.shuffle(faults)
    for i in range(max(map(len, kinds.values()))):
        yield from (faults[i] for faults in kinds.values() if i < len(faults))


@functools.cache
def _parser(language: str) -> tree_sitter.Parser:
    module = {"c": tree_sitter_c, "python": tree_sitter_python}[language]
    return tree_sitter.Parser(tree_sitter.Language(module.language()))


def _shown(edit: Edit, text: bytes) -> str:
    """The edit in words. An inserted text is shown with the line that follows it."""
    old, new = edit.old, edit.new
    if not old:
        line = text[edit.start :].split(b"\n", 1)[0]
        return f"`{_short(new)}` before `{_short(line)}`"
    shown = f"`{_short(old)}` -> `{_short(new)}`"
    if len(old) > _TINY:
        return shown
    line = text[text.rfind(b"\n", 0, edit.start) + 1 :].split(b"\n", 1)[0]
    return f"{shown} in `{_short(line)}`"


def _short(text: bytes) -> str:
    words = " ".join(text.decode(errors="replace").split())
    return words if len(words) <= _SHOWN else f"{words[: _SHOWN - 3]}..."


def _functions(root: Node) -> Iterator[tuple[str, Node]]:
    """Every function with its name. Functions in functions belong to the outer one."""
    pending = [(root, "")]
    while pending:
        node, scope = pending.pop()
        if node.type == "function_definition":
            yield scope + _name(node), node
            continue
        inner = scope + _name(node) + "." if node.type == "class_definition" else scope
        pending += [(child, inner) for child in reversed(node.children)]


def _name(node: Node) -> str:
    while (inner := node.child_by_field_name("declarator")) is not None:
        node = inner
    named = node.child_by_field_name("name") or node
    return (named.text or b"").decode()


def _in_function(
    language: str, function: Node, constants: Sequence[bytes], ignored: frozenset[str]
) -> Iterator[Found]:
    body = function.child_by_field_name("body")
    if body is None:
        return
    early = _early_c if language == "c" else _early_python
    yield from early(function, body)
    for node in _walk(body):
        yield from _negated(language, node)
        yield from _dropped(language, node, ignored)
        yield from _operators(node)
        yield from _constants(node, constants)


def _walk(node: Node) -> Iterator[Node]:
    pending = [node]
    while pending:
        at = pending.pop()
        yield at
        # What a type or an assertion of the compiler says is no behaviour.
        pending += [c for c in reversed(at.children) if c.type not in ("type", "static_assert")]


def _text(node: Node) -> bytes:
    return node.text or b""


# -- conditions and statements


def _negated(language: str, node: Node) -> Iterator[Found]:
    if node.type not in (
        *("if_statement", "while_statement", "for_statement", "elif_clause", "if_clause"),
        "conditional_expression",
    ):
        return
    condition = node.child_by_field_name("condition")
    if language == "python" and node.type == "conditional_expression":
        condition = node.named_children[1]
    elif node.type == "if_clause":
        condition = node.named_children[0]
    if condition is None:
        return
    if condition.type == "parenthesized_expression" and language == "c":
        condition = condition.named_children[0]
    word = b"!(" if language == "c" else b"(not "
    new = word + _text(condition) + b")"
    yield "negate", condition, new


def _dropped(language: str, node: Node, ignored: frozenset[str]) -> Iterator[Found]:
    if language == "c":
        if node.type == "expression_statement" and node.named_children:
            what = node.named_children[0]
            if what.type in ("call_expression", "assignment_expression", "update_expression") and (
                _called(what) not in ignored
            ):
                yield "drop", node, b"(void)0;"
        elif node.type in ("break_statement", "continue_statement"):
            yield "drop", node, b"(void)0;"
        return
    if node.type == "expression_statement":
        what = node.named_children[0]
        if what.type in ("call", "augmented_assignment", "yield"):
            yield "drop", node, b"pass"
    elif node.type in ("raise_statement", "break_statement", "continue_statement"):
        yield "drop", node, b"pass"


def _called(node: Node) -> str:
    function = node.child_by_field_name("function")
    return _text(function).decode() if function is not None else ""


def _statements(body: Node) -> list[Node]:
    """The statements of a body after its declarations."""
    found = [node for node in body.named_children if node.type != "comment"]
    return [node for node in found if node.type != "declaration"]


def _early_c(function: Node, body: Node) -> Iterator[Found]:
    kind = function.child_by_field_name("type")
    declarator = function.child_by_field_name("declarator")
    void = kind is not None and _text(kind) == b"void"
    void = void and declarator is not None and declarator.type == "function_declarator"
    new = b"return; " if void else b"return 0; "
    for statement in _statements(body):
        if statement.type != "return_statement":
            yield "return early", statement.start_byte, new


def _early_python(function: Node, body: Node) -> Iterator[Found]:
    returned = function.child_by_field_name("return_type")
    statements = _statements(body)
    generator = any(node.type == "yield" for node in _walk(body))
    if generator or (returned is not None and _text(returned) == b"None"):
        for statement in statements:
            if not _is_docstring(statement):
                indent = b" " * statement.start_point.column
                yield "return early", statement.start_byte, b"return\n" + indent
    for node in _walk(body):
        if node.type == "return_statement" and node.named_children:
            value = node.named_children[0]
            if value.type != "none":
                yield "return None", value, b"None"


def _is_docstring(statement: Node) -> bool:
    return statement.type == "expression_statement" and statement.named_children[0].type == "string"


# -- operators and constants


def _operators(node: Node) -> Iterator[Found]:
    if node.type not in _BINARY:
        return
    for child in node.children:
        if not child.is_named or child.type in ("is not", "not in"):
            new = _SWAPPED.get(_text(child))
            if new is not None:
                yield "operator", child, new


def _is_constant(node: Node) -> bool:
    return node.type == "identifier" and _CONSTANT.match(_text(node)) is not None


def _constants(node: Node, constants: Sequence[bytes]) -> Iterator[Found]:
    if node.type in ("number_literal", "integer"):
        yield "off by one", node, _one_more(_text(node))
    elif node.type in ("true", "false"):
        yield "constant", node, b"False" if node.type == "true" else b"True"
    elif _is_constant(node):
        # Another constant of its kind in the file: CR_LIFE_RUNS for CR_LIFE_FROZEN.
        like = [constant for constant in constants if _kind(constant) == _kind(_text(node))]
        if len(like) > 1:
            yield "constant", node, like[(like.index(_text(node)) + 1) % len(like)]


def _kind(constant: bytes) -> list[bytes]:
    words = constant.split(b"_")
    return words[: min(2, len(words) - 1)]


def _one_more(number: bytes) -> bytes:
    match = re.match(rb"(0[xX][0-9a-fA-F_]+|[0-9_]+)(\w*)\Z", number)
    if match is None:
        return b"(" + number + b" + 1)"
    return b"%d" % (int(match[1].decode(), 0) + 1) + match[2]
