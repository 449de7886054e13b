# SPDX-License-Identifier: BSD-2-Clause
"""Root tasks that lie: `run` finds each lie with its defaults, or docs/testing.md says why not.

A copy of the root task's sources has all lies of tests/data/lies.toml. It tells one of them in a
system that is named after its letter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Final

import pytest

from cellreap.headers import source_root
from cellreap.system.sdk import installed_sdk, prints_tables
from kit.docs_tables import check_table, table_lines
from kit.paths import CONFIGS, LIES, ROOT
from kit.planted import run_planted
from mutation.copies import Copy, files_of
from mutation.faults import Fault, edited, read_named


@dataclass(frozen=True)
class Lie:
    """rule: what finds it; empty: nothing does, for the reason that `why` has."""

    told: str
    config: str
    rule: str
    options: tuple[str, ...] = ()
    why: str = ""


_SAME: Final = "statements.same"
_ANNOUNCED: Final = "statements.announced"
TABLE: Final[dict[str, Lie]] = {
    "a": Lie("GET_WORK names another space than was queued", "block_fs_db_app", "answers.words"),
    "b": Lie("GET_WORK hides the last notice", "block_fs_db_app", "answers.each"),
    "c": Lie("GET_WORK names another PD that died", "recycle", "answers.words"),
    "d": Lie("GET_WORK hides what is broken", "block_fs_db_app", "answers.words"),
    "e": Lie("POST_MORTEM tells another end than the tombstone", "mourned", "answers.words"),
    "f": Lie("POST_MORTEM tells other registers than the fault", "mourned", "answers.words"),
    "g": Lie("LOOK says that what is gone is there", "mourned", "answers.words"),
    "h": Lie("HOLDS counts one more", "protocol", "answers.words"),
    "i": Lie("FAULT_INFO tells another address", "nursed", "answers.words"),
    "j": Lie("LISTEN tells of another step", "listen", "answers.words"),
    "k": Lie("PROGRESS is a step ahead", "listen", "answers.words"),
    "l": Lie("TICKET's answer differs from what the trace tells", "tickets", "answers.words"),
    "m": Lie("TERMINATE is answered with another ticket", "terminate", "answers.words"),
    "n": Lie("notices are queued in the opposite order", "multitude", "cleanup.notice_order"),
    "o": Lie("a fault is told at another instruction", "faults_page_fault", "blame.registers"),
    "p": Lie("a pinned PD ends by an EXIT that it never made", "pinned", "triggers.exit"),
    "q": Lie("an EXIT is told with another code", "faults_exit", "triggers.exit"),
    "r": Lie("a fault is told as an EXIT", "block_fs_db_app", "triggers.exit"),
    "s": Lie("a terminated PD is not suspended", "terminate", "cleanup.step_calls"),
    "t": Lie(
        "the same, and the kernel call is counted", "terminate", "",
        why="the PD has no chance to run before it is destroyed, and no capability differs",
    ),
    "u": Lie("a SAY is made up", "block_fs_db_app", _SAME),
    "v": Lie("a SAY is left out", "block_fs_db_app", _SAME),
    "A": Lie("a refusal is made up", "block_fs_db_app", _SAME),
    "B": Lie("a refusal is left out", "block_fs_db_app", _SAME),
    "C": Lie("an ALLOW is made up", "block_fs_db_app", _SAME),
    "D": Lie("an ALLOW is carried out with another number", "block_fs_db_app", _SAME),
    "E": Lie("a SUBSCRIBE is made up", "subscribed", _SAME),
    "F": Lie("a SUBSCRIBE is left out", "subscribed", _SAME),
    "G": Lie("a notice is acknowledged in the name of who never does", "cascade", _ANNOUNCED),
    "H": Lie("a fault is told as an EXIT, with its registers", "stack", _ANNOUNCED),
    "I": Lie(
        "what a dead server lent goes before that is acknowledged", "backed", "memory.sums"
    ),
    "J": Lie("what was lent stays when its loss is acknowledged", "backed", "memory.sums"),
    "L": Lie(
        "memory is not taken from those that have it, and the call is counted", "spread",
        "truth.memory",
    ),
    "M": Lie("memory that is given to be read may be written, and so it is told", "backed", _SAME),
    "N": Lie("memory that is told to be read only is mapped to write", "backed", "truth.tables"),
    "w": Lie("GIVE tells of another slot", "recycle", "answers.words"),
    "x": Lie("a respawn is told to be due later than it is", "respawn", "respawn.delay"),
    "y": Lie("a deadline is told that is not kept", "hang", "config.rights"),
    "z": Lie("a doomed PD is told at another depth", "block_fs_db_app", "cleanup.plan"),
    "1": Lie("a doomed node is told in another group", "block_fs_db_app", "cleanup.plan"),
    "2": Lie("a late PD is told to owe another notice", "hang", "triggers.late"),
    "3": Lie("a freed client is told to have called another server", "freed", "freed.client"),
    "4": Lie("a quota is told larger than it is", "hang", "config.quota"),
    "5": Lie("a reported edge is told the other way round", "extract", "extractions.asked"),
    "6": Lie("SPAWN tells the number of another PD", "spawn", "answers.words"),
    "7": Lie("CONNECT tells another space", "second_crash", "answers.words"),
    "8": Lie("PDs run at a lower priority than is told", "terminate", "truth.threads"),
    "9": Lie("clients have more rights than is told", "block_fs_db_app", "truth.caps"),
    "K": Lie("a PD can signal another one in a channel's name that is not its own", "channel",
             "truth.caps"),
    "0": Lie("a pre-destroy notice is told as acknowledged with `failed`", "subscribed", _SAME),
}  # fmt: skip
"""Letter -> the lie."""
_OF_SNAPSHOTS: Final = ("truth.threads", "truth.caps", "truth.tables")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """The sources with all lies."""
    root = source_root()
    files = files_of(root)
    lies = read_named(LIES, files)
    copy = Copy(root, files, tmp_path_factory.mktemp("lies"))
    every = Fault("all lies", tuple(edit for lie in lies for edit in lie.edits), named=True)
    copy.plant(edited(files, every))
    return copy


@pytest.fixture(scope="module")
def rules_of(copy: Copy) -> Callable[[str, str], set[str]]:
    """The rules that the run with a lie breaks."""

    @cache
    def run(letter: str, arch: str) -> set[str]:
        lie = TABLE[letter]
        source = next(
            path
            for path in (CONFIGS / f"{lie.config}.toml", _BOOT_CONFIGS / f"{lie.config}.toml")
            if path.is_file()
        )
        config = copy.folder / "lie.toml"
        name = f'name = "{lie.config}"'
        told = f"_{letter.lower()}" if letter.isupper() else letter
        config.write_text(source.read_text().replace(name, f'name = "lie_{told}"', 1))
        shown = run_planted(copy, config, "--arch", arch, *lie.options)
        return {violation.split(": ")[1] for violation in shown["violations"]}

    return run


_BOOT_CONFIGS: Final = ROOT / "tests" / "boot" / "configs"
_FOUND: Final = [letter for letter, lie in TABLE.items() if lie.rule]


@pytest.mark.behaviour("S-14")
@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize("letter", _FOUND)
def test_a_lie_is_found(rules_of: Callable[[str, str], set[str]], arch: str, letter: str) -> None:
    if TABLE[letter].rule in _OF_SNAPSHOTS and installed_sdk(arch) is None:
        pytest.skip(f"no seL4 for {arch} is installed: refkernel takes no snapshots")
    if TABLE[letter].rule == "truth.tables" and not prints_tables(arch):
        pytest.skip(f"seL4 for {arch} does not print address spaces")
    assert TABLE[letter].rule in rules_of(letter, arch)


@pytest.mark.behaviour("S-14")
def test_the_docs_list_the_lies(rewrite: bool) -> None:
    rows = [
        (lie.told, f"`{lie.rule}`" if lie.rule else f"nothing: {lie.why}") for lie in TABLE.values()
    ]
    lines = table_lines(("lie", "found by"), rows)
    check_table(ROOT / "docs" / "testing.md", "lies", lines, rewrite)
