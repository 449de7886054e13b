# SPDX-License-Identifier: BSD-2-Clause
"""What a crash report tells: registers, function, source line, and a stack that is too small."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from cellreap.cli.main import cli
from cellreap.system.dwarf import DebugInfo
from cellreap.system.toolchain import find_toolchain
from cellreap.testing import Run, Target
from cellreap.trace.faults import FaultSeen

CONFIG = """\
[system]
name = "faulty"

[[program]]
name = "deep"
sources = ["src/deep.c"]

[[program]]
name = "wild"
sources = ["src/wild.c"]

[[program]]
name = "bare"
elf = "bare.elf"

[[pd]]
name = "recursing"
program = "deep"
stack_pages = 2

[[pd]]
name = "storing"
program = "wild"

[[pd]]
name = "unknown"
program = "bare"

[expect]
crashes = ["recursing", "storing", "unknown"]
nobody_left = true
"""
FILES = {
    "faulty.toml": CONFIG,
    "src/deep.c": """\
#include <cellreap/client.h>

static volatile uint64_t sum;

__attribute__((noinline)) static uint64_t descend(uint64_t n)
{
    volatile uint64_t own[16];
    own[n % 16] = n;
    return descend(n + 1) + own[n % 16]; /* line 9 */
}

void cr_main(void)
{
    sum = descend(0);
}
""",
    "src/wild.c": """\
#include <cellreap/client.h>
#include "wild.h"

void cr_main(void)
{
    store((volatile uint64_t *)0x7000);
}
""",
    "src/wild.h": """\
#include <stdint.h>
static inline __attribute__((always_inline)) void store(volatile uint64_t *at)
{
    *at = 1;
}
""",
}
BARE = "void landing(void)\n{\n    *(volatile int *)32 = 1;\n    for (;;) {\n    }\n}\n" + (
    "void _start(void)\n{\n    landing();\n}\n"
)


CARELESS = {
    "careless.toml": """\
[system]
name = "careless"

[[program]]
name = "long"
sources = ["src/long.c"]

[[program]]
name = "long_reply"
sources = ["src/long_reply.c"]

[[program]]
name = "asker"
sources = ["src/asker.c"]

[[pd]]
name = "asserting"
program = "long"

[[pd]]
name = "answering"
program = "long_reply"
[[pd.space]]
name = "words"
type = "WORD"

[[pd]]
name = "asking"
program = "asker"
requests = ["words"]

[expect]
crashes = ["asserting", "answering", "asking"]
nobody_left = true
""",
    "src/long.c": """\
#include <cellreap/client.h>
#include <sel4/sel4.h>

void cr_main(void)
{
    volatile uint64_t length = 1000;
#ifdef seL4_DebugAssert
    seL4_MessageInfo_t tag = seL4_MessageInfo_new(0, 0, 0, length);
    cr_exit(seL4_MessageInfo_get_length(tag));
#else /* the libsel4 of refkernel asserts nothing */
    void __assert_fail(const char *, const char *, int, const char *);
    __assert_fail("length < 128", "some/folder/types.h", 7, "seL4_MessageInfo_new");
    cr_exit(length);
#endif
}
""",
    "src/long_reply.c": """\
#include <cellreap/client.h>

static uint32_t serve(cr_incoming *m)
{
    m->reply_count = 200;
    return CR_REPLY_BASE;
}

void cr_main(void)
{
    static const cr_server server = {.serve = serve};
    (void)cr_own_space();
    cr_serve(&server);
}
""",
    "src/asker.c": """\
#include <cellreap/client.h>

void cr_main(void)
{
    uint32_t slot;
    uint32_t space;
    uint64_t reply;
    uint32_t received;
    cr_line line = {.used = 0};
    if (cr_connect("words", 1, &slot, &space) != CR_RESULT_OK) {
        cr_exit(1);
    }
    uint32_t label = cr_call(slot, CR_REPLY_BASE, 0, 0, &reply, 1, &received);
    cr_say(cr_put_number(cr_put(&line, "lost: "), label == CR_CALL_LOST));
    static const uint64_t words[200];
    (void)cr_call(slot, CR_REPLY_BASE, words, 200, &reply, 1, &received);
}
""",
}


def write(files: dict[str, str], folder: Path) -> None:
    """Writes files into the folder: name -> text."""
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)


@pytest.fixture(scope="module")
def faulty(target: Target, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run of three PDs of which each faults in its own way."""
    folder = tmp_path_factory.mktemp("faulty")
    write(FILES, folder)
    source = folder / "bare.c"
    source.write_text(BARE)
    options = ["-O1", "-static", "-nostdlib", "-no-pie", "-ffreestanding", "-fno-inline", "-g0"]
    compiler = find_toolchain(target.sdk.kernel.arch).compiler
    command = [compiler, *options, str(source), "-o", str(folder / "bare.elf")]
    subprocess.run(command, check=True)
    return Target(target.sdk, tmp_path_factory.mktemp("runs"), [folder]).run("faulty")


@pytest.fixture
def fault(faulty: Run) -> Callable[[str], FaultSeen]:
    """The fault of the PD of that name."""

    def find(name: str) -> FaultSeen:
        (found,) = (each for each in faulty.report.faults if each.name == name)
        return found

    return find


