# SPDX-License-Identifier: BSD-2-Clause
"""Who lost something reads how it came to its end, until the loss is acknowledged."""

from __future__ import annotations

import re

import pytest

from cellreap.testing import Run, Target

ENDS = {"fault": "1", "exit": "2", "terminate": "3"}
GONE = "6"


def read(run: Run, when: str) -> list[str]:
    """What the mourner read, without `when`."""
    said = (text for text in run.says("mourner") if text.startswith(when))
    return [text.removeprefix(f"{when}: ") for text in said]


@pytest.mark.behaviour("X-12")
def test_who_is_trusted_reads_the_memory_of_a_doomed_pd_and_nobody_else_does(
    target: Target,
) -> None:
    """Both are told before the end. The memory of a PD that lives is not read at all."""
    run = target.run("dumped")
    reads = [(run.name(e["pd"]), run.name(e["by"]), e.number("words")) for e in run.of("DUMP")]
    assert reads == [("witness", "coroner", count) for count in (64, 64, 1)]
    for who in ("coroner", "nosy"):
        assert {text.split(": ", 1)[1] for text in run.says(who)} == {"ok"}
        assert len(run.says(who)) == 1 + 3 * 8


@pytest.mark.behaviour("G-19", "G-21", "G-30")
def test_who_refers_to_the_destroyed_reads_its_end_and_nobody_else_does(target: Target) -> None:
    """A server goes by a fault, an exit and a termination. Its client has its PD capability."""
    run = target.run("mourned")
    spaces = [text for text in read(run, "before") if text.startswith("space ")]
    pds = [text for text in read(run, "before") if text.startswith("PD ")]
    assert len(spaces) == len(pds) == 3
    assert all(re.match(r"space \d+: 0 BLOCK disk how 0 code 0 faulted 0 ", one) for one in spaces)
    (fault,) = run.of("FAULT")
    registers = list(fault.registers().values())[:2]
    assert [text.split(": ", 1)[1].split(" registers ")[0] for text in pds] == [
        f"0 PD late_one how 1 code 0 faulted 1 fault 0 address {fault.number('address'):x}"
        f" ip {fault.number('ip'):x}",
        "0 PD late_one how 2 code 42 faulted 0 fault 0 address 0 ip 0",
        "0 PD late_one how 3 code 0 faulted 0 fault 0 address 0 ip 0",
    ]
    assert pds[0].endswith(" registers " + " ".join(f"{value:x}" for value in registers))
    # Once the losses are acknowledged, nothing is known any more.
    assert {text.rsplit(" ", 1)[1] for text in read(run, "after")} == {GONE}
    assert len(read(run, "after")) == 6
    # Every other operation is refused all the time, and others read nothing.
    checks = [text for who in ("mourner", "stranger") for text in run.says(who)]
    assert {text for text in checks if text.startswith("check ") and text[-4:] != ": ok"} == set()
    assert sum(text == "check map: ok" for text in checks) == 6
    assert "check read: ok" in run.says("stranger")
