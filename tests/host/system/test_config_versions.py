# SPDX-License-Identifier: BSD-2-Clause
"""A configuration that states its version is read, and one of a later version is refused."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cellreap.errors import InputError
from cellreap.system.config import json_schema, load_config, parse_config
from cellreap.system.config.schema import CONFIG_VERSION
from kit.paths import VERSIONS

STORED = VERSIONS / f"config-{CONFIG_VERSION}.toml"


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
def test_a_stored_configuration_is_read_and_each_key_has_its_value() -> None:
    told = dict(values(tomllib.loads(STORED.read_text())))
    read = dict(values(load_config(STORED).model_dump(mode="json", by_alias=True)))
    assert len(told) > 80
    assert told == {key: read[key] for key in told}


@pytest.mark.behaviour("T-26")
def test_the_next_version_is_refused_by_its_line() -> None:
    text = STORED.read_text()
    later = text.replace(f"version = {CONFIG_VERSION}", f"version = {CONFIG_VERSION + 1}\nnew = 1")
    with pytest.raises(InputError) as caught:
        parse_config(later, Path("f.toml"))
    line = 1 + later.splitlines().index(f"version = {CONFIG_VERSION + 1}")
    assert caught.value.line().startswith(f"f.toml:{line}: system.version: is {CONFIG_VERSION + 1}")
    assert json_schema()


@pytest.mark.behaviour("G-46")
def test_without_a_stated_version_every_key_may_be_used() -> None:
    text = STORED.read_text().replace(f"version = {CONFIG_VERSION}\n", "")
    assert parse_config(text, Path("f.toml")).system.version == CONFIG_VERSION
