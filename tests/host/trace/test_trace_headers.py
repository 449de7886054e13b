# SPDX-License-Identifier: BSD-2-Clause
"""Reading constants and tables out of the C headers."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cellreap import headers
from cellreap.headers import HeaderError, parse_enums, parse_event_table, parse_table


@pytest.fixture
def forget_root() -> Iterator[None]:
    headers.source_root.cache_clear()
    yield
    headers.source_root.cache_clear()


def test_tables() -> None:
    text = """
    /* ROW(not, a, row) */
    #define ROWS \\
        ROW(FIRST, "a b", 3) /* why */ \\
        ROW(SECOND, "with, comma" " and more", 0x10)
    #define ROW(a, b, c) a,
    """
    assert parse_table(text, "ROW") == [("FIRST", "a b", 3), ("SECOND", "with, comma and more", 16)]


@pytest.mark.parametrize("row", ['ROW(A, "b"', "ROW(A, b + 1)", "ROW(A,)"])
def test_rows_that_are_not_plain_are_errors(row: str) -> None:
    with pytest.raises(HeaderError, match="a row of ROW"):
        parse_table(f"#define ROWS {row}", "ROW")


def test_enums() -> None:
    text = """
    enum { ONE = 1, /* one */ TWO, SAME = ONE };
    typedef enum colour { RED, GREEN = 0x7, BLUE } colour; // colours
    typedef enum made {
    #define X(a) a,
        XS
    #undef X
    } made;
    """
    assert parse_enums(text) == {
        "": {"ONE": 1, "TWO": 2, "SAME": 1},
        "colour": {"RED": 0, "GREEN": 7, "BLUE": 8},
    }


@pytest.mark.parametrize("text", ["enum { A = B };", "enum { A = 1 ^ 3 };", "enum { 3 };"])
def test_enumerators_that_cannot_be_evaluated_are_errors(text: str) -> None:
    with pytest.raises(HeaderError):
        parse_enums(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            'CR_TRACE_EVENT(A, "TRACE", FIELD(version, NUMBER), "x")',
            "no enumerator CR_TRACE_VERSION",
        ),
        (
            "enum { CR_TRACE_VERSION = 1 };\n"
            'CR_TRACE_EVENT(A, "TRACE", FIELD(version, NUMBER), "x")',
            "no TRACE or no END",
        ),
        (
            'enum { CR_TRACE_VERSION = 1 }; CR_TRACE_EVENT(A, "TRACE")',
            "expected .enumerator, name, fields.",
        ),
        (
            "enum { CR_TRACE_VERSION = 1 };\n"
            'CR_TRACE_EVENT(A, "END", FIELD(count, NUMBER), "x")\n'
            'CR_TRACE_EVENT(B, "END", FIELD(count, NUMBER), "x")',
            "END is listed twice",
        ),
    ],
)
def test_event_tables_that_are_none(text: str, message: str) -> None:
    with pytest.raises(HeaderError, match=message):
        parse_event_table(parse_enums(text), parse_table(text, "CR_TRACE_EVENT"), "here.h")


def test_the_parser_agrees_with_the_compiler(tmp_path: Path) -> None:
    """Every enumerator of every public header has the value that the compiler gives it."""
    folder = headers.header_path("x").parent
    checked = 0
    lines = []
    for header in sorted(folder.glob("*.h")):
        lines.append(f"#include <cellreap/{header.name}>")
        for members in headers.enums(header.name).values():
            for name, value in members.items():
                lines.append(f'_Static_assert((unsigned){name} == {value}u, "{name}");')
                checked += 1
    source = tmp_path / "values.c"
    source.write_text("\n".join([*lines, "int unused;"]))
    include = str(folder.parent)
    done = subprocess.run(
        ["gcc", "-std=c11", "-fsyntax-only", f"-I{include}", str(source)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert checked > 100


def test_names_in_traces() -> None:
    kinds = headers.names_of("policy.h", "cr_notice_kind", "CR_NOTICE_")
    wanted = "free destroy disconnect lost pre-destroy extract probe fault"
    assert list(kinds) == wanted.split()
    assert headers.names_of("steps.h", "cr_step_kind", "CR_STEP_")["cut-request"] == 2
    with pytest.raises(HeaderError, match=re.escape("steps.h: no enum cr_nothing")):
        headers.names_of("steps.h", "cr_nothing", "")


def test_constants() -> None:
    assert headers.constant("policy.h", "CR_DEPTH_INF") == 0xFFFFFFFF
    with pytest.raises(HeaderError, match="no enumerator CR_NOTHING"):
        headers.constant("policy.h", "CR_NOTHING")


@pytest.mark.usefixtures("forget_root")
def test_the_checkout_is_found_around_the_package_or_where_one_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(headers.HOME_VARIABLE, raising=False)
    here = headers.source_root()
    assert (here / "roottask").is_dir()
    headers.source_root.cache_clear()
    monkeypatch.setenv(headers.HOME_VARIABLE, str(here))
    assert headers.source_root() == here
    headers.source_root.cache_clear()
    monkeypatch.setenv(headers.HOME_VARIABLE, str(tmp_path))
    with pytest.raises(
        HeaderError, match=f"{headers.HOME_VARIABLE}={re.escape(str(tmp_path))}: no roottask"
    ):
        headers.source_root()


@pytest.mark.usefixtures("forget_root")
def test_a_header_that_is_missing_is_named() -> None:
    with pytest.raises(HeaderError, match=r"nothing\.h: cannot be read"):
        headers.read_header("nothing.h")


ASKED = """
import sys
from cellreap import headers
parsed, texts = headers._parsed, []
headers._parsed = lambda text, before: (texts.append(text), parsed(text, before))[1]
import cellreap.cli.campaign_cmd, cellreap.cli.run_cmd
for path in sorted(headers.header_path("x").parent.glob("*.h")):
    headers.enums(path.name)
headers.event_table(), headers.operations(), headers.own_enums("system/body.h")
print(len(texts), headers.constant("policy.h", "CR_DEPTH_INF"))
"""


def test_each_header_is_parsed_once_and_not_by_each_process(tmp_path: Path) -> None:
    root = tmp_path / "checkout"
    for folder in ("roottask", "platforms"):
        shutil.copytree(headers.source_root() / folder, root / folder)
    env = {
        **os.environ,
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        headers.HOME_VARIABLE: str(root),
    }

    def parsed() -> tuple[int, int]:
        """How many headers a process parsed, and the number that it read in one of them."""
        done = subprocess.run(
            [sys.executable, "-c", ASKED], env=env, capture_output=True, text=True, check=True
        )
        count, number = done.stdout.split()
        return int(count), int(number)

    others = 5  # system/body.h, platforms.h, and one of each architecture
    public = len(list((root / "roottask/include/cellreap").glob("*.h")))
    infinite = headers.constant("policy.h", "CR_DEPTH_INF")
    assert parsed() == (public + others, infinite)
    assert parsed() == (0, infinite)
    edited = root / "roottask/include/cellreap/policy.h"
    edited.write_text(edited.read_text().replace("0xffffffff", "0xfffffffe"))
    assert parsed() == (1, infinite - 1)
    for path in (tmp_path / "cache/cellreap/headers").iterdir():
        path.write_bytes(path.read_bytes()[:-1])
    assert parsed() == (public + others, infinite - 1)
    assert parsed() == (0, infinite - 1)
