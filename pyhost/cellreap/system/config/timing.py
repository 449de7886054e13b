# SPDX-License-Identifier: BSD-2-Clause
"""Deadlines, and settings that need a kernel that leaves a timer to user level."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from cellreap.errors import InputError
from cellreap.system.config.schema import (
    BY_TIME,
    DEFAULT_DEADLINE_MS,
    DEFAULT_RESPAWN_BUDGET,
    DEFAULT_RESPAWN_DELAY_MS,
    DEFAULT_RESPAWN_WINDOW_MS,
    LIMITS,
    Config,
    Pd,
)
from cellreap.system.toml_lines import KeyPath, Lines
from cellreap.system.toml_tables import dotted


def deadline_of(config: Config, pd: Pd, timer: bool) -> int:
    """Milliseconds that a PD has to acknowledge a notice. 0: no limit.

    timer: whether the kernel leaves a timer to user level.
    """
    for given in (pd.deadline_ms, config.system.deadline_ms):
        if given is not None:
            return given
    return DEFAULT_DEADLINE_MS if timer else 0


def respawn_of(pd: Pd, timer: bool) -> dict[str, int]:
    """The rule by which a PD is respawned, as image.h has it. All are 0 for a PD that is not.

    timer: whether the kernel leaves a timer to user level. Without one there is no delay, and the
    budget is for the whole run.
    """

    def value(given: int | None, default: int) -> int:
        return 0 if not pd.respawn else default if given is None else given

    return {
        "respawn_budget": value(pd.respawn_budget, DEFAULT_RESPAWN_BUDGET),
        "respawn_window_ms": value(pd.respawn_window_ms, DEFAULT_RESPAWN_WINDOW_MS) * timer,
        "respawn_delay_ms": value(pd.respawn_delay_ms, DEFAULT_RESPAWN_DELAY_MS) * timer,
    }


def timed(config: Config) -> Iterator[KeyPath]:
    """The keys of a configuration whose values need a timer."""
    if config.system.deadline_ms:
        yield ("system", "deadline_ms")
    if config.system.cleaner_priority is not None:
        yield ("system", "cleaner_priority")
    if config.system.trace_time:
        yield ("system", "trace_time")
    for i, pd in enumerate(config.pds):
        for key in ("deadline_ms", *LIMITS):
            if getattr(pd, key):
                yield ("pd", i, key)
    for i, crash in enumerate(config.crashes):
        if crash.how in BY_TIME:
            yield ("crash", i, "how")


def check_timer(
    config: Config, text: str, path: Path, missing: str | None, counter: str | None = None
) -> None:
    """InputError if a configuration needs a timer and the kernel leaves none.

    config: as in the file. text: the text of that file. missing: the kernel's option without which
    there is no timer (`sdk.timer_missing`); None if there is a timer. counter: the same of a
    counter to tell times with.
    """
    for at in timed(config):
        lacks = counter if missing is None and at[-1] == "trace_time" else missing
        if lacks is None:
            continue
        value = "a deadline"
        if at[0] == "crash" and isinstance(at[1], int):
            value = config.crashes[at[1]].how
        elif at[-1] == "cleaner_priority":
            value = "a priority of the cleaner"
        elif at[-1] in LIMITS:
            value = "a limit of time"
        elif at[-1] == "trace_time":
            value = "a trace with times"
        message = f"{value} needs a timer: expected a kernel with {lacks}, which this one has not"
        raise InputError(str(path), Lines(text).of(at), dotted(at), message)
