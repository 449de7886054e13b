# SPDX-License-Identifier: BSD-2-Clause
"""The summary of a run: the crashes, what each destroyed, the notices, and the surviving PDs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from cellreap.model.ids import ROOT, kind_of
from cellreap.model.memory import size_told
from cellreap.runs.folding import folded, in_order, in_ranges, many_of, name_of, natural
from cellreap.trace.events import printable
from cellreap.trace.faults import FaultSeen
from cellreap.trace.reading import Reading
from cellreap.trace.refusals import refusals_told
from cellreap.trace.report import (
    Cleanup,
    Report,
    Ticket,
    counted,
    first_of,
    foreign_told,
    injected_told,
    kernels_word_told,
    verdict_lines,
)
from cellreap.trace.silence import Silence
from cellreap.trace.story import MAX_SAYS, Chapter, Story

# This number of cleanups is shown in detail. Of more, equal ones in a row are shown once.
_DETAILED = 4
_MAX_SAYS = 12  # SAY lines that are shown after a cleanup
_ALIVE = 12  # PDs that are shown with their ids at the end
_HEADLINES = 3  # sentences about cleanups on top of a page
_NAMED = 6  # names in one of them
_LABEL = 10  # width of the labels on the left

_WHY = {
    "trigger": "it began here",
    "link": "linked with {}",
    "fault": "{} handled its faults",
    "request": "asked for {}",
    "unreached": "is reached by nobody",
    "unnamed": "is not named",
    "hold": "held {}",
    "metric": "was close to {}",
    "managed": "managed by {}",
    "map": "mapped to {}",
    "own": "created by {}",
}


def tell(
    reading: Reading,
    kernel: str,
    seconds: float | None = None,
    files: Mapping[int, str] | None = None,
    told: int = 0,
    ended: bool = False,
) -> list[str]:
    """The lines of the summary.

    seconds: its duration; None: not known. files: the file of each extraction, by number. told: so
    many cleanups were told before. ended: the user ended the run, so no END is missing.
    """
    report, story = reading.report, reading.story
    names = report.names
    faults = {fault.pd: fault for fault in report.faults if fault.fatal}
    lines = [f"{printable(report.system) or 'the system'} on {kernel}", ""]
    chapters = story.chapters[told:]
    if len(chapters) <= _DETAILED:
        for chapter in chapters:
            lines += [*chapter_lines(chapter, report, report.faults), ""]
    else:
        lines += [*_table(chapters, report, faults), ""]
    if not story.chapters and not report.broken_off and report.passed:
        lines += ["Nothing crashed.", *_section("said", _said(_first_said(story), names)), ""]
    lines += [*asked, ""] if (asked := _asked(report, names, files or {})) else []
    if report.refusals:
        told_of = refusals_told(report.refusals, lambda pd: name_of(pd, names))
        lines += [*told_of, ""]
    if story.unmade:
        lines += ["Makings that failed and were undone:", *_unmade(story, names), ""]
    when = "when the trace broke off" if report.broken_off and not ended else "at the end"
    lines += [f"Alive {when}: {_alive(report.alive(), names)}", ""]
    for name, budget in report.stay_down.items():
        times = counted(budget, "respawn")
        lines += [f"{printable(name)} stays down: its budget of {times} is used up.", ""]
    if report.silence is not None and (report.silence.ms is not None or not ended):
        lines += [*_silence(report.silence, names), ""]
    if report.waits:
        lines += [*waits_told(report), ""]
    if report.undone:
        undone = folded(((each.pd, f" {each.what}.") for each in report.undone), names)
        lines += [*first_of(undone), ""]
    if report.injected:
        word = injected_told(report)
        lines += [f"{word[0].upper()}{word[1:]}.", ""]
    if report.asked:
        word = kernels_word_told(report)
        lines += [f"{word[0].upper()}{word[1:]}.", ""]
    if report.foreign_lines:
        lines += [f"{foreign_told(report.foreign_lines)}.", ""]
    return lines + verdict_lines(report, seconds, ended)


def headline(reading: Reading) -> str:
    """What happened, in a sentence for each cleanup. Equal ones in a row are one."""
    report, story = reading.report, reading.story
    if not story.chapters:
        whole = report.passed and not report.broken_off
        return "Nothing crashed." if whole else "Nothing crashed as far as the trace goes."
    told = [
        (said, len(list(group)))
        for said, group in itertools.groupby(_sentence(each, report) for each in story.chapters)
    ]
    lines = [f"{said}." if count == 1 else f"{count} times: {said}." for said, count in told]
    more = sum(count for _, count in told[_HEADLINES:])
    return " ".join([*lines[:_HEADLINES], *([f"{counted(more, 'more cleanup')}."] if more else [])])


def _sentence(chapter: Chapter, report: Report) -> str:
    def name(node: str) -> str:
        return printable(report.names.get(node, node))

    checked = _checked(chapter.number, report)
    plan: Mapping[str, Any] = {} if checked is None else checked.plan
    others = [name(pd) for pd, _ in plan.get("destroyed_pds", ()) if pd != chapter.trigger]
    spaces = [name(space) for space in plan.get("deleted_spaces", ())]
    losers = {
        pd
        for key in ("removed_requests", "revoked", "revoked_spaces")
        for pd, _ in plan.get(key, ())
    }
    notices = len(plan.get("notices", ()))
    parts = [_went(chapter, name)]
    if losers and spaces:
        parts.append(f"{_and([name(pd) for pd in losers])} lost {_and(spaces)}")
    elif spaces:
        parts.append(f"{_and(spaces)} went too")
    if chapter.trigger != "-":
        parts.append(f"{_and(others)} went with it" if others else "nobody else went")
    if chapter.trigger in chapter.back:
        parts.append("it came back")
    if notices:
        done = chapter.finished["ok"]
        some = f"{done} of {counted(notices, 'notice')} acknowledged"
        parts.append("all were told" if done == notices else some)
    return "; ".join(parts)


def _went(chapter: Chapter, name: Callable[[str], str]) -> str:
    """What became of the trigger, in words that fit its cause."""
    if chapter.trigger == "-":
        return {
            "stop": "All PDs were stopped in order",
            "reconcile": "What the configuration does not name of a saved state was taken back",
        }.get(chapter.how, "What nobody could reach was collected")
    who, how = name(chapter.trigger), chapter.how.partition(", instruction at ")[0]
    said, by, other = how.rpartition(" by ")
    if said == "terminated":
        return f"{who} was {said}{by}{'the root task' if other == ROOT else name(other)}"
    if how.startswith(("missed", "hung")):
        return f"{who} {how}"
    return f"{who} ended ({how})" if how.startswith("exit") else f"{who} crashed ({how})"


def _and(names: Iterable[str]) -> str:
    """Names as a part of a sentence: `a, b and c`."""
    shown = in_ranges(sorted(names, key=natural))
    shown = [*shown[:_NAMED], f"{len(shown) - _NAMED} others"] if len(shown) > _NAMED else shown
    return " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))


def chapter_lines(
    chapter: Chapter, report: Report, faults: Sequence[FaultSeen], *, at_once: bool = False
) -> list[str]:
    """All about one cleanup. report: of the events so far. at_once: nobody could acknowledge yet
    what he was told.
    """
    checked = _checked(chapter.number, report)
    fatal = (each for each in reversed(faults) if each.fatal and each.pd == chapter.trigger)
    return _long(chapter, report.names, checked, next(fatal, None), at_once)


def heading_of(chapter: Chapter, names: Mapping[str, str]) -> str:
    """The first line about a cleanup."""
    if chapter.trigger != "-":
        return (
            f"Crash {chapter.number}: {name_of(chapter.trigger, names)}: {_how(chapter.how, names)}"
        )
    if chapter.how == "stop":
        return f"The end, cleanup {chapter.number}: all PDs"
    if chapter.how == "reconcile":
        return f"The start, cleanup {chapter.number}: what is not named of a saved state"
    return f"Collection, cleanup {chapter.number}: what cannot be reached"


def _long(
    chapter: Chapter,
    names: Mapping[str, str],
    checked: Cleanup | None,
    fault: FaultSeen | None,
    at_once: bool,
) -> list[str]:
    plan: Mapping[str, Any] = {} if checked is None else checked.plan
    why = plan.get("doomed_why", {})
    broken: dict[str, list[str]] = {}
    for pd, held, gone in () if checked is None else checked.broken:
        text = f"{name_of(held, names)}, built on {name_of(gone, names)}"
        broken.setdefault(pd, []).append(text)

    def reason(node: str) -> str:
        kind, cause = why.get(node, ("", None))
        if kind == "unnamed" and chapter.how == "stop":
            return "the system ends"
        return _WHY.get(kind, "").format(name_of(cause, names) if cause else "")

    doomed = [
        (pd, f", depth {depth}: {reason(pd)}")
        for pd, depth in sorted(plan.get("destroyed_pds", ()), key=lambda each: each[1])
    ]
    doomed += [(space, f": {reason(space)}") for space in plan.get("deleted_spaces", ())]
    lost: dict[str, list[str]] = {}
    for pd, space in plan.get("removed_requests", ()):
        lost.setdefault(pd, []).append(f"its request to {name_of(space, names)}")
    for pd, resource in plan.get("revoked", ()):
        lost.setdefault(pd, []).append(resource)
    for pd, space in plan.get("revoked_spaces", ()):
        lost.setdefault(pd, []).append(name_of(space, names))
    for pd, resource in plan.get("revoked_bodies", ()):
        lost.setdefault(pd, []).append(f"{resource} (a dead PD's body)")
    asked = plan.get("pre_destroy", ())
    before = folded(((pd, f": {name_of(node, names)} is about to go") for pd, node in asked), names)
    if before:
        before.append(f"{chapter.answered} of {len(asked)} answered")
    notices = plan.get("notices", ())
    told = folded(
        ((to, f": {_notice(kind, node, dead, names)}") for to, kind, node, dead in notices), names
    )
    if told and not at_once:
        done, failed = chapter.finished["ok"], chapter.finished["failed"]
        told.append(
            f"{done} of {counted(len(notices), 'notice')} acknowledged"
            f"{f', {failed} failed' if failed else ''}"
        )
    pd_depth, rs_depth = chapter.depths
    lines = [
        heading_of(chapter, names),
        *fault_lines(fault),
        *_section("depths", [f"PDs {pd_depth}, spaces {rs_depth}"]),
    ]
    lines += _section("doomed", folded(doomed, names))
    lines += _section("before", before)
    stopped = ((pd, f": {_how(how, names)}") for pd, how in chapter.meanwhile.items())
    lines += _section("meanwhile", folded(stopped, names))
    loses = ((pd, f": {_list(what)}") for pd, what in lost.items())
    lines += _section("lost", folded(loses, names))
    keeps = ((pd, f" keeps {_list(what, '; ')}") for pd, what in broken.items())
    lines += _section("broken", folded(keeps, names))
    lines += _section("memory", folded(_memory(checked, names), names))
    lines += _section("told", told)
    ends = _list([name_of(pd, names) for pd in chapter.ends])
    lines += _section("last", [f"{ends}: destructors"] if ends else [])
    lines += _section("order", [_order(chapter, checked, names)])
    lines += _section("failed", list(_deaths(chapter, names)))
    lines += _section("freed", [_freed(chapter, checked)])
    back = [f"{printable(names[pd])} as {anew}" for pd, anew in chapter.back.items()]
    some = back if len(back) <= _NAMED else [many_of(list(chapter.back), names)]
    lines += _section("back", [", ".join(some)] if back else [])
    lines += _section("left", list(_left(chapter, checked, names)))
    return lines + _section("then said", _said(chapter.says, names))


def _said(says: Sequence[tuple[str, str]], names: Mapping[str, str]) -> list[str]:
    """What PDs printed, in order. Where that is too much, equal lines are one."""
    rows = [(pd, f": {printable(text)}") for pd, text in says]
    lines = in_order(rows, names)
    if len(lines) > _MAX_SAYS:
        lines = [*folded(rows, names)[:_MAX_SAYS], "... and more: `cellreap show --said`"]
    return lines


def _first_said(story: Story) -> list[tuple[str, str]]:
    """What PDs printed before the first cleanup, as far as a summary shows it."""
    first = itertools.takewhile(lambda each: each[2] == 0, story.said)
    return [(pd, text) for pd, text, _ in itertools.islice(first, MAX_SAYS)]


def _unmade(story: Story, names: Mapping[str, str]) -> Iterator[str]:
    """What could not be made, and the kind of step that failed."""
    told = []
    for (what, name, kind), count in story.unmade.items():
        often = f" ({count} times)" if count > 1 else ""
        told.append(f"  {what} {name_of(name, names)}{often}: at the step {kind}")
    yield from first_of(told)


def said_lines(reading: Reading) -> list[str]:
    """What PDs printed in the whole run, a line each, with a line where each cleanup began."""
    names, story = reading.report.names, reading.story
    lines = []
    chapters = iter(story.chapters)
    begun = 0
    for pd, text, after in story.said:
        while begun < after:
            chapter = next(chapters)
            begun = chapter.number
            lines.append(f"-- {heading_of(chapter, names)}")
        lines.append(f"{name_of(pd, names)}: {printable(text)}")
    return lines + [f"-- {heading_of(chapter, names)}" for chapter in chapters]


def memory_lines(number: int, report: Report) -> list[str]:
    """What a cleanup took of memory, and from whom, and what survivors keep."""
    names = report.names
    return folded(_memory(_checked(number, report), names), names)


def _memory(checked: Cleanup | None, names: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for word, pd, size, others in () if checked is None else checked.memory:
        of = [name_of(other, names) for other in others]
        if word == "freed":
            yield pd, f"{f' and {_and(of)}' if of else ''}: {size_told(size)} that nobody else has"
        else:
            later = ", once it has acknowledged that" if word == "loses" else ""
            yield pd, f" {word} {size_told(size)} of {_and(of)}{later}"


def _deaths(chapter: Chapter, names: Mapping[str, str]) -> Iterator[str]:
    """The steps at which cleaners died: run, number, what they were for, and what follows."""
    run = ""
    for event in chapter.of("RECOVER", "TAKEOVER"):
        if event.name == "RECOVER":
            run = f"run {event['run']} over what was left, "
            continue
        about = [name_of(event[field], names) for field in ("node", "pd") if event[field] != "-"]
        step = f"step {event['number']} of {chapter.steps}, {' '.join((event['step'], *about))}"
        after = "left for later" if event["left"] == "1" else "repeated"
        yield f"{run}{step}, attempt {event['attempts']}: {event['death']}; {after}"


def fault_lines(fault: FaultSeen | None) -> list[str]:
    """Where a fault happened, and the registers. Empty without a fault."""
    if fault is None:
        return []
    lines = _section("where", [printable(each, 200) for each in fault.told()])
    return lines + _section("registers", fault.registers_told())


def _alive(pds: Sequence[str], names: Mapping[str, str]) -> str:
    others = [pd for pd in pds if pd != ROOT]
    if len(others) > _ALIVE:
        return many_of(others, names)
    return ", ".join(name_of(pd, names) for pd in others) or "nobody but the root task"


def _silence(silence: Silence, names: Mapping[str, str]) -> list[str]:
    """What each PD did when the trace broke off, as far as anybody knows."""
    pds = [(each.pd, each.told(lambda node: name_of(node, names))) for each in silence.pds]
    return [
        f"{silence.heading()}{':' if pds else '.'}",
        *(f"  {line}" for line in folded(pds, names)),
    ]


def waits_told(report: Report) -> list[str]:
    """Who waits for whom at the end of the run. Empty if nobody does."""
    names = report.names
    pds = [(each.pd, each.told(lambda node: name_of(node, names))) for each in report.waits]
    heading = ["Waiting at the end, and for whom:"] if pds else []
    return [*heading, *(f"  {line}" for line in folded(pds, names))]


def _asked(report: Report, names: Mapping[str, str], files: Mapping[int, str]) -> list[str]:
    """Missed deadlines, failed notices, the results of tickets, and extractions."""
    lines = []
    for fault in report.faults:
        if fault.handler is not None and not fault.fatal:
            handler = name_of(fault.handler, names)
            what = f"faulted and went on, as {handler} answered: {fault.what}"
            lines.append(f"{name_of(fault.pd, names)} {what}, {fault.where}")
    for late in report.late:
        what = f"missed its deadline of {late.deadline} ms for notice {late.token}"
        lines.append(f"{name_of(late.pd, names)} {what} ({late.kind} {late.node})")
    for hung in report.hung:
        how = hung.told(lambda pd: name_of(pd, names))
        lines.append(f"{name_of(hung.pd, names)} hung: {how}")
    for failure in report.failures:
        what = f"failed to deal with notice {failure.token} ({failure.kind} {failure.node})"
        behind = f"{counted(failure.waiting, 'notice')} behind it"
        after = "resumed later" if failure.resumed else behind
        lines.append(f"{name_of(failure.pd, names)} {what}: {after}")
    told = itertools.groupby(report.tickets, lambda ticket: _ticket(ticket, names))
    lines += first_of([f"{_numbers(list(group))} of {text}" for text, group in told])
    for extraction in report.extractions:
        if extraction.done:
            where = f", {files[extraction.number]}" if extraction.number in files else ""
            about = f"{len(extraction.rows)} rows{where}"
            lines.append(f"Model state for {name_of(extraction.by, names)}: {about}")
    return lines


def _ticket(ticket: Ticket, names: Mapping[str, str]) -> str:
    what = f"the end of {name_of(ticket.what, names)}" if ticket.what else ""
    done = f"{ticket.done} done, {ticket.failed} failed, {ticket.dropped} dropped"
    done += f", {ticket.waiting} waiting"
    state = f"{ticket.state}, {done}" if ticket.state else "never told"
    return f"{name_of(ticket.pd, names)} for {what or 'an extraction or a collection'}: {state}"


def _numbers(tickets: Sequence[Ticket]) -> str:
    first, last = tickets[0].ticket, tickets[-1].ticket
    return f"Ticket {first}" if first == last else f"Tickets {first} to {last}"


def _table(chapters: list[Chapter], report: Report, faults: Mapping[str, FaultSeen]) -> list[str]:
    """A few lines for each crash. Crashes in a row with the same result are shown once."""
    lines: list[str] = []

    def short(chapter: Chapter) -> tuple[str, ...]:
        return _short(chapter, report, faults.get(chapter.trigger))

    for text, group in itertools.groupby(chapters, short):
        first, *more = group
        one, many = ("Cleanup", "Cleanups") if first.trigger == "-" else ("Crash", "Crashes")
        which = f"{many} {first.number} to {more[-1].number}, each" if more else ""
        which = which or f"{one} {first.number}"
        lines += [f"{which}: {text[0]}", *(f"  {line}" for line in text[1:])]
    return lines


def _checked(number: int, report: Report) -> Cleanup | None:
    """What the check found of a cleanup."""
    return report.cleanups[number - 1] if number <= len(report.cleanups) else None


def _short(chapter: Chapter, report: Report, fault: FaultSeen | None) -> tuple[str, ...]:
    """Text without ids, which differ between crashes that are otherwise the same."""

    def name(node: str) -> str:
        return printable(report.names.get(node, node))

    checked = _checked(chapter.number, report)
    plan: Mapping[str, Any] = {} if checked is None else checked.plan
    others = [name(pd) for pd, _ in plan.get("destroyed_pds", ()) if pd != chapter.trigger]
    along = f"took along {_list(others)}" if others else "took nobody along"
    notices, spaces = len(plan.get("notices", ())), len(plan.get("deleted_spaces", ()))
    said, by, who = chapter.how.rpartition(" by ")
    how = f"{said}{by}{name(who)}" if by else chapter.how
    what = _went(chapter, name) if chapter.trigger == "-" else f"{name(chapter.trigger)}: {how}"
    where = [printable(each, 200) for each in fault.told()] if fault is not None else []
    numbers = f"{counted(spaces, 'space')} gone, {counted(notices, 'notice')}"
    return what, *where, along, numbers, _freed(chapter, checked)


def _how(how: str, names: Mapping[str, str]) -> str:
    said, by, who = how.rpartition(" by ")
    return f"{said}{by}{name_of(who, names)}" if by else how


def _order(chapter: Chapter, checked: Cleanup | None, names: Mapping[str, str]) -> str:
    """The destroyed nodes in order. Resources are not listed apart from their spaces."""
    gone = [node for node in (checked.destroyed if checked else ()) if kind_of(node) != "RESOURCE"]
    return ", then ".join(in_ranges([printable(names.get(node, node)) for node in gone]))


def _left(chapter: Chapter, checked: Cleanup | None, names: Mapping[str, str]) -> Iterator[str]:
    """What the cleanup left, and what became of it."""
    lefts = checked.lefts if checked is not None else []
    for at, run in enumerate((None, *chapter.of("RECOVER"))):
        if run is not None:
            yield f"run {run['run']} over what was left:"
        for name, node, pd in lefts[at] if at < len(lefts) else ():
            yield {
                "suspend": f"{name_of(pd, names)} is not stopped, and may run on",
                "cut-request": f"{name_of(pd, names)} has its request to {name_of(node, names)}",
                "notify": f"{name_of(pd, names)} is not told about {name_of(node, names)}",
            }.get(name, f"{name_of(node, names)} is not destroyed")
        if run is not None and at < len(lefts) and not lefts[at]:
            yield "all of it is done"
    if checked is not None and checked.left and checked.for_good:
        yield "no later run comes: as many cleanups as can have one left something before"
    elif checked is not None and checked.left:
        yield f"a later run would do {counted(len(checked.left), 'step')}"


def _freed(chapter: Chapter, checked: Cleanup | None) -> str:
    total, slots = (0, 0) if checked is None else checked.freed
    calls = sum(event.number("calls") for event in chapter.of("SETTLED"))
    return f"{size_told(total)} and {counted(slots, 'slot')} back, {counted(calls, 'kernel call')}"


def _notice(kind: str, node: str, dead: str | None, names: Mapping[str, str]) -> str:
    shown, who = name_of(node, names), name_of(dead or "-", names)
    return {
        "free": f"{node} is free, {who} held it",
        "destroy": f"its {shown} is gone",
        "disconnect": f"{who} is no longer a client of {shown}",
        "lost": f"lost {shown}",
    }[kind]


def _section(label: str, lines: list[str]) -> list[str]:
    """Lines with the label in front of the first. Empty if there are no lines."""
    return [
        f"  {'' if number else label:<{_LABEL}} {line}".rstrip()
        for number, line in enumerate(lines)
    ]


def _list(items: list[str], between: str = ", ") -> str:
    return between.join(items[:6]) + (f" and {len(items) - 6} more" if len(items) > 6 else "")
