# SPDX-License-Identifier: BSD-2-Clause
"""For code that makes very many objects."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def no_collection() -> Iterator[None]:
    """Keeps the garbage collector from running. It would look at all objects, again and again, and
    find nothing: a model has no cycles.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
