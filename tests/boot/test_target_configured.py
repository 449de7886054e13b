# SPDX-License-Identifier: BSD-2-Clause
"""The trace of a boot fits the configuration that was booted, and no other.

A root task that ignores a part of its configuration behaves like the root task of a configuration
without this part. So the trace of a boot is held against other configurations.
"""

from __future__ import annotations

import pytest

from cellreap.runs.expectation import expected_by, expected_of_image
from cellreap.system.config import Config
from cellreap.system.image import read_image
from cellreap.testing import Change, Target, together, with_crashes, with_pd, with_system
from cellreap.trace.reading import read_trace

FAULT = {"pd": "block_server_1", "at": 5, "how": "page-fault"}


def _with_policy(**values: object) -> Change:
    def change(config: Config) -> Config:
        return config.model_copy(update={"policy": config.policy.model_copy(update=values)})

    return change


def _without_links(config: Config) -> Config:
    return config.model_copy(update={"links": ()})


def _exit(config: Config) -> Config:
    return with_crashes({**FAULT, "how": "exit"})(config)


IGNORED: list[tuple[str, Change, str]] = [
    ("linked", _without_links, "config.link"),
    ("linked", with_pd("app", pinned=False), "config.rights"),
    ("linked", _with_policy(pd_depth=1), "config.system"),
    ("linked", with_pd("block_server_1", pd_depth=1), "config.rights"),
    ("linked", with_pd("fs", deadline_ms=77), "config.rights"),
    ("linked", with_system(mode="sync"), "config.settings"),
    ("linked", with_system(extract=True), "config.extract"),
    ("linked", _exit, "config.crash"),
    ("linked", with_crashes(), "config.crash"),
    ("linked", with_crashes(FAULT, {**FAULT, "pd": "fs"}), "config.crash"),
    ("linked", with_pd("db", respawn=True), "config.rights"),
    ("linked", with_pd("db", may_set_depth=True), "config.rights"),
    ("handler", with_pd("app", fault_handler=None), "config.handler"),
    ("handler", with_pd("app", fault_handler="db"), "config.handler"),
    ("terminate", with_pd("app", holds_pds=("fs", "block_server_2")), "config.hold"),
    ("terminate", together(with_crashes(FAULT), with_pd("app", holds_pds=())), "config.hold"),
]
"""(system, a configuration of which the root task would have ignored something, broken rule)."""


def _rules(target: Target, name: str, change: Change) -> set[str | None]:
    run = target.run(name)
    _, config = target.load(name)
    image = read_image(run.image)
    expected = expected_of_image(image, change(config))
    with run.trace.open("rb") as stream:
        reading = read_trace(stream, name, expected=expected)
    return {violation.rule for violation in reading.report.violations}


@pytest.mark.behaviour("W-01")
@pytest.mark.parametrize(("name", "change", "rule"), IGNORED)
def test_a_root_task_that_ignores_something_fails(
    target: Target, name: str, change: Change, rule: str
) -> None:
    assert rule in _rules(target, name, change)


@pytest.mark.behaviour("W-01")
def test_an_image_file_says_what_its_trace_must_be(target: Target) -> None:
    run = target.run("linked", change=with_system(truth=None))
    with run.trace.open("rb") as stream:
        reading = read_trace(stream, "linked", expected=expected_by(run.image))
    assert reading.report.violations == []
    assert reading.report.unverified == []
