# SPDX-License-Identifier: BSD-2-Clause
"""A system as a TOML file: what it says, and that it makes sense.

`schema` has the tables and keys, `rules` the names and contradictions. The first problem becomes
one InputError with file, line, key and what was expected. A `Config` is frozen and complete: every
later stage may rely on every rule that is written here.
"""

from cellreap.system.config.overriding import override
from cellreap.system.config.reading import load_config, parse_config, read_text
from cellreap.system.config.schema import (
    DEFAULT_DEADLINE_MS,
    MAX_DEADLINE_MS,
    Config,
    Crash,
    Depth,
    Link,
    Mode,
    Pd,
    Policy,
    Space,
    System,
    json_schema,
)
from cellreap.system.config.timing import check_timer, deadline_of, timed

__all__ = [
    "DEFAULT_DEADLINE_MS",
    "MAX_DEADLINE_MS",
    "Config",
    "Crash",
    "Depth",
    "Link",
    "Mode",
    "Pd",
    "Policy",
    "Space",
    "System",
    "check_timer",
    "deadline_of",
    "json_schema",
    "load_config",
    "override",
    "parse_config",
    "read_text",
    "timed",
]
