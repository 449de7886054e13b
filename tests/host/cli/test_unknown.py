# SPDX-License-Identifier: BSD-2-Clause
"""What a source leaves open is said, by plans, audits, metrics and pictures.

A configuration tells what PDs may do, a damaged file less than it should, an import what it could
keep. No answer from these says that all is well.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import cellreap
from cellreap.api.planning import Engine
from cellreap.cli.main import main
from cellreap.system.config import load_config
from kit.output_schema import check_printed
from kit.paths import CONFIGS, DATA
from kit.records import line_with

SCENARIO = DATA / "scenario.csv"
TRACE = DATA / "goldens" / "block_fs_db_app-0-0.trace"
CONFIG = CONFIGS / "block_fs_db_app.toml"
pytestmark = pytest.mark.behaviour("S-01")

NEVER = """
[system]
name = "never"
[policy]
pd_depth = 1
[[program]]
name = "node"
sources = ["node.c"]
[[pd]]
name = "server"
program = "node"
[[pd.space]]
name = "blocks"
type = "BLOCK"
[[pd]]
name = "child"
program = "node"
fault_handler = "server"
[[pd]]
name = "user"
program = "node"
requests = ["blocks"]
[[pd]]
name = "bystander"
program = "node"
spawns = ["node"]
"""


class Result(NamedTuple):
    """What a command did."""

    code: int
    stdout: str
    stderr: str

    def json(self) -> tuple[int, dict[str, Any]]:
        shown = json.loads(self.stdout)
        assert isinstance(shown, dict)
        return self.code, shown


Run = Callable[..., Result]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command line in this process."""

    def call(*args: str | Path) -> Result:
        with pytest.raises(SystemExit) as caught:
            main(list(map(str, args)))
        out, err = capsys.readouterr()
        check_printed(args, out)
        assert isinstance(caught.value.code, int)
        return Result(caught.value.code, out, err)

    return call


@pytest.fixture
def never(tmp_path: Path) -> Path:
    path = tmp_path / "never.toml"
    text = NEVER.replace('spawns = ["node"]\n', "")
    path.write_text(text, encoding="utf-8")
    return path


def kinds(shown: dict[str, Any]) -> list[str]:
    return [each["kind"] for each in shown["unknown"]]


def test_an_audit_of_a_configuration_comes_to_no_conclusion(run: Run) -> None:
    """Its trace has eleven broken chains at the depths 0 and 0."""
    result = run("audit", CONFIG)
    assert result.code == 1
    assert "Unknown, since this source does not tell it" in result.stdout
    assert "smallest depths that leave no broken chain: unknown" in result.stdout
    assert "0/0" not in result.stdout
    code, shown = run("audit", CONFIG, "--json").json()
    assert (code, kinds(shown), shown["smallest"]) == (1, ["made", "requests"], None)
    for finding in (*shown["findings"], shown["configured"]):
        assert finding["chains"] is finding["survivors"] is None
    assert run("audit", CONFIG, "--incomplete", "--json").json()[0] == 0
    code, shown = run("audit", TRACE, "--after", "0", "--json").json()
    assert (code, shown["unknown"]) == (0, [])
    assert sum(shown["findings"][0]["chains"].values()) == 11
    code, shown = run("audit", TRACE, "--after", "0", "--diff", CONFIG, "--json").json()
    assert (code, kinds(shown)) == (1, ["made", "requests"])


