# SPDX-License-Identifier: BSD-2-Clause
"""Trace lines composed in C against those that the host tooling makes."""

from __future__ import annotations

import subprocess
from typing import Any

import cffi
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cellreap.headers import event_table, source_root
from cellreap.model.core import library_path
from cellreap.trace.writer import seal

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
SMALL = 2048


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    """(ffi, lib) with trace.h, its table expanded by the C preprocessor."""
    empty = tmp_path_factory.mktemp("include")
    for name in ("stddef.h", "stdint.h"):
        (empty / name).write_text("")
    header = source_root() / "roottask" / "include" / "cellreap" / "trace.h"
    command = ["cc", "-E", "-P", "-nostdinc", f"-I{empty}", f"-I{header.parent.parent}", str(header)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    ffi = cffi.FFI()
    ffi.cdef(text)
    return ffi, ffi.dlopen(str(library_path()))


class Composer:
    """A trace in C whose console is a list."""

    def __init__(self, core: tuple[Any, Any], capacity: int) -> None:
        self.ffi, self.lib = core
        self.out = bytearray()
        self.put = self.ffi.callback("void(char)", lambda c: self.out.extend(c))
        self.buffer = self.ffi.new("char[]", capacity)
        self.trace = self.ffi.new("cr_trace *")
        self.lib.cr_trace_init(self.trace, self.buffer, capacity, self.put)
        self.numbers = {name: number for number, name in enumerate(event_table().fields)}

    def line(self, name: str, values: list[bytes]) -> None:
        self.lib.cr_trace_begin(self.trace, self.numbers[name])
        for value in values:
            self.lib.cr_trace_bytes(self.trace, value, len(value))
        self.lib.cr_trace_end(self.trace)

    def lines(self) -> list[str]:
        self.lib.cr_trace_finish(self.trace)
        return self.out.decode("ascii").splitlines()


EVENTS = st.sampled_from([name for name in event_table().fields if name != "END"]).flatmap(
    lambda name: st.tuples(st.just(name), st.tuples(*(TEXT for _ in event_table().fields[name])))
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(events=st.lists(EVENTS, max_size=12), capacity=st.sampled_from([SMALL, 1 << 16]))
def test_lines_are_those_of_the_host(
    core: tuple[Any, Any], events: list[tuple[str, tuple[str, ...]]], capacity: int
) -> None:
    composer = Composer(core, capacity)
    drafts: list[tuple[str, dict[str, Any]]] = []
    for name, values in events:
        composer.line(name, [value.encode() for value in values])
        drafts.append((name, dict(zip(event_table().fields[name], values, strict=True))))
    wanted = seal([*drafts, ("END", {})])
    assert composer.lines() == wanted


def test_numbers_and_addresses(core: tuple[Any, Any]) -> None:
    composer = Composer(core, SMALL)
    composer.lib.cr_trace_begin(composer.trace, composer.numbers["FREED"])
    composer.lib.cr_trace_number(composer.trace, 0)
    composer.lib.cr_trace_string(composer.trace, b"PD_1")
    composer.lib.cr_trace_address(composer.trace, 0x1FF80000)
    composer.lib.cr_trace_number(composer.trace, 2**64 - 1)
    composer.lib.cr_trace_number(composer.trace, 10)
    composer.lib.cr_trace_end(composer.trace)
    assert composer.lines()[0].endswith(
        "FREED n=0 pd=PD_1 paddr=0x1ff80000 bytes=18446744073709551615 slots=10"
    )


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_line_with_too_few_or_too_many_fields_ends_the_trace(core: tuple[Any, Any], count: int) -> None:
    composer = Composer(core, SMALL)
    composer.line("EXIT", [b"PD_1"] * 2)
    composer.line("EXIT", [b"PD_1"] * count)
    composer.line("EXIT", [b"PD_1"] * 2)
    assert [line.split()[3] for line in composer.lines()] == ["EXIT"]
    assert composer.trace.broken


def test_a_line_that_is_too_long_ends_the_trace(core: tuple[Any, Any]) -> None:
    composer = Composer(core, 1 << 16)
    composer.line("SAY", [b"PD_1", b" " * 700])
    assert composer.lines() == []
