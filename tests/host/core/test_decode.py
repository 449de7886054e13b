# SPDX-License-Identifier: BSD-2-Clause
"""The decoder of operations: in C against the reference, and under sanitizers."""

from __future__ import annotations

import random
import re
import shutil
import struct
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import cffi
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellreap.headers import (
    constant,
    enums,
    parse_forms,
    parse_table,
    read_header,
    source_root,
)
from cellreap.model.core import declarations, library_path
from kit.decode_reference import FORMS, MAGIC, ROWS, Message, Refused, Value, decode
from kit.paths import TESTS

RESULTS = {
    number: name.removeprefix("CR_RESULT_")
    for name, number in enums("protocol.h")["cr_result"].items()
}
OPERATIONS = {
    name: number for name, number in enums("protocol.h")["cr_op"].items() if name != "CR_OP_COUNT"
}
HARNESS = TESTS / "host" / "core" / "fuzz_decode.c"
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
ENUM = re.compile(r"(?:typedef\s+)?enum\s*\w*\s*\{[^{}]*\}\s*\w*\s*;")


@cache
def _core() -> tuple[Any, Any]:
    """The core with the decoder declared.

    Of protocol.h only the enums are declared: cffi reads no bodies.
    """
    ffi = cffi.FFI()
    for header in ("status.h", "model.h"):
        ffi.cdef(declarations(header))
    ffi.cdef("\n".join(ENUM.findall(declarations("protocol.h"))))
    ffi.cdef(declarations("decode.h"))
    return ffi, ffi.dlopen(str(library_path()))


def _in_c(message: Message) -> tuple[str, dict[str, Value]]:
    """The core's result, and all of its arguments that are not 0 or empty."""
    ffi, lib = _core()
    words = ffi.new("uint64_t[]", list(message.words))
    raw = ffi.new(
        "cr_raw_message *",
        {
            "label": message.label,
            "length": len(message.words),
            "extra": message.caps,
            "unwrapped": message.badge,
            "words": words,
        },
    )
    out = ffi.new("cr_operation_args *")
    result = RESULTS[lib.cr_decode_operation(raw, out)]
    if result != "OK":
        return result, {}
    values: dict[str, Value] = {}
    for name, field in ffi.typeof("cr_operation_args").fields:
        if field.type.kind != "array":
            values[name] = int(getattr(out, name))
    for name in ("name", "type"):
        values[name] = ffi.string(getattr(out, name))
    values["text"] = bytes(ffi.buffer(out.text))
    values["answers"] = [(each.token, int(each.result)) for each in out.answers]
    values["items"] = [(each.object, each.target_space, each.target_object) for each in out.items]
    return result, values


def _in_python(message: Message) -> tuple[str, dict[str, Value]]:
    try:
        return "OK", decode(message)
    except Refused as refused:
        return str(refused), {}


def _compare(message: Message) -> str:
    """Decodes with both and returns the result."""
    wanted, arguments = _in_python(message)
    result, values = _in_c(message)
    assert result == wanted, message
    for name, value in values.items():
        expected = arguments.get(name, type(value)())
        if isinstance(value, bytes) and isinstance(expected, bytes) and name == "text":
            expected = expected.ljust(len(value), b"\0")
        elif isinstance(value, list) and isinstance(expected, list):
            empty = (0,) * len(value[0])
            expected = expected + [empty] * (len(value) - len(expected))
        assert value == expected, (name, message)
    return result


# -- messages

LIMITS = (
    0,
    1,
    2,
    3,
    4,
    15,
    16,
    17,
    31,
    32,
    33,
    399,
    400,
    401,
    2**32 - 2,
    2**32 - 1,
    2**32,
    2**63,
    2**64 - 1,
    MAGIC,
)
TYPES = (
    b"BLOCK",
    b"PD",
    b"ADS",
    b"RESSPC",
    b"RESSPCS",
    b"P",
    b"9A",
    b"_A",
    b"A9_",
    b"Block",
    b"EIGHTEEN_LETTERS",
    b"FIFTEEN_LETTERS",
)
NAMES = (b"disk1", b"", b"a b", b"a\0b", b"\x7f", b"~!", b"x" * 31, b"x" * 32, b"x" * 8, b"\xe4")


