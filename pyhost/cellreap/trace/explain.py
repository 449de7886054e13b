# SPDX-License-Identifier: BSD-2-Clause
"""What programs and configuration tell about a trace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cellreap.trace.faults import FaultSeen
from cellreap.trace.silence import Standing


@dataclass(frozen=True)
class Explain:
    """Functions that fill in what they know."""

    fault: Callable[[FaultSeen], None] = lambda fault: None
    standing: Callable[[Standing], None] = lambda standing: None
