# SPDX-License-Identifier: BSD-2-Clause
"""What --json prints is what the schema in the package says, for every command and failure.

The helpers of all tests that run commands check what --json prints (`check_printed`).
"""

from __future__ import annotations

import copy
import importlib
import io
import json
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cellreap import output
from cellreap.cli.conformance_cmd import conformance_json, read_console
from cellreap.cli.main import _COMMANDS
from cellreap.model.plan import WHYS
from cellreap.output import OUTPUTS, versioned
from cellreap.runs.boot import Boot, End
from cellreap.system.sdk import load_sdk
from cellreap.trace.reading import read_trace, reading_json
from cellreap.trace.report import Word
from kit.command_line import cellreap, cellreap_json
from kit.docs_tables import check_table, table_lines
from kit.docstrings import attribute_docs, one_line
from kit.kept_traces import read_file
from kit.output_schema import FILE, bases, definitions, docs_of, faults, generated, text
from kit.paths import CONFIGS, DATA, GOLDENS, MICROKIT, ROOT
from kit.records import line_with
from kit.sdk_kit import make_sdk
from kit.small_checkout import NEEDS_TOOLCHAIN, Bench
from kit.small_runs import trace

SCHEMA = ROOT / "pyhost" / "cellreap" / FILE
PAGE = ROOT / "docs" / "json.md"
RECORDED = DATA / "goldens"
HANG = RECORDED / "hang.trace"


def hang() -> dict[str, Any]:
    return reading_json(read_file(HANG))


# -- the schema


@pytest.mark.behaviour("Y-08")
def test_the_schema_in_the_package_is_that_of_the_definitions(rewrite: bool) -> None:
    if rewrite:
        SCHEMA.write_text(text(), encoding="utf-8")
    assert SCHEMA.read_text(encoding="utf-8") == text()


def test_every_key_has_a_sentence() -> None:
    for name, kind in definitions().items():
        assert kind.__doc__, name
        for key, sentence in docs_of(kind).items():
            assert sentence.endswith("."), f"{name}.{key}: {sentence!r}"


def test_every_command_has_json_and_a_schema() -> None:
    for name, (module, attribute, _) in _COMMANDS.items():
        command = getattr(importlib.import_module(module), attribute)
        assert any("--json" in option.opts for option in command.params), name
    assert _COMMANDS.keys() == OUTPUTS.keys()


def test_words_are_those_of_the_code() -> None:
    def words(alias: Any) -> set[str]:
        return set(alias.__args__)

    assert words(output.CrashWord) == {str(word) for word in Word}
    assert words(output.Why) == set(WHYS)
    assert words(output.Ending) == {end.name.lower() for end in End}


def objects(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if schema.get("type") == "object":
        yield schema
    for value in schema.values():
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, dict):
                yield from objects(each)


@pytest.mark.behaviour("Y-08")
def test_unknown_keys_are_forbidden_everywhere() -> None:
    found = list(objects(generated()))
    assert len(found) > 20
    for each in found:
        # A mapping whose keys are ids or names has a schema for its values instead.
        more = each["additionalProperties"]
        assert more is False or (isinstance(more, dict) and more and "properties" not in each)


BY_KEY = ("names", "exits", "kernel_calls", "doomed_why", "registers", "rsi_min")


