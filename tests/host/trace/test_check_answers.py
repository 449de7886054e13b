# SPDX-License-Identifier: BSD-2-Clause
"""What PDs are told by ANSWER: the check derives the words and finds any others."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from cellreap import headers
from cellreap.platforms import register_names
from cellreap.trace.check.tickets import TICKETED
from cellreap.trace.writer import Draft
from kit.answering import TICKET, answer
from kit.arches import ARCHES
from kit.broken_traces import of_drafts
from kit.reports_run import reports_run
from kit.residue_run import residue_run
from kit.simulated_runs import RUNS, block_fs_db_app
from kit.trace_simulator import Target

ENDINGS = headers.printed_names("protocol.h", "CR_ENDING")
SERVER, FS = "PD_2", "PD_3"


def rules(drafts: Sequence[Draft]) -> set[str]:
    return {violation.rule for violation in of_drafts(drafts).violations}


def asked(
    op: str, words: Sequence[int], space: int = 0, number: int = 0, dead: bool = False
) -> set[str]:
    """The rules that an answer to a block server breaks, before or after its client is gone."""
    target = Target(0, 0)
    block_fs_db_app(target)
    target.quiet()
    if dead:
        target.fault(FS, address=0xDEAD)
        target.cleanup()
    target.events.append(answer(SERVER, op, words, space, number))
    if dead:
        target.serve_all()
    return rules(target.end())


def packed(text: str, words: int) -> list[int]:
    data = text.encode().ljust(8 * words, b"\0")
    return [int.from_bytes(data[8 * i : 8 * i + 8], "little") for i in range(words)]


def mortem(how: str) -> list[int]:
    """What POST_MORTEM tells of the file server."""
    registers = {"rip": 0x400123, "rsp": 0x10013F00, "rdx": 0xDEAD}
    shown = [registers.get(name, 0) for name in register_names("x86_64")]
    return [ENDINGS[how], 0, 1, 0, 0xDEAD, 0x400123, *packed("PD", 2), *packed("fs", 4), *shown]


@pytest.mark.behaviour("S-14")
@pytest.mark.parametrize(
    ("op", "space", "number", "dead", "words", "other"),
    [
        ("look", 0, 3, False, [0], [2]),
        ("look", 0, 3, True, [2], [0]),
        ("look", 3, 0, False, [0], [1]),
        ("look", 3, 0, True, [2], [0]),
        ("look", 4, 1, False, [0], [2]),
        ("look", 4, 7, False, [2], [0]),
        ("holds", 2, 1, False, [1, 2], [1, 1]),
        ("post_mortem", 0, 3, True, mortem("fault"), mortem("exit")),
        ("post_mortem", 0, 3, True, mortem("fault"), mortem("fault")[:-1]),
    ],
)
def test_the_answer_to_a_question_is_that_of_the_tables(
    op: str, space: int, number: int, dead: bool, words: list[int], other: list[int]
) -> None:
    assert asked(op, words, space, number, dead) == set()
    assert asked(op, other, space, number, dead) == {"answers.words"}


@pytest.mark.behaviour("S-14")
@pytest.mark.parametrize(("op", "number"), [("look", 77), ("post_mortem", 3), ("fault_info", 1)])
def test_what_is_refused_has_no_answer(op: str, number: int) -> None:
    assert asked(op, [0], 0, number) == {"answers.words"}


@pytest.mark.behaviour("S-14", "G-42")
@pytest.mark.parametrize(("number", "state", "broken"), [
    (0x12, 2, set()), (0x12, 1, {"answers.words"}), (0x22, 2, {"answers.words"}),
])  # fmt: skip
def test_what_had_a_number_before_a_saved_state_is_gone(
    number: int, state: int, broken: set[str]
) -> None:
    """The root task goes on behind its largest number. Nobody has had a larger one."""
    target = Target(0, 0)
    target.n_pds = 0x20
    pd = target.pd("late", account=1)
    target.quiet()
    target.events.append(answer(pd, "look", [state], 0, number))
    assert rules(target.end()) == broken


@pytest.mark.behaviour("S-11", "S-14")
def test_who_is_told_of_a_node_may_ask_though_its_cleanup_left_another() -> None:
    drafts = residue_run()
    at = next(i for i, (name, _) in enumerate(drafts) if name == "FINISH_WORK")
    words = [0, 0, 0, 0, 0, 0, *packed("BLOCK", 2), *packed("disk_1", 4)]
    told = answer(drafts[at][1]["pd"], "post_mortem", words, space=1)
    assert rules([*drafts[:at], told, *drafts[at:]]) == set()
    assert rules([*drafts[: at + 1], told, *drafts[at + 1 :]]) == {"answers.words"}


@pytest.mark.behaviour("S-14")
@pytest.mark.parametrize("arch", ARCHES)
def test_the_registers_of_each_architecture_are_known(arch: str) -> None:
    names = register_names(arch)
    assert len(names) == len(set(names)) >= 20
    assert names[1] in ("rsp", "sp")


@pytest.mark.behaviour("S-14")
@pytest.mark.parametrize("event", ["fetched NOTICE", "TICKET"])
def test_each_answer_is_there_once_and_has_its_words(event: str) -> None:
    drafts = RUNS["notices"]()
    at = next(
        i for i, (name, _) in enumerate(drafts) if name == "ANSWER" and drafts[i - 1][0] == event
    )
    wrong = ("ANSWER", {**drafts[at][1], "digest": f"{7:016x}"})
    assert rules([*drafts[:at], *drafts[at + 1 :]]) == {"answers.each"}
    assert rules([*drafts[: at + 1], *drafts[at:]]) == {"answers.each"}
    assert rules([*drafts[:at], wrong, *drafts[at + 1 :]]) == {"answers.words"}


@pytest.mark.behaviour("S-14", "T-16")
@pytest.mark.parametrize("field", ["number", "words", "digest"])
def test_a_listener_is_told_each_report_as_it_is(field: str) -> None:
    drafts = reports_run()
    listens = [at for at, (_, values) in enumerate(drafts) if values.get("op") == "listen"]
    assert len(listens) > 6
    for at in listens:
        other = f"{7:016x}" if field == "digest" else 3 + int(str(drafts[at][1][field]))
        wrong = ("ANSWER", {**drafts[at][1], field: other})
        assert rules([*drafts[:at], wrong, *drafts[at + 1 :]]) == {"answers.words"}


@pytest.mark.behaviour("S-14")
@pytest.mark.parametrize("later", [False, True])
@pytest.mark.parametrize("op", sorted(set(TICKETED.values())))
def test_an_answer_with_a_ticket_is_that_of_the_operation_that_made_it(
    op: str, later: bool
) -> None:
    """Of terminate: at once, behind the STOP of its victim, or when its ticket is over."""
    drafts = RUNS["sync" if later else "rich"]()
    asked = next(i for i, (_, values) in enumerate(drafts) if values.get("cause") == "terminate")
    at = next(i for i, (name, _) in enumerate(drafts) if name == "TICKET") if later else asked
    values = {"ticket": 1, **drafts[at][1]}
    state = [int(str(values[field])) for field in TICKET] if later else [0] * len(TICKET)
    asker = drafts[asked][1]["by"]
    told = answer(asker, op, [int(str(values["ticket"])), *state])
    if later:
        changed = [*drafts[: at + 1], told, *drafts[at + 2 :]]
    else:
        changed = [*drafts[: at + 2], told, *drafts[at + 2 :]]
    expected = set() if op == "terminate" else {"answers.each" if later else "answers.words"}
    assert rules(changed) == expected


@pytest.mark.behaviour("S-14")
def test_a_notice_of_a_fault_that_never_was_ends_no_check() -> None:
    drafts = [draft for draft in RUNS["blame"]() if draft[0] not in ("FAULT_HELD", "FAULT")]
    assert "notices.owed" in rules(drafts)
