# SPDX-License-Identifier: BSD-2-Clause
"""For each rule about the configuration, stories of other configurations that break it.

Each story is consistent in itself. Some are runs of a configuration of which a root task ignores
something; where no configuration tells the difference, events of a run are changed.
"""

from __future__ import annotations

import functools
import io
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from cellreap.model.closeness import Closeness
from cellreap.model.pages import Pages
from cellreap.trace.check import Report, check_stream
from cellreap.trace.check.memory import Body
from cellreap.trace.check.replay import Replay
from cellreap.trace.events import Event
from cellreap.trace.expected import Expected, ExpectedCrash, ExpectedEnd, ExpectedLine, ExpectedMap
from cellreap.trace.reader import Reader, read
from cellreap.trace.writer import Draft, seal
from kit.configured_story import (
    expected,
    other_quota,
    story,
    with_pd,
    with_sizes,
    with_system,
    without_crash,
)
from kit.records import fits
from kit.timed import timed
from kit.trace_simulator import BODY_OBJECTS, OWN_OBJECTS

Change = Callable[[Expected], Expected]
Edit = Callable[[list[Draft]], Sequence[Draft | Event]]


def held(drafts: Sequence[Draft | Event], config: Expected | None) -> Report:
    """The report on a trace, held against a configuration."""
    lines = "\n".join(seal(drafts)).encode()
    return check_stream(io.BytesIO(lines), "trace", expected=config)


def _crash(number: int, **values: Any) -> Change:
    def change(config: Expected) -> Expected:
        crashes = list(config.crashes)
        crashes[number - 1] = replace(crashes[number - 1], **values)
        return replace(config, crashes=tuple(crashes))

    return change


def _one_more(config: Expected) -> Expected:
    return replace(config, crashes=(*config.crashes, ExpectedCrash("fs", "exit")))


def _swapped(config: Expected) -> Expected:
    first, *rest = config.crashes
    return replace(config, crashes=(*rest[:1], first, *rest[1:]))


def _in_other_order(config: Expected) -> Expected:
    nurse, disk, *rest = config.pds
    return replace(config, pds=(nurse, rest[0], disk, *rest[1:]))


def _early(config: Expected) -> Expected:
    return with_pd("late", late=False)(config)


FRAME: Final = Counter({"frame": 1})
STORIES: Final[tuple[tuple[str, Change], ...]] = (
    ("config.system", with_system(system="other")),
    ("config.system", with_system(depths=("1", "1"))),
    ("config.system", with_system(depths=("0", "inf"))),
    ("config.system", with_system(kernel="seL4 15.0.0")),
    ("config.settings", with_system(await_ms=2000)),
    ("config.settings", with_system(closeness=Closeness("both", 0))),
    ("config.sizes", with_sizes(base_bytes=1 << 21)),
    ("config.sizes", with_sizes(base_slots=41)),
    ("config.sizes", with_sizes(bodies=dict.fromkeys(
        ("nurse", "disk", "fs", "app", "init", "thread", "late"), 1 << 17))),
    ("config.sizes", with_sizes(spawned={"child": 1 << 17})),
    ("config.sizes", with_sizes(base_objects=OWN_OBJECTS + FRAME)),
    ("config.sizes", with_sizes(objects=dict.fromkeys(
        ("nurse", "disk", "fs", "app", "init", "thread", "late"), BODY_OBJECTS + FRAME))),
    ("config.sizes", with_sizes(spawned_objects={"child": BODY_OBJECTS + FRAME})),
    ("config.quota", other_quota),
    ("config.pd", _in_other_order),
    ("config.pd", _early),
    ("config.pd", with_pd("nurse", name="nanny")),
    ("config.rights", with_pd("fs", pinned=False)),
    ("config.rights", with_pd("app", pinned=True)),
    ("config.rights", with_pd("app", priority=120)),
    ("config.rights", with_pd("app", rights=frozenset({"set_depth"}))),
    ("config.rights", with_pd("init", spawn_priority=80)),
    ("config.rights", with_pd("init", spawn_allow=3)),
    ("config.rights", with_pd("fs", deadline_ms=0)),
    ("config.rights", with_pd("disk", deadline_ms=5000)),
    ("config.rights", with_pd("fs", limits=(100, 0, 0, 0, 0))),
    ("config.rights", with_pd("disk", limits=(0, 50, 0, 0, 0))),
    ("config.rights", with_pd("disk", limits=(0, 0, 1000, 5000, 0))),
    ("config.rights", with_pd("app", depths=None)),
    ("config.rights", with_pd("app", depths=("2", "inf"))),
    ("config.rights", with_pd("disk", depths=("0", "0"))),
    ("config.rights", with_pd("app", respawn=(4, 0, 0))),
    ("config.rights", with_pd("fs", respawn=(3, 0, 0))),
    ("config.handler", with_pd("disk", handler=None)),
    ("config.handler", with_pd("fs", handler="disk")),
    ("config.link", with_system(links=frozenset())),
    ("config.link", with_system(links=frozenset({frozenset({"fs", "nurse"})}))),
    ("config.hold", with_pd("init", holds={"thread": 8, "app": 9})),
    ("config.hold", with_pd("fs", holds={"app": 8})),
    ("config.request", with_pd("app", requests=frozenset({"files", "disk1"}))),
    ("config.space", with_pd("disk", spaces={"disk1": "FLASH"})),
    ("config.crash", without_crash(4)),
    ("config.crash", without_crash(3)),
    ("config.crash", without_crash(5)),
    ("config.crash", _one_more),
    ("config.crash", _swapped),
    ("config.crash", _crash(1, repeat=1)),
    ("config.crash", _crash(1, repeat=3)),
    ("config.crash", _crash(1, how="cap-fault")),
    ("config.crash", _crash(3, pd="thread")),
    ("config.crash", with_system(crashes=())),
    ("config.extract", with_system(extract=False)),
    ("config.settings", with_system(inject=())),
    ("config.settings", with_system(inject=("make:900:error",))),
)  # fmt: skip
"""(a rule, another configuration whose story breaks it)."""


