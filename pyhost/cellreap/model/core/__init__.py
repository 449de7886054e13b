# SPDX-License-Identifier: BSD-2-Clause
"""The C core on the host: the root task's own model and planner, loaded through cffi.

cffi parses the C headers for layouts and numbers. This package repeats none of them.
"""

from cellreap.model.core.library import (
    HEADERS,
    CoreError,
    CoreMissing,
    declarations,
    library_path,
    load_core,
)
from cellreap.model.core.metrics import CoreMetrics
from cellreap.model.core.planner import CoreCloseness, CoreModel

__all__ = [
    "HEADERS",
    "CoreCloseness",
    "CoreError",
    "CoreMetrics",
    "CoreMissing",
    "CoreModel",
    "declarations",
    "library_path",
    "load_core",
]
