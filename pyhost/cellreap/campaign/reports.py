# SPDX-License-Identifier: BSD-2-Clause
"""The results of a campaign: as lines, TAP, JUnit, and for --json."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final
from xml.etree import ElementTree

from cellreap.campaign.effort import Effort
from cellreap.campaign.matrix import Cell
from cellreap.campaign.running import CellTasks, Result

VERDICTS: Final = ("pass", "flaky", "not as expected", "no end", "fail", "error")
"""Those of a trace (`cellreap.trace.report.Verdict`), and those of a cell."""
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd]")


def table(results: Sequence[Result], not_run: Sequence[Cell] = ()) -> list[str]:
    """A line for each cell that did not simply pass, with its findings, and the sums."""
    lines = []
    for result in results:
        if result.verdict == "pass":
            continue
        boots = f" ({result.boots} boots)" if result.boots > 1 else ""
        lines.append(f"{result.verdict}: {result.cell.title}{boots}")
        lines += [f"       {told}" for told in _told(result)]
    lines += [f"not run: {cell.title} (a job of its board failed)" for cell in not_run]
    lines.append(f"{len(results)} cells: {sums(results)}")
    return lines


def sums(results: Sequence[Result]) -> str:
    """How many cells have each verdict."""
    counted = Counter(result.verdict for result in results)
    return ", ".join(f"{counted[verdict]} {verdict}" for verdict in VERDICTS if counted[verdict])


def _told(result: Result) -> list[str]:
    """Why a cell did not pass, and what its check could not verify."""
    return [*result.findings, *(f"not verified: {what}" for what in result.unverified)]


def tap(results: Sequence[Result]) -> str:
    """The Test Anything Protocol, version 13."""
    lines = ["TAP version 13", f"1..{len(results)}"]
    for number, result in enumerate(results, 1):
        word = "ok" if result.passed else "not ok"
        note = "" if result.verdict in ("pass", "fail") else f" ({result.verdict})"
        title = result.cell.title.replace("#", "\\#")
        lines.append(f"{word} {number} - {title}{note}")
        lines += [f"# {told}" for told in _told(result)]
    return "\n".join(lines) + "\n"


def junit(name: str, results: Sequence[Result]) -> str:
    """JUnit's XML. A cell that could not be built or booted is an error, not a failure."""
    errors = sum(result.verdict == "error" for result in results)
    failures = sum(not result.passed for result in results) - errors
    suite = ElementTree.Element(
        "testsuite",
        name=name,
        tests=str(len(results)),
        failures=str(failures),
        errors=str(errors),
        time=f"{sum(result.seconds for result in results):.3f}",
    )
    for result in results:
        case = ElementTree.SubElement(
            suite,
            "testcase",
            classname=name,
            name=result.cell.title,
            time=f"{result.seconds:.3f}",
        )
        if not result.passed:
            kind = "error" if result.verdict == "error" else "failure"
            said = _NOT_IN_XML.sub("?", "\n".join(_told(result)))
            ElementTree.SubElement(
                case, kind, type=result.verdict, message=said.split("\n")[0]
            ).text = said
        elif result.verdict == "flaky":
            ElementTree.SubElement(case, "system-out").text = f"flaky: {result.boots} boots"
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def shown(
    name: str, folder: str, results: Sequence[Result], not_run: Sequence[Cell] = ()
) -> dict[str, Any]:
    """The keys of `cellreap campaign --json`."""
    return {
        "campaign": name,
        "folder": folder,
        "verdict": "pass" if all(it.passed for it in results) and not not_run else "fail",
        "not_run": [cell.title for cell in not_run],
        "cells": [
            {
                "id": result.cell.id,
                "title": result.cell.title,
                "values": result.cell.values,
                "verdict": result.verdict,
                "findings": list(result.findings),
                "unverified": list(result.unverified),
                "kernel": result.kernel or None,
                "boots": result.boots,
                "seconds": result.seconds,
                "events": result.events,
            }
            for result in results
        ],
    }


def tasks_table(found: Sequence[CellTasks]) -> list[str]:
    """A line for each cell and each of its tasks."""
    lines = []
    for each in found:
        verdict = "no result yet" if each.result is None else each.result.verdict
        told = "made from something else: is run anew" if each.outdated else verdict
        lines.append(f"{each.cell.title}: {told}")
        for task in each.tasks:
            why = f"  {task.failure}" if task.failure else ""
            boots = f" ({each.boots} boots)" if task.name == "boot" and each.boots > 1 else ""
            lines.append(f"  {task.name:9} {task.state}{boots}{why}")
    return lines


def shown_tasks(found: Sequence[CellTasks]) -> list[dict[str, Any]]:
    """`tasks` of `cellreap campaign --tasks --json`."""
    return [
        {
            "id": each.cell.id,
            "title": each.cell.title,
            "verdict": None if each.result is None else each.result.verdict,
            "outdated": each.outdated,
            "boots": each.boots,
            "tasks": [
                {"task": task.name, "state": task.state, "failure": task.failure}
                for task in each.tasks
            ],
        }
        for each in found
    ]


def busy(effort: Effort) -> str:
    """How busy the machine was with a campaign, in words."""
    noun = "core" if effort.cores == 1 else "cores"
    return f"{effort.cores} {noun} {effort.busy:.0%} busy with it"


def shown_effort(effort: Effort) -> dict[str, Any]:
    """`effort` of `cellreap campaign --json`."""
    return {
        "seconds": round(effort.seconds, 3),
        "processor_seconds": round(effort.processor_seconds, 3),
        "cores": effort.cores,
    }
