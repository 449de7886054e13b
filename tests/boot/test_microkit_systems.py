# SPDX-License-Identifier: BSD-2-Clause
"""Systems of Microkit, with programs that are linked with its library, on a kernel of its SDK.

The SDK is where CELLREAP_MICROKIT_SDK says.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest
import tomlkit
from click.testing import CliRunner

from cellreap import headers
from cellreap.cli.main import cli
from cellreap.runs.boot import End
from cellreap.system.microkit.runnable import runnable_system
from cellreap.system.programs import Source
from cellreap.system.sdk import load_sdk
from cellreap.testing import Target, validated
from cellreap.trace.lines import Lines
from kit.microkit import FRESH, Microkit, pd, spoken
from kit.microkit_tool import OWN, of_microkit


def test_two_pds_notify_each_other(microkit: Microkit, tmp_path: Path) -> None:
    """One of them is passive. The program is as it was linked. Every capability is checked."""
    before = (microkit.programs / "hello.elf").read_bytes()
    channels = (
        '<channel><end pd="hello" id="0"/><end pd="world" id="0"/></channel>'
        '<channel><end pd="hello" id="61"/><end pd="world" id="33" notify="false"/></channel>'
    )
    system = pd("hello", 'priority="100"') + pd("world", 'priority="9" passive="true"') + channels
    shown = microkit.run(system, "", tmp_path)
    assert (shown["verdict"], shown["violations"]) == ("pass", [])
    for name in ("hello", "world"):
        heard = [text for pd_, text in shown["said"] if pd_ == name]
        assert heard[0] == FRESH
        assert set(heard[1:]) == {"notified on 0"}
    assert (microkit.programs / "hello.elf").read_bytes() == before


def test_a_pd_that_faults_comes_back_fresh(microkit: Microkit, tmp_path: Path) -> None:
    """The peer that serves it is told by a notification, also over the channel that nobody uses."""
    channels = (
        '<channel><end pd="hello" id="0"/><end pd="faulty" id="0"/></channel>'
        '<channel><end pd="hello" id="5"/><end pd="faulty" id="7"/></channel>'
    )
    policy = '[[pd]]\nname = "faulty"\nrespawn = true\n'
    policy += '[[serves]]\nserver = "hello"\nclients = ["faulty"]\n'
    shown = microkit.run(pd("hello") + pd("faulty") + channels, policy, tmp_path)
    assert (shown["verdict"], shown["violations"]) == ("pass", [])
    assert len(shown["cleanups"]) >= 1
    starts = [text for name, text in shown["said"] if name == "faulty" and "hello" in text]
    assert starts == [FRESH] * (1 + len(shown["cleanups"]))
    assert ("hello", "notified on another") in shown["said"]


@pytest.mark.parametrize(("after", "then"), [("keep", "later"), ("zero", "first")])
def test_pds_share_a_region(microkit: Microkit, tmp_path: Path, after: str, then: str) -> None:
    """Each finds it where its symbols say. Who comes back finds it as the policy says. One has as
    many regions as a PD may.
    """
    mapped = '<map mr="r" vaddr="{}" perms="rw" setvar_vaddr="ring_vaddr" setvar_size="ring_size"/>'
    others = range(1, headers.constant("image.h", "CR_IMAGE_MAX_MAPS"))
    more = "".join(
        f'<map mr="r{i}" vaddr="{(i << 25) + (1 << 28):#x}" perms="rw"/>' for i in others
    )
    system = (
        "".join(f'<memory_region name="r{i}" size="0x1000"/>' for i in others)
        + '<memory_region name="r" size="0x3000"/>'
        + pd("hello", 'priority="9"', mapped.format("0x4000000"))
        + pd("faulty", 'priority="8"', mapped.format("0x801ff000") + more)
        + '<channel><end pd="hello" id="0"/><end pd="faulty" id="0"/></channel>'
    )
    policy = f'''
[[pd]]
name = "faulty"
respawn = true
[[region]]
name = "r"
after = "{after}"
'''
    shown = microkit.run(system, policy, tmp_path)
    assert (shown["verdict"], shown["violations"]) == ("pass", [])
    found = [text for _, text in shown["said"] if text in ("first", "second", "later")]
    assert found[:3] == ["first", "second", then]


@pytest.mark.behaviour("P-05")
def test_a_pd_that_wants_to_know_hears_that_its_peer_is_back(
    microkit: Microkit, tmp_path: Path
) -> None:
    """Once each time, over a channel that its peer does not use, and with the epoch."""
    mapped = '<map mr="r" vaddr="0x4000000" perms="{}" setvar_vaddr="epoch_vaddr"/>'
    system = (
        '<memory_region name="r" size="0x1000"/>'
        + pd("watcher", 'priority="9"', mapped.format("r"), "watcher")
        + pd("faulty", "", mapped.format("rw").replace(' setvar_vaddr="epoch_vaddr"', ""), "child")
        + '<channel><end pd="watcher" id="60" notify="false"/><end pd="faulty" id="5"/></channel>'
    )
    policy = '[[pd]]\nname = "faulty"\nrespawn = true\n[[region]]\nname = "r"\nepoch = 0\n'
    shown = microkit.run(system, policy, tmp_path)
    assert (shown["verdict"], shown["violations"]) == ("pass", [])
    times = [int(text.rpartition(" ")[2]) for name, text in shown["said"] if name == "watcher"]
    assert len(times) > 1
    assert times == list(range(times[0], times[0] + len(times)))
    assert len(shown["cleanups"]) == len(times) + 1  # After the last one it stays down.


ADDER = (
    '<channel><end pd="caller" id="0" pp="true" notify="false"/>'
    '<end pd="adder" id="7" notify="false"/></channel>'
)
"""No PD may signal another."""


def served(passive: bool) -> str:
    """A system in which a client calls a server, which faults in its third call."""
    said = f'priority="100" passive="{str(passive).lower()}"'
    return pd("adder", said, program="adder") + pd("caller", 'priority="50"', "", "caller") + ADDER


@pytest.mark.behaviour("P-04")
def test_a_client_that_comes_back_without_its_server_calls_nobody(
    microkit: Microkit, tmp_path: Path
) -> None:
    """It went with the server, which stays down. Its calls end with the kernel's error."""
    policy = '[policy]\npd_depth = 1\n[[pd]]\nname = "caller"\nrespawn = true\n'
    shown = microkit.run(served(passive=False), policy, tmp_path)
    assert shown["violations"] == []
    said = [text for name, text in shown["said"] if name == "caller"]
    assert said == ["answer 0", "answer 1", *["label 2"] * 5, "done 0"]


