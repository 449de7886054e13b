# SPDX-License-Identifier: BSD-2-Clause
"""Marks that tests of several rooms use."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def thorough_but(values: Iterable[Any], *always: Any) -> list[Any]:
    """Slow parameters. Only the named ones run without `--thorough`.

    Raises ValueError if a named one is not among the values.
    """
    listed = list(values)
    if missing := [value for value in always if value not in listed]:
        raise ValueError(f"expected values of the test, got {missing}")
    return [
        pytest.param(
            *(value if isinstance(value, tuple) else (value,)),
            marks=[pytest.mark.slow, *([] if value in always else [pytest.mark.thorough])],
        )
        for value in listed
    ]


def slow_but(values: Iterable[Any], *quick: Any) -> list[Any]:
    """Parameters that are all marked slow, except the named ones, which stand for the rest.

    Raises ValueError if a named one is not among the values: then none would stand for them.
    """
    listed = list(values)
    if missing := [value for value in quick if value not in listed]:
        raise ValueError(f"expected values of the test, got {missing}")
    return [
        value
        if value in quick
        else pytest.param(
            *(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.slow
        )
        for value in listed
    ]
