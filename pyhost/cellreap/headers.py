# SPDX-License-Identifier: BSD-2-Clause
"""Constants and tables of the C headers, read from the headers themselves.

Facts that C and Python share are written once, in C. This module finds the headers and parses their
enums and X-macro tables. It understands only the plain C of these headers, not the whole language:
an enumerator that it cannot evaluate is an error and is never guessed.

What a header says is kept in the cache, under a name for the header's text and for this module. So
it is parsed once, and not by each process.
"""

from __future__ import annotations

import contextlib
import functools
import operator
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from cellreap.cached import remembered
from cellreap.errors import CellreapError

HOME_VARIABLE = "CELLREAP_HOME"
INSTALLED_SOURCES = "_sources"
"""The folder of the installed package that has the C sources. setup.py makes it."""
_MARK = Path("roottask/include/cellreap/trace_events.h")

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
# What only a C++ compiler sees, such as extern "C".
_CPLUSPLUS = re.compile(
    r"^[ \t]*#[ \t]*ifdef __cplusplus\b.*?^[ \t]*#[ \t]*endif\b[^\n]*$", re.DOTALL | re.MULTILINE
)
_ENUM = re.compile(r"\benum\b\s*(\w+)?\s*\{([^{}]*)\}", re.DOTALL)
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_BADGE = re.compile(
    r"\(\(uint64_t\)kind << (\d+)\) \| "
    r"\(\(uint64_t\)\(generation & (0x[0-9a-f]+)u\) << (\d+)\) \| index;"
)
# The first row of a table: the table's name and the macro of its rows.
_TABLE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+\w+[ \t]+(\w+)\(", re.MULTILINE)
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*\Z")
_INTEGER = re.compile(r"(0[xX][0-9a-fA-F]+|\d+)[uUlL]*\Z")
# The operators of C that an enumerator may use. Those that bind least come first.
_OPERATORS: tuple[dict[str, Callable[[int, int], int]], ...] = (
    {"<<": operator.lshift, ">>": operator.rshift},
    {"+": operator.add, "-": operator.sub},
    {"*": operator.mul},
)
# A cell of a table that is a list of forms: NUMBER(space) FLAG(wait).
_FORMS = re.compile(r"(?:[A-Za-z_]\w*\(\w+(?:,\s*\w+)*\)\s*)+\Z")
# The body of an enum that a table generates: the macro of a row, the table's name, and #undef.
_MADE = re.compile(
    r"\s*#\s*define\s+(\w+)\(([^)]*)\)([^\n]*)\n\s*(\w+)\s*\n\s*#\s*undef\s+\1[ \t]*\n"
)


class HeaderError(CellreapError):
    """The headers are missing, or contain something that this parser does not understand."""


@functools.cache
def source_root() -> Path:
    """The folder with the C sources: $CELLREAP_HOME, else those that were installed with this
    package, else the checkout that contains it.

    HeaderError if there is none.
    """
    named = os.environ.get(HOME_VARIABLE)
    if named is not None:
        root = Path(named)
        if not (root / _MARK).is_file():
            raise HeaderError(
                f"{HOME_VARIABLE}={named}: no {_MARK} there; expected a checkout of cellreap"
            )
        return root.resolve()
    package = Path(__file__).resolve().parent
    for parent in (package / INSTALLED_SOURCES, *package.parents):
        if (parent / _MARK).is_file():
            return parent
    raise HeaderError(f"no checkout of cellreap around {package}; set {HOME_VARIABLE} to one")


def header_path(name: str) -> Path:
    """The path of one of the project's public headers, for example "model.h", or of one that only
    the host uses, for example "host/bulk.h".
    """
    folder = source_root() / "roottask"
    return folder / name if "/" in name else folder / "include" / "cellreap" / name


def read_header(name: str) -> str:
    """The text of a public header without comments and with continued lines joined."""
    return strip(_text(name))


def _text(name: str) -> str:
    return _read(header_path(name))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise HeaderError(f"{path}: cannot be read: {error}") from error


def strip(text: str) -> str:
    """C text without comments, without what only C++ sees, and with continued lines joined."""
    text = _COMMENT.sub(" ", text).replace("\\\r\n", " ").replace("\\\n", " ")
    return _CPLUSPLUS.sub("", text)


def parse_table(text: str, macro: str) -> list[tuple[str | int, ...]]:
    """The rows of an X-macro table: the arguments of each use `macro(a, "b", 3)`, in order.

    Strings are unquoted, integers are int, and other identifiers are str. Lists of forms, such as
    NUMBER(space) FLAG(wait) or FIELD(pd, PD), are str too. `#define macro(...)` lines define the
    expansion of rows and are not rows.
    """
    rows: list[tuple[str | int, ...]] = []
    for line in strip(text).splitlines():
        if re.match(rf"\s*#\s*(define|undef)\s+{macro}\b", line):
            continue
        for use in re.finditer(rf"\b{macro}\s*\(", line):
            rows.append(_arguments(line, use.end(), macro))
    return rows


def _arguments(line: str, start: int, macro: str) -> tuple[str | int, ...]:
    values: list[str | int] = []
    at = start
    while True:
        while at < len(line) and line[at].isspace():
            at += 1
        quoted = _STRING.match(line, at)
        if quoted:
            pieces = []
            while quoted:  # adjacent literals are one string
                pieces.append(quoted.group(1).replace('\\"', '"').replace("\\\\", "\\"))
                at = quoted.end()
                while at < len(line) and line[at].isspace():
                    at += 1
                quoted = _STRING.match(line, at)
            values.append("".join(pieces))
        else:
            end, open_ = at, 0
            while end < len(line) and (open_ or line[end] not in ",)"):
                open_ += {"(": 1, ")": -1}.get(line[end], 0)
                end += 1
            word = line[at:end].strip()
            number = _INTEGER.match(word)
            if number:
                values.append(int(number.group(1), 0))
            elif _IDENTIFIER.match(word) or _FORMS.match(word):
                values.append(word)
            else:
                raise HeaderError(f"a row of {macro}: {word!r} is no string, number or identifier")
            at = end
        if at >= len(line):
            raise HeaderError(f"a row of {macro} is not closed")
        if line[at] == ")":
            return tuple(values)
        at += 1


def expand_enums(text: str) -> str:
    """C text without comments in which the enums that X-macro tables generate are written out.

        typedef enum cr_op {
        #define CR_OPERATION(enumerator, number, ...) enumerator = number,
            CR_OPERATIONS
        #undef CR_OPERATION
        } cr_op;

    An unused parameter may be `...`. An enum whose table is not in the text stays as it is.
    """
    text = strip(text)

    def written_out(enum: re.Match[str]) -> str:
        made = _MADE.search(enum.group(2))
        if made is None:
            return enum.group(0)
        macro, parameters, row_text, table = made.groups()
        defined = re.search(rf"^\s*#\s*define\s+{table}\b([^\n]*)$", text, re.MULTILINE)
        if defined is None:
            return enum.group(0)
        names = [name.strip() for name in parameters.split(",")]
        lines = [
            _with_cells(row_text, dict(zip(names, map(str, row), strict=False)))
            for row in parse_table(defined.group(1), macro)
        ]
        rest = enum.group(2)[: made.start()] + "\n".join(lines) + "\n" + enum.group(2)[made.end() :]
        return enum.group(0).replace(enum.group(2), rest)

    return _ENUM.sub(written_out, text)


def _with_cells(text: str, cells: Mapping[str, str]) -> str:
    return re.sub(r"\w+", lambda word: cells.get(word[0], word[0]), text)


def known_in(text: str) -> dict[str, int]:
    """All enumerators in `text` with their values."""
    return {name: value for each in parse_enums(text).values() for name, value in each.items()}


def parse_enums(text: str, before: Mapping[str, int] | None = None) -> dict[str, dict[str, int]]:
    """Every enum in `text`: tag -> enumerators with their values, in order.

    All enums without a tag share the key "". Enums that a table in the text generates are included.
    An enum whose table is elsewhere is left out. before: enumerators of headers that it includes.
    """
    enums: dict[str, dict[str, int]] = {}
    known = dict(before or {})
    plain = expand_enums(text).splitlines()
    for found in _ENUM.finditer(
        "\n".join(line for line in plain if not line.lstrip().startswith("#define"))
    ):
        tag, body = found.group(1) or "", found.group(2)
        if "#" in body:
            continue
        members = enums.setdefault(tag, {})
        value = -1
        for item in body.split(","):
            if not item.strip():
                continue
            name, _, written = (part.strip() for part in item.partition("="))
            if not _IDENTIFIER.match(name):
                raise HeaderError(f"enum {tag or '(no tag)'}: {name!r} is no enumerator")
            value = _value(written, known, name) if written else value + 1
            known[name] = members[name] = value
    return enums


def _value(written: str, known: dict[str, int], name: str) -> int:
    number = _INTEGER.match(written)
    if number:
        return int(number.group(1), 0)
    if written in known:
        return known[written]
    if written.startswith("(") and written.endswith(")") and _is_one(written[1:-1]):
        return _value(written[1:-1].strip(), known, name)
    for level in _OPERATORS:
        at, sign = max((_last(written, sign), sign) for sign in level)
        left, right = written[: max(at, 0)].strip(), written[at + len(sign) :].strip()
        if left and right:
            return level[sign](_value(left, known, name), _value(right, known, name))
    raise HeaderError(
        f"enumerator {name} = {written}: expected a number or an enumerator before it, "
        "or such with an operator between them"
    )


def _last(written: str, sign: str) -> int:
    """Where this operator is last outside parentheses. -1: it is not."""
    at = written.rfind(sign)
    while at >= 0 and not _is_one(written[:at]):
        at = written.rfind(sign, 0, at)
    return at


def _is_one(text: str) -> bool:
    """Whether each parenthesis in it has its partner in it."""
    open_ = 0
    for char in text:
        open_ += {"(": 1, ")": -1}.get(char, 0)
        if open_ < 0:
            return False
    return open_ == 0


@dataclass(frozen=True)
class _Header:
    """What a header says: its enums, and the rows of its tables by their macro."""

    enums: dict[str, dict[str, int]]
    tables: dict[str, list[tuple[str | int, ...]]]


@functools.lru_cache(maxsize=64)
def _header(text: str, before: str = "") -> _Header:
    """What a header with this text says, from the cache if a process has parsed it before.

    before: the text of the header that it includes.
    """

    told = remembered(
        "headers",
        (_this_module(), text, before),
        lambda: asdict(_parsed(strip(text), known_in(strip(before)))),
    )
    tables = {name: [tuple(row) for row in rows] for name, rows in told["tables"].items()}
    return _Header(told["enums"], tables)


@functools.cache
def _this_module() -> bytes:
    return Path(__file__).read_bytes()


def _parsed(text: str, before: Mapping[str, int]) -> _Header:
    tables = {}
    for macro in dict.fromkeys(_TABLE.findall(text)):
        with contextlib.suppress(HeaderError):  # it is no table; who asks for its rows is told why
            tables[macro] = parse_table(text, macro)
    return _Header(parse_enums(text, before), tables)


def table(header: str, macro: str) -> list[tuple[str | int, ...]]:
    """The rows of one table of a public header. HeaderError if there is no such table."""
    text = _text(header)
    rows = _header(text).tables.get(macro) or parse_table(strip(text), macro)
    if not rows:
        raise HeaderError(f"{header_path(header)}: no rows {macro}(...)")
    return rows


def has_table(header: str, macro: str) -> bool:
    """Whether a public header has a table with such rows."""
    return macro in _header(_text(header)).tables


@functools.cache
def own_table(path: str, macro: str) -> list[tuple[str | int, ...]]:
    """The rows of one table of a header that is not public: its path below the sources."""
    text = _read(source_root() / path)
    return _header(text).tables.get(macro) or parse_table(strip(text), macro)


@functools.cache
def enums(header: str) -> dict[str, dict[str, int]]:
    """The enums of a public header, as from parse_enums."""
    return _header(_text(header)).enums


@functools.cache
def own_enums(path: str) -> dict[str, dict[str, int]]:
    """The enums of a header of the root task that is not public: its path below roottask/.

    They may refer to the limits.
    """
    text = _read(source_root() / "roottask" / path)
    return _header(text, _text("limits.h")).enums


def constant(header: str, name: str) -> int:
    """The value of one enumerator of a public header. HeaderError if there is none."""
    for members in enums(header).values():
        if name in members:
            return members[name]
    raise HeaderError(f"{header_path(header)}: no enumerator {name}")


def own_constant(path: str, name: str) -> int:
    """The value of one enumerator of a header of the root task that is not public.

    HeaderError if there is none.
    """
    for members in own_enums(path).values():
        if name in members:
            return members[name]
    raise HeaderError(f"roottask/{path}: no enumerator {name}")


def text_constant(header: str, name: str) -> str:
    """The text that a macro of a public header stands for. HeaderError if there is none."""
    found = re.search(
        rf"^[ \t]*#[ \t]*define[ \t]+{name}[ \t]+{_STRING.pattern}", read_header(header), re.M
    )
    if found is None:
        raise HeaderError(f"{header_path(header)}: no text {name}")
    return found.group(1)


@functools.cache
def badge_layout() -> tuple[int, int, int]:
    """Of cr_badge in protocol.h: the shift of the kind, the mask and the shift of the generation.

    HeaderError if a badge has another form.
    """
    found = _BADGE.search(read_header("protocol.h"))
    if found is None:
        raise HeaderError("protocol.h: cr_badge is not (kind, generation, index) as it was")
    kind, mask, generation = (int(text, 0) for text in found.groups())
    return kind, mask, generation


def names_of(header: str, tag: str, prefix: str) -> dict[str, int]:
    """The enumerators of an enum by their names in traces: CR_OP_GET_WORK -> "get-work".

    The ..._COUNT that ends an enum is left out.
    """
    members = enums(header).get(tag)
    if members is None:
        raise HeaderError(f"{header_path(header)}: no enum {tag}")
    listed = list(members.items())
    if listed and listed[-1][0].endswith("COUNT"):
        listed.pop()
    return {name.removeprefix(prefix).lower().replace("_", "-"): value for name, value in listed}


def printed_names(header: str, macro: str) -> dict[str, int]:
    """The printed names of a table of (enumerator, number, name, ...): "each" -> 2."""
    return {str(row[2]): int(row[1]) for row in table(header, macro)}


@dataclass(frozen=True)
class Operation:
    """A row of CR_OPERATIONS in protocol.h."""

    enumerator: str
    number: int
    word: str  # "give"; part of the names of the functions that implement it
    topic: str
    arguments: str  # "NUMBER(space) WORD(badge)"; "" for none
    results: str  # "slot, PD number"
    called: str  # PLAIN: the library for PDs has a function that is generated
    told: str  # what the trace tells of its answer: "QUESTION(object)"
    asker: str  # CR_FROM_ANY: doomed PDs may use the operation too
    sentence: str

    @property
    def asks(self) -> bool:
        """Whether the trace has what it is asked about."""
        return self.told.startswith(("QUESTION", "TOLD_OF"))

    @property
    def name(self) -> str:
        """The name in docs and traces: "GIVE"."""
        return self.enumerator.removeprefix("CR_OP_")


@functools.cache
def operations() -> tuple[Operation, ...]:
    """The operations that a PD can ask of the root task."""
    found = []
    for row in table("protocol.h", "CR_OPERATION"):
        if len(row) != 10 or [type(cell) for cell in row] != [str, int, *[str] * 8]:
            raise HeaderError(
                f"{header_path('protocol.h')}: CR_OPERATION{row}: not as the header says"
            )
        enumerator, number, *texts = row
        word, topic, arguments, results, *others = map(str, texts)
        arguments = "" if arguments == "NO_ARGUMENTS" else arguments
        if "PLAIN" in others:
            names = (name for _, name in parse_forms(results))
            results = ", ".join(name.replace("_", " ") for name in names)
        found.append(
            Operation(str(enumerator), int(number), word, topic, arguments, results, *others)
        )
    return tuple(found)


def operation_forms() -> dict[int, tuple[tuple[str, str], ...]]:
    """Number of the operation -> its arguments in order: (form, member of cr_operation_args)."""
    return {each.number: parse_forms(each.arguments) for each in operations()}


def parse_forms(text: str) -> tuple[tuple[str, str], ...]:
    """A list of forms: "NUMBER(space) FLAG(wait)" -> (("NUMBER", "space"), ("FLAG", "wait"))."""
    return tuple((form, member) for form, member in re.findall(r"(\w+)\((\w+)\)", text))


@dataclass(frozen=True)
class EventTable:
    """The events that a trace can contain."""

    version: int
    fields: dict[str, tuple[str, ...]]
    """Event -> its fields in the order in which they are printed."""
    types: dict[tuple[str, str], str]
    """(event, field) -> the field's type."""
    meanings: dict[str, str]
    """Event -> its meaning, one sentence."""
    enumerators: dict[str, str]
    """Event -> its name in C."""


_FIELD = re.compile(r"FIELD\((\w+),\s*(\w+)\)")


def parse_event_table(
    members: Mapping[str, Mapping[str, int]], rows: Sequence[tuple[str | int, ...]], where: str
) -> EventTable:
    """The version and the events of a trace_events.h, of its enums and the rows of its table.

    where: for messages.
    """
    version = members.get("", {}).get("CR_TRACE_VERSION")
    if version is None:
        raise HeaderError(f"{where}: no enumerator CR_TRACE_VERSION")
    table = EventTable(version, {}, {}, {}, {})
    for row in rows:
        if len(row) != 4 or not all(isinstance(cell, str) for cell in row):
            expected = "expected (enumerator, name, fields, meaning)"
            raise HeaderError(f"{where}: CR_TRACE_EVENT{row}: {expected}")
        enumerator, name, listed, meaning = (str(cell) for cell in row)
        if name in table.fields:
            raise HeaderError(f"{where}: event {name} is listed twice")
        table.enumerators[name] = enumerator
        typed = _FIELD.findall(listed)
        table.fields[name] = tuple(field for field, _ in typed)
        table.types.update(((name, field), type_name) for field, type_name in typed)
        table.meanings[name] = meaning
    if "TRACE" not in table.fields or "END" not in table.fields:
        raise HeaderError(f"{where}: no TRACE or no END among the events")
    return table


@functools.cache
def event_table() -> EventTable:
    """The events that the root task of this checkout writes."""
    name = "trace_events.h"
    return parse_event_table(enums(name), table(name, "CR_TRACE_EVENT"), str(header_path(name)))
