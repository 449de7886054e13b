# SPDX-License-Identifier: BSD-2-Clause
"""The rules of the check, one by one: a run that breaks the rule, and the expected report.

The mutation tests show that changes are noticed. These tests show that the stated reason is right.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace

import pytest

from cellreap.model import reference
from cellreap.trace.check import Report, check_stream, report_json
from cellreap.trace.events import Event
from cellreap.trace.writer import Draft, seal
from kit.records import fits
from kit.simulated_runs import block_fs_db_app, reference_run
from kit.trace_simulator import Target


def checked(drafts: list[Draft]) -> Report:
    """The report on a trace that is sealed and read."""
    return check_stream(io.BytesIO("\n".join(seal(drafts)).encode()), "trace")


def said(drafts: list[Draft]) -> list[str]:
    return [problem.text for problem in checked(drafts).violations]


def broken(drafts: list[Draft]) -> list[str]:
    """The same, each behind its rule."""
    return [f"{problem.rule}: {problem.text}" for problem in checked(drafts).violations]


def scenario(pd_depth: int | None = 1, rs_depth: int | None = 0) -> tuple[Target, dict[str, str]]:
    target = Target(pd_depth, rs_depth)
    return target, block_fs_db_app(target)


def crashed(pd_depth: int | None = 0, rs_depth: int | None = 0) -> Target:
    """The scenario after block server 1 faulted. Its notices are not fetched yet. fs is PD_3."""
    target, pds = scenario(pd_depth, rs_depth)
    target.quiet()
    target.fault(pds["block_server_1"])
    target.cleanup()
    return target


# -- before a cleanup


def body_overlaps(target: Target) -> None:
    target.bodies.clear()
    target.pd("squatter")


def body_not_aligned(target: Target) -> None:
    target.emit("PD", id="PD_9", name="x")
    target.emit("BODY", of="PD_9", paddr="0x200000800", bytes=4096, slots=1, objects="-")


def body_not_a_power_of_two(target: Target) -> None:
    target.emit("PD", id="PD_9", name="x")
    target.emit("BODY", of="PD_9", paddr="0x200000000", bytes=5000, slots=1, objects="-")


def no_body(target: Target) -> None:
    target.emit("PD", id="PD_9", name="x")
    target.account()


def id_used_again(target: Target) -> None:
    target.delete("TABLE_SPACE_4")
    target.emit("SPACE", id="TABLE_SPACE_4", type="TABLE", manager="PD_4", name="database")


def type_not_that_of_the_id(target: Target) -> None:
    target.emit("SPACE", id="TABLE_SPACE_9", type="BLOCK", manager="PD_4", name="x")


def core_space_of_a_pd(target: Target) -> None:
    target.emit("SPACE", id="PD_SPACE_9", type="PD", manager="PD_4", name="x")


def server_space_of_the_root_task(target: Target) -> None:
    target.emit("SPACE", id="TABLE_SPACE_9", type="TABLE", manager="PD_0", name="x")


def resource_in_another_space(target: Target) -> None:
    target.emit("RESOURCE", id="TABLE_9_1", space="TABLE_SPACE_4", slots=1)


def no_such_pd(target: Target) -> None:
    target.edge("made", "REQUEST", "PD_77", "TABLE_SPACE_4", 8)


def dropped_without_being_held(target: Target) -> None:
    target.edge("dropped", "HOLD", "PD_1", "TABLE_4_1", 8)


def slot_of_another(target: Target) -> None:
    target.edge("made", "HOLD", "PD_5", "FILE_3_1", 8)


def slot_below_the_first(target: Target) -> None:
    target.edge("made", "HOLD", "PD_5", "FILE_3_1", 4)


def second_copy_elsewhere(target: Target) -> None:
    target.edge("made", "HOLD", "PD_5", "TABLE_4_1", 40)


def slot_for_a_manager(target: Target) -> None:
    target.edge("made", "HOLD", "PD_4", "TABLE_4_1", 40)


def given_back_from_elsewhere(target: Target) -> None:
    target.edge("dropped", "REQUEST", "PD_5", "TABLE_SPACE_4", 9)


def deleted_by_a_stranger(target: Target) -> None:
    target.emit("DELETE", node="TABLE_4_1", by="PD_5", part=0)


def full_space_deleted(target: Target) -> None:
    target.emit("DELETE", node="TABLE_SPACE_4", by="PD_4", part=0)


def handler_is_the_root_task(target: Target) -> None:
    target.edge("made", "FAULT", "PD_5", "PD_0")


def not_refused(target: Target) -> None:
    target.emit("REFUSE", pd="PD_5", op=10, status=0)


def root_task_faults(target: Target) -> None:
    target.emit("FAULT", pd="PD_0", kind="vm-fault", address="0x0", ip="0x0", registers="-")


def faults_twice(target: Target) -> None:
    target.fault("PD_5")
    target.fault("PD_5")


def speaks_after_its_fault(target: Target) -> None:
    target.fault("PD_5")
    target.refuse("PD_5", 10, 4)


def terminated_without_the_capability(target: Target) -> None:
    target.terminate("PD_5", "PD_1")


def cleanup_of_nothing(target: Target) -> None:
    target.quiet()
    target.pending.append(("PD_5", "fault"))
    target.cleanup()


def cleanups_in_the_wrong_order(target: Target) -> None:
    target.quiet()
    target.fault("PD_5")
    target.fault("PD_4")
    target.pending.rotate()
    target.cleanup()


def another_cause(target: Target) -> None:
    target.quiet()
    target.exit("PD_5")
    target.pending[0] = ("PD_5", "fault")
    target.cleanup()


def wrong_account(target: Target) -> None:
    target.base = (1, target.base[1])
    target.account()


def account_of_nothing_new(target: Target) -> None:
    target.account()
    target.memory_changed = True
    target.account()


def state_not_printed(target: Target) -> None:
    target.events[:] = [draft for draft in target.events if draft[0] not in ("STATE", "SETTLED")]
    target.account()
    target.fault("PD_5")
    target.cleanup()


def change_after_the_last_state(target: Target) -> None:
    target.quiet()
    target.subscribe("PD_5", "PD_5")
    target.emit("END")


def memory_not_accounted(target: Target) -> None:
    target.snapshot()
    target.fault("PD_5")
    target.cleanup()


def unfetched_token(target: Target) -> None:
    target.emit("fetched NOTICE", pd="PD_5", token=1)


RULES: list[tuple[Callable[[Target], None], str]] = [
    (body_overlaps, "memory.overlap: BODY: the memory of PD_6 overlaps that of PD_1"),
    (body_not_aligned, "memory.block: BODY"),
    (body_not_a_power_of_two, "memory.block: BODY"),
    (no_body, "memory.body: USAGE"),
    (
        id_used_again,
        "nodes.fresh: SPACE: TABLE_SPACE_4 was used before: ids of PDs and spaces are never",
    ),
    (type_not_that_of_the_id, "nodes.type: SPACE"),
    (
        core_space_of_a_pd,
        "model.possible: SPACE: PD_SPACE_9 is of a core type: its manager is PD_0, not PD_4",
    ),
    (server_space_of_the_root_task, "nodes.manager: SPACE"),
    (
        resource_in_another_space,
        "nodes.type: RESOURCE",
    ),
    (no_such_pd, "model.possible: made REQUEST: there is no PD_77"),
    (
        dropped_without_being_held,
        "model.possible: dropped HOLD: HOLD edge from PD_1 to TABLE_4_1: 0 there, 1 to be",
    ),
    (slot_of_another, "slots.used: made HOLD"),
    (slot_below_the_first, "slots.range: made HOLD"),
    (second_copy_elsewhere, "slots.one: made HOLD"),
    (
        slot_for_a_manager,
        "slots.none: made HOLD",
    ),
    (
        given_back_from_elsewhere,
        "slots.given_back: dropped REQUEST",
    ),
    (deleted_by_a_stranger, "nodes.delete: DELETE"),
    (full_space_deleted, "model.possible: DELETE: TABLE_SPACE_4 still contains TABLE_4_1"),
    (
        handler_is_the_root_task,
        "edges.handler: made FAULT",
    ),
    (not_refused, "actors.status: REFUSE"),
    (root_task_faults, "triggers.root: FAULT"),
    (faults_twice, "triggers.once: FAULT"),
    (
        speaks_after_its_fault,
        "actors.silent: REFUSE: PD_5 has faulted or exited and can do nothing any more",
    ),
    (
        terminated_without_the_capability,
        "triggers.right: TRIGGER",
    ),
    (cleanup_of_nothing, "triggers.cleanup: CLEANUP"),
    (
        cleanups_in_the_wrong_order,
        "triggers.order: CLEANUP",
    ),
    (
        another_cause,
        "triggers.order: CLEANUP",
    ),
    (wrong_account, "memory.sums: USAGE"),
    (
        account_of_nothing_new,
        "memory.usage: USAGE",
    ),
    (
        state_not_printed,
        "state.whole: CLEANUP",
    ),
    (
        change_after_the_last_state,
        "state.printed: END",
    ),
    (memory_not_accounted, "memory.usage: CLEANUP"),
    (unfetched_token, "notices.fetch: fetched NOTICE: token=1: no such notice waits for PD_5"),
]


@pytest.mark.parametrize(("breaks", "message"), RULES, ids=[rule.__name__ for rule, _ in RULES])
def test_rules_outside_cleanups(breaks: Callable[[Target], None], message: str) -> None:
    target, _ = scenario()
    breaks(target)
    first = broken(target.end())[0]
    assert first.startswith(message)


def test_the_scenario_itself_breaks_no_rule() -> None:
    target, _ = scenario()
    target.quiet()
    assert said(target.end()) == []


# -- within a cleanup


def edited(
    drafts: list[Draft], event: str, change: dict[str, object], **match: object
) -> list[Draft]:
    """The drafts with the first such event changed."""
    for index, (name, values) in enumerate(drafts):
        if name == event and fits(values, match):
            return [*drafts[:index], (name, {**values, **change}), *drafts[index + 1 :]]
    raise AssertionError(f"no {event} {match}")


def without(drafts: list[Draft], event: str, **match: object) -> list[Draft]:
    for index, (name, values) in enumerate(drafts):
        if name == event and fits(values, match):
            return [*drafts[:index], *drafts[index + 1 :]]
    raise AssertionError(f"no {event} {match}")


CHANGES: list[tuple[str, dict[str, object], dict[str, object], str]] = [
    ("CLEANUP", {"n": 2}, {}, "cleanup.number: CLEANUP: n=2: expected 1"),
    ("CLEANUP", {"pd_depth": 2}, {},
     "cleanup.plan: PLAN: digest="),
    ("CLEANUP", {"rs_depth": "inf"}, {},
     "cleanup.plan: PLAN: digest="),
    ("PLAN", {"rows": 1}, {}, "cleanup.plan: PLAN: rows=1: expected 11"),
    ("PLAN", {"digest": "0" * 16}, {}, "cleanup.plan: PLAN: digest=0000000000000000: expected "),
    ("QUEUE", {"number": 1}, {"kind": "lost", "to": "PD_4"},
     "notices.number: QUEUE PD_4 lost FILE_SPACE_3 -: number=1: expected 2"),
    ("QUEUE", {"number": 1}, {"token": 1}, "notices.number: QUEUE PD_2"),
    ("STEP", {"pd": "PD_5"}, {"name": "suspend"},
     "cleanup.suspend: STEP suspend node=- pd=PD_5: PD_5 is not doomed"),
    ("STEP", {"name": "polish"}, {"name": "mark"},
     "line.value: STEP: name=polish: expected one of suspend, mark,"),
    ("STEP", {"pd": "PD_5"}, {"name": "cut-request"},
     "cleanup.cut: STEP cut-request node=BLOCK_SPACE_1 pd=PD_5: there"),
    ("STEP", {"kinds": "copy:1"}, {"name": "mark"}, "cleanup.step_calls: STEP"),
    ("STEP", {"kinds": "copy:1"}, {"name": "mark"},
     "cleanup.calls: SETTLED: calls=12, but 13 in the steps"),
    ("STEP", {"node": "TABLE_4_1"}, {"node": "BLOCK_1_1"},
     "cleanup.destroy: STEP destroy-resource node=TABLE_4_1 pd=-: TABLE_4_1 is not to be"),
    ("STEP", {"count": 2}, {"node": "BLOCK_1_1"},
     "cleanup.beside: STEP destroy-resource node=BLOCK_1_1 pd=-: count=2: expected as"),
    ("QUEUE", {"token": 2}, {"token": 3},
     "notices.token: QUEUE PD_4 lost FILE_SPACE_3 -: token=2: expected"),
    ("QUEUE", {"kind": "destroy"}, {"token": 1},
     "cleanup.notices: QUEUE PD_2 destroy BLOCK_2_1 PD_3: no such notice"),
    ("SETTLED", {"calls": 0}, {"n": 1}, "cleanup.calls: SETTLED: calls=0, but"),
    ("CLEANUP", {"digest": "0" * 16}, {"n": 1}, "state.digest: CLEANUP"),
    ("STATE", {"row": "PD,PD_3,fsx,,,,"}, {"row": "PD,PD_3,fs,,,,"},
     "state.rows: STATE: the row PD,PD_3,fs,,,,"),
    ("SETTLED", {"digest": "0" * 16}, {"n": 1}, "state.digest: SETTLED"),
    ("SETTLED", {"rows": 3}, {"n": 1}, "state.count: SETTLED"),
    ("SETTLED", {"rows": 3}, {"n": 0}, "state.count: SETTLED"),
    ("SETTLED", {"bytes": 5}, {"n": 1},
     "memory.sums: SETTLED"),
    ("SETTLED", {"slots": 5}, {"n": 1},
     "memory.sums: SETTLED"),
]  # fmt: skip


@pytest.mark.behaviour("H-10")
@pytest.mark.parametrize(("event", "change", "match", "message"), CHANGES)
def test_rules_within_cleanups(
    event: str, change: dict[str, object], match: dict[str, object], message: str
) -> None:
    found = broken(edited(reference_run(1, 0), event, change, **match))
    assert any(text.startswith(message) for text in found), found


class Misplanned(Target):
    """Tells another plan than it carries out."""

    def __init__(self, change: Callable[[reference.Plan], reference.Plan]) -> None:
        super().__init__(1, 0)
        self._change = change

    def tell_plan(self, n: int, plan: reference.Plan) -> None:
        super().tell_plan(n, self._change(plan))


@pytest.mark.behaviour("H-10")
@pytest.mark.parametrize(
    "change",
    [
        lambda plan: replace(plan, destroyed_pds=[(pd, 0) for pd, _ in plan.destroyed_pds]),
        lambda plan: replace(plan, groups=[*reversed(plan.groups)]),
        lambda plan: replace(plan, groups=plan.groups[:-1]),
        lambda plan: replace(plan, notices=plan.notices[1:]),
    ],
    ids=["depth", "group", "doomed", "notice"],
)
def test_a_plan_that_differs_in_one_row_is_found(
    change: Callable[[reference.Plan], reference.Plan],
) -> None:
    target = Misplanned(change)
    pds = block_fs_db_app(target)
    target.quiet()
    target.fault(pds["block_server_1"])
    target.cleanup()
    target.serve_all()
    found = said(target.end())
    assert found
    assert all(text.startswith("PLAN: ") for text in found), found


LOSSES: list[tuple[str, dict[str, object], str]] = [
    ("PLAN", {}, "cleanup.plan: STEP suspend node=- pd=PD_1: expected PLAN before it"),
    (
        "STEP",
        {"name": "suspend", "pd": "PD_3"},
        "cleanup.suspend: STEP destroy-pd node=PD_3 pd=PD_3: PD_3 was not suspended before",
    ),
    (
        "STEP",
        {"name": "mark"},
        "cleanup.steps: SETTLED: there was no STEP mark node=BLOCK_SPACE_1 pd=-",
    ),
    (
        "STEP",
        {"name": "cut-request"},
        "cleanup.cut: STEP destroy-space node=BLOCK_SPACE_1 pd=-: before PD_3 lost its",
    ),
    (
        "STEP",
        {"node": "FILE_3_2"},
        "cleanup.parts: STEP destroy-space node=FILE_SPACE_3 pd=-: expected FILE_3_1 to be",
    ),
    (
        "QUEUE",
        {"token": 3},
        "cleanup.notices: SETTLED: the notice PD_4 lost FILE_SPACE_3 - was never queued",
    ),
    ("SETTLED", {"n": 1}, "cleanup.within: USAGE: expected SETTLED n=1 first"),
    (
        "fetched NOTICE",
        {"token": 3},
        "notices.finish: FINISH_WORK: token=3: PD_4 has fetched no such notice",
    ),
    ("END", {}, "line.cut_off: cut off: no END after event"),
]


@pytest.mark.parametrize(("event", "match", "message"), LOSSES)
def test_nothing_may_be_missing(event: str, match: dict[str, object], message: str) -> None:
    found = broken(without(reference_run(1, 0), event, **match))
    assert any(text.startswith(message) for text in found), found


@pytest.mark.behaviour("D-03", "M-06", "H-10")
def test_an_edge_to_something_that_is_gone_is_found() -> None:
    """The root task leaves a MAP edge to a freed resource in its state."""
    row = ",,NONE,MAP,FILE_3_1,BLOCK_1_1,"
    drafts = edited(reference_run(0, 0), "SETTLED", {"rows": 10}, n=1)
    assert said(drafts) == ["SETTLED: rows=10: expected 11"]
    drafts = reference_run(0, 0)
    end = max(index for index, (name, _) in enumerate(drafts) if name == "STATE")
    drafts.insert(end, ("STATE", {"row": row}))
    assert said(drafts)[1:] == [
        f"STATE: the row {row} is not in the state that the events make",
    ]


@pytest.mark.behaviour("M-06", "H-10")
def test_an_illegal_state_is_found_even_if_both_sides_agree() -> None:
    """A manager has no hold of its own resource, both by the events and by the printed rows."""
    target, _ = scenario()
    target.model.drop_hold("PD_4", "TABLE_4_1")
    target.events = without(target.events, "EDGE", kind="HOLD", from_="PD_4", to="TABLE_4_1")
    target.quiet()
    what = "L2: PD_4 manages TABLE_SPACE_4 but does not hold TABLE_4_1"
    found = said(target.end())
    assert found == [
        f"the state is not legal {when}: {what}" for when in ("in this snapshot", "at the end")
    ]


# -- notices and slots


def test_a_revoked_slot_is_not_given_again_before_the_loss_is_acknowledged() -> None:
    def run(acknowledge: bool) -> list[str]:
        target = crashed()  # fs, PD_3, lost its REQUEST in slot 8 and a block in slot 10
        if acknowledge:
            target.serve("PD_3")
        else:
            target.slots["PD_3"] = {
                slot: what for slot, what in target.slots["PD_3"].items() if isinstance(what, tuple)
            }
        target.request("PD_3", "TABLE_SPACE_4")
        target.snapshot()
        if not acknowledge:
            target.serve("PD_3")
        return broken(target.end())

    assert run(acknowledge=True) == []
    assert run(acknowledge=False)[0].startswith("slots.reused: made REQUEST")


def test_a_body_capability_that_was_revoked_leaves_its_slot_at_once() -> None:
    target, pds = scenario(0, 0)
    target.body_cap(pds["db"], pds["app"])
    slot = next(slot for slot, what in target.slots[pds["db"]].items() if what[1].startswith("PD_"))
    target.quiet()
    target.fault(pds["app"])
    target.cleanup()
    target.serve_all()
    target.request(pds["db"], "BLOCK_SPACE_1")
    assert target.events[-1][1]["number"] == slot
    target.snapshot()
    assert said(target.end()) == []


def test_a_notice_of_another_pd_cannot_be_fetched_or_acknowledged() -> None:
    target = crashed()
    token = target.queues["PD_3"][0].token
    target.emit("fetched NOTICE", pd="PD_4", token=token)
    target.emit("fetched NOTICE", pd="PD_3", token=token)
    target.emit("FINISH_WORK", pd="PD_4", token=token, result="ok")
    target.emit("FINISH_WORK", pd="PD_3", token=token, result="ok")
    assert said(target.end()) == [
        f"fetched NOTICE: token={token}: no such notice waits for PD_4",
        f"FINISH_WORK: token={token}: PD_4 has fetched no such notice, or acknowledged it before",
    ]


def test_a_notice_needs_no_acknowledgement_once_its_receiver_is_gone() -> None:
    target = crashed()
    target.fault("PD_3")
    target.cleanup()
    target.serve_all()
    assert said(target.end()) == []


# -- triggers


def test_a_trigger_whose_pd_went_with_another_causes_no_cleanup() -> None:
    target, pds = scenario(1, 0)
    target.quiet()
    target.fault(pds["block_server_1"])
    target.fault(pds["fs"])
    target.cleanup()
    assert not target.pending
    target.account()
    target.serve_all()
    report = checked(target.end())
    assert report.passed
    assert len(report.cleanups) == 1


def test_a_trigger_that_waits_at_the_end_is_found() -> None:
    target, pds = scenario()
    target.quiet()
    target.fault(pds["app"])
    assert said(target.end())[0].startswith("END: the fault of PD_5 in line ")


def test_memory_of_a_dead_pd_may_be_given_again() -> None:
    target = crashed()
    gone = next(values["trigger"] for name, values in target.events if name == "CLEANUP")
    target.serve_all()
    target.pd("new")
    bodies = [values for name, values in target.events if name == "BODY"]
    assert bodies[-1]["paddr"] == next(body["paddr"] for body in bodies if body["of"] == gone)
    target.quiet()
    assert said(target.end()) == []


# -- the form of rows


def test_rows_may_come_in_any_order_with_link_ends_either_way_and_name_no_manager() -> None:
    target, pds = scenario(0, 0)
    twin = target.pd("twin")
    target.link(twin, pds["db"])
    target.hold(pds["app"], "TABLE_SPACE_4")
    target.quiet()
    drafts = target.end()
    rows = [index for index, (name, _) in enumerate(drafts) if name == "STATE"]
    swapped = [drafts[index] for index in reversed(rows)]
    for index, draft in zip(rows, swapped, strict=True):
        drafts[index] = draft
    drafts = edited(
        drafts, "STATE", {"row": ",,NONE,LINK,PD_6,PD_4,"}, row=",,NONE,LINK,PD_4,PD_6,"
    )
    space = "RESOURCE_SPACE,TABLE_SPACE_4,TABLE,,,,"
    assert said(drafts) == []
    drafts = edited(drafts, "STATE", {"row": space + "MANAGER=PD_4"}, row=space)
    assert said(drafts) == [
        f"STATE: the row {space} is missing",
        f"STATE: the row {space}MANAGER=PD_4 is not in the state that the events make",
    ]


# -- the report


def test_the_report_has_what_run_prints() -> None:
    target, pds = scenario(1, 0)
    target.say(pds["app"], "hello")
    target.quiet()
    before = target.model.copy()
    target.fault(pds["block_server_1"])
    plan = target.cleanup()
    target.serve_all()
    report = checked(target.end())
    shown = report_json(report)
    keys = ["kernel", "verdict", "violations", "names", "cleanups", "failures", "late", "hung"]
    assert list(shown) == [*keys, "tickets", "extractions", "unverified"]
    assert shown["kernel"] == {"name": "seL4", "version": "16.0.0", "arch": "x86_64"}
    assert (shown["verdict"], shown["violations"]) == ("pass", [])
    assert shown["names"]["PD_1"] == "block_server_1"
    assert shown["names"]["FILE_SPACE_3"] == "file_space"
    (cleanup,) = shown["cleanups"]
    expected = reference.plan(before, "PD_1", 1, 0).to_json()
    assert plan.to_json() == expected
    assert {key: cleanup[key] for key in expected} == expected
    assert cleanup["cause"] == "fault"
    assert cleanup["kernel_calls"] == {
        "suspend": 2,
        "revoke": 4,
        "delete": 2,
        "read-registers": 2,
        "signal": 2,
    }
    assert report.system == "test"


def test_violations_name_file_and_line() -> None:
    drafts = edited(reference_run(1, 0), "SETTLED", {"bytes": 5}, n=1)
    line = next(
        i for i, (name, values) in enumerate(drafts, 1) if name == "SETTLED" and values["n"] == 1
    )
    shown = report_json(checked(drafts))
    assert shown["verdict"] == "fail"
    assert shown["violations"] == [f"trace:{line}: memory.sums: SETTLED: bytes=5: expected 1245184"]


def test_a_crash_that_never_came_about_is_reported() -> None:
    target, _ = scenario()
    target.emit("UNREACHED", crash=1, name="app")
    target.quiet()
    (unreached,) = checked(target.end()).unreached
    why = "app did not come to that checkpoint"
    assert str(unreached) == f"crash 1 of the configuration, of app, never came about: {why}"


def test_events_show_as_they_are_written() -> None:
    event = Event("SAY", {"pd": "PD_1", "text": "a b"})
    assert str(event) == "SAY pd=PD_1 text=a%20b"
