# SPDX-License-Identifier: BSD-2-Clause
"""Changes to a configuration, for tests that use a system from a file with modifications.

A change takes a configuration and returns another. It need not check the result, because
`Target.run` does.
"""

from __future__ import annotations

from collections.abc import Callable

from cellreap.system.config import Bench, Config, override

Change = Callable[[Config], Config]


def validated(config: Config) -> Config:
    """The configuration, checked against every rule for configurations.

    Raises pydantic.ValidationError or CellreapError if it breaks a rule.
    """
    checked = Config.model_validate(config.model_dump(by_alias=True, warnings=False))
    return override(checked)


def with_pd(name: str, **values: object) -> Change:
    """Gives one PD other values. The change raises KeyError if there is no PD of that name."""

    def change(config: Config) -> Config:
        if config.pd(name) is None:
            raise KeyError(f"no PD '{name}' in {config.system.name}")
        pds = tuple(pd.model_copy(update=values) if pd.name == name else pd for pd in config.pds)
        return config.model_copy(update={"pds": pds})

    return change


def with_system(**values: object) -> Change:
    """Gives [system] other values."""

    def change(config: Config) -> Config:
        return config.model_copy(update={"system": config.system.model_copy(update=values)})

    return change


def with_bench(**values: object) -> Change:
    """Gives [bench] these values, and no others."""

    def change(config: Config) -> Config:
        return config.model_copy(update={"bench": Bench().model_copy(update=values)})

    return change


def with_crashes(*entries: dict[str, object]) -> Change:
    """Replaces all crashes by these, each given as a [[crash]] table."""

    def change(config: Config) -> Config:
        values = config.model_dump(by_alias=True)
        values["crash"] = entries
        return Config.model_validate(values)

    return change


def together(*changes: Change) -> Change:
    """Applies the changes one after the other."""

    def change(config: Config) -> Config:
        for one in changes:
            config = one(config)
        return config

    return change