def test_a_plan_tells_what_is_certain_from_what_is_possible(run: Run, never: Path) -> None:
    result = run("plan", never, "--crash", "server", "--explain", "user")
    assert result.code == 1
    destroyed, _, rest = result.stdout.partition("Possibly destroyed PDs\n")
    assert "PD_1 (server)  depth 0  crashed" in destroyed
    assert "PD_2 (child)   depth 0  has its faults handled by PD_1 (server)" in destroyed
    assert rest.startswith("  PD_3 (user)  depth 1  may request BLOCK_SPACE_3\n")
    assert "Order of destruction, as far as is told" in rest
    assert "whether user make the requests that they may make" in rest
    assert "PD_3 (user) may request BLOCK_SPACE_3 (pd depth 1)" in rest
    code, shown = run("plan", never, "--crash", "server", "--json").json()
    assert (code, shown["possible"]) == (1, ["PD_3"])
    assert kinds(shown) == ["made", "requests"]
    lives = run("plan", never, "--crash", "server", "--explain", "bystander").stdout
    assert "PD_4 (bystander) lives, as far as is told" in lives
    assert run("plan", never, "--crash", "server", "--incomplete").code == 0
    code, shown = run("plan", SCENARIO, "--crash", "block_server_1", "--json").json()
    assert (code, shown["possible"], shown["unknown"]) == (0, [], [])


@pytest.mark.parametrize("engine", ["core", "reference"])
@pytest.mark.parametrize("subtree", [False, True])
def test_both_engines_tell_the_same_as_possible(never: Path, engine: Engine, subtree: bool) -> None:
    plan = cellreap.plan(
        never, "server", pd_depth="inf", engine=engine, incomplete=True, subtree=subtree
    )
    assert plan.possible == ["PD_3"]
    assert {pd for pd, _ in plan.destroyed_pds} == {"PD_1", "PD_2", "PD_3"}


def test_what_a_pd_creates_is_unknown(tmp_path: Path) -> None:
    path = tmp_path / "spawning.toml"
    path.write_text(NEVER, encoding="utf-8")
    assert [each.kind for each in cellreap.state(path).unknown] == ["made", "requests", "pds"]


def test_an_audit_and_a_picture_call_possible_what_a_plan_does(run: Run, never: Path) -> None:
    rows = run("audit", never).stdout
    assert re.search(r"^0 +0 to inf +at least 2 PDs: PD_1 ", rows, re.M)
    assert re.search(r"^1 to inf +0 to inf +possibly 3 PDs: PD_1 ", rows, re.M)
    _, shown = run("audit", never, "--json").json()
    counts = {(each["destroyed"], each["certain"]) for each in shown["findings"]}
    assert counts == {(2, 2), (3, 2)}
    picture = never.with_suffix(".dot")
    run("graph", never, "--crash", "server", "-o", picture)
    told = picture.read_text(encoding="utf-8").splitlines()
    assert [line.split()[0] for line in told if "possibly doomed at depth 1" in line] == ['"PD_3"']


def test_a_protected_pd_is_pinned_in_a_plan(tmp_path: Path) -> None:
    path = tmp_path / "protected.toml"
    user = '[[pd]]\nname = "user"\n'
    path.write_text(NEVER.replace(user, f"{user}prevent_destroy = true\n"), encoding="utf-8")
    plan = cellreap.plan(path, "server", pd_depth="inf", incomplete=True)
    assert {pd for pd, _ in plan.destroyed_pds} == {"PD_1", "PD_2"}


def test_metrics_of_a_configuration_are_not_infinite(run: Run, never: Path) -> None:
    result = run("metrics", never)
    assert result.code == 1
    assert "FR unknown  RSI unknown" in result.stdout
    assert "inf" not in result.stdout
    code, shown = run("metrics", never, "user", "server", "--json").json()
    assert (code, shown["pairs"][0]["fr"], kinds(shown)) == (1, None, ["made", "requests"])
    assert run("metrics", never, "--incomplete").code == 0


def test_a_collection_and_a_reconciliation_of_a_configuration(run: Run, never: Path) -> None:
    assert run("plan", never, "--collect").code == 1
    assert run("plan", never, "--collect", "--incomplete").code == 0
    assert run("reconcile", never, CONFIG).code == 1
    assert run("reconcile", SCENARIO, never).code == 0


def test_a_picture_of_a_configuration_says_what_is_only_possible(
    run: Run, never: Path, tmp_path: Path
) -> None:
    picture = tmp_path / "never.dot"
    code, shown = run("graph", never, "-o", picture, "--json").json()
    assert (code, kinds(shown)) == (0, ["made", "requests"])
    assert "as far as is told" in picture.read_text()
    args = ("graph", never, "-o", picture, "--crash", "server")
    assert run(*args, "--json").json()[0] == 1
    assert "may request" in picture.read_text()
    assert run(*args, "--incomplete", "--json").json()[0] == 0


