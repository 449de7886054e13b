# SPDX-License-Identifier: BSD-2-Clause
"""The JSON Schema of what --json prints, made of the definitions in `cellreap.output`."""

from __future__ import annotations

import functools
import json
import operator
from collections.abc import Sequence
from importlib import resources
from types import ModuleType
from typing import Any, Final

import jsonschema
from pydantic import ConfigDict, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

import cellreap.output
from cellreap.output import OUTPUTS
from kit.docstrings import attribute_docs, one_line

FILE: Final = "output.schema.json"
_DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"


class _Plain(GenerateJsonSchema):
    """Without titles, which only repeat the names."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def definitions(module: ModuleType = cellreap.output) -> dict[str, type[Any]]:
    """The objects that a module defines."""
    return {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, type) and hasattr(value, "__total__")
    }


@functools.cache
def generated() -> dict[str, Any]:
    """The schema. Unknown keys are forbidden."""
    found = definitions()
    for kind in found.values():
        # Here and not in the definitions, because the package prints without pydantic.
        kind.__pydantic_config__ = ConfigDict(extra="forbid")
    union: Any = functools.reduce(operator.or_, OUTPUTS.values())
    adapter: TypeAdapter[Any] = TypeAdapter(union)
    schema = adapter.json_schema(schema_generator=_Plain)
    for name, described in schema["$defs"].items():
        described.pop("title", None)
        described["description"] = one_line(found[name].__doc__ or "")
        docs = docs_of(found[name])
        for key, value in described["properties"].items():
            value["description"] = docs[key]
    return {
        "$schema": _DRAFT,
        "title": "What commands of cellreap print with --json",
        "oneOf": [{"$ref": f"#/$defs/{each.__name__}"} for each in OUTPUTS.values()],
        "$defs": schema["$defs"],
    }


def bases(kind: type[Any]) -> list[type[Any]]:
    """The objects whose keys an object has, too."""
    return [base for base in getattr(kind, "__orig_bases__", ()) if hasattr(base, "__total__")]


def docs_of(kind: type[Any]) -> dict[str, str]:
    """Key -> its sentence, in the order in which the object has them."""
    docs: dict[str, str] = {}
    for base in bases(kind):
        docs |= docs_of(base)
    return docs | attribute_docs(kind)


def text() -> str:
    """The file."""
    return json.dumps(generated(), indent=1, ensure_ascii=False) + "\n"


@functools.cache
def shipped() -> jsonschema.Draft202012Validator:
    """A validator with the schema in the package."""
    schema = json.loads((resources.files("cellreap") / FILE).read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def faults(shown: Any) -> list[str]:
    """Why an object is not what the schema of its command says. Empty: it is."""
    command = shown.get("command") if isinstance(shown, dict) else None
    if command not in OUTPUTS:
        return [f"command {command!r}"]
    validator = shipped()
    only = {**validator.schema, "oneOf": [{"$ref": f"#/$defs/{OUTPUTS[command].__name__}"}]}
    problems = jsonschema.Draft202012Validator(only).iter_errors(shown)
    found = []
    for problem in problems:
        inner = problem.context[0] if problem.context else problem
        found.append(f"{inner.json_path}: {inner.message[:300]}")
    return found


def check_printed(arguments: Sequence[object], printed: str) -> None:
    """Asserts that a command printed what the schema says, if it has --json and printed at all."""
    if "--json" in map(str, arguments) and printed:
        assert faults(json.loads(printed)) == []
