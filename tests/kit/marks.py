# SPDX-License-Identifier: BSD-2-Clause
"""Marks that tests of several rooms use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest


def slow_but(values: Iterable[Any], *quick: Any) -> list[Any]:
    """Parameters that are all marked slow, except the named ones, which stand for the rest.

    Raises ValueError if a named one is not among the values: then none would stand for them.
    """
    slow = pytest.mark.slow
    return [value if named else _marked(value, slow) for value, named in _named(values, quick)]


def thorough_but(values: Iterable[Any], *always: Any) -> list[Any]:
    """Slow parameters. Only the named ones run without `--thorough`.

    Raises ValueError if a named one is not among the values.
    """
    slow, thorough = pytest.mark.slow, pytest.mark.thorough
    return [
        _marked(value, slow) if named else _marked(value, slow, thorough)
        for value, named in _named(values, always)
    ]


def _named(values: Iterable[Any], names: Sequence[Any]) -> list[tuple[Any, bool]]:
    listed = list(values)
    if missing := [name for name in names if name not in listed]:
        raise ValueError(f"expected values of the test, got {missing}")
    return [(value, value in names) for value in listed]


def _marked(value: Any, *marks: pytest.MarkDecorator) -> Any:
    return pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=marks)


WITH_MCS = ("x86_64", *thorough_but(["aarch64-mcs", "x86_64-mcs"], "aarch64-mcs"))
"""For the mark `kernels`: what stands for what it is on kernels with MCS."""
