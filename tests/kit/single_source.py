# SPDX-License-Identifier: BSD-2-Clause
"""Comparisons of the copies of a fact: in a C header, in the docs, and in independent Python code.

Each comparison reads the checkout that `cellreap.headers.source_root` names. It raises
AssertionError with the differing fact in the message. Most facts have no copy, because Python reads
them from the headers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Set
from pathlib import Path

from cellreap import headers
from cellreap.trace.events import field_types
from kit.docs_tables import check_table, table_lines

Comparison = Callable[[], None]

TRACE_PAGE = "docs/trace-format.md"
LIMITS_PAGE = "docs/architecture.md"
STATUS_PAGE = "docs/status.md"


def path_of(name: str) -> Path:
    """A file of the checkout."""
    return headers.source_root() / name


def text_of(name: str) -> str:
    """The text of a file of the checkout."""
    return path_of(name).read_text(encoding="utf-8")


# -- tables in the docs


def event_lines() -> list[str]:
    """The table of trace events as the docs have it."""
    table = headers.event_table()
    rows = []
    for name, fields in table.fields.items():
        typed = ", ".join(f"{field}: {shown(table.types[name, field])}" for field in fields)
        rows.append((f"`{name}`", typed, table.meanings[name]))
    return table_lines(("event", "fields", "meaning"), rows)


def type_lines() -> list[str]:
    """The table of field types as the docs have it, with the words that a type allows."""
    return table_lines(
        ("type", "value"), [(shown(each.name), each.expected) for each in field_types().values()]
    )


def word_lines(what: str) -> list[str]:
    """The table of settings or of changes as the docs have it."""
    rows = headers.table("trace_events.h", f"CR_{what.upper()}")
    return table_lines(
        (what, "meaning"), [(f"`{word}`", str(meaning)) for _, _, word, meaning in rows]
    )


def limit_lines() -> list[str]:
    """The table of the root task's limits as the docs have it."""
    rows = headers.table("limits.h", "CR_SYSTEM_LIMIT")
    return table_lines(
        ("limit", "", "what it limits"),
        [(f"`{name}`", f"{number:,}", str(what)) for name, number, what in rows],
    )


def shown(type_name: str) -> str:
    """A field's type as the docs write it: PD_OR_NONE -> "pd-or-none"."""
    return type_name.lower().replace("_", "-")


def events_in_docs(rewrite: bool = False) -> None:
    """Compares the table of events."""
    check_table(path_of(TRACE_PAGE), "trace events", event_lines(), rewrite)


def types_in_docs(rewrite: bool = False) -> None:
    """Compares the table of field types."""
    check_table(path_of(TRACE_PAGE), "field types", type_lines(), rewrite)
    for what in ("setting", "change"):
        check_table(path_of(TRACE_PAGE), f"{what}s", word_lines(what), rewrite)


def table_limit_lines() -> list[str]:
    """The table of the sizes of the root task's tables."""
    return table_lines(
        ("limit", "at most", "bytes each", "what it limits"),
        [
            (f"`{name}`", f"{most:,}", f"{size:,}", str(what))
            for name, most, _, size, what in headers.table("limits.h", "CR_TABLE_LIMIT")
        ],
    )


def limits_in_docs(rewrite: bool = False) -> None:
    """Compares the tables of limits."""
    check_table(path_of(LIMITS_PAGE), "sizes of the tables", table_limit_lines(), rewrite)
    check_table(path_of(LIMITS_PAGE), "limits of the root task", limit_lines(), rewrite)


def operations_in_docs() -> None:
    """Compares the name and the number of each operation."""
    found = {
        (name, int(number))
        for name, number in re.findall(
            r"^\| `([A-Z_]+)` (\d+) \|.*→", text_of("docs/operations.md"), re.MULTILINE
        )
    }
    same(
        "operations in docs/operations.md",
        found,
        {(each.name, each.number) for each in headers.operations()},
    )


def steps_in_docs() -> None:
    """Compares the names of the traced steps, which are all but the last."""
    found = set(re.findall(r"^ +\| `([a-z-]+)` \| ", text_of(TRACE_PAGE), re.MULTILINE))
    names = set(headers.printed_names("steps.h", "CR_STEP"))
    same(f"steps in {TRACE_PAGE}", found, names - {"settle"})


# -- numbers in prose

