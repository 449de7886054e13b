# SPDX-License-Identifier: BSD-2-Clause
"""PDs for Microkit that live and answer nobody go by the limits of the policy, and no others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cellreap.headers import source_root
from kit.microkit import FRESH, Microkit, pd
from kit.planted import run_planted
from mutation.copies import Copy, files_of
from mutation.faults import Edit, Fault, edited

LIMIT = 100
TICKS = 0x800000
"""For how long the clock goes on when all others wait: 130 ms on aarch64. It is an address."""
HANGS = {
    "spins": [("server", "heartbeat_ms"), ("caller", "call_ms")],
    "forgets": [("caller", "call_ms")],
}


def run(microkit: Microkit, folder: Path, server: str, policy: str) -> dict[str, Any]:
    """A client calls the server, which hangs. Another PD runs while these wait. The server has a
    parent, which could stop it.
    """
    count = '<map mr="count" vaddr="0x40000000" perms="rw" setvar_vaddr="count_vaddr"/>'
    ticks = f'<map mr="ticks" vaddr="{TICKS:#x}" perms="r" setvar_vaddr="ticks"/>'
    hangs = pd(server, 'priority="100" id="0"', count, "hangs")
    kept = '<map mr="count" vaddr="0x40000000" perms="r"/>'  # so it does not begin anew
    system = (
        "".join(f'<memory_region name="{name}" size="0x1000"/>' for name in ("count", "ticks"))
        + pd("parent", 'priority="120"', hangs, "parent")
        + pd("caller", 'priority="50"', "", "caller")
        + pd("hello", 'priority="40"')
        + pd("counter", 'priority="0"', ticks + kept, "counter")
        + f'<channel><end pd="caller" id="0" pp="true"/><end pd="{server}" id="7"/></channel>'
        + f'<channel><end pd="hello" id="0"/><end pd="{server}" id="0"/></channel>'
    )
    shown = microkit.run(system, policy, folder)
    assert (shown["verdict"], shown["violations"]) == ("pass", [])
    answers = [text for name, text in shown["said"] if name == "caller"]
    assert answers == [*(f"answer {i}" for i in range(5)), "done 5"]
    return shown


@pytest.mark.parametrize(
    ("server", "who", "limit"), [(name, *each) for name in HANGS for each in HANGS[name]]
)
@pytest.mark.behaviour("S-05")
def test_a_server_that_hangs_comes_back(
    microkit: Microkit, tmp_path: Path, server: str, who: str, limit: str
) -> None:
    """Its client has all answers."""
    own = {server: 'respawn = true\ncallers = "repeat"\n', "caller": ""}
    own[server if who == "server" else who] += f"{limit} = {LIMIT}\n"
    policy = "".join(f'[[pd]]\nname = "{name}"\n{keys}' for name, keys in own.items())
    shown = run(microkit, tmp_path, server, policy)
    names = shown["names"]
    assert [(names[hung["pd"]], hung["by"] is None) for hung in shown["hung"]] == [
        (server, limit == "heartbeat_ms")
    ]
    assert [text for name, text in shown["said"] if name == server] == [FRESH] * 2


@pytest.mark.behaviour("S-05")
def test_a_pd_that_waits_has_not_hung(microkit: Microkit, tmp_path: Path) -> None:
    """Also one that notifies others and waits in one system call."""
    names = ("decent", "caller", "hello")
    policy = "".join(
        f'[[pd]]\nname = "{name}"\nheartbeat_ms = 20\ncall_ms = 20\n' for name in names
    )
    shown = run(microkit, tmp_path, "decent", policy)
    assert (shown["hung"], shown["cleanups"]) == ([], [])


def stopped_in_a_call(more: str) -> str:
    """A system whose parent stops its child while that waits for the answer to a call. more: of the
    server's memory.
    """
    ticks = f'<map mr="ticks" vaddr="{TICKS:#x}" perms="r" setvar_vaddr="ticks"/>'
    caller = pd("caller", 'priority="50" id="0"', "", "caller")
    return (
        '<memory_region name="ticks" size="0x1000"/>'
        + pd("parent", 'priority="120"', caller, "warden")
        + pd("server", 'priority="100"', more, "warden")
        + pd("counter", 'priority="0"', ticks, "counter")
        + '<channel><end pd="caller" id="0" pp="true"/><end pd="server" id="0"/></channel>'
        + '<channel><end pd="server" id="1"/><end pd="parent" id="1"/></channel>'
    )


@pytest.mark.behaviour("S-05")
def test_a_server_keeps_no_call_of_a_caller_that_its_parent_stopped(
    microkit: Microkit, tmp_path: Path
) -> None:
    """It looks as if it still waited: only the parent and the kernel know that it does not."""
    policy = '[[pd]]\nname = "caller"\ncall_ms = 20\n'
    shown = microkit.run(stopped_in_a_call(""), policy, tmp_path)
    assert ("warden", "stopped it") in shown["said"]
    assert (shown["verdict"], shown["hung"], shown["cleanups"]) == ("pass", [], [])


ANSWERS = b"seL4_Send(cr_cptr(cr_l1_spare(), slot), seL4_MessageInfo_new(label, 0, 0, 0));\n"
DIES = b"""\
        static int died;
        extern void cr_worker_fault(void);
        if (died++ == 1) {
            cr_worker_fault();
        }
