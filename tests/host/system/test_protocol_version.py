# SPDX-License-Identifier: BSD-2-Clause
"""What a program and the root task must agree on is of one version of the protocol.

tests/data/versions has its tables. From 1.0 on, nobody changes the protocol without
raising its version, because a program that was built before would get other answers than it
expects.
"""

from __future__ import annotations

import pytest

from cellreap import headers
from kit.paths import ROOT, VERSIONS

VERSION = headers.constant("protocol.h", "CR_PROTOCOL_VERSION")
TABLES = ("CR_LIMIT", "CR_RESULT", "CR_NOTICE_KIND", "CR_WORK_RESULT", "CR_LOOK_STATE",
          "CR_TICKET_STATE", "CR_FAULT_KIND", "CR_ENDING", "CR_REPORT", "CR_REPORT_WORD",
          "CR_MORTEM_WORD")  # fmt: skip
"""The tables of numbers beside that of operations. Their last column is text for people."""


def told() -> str:
    """All that a message may contain, one fact a line."""
    lines = [
        f"{each.number} {each.word}({each.arguments}) -> {each.results}"
        for each in headers.operations()
    ]
    for name in TABLES:
        file = "policy.h" if name == "CR_NOTICE_KIND" else "protocol.h"
        for row in headers.table(file, name):
            cells = " ".join(map(str, row[:-1]))
            lines.append(f"{name} {cells}")
    return "\n".join(lines) + "\n"


@pytest.mark.behaviour("G-46")
def test_the_protocol_is_that_of_its_version(rewrite: bool) -> None:
    kept = VERSIONS / f"protocol-{VERSION}.txt"
    if rewrite:
        kept.write_text(told())
    assert told() == kept.read_text(), "docs/versions.md says what to do"


@pytest.mark.behaviour("G-46")
def test_the_page_names_the_version() -> None:
    text = " ".join((ROOT / "docs" / "protocol.md").read_text().split())
    assert f"The protocol's version is {VERSION}." in text