def test_python_raises_unless_it_is_asked_for(never: Path) -> None:
    system = cellreap.System.read(never)
    for source in (never, system, cellreap.state(never), cellreap.state(never).copy()):
        for ask in (
            lambda it, **how: cellreap.audit(it, **how),
            lambda it, **how: cellreap.plan(it, "server", **how),
            lambda it, **how: cellreap.collect(it, **how),
            lambda it, **how: cellreap.metrics(it, "user", "server", **how),
            lambda it, **how: cellreap.matrix(it, **how),
            lambda it, **how: cellreap.reconcile(it, CONFIG, **how),
        ):
            with pytest.raises(cellreap.IncompleteError, match="resources, holds") as caught:
                ask(source)
            assert [each.kind for each in caught.value.unknown] == ["made", "requests"]
            ask(source, incomplete=True)
    audit = cellreap.audit(never, incomplete=True)
    assert [each.kind for each in audit.unknown] == ["made", "requests"]
    assert audit.problems()[0].startswith("unknown: resources, holds and maps")


def test_a_state_without_some_rows(run: Run, tmp_path: Path) -> None:
    """Without the row of a PD, its edges end nowhere. Without a SUBSET row, a resource does."""
    header, *rows = SCENARIO.read_text().splitlines(keepends=True)
    # CellulOS names no space in a REQUEST.
    lines = [header, *(f"{row.rpartition(',')[0]},\n" for row in rows)]
    for begin in ("PD,PD_5,", ",,NONE,SUBSET,TABLE_4_1,"):
        missing = [line for line in lines if not line.startswith(begin)]
        assert len(missing) == len(lines) - 1
        path = tmp_path / "missing.csv"
        path.write_text("".join(missing), encoding="utf-8")
        code, shown = run("audit", path, "--json").json()
        assert (code, kinds(shown)) == (1, ["rows"])
        assert run("plan", path, "--crash", "PD_1", "--json").json()[0] == 1
        assert run("metrics", path, "--json").json()[0] == 1


