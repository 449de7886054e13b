# SPDX-License-Identifier: BSD-2-Clause
"""What is proved has no run-time error, for any input within the bounds of docs/proof.md.

Frama-C's Eva computes what is possible for all inputs at once. An alarm is an access or an
operation that it cannot show to be defined.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from kit.frama_c import CORE, HARNESSES, KERNEL, NEEDS_FRAMA_C, Proof, analyse, functions_of
from kit.marks import thorough_but
from kit.paths import ROOT

pytestmark = [NEEDS_FRAMA_C, pytest.mark.slow]

MODEL = ("model/model.c", "model/check.c")
TEXT_OF_A_NUMBER = ("-eva-slevel-function", "cr_console_string:40")
"""It ends where its last digit is."""

PROOFS = {
    proof.harness: proof
    for proof in (
        Proof("machines", ("machines/machines.c",)),
        Proof("accounts", ("accounts/accounts.c",)),
        Proof("make_steps", ("steps/make_steps.c",)),
        Proof("inject", ("steps/inject.c",), options=("-eva-split-return", "auto")),
        Proof("blake2s", ("trace/blake2s.c",)),
        Proof(
            "decode",
            ("operations/decode.c",),
            included=True,
            kernel_warnings=2,  # two typedefs in functions
            options=("-eva-slevel", "100", "-eva-split-return", "auto"),
        ),
        Proof(
            "work",
            ("work/work.c",),
            included=True,
            options=("-eva-slevel", "10", "-eva-split-return", "auto"),
        ),
        Proof(
            "planner",
            tuple(
                f"policy/{part}.c"
                for part in (
                    *("planner", "traversal", "close", "collection"),
                    *("consequences", "broken", "order"),
                )
            ),
            ("model/model.c",),
            precision=0,
            options=("-eva-slevel", "10", "-eva-split-return", "auto"),
        ),
        Proof("model", MODEL, precision=0, options=("-eva-slevel", "10")),
        Proof(
            "steps",
            ("steps/steps.c",),
            MODEL,
            options=("-eva-split-return", "auto", "-eva-slevel", "60"),
        ),
        Proof(
            "kernel",
            ("kernel.c", "untyped.c", "objects.c", "asids.c", "fault.c"),
            folder=KERNEL,
            included=True,
            kernel_warnings=2,  # two system calls, which name no memory that they write
            options=("-eva-split-return", "auto", *TEXT_OF_A_NUMBER),
        ),
    )
}


LONG = "planner"
"""It takes as long as a third of all other tests."""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow, pytest.mark.thorough] if name == LONG else [])
        for name in PROOFS
    ],
)
def test_no_input_leads_to_a_run_time_error(name: str) -> None:
    proof = PROOFS[name]
    finding = analyse(ROOT, proof)
    assert finding.is_clean(), finding.alarms or finding.text[-4000:]
    missed = functions_of(ROOT, proof) - set(finding.covered)
    assert not missed, "the harness calls no function that calls these"
    for function, (some, every) in finding.covered.items():
        assert 4 * some >= 3 * every, f"{some} of {every} statements of {function} are reached"


@dataclass(frozen=True)
class Planted:
    """A fault in a file of a unit, and the part of the harness that is analysed."""

    proof: str
    file: str
    old: str
    new: str
    define: str = ""


PLANTED = {
    "a kind of step that no table has": Planted(
        "make_steps", "steps/make_steps.c", "(uint32_t)kind < CR_MAKE_KIND_COUNT ? ", "1 ? "
    ),
    "an injection beyond the rows": Planted(
        "inject", "steps/inject.c", "count > CR_IMAGE_MAX_INJECTIONS", "count > 200"
    ),
    "a state that no table has": Planted(
        "machines", "machines/machines.c", "(uint32_t)to < CR_WAIT_COUNT && ", ""
    ),
    "a share among nobody": Planted(
        "accounts", "accounts/accounts.c", "sharers != 0 ? left / sharers : 0", "left / sharers"
    ),
    "a block with one byte too many": Planted(
        "blake2s",
        "trace/blake2s.c",
        "if (state->used == CR_BLAKE2S_BLOCK) {",
        "if (state->used > CR_BLAKE2S_BLOCK) {",
    ),
    "a node beyond the arena": Planted(
        "model",
        "model/arena.h",
        "cr_nodes(model)[index < model->max_nodes ? index : 0]",
        "cr_nodes(model)[index]",
        "OPERATION=3",
    ),
    "an edge beyond the arena": Planted(
        "model",
        "model/model.c",
        "in->edges[index < in->max_edges ? index : 0]",
        "in->edges[index]",
        "OPERATION=5",
    ),
    "a reference that is not looked at": Planted(
        "model",
        "model/model.c",
        "    if (ref.index >= model->max_nodes) {\n        return NULL;\n    }\n",
        "",
        "OPERATION=11",
    ),
    "a list of no kind": Planted(
        "model",
        "model/model.c",
        "slot == NULL || row >= CR_EDGE_KIND_COUNT ||",
        "slot == NULL ||",
        "OPERATION=8",
    ),
    "a step of a row that the plan does not have": Planted(
        "steps", "steps/steps.c", "at >= length || out->count == 0", "out->count == 0"
    ),
    "more notices than the plan has": Planted(
        "steps", "steps/steps.c", "end < plan->n_notices && ", ""
    ),
    "a cursor behind the plan": Planted(
        "steps",
        "steps/steps.c",
        "        if (journal->index >= length) {",
        "        if (journal->index > length) {",
    ),
    "a register behind the message": Planted(
        "decode",
        "operations/decode.c",
        "    return take(c, 1, &word) ? *word : 0;",
        "    return take(c, 1, &word) ? word[c->length] : 0;",
        "OPERATION=CR_OP_SAY",
    ),
    "text longer than its room": Planted(
        "decode",
        "operations/decode.c",
        "    if (bytes > CR_SAY_MAX || ",
        "    if (",
        "OPERATION=CR_OP_SAY",
    ),
    "a notice beyond the arrays": Planted(
        "work",
        "work/work.c",
        "work->items[index < work->n_items ? index : 0]",
        "work->items[index]",
        "OPERATION=17",
    ),
    "a notice of no kind": Planted(
        "work", "work/work.c", "kind < CR_NOTICE_KIND_COUNT ? kind : 0", "kind", "OPERATION=11"
    ),
    "a doomed node beyond the arrays": Planted(
        "planner",
        "policy/planner.h",
        "planner->found[place < planner->room[CR_ROOM_NODES] ? place : 0]",
        "planner->found[place]",
        "OPERATION=3",
    ),
    "a record beyond the arrays": Planted(
        "planner", "policy/planner.c", "node.index >= planner->max_nodes || ", "", "OPERATION=3"
    ),
    "a block of untyped memory beyond the table": Planted(
        "kernel", "untyped.c", "blocks[entry & (max_blocks - 1)]", "blocks[entry]"
    ),
    "a slot beyond the pool": Planted("kernel", "kernel.c", "    slot &= cr_most.pool - 1;", "   "),
    "a step without a name": Planted(
        "steps", "steps/steps.c", 'kind < CR_STEP_KIND_COUNT ? names[kind] : "?"', "names[kind]"
    ),
}


SLOWLY_FOUND = {
    "a block without counts": Planted(
        "kernel", "objects.c", "of_blocks[block & (cr_most.blocks - 1)]", "of_blocks[block]"
    ),
    "an answer longer than what is kept": Planted(
        "kernel",
        "kernel.c",
        "count < CR_KEPT_ANSWER_MAX ? count : CR_KEPT_ANSWER_MAX",
        "count",
    ),
    "an edge beyond the arrays": Planted(
        "planner",
        "policy/planner.h",
        "planner->before[place < planner->room[CR_ROOM_ORDER] ? place : 0]",
        "planner->before[place]",
        "OPERATION=0",
    ),
    "a plan longer than its room": Planted(
        "planner",
        "policy/planner.h",
        "next >= planner->room[room]",
        "next > planner->room[room]",
        "OPERATION=0",
    ),
}
FAULTS = PLANTED | SLOWLY_FOUND


ALWAYS = (
    "a node beyond the arena",
    "a step of a row that the plan does not have",
    "a register behind the message",
)
"""They stand for the others."""


@pytest.mark.parametrize("what", thorough_but(FAULTS, *ALWAYS))
def test_a_planted_fault_is_found(what: str, tmp_path: Path) -> None:
    """Otherwise the test above would show nothing."""
    fault = FAULTS[what]
    for folder in (CORE, KERNEL, Path("roottask", "include"), Path("platforms"), HARNESSES):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    file = tmp_path / PROOFS[fault.proof].folder / fault.file
    text = file.read_text()
    assert text.count(fault.old) == 1
    file.write_text(text.replace(fault.old, fault.new))
    finding = analyse(tmp_path, PROOFS[fault.proof], *([fault.define] if fault.define else []))
    assert not finding.is_clean()
    assert finding.alarms
