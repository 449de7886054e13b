# SPDX-License-Identifier: BSD-2-Clause
"""docs/configuration.md: every key, made of the schema and of the configurations that are refused.

A key, a default or a message that changes makes the page differ. `--rewrite` writes it anew.
"""

from __future__ import annotations

import re
import sys
import textwrap
import typing
from collections.abc import Iterator
from types import UnionType
from typing import Any, Literal, get_args, get_origin

import pytest
from pydantic import BaseModel, WrapValidator

from cellreap.system.config import reading, schema
from cellreap.system.config.schema import Config
from cellreap.system.toml_tables import Table
from kit.docs_tables import check_table, table_lines
from kit.docstrings import attribute_docs, one_line
from kit.paths import BAD_CONFIGS, BAD_PROGRAMS, ROOT

PAGE = ROOT / "docs" / "configuration.md"
NAMED = {
    "a lower-case name: a letter, then letters, digits and _, at most 31 characters": "name",
    "a lower-case name: a letter, then letters, digits, _ and -, at most 31 characters": (
        "name of a system"
    ),
    "an upper-case type: a letter, then letters, digits and _, at most 15 characters": "type",
}
"""Values that many keys have: the page describes them once."""
ANYWHERE = re.compile(r"expected .*, got |unknown key; |missing: this key is required")
"""Messages of every key, which the page describes once."""


def tables() -> dict[tuple[str, ...], type[Table]]:
    """The tables by their path, in the order of the schema. The empty path is the file itself."""
    found: dict[tuple[str, ...], type[Table]] = {}

    def add(path: tuple[str, ...], table: type[Table]) -> None:
        found[path] = table
        for key, annotation in hints(table).items():
            inner = table_in(annotation)
            if inner is not None:
                add((*path, key), inner)

    add((), Config)
    return found


def hints(table: type[Table]) -> dict[str, Any]:
    """Key, as the file has it -> annotation with its metadata."""
    names = vars(sys.modules[table.__module__])
    found = typing.get_type_hints(table, names, include_extras=True)
    fields = table.model_fields
    return {field.alias or name: found[name] for name, field in fields.items()}


def table_in(annotation: Any) -> type[Table] | None:
    """The table that a key has, or has a list of."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation if issubclass(annotation, Table) else None
    inner = (table_in(each) for each in get_args(annotation))
    return next((each for each in inner if each is not None), None)


def value_of(annotation: Any) -> str:
    """What a key's value must be."""
    for extra in getattr(annotation, "__metadata__", ()):
        if isinstance(extra, WrapValidator) and isinstance(extra.func, schema.Expecting):
            text = extra.func.what
            return f"a [{NAMED[text]}](#names)" if text in NAMED else text
    table = table_in(annotation)
    if hasattr(annotation, "__metadata__"):
        return value_of(get_args(annotation)[0])
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is tuple:
        of = "tables" if table is not None else f"each {value_of(args[0])}"
        return "tables" if table is not None else f"a list, {of}"
    if origin in (UnionType, typing.Union):
        (only,) = [each for each in args if each is not type(None)]
        return value_of(only)
    assert table is not None, annotation
    return "a table"


def default_of(table: type[Table], name: str) -> str:
    field = table.model_fields[name]
    if field.is_required():
        return "required"
    value = field.default
    if value is None:
        return ""
    if isinstance(value, BaseModel):
        return "empty"
    if isinstance(value, (tuple, dict)):
        assert not value
        return "`[]`" if isinstance(value, tuple) else "`{}`"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{value}`" if isinstance(value, int) else f'`"{value}"`'


def heading(path: tuple[str, ...]) -> str:
    is_list = get_origin(_strip(hints(tables()[path[:-1]])[path[-1]])) is tuple
    name = ".".join(path)
    return f"[[{name}]]" if is_list else f"[{name}]"


def _strip(annotation: Any) -> Any:
    return get_args(annotation)[0] if hasattr(annotation, "__metadata__") else annotation


def messages() -> dict[tuple[str, ...], list[str]]:
    """The path of a key -> the messages about it, as the refused configurations have them."""
    found: dict[tuple[str, ...], list[str]] = {}
    for folder in (BAD_CONFIGS, BAD_PROGRAMS):
        for path in sorted(folder.glob("*.err")):
            place = re.fullmatch(r"[^:]*:\d+: ([a-z_.\[\]0-9]+): (.*)", path.read_text().strip())
            if place is None or ANYWHERE.match(place[2]):
                continue
            at = tuple(re.sub(r"\[\d+\]", "", place[1]).split("."))
            text = re.sub(r"`", "'", place[2])
            found.setdefault(at, []).append(f"{place[1]}: {text}")
    return found


def page() -> Iterator[str]:
    said = messages()
    for path, table in tables().items():
        if not path:
            assert all(table_in(of) is not None for of in hints(table).values())
            continue
        yield from ("", f"## {heading(path)}", "")
        about = one_line(table.__doc__ or "").partition(": ")[2]
        yield from textwrap.wrap(about[:1].upper() + about[1:], 100)
        yield ""
        docs = attribute_docs(table)
        rows = []
        for (key, annotation), name in zip(hints(table).items(), table.model_fields, strict=True):
            shown = f"`{key}`"
            rows.append([shown, value_of(annotation), default_of(table, name), docs[name]])
        yield from table_lines(("key", "value", "default", "meaning"), rows)
        own = [text for key in hints(table) for text in said.get((*path, key), ())]
        own += said.get(path, [])
        if own:
            yield from ("", "Refused, among others:", "", "```", *own, "```")
    yield ""


@pytest.mark.behaviour("Y-08")
def test_the_page_has_every_key(rewrite: bool) -> None:
    check_table(PAGE, "keys", list(page()), rewrite)


@pytest.mark.behaviour("Y-08")
def test_the_page_describes_the_values_that_many_keys_have(rewrite: bool) -> None:
    rows = [[name, text] for text, name in NAMED.items()]
    check_table(PAGE, "names", table_lines(("value", "meaning"), rows), rewrite)


def test_every_key_has_a_sentence() -> None:
    for table in tables().values():
        docs = attribute_docs(table)
        assert docs.keys() >= table.model_fields.keys()
        for name in table.model_fields:
            assert docs[name].endswith((".", "`")), f"{table.__name__}.{name}: {docs[name]!r}"
        assert table.__doc__


def test_every_table_is_known_to_messages_about_unknown_keys() -> None:
    assert {(): Config, **reading._TABLES} == tables()


def test_messages_are_about_keys_that_exist() -> None:
    """`said` and `exits` have names of PDs as keys."""
    paths = {(*path, key) for path, table in tables().items() for key in hints(table)}
    known = paths | set(tables())
    for at in messages():
        assert at in known or at[:2] in known, at


def test_a_key_without_a_sentence_would_be_found() -> None:
    class Wrong(Table):
        first: Literal["a"] = "a"
        """Has one."""
        second: Literal["a"] = "a"

    assert attribute_docs(Wrong) == {"first": "Has one.", "second": ""}
