# SPDX-License-Identifier: BSD-2-Clause
"""The policy beside a description for Microkit."""

from __future__ import annotations

from pathlib import Path

import pytest

from cellreap.api.described import first_policy
from cellreap.api.planning import plan_state
from cellreap.api.states import state_of
from cellreap.errors import InputError, UsageError
from cellreap.system.microkit.policy import read_policy
from cellreap.system.microkit.reading import read_system
from kit.command_line import cellreap, cellreap_json
from kit.small_checkout import error_of

SYSTEM = """<system>
    <memory_region name="ring" size="0x1000" prefill_path="ring.bin" />
    <protection_domain name="driver" priority="200">
        <program_image path="driver.elf" /><map mr="ring" vaddr="0x4000000" />
    </protection_domain>
    <protection_domain name="client" priority="100">
        <program_image path="client.elf" /><map mr="ring" vaddr="0x4000000" />
    </protection_domain>
    <protection_domain name="app"><program_image path="app.elf" /></protection_domain>
    <channel><end pd="client" id="1" /><end pd="driver" id="1" /></channel>
    <channel><end pd="app" id="1" pp="true" /><end pd="client" id="2" /></channel>
</system>
"""
POLICY = """[policy]
pd_depth = 1

[[serves]]
server = "driver"
clients = ["client"]

[[pd]]
name = "client"
pd_depth = 0
respawn = true
callers = "repeat"
heartbeat_ms = 500

[[region]]
name = "ring"
after = "refill"
epoch = 0xff8
"""


@pytest.fixture
def system(tmp_path: Path) -> Path:
    path = tmp_path / "serial.system"
    path.write_text(SYSTEM)
    return path


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "policy.toml"
    path.write_text(POLICY)
    return path


def test_it_gives_depths_and_directions(system: Path, policy: Path) -> None:
    without = state_of(system)
    assert [each.text for each in without.model.unknown] == [
        'memory "ring" of driver and client, in no direction',
        "channel of client and driver, in no direction",
    ]
    assert plan_state(without, system, "driver", "inf").destroyed_pds == [("PD_1", 0)]
    state = state_of(system, policy=policy)
    assert not state.model.unknown
    assert plan_state(state, system, "driver").destroyed_pds == [("PD_1", 0), ("PD_2", 1)]
    assert plan_state(state, system, "client").destroyed_pds == [("PD_2", 0)]
    deep = plan_state(state, system, "driver", "inf").destroyed_pds
    assert deep == [("PD_1", 0), ("PD_2", 1), ("PD_3", 2)]


def test_what_is_for_coming_back_is_read(system: Path, policy: Path) -> None:
    found = read_policy(policy, read_system(system))
    [pd], [region] = found.pd, found.region
    assert (pd.respawn, pd.callers, pd.heartbeat_ms) == (True, "repeat", 500)
    assert (region.after, region.epoch) == ("refill", 0xFF8)


def test_a_child_whose_faults_are_handed_over_does_not_need_its_parent(tmp_path: Path) -> None:
    (path := tmp_path / "a.system").write_text(
        '<system><protection_domain name="a"><program_image path="a.elf"/>'
        '<protection_domain name="b" id="1"><program_image path="b.elf"/></protection_domain>'
        "</protection_domain></system>"
    )
    (policy := tmp_path / "p.toml").write_text('[[pd]]\nname = "b"\nfaults = "cellreap"\n')
    alone, handed = state_of(path), state_of(path, policy=policy)
    assert plan_state(alone, path, "a").destroyed_pds == [("PD_1", 0), ("PD_2", 0)]
    assert plan_state(handed, path, "a").destroyed_pds == [("PD_1", 0)]


def test_the_commands_take_it(system: Path, policy: Path, tmp_path: Path) -> None:
    given = ("--policy", str(policy))
    code, shown = cellreap_json("plan", str(system), *given, "--crash", "driver")
    assert (code, shown["destroyed_pds"]) == (0, [["PD_1", 0], ["PD_2", 1]])
    code, shown = cellreap_json("audit", str(system), *given)
    assert (code, shown["configured"]["destroyed"]) == (0, 2)
    assert cellreap("metrics", str(system), *given).returncode == 0
    drawn = cellreap(
        "graph", str(system), *given, "--crash", "driver", "-o", str(tmp_path / "a.dot")
    )
    assert drawn.returncode == 0
    said = error_of(cellreap("plan", str(system), "--policy", "deep", "--crash", "driver"))
    assert "expected one of depth, metric, both, FILE.toml" in said


