# SPDX-License-Identifier: BSD-2-Clause
"""All that is known of a run, as one object for --json: the report, and what the story tells."""

from __future__ import annotations

from typing import Any

from cellreap.trace.reading import Reading
from cellreap.trace.report import Cleanup, report_json
from cellreap.trace.story import Chapter


def reading_json(reading: Reading) -> dict[str, Any]:
    """The keys of `cellreap.output.Report`."""
    report, story = reading.report, reading.story
    shown = report_json(report)
    chapters = {chapter.number: chapter for chapter in story.chapters}
    cleanups = []
    for cleanup, plain in zip(report.cleanups, shown["cleanups"], strict=True):
        silent = Chapter(cleanup.number, cleanup.trigger, cleanup.cause, ("", ""), 0)
        cleanups.append({**plain, **_cleanup(chapters.get(cleanup.number, silent), cleanup)})
    alive = report.alive()
    return {
        **shown,
        "alive": alive,
        "dead": [pd for pd in report.pds() if pd not in alive],
        "exits": dict(sorted(reading.outcome.exits.items())),
        "said": [{"pd": pd, "text": text, "after": after} for pd, text, after in story.said],
        "in_use": None if story.in_use is None else _amount(*story.in_use),
        "events": report.events,
        "cleanups": cleanups,
    }


def _cleanup(chapter: Chapter, checked: Cleanup) -> dict[str, Any]:
    settled = chapter.of("SETTLED")
    end = settled[-1] if settled else None
    return {
        "number": chapter.number,
        "how": chapter.how,
        "order": checked.destroyed,
        "freed": _amount(*checked.freed),
        "in_use": None if end is None else _amount(end.number("bytes"), end.number("slots")),
        "cycles": sum(event.number("cycles") for event in settled),
        "acknowledged": {
            "owed": len(checked.plan["notices"]),
            "ok": chapter.finished["ok"],
            "failed": chapter.finished["failed"],
        },
        "before": {"owed": len(checked.plan["pre_destroy"]), "answered": chapter.answered},
    }


def _amount(size: int, slots: int) -> dict[str, int]:
    return {"bytes": size, "slots": slots}
