# SPDX-License-Identifier: BSD-2-Clause
"""Systems in which one PD is killed at random instants."""

from __future__ import annotations

from cellreap.system.config import Config
from cellreap.testing import Change


def killed(victim: str, times: int, seed: int) -> Change:
    """The only crash of the configuration is of this PD, so often, at instants of this seed."""

    def change(config: Config) -> Config:
        (crash,) = config.crashes
        crash = crash.model_copy(update={"pd": victim, "repeat": times, "seed": seed})
        expect = config.expect.model_copy(update={"cleanups": times})
        return config.model_copy(update={"crashes": (crash,), "expect": expect})

    return change
