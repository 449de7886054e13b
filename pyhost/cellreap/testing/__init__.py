# SPDX-License-Identifier: BSD-2-Clause
"""Boots systems from tests and answers questions about them, in the names of the configuration.

::

    target = Target(sdk, tmp_path, [Path("configs")])
    run = target.run("block_fs_db_app", rs_depth=1, change=with_pd("fs", priority=90))
    assert run.deleted_spaces() == {"disk1", "files"}
    assert run.alive() == {"block_server_2", "fs", "db", "app"}

A `Target` builds a configuration, boots it and checks the trace. A `Run` answers questions about
the result. The package needs no test framework.
"""

from __future__ import annotations

from cellreap.testing.changes import (
    Change,
    together,
    validated,
    with_bench,
    with_crashes,
    with_pd,
    with_system,
)
from cellreap.testing.run import Run, dangling
from cellreap.testing.target import NoDebug, NoMcs, NoTimer, NotOnKernel, Target

__all__ = [
    "Change",
    "NoDebug",
    "NoMcs",
    "NoTimer",
    "NotOnKernel",
    "Run",
    "Target",
    "dangling",
    "together",
    "validated",
    "with_bench",
    "with_crashes",
    "with_pd",
    "with_system",
]
