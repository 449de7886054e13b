# SPDX-License-Identifier: BSD-2-Clause
"""A generated run with a listener: PDs go, cleaners die, and something cannot be made."""

from __future__ import annotations

from cellreap import headers
from cellreap.trace.writer import Draft
from kit.answering import answer, numbers
from kit.simulated_runs import block_fs_db_app
from kit.trace_simulator import RIGHTS, Target

REPORTS = headers.printed_names("protocol.h", "CR_REPORT")
STEPS = headers.names_of("steps.h", "cr_step_kind", "CR_STEP_")
MAKES = headers.printed_names("make_steps.h", "CR_MAKE_STEP")
MADE = headers.printed_names("make_steps.h", "CR_MADE")
FAILED = headers.constant("protocol.h", "CR_RESULT_FAILED")


def reports(drafts: list[Draft]) -> list[dict[str, object]]:
    """The reports of a trace, the first one first."""
    told: list[dict[str, object]] = []
    begun: dict[object, dict[str, object]] = {}
    last = 0
    for at, (event, values) in enumerate(drafts):
        n = values.get("n", 0)
        nothing = {"about": "-", "name": "-", "node": "-", "attempts": 0, "result": 0}
        if event == "CLEANUP":
            begun[n] = {**nothing, "n": n, "about": values["trigger"], "steps": values["steps"]}
            told.append({**begun[n], "what": "starting", "step": 0})
        elif event == "SETTLED" and n != 0:
            done = sum(name == "STEP" and each["n"] == n for name, each in drafts)
            run = [draft for draft in drafts[last:at] if draft[1].get("n") == n]
            tries = [(e["step"], e["node"], e["pd"]) for _, e in run if e.get("left")]
            again = any(name == "RECOVER" for name, _ in run)  # there is no second try then
            left = tries and (again or len(tries) > len(set(tries)))
            end = {"what": "unfinished", "result": FAILED} if left else {"what": "completed"}
            told.append({**begun[n], **end, "step": done})
            last = at
        elif event == "TAKEOVER":
            what = "left" if values["left"] else "errored"
            failed = {"about": values["pd"], "step": values["number"], "result": FAILED}
            same = {"name": values["step"], "node": values["node"], "attempts": values["attempts"]}
            told.append({**begun[n], "what": what, **failed, **same})
        elif event == "MAKE_FAILED":
            failed = {"step": values["step"], "name": values["kind"], "result": values["status"]}
            failed["node"] = values["what"]
            told.append({**nothing, "what": "unmade", "n": 0, "steps": 0, **failed})
    return told


def words(number: int, report: dict[str, object]) -> list[int]:
    """What a listener is told."""
    space, object_, _ = numbers(report["node"])
    if report["what"] == "unmade":
        object_ = MADE[str(report["node"])]
    rest = [int(str(report[field])) for field in ("step", "steps")]
    end = [int(str(report[field])) for field in ("attempts", "result")]
    step = {**STEPS, **MAKES, "-": 0}[str(report["name"])]
    about = numbers(report["about"])[2]
    first = [number, REPORTS[str(report["what"])], int(str(report["n"])), about]
    return [*first, *rest, step, space, object_, *end]


def listen(target: Target, pd: str, seen: int = 0) -> int:
    """The PD fetches all reports after that one. Returns the number of the last."""
    for number, report in enumerate(reports(target.events)[seen:], seen + 1):
        target.events.append(answer(pd, "listen", words(number, report), 0, number - 1))
    return len(reports(target.events))


def reports_run() -> list[Draft]:
    """A listener fetches its reports twice."""
    target = Target(0, 0, "reports", injections=((4, "hang"), (5, "error:always")))
    pds = block_fs_db_app(target)
    listener = target.pd("listener", rights=RIGHTS)
    target.quiet()
    target.unmade("space", "goods", 2, "edge")
    target.fault(pds["block_server_1"])
    target.cleanup()
    seen = listen(target, listener)
    target.serve_all()
    target.exit(pds["app"])
    target.cleanup()
    target.serve_all()
    listen(target, listener, seen)
    return target.end()
