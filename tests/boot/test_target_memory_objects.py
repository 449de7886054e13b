# SPDX-License-Identifier: BSD-2-Clause
"""Memory objects and regions: allocated, attached, given away, let go, and left by a dead PD."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cellreap import metrics
from cellreap.model.csvstate import COLUMNS
from cellreap.model.ids import is_memory, is_region
from cellreap.system.config import Config
from cellreap.testing import Change, Run, Target, together, validated, with_bench, with_pd
from kit.arches import ARCHES
from kit.marks import thorough_but
from kit.paths import BOOT_CONFIGS
from kit.truth_traces import WITH_TRUTH

CYCLES = 100
FULL = 8


def without_cache(config: Config) -> Config:
    """Both PDs have the region that is cleared without a cache."""
    kept, cleared, own = config.regions
    maps = tuple(each.model_copy(update={"cached": False}) for each in cleared.maps)
    cleared = cleared.model_copy(update={"maps": maps})
    return validated(config.model_copy(update={"regions": (kept, cleared, own)}))


def left(run: Run) -> list[str]:
    """The memory objects and regions in the last state."""
    return [row[1] for row in run.last_state() if is_memory(row[1])]


LARGE_CYCLES = 4


def of_large_pages(config: Config) -> Config:
    """The same memory objects, but for 8 pages in place of 512."""
    giver = config.pds[0].quota.model_copy(update={"pages": (8 + 7) * 512})
    return together(
        with_pd("giver", args=(0, LARGE_CYCLES, 1), quota=giver),
        with_pd("keeper", args=(1, LARGE_CYCLES, 1)),
        WITH_TRUTH,
    )(config)


@pytest.mark.behaviour("E-01")
@pytest.mark.parametrize("pages", ["small", "large"])
@pytest.mark.parametrize("arch", ARCHES)
def test_memory_goes_with_the_last_that_refers_to_it(
    target_of: Callable[[str], Target], arch: str, pages: str
) -> None:
    """It is zero at first, cannot be written where that is not allowed, and stays as it was for a
    survivor that was given it. By the kernel's word, nothing of it is left elsewhere.
    """
    run = target_of(arch).run("memory", change=of_large_pages if pages == "large" else None)
    said = [text for name in ("giver", "keeper", "poor") for text in run.says(name)]
    checks = [text for text in said if text.startswith("check")]
    assert {text.rpartition(": ")[2] for text in checks} == {"ok"}
    assert [text for text in said if text not in checks] == [
        *("zero", "shared"),
        *("zero", *("beside", "still there") * 2, "kept", "kept"),
    ], "the giver faulted when it wrote; the keeper read the memory when its last hold was gone"
    (fault,) = run.of("FAULT")
    assert fault["address"] == "0x3fc0000000"
    gone = [node for node, _ in run.destroys() if is_memory(node)]
    assert list(map(is_region, gone)) == [True, True], "the keeper held the memory itself"
    steps = run.of("STEP", name="destroy-resource")
    assert {step["kinds"] for step in steps if step["node"] in gone} == {"revoke:1"}
    made = run.of("RESOURCE", op="allocate")[0]["id"]
    objects = "cnode:1,frame:7" if pages == "small" else "cnode:1,large-frame:7"
    assert run.of("BODY", of=made)[0]["objects"] == objects


@pytest.mark.parametrize("cycles", thorough_but([CYCLES, 10_000], CYCLES))
def test_cycles_leave_everything_as_it_was(target: Target, cycles: int) -> None:
    """What there is at the end, the check of the trace holds against what was made."""
    run = target.run("memory", change=with_pd("keeper", args=(1, cycles), deadline_ms=0))
    assert len(run.of("RESOURCE", op="allocate", asker=run.id("keeper"))) == cycles + 2
    assert len(left(run)) == 2, "it let go what it had of the configuration"
    bodies = run.of("BODY")
    there = {run.id("keeper"), run.id("poor"), *left(run)}
    base = run.of("USAGE")[0].number("bytes")
    assert run.of("SETTLED")[-1].number("bytes") == base + sum(
        body.number("bytes") for body in bodies if body["of"] in there
    )
    assert len({body["paddr"] for body in bodies if is_memory(body["of"])}) < 20, "it is used again"


@pytest.mark.behaviour("T-01")
def test_memory_is_given_back_once_though_a_cleaner_dies_at_that(target: Target) -> None:
    """The giver comes back, and its account has room for as many pages as before."""
    deaths = tuple(f"step:{step}.1:fault" for step in range(1, 20))
    change = together(
        with_pd("giver", args=(0, 1), respawn=True, respawn_budget=1),
        with_pd("keeper", args=(2, 0), allocates=False),
        with_bench(inject=deaths),
    )
    run = target.run("memory", change=change)
    gone = [event for event in run.of("TAKEOVER") if event["node"].startswith("MO_")]
    assert len(gone) == 2, "in both of its lives it had all of its memory to itself"
    said = [text for text in run.says("giver") if text.startswith("check allocate")]
    assert said == ["check allocate: ok"] * 3 * 2


def test_what_a_survivor_lets_go_during_a_destructor_goes(target: Target) -> None:
    """Only a doomed PD still holds the memory, and no plan has it. It goes with that PD."""
    run = target.run("heir")
    own, given = (run.of("RESOURCE", op="allocate", asker=run.id(pd)) for pd in ("heir", "owner"))
    assert left(run) == [own[0]["id"]]
    (dropped,) = (e for e in run.dropped("HOLD", to=given[0]["id"]) if e["op"] == "release")
    assert run.of("STEP")[0].seq < dropped.seq < run.of("SETTLED", n=1)[0].seq


def test_cleanups_of_pds_that_share_memory_come_one_after_the_other(target: Target) -> None:
    """Else neither plan has the memory: in each, the other PD still has it mapped."""
    run = target.run("heir_faults")
    (end,), (fault,) = run.of("SETTLED", n=1), run.of("FAULT", pd=run.id("heir"))
    assert fault.seq < end.seq < run.of("CLEANUP", n=2)[0].seq
    assert left(run) == []


def with_large_regions(config: Config) -> Config:
    """Each has two large pages, at 1 GiB or 2 GiB."""
    regions = [
        region.model_copy(
            update={
                "page_size": 0x20_0000,
                "size": 0x40_0000,
                "maps": tuple(
                    each.model_copy(update={"address": (1 + (region.name == "cleared")) << 30})
                    for each in region.maps
                ),
            }
        )
        for region in config.regions
    ]
    config = config.model_copy(update={"regions": tuple(regions)})
    args = ((pd.name, pd.args[:1]) for pd in config.pds)
    return validated(together(*(with_pd(name, args=its) for name, its in args))(config))


MIDDLE = {"x86_64": 0x1000_0000, "aarch64": 0x5000_0000, "riscv64": 0x9000_0000}
"""An address in the midst of the machine's memory."""


