# SPDX-License-Identifier: BSD-2-Clause
"""Every kind of end starts a cleanup without help from a PD, and the trace names the kind."""

from __future__ import annotations

import io

import pytest
from elftools.elf.elffile import ELFFile

from cellreap.progress import Progress
from cellreap.system.config import Config
from cellreap.system.parts import build_pd_library
from cellreap.system.programs import build_samples
from cellreap.system.toolchain import find_toolchain
from cellreap.testing import Run, Target, dangling, with_crashes, with_pd, with_system
from kit.marks import WITH_MCS, slow_but

pytestmark = pytest.mark.acceptance("faults")

NOWHERE = 0xDEAD000  # pds/lib/crash.c: an address that is not mapped
BEYOND = 1 << 40  # pds/lib/crash.c: a capability address beyond any CSpace
PROGRAMS = ("app", "block_server")
# The exception's number; on aarch64 the syndrome of an unknown instruction of 32 bits.
ILLEGAL_INSTRUCTION = {"x86_64": 6, "aarch64": 1 << 25, "riscv64": 2}

FAULTS: dict[str, tuple[str, dict[str, int] | int | None]] = {
    "page-fault": ("vm-fault", NOWHERE),
    "cap-fault": ("cap-fault", BEYOND),
    "illegal-instruction": ("user-exception", ILLEGAL_INSTRUCTION),
    "unknown-syscall": ("unknown-syscall", None),
}


def fault_of(how: str, target: Target) -> tuple[str, int | None]:
    """The trace's name of the fault, and its address where that is known."""
    kind, address = FAULTS[how]
    return kind, address[target.sdk.kernel.arch] if isinstance(address, dict) else address


@pytest.fixture(scope="session")
def text_of(target: Target) -> dict[str, range]:
    """The address range of each program's instructions."""
    toolchain, quiet = find_toolchain(target.sdk.kernel.arch), Progress(quiet=True)
    library = build_pd_library(target.sdk, toolchain, quiet)
    found = {}
    for name, raw in build_samples(PROGRAMS, target.sdk, toolchain, library, quiet).items():
        for segment in ELFFile(io.BytesIO(raw)).iter_segments("PT_LOAD"):
            if segment["p_flags"] & 1:
                start = segment["p_vaddr"]
                found[name] = range(start, start + segment["p_memsz"])
    return found


def _is_cleaned_up(run: Run, name: str) -> None:
    """The PD and its space are gone, its memory is free, and its client was told and continues."""
    assert run.destroyed_pds() == {name}
    assert run.deleted_spaces() == {"disk1"}
    assert [run.names[event["pd"]] for event in run.of("STEP", name="destroy-pd")] == [name]
    assert run.notices() == {("fs", "lost", "disk1", "-")}
    assert any(text.startswith("told: I have lost") for text in run.says("fs"))
    assert run.says("app")[-1] == "at the end: table: input/output error; database: ok"


@pytest.mark.behaviour("C-02", "D-07")
@pytest.mark.kernels.with_args(*WITH_MCS)
@pytest.mark.parametrize("how", FAULTS)
def test_a_fault_is_named_and_cleaned_up(
    target: Target, text_of: dict[str, range], how: str
) -> None:
    run = target.run(f"faults_{how.replace('-', '_')}")
    kind, address = fault_of(how, target)
    (fault,) = run.of("FAULT")
    assert run.names[fault["pd"]] == "block_server_1"
    assert fault["kind"] == kind
    assert address is None or fault.number("address") == address
    assert fault.number("ip") in text_of["block_server"]
    (cleanup,) = run.cleanups()
    assert (cleanup["trigger"], cleanup["cause"]) == (fault["pd"], "fault")
    _is_cleaned_up(run, "block_server_1")


def test_each_kind_of_fault_is_at_an_instruction_of_its_own(target: Target) -> None:
    places = {
        how: target.run(f"faults_{how.replace('-', '_')}").of("FAULT")[0]["ip"] for how in FAULTS
    }
    assert len(set(places.values())) == len(FAULTS)


def test_an_unknown_system_call_is_named_by_its_number(target: Target) -> None:
    """seL4's own system call numbers are small negative numbers. This one is none of them."""
    (fault,) = target.run("faults_unknown_syscall").of("FAULT")
    number = fault.number("address")
    assert number not in range(2**64 - 64, 2**64)
    assert number not in range(64)