NUMBERS: list[tuple[str, str, str, Callable[[int], int]]] = [
    (STATUS_PAGE, r"(\d[\d,]*)\s+PDs\s+at\s+a\s+time", "CR_MAX_PDS", int),
    (STATUS_PAGE, r"(\d[\d,]*)\s+nodes\s+and", "CR_MAX_NODES", int),
    (STATUS_PAGE, r"(\d[\d,]*)\s+edges", "CR_MAX_EDGES", int),
    (STATUS_PAGE, r"(\d[\d,]*)\s+spaces\s+of", "CR_MAX_SPACES", int),
    (STATUS_PAGE, r"spaces\s+of\s+(\d[\d,]*)\s+types", "CR_MAX_TYPES", int),
    (
        STATUS_PAGE,
        r"(\d[\d,]*)\s+capability\s+slots\s+a\s+PD",
        "CR_CSPACE_BITS_MAX",
        lambda bits: 1 << bits,
    ),
    (
        STATUS_PAGE,
        r"(\d[\d,]*)\s+may\s+wait\s+for\s+its\s+acknowledgement",
        "CR_MAX_LOST_SLOTS",
        int,
    ),
    (STATUS_PAGE, r"(\d[\d,]*)\s+tickets", "CR_MAX_TICKETS", int),
    ("README.md", r"lacks\s+at\s+most\s+its\s+last\s+(\d[\d,]*)\s+lines", "CR_TRACE_MOST", int),
    (TRACE_PAGE, r"While\s+(\d[\d,]*)\s+slots", "CR_MAX_LOST_SLOTS", int),
    (TRACE_PAGE, r"after\s+(\d[\d,]*)\s+of\s+a\s+PD", "CR_REFUSALS_TOLD", int),
    (TRACE_PAGE, r"up\s+to\s+(\d[\d,]*)\s+in\s+a\s+\*REFUSED\*", "CR_REFUSALS_SUM", int),
    (
        TRACE_PAGE,
        r"root\s+task's\s+are\s+at\s+most\s+(\d[\d,]*)\s+KiB",
        "CR_TRACE_LINE_MAX",
        lambda n: n // 1024,
    ),
    ("pyhost/cellreap/trace/rules.txt", r"or while (\d+) cleanups wait", "CR_MAX_CLEANUPS", int),
    (
        "pyhost/cellreap/system/config/schema.py",
        r"_Priority = .*le=(\d+)\)",
        "CR_PRIORITY_MAX",
        int,
    ),
    (
        "pyhost/cellreap/system/config/schema.py",
        r"_CspaceBits = .*ge=(\d+),",
        "CR_CSPACE_BITS_MIN",
        int,
    ),
    (
        "pyhost/cellreap/system/config/schema.py",
        r"_CspaceBits = .*le=(\d+)\)",
        "CR_CSPACE_BITS_MAX",
        int,
    ),
    (
        "pyhost/cellreap/system/config/schema.py",
        r"_StackPages = .*le=(\d+)\)",
        "CR_STACK_PAGES_MAX",
        int,
    ),
]
"""(file, a pattern that finds one number in it, limit of limits.h, how the number is computed)"""


def numbers_in_prose() -> None:
    """Compares numbers outside tables with the limits."""
    for name, pattern, limit, made in NUMBERS:
        found = re.findall(pattern, text_of(name))
        wanted = made(headers.constant("limits.h", limit))
        assert found, f"{name}: no number of {limit}, expected one at {pattern}"
        for number in found:
            assert int(number.replace(",", "")) == wanted, (
                f"{name}: {limit}: {number}, expected {wanted:,}"
            )


# -- vocabularies that the independent side keeps itself


def core_types() -> None:
    """The types that the root task manages: of the core, the two references and the docs."""
    wanted = {str(row[0]) for row in headers.table("model.h", "CR_CORE_TYPE")}
    ids = listed(
        "pyhost/cellreap/model/ids.py",
        r"CORE_TYPES: Final = frozenset\(\s*\{(.*?)\}\s*\)",
        r'"(\w+)"',
    )
    decoder = listed("tests/kit/decode_reference.py", r'CORE: Final = frozenset\(b"(.*?)"', r"\w+")
    docs = listed("docs/semantics.md", r"The types `([A-Z ]+)` are \*core\* types", r"\w+")
    same("core types in ids.py", ids, wanted)
    same("core types in decode_reference.py", decoder, wanted)
    same("core types in docs/semantics.md", docs, wanted)


def edge_kinds() -> None:
    """The kinds of edge that are rows of a model state."""
    wanted = {str(row[2]) for row in headers.table("model.h", "CR_EDGE_KIND")} - {""}
    found = listed(
        "pyhost/cellreap/model/edges.py", r"EDGE_KINDS: .*?= \{(.*?)\n\}", r'^ *"(\w+)": EdgeKind'
    )
    same("kinds of edge in edges.py", found, wanted)


def node_kinds() -> None:
    """The kinds of node that are rows of a model state."""
    wanted = {str(row[2]) for row in headers.table("model.h", "CR_NODE_KIND")} - {""}
    found = listed("pyhost/cellreap/model/ids.py", r"NodeKind = Literal\[(.*?)\]", r'"(\w+)"')
    same("kinds of node in ids.py", found, wanted)


def fault_kinds() -> None:
    """The summary explains kinds of fault by their names."""
    known = set(headers.printed_names("protocol.h", "CR_FAULT_KIND"))
    used = set(
        re.findall(
            r'event\["kind"\] == "([a-z]+-[a-z]+)"', text_of("pyhost/cellreap/trace/faults.py")
        )
    )
    assert used, "faults.py: no kind of fault"
    assert used <= known | {"pre-destroy"}, f"kinds of fault in faults.py: {sorted(used - known)}"


def modes() -> None:
    """The modes that a configuration can ask for."""
    found = listed(
        "pyhost/cellreap/system/config/schema.py",
        r"_Mode = Annotated\[Literal\[(.*?)\]",
        r'"(\w+)"',
    )
    same("modes in schema.py", found, set(headers.printed_names("trace_events.h", "CR_MODE")))


COMPARISONS: dict[str, Comparison] = {
    "events": events_in_docs,
    "types": types_in_docs,
    "limits": limits_in_docs,
    "numbers": numbers_in_prose,
    "operations": operations_in_docs,
    "steps": steps_in_docs,
    "core types": core_types,
    "edge kinds": edge_kinds,
    "node kinds": node_kinds,
    "fault kinds": fault_kinds,
    "modes": modes,
}


def listed(name: str, place: str, item: str) -> set[str]:
    """All matches of `item` within the one place of a file that `place` describes."""
    found = re.findall(place, text_of(name), re.DOTALL)
    assert len(found) == 1, f"{name}: expected one {place}, found {len(found)}"
    return set(re.findall(item, found[0], re.MULTILINE))


def same(what: str, found: Set[object], wanted: Set[object]) -> None:
    """Asserts that two sets are equal. The message lists missing and extra members."""
    more, missing = sorted(map(str, found - wanted)), sorted(map(str, wanted - found))
    assert found == wanted, f"{what}: not in the header: {more}; missing: {missing}"
