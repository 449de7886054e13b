# SPDX-License-Identifier: BSD-2-Clause
"""The rules that a trace must keep: id and demand, as rules.txt has them.

Each violation names its rule. docs/trace-rules.md has the same table.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

_TEXT: Final = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8")
_LINES: Final = _TEXT.replace("\n    ", " ").splitlines()
RULES: Final = dict(line.split(": ", 1) for line in _LINES if line and not line.startswith("#"))
"""Id -> demand."""
