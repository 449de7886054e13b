# SPDX-License-Identifier: BSD-2-Clause
"""[bench], and the failures that it injects."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, StringConstraints

from cellreap.system.config.values import Bool
from cellreap.system.toml_tables import Table, expect

_Few = Annotated[int, Field(ge=1, le=1_000_000), expect("an integer from 1 to 1000000")]
_Injection = Annotated[
    str,
    StringConstraints(
        pattern=r"^(step:[1-9][0-9]{0,8}(\.([1-9][0-9]{0,8}|end))?:(fault|error|hang)"
        r"|make:[1-9][0-9]{0,8}:error)(:always|:x([2-9]|[1-9][0-9]))?$"
    ),
    expect('"step:N:HOW", "step:N.K:HOW", "step:N.end:HOW" or "make:N:error"'),
]


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


class Bench(Table):
    """[bench]: what only tests of the root task itself turn. It needs the scenario."""

    inject: Annotated[tuple[_Injection, ...], Field(strict=False), BeforeValidator(_listed)] = ()
    """Failures of the root task, as a string or a list of strings. `step:N:HOW` is before the Nth
    step of cleanups, counted from boot, `step:N.K:HOW` before its Kth kernel call, and
    `step:N.end:HOW` at its end. If a step has several notices or resources, a call is counted also
    before each of them but the first. HOW is fault, error or hang. `make:N:error` is the Nth step
    of making PDs, spaces, resources and edges. With `:always` at the end each attempt fails, not
    only the first; of making, each later step. With `:xK` the first K attempts fail, K being 2 to
    99.
    """
    numbers_left: _Few | None = None
    """So many numbers for PDs, for spaces, and for the resources of each space are left at the
    start. By default they last for millions of PDs.
    """
    generations_left: _Few | None = None
    """So many uses of each entry of the root task's tables of PDs, requests and nodes are left at
    the start. By default there are millions.
    """
    snapshot: Bool = False
    """Whether a debug kernel prints all objects and capabilities before the first PD runs
    (seL4_DebugSnapshot).
    """
