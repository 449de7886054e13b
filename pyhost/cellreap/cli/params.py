# SPDX-License-Identifier: BSD-2-Clause
"""Option values that several commands share."""

from __future__ import annotations

from typing import Final, NamedTuple

import click

MAX_DEPTH: Final = 0xFFFFFFFD
"""The largest depth that is not `inf`: of 32 bits, the last value is unlimited, the one before stands for
"the system's"."""


class Depth(NamedTuple):
    """A depth as an option gives it. limit: None is unlimited. (A tuple, so that "not given" can be None.)"""

    limit: int | None


def to_depth(ctx: click.Context, param: click.Parameter, value: str | None) -> Depth | None:
    """Callback of a depth option: 0, 1, 2, ... in decimal, or `inf`. None if the option is not given."""
    if value is None:
        return None
    if value == "inf":
        return Depth(None)
    if value.isascii() and value.isdigit() and len(value) <= 10 and int(value) <= MAX_DEPTH:
        return Depth(int(value))
    raise click.BadParameter(
        f"'{value}', expected inf or a number from 0 to {MAX_DEPTH}", ctx=ctx, param=param
    )
