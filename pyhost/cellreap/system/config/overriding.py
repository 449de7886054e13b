# SPDX-License-Identifier: BSD-2-Clause
"""Applies the command line's values to a configuration."""

from __future__ import annotations

from typing import Final

from pydantic import ValidationError

from cellreap.errors import UsageError
from cellreap.system.config.rules import problems, unknown
from cellreap.system.config.schema import Config, Crash, Depth, Expect, Mode, Pd

_KILLED_AFTER_NS: Final = 10_000_000


def override(
    config: Config,
    *,
    pd_depth: Depth | None = None,
    rs_depth: Depth | None = None,
    crash: str | None = None,
    mode: Mode | None = None,
) -> Config:
    """The configuration with the command line's values.

    A depth replaces the policy's and every PD's own. A mode replaces the system's. A crash replaces
    the file's crashes: by the file's entries for that PD if there are any, else by one page fault
    at the checkpoint of the file's first crash, or with NAME@N at its checkpoint number N. A PD for
    Microkit, which may have its name of the description, is killed instead, when it has had some
    time. Of [expect], which is about the file's own system, only `crashes` remains if there is a
    depth or a crash, and nobody must be left. UsageError if the values are impossible.
    """
    policy = config.policy
    system = config.system
    pds = config.pds
    if mode is not None:
        system = system.model_copy(update={"mode": mode})
    if pd_depth is not None and policy.policy == "metric":
        raise UsageError('--pd-depth: has no effect with policy = "metric"')
    if pd_depth is not None:
        policy = policy.model_copy(update={"pd_depth": pd_depth})
        pds = tuple(pd.model_copy(update={"pd_depth": None}) for pd in pds)
    if rs_depth is not None:
        policy = policy.model_copy(update={"rs_depth": rs_depth})
        pds = tuple(pd.model_copy(update={"rs_depth": None}) for pd in pds)
    crashes = config.crashes
    if crash is not None:
        name = crash.partition("@")[0]
        pd = next((pd for pd in pds if name == pd.microkit_name), config.pd(name))
        if pd is None:
            raise UsageError(f"--crash: {unknown('PD', name, [pd.name for pd in pds])}")
        at = crashes[0].at if crashes else 1
        own = tuple(entry for entry in crashes if entry.pd == pd.name)
        made = Crash(pd=pd.name, how="page-fault", at=at)
        if "@" in crash:
            made, own = _checkpoint(crash, pd), ()
        elif pd.abi == "microkit":
            made = Crash(pd=pd.name, how="kill", after_ns=_KILLED_AFTER_NS)
        crashes = own or (made,)
    expect = config.expect
    if any(value is not None for value in (pd_depth, rs_depth, crash)):
        expect = Expect(crashes=expect.crashes, nobody_left=True)
    changed = config.model_copy(
        update={
            "system": system,
            "policy": policy,
            "pds": pds,
            "crashes": crashes,
            "expect": expect,
        }
    )
    for _, message in problems(changed):
        raise UsageError(f"--crash {crash}: {message}")
    return changed


def _checkpoint(crash: str, pd: Pd) -> Crash:
    """A page fault at the checkpoint that NAME@N names. UsageError if the PD cannot have it."""
    name, _, number = crash.partition("@")
    if pd.abi == "microkit":
        said = f'is for Microkit and has no checkpoints; expected "{name}"'
        raise UsageError(f'--crash {crash}: "{name}" {said}')
    try:
        return Crash(pd=pd.name, how="page-fault", at=int(number) if number.isdecimal() else 0)
    except ValidationError:
        said = f'expected the number of a checkpoint after the @, such as "{name}@2"'
        raise UsageError(f"--crash {crash}: {said}") from None
