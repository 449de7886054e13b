# SPDX-License-Identifier: BSD-2-Clause
"""Recorded boots of the current version, and the expected reports on them.

A golden is NAME.trace, the console of a boot on refkernel (x86_64), and NAME.txt, the report on it:
the summary of `run`, all records, and the JSON report. QEMU counts instructions instead of time
(-icount), so a boot repeats exactly. Values that change with every change of the C code are left
out of the comparison with a fresh boot: see `normalised`.
"""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cellreap.runs.summary import tell
from cellreap.trace.events import Event, record_text
from cellreap.trace.reading import Reading, read_trace
from cellreap.trace.report import report_json
from kit.paths import GOLDENS

QEMU_ARGS: Final = ("-icount", "shift=0")


@dataclass(frozen=True)
class Golden:
    """A boot that is recorded. config: configs/CONFIG.toml.

    Depths: None stands for those in the file.
    """

    config: str
    pd_depth: Any = None
    rs_depth: Any = None

    @property
    def name(self) -> str:
        """The name of its files."""
        depths = "" if self.pd_depth is None else f"-{self.pd_depth}-{self.rs_depth}"
        return f"{self.config}{depths}"

    @property
    def trace(self) -> Path:
        """The path of the console."""
        return GOLDENS / f"{self.name}.trace"

    @property
    def text(self) -> Path:
        """The path of the report."""
        return GOLDENS / f"{self.name}.txt"


RECORDED: Final = (
    Golden("block_fs_db_app", 0, 0),
    Golden("block_fs_db_app", 0, 2),
    Golden("block_fs_db_app", 1, 2),
    Golden("block_fs_db_app", "inf", "inf"),
    Golden("extract"),
    Golden("hang"),
    Golden("subscribed"),
)


def read_golden(raw: bytes, golden: Golden) -> Reading:
    """Reads a recorded console, or that of a fresh boot."""
    return read_trace(io.BytesIO(raw), golden.trace.name, keep_events=True)


def told(reading: Reading) -> str:
    """The reports on a trace: for a person, its records, and as JSON."""
    shown = report_json(reading.report)
    lines = tell(reading, reading.report.kernel, 0.0)
    records = map(record_text, reading.events)
    return "\n".join([*lines, "", *records, "", json.dumps(shown, indent=2)]) + "\n"


LEFT_OUT: Final = frozenset(
    {
        ("USAGE", "bytes"),
        ("USAGE", "slots"),
        ("BODY", "bytes"),
        ("BODY", "paddr"),
        ("BODY", "slots"),
        ("END", "count"),
        ("END", "digest"),
        ("FAULT", "address"),
        ("FAULT", "ip"),
        ("FAULT", "registers"),
        ("FAULT_HELD", "address"),
        ("FAULT_HELD", "ip"),
        ("FAULT_HELD", "registers"),
        ("TRIGGER", "ms"),
        ("SETTLED", "bytes"),
        ("SETTLED", "cycles"),
        ("SETTLED", "slots"),
        ("TRACE", "kernel"),
        ("TRACE", "key"),
    }
)
"""(event, field): addresses, sizes, cycles and times, which change with the compiled C code; and
the key, which changes with each boot.
"""
OF_ONE_PD: Final = frozenset({"SAY", "REFUSE", "fetched NOTICE", "FINISH_WORK", "resumed NOTICE"})
"""What a PD does by itself. The order of two PDs depends on the time that each of them takes."""


def normalised(events: list[Event]) -> dict[str, list[str]]:
    """What two boots of one system must have in common.

    PD -> what it did, in order; `all` -> all other events, in order. LEFT_OUT and printed rows,
    which follow from the rest, are left out.
    """
    found: dict[str, list[str]] = {"all": []}
    for event in events:
        if event.name == "STATE":
            continue
        values = {
            name: "*" if (event.name, name) in LEFT_OUT else value
            for name, value in event.values.items()
        }
        who = event["pd"] if event.name in OF_ONE_PD else "all"
        found.setdefault(who, []).append(str(Event(event.name, values)))
    return found
