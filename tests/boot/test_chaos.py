# SPDX-License-Identifier: BSD-2-Clause
"""Several hostile PDs at once beside honest ones: none of the honest notices.

Each seed is one system (kit/chaos.py). Its run passes the check of the trace, no honest PD goes
except by the crashes of the scenario, and each honest call is answered exactly once.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

import pytest

from cellreap.system.config import Config
from cellreap.system.sdk import ARCHES
from cellreap.testing import Run, Target
from kit.chaos import CLIENTS, ECHOES, HONEST, chaos

TOTAL = re.compile(r"asked (\d+): answered (\d+), lost (\d+)")
WRONG = re.compile(r"WRONG|BROKEN|TWICE|OUT OF ORDER|FAILED")


def check(run: Run, config: Config) -> None:
    """Raises AssertionError if an honest PD noticed anything but a staged crash."""
    crashes = Counter(crash.pd for crash in config.crashes)
    honest_ids = {id_ for name in HONEST for id_ in run.ids(name)}
    assert run.report.passed
    assert not run.of("UNREACHED")
    # Who goes, and why.
    assert set(HONEST) <= run.alive()
    assert {name: len(run.ids(name)) for name in HONEST} == {
        name: 1 + crashes[name] for name in HONEST
    }
    triggers = Counter(run.names[event["trigger"]] for event in run.cleanups())
    assert {name: triggers[name] for name in HONEST} == {name: crashes[name] for name in HONEST}
    assert not [event for event in run.of("LATE", "GIVE_UP") if event["pd"] in honest_ids]
    # What they found.
    said = [event["text"] for event in run.of("SAY")]
    assert not [text for text in said if WRONG.search(text)]
    for name, servers in CLIENTS.items():
        (totals,) = [text for text in run.says(name) if TOTAL.search(text)]
        found = {
            server: tuple(map(int, counts))
            for server, counts in zip(servers, TOTAL.findall(totals), strict=True)
        }
        asked = found[ECHOES[0]][0]
        assert asked > 0
        assert found == {s: (asked, asked - crashes[s], crashes[s]) for s in servers}
    assert run.says("app")[-1] == "at the end: table: ok; database: ok"
    told = [text for text in run.says("watch") if "about to be destroyed" in text]
    assert len(told) == min(crashes[ECHOES[0]], 1)


@pytest.mark.behaviour("J-13")
@pytest.mark.parametrize("mode", ["async", "sync"])
@pytest.mark.parametrize("arch", ARCHES)
def test_the_honest_do_not_notice(
    target_of: Callable[[str], Target], arch: str, mode: str, chaos_seed: int
) -> None:
    config = Config.model_validate(chaos(chaos_seed, mode))
    run = target_of(arch).run("block_fs_db_app", change=lambda _: config)
    check(run, config)
