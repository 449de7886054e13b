# SPDX-License-Identifier: BSD-2-Clause
"""What the core stored is opened again: models, and steps by number."""

from __future__ import annotations

from typing import Any

import pytest

from cellreap import headers
from cellreap.model.core import HEADERS, CoreModel, load_core
from kit.core_support import SCENARIO, system
from kit.paths import VERSIONS

STATUS = headers.enums("status.h")["cr_status"]
MODEL_VERSION = headers.constant("model.h", "CR_MODEL_VERSION")
JOURNAL_VERSION = headers.constant("steps.h", "CR_JOURNAL_VERSION")
FAILED = STATUS["CR_ERR_KERNEL"]
UNDO = "cr_status(void *, const cr_make_step *, const cr_make_result *)"
ARENA = VERSIONS / f"arena-{MODEL_VERSION}.bin"
STEPS = VERSIONS / f"steps-{JOURNAL_VERSION}.txt"


def opened(data: bytes) -> tuple[int, Any, Any]:
    """The status of opening a copy of an arena, the model, and the memory, which must be kept."""
    ffi, lib = load_core()
    memory = ffi.new("uint64_t[]", (len(data) + 7) // 8)
    ffi.memmove(memory, data, len(data))
    out = ffi.new("cr_model **")
    return int(lib.cr_model_open(memory, len(data), out)), out[0], memory


def saved() -> bytes:
    """A model in which PD_1 is doomed and a resource destroyed."""
    core = CoreModel(32, 64)
    core.load(system(SCENARIO))
    for pd, node, handler in (("PD_3", "PD_1", 0), ("PD_3", "PD_1", 2),
                              ("PD_5", "PD_5", 31), ("PD_5", "PD_5", 0)):  # fmt: skip
        core.subscribe(pd, node, handler)
    for change, node in ((core.lib.cr_model_doom, "PD_1"), (core.lib.cr_model_destroy, "FILE_3_2")):
        assert change(core.model, core.ref(node)) == STATUS["CR_OK"]
    return bytes(core.arena)


@pytest.mark.behaviour("T-26")
def test_a_stored_model_is_opened(rewrite: bool) -> None:
    """Other bytes than those that were stored need another version."""
    if rewrite:
        ARENA.write_bytes(saved())
    assert saved() == ARENA.read_bytes()
    ffi, lib = load_core()
    status, model, memory = opened(ARENA.read_bytes())
    assert (status, memory is not None) == (STATUS["CR_OK"], True)
    states = []
    info = ffi.new("cr_node_info *")
    for index in range(32):
        if lib.cr_model_get(model, {"index": index, "generation": 1}, info) == STATUS["CR_OK"]:
            states.append(info.state)
    assert (states.count(lib.CR_STATE_DOOMED), states.count(lib.CR_STATE_DESTROYED)) == (1, 1)
    assert states.count(lib.CR_STATE_ACTIVE) == 13
    nodes = [{"index": index, "generation": 1} for index in range(32)]
    handlers = [lib.cr_model_handlers(model, pd, node) for pd in nodes for node in nodes]
    assert sum(handlers) == 5 + (1 << 31 | 1)


@pytest.mark.behaviour("T-26")
def test_a_model_of_the_next_version_is_refused_as_such_whatever_else_it_has() -> None:
    data = bytearray(ARENA.read_bytes())
    data[4:8] = (MODEL_VERSION + 1).to_bytes(4, "little")
    assert opened(bytes(data))[0] == STATUS["CR_ERR_VERSION"]
    data[8:12] = bytes(4)  # what this version takes for the number of nodes
    assert opened(bytes(data))[0] == STATUS["CR_ERR_VERSION"]
    data[4:8] = bytes(4)
    assert opened(bytes(data))[0] == STATUS["CR_ERR_CORRUPT"]


def steps(kind: str) -> list[tuple[int, str]]:
    rows = [line.split() for line in STEPS.read_text().splitlines()]
    return [(int(number), name) for what, number, name in rows if what == kind]


@pytest.mark.behaviour("T-18", "T-26")
def test_the_numbers_of_steps_are_those_that_are_stored(rewrite: bool) -> None:
    """A journal has the number."""
    ffi, lib = load_core((*HEADERS, "steps.h", "make_steps.h"))
    kinds = (
        ("make", lib.CR_MAKE_KIND_COUNT, lib.cr_make_step_name),
        ("cleanup", lib.CR_STEP_KIND_COUNT, lib.cr_step_name),
    )
    rows = [
        f"{kind} {number} {ffi.string(name_of(number)).decode()}\n"
        for kind, count, name_of in kinds
        for number in range(count)
    ]
    if rewrite:
        STEPS.write_text("".join(rows))
    assert "".join(rows) == STEPS.read_text()


@pytest.mark.behaviour("T-15", "T-27")
def test_steps_that_another_process_applied_are_undone_in_reverse() -> None:
    """All that is known of the chain is what was stored: the numbers of its steps."""
    ffi, lib = load_core(("status.h", "make_steps.h"))
    chain = [number for number, _ in steps("make")]
    for done in range(len(chain) + 1):
        undone: list[str] = []

        def step(_: Any, at: int, out: Any, done: int = done) -> int:
            out.kind, out.what = chain[at], 100 + at
            return int(at < done)

        def undo(_: Any, step: Any, why: Any, undone: list[str] = undone) -> int:
            assert (why.undone, why.status) == (len(undone), FAILED)
            undone.append(f"{ffi.string(lib.cr_make_step_name(step.kind)).decode()} {step.what}")
            return 0

        kept = (
            ffi.callback("int(void *, uint32_t, cr_make_step *)", step),
            ffi.NULL,  # nothing is applied
            ffi.callback(UNDO, undo),
            ffi.NULL,
        )
        result = ffi.new("cr_make_result *", {"done": done, "undone": 77, "residue": 1})
        result.status = FAILED
        lib.cr_make_undo(ffi.new("cr_make_chain *", (*kept, ffi.NULL)), result)
        names = [name for _, name in steps("make")]
        assert undone == [f"{names[at]} {100 + at}" for at in reversed(range(done))]
        assert (result.undone, result.residue) == (done, 0)
