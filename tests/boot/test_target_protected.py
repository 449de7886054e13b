# SPDX-License-Identifier: BSD-2-Clause
"""prevent_destroy: no termination destroys the PD. A crash cannot be refused."""

from __future__ import annotations

import pytest

from cellreap import headers
from cellreap.system.config import Config, Link
from cellreap.testing import Run, Target, together, with_pd

PREVENTED = headers.names_of("protocol.h", "cr_result", "CR_RESULT_")["prevented"]


def linked(config: Config) -> Config:
    """A change: the file server is linked with the server of its disk."""
    return config.model_copy(update={"links": (Link(between=("block_server_1", "fs")),)})


def refused(run: Run) -> bool:
    """Whether the termination of the server was refused as a whole, for that reason."""
    said = f"terminate block_server_1: refused, {PREVENTED}"
    return said in run.says("boss") and not run.cleanups() and not run.of("TRIGGER", "STEP")


@pytest.mark.behaviour("X-23")
def test_no_pd_terminates_what_is_protected_or_what_would_take_it_along(target: Target) -> None:
    run = target.run("flush", change=with_pd("block_server_1", prevent_destroy=True))
    assert refused(run)
    run = target.run("flush", change=together(with_pd("fs", prevent_destroy=True), linked))
    assert refused(run)
    assert run.alive() == {"block_server_1", "fs", "watcher", "boss"}
    (protected,) = (event for event in run.of("RIGHTS") if event["protected"] == "1")
    assert run.name(protected["pd"]) == "fs"


@pytest.mark.behaviour("X-23")
def test_protected_is_a_pin_for_others_and_no_shield_against_a_crash(target: Target) -> None:
    run = target.run("flush", pd_depth="inf", change=with_pd("fs", prevent_destroy=True))
    assert run.doomed() == {"block_server_1": "0"}
    assert "fs" in run.alive()
    run = target.run("linked", change=with_pd("app", prevent_destroy=True))
    assert run.doomed() == {"block_server_1": "0", "app": "0"}
