# SPDX-License-Identifier: BSD-2-Clause
"""cellreap: cleans up after crashed seL4 protection domains, and checks the result.

`__all__` lists the public names. docs/api.md is their reference. Everything else in the package may
change at any time. A name is imported when it is first used, so that `import cellreap` is cheap.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from cellreap.api.auditing import Audit
    from cellreap.api.functions import (
        audit,
        blasts,
        boot,
        build,
        check,
        collect,
        matrix,
        metrics,
        plan,
        reconcile,
        records,
        run,
        state,
    )
    from cellreap.api.measuring import Blast
    from cellreap.api.results import Run
    from cellreap.api.systems import NoKernel, System
    from cellreap.errors import (
        CellreapError,
        IncompleteError,
        InputError,
        ModelError,
        UsageError,
    )
    from cellreap.model.closeness import Closeness
    from cellreap.model.graph import Model
    from cellreap.model.metrics import Metrics
    from cellreap.model.plan import Plan
    from cellreap.system.image import Image
    from cellreap.trace.report import Cleanup
    from cellreap.unknown import Unknown

__version__ = "0.2.0"

__all__ = [
    "Audit",
    "Blast",
    "CellreapError",
    "Cleanup",
    "Closeness",
    "Image",
    "IncompleteError",
    "InputError",
    "Metrics",
    "Model",
    "ModelError",
    "NoKernel",
    "Plan",
    "Run",
    "System",
    "Unknown",
    "UsageError",
    "audit",
    "blasts",
    "boot",
    "build",
    "check",
    "collect",
    "matrix",
    "metrics",
    "plan",
    "reconcile",
    "records",
    "run",
    "state",
]

_MODULES: Final = {
    "cellreap.api.functions": (
        "audit",
        "blasts",
        "boot",
        "build",
        "check",
        "collect",
        "matrix",
        "metrics",
        "plan",
        "reconcile",
        "records",
        "run",
        "state",
    ),
    "cellreap.api.auditing": ("Audit",),
    "cellreap.api.measuring": ("Blast",),
    "cellreap.api.results": ("Run",),
    "cellreap.api.systems": ("NoKernel", "System"),
    "cellreap.errors": (
        "CellreapError",
        "IncompleteError",
        "InputError",
        "ModelError",
        "UsageError",
    ),
    "cellreap.model.closeness": ("Closeness",),
    "cellreap.model.graph": ("Model",),
    "cellreap.model.metrics": ("Metrics",),
    "cellreap.model.plan": ("Plan",),
    "cellreap.unknown": ("Unknown",),
    "cellreap.system.image": ("Image",),
    "cellreap.trace.report": ("Cleanup",),
}


if not TYPE_CHECKING:  # a type checker would take any name for one of these

    def __getattr__(name: str) -> Any:
        for module, names in _MODULES.items():
            if name in names:
                value = getattr(importlib.import_module(module), name)
                globals()[name] = value
                return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