@pytest.mark.slow
@pytest.mark.behaviour("C-03")
def test_an_exit_is_cleaned_up_as_a_fault_is(target: Target) -> None:
    run = target.run("faults_exit")
    (event,) = run.of("EXIT")
    assert (run.names[event["pd"]], event["code"]) == ("block_server_1", "42")
    assert run.of("FAULT") == []
    (cleanup,) = run.cleanups()
    assert (cleanup["trigger"], cleanup["cause"]) == (event["pd"], "exit")
    _is_cleaned_up(run, "block_server_1")


@pytest.mark.behaviour("C-01")
def test_who_holds_the_capability_may_terminate(target: Target) -> None:
    run = target.run("terminate")
    (event,) = run.of("TRIGGER", cause="terminate", when="now")
    assert (run.names[event["pd"]], run.names[event["by"]]) == ("block_server_2", "app")
    (cleanup,) = run.cleanups()
    assert (run.names[cleanup["trigger"]], cleanup["cause"]) == ("block_server_2", "terminate")
    assert run.destroyed_pds() == {"block_server_2"}
    assert run.deleted_spaces() == {"disk2"}
    assert run.notices() == {("fs", "lost", "disk2", "-")}
    assert run.says("app")[-1] == "at the end: table: ok; database: input/output error"


@pytest.mark.behaviour("C-01")
def test_the_terminators_capability_is_gone_with_its_pd(target: Target) -> None:
    run = target.run("terminate")
    victim, app = run.id("block_server_2"), run.id("app")
    (body,) = {
        event["to"] for event in run.made("HOLD", from_=app) if event["to"].startswith("PD_2_")
    }
    assert [tuple(each) for each in run.plan()["revoked_bodies"]] == [(app, body)]
    assert body in {node for node, _ in run.destroys()}
    assert [row for row in run.state(1) if victim in row or body in row] == []


@pytest.mark.slow
@pytest.mark.behaviour("C-01")
def test_a_terminator_may_go_with_its_victim(target: Target) -> None:
    """At depth 1 the app depends on the database that it terminates, so no PD is left to answer."""

    def change(config: Config) -> Config:
        config = with_pd("app", holds_pds=("db",))(config)
        return with_crashes({"pd": "db", "how": "terminate", "by": "app", "at": 3})(config)

    run = target.run("block_fs_db_app", pd_depth=1, change=change)
    assert run.doomed() == {"db": "0", "app": "1"}
    assert run.alive() == {"block_server_1", "block_server_2", "fs"}
    assert run.notices() == {("fs", "disconnect", "files", "db")}


@pytest.mark.slow
@pytest.mark.behaviour("C-22")
@pytest.mark.parametrize("how", slow_but(FAULTS, "page-fault"))
def test_a_handler_that_is_a_pd_reports_each_kind_of_fault(
    target: Target, text_of: dict[str, range], how: str
) -> None:
    run = target.run(
        "handler",
        change=with_crashes({"pd": "app", "at": 3, "how": how}, {"pd": "fs", "at": 3, "how": how}),
    )
    kind, address = fault_of(how, target)
    fault = run.of("FAULT")[0]
    (held,) = run.of("FAULT_HELD")
    assert (run.names[held["pd"]], run.names[held["handler"]]) == ("app", "fs")
    assert (run.names[fault["pd"]], fault["kind"]) == ("app", kind)
    assert address is None or fault.number("address") == address
    assert fault.number("ip") in text_of["app"]
    assert run.destroyed_pds(1) == {"app"}


@pytest.mark.behaviour("C-22")
def test_a_pd_dies_with_its_fault_handler_and_not_the_other_way_round(target: Target) -> None:
    run = target.run("handler")
    first, second = run.cleanups()
    assert {(run.names[e["from"]], run.names[e["to"]]) for e in run.made("FAULT")} == {
        ("app", "fs"),
        ("app2", "fs"),
    }
    assert run.names[first["trigger"]] == "app"
    assert run.doomed(1) == {"app": "0"}
    assert run.names[second["trigger"]] == "fs"
    assert run.doomed(2) == {"fs": "0", "app2": "0"}  # although the depth is 0
    assert (second["pd_depth"], run.alive()) == ("0", {"block_server_1", "block_server_2", "db"})


@pytest.mark.slow
@pytest.mark.behaviour("D-07")
def test_the_model_can_be_extracted_after_a_fault(target: Target) -> None:
    run = target.run("faults_page_fault", change=with_system(extract=True))
    (extracted,) = run.of("EXTRACTED")
    assert run.at(extracted) > run.at(run.of("SETTLED", n=1)[0])
    rows = [row.split(",") for row in run.report.extractions[0].rows]
    named = {column for row in rows for column in row}
    assert dangling(rows) == []
    assert not {run.id("block_server_1"), run.id("disk1")} & named
    assert {run.id(name) for name in run.alive()} <= named