@pytest.mark.behaviour("P-04")
def test_a_server_that_could_not_be_made_at_first_is_called_when_it_is_there(
    microkit: Microkit, tmp_path: Path
) -> None:
    """It is made after the cleanup of another PD. Its client has waited for it."""
    pds = pd("caller", 'priority="50"', "", "caller") + pd("faulty")
    pds += pd("madder", 'priority="100"', "", "adder")
    (tmp_path / "a.system").write_text(f"<system>{pds}{ADDER.replace('adder', 'madder')}</system>")
    made = runnable_system(tmp_path / "a.system", [microkit.programs])
    sdk = load_sdk(microkit.sdk / "board" / microkit.board.name / "debug", microkit.board.arch)
    bench = made.config.bench.model_copy(update={"inject": ("make:100:error",)})
    run = Target(sdk, tmp_path, (tmp_path,)).boot_read(
        Source(made.config, made.text, tmp_path / "a.system"),
        change=lambda config: validated(config.model_copy(update={"bench": bench})),
    )
    assert [event["name"] for event in run.of("MAKE_FAILED")] == ["madder"]
    assert (run.boot.end, run.report.violations) == (End.COMPLETE, [])
    with run.trace.open("rb") as file:
        assert b"caller: done 5" in Lines().without(file)


@pytest.mark.parametrize("passive", [False, True])
@pytest.mark.parametrize("callers", ['"repeat"', "77", "nobody comes back"])
@pytest.mark.behaviour("P-04")
def test_a_server_faults_in_a_call(
    microkit: Microkit, tmp_path: Path, passive: bool, callers: str
) -> None:
    """It is fresh each time. Its client is as it was linked, and knows nothing: its call is made
    anew, or answered with the label. Without the server its calls end with the kernel's error.
    """
    back = callers != "nobody comes back"
    policy = f'[[pd]]\nname = "adder"\nrespawn = true\ncallers = {callers}\n' if back else ""
    shown = microkit.run(served(passive), policy, tmp_path)
    assert shown["violations"] == []
    assert shown["verdict"] == ("pass" if back else "not as expected")
    heard = [text for name, text in shown["said"] if name == "caller"]
    said = {'"repeat"': {}, "77": {2: 77}}.get(callers, dict.fromkeys((2, 3, 4), 2))
    answers = [f"label {said[i]}" if i in said else f"answer {i}" for i in range(5)]
    assert heard == [*answers, f"done {5 - len(said)}"]
    starts = [text for name, text in shown["said"] if name == "adder"]
    assert starts == [FRESH] * {'"repeat"': 3, "77": 2}.get(callers, 1)