def _without(event: str, **match: object) -> Edit:
    def edit(drafts: list[Draft]) -> list[Draft]:
        at = _find(drafts, event, match)
        return [*drafts[:at], *drafts[at + 1 :]]

    return edit


def _with(event: str, change: dict[str, object], **match: object) -> Edit:
    def edit(drafts: list[Draft]) -> list[Draft]:
        at = _find(drafts, event, match)
        return [*drafts[:at], (event, {**drafts[at][1], **change}), *drafts[at + 1 :]]

    return edit


def _find(drafts: list[Draft], event: str, match: dict[str, object]) -> int:
    return next(
        i for i, (name, values) in enumerate(drafts) if name == event and fits(values, match)
    )


def with_truth(drafts: list[Draft]) -> list[Draft]:
    """The kernel's word begins after the core spaces."""
    at = _find(drafts, "PD", {"id": "PD_1"})
    return [*drafts[:at], ("TRUTH", {"snapshot": 0}), *drafts[at:]]


def _cancelled(drafts: list[Draft]) -> list[Draft]:
    """A PD cancels the respawn of one with which the configuration does not trust it."""
    at = _find(drafts, "due RESPAWN", {}) + 1
    name = drafts[at - 1][1]["name"]
    cancel: Draft = ("CANCEL", {"pd": "PD_1", "of": "-", "ticket": 0, "name": name})
    return [*drafts[:at], cancel, *drafts[at:]]


EDITS: Final[tuple[tuple[str, Edit], ...]] = (
    ("config.system", timed),
    ("config.settings", _with("SETTING", {"word": "sync"})),
    ("config.truth", with_truth),
    ("config.cancel", _cancelled),
    ("config.slot", _with("EDGE", {"number": 256}, from_="PD_4", to="FILE_SPACE_4")),
    ("config.pd", _without("PD", id="PD_3")),
    ("config.handler", _without("EDGE", kind="FAULT", from_="PD_2")),
    ("config.quota", _without("QUOTA", name="fs")),
    ("config.request", _without("EDGE", kind="REQUEST", from_="PD_2")),
    ("staged.follows", _with("EXIT", {"code": 41}, code=42)),
    ("staged.follows", _with("FAULT_HELD", {"address": "0xdead001"})),
    ("staged.follows", _with("FAULT_HELD", {"kind": "cap-fault"})),
    ("staged.root", _without("STAGE", how="kill")),
    ("staged.order", _with("STAGE", {"by": "PD_4"}, how="terminate")),
)  # fmt: skip
"""(a rule, a change of the events of the story that breaks it)."""


def of_story(change: Change) -> Report:
    """The story of a changed configuration, held against the unchanged one."""
    return held(story(change(expected())), expected())


def of_edit(edit: Edit) -> Report:
    """The changed story of the configuration, held against it."""
    return held(edit(story(expected())), expected())


def of_region() -> Report:
    """A story without regions, held against a configuration with one."""
    return held(
        story(expected()),
        with_pd("app", maps=(ExpectedMap("a", Pages(1, 12), 1, True),))(expected()),
    )


def of_channel() -> Report:
    """A story without channels, held against a configuration with one."""
    end = ExpectedEnd("a", "database", 8, 1)
    return held(story(expected()), with_pd("app", ends=(end,))(expected()))


def of_line() -> Report:
    """A story without interrupts, held against a configuration with one."""
    line = ExpectedLine("IRQ", 8, 34, 0, 0)
    return held(story(expected()), with_pd("app", lines=(line,))(expected()))


def of_thread() -> Report:
    """A story without threads, held against a configuration with one."""
    return held(story(expected()), with_pd("app", process="fs")(expected()))


def of_kept() -> Report:
    """The story of PDs that are made where a device may write."""
    replay = Replay(Report("trace"), expected())
    replay.context.configured.edges.kept["a"] = Body(0, 1 << 40, 0)
    lines = "\n".join(seal(story(expected()))).encode()
    for event in read(Reader("trace"), io.BytesIO(lines)):
        replay.feed(event)
    return replay.report


def reports() -> dict[str, Callable[[], Report]]:
    """Rule -> the report on a trace that breaks it."""
    stories = {rule: functools.partial(of_story, change) for rule, change in STORIES}
    edits = {rule: functools.partial(of_edit, edit) for rule, edit in EDITS}
    own = {"config.region": of_region, "config.channel": of_channel, "config.line": of_line}
    own |= {"config.kept": of_kept, "config.thread": of_thread}
    return {**edits, **stories, **own}