def test_a_trace_that_broke_off(run: Run, tmp_path: Path) -> None:
    """It tells the state before a cleanup that it has in full, and not the one at its end."""
    lines = TRACE.read_text().splitlines(keepends=True)
    path = tmp_path / "broken_off.trace"
    path.write_text("".join(lines[: len(lines) // 2]), encoding="utf-8")
    code, shown = run("audit", path, "--json").json()
    assert (code, kinds(shown)) == (1, ["trace"])
    assert "no END" in run("metrics", path).stdout
    with pytest.raises(cellreap.IncompleteError, match="no END"):
        cellreap.audit(path)
    begun = line_with(lines, "CLEANUP")
    settled = begun + line_with(lines[begun:], "SETTLED")
    path.write_text("".join(lines[: settled + 1]), encoding="utf-8")
    code, shown = run("audit", path, "--after", "0", "--json").json()
    assert (code, shown["unknown"]) == (0, [])
    path.write_text(
        "".join(lines[: len(lines) // 2] + lines[len(lines) // 2 + 1 :]), encoding="utf-8"
    )
    code, shown = run("plan", path, "--crash", "fs", "--json").json()
    assert (code, kinds(shown)) == (1, ["trace"])


# -- imports


SYSTEM = """<?xml version="1.0" encoding="UTF-8"?>
<system xmlns:xi="http://www.w3.org/2001/XInclude" xmlns="urn:any">
    <memory_region name="ring" size="0x1000" />
    <memory_region name="own" size="0x1000" />
    <memory_region name="guest" size="0x1000" />
    <protection_domain name="driver" priority="200">
        <program_image path="driver.elf" />
        <map mr="ring" vaddr="0x4000000" perms="rw" />
        <map mr="own" vaddr="0x5000000" perms="rw" />
        <irq irq="33" id="0" />
    </protection_domain>
    <protection_domain name="client" priority="100">
        <program_image path="client.elf" />
        <map mr="ring" vaddr="0x4000000" perms="r" />
        <map mr="guest" vaddr="0x6000000" perms="r" />
        <cspace><cap_sc pd="driver" slot="1" /></cspace>
    </protection_domain>
    <protection_domain name="vmm" priority="100">
        <program_image path="vmm.elf" />
        <map mr="guest" vaddr="0x40000000" perms="rwx" />
    </protection_domain>
    <channel><end pd="client" id="1" pp="true" /><end pd="driver" id="1" /></channel>
    <channel>
        <end pd="client" id="2" pp="true" notify="false" /><end pd="driver" id="2" notify="false" />
    </channel>
</system>
"""


def test_an_import_names_each_connection_that_it_drops(run: Run, tmp_path: Path) -> None:
    source, made = tmp_path / "serial.system", tmp_path / "serial.toml"
    source.write_text(SYSTEM, encoding="utf-8")
    code, shown = run("import", source, "-o", made, "--json").json()
    assert code == 0
    dropped = [(each["kind"], each["name"], each["between"]) for each in shown["dropped"]]
    assert dropped == [
        ("memory", "ring", ["driver", "client"]),
        ("memory", "guest", ["client", "vmm"]),
        ("device", "irq", ["driver"]),
        ("capability", "cap_sc", ["client", "driver"]),
    ]
    told = run("import", source).stderr
    counts = "4 connections are not in the configuration (capability: 1, device: 1"
    assert counts in told
    assert len(load_config(made).dropped) == 4
    code, audited = run("audit", made, "--json").json()
    assert (code, kinds(audited).count("connection")) == (1, 4)
    assert 'memory "ring" of driver and client' in run("audit", made).stdout
    for command in (("plan", made, "--crash", "driver"), ("metrics", made)):
        code, shown = run(*command, "--json").json()
        assert (code, kinds(shown).count("connection")) == (1, 4)


def test_a_description_without_such_connections_drops_none(run: Run, tmp_path: Path) -> None:
    source = tmp_path / "one.system"
    source.write_text(
        '<x:system xmlns:x="urn:x"><protection_domain name="a"><program_image path="a.elf" />'
        "</protection_domain></x:system>",
        encoding="utf-8",
    )
    result = run("import", source)
    assert result.code == 0
    assert "dropped" not in result.stdout
    assert "audits of it" not in result.stderr


def test_an_import_of_capdl_names_them_too(run: Run, tmp_path: Path) -> None:
    source, made = tmp_path / "two.cdl", tmp_path / "two.toml"
    source.write_text(CDL, encoding="utf-8")
    code, shown = run("import", source, "-o", made, "--json").json()
    assert code == 0
    dropped = {(each["kind"], each["name"]): each["between"] for each in shown["dropped"]}
    assert dropped["channel", "ntfn"] == ["a", "b"]
    assert dropped["memory", "shared"] == ["a", "b"]
    assert len(load_config(made).dropped) == len(shown["dropped"])


CDL = """arch x86_64

objects {
ntfn = notification
shared = frame (4k)
cnode_a = cnode (2 bits)
cnode_b = cnode (2 bits)
pml4_a = pml4
pdpt_a = pdpt
pml4_b = pml4
pdpt_b = pdpt
tcb_a = tcb (addr: 0x1000, ip: 0x400000, sp: 0x2000, prio: 10)
tcb_b = tcb (addr: 0x1000, ip: 0x400000, sp: 0x2000, prio: 10)
}
caps {
cnode_a {
0x1: ntfn (RW)
}
cnode_b {
0x1: ntfn (RW)
}
pml4_a {
0x0: pdpt_a
}
pdpt_a {
0x0: shared (RW)
}
pml4_b {
0x0: pdpt_b
}
pdpt_b {
0x0: shared (RW)
}
tcb_a {
cspace: cnode_a
vspace: pml4_a
}
tcb_b {
cspace: cnode_b
vspace: pml4_b
}
}
"""