def _words(text: bytes, count: int) -> list[int]:
    return list(struct.unpack(f"<{count}Q", text[: 8 * count].ljust(8 * count, b"\0")))


def _good(rng: random.Random, label: int) -> tuple[list[int], int]:
    """Words and capabilities as an operation has them, some of them at their limits."""
    words: list[int] = [MAGIC]
    caps = 0
    for form, member in FORMS.get(label, ()):
        number = rng.choice((1, 2, rng.randrange(40), rng.choice(LIMITS)))
        if form == "TEXT":
            size = rng.choice((0, 1, 7, 8, 9, 399, 400, 401, 408, rng.randrange(420)))
            words += [size, *_words(rng.randbytes(size), (size + 7) // 8)]
        elif form == "TYPE":
            words += _words(rng.choice(TYPES), 2)
        elif form in ("NEW_NAME", "NAME"):
            words += _words(rng.choice((b"disk1", *NAMES)), 4)
        elif member == "answers":
            count = rng.choice((1, 2, 15, 16))
            words.append(count)
            for _ in range(count):
                words += [
                    rng.choice((rng.getrandbits(64), rng.randrange(300))),
                    rng.choice((0, 0, 1, 2)),
                ]
        elif member == "items":
            count = rng.choice((1, 2, 31, 32))
            words += [count]
            for _ in range(count):
                both = rng.randrange(2) * rng.choice((1, 7, 2**32))
                words += [both, rng.choice((1, number)), both]
        elif form in ("PD", "PD_OR_NOT"):
            caps = int(form == "PD" or rng.random() < 0.3)
        elif form == "FLAG_OR_NOT":
            words += rng.choice(([], [0], [1], [2**40]))
        elif form == "HANDLER_OR_NOT":
            words += rng.choice(([], [0], [1], [31], [32], [2**32]))
        else:
            words.append(number if rng.random() < 0.6 else rng.randrange(2))
    return words, caps


def _spoil(rng: random.Random, label: int, words: list[int], caps: int) -> Message:
    """Makes one or more parts of a message wrong."""
    for _ in range(rng.randrange(1, 3)):
        kind = rng.randrange(7)
        if kind == 0:
            words = words[: rng.randrange(len(words) + 1)]
        elif kind == 1:
            words = words[:-1]
        elif kind == 2:
            words = (words + [rng.choice(LIMITS) for _ in range(rng.randrange(1, 121))])[:120]
        elif kind == 3 and words:
            words[rng.randrange(len(words))] = rng.choice((rng.getrandbits(64), *LIMITS))
        elif kind == 4 and words:
            words[rng.randrange(min(4, len(words)))] ^= 1 << rng.randrange(64)
        elif kind == 5:
            caps = rng.randrange(4)
        else:
            label = rng.choice((0, 31, 32, 2**32 + label % 32, 2**64 - 1, (label + 1) % 2**64))
    return Message(label, tuple(words[:120]), caps, rng.choice((0, rng.getrandbits(64))))


def _random_message(rng: random.Random) -> Message:
    label = rng.choice(tuple(OPERATIONS.values()))
    words, caps = _good(rng, label)
    if rng.random() < 0.5:
        return _spoil(rng, label, words, caps)
    return Message(label, tuple(words), caps, rng.choice((0, rng.getrandbits(64))))


# -- C and Python


def test_every_operation_and_form_is_in_the_reference() -> None:
    """The numbers have no gaps, and the reference has the same rows as the table."""
    assert list(FORMS) == list(OPERATIONS.values()) == list(range(1, len(FORMS) + 1))
    rows = {}
    for member, _, most, forms in parse_table(read_header("protocol.h"), "CR_ROW_FORM"):
        limit = constant("protocol.h", str(most))
        rows[str(member)] = (limit, tuple(form for form, _ in parse_forms(str(forms))))
    assert rows == ROWS
    used = {member for forms in FORMS.values() for form, member in forms if form == "ROWS"}
    assert used == set(ROWS)


@pytest.mark.behaviour("R-05", "N-10")
@pytest.mark.parametrize("seed", range(4))
def test_core_and_reference_take_messages_apart_alike(seed: int) -> None:
    rng = random.Random(seed)
    seen: set[tuple[int, str]] = set()
    for _ in range(6000):
        message = _random_message(rng)
        seen.add((message.label, _compare(message)))
    accepted = {label for label, result in seen if result == "OK"}
    assert accepted == set(OPERATIONS.values())
    assert {result for _, result in seen} == {
        "OK", "BAD_MAGIC", "BAD_OP", "BAD_LENGTH", "NO_SUCH", "FAILED",
    }  # fmt: skip


@given(
    st.one_of(st.integers(0, 32), st.integers(0, 2**64 - 1)),
    st.lists(st.one_of(st.sampled_from(LIMITS), st.integers(0, 2**64 - 1)), max_size=120),
    st.integers(0, 3),
    st.integers(0, 2**64 - 1),
    st.booleans(),
)
def test_core_and_reference_agree_on_any_words(
    label: int, words: list[int], caps: int, badge: int, magic: bool
) -> None:
    words = [MAGIC, *words][:120] if magic else words
    _compare(Message(label, tuple(words), caps, badge))


@pytest.mark.behaviour("R-05")
@pytest.mark.parametrize(
    "magic", [0, MAGIC - 1, MAGIC + 1, MAGIC ^ (1 << 63), MAGIC >> 32, 2**64 - 1]
)
@pytest.mark.parametrize("label", sorted(OPERATIONS.values()))
def test_a_wrong_magic_number_is_refused_before_all_else(label: int, magic: int) -> None:
    words, caps = _good(random.Random(label), label)
    assert _in_c(Message(label, (magic, *words[1:]), caps))[0] == "BAD_MAGIC"
    assert _in_c(Message(label + 1000, (magic, *words[1:]), caps))[0] == "BAD_MAGIC"
    assert _in_c(Message(label, (), caps))[0] == "BAD_MAGIC"


@pytest.mark.behaviour("N-10")
@pytest.mark.parametrize(
    ("words", "result"),
    [
        ((1, 7, 0), "OK"),
        ((1, 7, 2), "OK"),
        ((1, 7, 3), "FAILED"),
        ((1, 7, 2**32), "FAILED"),
        ((2, 7, 0, 8, 1), "OK"),
        ((2, 7, 0, 8), "BAD_LENGTH"),
        ((0, 7, 0), "BAD_LENGTH"),
        ((17, *range(34)), "BAD_LENGTH"),
        ((2**32 + 1, 7, 0), "BAD_LENGTH"),
    ],
)
def test_a_message_of_acknowledgements_is_taken_whole_or_refused(
    words: tuple[int, ...], result: str
) -> None:
    assert _compare(Message(OPERATIONS["CR_OP_FINISH_WORK"], (MAGIC, *words))) == result


@pytest.mark.parametrize(
    ("count", "words", "result"),
    [
        (1, 3, "OK"),
        (32, 96, "OK"),
        (32, 95, "BAD_LENGTH"),
        (33, 99, "BAD_LENGTH"),
        (0, 3, "BAD_LENGTH"),
    ],
)
def test_a_subgraph_has_as_many_edges_as_it_says(count: int, words: int, result: str) -> None:
    assert (
        _compare(Message(OPERATIONS["CR_OP_SUBGRAPH"], (MAGIC, 5, count, *([1] * words)))) == result
    )


@pytest.mark.parametrize(
    ("operation", "words", "caps", "result"),
    [
        ("SUBSCRIBE", (0,), 0, "OK"),
        ("SUBSCRIBE", (0,), 1, "OK"),
        ("SUBSCRIBE", (4,), 0, "OK"),
        ("SUBSCRIBE", (4,), 1, "BAD_LENGTH"),
        ("SUBSCRIBE", (4, 31), 0, "OK"),
        ("SUBSCRIBE", (4, 32), 0, "FAILED"),
        ("UNSUBSCRIBE", (4, 2**32), 0, "FAILED"),
        ("UNSUBSCRIBE", (4,), 1, "BAD_LENGTH"),
        ("LOOK", (4, 1), 0, "OK"),
        ("LOOK", (4, 1), 1, "BAD_LENGTH"),
        ("LOOK", (0, 0), 1, "OK"),
        ("LOOK", (0, 1), 0, "OK"),
        ("LOOK", (0, 1), 1, "BAD_LENGTH"),
    ],
)
def test_a_space_or_a_pd_and_not_both(
    operation: str, words: tuple[int, ...], caps: int, result: str
) -> None:
    assert (
        _compare(Message(OPERATIONS[f"CR_OP_{operation}"], (MAGIC, *words), caps, 1 << 60))
        == result
    )


# -- under sanitizers


def _compile(compiler: str, out: Path, *options: str) -> subprocess.CompletedProcess[str]:
    root = source_root() / "roottask"
    command = [
        compiler,
        "-std=c11",
        "-O1",
        "-g",
        "-Wall",
        "-Wextra",
        "-Werror",
        f"-I{root / 'include'}",
    ]
    files = [str(HARNESS), str(root / "core" / "operations" / "decode.c"), "-o", str(out)]
    return subprocess.run([*command, *options, *files], capture_output=True, text=True, check=False)


def _can(compiler: str, folder: Path, *options: str) -> bool:
    """Whether a compiler makes runnable programs with these options."""
    source, out = folder / "empty.c", folder / "empty"
    fuzzer = any("fuzzer" in option for option in options)
    source.write_text(
        "int LLVMFuzzerTestOneInput(const char *d, unsigned long n);\n"
        "int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return d == 0 && n != 0; }\n"
        if fuzzer
        else "int main(void) { return 0; }\n"
    )
    if shutil.which(compiler) is None:
        return False
    done = subprocess.run(
        [compiler, *options, str(source), "-o", str(out)], capture_output=True, check=False
    )
    if done.returncode != 0:
        return False
    arguments = ["-runs=1"] if fuzzer else []
    return subprocess.run([str(out), *arguments], capture_output=True, check=False).returncode == 0


@pytest.fixture
def sanitizers(tmp_path: Path) -> None:
    if not _can("gcc", tmp_path, *SANITIZE):
        pytest.skip(
            "gcc has no AddressSanitizer and UndefinedBehaviorSanitizer here (libasan, libubsan)"
        )


def _built(tmp_path: Path, *options: str) -> Path:
    out = tmp_path / "fuzz_decode"
    done = _compile("gcc", out, *SANITIZE, *options)
    assert done.returncode == 0, done.stderr
    return out


@pytest.mark.slow
@pytest.mark.usefixtures("sanitizers")
def test_a_million_messages_and_no_word_is_read_beyond_their_length(tmp_path: Path) -> None:
    """The exit code also says that every operation was accepted, with arguments within limits."""
    run = subprocess.run(
        [_built(tmp_path), "1000000", "1"], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    counts = {
        int(words[1][:-1]): int(words[2])
        for words in map(str.split, run.stdout.splitlines())
        if words[0] == "result"
    }
    assert sum(counts.values()) == 1_000_000
    assert {RESULTS[number] for number, count in counts.items() if count > 1000} == {
        "OK", "BAD_MAGIC", "BAD_OP", "BAD_LENGTH", "NO_SUCH", "FAILED",
    }  # fmt: skip


@pytest.mark.usefixtures("sanitizers")
def test_reading_a_single_word_too_many_stops_the_harness(tmp_path: Path) -> None:
    """Blocks are one word shorter than the lengths say, so the last word is beyond the block."""
    run = subprocess.run(
        [_built(tmp_path, "-DFUZZ_SHORT=1"), "1000000", "1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode != 0
    assert "AddressSanitizer: heap-buffer-overflow" in run.stderr
    assert "decode.c" in run.stderr


@pytest.mark.usefixtures("sanitizers")
def test_the_harness_counts_operations_that_are_never_accepted(tmp_path: Path) -> None:
    run = subprocess.run([_built(tmp_path), "10", "1"], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert "never accepted" in run.stderr


def test_guided_by_what_it_reaches_a_fuzzer_finds_nothing(tmp_path: Path) -> None:
    options = ["-fsanitize=fuzzer,address,undefined", "-fno-sanitize-recover=all"]
    if not _can("clang", tmp_path, *options):
        pytest.skip("no clang with libFuzzer here")
    out = tmp_path / "guided"
    done = _compile("clang", out, *options, "-DFUZZ_LIBFUZZER")
    assert done.returncode == 0, done.stderr
    run = subprocess.run(
        [out, "-runs=200000", "-seed=1", "-max_len=984", "-print_final_stats=1"],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr[-4000:]
    assert "stat::number_of_executed_units: 200000" in run.stderr
