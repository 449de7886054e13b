# SPDX-License-Identifier: BSD-2-Clause
"""Policies that change at run time, by PDs that the configuration trusts with them."""

from __future__ import annotations

import pytest

from cellreap import headers
from cellreap.testing import Target, together, with_pd

RESULTS = headers.names_of("protocol.h", "cr_result", "CR_RESULT_")
DENIED, PREVENTED = RESULTS["denied"], RESULTS["prevented"]


@pytest.mark.behaviour("C-08", "C-14")
def test_a_trusted_pd_sets_and_drops_pins_and_changes_depths(target: Target) -> None:
    """The file server is pinned, the client no longer, and the disk's server has other depths."""
    run = target.run("govern")
    assert run.says("governor")[:3] == ["depths block_server_1: 0", "pin fs: 0", "unpin client: 0"]
    pins = [
        (run.name(event["pd"]), event["pinned"])
        for event in run.of("RIGHTS")
        if event["op"] == "pin"
    ]
    assert pins == [("fs", "1"), ("client", "0")]
    (cleanup,) = run.cleanups()
    assert (cleanup["pd_depth"], cleanup["rs_depth"]) == ("inf", "inf")
    assert run.doomed() == {"block_server_1": "0", "client": "1"}
    assert run.alive() == {"fs", "governor"}


@pytest.mark.behaviour("C-08", "C-14")
def test_nobody_changes_a_policy_that_it_is_not_trusted_with(target: Target) -> None:
    """It is trusted with itself and the client, which is protected and cannot lose its pin."""
    governor = with_pd("governor", may_set_policy_of=("client", "governor"), args=(3213,))
    run = target.run("govern", change=together(governor, with_pd("client", prevent_destroy=True)))
    assert run.says("governor")[:4] == [
        f"depths block_server_1: {DENIED}",
        f"pin fs: {DENIED}",
        f"unpin client: {PREVENTED}",
        "depths itself: 0",
    ]
    changed = [event for event in run.of("RIGHTS") if event["op"] != "-"]
    assert [(run.name(event["pd"]), event["op"]) for event in changed] == [
        ("governor", "set_depth")
    ]
    assert run.doomed() == {"block_server_1": "0"}
