# SPDX-License-Identifier: BSD-2-Clause
"""Configurations of each version stay readable, and mean the same."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cellreap.errors import InputError
from cellreap.system.config import json_schema, load_config, parse_config
from cellreap.system.config.schema import CONFIG_VERSION, SINCE
from kit.paths import VERSIONS

STORED = sorted(VERSIONS.glob("config-*.toml"))


def values(thing: Any, at: str = "") -> Iterator[tuple[str, Any]]:
    """Each value that is no table or list, with its path."""
    if isinstance(thing, dict):
        for key, inner in thing.items():
            yield from values(inner, f"{at}.{key}")
    elif isinstance(thing, list | tuple):
        for place, inner in enumerate(thing):
            yield from values(inner, f"{at}[{place}]")
    else:
        yield at, thing


@pytest.mark.behaviour("T-26")
def test_there_is_a_configuration_of_each_version() -> None:
    assert [path.stem for path in STORED] == [f"config-{n}" for n in range(1, CONFIG_VERSION + 1)]


@pytest.mark.behaviour("T-26")
@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_a_configuration_of_each_version_is_read_and_each_key_has_its_value(path: Path) -> None:
    told = dict(values(tomllib.loads(path.read_text())))
    read = dict(values(load_config(path).model_dump(mode="json", by_alias=True)))
    assert len(told) > 80
    assert told == {key: read[key] for key in told}


@pytest.mark.behaviour("T-26")
def test_the_next_version_is_refused_by_its_line() -> None:
    text = STORED[-1].read_text()
    later = text.replace(f"version = {CONFIG_VERSION}", f"version = {CONFIG_VERSION + 1}\nnew = 1")
    with pytest.raises(InputError) as caught:
        parse_config(later, Path("f.toml"))
    line = 1 + later.splitlines().index(f"version = {CONFIG_VERSION + 1}")
    assert caught.value.line().startswith(f"f.toml:{line}: system.version: is {CONFIG_VERSION + 1}")
    assert json_schema()


@pytest.mark.behaviour("G-46")
@pytest.mark.parametrize("version", range(1, CONFIG_VERSION))
def test_a_key_that_is_newer_than_the_stated_version_is_refused_by_name(version: int) -> None:
    """The configuration of the next version has all keys that came with it."""
    text = (VERSIONS / f"config-{version + 1}.toml").read_text()
    lines = text.replace(f"version = {version + 1}", f"version = {version}").splitlines()
    newer = {keys[-1] for keys, since in SINCE.items() if since == version + 1}
    refused = set()
    while True:
        try:
            parse_config("\n".join(lines), Path("f.toml"))
        except InputError as error:
            at, field, said = error.line().split(": ", 2)
            assert said.startswith(
                f"needs version {version + 1}, and [system] version is {version}"
            )
            key = field.rpartition(".")[2]
            assert lines[int(at.rpartition(":")[2]) - 1].startswith(key)
            del lines[int(at.rpartition(":")[2]) - 1]
            refused.add(key)
        else:
            break
    assert refused == newer


@pytest.mark.behaviour("G-46")
def test_without_a_stated_version_every_key_may_be_used() -> None:
    text = STORED[-1].read_text().replace(f"version = {CONFIG_VERSION}\n", "")
    assert parse_config(text, Path("f.toml")).system.version == CONFIG_VERSION
