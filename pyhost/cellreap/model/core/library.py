# SPDX-License-Identifier: BSD-2-Clause
"""The core's shared library, loaded through cffi with the declarations of the C headers."""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import Any, Final

import cffi

from cellreap.errors import CellreapError
from cellreap.headers import expand_enums, read_header, source_root

LIBRARY_VARIABLE: Final = "CELLREAP_CORE_LIB"
HEADERS: Final = ("status.h", "model.h", "metrics.h", "policy.h", "host/bulk.h", "host/search.h")
_NAME: Final = "libcellreap_core.so"
_BUILT: Final = Path("build/host") / _NAME
_INSTALLED: Final = Path(__file__).resolve().parents[2] / "_core" / _NAME  # by setup.py


class CoreMissing(CellreapError):
    """The core has not been built, or the named file is not its library."""


class CoreError(CellreapError):
    """The core refused. `status` is the enumerator's name, for example `CR_ERR_STALE`."""

    def __init__(self, status: str, doing: str) -> None:
        self.status = status
        super().__init__(f"core: {doing}: {status}")


def library_path() -> Path:
    """The path of the core's library: $CELLREAP_CORE_LIB, else the installed one, else the one in
    build/host of the checkout.

    Raises CoreMissing if the file does not exist.
    """
    named = os.environ.get(LIBRARY_VARIABLE)
    own = _INSTALLED if _INSTALLED.is_file() else source_root() / _BUILT
    path = Path(named) if named else own
    if not path.is_file():
        where = f"{LIBRARY_VARIABLE}={path}" if named else str(path)
        raise CoreMissing(f"{where}: no such library; run tools/setup to build the core")
    return path


def declarations(header: str) -> str:
    """A public header in the form that cffi takes: without comments and preprocessor lines."""
    lines = expand_enums(read_header(header)).splitlines()
    return "\n".join(line for line in lines if not line.lstrip().startswith("#"))


@functools.cache
def load_core(headers: tuple[str, ...] = HEADERS) -> tuple[Any, Any]:
    """cffi's (ffi, lib) for the core, with the declarations of these headers."""
    ffi = cffi.FFI()
    ffi.cdef("\n".join(declarations(header) for header in headers))
    path = library_path()
    try:
        return ffi, ffi.dlopen(str(path))
    except OSError as error:
        raise CoreMissing(f"{path}: cannot be loaded: {error}") from error


@functools.cache
def names_of(enum: str, prefix: str) -> dict[int, str]:
    """Number -> name in JSON, for an enum: CR_NOTICE_PRE_DESTROY -> "pre_destroy"."""
    ffi, _ = load_core()
    elements: dict[int, str] = ffi.typeof(enum).elements
    return {number: name.removeprefix(prefix).lower() for number, name in elements.items()}


def allocator() -> Any:
    """ffi.new without zeroing.

    The core initialises the memory that it uses. Large limits must not cost memory that stays
    unused.
    """
    return _allocator(load_core()[0])


@functools.cache
def _allocator(ffi: Any) -> Any:
    return ffi.new_allocator(should_clear_after_alloc=False)
