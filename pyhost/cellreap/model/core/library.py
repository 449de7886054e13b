# SPDX-License-Identifier: BSD-2-Clause
"""The core's shared library, loaded through cffi with what the C headers declare."""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import Any, Final

import cffi

from cellreap.errors import CellreapError
from cellreap.headers import expand_enums, read_header, source_root

LIBRARY_VARIABLE: Final = "CELLREAP_CORE_LIB"
HEADERS: Final = ("status.h", "model.h", "policy.h")
_BUILT: Final = Path("build/host/libcellreap_core.so")


class CoreMissing(CellreapError):
    """The core has not been built, or the library named is none."""


class CoreError(CellreapError):
    """The core refused. `status` is the enumerator's name, `CR_ERR_STALE` say."""

    def __init__(self, status: str, doing: str) -> None:
        self.status = status
        super().__init__(f"core: {doing}: {status}")


def library_path() -> Path:
    """The core's library: $CELLREAP_CORE_LIB, else build/host of the checkout. CoreMissing if it is
    not there.
    """
    named = os.environ.get(LIBRARY_VARIABLE)
    path = Path(named) if named else source_root() / _BUILT
    if not path.is_file():
        where = f"{LIBRARY_VARIABLE}={path}" if named else str(path)
        raise CoreMissing(f"{where}: no such library; run tools/setup to build the core")
    return path


def declarations(header: str) -> str:
    """A public header as cffi wants it: without comments and preprocessor lines."""
    lines = expand_enums(read_header(header)).splitlines()
    return "\n".join(line for line in lines if not line.lstrip().startswith("#"))


@functools.cache
def load_core(headers: tuple[str, ...] = HEADERS) -> tuple[Any, Any]:
    """cffi's (ffi, lib) for the core, with what these headers declare."""
    ffi = cffi.FFI()
    ffi.cdef("\n".join(declarations(header) for header in headers))
    path = library_path()
    try:
        return ffi, ffi.dlopen(str(path))
    except OSError as error:
        raise CoreMissing(f"{path}: cannot be loaded: {error}") from error


@functools.cache
def names_of(enum: str, prefix: str) -> dict[int, str]:
    """number -> name in JSON, of an enum of the headers: CR_NOTICE_PRE_DESTROY -> "pre_destroy"."""
    ffi, _ = load_core()
    elements: dict[int, str] = ffi.typeof(enum).elements
    return {number: name.removeprefix(prefix).lower() for number, name in elements.items()}


@functools.cache
def allocator() -> Any:
    """ffi.new without the zeroing: the core initialises what it uses, and large limits should cost
    no memory.
    """
    ffi, _ = load_core()
    return ffi.new_allocator(should_clear_after_alloc=False)