@pytest.mark.parametrize("callers", ["", "callers = 77\n", 'callers = "repeat"\n'])
@pytest.mark.behaviour("P-04")
def test_a_caller_whom_the_server_forgot_is_answered(
    microkit: Microkit, tmp_path: Path, callers: str
) -> None:
    """Nobody has its call any more when the server dies in the next one. Who is queued then is
    served by the next instance.
    """
    mapped = '<map mr="count" vaddr="0x40000000" perms="rw" setvar_vaddr="count_vaddr"/>'
    system = '<memory_region name="count" size="0x1000"/>'
    system += pd("server", 'priority="100" budget="1000" period="20000"', mapped, "forgetful")
    system += pd("keeper", "", '<map mr="count" vaddr="0x40000000" perms="r"/>')
    for number, name in enumerate(("first", "second", "third")):
        ends = f'<end pd="{name}" id="0" pp="true"/><end pd="server" id="{number}"/>'
        system += pd(name, f'priority="{50 + number}"', "", "caller")  # they print one at a time
        system += f"<channel>{ends}</channel>"
    policy = f'[[pd]]\nname = "server"\nrespawn = true\n{callers}'
    shown = microkit.run(system, policy, tmp_path)
    assert (shown["verdict"], shown["violations"]) == ("pass", [])
    label = {"": "label 2", "callers = 77\n": "label 77"}.get(callers, "answer 0")
    heard = Counter(
        tuple(text for of, text in shown["said"] if of == name)
        for name in ("first", "second", "third")
    )
    answers = [f"answer {i}" for i in range(1, 5)]
    served, ended = ("answer 0", *answers, "done 5"), (label, *answers, "done 4")
    assert heard == ({served: 1, ended: 2} if label != "answer 0" else {served: 3})


@pytest.mark.parametrize("passive", [False, True])
@pytest.mark.behaviour("P-04")
def test_the_call_of_a_child_is_made_anew(
    microkit: Microkit, tmp_path: Path, passive: bool
) -> None:
    """Its registers do not tell whether its parent stopped it; the server's reply object does."""
    caller = pd("caller", 'priority="50"', "", "caller")
    child = pd("caller", 'priority="50" id="3"', "", "caller")
    system = served(passive).replace(caller, pd("parent", "", child, "hello"))
    policy = '[[pd]]\nname = "adder"\nrespawn = true\ncallers = "repeat"\n'
    shown = microkit.run(system, policy, tmp_path)
    assert (shown["verdict"], shown["violations"]) == ("pass", [])
    heard = [text for name, text in shown["said"] if name == "caller"]
    assert heard == [*(f"answer {i}" for i in range(5)), "done 5"]


