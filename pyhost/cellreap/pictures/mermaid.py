# SPDX-License-Identifier: BSD-2-Clause
"""Writes drawings as Mermaid flowcharts, which many viewers of Markdown draw."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from cellreap.pictures.dot import DEPTH_FILLS, DOOMED_INK, EDGE_STYLES, INK
from cellreap.pictures.drawing import KINDS, Drawing, DrawnEdge, DrawnNode

_ARROWS: Final = {
    "MANAGE": "==>",
    "REQUEST": "-->",
    "HOLD": "-.->",
    "MAP": "-->",
    "FAULT": "-.->",
    "LINK": "---",
    "OWN": "--o",
    "SUBSCRIBE": "-.->",
}


def mermaid(drawings: Sequence[Drawing]) -> str:
    """The drawings as one flowchart."""
    lines = ["flowchart LR"]
    styles: list[str] = []
    count = 0
    for number, drawing in enumerate(drawings):
        prefix = f"g{number}"
        keys = {node.id: f"{prefix}n{at}" for at, node in enumerate(drawing.nodes)}
        several = len(drawings) > 1
        if several:
            lines.append(f"  subgraph {prefix}[{text(drawing.title)}]")
        lines += [f"  {'  ' if several else ''}{line}" for line in _nodes(drawing, keys)]
        if several:
            lines.append("  end")
        for edge in drawing.edges:
            lines.append(f"  {_edge(edge, keys)}")
            styles.append(f"  linkStyle {count} {_line(edge)}")
            count += 1
    for depth, fill in enumerate(DEPTH_FILLS):
        doomed = f"fill:{fill},stroke:{DOOMED_INK},color:{INK},stroke-dasharray:4"
        styles.append(f"  classDef depth{depth} {doomed}")
    styles.append(f"  classDef gone fill:#fde6e3,stroke:{DOOMED_INK},color:{INK}")
    styles.append(f"  classDef pd fill:#d9e7f5,stroke:#1f4e79,color:{INK}")
    return "\n".join([*lines, *styles, ""])


def text(label: str) -> str:
    """A quoted text. All but letters, digits and a few marks become entities, by number."""
    kept = "".join(
        char if char.isalnum() or char in " _-.,:/()" else f"#{ord(char)};" for char in label
    )
    return f'"{kept}"'


def _nodes(drawing: Drawing, keys: dict[str, str]) -> Iterator[str]:
    members: dict[str, list[DrawnNode]] = {}
    for node in drawing.nodes:
        if node.kind == "pd":
            yield _node(node, keys)
        elif node.space is not None:
            members.setdefault(node.space, []).append(node)
    for space in drawing.spaces():
        yield f"subgraph {keys[space.id]}s[{text(' ')}]"
        yield from (f"  {_node(node, keys)}" for node in members[space.id])
        yield "end"


def _node(node: DrawnNode, keys: dict[str, str]) -> str:
    # A line break of Mermaid's own between the lines, which themselves can have no markup.
    label = '"' + "<br/>".join(text(line)[1:-1] for line in node.label) + '"'
    left, right = {"pd": ("[", "]"), "space": ("[[", "]]"), "resource": ("(", ")")}[node.kind]
    style = "pd" if node.kind == "pd" else ""
    if node.doomed:
        style = "gone" if node.depth is None else f"depth{min(node.depth, len(DEPTH_FILLS) - 1)}"
    return f"{keys[node.id]}{left}{label}{right}{f':::{style}' if style else ''}"


def _edge(edge: DrawnEdge, keys: dict[str, str]) -> str:
    label = edge.why or (f"{KINDS[edge.kind]}, lost" if edge.lost else KINDS[edge.kind])
    if edge.times > 1:
        label = f"{label} x{edge.times}"
    return f"{keys[edge.source]} {_ARROWS[edge.kind]}|{text(label)}| {keys[edge.target]}"


def _line(edge: DrawnEdge) -> str:
    colour = DOOMED_INK if edge.why else EDGE_STYLES[edge.kind][0]
    return f"stroke:{colour},color:{INK}" + (",stroke-width:3px" if edge.why else "")
