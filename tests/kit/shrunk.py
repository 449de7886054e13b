# SPDX-License-Identifier: BSD-2-Clause
"""Random systems that failed are made smaller."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator

from kit.chaos import Table
from kit.disturbed import LISTS, NAMED, NAMES, OF_A_PD, is_valid
from kit.random_devices import without_their_device


def _without_name(table: Table, name: str) -> Table:
    """The system without a PD, and without all that names the PD or its spaces."""
    made = copy.deepcopy(table)
    gone = next(pd for pd in made["pd"] if pd["name"] == name)
    spaces = {space["name"] for space in gone.get("space", [])}
    made["pd"] = [pd for pd in made["pd"] if pd is not gone]
    for pd in made["pd"]:
        for key in NAMES:
            if pd.get(key) == name:
                del pd[key]
        for key in NAMED:
            if key in pd:
                pd[key] = [each for each in pd[key] if each != name and each not in spaces]
    made["link"] = [link for link in made.get("link", []) if name not in link["between"]]
    for kind in OF_A_PD:
        made[kind] = [each for each in made.get(kind, []) if each["pd"] != name]
    for region in made.get("region", []):
        region["map"] = [each for each in region["map"] if each["pd"] != name]
    regions = [region for region in made.get("region", []) if region["map"]]
    made["region"] = without_their_device(regions)
    made["channel"] = [
        each for each in made.get("channel", []) if name not in [end["pd"] for end in each["end"]]
    ]
    made["crash"] = [
        crash for crash in made.get("crash", []) if name not in (crash["pd"], crash.get("by"))
    ]
    if gone.get("abi"):
        made["program"] = [each for each in made["program"] if each["name"] != gone["program"]]
        for pd in made["pd"]:
            if pd["name"] in gone.get("holds_pds", []):
                pd.pop("child_id", None)
    return made


def smaller(table: Table) -> Iterator[Table]:
    """Systems with less in them, those that lack most first. Not all are valid."""
    for pd in table["pd"]:
        yield _without_name(table, pd["name"])
    for key in ("crash", *LISTS):
        for place in range(len(table.get(key, []))):
            made = copy.deepcopy(table)
            del made[key][place]
            yield made
    for place in range(len(table["bench"].get("inject", []))):
        made = copy.deepcopy(table)
        del made["bench"]["inject"][place]
        yield made
    for place, pd in enumerate(table["pd"]):
        for key in sorted(pd.keys() - {"name", "program"}):
            values = pd[key] if isinstance(pd[key], list) and key != "args" else []
            made = copy.deepcopy(table)
            del made["pd"][place][key]
            yield made
            for number in range(len(values) if len(values) > 1 else 0):
                made = copy.deepcopy(table)
                del made["pd"][place][key][number]
                yield made
        if pd["program"] == "fuzzer" and "args" in pd and pd["args"][1] > 1:
            made = copy.deepcopy(table)
            made["pd"][place]["args"][1] //= 2
            yield made
    for key in ("system", "policy"):
        for name in sorted(table.get(key, {}).keys() - {"name", "allow_cycles"}):
            made = copy.deepcopy(table)
            del made[key][name]
            yield made


def shrunk(
    table: Table, fails: Callable[[Table], bool], tries: int, told: Callable[[Table], None]
) -> Table:
    """The smallest system found that still fails, with so many runs at most.

    told: is given each smaller system that fails.
    """
    again = True
    while again:
        again, at, candidates = False, 0, list(smaller(table))
        while at < len(candidates):
            if not is_valid(candidates[at]):
                at += 1
                continue
            if tries == 0:
                return table
            tries -= 1
            if fails(candidates[at]):
                # What comes next in the smaller system is at the same place.
                table, again = candidates[at], True
                candidates = list(smaller(table))
                told(table)
            else:
                at += 1
    return table