def test_a_driver_comes_back_and_has_its_interrupt(microkit: Microkit, tmp_path: Path) -> None:
    """It went with the interrupt asserted and not acknowledged. The number is beyond 31. It is also
    called: its capability to receive is not to the notification that its interrupt signals.
    """
    within = (
        '<map mr="clock" vaddr="0x40000000" perms="rw" cached="false"'
        ' setvar_vaddr="clock_registers"/>'
        f'<irq irq="{microkit.board.clock_irq}" id="40" setvar_id="clock_interrupt"/>'
        '<setvar symbol="clock_address" region_paddr="clock"/>'
    )
    system = (
        f'<memory_region name="clock" size="0x1000" phys_addr="{microkit.board.clock:#x}"/>'
        + pd("clock", 'priority="60"', within, "clock")  # So others print in no line of it.
        + pd("hello", 'priority="50"')
        + '<channel><end pd="hello" id="0"/><end pd="clock" id="0"/></channel>'
        + '<channel><end pd="hello" id="1" pp="true"/><end pd="clock" id="1"/></channel>'
    )
    policy = '[[pd]]\nname = "clock"\nrespawn = true\n'
    shown = microkit.run(system, policy, tmp_path)
    assert shown["violations"] == []
    heard = re.findall(f"clock: ({FRESH}|address|interrupted)", spoken(tmp_path))
    assert heard == [FRESH, "address", "interrupted", "interrupted"] * (len(heard) // 4)
    assert len(heard) > 4


@pytest.mark.behaviour("P-04")
def test_a_pd_is_told_where_its_memory_is(microkit: Microkit, tmp_path: Path) -> None:
    """It has a device write there, and so has each instance. Its neighbour keeps the memory."""
    memory = '<map mr="buffers" vaddr="0x4000000" perms="{}" cached="false"{}/>'
    system = (
        f'<memory_region name="device" size="0x1000" phys_addr="{microkit.board.virtio:#x}"/>'
        '<memory_region name="before" size="0x3000"/>'
        '<memory_region name="buffers" size="0x200000"/>'
        + pd(
            "told",
            "",
            '<map mr="device" vaddr="0x5000000" cached="false" setvar_vaddr="registers_vaddr"/>'
            + memory.format("rw", ' setvar_vaddr="buffers_vaddr"')
            + '<setvar symbol="buffers_paddr" region_paddr="buffers"/>',
            "told",
        )
        + pd(
            "keeper",
            "",
            memory.format("r", "")
            + '<map mr="before" vaddr="0x6000000"/>'
            + '<setvar symbol="ring_size" region_paddr="before"/>',
        )
    )
    policy = '[[pd]]\nname = "told"\nrespawn = true\n[[region]]\nname = "device"\n'
    policy += f"on_death = [{{ offset = {microkit.board.status}, value = 0, until = 0 }}]\n"
    device = "-global virtio-mmio.force-legacy=false -device virtio-rng-device"
    options = " ".join(f"--qemu-arg={word}" for word in device.split())
    said = microkit.run(system, policy, tmp_path, options=options)
    assert (said["verdict"], said["violations"]) == ("pass", [])
    assert [text for name, text in said["said"] if name == "told"] == ["written"] * 3


@pytest.mark.parametrize("passive", [False, True])
@pytest.mark.parametrize("times", [8, pytest.param(200, marks=pytest.mark.thorough)])
@pytest.mark.behaviour("P-04")
def test_a_server_is_killed_at_any_instant(
    microkit: Microkit, tmp_path: Path, passive: bool, times: int
) -> None:
    """All answers are right, and each instance is fresh."""
    channel = ADDER.replace('"caller"', '"many"').replace('"adder"', '"steady"')
    said = f'priority="100" passive="{str(passive).lower()}"'
    system = pd("steady", said, "", "adder") + pd("many", 'priority="50"', "", "caller") + channel
    (tmp_path / "a.system").write_text(f"<system>{system}</system>")
    (tmp_path / "policy.toml").write_text(
        '[[pd]]\nname = "steady"\nrespawn = true\ncallers = "repeat"\n'
    )
    made = runnable_system(tmp_path / "a.system", [microkit.programs], tmp_path / "policy.toml")
    document = tomlkit.parse(made.text).unwrap()
    document["pd"][0] |= {"respawn_budget": times + 1, "respawn_delay_ms": 0}
    kill = {"pd": "steady", "how": "kill", "repeat": times, "seed": times}
    document["system"]["truth"] = times < 10
    document["crash"] = [kill | {"after_ns": 100_000, "spread_ns": 2_000_000}]
    (tmp_path / "a.toml").write_text(tomlkit.dumps(document))
    words = ["run", str(tmp_path / "a.toml"), "--arch", microkit.board.arch]
    words += ["--sdk", str(microkit.sdk), "--board", microkit.board.name, "--json"]
    words += ["-o", str(tmp_path / "out")]
    shown = json.loads(CliRunner().invoke(cli, words, standalone_mode=False).stdout)
    assert (shown["verdict"], shown["violations"]) == ("pass", [])
    assert len(shown["cleanups"]) == times
    console = spoken(tmp_path)
    assert re.findall(r"^many: (.*?)\r?$", console, re.MULTILINE) == ["done 20000"]
    assert "STALE" not in console
    words = ["capdl", str(tmp_path / "out" / "a.trace"), "--after", "2", "-o"]
    assert CliRunner().invoke(cli, [*words, str(tmp_path / "a.cdl")]).exit_code == 0
    calls = f"0x4a: ep_steady (WP, badge: {1 << 63 | 7:#x})"
    assert calls in (tmp_path / "a.cdl").read_text()


@pytest.mark.behaviour("P-03")
@pytest.mark.behaviour("P-08")
def test_a_client_receives_nobodys_calls(microkit: Microkit, tmp_path: Path) -> None:
    """It has no right to. Each try is a fault, and its neighbour has all answers."""
    system = (
        '<memory_region name="count" size="0x1000"/>'
        + pd("steady", 'priority="100"', "", "adder")
        + pd("caller", 'priority="50"', "", "caller")
        + pd(
            "thief",
            'priority="60"',
            '<map mr="count" vaddr="0x40000000" perms="rw" setvar_vaddr="count_vaddr"/>',
            "thief",
        )
        + pd("keeper", "", '<map mr="count" vaddr="0x40000000" perms="r"/>')
        + '<channel><end pd="caller" id="0" pp="true"/><end pd="steady" id="0"/></channel>'
        + '<channel><end pd="thief" id="0" pp="true"/><end pd="steady" id="1"/></channel>'
    )
    policy = '[[pd]]\nname = "thief"\nrespawn = true\n'
    shown = microkit.run(system, policy, tmp_path)
    assert (shown["verdict"], shown["violations"]) == ("pass", [])
    assert len(shown["cleanups"]) == 7
    assert [text for name, text in shown["said"] if name == "thief"] == ["got nothing"]
    answers = [text for name, text in shown["said"] if name == "caller"]
    assert answers == [*(f"answer {i}" for i in range(5)), "done 5"]


@pytest.mark.parametrize("config", ["debug", "release"])
def test_a_crash_takes_along_who_depends(microkit: Microkit, tmp_path: Path, config: str) -> None:
    """By the policy, since the description has no direction. All come back; a bystander stays."""
    system = "".join(map(pd, ("client", "virt", "faulty", "bystander")))
    for a, b in (("client", "virt"), ("virt", "faulty"), ("bystander", "client")):
        number = 0 if b == "faulty" else 2
        ends = f'<end pd="{a}" id="{number}"/><end pd="{b}" id="{9 if number else 0}"/>'
        system += f"<channel>{ends}</channel>"
    serves = "".join(
        f'[[serves]]\nserver = "{server}"\nclients = ["{client}"]\n'
        for server, client in (("faulty", "virt"), ("virt", "client"))
    )
    back = "".join(
        f'[[pd]]\nname = "{name}"\nrespawn = true\n' for name in ("client", "virt", "faulty")
    )
    policy = f"[policy]\npd_depth = 2\n{serves}{back}"
    shown = microkit.linked(tmp_path, config).run(system, policy, tmp_path, config)
    assert (shown["verdict"], shown["failures"], shown["violations"]) == ("pass", [], [])
    names = shown["names"]
    assert shown["cleanups"]
    for cleanup in shown["cleanups"]:
        depths = {names[each]: depth for each, depth in cleanup["destroyed_pds"]}
        assert depths == {"faulty": 0, "virt": 1, "client": 2}
    times = len(shown["cleanups"])  # after the last one they stay down
    made = Counter(name for node, name in names.items() if node.startswith("PD_"))
    del made["ROOT_TASK"]
    assert made == {"client": times, "virt": times, "faulty": times, "bystander": 1}


Caps = set[frozenset[tuple[int, str, int]]]
"""Of each PD: slot, kind and badge of its capabilities."""


def given_by_kernel(console: str, bits: str) -> Caps:
    """What the kernel's first snapshot says of CSpaces of these sizes."""
    kinds = {"notification": "Notification", "ep": "EP", "irq": "IRQ", "tcb": "TCB"}
    cspaces = set(re.findall(rf"^(\w+_cnode) = cnode \([{bits}] bits\)", console, re.MULTILINE))
    found = {}
    for cspace, inside in re.findall(r"^(\w+_cnode) {\r?\n(.*?)^}", console, re.M | re.S):
        if cspace in cspaces and cspace not in found:
            caps = re.findall(r"^0x(\w+): \w+_([a-z]+)(?:.*badge: (\d+))?", inside, re.MULTILINE)
            found[cspace] = frozenset(
                (int(slot, 16), kinds[kind], int(badge or 0))
                for slot, kind, badge in caps
                if int(slot, 16) not in OWN
            )
    return set(found.values())


@pytest.mark.behaviour("P-03")
def test_capabilities_are_those_that_microkit_gives(microkit: Microkit, tmp_path: Path) -> None:
    """Its own tool reports them. No PD has its address space, or a way to Microkit's monitor."""
    within = (
        '<map mr="clock" vaddr="0x40000000" perms="rw" cached="false"'
        f' setvar_vaddr="clock_registers"/><irq irq="{microkit.board.clock_irq}" id="40"/>'
    )
    system = (
        f'<memory_region name="clock" size="0x1000" phys_addr="{microkit.board.clock:#x}"/>'
        + served(passive=True)
        + pd("parent", 'priority="9"', pd("clock", 'id="61"', within, "clock"), "parent")
        + '<channel><end pd="clock" id="61"/><end pd="adder" id="33" notify="false"/></channel>'
    )
    policy = '[[pd]]\nname = "adder"\nrespawn = true\n[[pd]]\nname = "clock"\nrespawn = true\n'
    shown = microkit.run(system, policy, tmp_path)
    assert shown["violations"] == []
    report, image = microkit.tool(tmp_path / "a.system")
    given = {
        frozenset((slot, kind.partition(" ")[0], badge) for slot, kind, _, badge in pd.caps)
        for pd in of_microkit(report, image, microkit.board).values()
    }
    console = (tmp_path / "out" / "a.trace").read_text(errors="replace")
    assert len(given) == 4
    assert given_by_kernel(console, bits="89") == given
