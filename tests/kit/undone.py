# SPDX-License-Identifier: BSD-2-Clause
"""What PDs of a run did not do until its end, by the names of the configuration."""

from __future__ import annotations

import re

from cellreap.testing import Run


def undone(run: Run) -> list[tuple[str, str]]:
    """(PD, what it did not do), in order, without the numbers of notices and lines."""

    def named(found: re.Match[str]) -> str:
        return f" ({found[1]} {run.name(found[2])})"

    def plain(what: str) -> str:
        notice = re.sub(r" notice \d+ \(([a-z-]+) (\w+)\)", named, what)
        return re.sub(r" in line \d+", "", notice)

    return [(run.name(each.pd), plain(each.what)) for each in run.report.undone]
