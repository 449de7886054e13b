# SPDX-License-Identifier: BSD-2-Clause
"""Steps that do several things: what `check` demands of them, also if cleaners die among them.

Each trace is one that a sound root task cannot write. All that other rules look at is right in it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from cellreap.headers import constant
from cellreap.trace.check.steps import TAKES
from cellreap.trace.writer import Draft
from kit.answering import answer
from kit.broken_configurations import held
from kit.broken_traces import of_drafts
from kit.configured_story import Configured, expected
from kit.residue_run import residue_run
from kit.simulated_runs import interleaved_run, takeovers_run
from kit.trace_simulator import Target

AT_ONCE = constant("steps.h", "CR_STEP_AT_ONCE")
MANY = AT_ONCE + 6


def rules(drafts: list[Draft]) -> set[str]:
    """The rules that a trace breaks."""
    return {problem.rule for problem in of_drafts(drafts).violations}


def a_client_goes() -> list[Draft]:
    """A client with many resources of two spaces goes: its server is told of each."""
    return _one_goes("client")


def a_server_goes() -> list[Draft]:
    """Their server goes: each is destroyed. The client is told of both spaces."""
    return _one_goes("server")


def a_live_server_loses_its_space() -> list[Draft]:
    """What a space of the server is built on goes, so each of its resources takes kernel calls."""
    target = Target(0, 1, "many")
    lower, upper = (target.space(target.pd(name), name.upper()) for name in ("low", "high"))
    target.request("PD_2", lower)
    target.map(upper, lower)
    for _ in range(MANY):
        target.resource(upper)
    target.quiet()
    target.fault("PD_1")
    target.cleanup()
    target.serve_all()
    return target.end()


def _one_goes(who: str) -> list[Draft]:
    target = Target(0, 0, "many")
    pds = {name: target.pd(name) for name in ("server", "client")}
    for _ in range(2):
        space = target.space(pds["server"], "HALL")
        target.request(pds["client"], space)
        for _ in range(MANY):
            target.hold(pds["client"], target.resource(space))
    target.quiet()
    target.fault(pds[who])
    target.cleanup()
    target.serve_all()
    return target.end()


def at(drafts: list[Draft], event: str, /, skip: int = 0, **values: object) -> int:
    """The place of an event with these values, behind `skip` others."""
    return [
        place
        for place, (name, has) in enumerate(drafts)
        if name == event and all(str(has[key]) == str(value) for key, value in values.items())
    ][skip]


def edited(drafts: list[Draft], place: int, **values: object) -> list[Draft]:
    name, has = drafts[place]
    return [*drafts[:place], (name, {**has, **values}), *drafts[place + 1 :]]


def moved(drafts: list[Draft], place: int, to: int) -> list[Draft]:
    """An event later than `to` comes before it."""
    return [*drafts[:to], drafts[place], *drafts[to:place], *drafts[place + 1 :]]


@dataclass
class Deaths:
    """Cleaners die at one step, so many, before the event at `place`."""

    place: int
    times: int = 1
    how: str = "fault"
    left: bool = False
    """the step is left at the last death, and its attempts made these calls"""
    kinds: str = "-"

    def among(self, drafts: list[Draft]) -> list[Draft]:
        """The trace with them. The step is the next one."""
        place = self.place
        step = drafts[at(drafts[place:], "STEP") + place][1]
        number = sum(name == "STEP" for name, _ in drafts[:place]) + 1
        injection = {"what": "fail-step", "word": self.how, "value": number, "second": 0}
        injection |= {"third": 0 if self.times == 1 else self.times}
        died: list[Draft] = []
        for attempts in range(1, self.times + 1):
            values = {"n": step["n"], "death": self.how, "number": number, "attempts": attempts}
            values |= {"step": step["name"], "node": step["node"], "pd": step["pd"]}
            last = self.left and attempts == self.times
            values |= {"left": int(last), "kinds": self.kinds if last else "-"}
            died += [("INJECTED", injection), ("TAKEOVER", values)]
        begin = at(drafts, "PD")
        injected = [*drafts[:begin], ("SETTING", injection), *drafts[begin:place], *died]
        return injected + drafts[place:]


def with_steps(drafts: list[Draft], more: int) -> list[Draft]:
    """The plan told more steps than are carried out."""
    count = sum(name == "STEP" for name, _ in drafts)
    return edited(drafts, at(drafts, "CLEANUP"), steps=count + more)


def split(drafts: list[Draft], place: int, count: int) -> list[Draft]:
    """The step of the QUEUEs from a place on ends behind so many. A second one has the rest."""
    end = at(drafts[place:], "STEP") + place
    step = drafts[end][1]
    first = {**step, "count": count}
    rest = {**step, "count": int(str(step["count"])) - count, "kinds": "-"}
    rest["node"] = drafts[place + count][1]["node"]
    middle: list[Draft] = [*drafts[place : place + count], ("STEP", first)]
    return [
        *drafts[:place],
        *middle,
        *drafts[place + count : end],
        ("STEP", rest),
        *drafts[end + 1 :],
    ]


@pytest.mark.behaviour("T-01", "T-24")
def test_what_three_cleaners_queued_is_a_step_and_the_rest_another() -> None:
    drafts = a_client_goes()
    assert rules(drafts) == set()
    first = at(drafts, "QUEUE", n=1)
    shorter = with_steps(split(drafts, first, 5), -1)
    assert rules(shorter) == {"reports.steps"}
    assert rules(Deaths(first + 5, 3).among(shorter)) == set()
    assert rules(Deaths(first + 5, 1, "error").among(shorter)) == set()
    assert rules(Deaths(first + 5, 2).among(shorter)) == {"reports.steps"}
    assert rules(Deaths(first, 1, "error").among(shorter)) == {"reports.steps"}
    for more in (1, -2):
        assert rules(Deaths(first + 5, 3).among(with_steps(shorter, more))) == {"reports.steps"}


@pytest.mark.behaviour("T-01", "N-14")
def test_nothing_is_queued_behind_the_last_death_and_nothing_before_a_step_is_left() -> None:
    drafts = a_client_goes()
    first = at(drafts, "QUEUE", n=1)
    assert rules(Deaths(first, 3).among(drafts)) == {"takeover.attempts"}
    assert rules(Deaths(first + 5, 3).among(drafts)) == {"takeover.attempts"}
    assert rules(Deaths(first + 5, 3, left=True).among(drafts)) == {"takeover.residue"}
    assert rules(Deaths(first + 5, 2).among(drafts)) == set()


@pytest.mark.behaviour("W-03")
@pytest.mark.parametrize("death", ["fault", "error"])
def test_a_death_at_a_step_of_one_thing_makes_no_further_step(death: str) -> None:
    drafts = a_server_goes()
    for name in ("mark", "cut-request", "destroy-space"):
        place = at(drafts, "STEP", name=name)
        died = Deaths(place, 1, death).among(drafts)
        assert rules(died) == set()
        assert rules(with_steps(died, -1)) == {"reports.steps"}


@pytest.mark.behaviour("W-03")
def test_a_step_destroys_the_newest_resources_of_one_space() -> None:
    drafts = a_server_goes()
    whole = at(drafts, "STEP", name="destroy-resource")
    rest = at(drafts, "STEP", name="destroy-resource", skip=1)
    assert (drafts[whole][1]["count"], drafts[rest][1]["count"]) == (AT_ONCE, MANY - AT_ONCE)
    older, newest = drafts[rest][1]["node"], drafts[whole][1]["node"]
    for place, values in (
        (whole, {"node": older}),
        (rest, {"node": newest}),
        (rest, {"count": MANY - AT_ONCE + 1}),
        (whole, {"count": AT_ONCE + 1}),
    ):
        assert rules(edited(drafts, place, **values)) & {"cleanup.beside", "cleanup.steps"}


def cut(drafts: list[Draft], count: int) -> list[Draft]:
    """A step that destroys the last resources of a space ends behind so many. A second has the
    rest.
    """
    place = next(
        place
        for place, (name, has) in enumerate(drafts)
        if name == "STEP" and has["name"] == "destroy-resource" and has["count"] != AT_ONCE
    )
    step = drafts[place][1]
    whole = int(str(step["count"]))
    type_, space, number = str(step["node"]).split("_")
    behind = f"{type_}_{space}_{int(number, 16) - count:x}"
    calls = step["kinds"] != "-"
    parts = [
        {**step, "node": node, "count": things,
         "kinds": ",".join(f"{kind}:{things}" for kind in TAKES) if calls else "-"}
        for node, things in ((step["node"], count), (behind, whole - count))
    ]  # fmt: skip
    return [*drafts[:place], *(("STEP", part) for part in parts), *drafts[place + 1 :]]


@pytest.mark.behaviour("W-03", "X-18")
@pytest.mark.parametrize("story", [a_server_goes, a_live_server_loses_its_space])
def test_a_step_may_end_early_for_a_pd_that_waits(story: Callable[[], list[Draft]]) -> None:
    drafts = story()
    assert rules(drafts) == set()
    shorter = cut(drafts, 5)
    assert rules(shorter) == set()
    for more, found in ((-2, {"reports.steps"}), (-1, set()), (0, set()), (1, {"reports.steps"})):
        assert rules(with_steps(shorter, more)) == found


@pytest.mark.behaviour("W-03", "X-18")
def test_a_step_ends_early_only_where_pds_are_served_between_steps() -> None:
    config = expected()
    target = Configured(config)
    target.boot()
    target.work("disk")
    space = next(id_ for id_, pd in target.managers.items() if pd == target.ids["disk"])
    for _ in range(8):
        target.resource(space)
    target.quiet()
    target.crash(1, config.crashes[0])
    drafts = target.end()
    for between, found in ((False, True), (True, False)):
        report = held(cut(drafts, 5), replace(config, runs_between=between))
        assert ("reports.steps" in {problem.rule for problem in report.violations}) == found
    assert "reports.steps" not in {problem.rule for problem in held(drafts, config).violations}


@pytest.mark.behaviour("W-04", "X-18")
def test_a_pd_waits_for_one_resource_and_not_for_all_of_a_step() -> None:
    drafts = cut(a_live_server_loses_its_space(), 5)
    place = at(drafts, "STEP", name="destroy-resource", count=5)
    of_one = len(TAKES)
    for calls, found in ((of_one, False), (of_one + 1, True)):
        served: Draft = ("SERVED", {"n": 1, "pd": "PD_2", "waited": calls, "kinds": "-"})
        told = [*drafts[: place + 1], served, *drafts[place + 1 :]]
        assert ("interleaved.soon" in rules(told)) == found


@pytest.mark.behaviour("W-03")
def test_the_attempts_at_a_resource_count_for_the_step_that_ends_before_it() -> None:
    """Three cleaners die at the second resource, behind all of its kernel calls or before them."""
    drafts = cut(a_live_server_loses_its_space(), 1)
    place = at(drafts, "STEP", name="destroy-resource", count=1)
    for attempts, found in ((0, False), (3, False), (4, True)):
        kinds = ",".join(f"{kind}:{1 + attempts}" for kind in TAKES)
        told = Deaths(place, 3).among(edited(drafts, place, kinds=kinds))
        assert ("cleanup.step_calls" in rules(told)) == found


@pytest.mark.behaviour("W-03")
def test_what_a_step_needs_is_called_before_or_after_it_was_left() -> None:
    """Memory that nobody revokes, and calls that no attempt makes."""
    drafts = a_client_goes()
    place = end = at(drafts, "STEP", name="destroy-pd")
    assert drafts[end][1]["kinds"] == "revoke:1"
    nothing = edited(drafts, end, kinds="-")
    for left, kinds, died in ((True, "-", drafts), (True, "revoke:1", nothing)):
        found = rules(Deaths(place, 3, left=left, kinds=kinds).among(died))
        assert "cleanup.step_calls" not in found
    for kinds, died in (("-", nothing), ("revoke:4", drafts), ("signal:1", drafts)):
        found = rules(Deaths(place, 3, left=True, kinds=kinds).among(died))
        assert "cleanup.step_calls" in found
    more = edited(drafts, end, kinds="revoke:4")
    assert "cleanup.step_calls" in rules(Deaths(place, 3).among(more))
    less = edited(drafts, end, kinds="revoke:3")
    assert "cleanup.step_calls" not in rules(Deaths(place, 3).among(less))


@pytest.mark.behaviour("W-04")
def test_nobody_is_served_between_a_step_that_was_left_and_the_next() -> None:
    drafts = interleaved_run()
    place = at(drafts, "RESOURCE", id="DESK_5_3")
    assert "interleaved.place" in rules(Deaths(place, 3, left=True).among(drafts))


@pytest.mark.behaviour("W-04")
def test_a_question_that_is_answered_between_two_steps_is_served_too() -> None:
    drafts = interleaved_run()
    place = at(drafts, "RESOURCE", id="DESK_5_3")
    told = answer("PD_7", "look", [0], space=5)
    served: Draft = ("SERVED", {"n": 1, "pd": "PD_7", "waited": 0, "kinds": "-"})
    other: Draft = ("SERVED", {**served[1], "pd": "PD_6"})
    assert rules([*drafts[:place], told, served, *drafts[place:]]) == set()
    assert rules([*drafts[:place], told, *drafts[place:]]) == {"interleaved.over"}
    assert rules([*drafts[:place], told, other, *drafts[place:]]) == {
        "interleaved.over", "interleaved.turn",
    }  # fmt: skip


@pytest.mark.behaviour("T-28")
def test_a_wait_is_never_left() -> None:
    drafts = takeovers_run()
    place = at(drafts, "STEP", name="await")
    assert "takeover.residue" in rules(Deaths(place, 3, left=True).among(drafts))


@pytest.mark.behaviour("W-04")
def test_a_resource_that_was_never_destroyed_goes_from_the_model_with_its_space() -> None:
    """The cleanup leaves something else, so only what was destroyed is taken from the model."""
    drafts = residue_run()
    place = at(drafts, "STEP", name="destroy-resource", node="BLOCK_1_1")
    assert "cleanup.parts" in rules([*drafts[:place], *drafts[place + 1 :]])


@pytest.mark.behaviour("W-04")
def test_what_a_pd_says_between_two_steps_names_no_pd() -> None:
    drafts = interleaved_run()
    place = at(drafts, "RESOURCE", id="DESK_5_3")
    said: Draft = ("SAY", {"pd": "PD_7", "text": "PD_3"})
    served: Draft = ("SERVED", {"n": 1, "pd": "PD_7", "waited": 0, "kinds": "-"})
    assert rules([*drafts[:place], said, served, *drafts[place:]]) == set()