def test_only_a_description_has_one(policy: Path) -> None:
    with pytest.raises(UsageError, match="is no description for Microkit"):
        state_of(policy, policy=policy)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("pd_depth = 1", "pd_depth = -1", '2: policy.pd_depth: expected an integer from 0 to'),
        ("pd_depth = 1", "depth = 1", "2: policy.depth: unknown key; did you mean"),
        ('server = "driver"', 'server = "drive"', '5: serves[0].server: there is no PD "drive"'),
        ('["client"]', '["client", "x"]', '6: serves[0].clients[1]: there is no PD "x"'),
        ('["client"]', '["driver"]', "6: serves[0].clients[0]: a PD does not serve itself"),
        ('name = "client"', 'name = "b"', '9: pd[0].name: there is no PD "b"'),
        ('name = "client"', 'name = "driver"', '12: pd[0].callers: nobody calls "driver"'),
        ('"repeat"', '"again"', '12: pd[0].callers: expected "repeat", or a label from 0 to'),
        ("= 500", '= 500\nfaults = "cellreap"', '14: pd[0].faults: "client" is in no other PD'),
        ("= 500", "= 1", "13: pd[0].heartbeat_ms: expected milliseconds from 20 to"),
        ("[[region]]", '[[pd]]\nname = "client"\n\n[[region]]', '16: pd[1].name: "client" is also'),
        ('name = "ring"', 'name = "rung"', '16: region[0].name: there is no region "rung"'),
        ('"refill"', '"fill"', '17: region[0].after: expected "keep", "zero" or "refill"'),
        ("0xff8", "0xff9", "18: region[0].epoch: expected a multiple of 8, got 4089"),
        ("0xff8", "0x1000", "18: region[0].epoch: expected at most 4088, got 4096"),
        ("[[region]]", "[region]", "15: region: expected [[region]] tables, got a table"),
        ("[policy]", "[policy", "1: not valid TOML"),
    ],
)  # fmt: skip
def test_a_bad_one_is_refused_with_line_and_field(
    system: Path, policy: Path, old: str, new: str, expected: str
) -> None:
    assert old in POLICY
    policy.write_text(POLICY.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        state_of(system, policy=policy)
    assert str(caught.value).startswith(f"{policy}:{expected}")


def test_import_writes_a_first_one_that_names_what_has_no_direction(
    system: Path, tmp_path: Path
) -> None:
    first = tmp_path / "first.toml"
    made = ("-o", str(tmp_path / "serial.toml"))
    assert cellreap("import", str(system), *made, "--write-policy", str(first)).returncode == 0
    text = first.read_text()
    assert text == first_policy(system)
    found = read_policy(first, read_system(system))
    assert [pd.name for pd in found.pd] == ["driver", "client", "app"]
    assert [region.name for region in found.region] == ["ring"]
    assert '# line 2: memory "ring" of driver and client, in no direction.' in text
    assert "# line 10: channel of client and driver, in no direction." in text
    assert text.count("# [[serves]]") == 1, "both are between the same two"
    keys = ("# [[", "# server", "# clients")
    chosen = "\n".join(line[2:] if line.startswith(keys) else line for line in text.splitlines())
    first.write_text(chosen)
    assert not state_of(system, policy=first).model.unknown


def test_a_first_one_alone_needs_no_configuration(tmp_path: Path) -> None:
    """A PD of which others wait for answers has a line for those."""
    system, first = tmp_path / "a.system", tmp_path / "first.toml"
    pds = "".join(
        f'<protection_domain name="{name}" priority="{priority}"{more}>'
        '<program_image path="a.elf"/></protection_domain>'
        for name, priority, more in (("a", 2, ""), ("b", 1, ' cpu="1"'))
    )
    channel = '<channel><end pd="b" id="0" pp="true"/><end pd="a" id="0"/></channel>'
    system.write_text(f"<system>{pds}{channel}</system>")
    done = cellreap("import", str(system), "--write-policy", str(first))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    first.write_text(first.read_text() + "# by hand")
    said = error_of(cellreap("import", str(system), "--write-policy", str(first)))
    assert said.endswith(f"--write-policy {first}: exists; expected a new file")
    assert first.read_text().endswith("# by hand")
    text = first.read_text()
    assert text.count("# callers") == 1
    first.write_text(text.replace("# callers", "callers"))
    assert [pd.callers for pd in read_policy(first, read_system(system)).pd] == ["repeat", None]


def test_a_description_in_capdl_has_none(tmp_path: Path) -> None:
    said = error_of(cellreap("import", str(tmp_path / "a.cdl"), "--write-policy", "p.toml"))
    assert "--write-policy: is for descriptions for Microkit" in said
