# SPDX-License-Identifier: BSD-2-Clause
"""A system as a TOML file: its content and its checks.

`schema` has the tables and keys. `rules` checks names and contradictions. The first problem becomes
one InputError with file, line, key and the expected value. A `Config` is frozen and complete, and
satisfies every rule of this package.
"""

from cellreap.system.config.channels import (
    badge_of,
    both_ends,
    call_badge,
    called,
    ends,
    ends_of,
    fault_badge,
    hold_slots,
    parent_of,
    signal_ends,
)
from cellreap.system.config.closeness import closeness_of
from cellreap.system.config.debugging import asking, check_debug, on_kernel
from cellreap.system.config.lines import Line, lines
from cellreap.system.config.overriding import override
from cellreap.system.config.reading import load_config, parse_config
from cellreap.system.config.rules import unknown
from cellreap.system.config.scheduling import check_scheduling, scheduled
from cellreap.system.config.schema import (
    DEFAULT_DEADLINE_MS,
    MAX_DEADLINE_MS,
    PAGE,
    Bench,
    Channel,
    Config,
    Crash,
    Depth,
    End,
    Expect,
    Link,
    Map,
    Mode,
    Pd,
    Policy,
    Program,
    Quota,
    Region,
    Space,
    System,
    json_schema,
)
from cellreap.system.config.tables import tables
from cellreap.system.config.threads import links_of, processes, thread_of
from cellreap.system.config.timing import check_timer, deadline_of, respawn_of, timed
from cellreap.system.toml_tables import dotted, read_text

__all__ = [
    "DEFAULT_DEADLINE_MS",
    "MAX_DEADLINE_MS",
    "PAGE",
    "Bench",
    "Channel",
    "Config",
    "Crash",
    "Depth",
    "End",
    "Expect",
    "Line",
    "Link",
    "Map",
    "Mode",
    "Pd",
    "Policy",
    "Program",
    "Quota",
    "Region",
    "Space",
    "System",
    "asking",
    "badge_of",
    "both_ends",
    "call_badge",
    "called",
    "check_debug",
    "check_scheduling",
    "check_timer",
    "closeness_of",
    "deadline_of",
    "dotted",
    "ends",
    "ends_of",
    "fault_badge",
    "hold_slots",
    "json_schema",
    "lines",
    "links_of",
    "load_config",
    "on_kernel",
    "override",
    "parent_of",
    "parse_config",
    "processes",
    "read_text",
    "respawn_of",
    "scheduled",
    "signal_ends",
    "tables",
    "thread_of",
    "timed",
    "unknown",
]
