# SPDX-License-Identifier: BSD-2-Clause
"""The random systems of tests/boot/test_chaos.py have what that test is about."""

from __future__ import annotations

from collections import Counter

import pytest

from cellreap.system.config import Config, Pd, override
from kit.chaos import CAUGHT, DEADLINE_MS, HONEST, chaos

SEEDS = range(1, 201)
HOSTILE_PROGRAMS = {
    *("fuzzer", "filler", "deaf", "hoarder", "worker", "hog", "quitter", "leaver"),
    *("subscriber", "counterfeiter", "forger", "ring", "colluder"),
}


@pytest.fixture(scope="module")
def systems() -> dict[int, Config]:
    """seed -> its system, checked as a configuration file is."""
    return {seed: override(Config.model_validate(chaos(seed, "async"))) for seed in SEEDS}


def hostile_of(config: Config) -> list[Pd]:
    """The hostile PDs and the honest clients that they catch."""
    return [pd for pd in config.pds if pd.name.startswith("hostile")]


@pytest.mark.behaviour("J-13")
def test_a_seed_is_one_system_in_both_modes(systems: dict[int, Config]) -> None:
    for seed, config in systems.items():
        other = Config.model_validate(chaos(seed, "sync"))
        assert other.system.mode == "sync"
        changed = other.system.model_copy(update={"mode": "async"})
        assert other.model_copy(update={"system": changed}) == config
    assert len({config.model_dump_json() for config in systems.values()}) == len(SEEDS)


@pytest.mark.behaviour("J-13")
def test_three_to_six_hostile_groups_beside_honest_pds_with_deadlines(
    systems: dict[int, Config],
) -> None:
    counts: Counter[int] = Counter()
    for config in systems.values():
        hostile = hostile_of(config)
        names = [pd.name for pd in config.pds if pd not in hostile]
        assert [name for name in names if name != "background"] == list(HONEST)
        assert len(HONEST) >= 8
        assert all(pd.deadline_ms is None for pd in config.pds)
        assert config.system.deadline_ms == DEADLINE_MS
        counts[len({pd.name.split("_")[0] for pd in hostile})] += 1
        assert any(CAUGHT not in pd.name for pd in hostile)
    assert set(counts) == {3, 4, 5, 6}


@pytest.mark.behaviour("J-13")
def test_all_kinds_come_with_and_without_crashes_and_a_background(
    systems: dict[int, Config],
) -> None:
    found: Counter[tuple[str, bool, bool]] = Counter()
    halves: Counter[tuple[bool, bool]] = Counter()
    twice: set[str] = set()
    for config in systems.values():
        half = (bool(config.crashes), any(pd.background for pd in config.pds))
        halves[half] += 1
        groups = {(pd.program, pd.name.split("_")[0]) for pd in hostile_of(config)}
        programs = Counter(program for program, _ in groups)
        found.update((program, *half) for program in programs)
        twice |= {program for program, count in programs.items() if count > 1}
    assert set(halves.values()) == {len(SEEDS) // 4}
    everywhere = {program for program, _, _ in found if program != "caught"}
    assert everywhere - {"idler"} == HOSTILE_PROGRAMS
    for half in halves:
        for program in HOSTILE_PROGRAMS:
            assert found[(program, *half)] >= 3, (program, half)
    assert twice & {"fuzzer", "filler"}


@pytest.mark.behaviour("J-07")
def test_no_honest_pd_depends_on_a_hostile_one_but_the_caught(systems: dict[int, Config]) -> None:
    for config in systems.values():
        managers = {space.name: pd for pd in config.pds for space in pd.spaces}
        hostile = hostile_of(config)
        for pd in config.pds:
            servers = [managers[name] for name in pd.requests]
            if pd.name in HONEST:
                assert not [server.name for server in servers if server in hostile]
            if CAUGHT in pd.name:
                keeper, *others = servers
                assert keeper.program == "colluder"
                assert keeper.pd_depth == 0
                assert {other.name for other in others} < set(HONEST)
                # Each crash concerns it.
                assert {crash.pd for crash in config.crashes} <= {other.name for other in others}