def placed_on(arch: str) -> Change:
    """Each region is at an address of its own, right behind the one before it. None but the first
    begins at an address of which more than a page is a multiple.
    """

    def change(config: Config) -> Config:
        regions, place = [], MIDDLE[arch]
        for region in config.regions:
            regions.append(region.model_copy(update={"memory_at": place}))
            place += region.size
        return validated(config.model_copy(update={"regions": tuple(regions)}))

    return change


@pytest.mark.parametrize(
    "pages", thorough_but(["small", "large", "placed", "large placed"], "large placed", "placed")
)
@pytest.mark.parametrize("arch", ARCHES)
def test_who_comes_back_finds_its_regions(
    target_of: Callable[[str], Target], arch: str, pages: str
) -> None:
    """What a survivor has stays as it was or is cleared, as the configuration says, and what nobody
    has is new. The epoch counts on. By the kernel's word, one is not cached, and each is at the
    address that the configuration says. There the epoch counts on even if nobody has it.
    """
    changes: list[Change] = [with_large_regions] if "large" in pages else []
    changes += [placed_on(arch)] if "placed" in pages else []
    run = target_of(arch).run("region", change=together(WITH_TRUTH, *changes, without_cache))
    left, right = run.says("left"), run.says("right")
    assert {left[0], right[0]} == {"first 0, epoch 2", "first 1, epoch 2"}
    assert left[2:] == [
        *("first 2, epoch 3", "second 0, epoch 3"),
        *("first 3, epoch 4", "second 0, epoch 4"),
    ]
    assert right[2:] == ["first 4, epoch 5", "second 0, epoch 5"]
    again = 2 if "placed" in pages else 1
    assert run.says("alone") == ["first 0, epoch 1", f"first 0, epoch {again}"]


@pytest.mark.behaviour("E-01", "E-02")
@pytest.mark.parametrize("arch", ARCHES)
def test_what_was_lent_stays_until_the_loss_is_acknowledged(
    target_of: Callable[[str], Target], arch: str
) -> None:
    """By a server, with a resource: then it goes, and with the last one the memory. That a PD which
    is late does not acknowledge keeps it until that PD goes. Nobody else gets it before. Memory
    that the server gives by itself its client keeps, to read: so says the state, and the kernel.
    """
    run = target_of(arch).run("backed", change=WITH_TRUTH)
    said = [text for name in ("lender", "borrower", "deaf") for text in run.says(name)]
    checks = [text for text in said if text.startswith("check")]
    assert {text.rpartition(": ")[2] for text in checks} == {"ok"}
    assert [text for text in run.says("borrower") if text not in checks] == [
        *("mapped", "gone"),
        *("mapped", "ok", "still there", "gone"),
        *("mapped", "server died", "still there", "gone"),
        "given",
    ]
    lent, first = (
        run.of("EDGE", kind="MAP", op="attach", asker=run.id(name))[0]
        for name in ("deaf", "borrower")
    )
    crash, late = run.plan(1), run.plan(2)
    lender, mine, other = (run.ids(name)[0] for name in ("lender", "borrower", "deaf"))
    assert [cleanup.memory for cleanup in run.report.cleanups] == [
        [("loses", mine, 12288, (lender,)), ("loses", other, 12288, (lender,))],
        [("freed", other, 12288, ())],
    ]
    assert crash["core_freed"] == [first["to"]], "only a resource that its client released kept it"
    assert late["core_freed"] == sorted([lent["from"], lent["to"]])
    memory, region = sorted(left(run))
    extra = {row[1]: row[6] for row in run.last_state() if is_memory(row[1])}
    reads = [row[3:6] for row in run.last_state() if row[6] == "READ"]
    assert extra[region] == "0x80000000_GENERIC_1_12"
    me = run.id("borrower")
    assert sorted(reads) == [["HOLD", me, memory], ["MAP", region, memory]]
    assert is_region(region), "the borrower has acknowledged all its losses"