def places(shown: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of all objects with fixed keys in a report."""
    if isinstance(shown, dict):
        if not at or at[-1] not in BY_KEY:
            yield at
        for key, value in shown.items():
            yield from places(value, (*at, key))
    elif isinstance(shown, list):
        for index, value in enumerate(shown):
            yield from places(value, (*at, index))


@pytest.mark.behaviour("Y-08")
def test_a_report_with_one_key_more_less_or_wrong_is_refused() -> None:
    good = versioned("check", hang())
    assert faults(good) == []
    for place in places(good):
        more = copy.deepcopy(good)
        into: Any = more
        for step in place:
            into = into[step]
        into["surplus"] = 1
        assert faults(more), place
    for key in ("version", "names", "alive", "said", "cleanups"):
        assert faults({name: value for name, value in good.items() if name != key}), key
    assert faults({**good, "version": 2})
    assert faults({**good, "command": "run"})
    assert faults({**good, "verdict": "maybe"})


# -- the page


@pytest.mark.behaviour("Y-08")
def test_the_page_has_every_key(rewrite: bool) -> None:
    check_table(PAGE, "objects", list(page()), rewrite)


def page() -> Iterator[str]:
    found = definitions()
    commands = {kind.__name__ for kind in OUTPUTS.values()}
    for title, which in (
        ("What each command prints", [name for name in found if name in commands]),
        ("Objects in them", [name for name in found if name not in commands]),
    ):
        yield from ("", f"## {title}")
        for name in which:
            yield from ("", f"### {name}", "", *textwrap.wrap(one_line(found[name].__doc__ or "")))
            also = [f"[{base.__name__}](#{base.__name__.lower()})" for base in bases(found[name])]
            if also:
                yield from ("", f"It has all keys of {' and of '.join(also)}, and these:")
            rows = [
                [f"`{key}`" + ("" if required else " (optional)"), type_of(value), sentence]
                for key, sentence, value, required in keys_of(name)
            ]
            yield from ("", *table_lines(("key", "type", "meaning"), rows))
    yield ""


def keys_of(name: str) -> list[tuple[str, str, dict[str, Any], bool]]:
    """Key, sentence, schema, and whether it is always there, of the keys of an object itself."""
    found, described = definitions(), generated()["$defs"]

    def has(kind: type[Any]) -> bool:
        return kind is found[name] or any(map(has, bases(kind)))

    # An object that is only part of others is not described by itself.
    whole = next(described[each] for each in described if has(found[each]))
    return [
        (key, sentence, whole["properties"][key], key in whole["required"])
        for key, sentence in attribute_docs(found[name]).items()
    ]


def type_of(schema: dict[str, Any]) -> str:
    """A type in words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(type_of(each) for each in schema["anyOf"])
    if "const" in schema or "enum" in schema:
        return " or ".join(
            f"`{json.dumps(each)}`" for each in schema.get("enum", [schema.get("const")])
        )
    if "prefixItems" in schema:
        return f"[{', '.join(type_of(each) for each in schema['prefixItems'])}]"
    if schema["type"] == "array":
        return f"list of {type_of(schema['items'])}"
    if schema["type"] == "object":
        return f"object of {type_of(schema['additionalProperties'])} by id or name"
    return str(schema["type"])


# -- what commands print


@pytest.mark.behaviour("Y-08")
@pytest.mark.parametrize(
    "path",
    [*sorted(GOLDENS.glob("*.trace")), *sorted(RECORDED.glob("*/*.trace"))],
    ids=lambda path: path.name,
)
def test_the_report_on_every_recorded_trace(path: Path) -> None:
    with path.open("rb") as stream:
        shown = reading_json(read_trace(stream, path.name))
    assert faults(versioned("check", shown)) == []


@pytest.mark.behaviour("Y-08")
def test_a_damaged_trace_is_reported_as_the_schema_says() -> None:
    lines = HANG.read_bytes().splitlines(keepends=True)
    for keep in range(20, len(lines), 40):
        for rest in (lines[:keep], lines[: keep - 1] + lines[keep:]):
            reading = read_trace(io.BytesIO(b"".join(rest)), "damaged")
            assert faults(versioned("check", reading_json(reading))) == []
            assert not reading.report.passed


@pytest.mark.behaviour("Y-08")
def test_the_object_has_what_the_story_tells() -> None:
    shown = hang()
    assert [shown["names"][pd] for pd in shown["alive"]] == ["bystander", "client", "server"]
    assert [shown["names"][pd] for pd in shown["dead"]] == ["server", "quitter"]
    assert shown["exits"] == {"quitter": 2}
    first, second = shown["cleanups"]
    assert first["how"] == "exit with code 2"
    assert first["acknowledged"] == {"owed": 1, "ok": 0, "failed": 0}
    assert second["how"].startswith("missed its deadline of 100 ms for notice 1")
    assert second["acknowledged"] == {"owed": 1, "ok": 1, "failed": 0}
    assert second["order"][0] == "THING_SPACE_4"
    assert second["freed"]["slots"] == 2
    assert second["freed"]["bytes"] >= 4096
    assert shown["in_use"]["bytes"] > second["freed"]["bytes"]
    last = shown["said"][-1]
    assert (last["pd"], last["after"]) == (shown["alive"][1], 2)
    assert last["text"].startswith("asked 12: answered 11")


@pytest.mark.behaviour("Y-08")
def test_plans_and_lists(tmp_path: Path) -> None:
    for source, more in (
        (DATA / "scenario.csv", ("--explain", "db")),
        (CONFIGS / "block_fs_db_app.toml", ("--incomplete",)),
        (RECORDED / "block_fs_db_app-0-0.trace", ("--after", "0")),
    ):
        code, shown = cellreap_json(
            "plan", str(source), "--crash", "block_server_1", "--engine", "reference", *more
        )
        assert (code, shown["version"], shown["command"]) == (0, 1, "plan")
        assert ("explain" in shown) == bool(more and more[0] == "--explain")
    assert cellreap_json("programs")[0] == 0
    assert cellreap_json("import", str(MICROKIT / "storage.system"))[0] == 0
    assert cellreap_json("show", str(HANG))[0] == 0
    code, shown = cellreap_json("init", str(tmp_path / "mine"))
    assert (code, shown["name"]) == (0, "mine")
    assert {Path(file).name for file in shown["files"]} >= {"system.toml", "server.c"}
    assert "_CELLREAP_COMPLETE" in cellreap_json("completion", "bash")[1]["script"]
    wrong = cellreap("plan", str(tmp_path / "none.csv"), "--crash", "a", "--json")
    assert (wrong.returncode, wrong.stdout) == (2, "")  # errors are a line on stderr


@pytest.mark.slow
@NEEDS_TOOLCHAIN
@pytest.mark.behaviour("Y-08", "H-13")
def test_every_command_that_builds_boots_or_checks(tmp_path: Path) -> None:
    """Bench.cellreap checks what they print."""
    bench = Bench(tmp_path, tmp_path / "cache")
    image, good = tmp_path / "small.img", trace(bench)

    def printed(code: int, *arguments: str | Path) -> dict[str, Any]:
        done = bench.cellreap(*arguments, "--json")
        assert done.returncode == code, done.stdout + done.stderr
        shown = json.loads(done.stdout)
        assert list(shown)[:2] == ["version", "command"]
        return dict(shown)

    printed(0, "build", bench.config, "-o", image)
    bench.emulator(good)
    printed(0, "boot", image, "-o", tmp_path / "small.trace")
    printed(0, "check", tmp_path / "small.trace", "--image", image)
    kept = printed(0, "run", bench.config, "-o", tmp_path / "kept")
    assert json.loads((tmp_path / "kept" / "small.json").read_text()) == kept
    lines = good.splitlines(keepends=True)
    del lines[line_with(lines, "PLAN")]
    bench.emulator("".join(lines))
    assert printed(1, "run", bench.config)["violations"]
    printed(0, "boot", image, "-o", tmp_path / "small.trace")
    assert printed(1, "check", tmp_path / "small.trace")["violations"]
    refused = printed(1, "capdl", tmp_path / "small.trace", "--after", "1")
    assert refused["problems"]
    bench.emulator("".join(good.splitlines(keepends=True)[:-1]))
    assert printed(4, "run", bench.config, "--idle", "2")["boot"]["end"] == "silent"
    printed(4, "boot", image, "--idle", "2")
    with bench.config.open("a") as file:
        file.write("[expect]\ncleanups = 2\n")
    bench.emulator(good)
    assert printed(3, "run", bench.config)["unexpected"]
    printed(0, "cache")
    printed(0, "cache", "--prune")


@pytest.mark.behaviour("Y-08")
def test_the_results_about_a_kernel(tmp_path: Path) -> None:
    sdk = load_sdk(make_sdk(tmp_path / "sdk"), "x86_64")
    console = "conformance: one: ok\r\nconformance: two: FAILED (got 1)\r\n"
    for end in End:
        found = read_console(console.encode(), Boot(end, 1.0, 100, 0, "said"))
        assert faults(versioned("conformance", conformance_json(found, sdk))) == []
