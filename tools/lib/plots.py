# SPDX-License-Identifier: BSD-2-Clause
"""Draws what tools/bench measured, as SVG files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from on_target import PHASES

# No date and no random ids: the same figures make the same file.
mpl.rcParams["svg.hashsalt"] = "cellreap"
_METADATA = {"Date": None}


def draw(shown: Mapping[str, Any], folder: Path) -> list[Path]:
    """Writes a file for planning and one for each kernel to `folder`. Returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    made = [_planning(shown["yardsticks"], folder)]
    for arch, rows in shown["cleanups"].items():
        made.append(_cleanups(rows, folder / f"cleanups-{arch}.svg"))
    return made


def _save(figure: Figure, path: Path) -> Path:
    figure.savefig(path, metadata=_METADATA)
    return path


def _planning(rows: Sequence[Mapping[str, Any]], folder: Path) -> Path:
    """Times against what is not affected, and against what is."""
    figure = Figure(figsize=(11, 4.5), layout="constrained")
    constant = _most_common([row["affected"] for row in rows])
    beside = _most_common([row["unaffected"] for row in rows if row["affected"] != constant])
    for place, (key, kept) in enumerate(
        (
            ("unaffected", [row for row in rows if row["affected"] == constant]),
            ("doomed", [row for row in rows if row["unaffected"] == beside]),
        )
    ):
        axes = figure.add_subplot(1, 2, place + 1)
        points = sorted(kept, key=lambda row: row[key])
        for name, label in (
            ("plan", "plan"),
            ("bare", "bare search"),
            ("scan", "all PDs scanned"),
            ("networkx", "networkx, search"),
            ("networkx_plan", "networkx, plan"),
        ):
            known = [(row[key], row[name]) for row in points if row[name] is not None]
            if known:
                axes.plot(*zip(*known, strict=True), marker="o", label=label)
        axes.set_xscale("symlog", linthresh=10)
        axes.set_yscale("log")
        axes.set_ylabel("microseconds")
        axes.set_xlabel("servers that are not affected" if place == 0 else "doomed nodes")
        axes.grid(visible=True, alpha=0.3)
        axes.legend()
    figure.suptitle("A plan and searches for what it dooms")
    return _save(figure, folder / "planning.svg")


def _most_common(values: Sequence[int]) -> int:
    return max(set(values), key=values.count)


def _cleanups(rows: Sequence[Mapping[str, Any]], path: Path) -> Path:
    """The instructions of each cleanup by phase, one panel for each that is measured."""
    panels = list(dict.fromkeys(row["what"] for row in rows))
    figure = Figure(figsize=(4.2 * len(panels), 4.8), layout="constrained")
    for place, what in enumerate(panels):
        axes = figure.add_subplot(1, len(panels), place + 1)
        kept = [row for row in rows if row["what"] == what]
        names = [row["many"] for row in kept]
        base = [0.0] * len(kept)
        for phase in PHASES:
            height = [row["instructions"][phase] / 1000 for row in kept]
            axes.bar(names, height, bottom=base, label=phase)
            base = [low + more for low, more in zip(base, height, strict=True)]
        axes.set_title(what, fontsize=9)
        axes.tick_params(axis="x", labelrotation=45)
        axes.grid(visible=True, axis="y", alpha=0.3)
        if place == 0:
            axes.set_ylabel("thousand instructions")
            axes.legend(fontsize=8)
    figure.suptitle(f"From a fault until the last survivor has its notice, {rows[0]['kernel']}")
    return _save(figure, path)