@pytest.mark.parametrize("arch", ARCHES)
def test_a_file_fills_regions_and_fills_them_again(
    target_of: Callable[[str], Target], arch: str
) -> None:
    """Also beyond the first page. Who has them counts in the first word, and clears another one."""
    run = target_of(arch).run("region_fill")
    words = memoryview((BOOT_CONFIGS / "region_fill.txt").read_bytes()).cast("Q")
    count, more = words[0], words[512]
    untouched, touched, again = f"{count}, more {more}", f"{count + 1}, more 0", f"{count + 2}"
    left, right = run.says("left"), run.says("right")
    at_first = {f"{name} {text}" for name in ("first", "second") for text in (untouched, touched)}
    assert {text.rpartition(", epoch")[0] for text in left[:2] + right} == at_first
    assert [text.rpartition(", epoch")[0] for text in left[2:]] == [
        f"first {again}, more 0",
        f"second {untouched}",
    ], "what stays was counted on, and the other one is as the file has it"


@pytest.mark.behaviour("E-01")
def test_memory_that_many_hold_is_taken_by_one_revoke(target: Target) -> None:
    """All 256 pages, from all 17 that held and mapped it."""
    run = target.run("spread")
    (memory,) = {event["to"] for event in run.made("HOLD", op="send")}
    holders = {event["from"] for event in run.made("HOLD", to=memory)}
    assert len(holders) == 17
    assert len(run.made("MAP", to=memory)) == 17
    assert run.of("BODY", of=memory)[0]["objects"] == "cnode:1,frame:256"
    (step,) = run.of("STEP", name="destroy-resource", node=memory)
    assert step["kinds"] == "revoke:1"


@pytest.mark.behaviour("E-07")
@pytest.mark.parametrize("arch", ARCHES)
def test_pages_decide_how_close_pds_are(
    target_of: Callable[[str], Target], arch: str, tmp_path: Path
) -> None:
    """Of what the two have, two thirds are shared by pages, and one half by memory objects. The
    state of the target tells the reference the same.
    """
    run = target_of(arch).run("shared_pages")
    server, near, far = (run.id(name) for name in ("server", "near", "far"))
    assert run.destroyed_pds() == {"server", "near"}
    state = tmp_path / "state.csv"
    state.write_text("\n".join(",".join(row) for row in [list(COLUMNS), *run.state(0)]))
    assert metrics(state, server, near).rsi["MO"] == (2, 3)
    assert metrics(state, server, far).rsi["MO"] == (1, 3)
    (last,) = (row[6] for row in run.last_state() if is_memory(row[1]) and not is_region(row[1]))
    assert last.partition("_")[2] == "1_12", "the root task tells it"


@pytest.mark.behaviour("E-01")
@pytest.mark.parametrize("end", thorough_but([0, 1], 1))
@pytest.mark.parametrize("arch", ARCHES)
def test_a_newcomer_keeps_its_memory_when_regions_of_the_doomed_are_freed(
    target_of: Callable[[str], Target], arch: str, end: int
) -> None:
    """It has the pages that a destroyed PD had, at the same address, and may have the number of
    that one's address space. The client's region is freed last, after its destructor, which may
    fault.
    """
    change = together(WITH_TRUTH, with_pd("client", args=(1, end)))
    run = target_of(arch).run("lodger", change=change)
    assert run.says("lodger")[-1] == "still there"
    assert run.destroyed_pds() == {"host", "client"}
    steps = run.of("STEP")
    (host,) = (at for at, step in enumerate(steps) if step["node"] == run.id("host")
               and step["name"] == "destroy-pd")  # fmt: skip
    assert is_region(steps[host - 1]["node"])


@pytest.mark.behaviour("E-01")
def test_nobody_has_so_much_memory_split_that_others_cannot_allocate(target: Target) -> None:
    """It allocates as much as its quotas allow, in pieces of five sizes."""
    run = target.run("split")
    assert run.says("other") == ["check allocate: ok", "check release: ok"]
    assert len(run.says("splitter")) == 5
    assert all(text.endswith(f"then {FULL}") for text in run.says("splitter"))