@pytest.mark.behaviour("Y-05")
def test_a_fault_names_function_and_line_also_of_inlined_code(
    fault: Callable[[str], FaultSeen],
) -> None:
    found = fault("storing")
    assert (found.function, found.file, found.source_line) == ("store", "src/wild.h", 4)
    assert "inlined into cr_main" in str(found.place)
    assert found.overflow is None


@pytest.mark.behaviour("Y-05")
def test_a_fault_has_the_registers_of_the_thread(fault: Callable[[str], FaultSeen]) -> None:
    for name in ("recursing", "storing", "unknown"):
        registers = fault(name).registers
        pc = registers.get("rip", registers.get("pc"))
        assert pc == fault(name).ip
        stack = registers.get("rsp", registers.get("sp"))
        assert stack is not None
        assert 0x1000F000 <= stack <= 0x10014000


@pytest.mark.behaviour("Y-05")
def test_a_stack_that_is_too_small_is_called_so(fault: Callable[[str], FaultSeen]) -> None:
    found = fault("recursing")
    assert found.overflow == (0x10010000, 0x10012000)
    assert (found.function, found.file) == ("descend", "src/deep.c")
    assert found.source_line in range(5, 10)
    assert "stack overflow: its stack is 0x10010000 to 0x10012000 (8 KiB)" in str(
        found.overflow_told()
    )


@pytest.mark.behaviour("Y-05")
def test_an_elf_file_without_debug_information_has_the_nearest_symbol(
    fault: Callable[[str], FaultSeen],
) -> None:
    found = fault("unknown")
    assert (found.function, found.file, found.source_line) == ("landing", None, None)
    assert re.match(r"landing\+0x[0-9a-f]+ \(the nearest symbol", str(found.place))


@pytest.mark.behaviour("Y-05", "Y-08")
def test_check_and_show_tell_the_same_of_a_kept_trace(faulty: Run, tmp_path: Path) -> None:
    for command in ("check", "show"):
        done = CliRunner().invoke(cli, [command, str(faulty.trace), "--image", str(faulty.image)])
        assert "store at src/wild.h:4, inlined into cr_main" in done.output, done.output
        assert "stack overflow: its stack is 0x10010000 to 0x10012000" in done.output
        assert "=0x" in done.output  # a register
    asked = ["check", str(faulty.trace), "--json"]
    told = CliRunner().invoke(cli, [*asked, "--image", str(faulty.image)], standalone_mode=False)
    faults = {each["name"]: each for each in json.loads(told.stdout)["faults"]}
    assert (faults["storing"]["function"], faults["storing"]["line"]) == ("store", 4)
    assert faults["recursing"]["stack_overflow"] is True
    assert faults["storing"]["stack_overflow"] is False
    # Without the image, which stands beside it, nothing is made up.
    alone = tmp_path / "alone.trace"
    alone.write_bytes(faulty.trace.read_bytes())
    told = CliRunner().invoke(cli, ["check", str(alone), "--json"], standalone_mode=False)
    faults = {each["name"]: each for each in json.loads(told.stdout)["faults"]}
    assert {each["function"] for each in faults.values()} == {None}
    assert {each["stack_overflow"] for each in faults.values()} == {False}
    assert faults["storing"]["registers"]


@pytest.mark.behaviour("Y-05")
def test_programs_of_another_image_are_refused(faulty: Run, tmp_path: Path) -> None:
    kept = faulty.image.with_suffix(".programs")
    for name in ("deep", "wild", "bare"):
        other = {"deep": "wild", "wild": "deep", "bare": "bare"}[name]
        (tmp_path / f"{name}.elf").write_bytes((kept / f"{other}.elf").read_bytes())
    command = ["show", str(faulty.trace), "--image", str(faulty.image), "--programs"]
    done = CliRunner().invoke(cli, [*command, str(tmp_path)])
    assert "is not the program in the image" in str(done.exception)


@pytest.fixture(scope="module")
def careless(target: Target, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run of PDs that use libsel4 or this library wrongly, which is a fault."""
    folder = tmp_path_factory.mktemp("careless")
    write(CARELESS, folder)
    run = Target(target.sdk, tmp_path_factory.mktemp("runs"), [folder]).run("careless")
    assert {fault.function for fault in run.report.faults} == {"cr_illegal_instruction"}
    return run


@pytest.mark.behaviour("Y-05")
def test_a_failed_assertion_of_libsel4_says_what_and_where(careless: Run) -> None:
    (said,) = careless.says("asserting")
    found = re.fullmatch(
        r"libsel4: assertion failed: (.+), in (\w+) at (\w+\.h):\d+, called from (0x[0-9a-f]+)",
        said,
    )
    assert found is not None, said
    assert ("length" in found[1], found[2]) == (True, "seL4_MessageInfo_new")
    raw = (careless.image.with_suffix(".programs") / "long.elf").read_bytes()
    # It is a return address, so the call is before it.
    place = DebugInfo(raw).place(int(found[4], 16) - 1)
    assert "cr_main" in (place.function, place.inlined_into)


@pytest.mark.behaviour("Y-05")
def test_a_message_that_is_too_long_is_a_fault_of_its_sender(careless: Run) -> None:
    assert careless.says("answering") == ["cr_serve: reply_count is 200, the maximum is 64"]
    assert careless.says("asking") == ["lost: 1", "cr_call: count is 200, the maximum is 64"]