"""


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.behaviour("P-04", "T-01")
def test_a_cleaner_that_dies_while_it_answers_a_call_leaves_nothing(
    microkit: Microkit, tmp_path: Path
) -> None:
    """The parent of the server faults in a call of the server's client. The check sees the death,
    which nobody injected, and in its step more kernel calls than it demands.
    """
    to_read = f'<map mr="ticks" vaddr="{TICKS:#x}" perms="r" setvar_vaddr="to_read_as_parent"/>'
    server = pd("server", 'priority="100" id="0"', "", "warden")
    (tmp_path / "a.system").write_text(
        '<system><memory_region name="ticks" size="0x1000"/>'
        + pd("parent", 'priority="120"', to_read + server, "warden")
        + pd("caller", 'priority="50"', "", "caller")
        + '<channel><end pd="caller" id="0" pp="true"/><end pd="server" id="0"/></channel>'
        + '<channel><end pd="server" id="1"/><end pd="parent" id="1"/></channel></system>'
    )
    (tmp_path / "policy.toml").write_text("")
    root = source_root()
    files = files_of(root)
    file = "roottask/system/stop.c"
    edit = Edit(file, files[file].index(ANSWERS), ANSWERS, ANSWERS + DIES)
    copy = Copy(root, files, tmp_path / "copy")
    copy.plant(edited(files, Fault("dies", (edit,), named=True)))
    options = ["--policy", str(tmp_path / "policy.toml"), "--sdk", str(microkit.sdk)]
    options += ["--board", f"{microkit.board.name}/debug", "--search", str(microkit.programs)]
    shown = run_planted(copy, tmp_path / "a.system", *options)
    rules = {found.split(": ")[1] for found in shown["violations"]}
    assert rules == {"takeover.death", "cleanup.step_calls"}


@pytest.mark.behaviour("P-04")
def test_the_call_of_a_caller_that_its_parent_stopped_is_not_made_anew(
    microkit: Microkit, tmp_path: Path
) -> None:
    """The server faults in the call, and comes back. Its caller stays stopped."""
    to_read = f'<map mr="ticks" vaddr="{TICKS:#x}" perms="r" setvar_vaddr="to_read"/>'
    policy = '[[pd]]\nname = "server"\nrespawn = true\ncallers = "repeat"\n'
    shown = microkit.run(stopped_in_a_call(to_read), policy, tmp_path)
    assert ("warden", "stopped it") in shown["said"]
    assert len(shown["cleanups"]) == 1
