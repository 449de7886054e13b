# SPDX-License-Identifier: BSD-2-Clause
"""Numbers that are given once: the functions of numbers.h against sets of numbers in Python."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import cffi
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellreap import headers
from cellreap.headers import source_root

LASTS = [
    headers.constant("numbers.h", name)
    for name in ("CR_LAST_PD", "CR_LAST_SPACE", "CR_LAST_OBJECT", "CR_LAST_EXTRACTION",
                 "CR_LAST_GENERATION")
]  # fmt: skip
WIDTH = 2**32

SOURCE = """
#include <cellreap/numbers.h>
uint32_t first_number(uint32_t last, uint32_t left) { return cr_first_number(last, left); }
int number_left(uint32_t next, uint32_t last) { return cr_number_left(next, last); }
"""


@pytest.fixture(scope="module")
def lib(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The inline functions of numbers.h, compiled for the host."""
    folder = tmp_path_factory.mktemp("numbers")
    source, library = folder / "numbers.c", folder / "numbers.so"
    source.write_text(SOURCE)
    include = source_root() / "roottask" / "include"
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-Wconversion", "-fPIC", "-shared"]
    subprocess.run(["cc", *flags, "-I", include, source, "-o", library], check=True)
    ffi = cffi.FFI()
    ffi.cdef("uint32_t first_number(uint32_t, uint32_t); int number_left(uint32_t, uint32_t);")
    return ffi.dlopen(str(Path(library)))


def wanted(last: int, left: int) -> set[int]:
    """The numbers that are given. left: 0 for all from 1 on, else at most so many, up to `last`."""
    every = range(1, last + 1)
    return set(every if left == 0 else every[-left:])


@pytest.mark.behaviour("X-06")
@given(last=st.integers(1, 200), left=st.integers(0, 300))
def test_each_number_is_given_once_and_then_none(lib: Any, last: int, left: int) -> None:
    given_: list[int] = []
    following = lib.first_number(last, left)
    while lib.number_left(following, last):
        given_.append(following)
        following += 1
    assert given_ == sorted(wanted(last, left))
    assert following == last + 1
    assert not lib.number_left(following, last)


@pytest.mark.behaviour("X-06")
@given(last=st.sampled_from(LASTS), left=st.integers(0, WIDTH - 1))
def test_the_first_number_leaves_so_many(lib: Any, last: int, left: int) -> None:
    first = lib.first_number(last, left)
    assert first >= 1
    assert last - first + 1 == (last if left == 0 else min(left, last))


@pytest.mark.behaviour("X-06")
@given(last=st.sampled_from(LASTS), off=st.integers(-3, 3))
def test_the_number_after_the_last_does_not_wrap(lib: Any, last: int, off: int) -> None:
    """Counters stand at most one beyond the last number, and that is refused."""
    assert last + 1 < WIDTH
    assert bool(lib.number_left(last + off, last)) == (off <= 0)
    assert not lib.number_left(WIDTH - 1, last)
