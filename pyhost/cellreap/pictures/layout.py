# SPDX-License-Identifier: BSD-2-Clause
"""Where the nodes and edges of a run are in its picture. Graphviz places them, once for the run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from cellreap.pictures.dot import dot
from cellreap.pictures.drawing import Drawing
from cellreap.pictures.graphviz import render

Box = tuple[int, int, int, int]
"""x and y of the left upper corner, width and height, in points."""


@dataclass
class Layout:
    """The places in a picture of this size. curves: edge -> the points of a Bezier curve, as x and
    y by turns, from its source to its target. labels: edge -> the middle of what it says.
    """

    width: int
    height: int
    nodes: dict[str, Box] = field(default_factory=dict)
    clusters: dict[str, Box] = field(default_factory=dict)
    curves: dict[tuple[str, str, str], list[int]] = field(default_factory=dict)
    labels: dict[tuple[str, str, str], list[int]] = field(default_factory=dict)


def place(drawing: Drawing) -> Layout:
    """Places a drawing. CellreapError if Graphviz is missing or gives up."""
    if not drawing.nodes:
        return Layout(10, 10)
    found = json.loads(render(dot([drawing], legend=False), "json"))
    left, low, right, high = _numbers(found["bb"])
    layout = Layout(round(right - left), round(high - low))

    def box(x: float, y: float, width: float, height: float) -> Box:
        return round(x - left), round(high - y), round(width), round(height)

    for each in found.get("objects", ()):
        name = str(each["name"])
        if "pos" in each:
            x, y = _numbers(each["pos"])
            width, height = float(each["width"]) * 72, float(each["height"]) * 72
            layout.nodes[name] = box(x - width / 2, y + height / 2, width, height)
        elif name.startswith("cluster_") and "bb" in each:
            x0, y0, x1, y1 = _numbers(each["bb"])
            layout.clusters[name.removeprefix("cluster_")] = box(x0, y1, x1 - x0, y1 - y0)
    # Graphviz lists the edges in an order of its own, with the places of theirs in our text.
    for each in found.get("edges", ()):
        if "id" not in each:  # between those that have no edge
            continue
        key = drawing.edges[int(str(each["id"]).removeprefix("e"))]
        places = {"pos": layout.curves, "lp": layout.labels}
        for name, found_at in places.items():
            points = _curve(str(each.get(name, "")))
            found_at[key.kind, key.source, key.target] = [
                round(value - left) if at % 2 == 0 else round(high - value)
                for at, value in enumerate(points)
            ]
    for space in drawing.spaces():
        if space.id not in layout.clusters:
            layout.clusters[space.id] = _around(drawing, space.id, layout.nodes)
    return layout


def _numbers(text: str) -> list[float]:
    return [float(each) for each in text.split(",")]


def _curve(pos: str) -> list[float]:
    """The points of an edge. Its arrow head begins where the curve ends; it goes on to its tip."""
    points: list[float] = []
    tip: list[float] = []
    for part in pos.split():
        if part.startswith("e,"):
            tip = _numbers(part[2:])
        elif not part.startswith("s,"):
            points += _numbers(part)
    if tip and len(points) >= 2:
        points[-2:] = tip
    return points


def _around(drawing: Drawing, space: str, nodes: Mapping[str, Box]) -> Box:
    """A box around what is in a space, where Graphviz places without clusters."""
    inside = [nodes[node.id] for node in drawing.nodes if node.space == space and node.id in nodes]
    left, top = min(box[0] for box in inside) - 6, min(box[1] for box in inside) - 6
    right = max(box[0] + box[2] for box in inside) + 6
    low = max(box[1] + box[3] for box in inside) + 6
    return left, top, right - left, low - top
