# SPDX-License-Identifier: BSD-2-Clause
"""Writes drawings in Graphviz' language."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Final

from cellreap.pictures.drawing import KINDS, Drawing, DrawnEdge, DrawnNode

DEPTH_FILLS: Final = ("#f2a49b", "#f7c58b", "#fbe391", "#ece8b0")
"""The colour of a doomed PD, by depth; the last one is for all further depths. Text on them is
black, and the depth stands in words too.
"""
DOOMED_INK: Final = "#9b1c13"
INK: Final = "#1b1b1b"
FONT: Final = "DejaVu Sans,Verdana,sans-serif"

EDGE_STYLES: Final = {
    "MANAGE": ("#1f4e79", "bold", "dot"),
    "REQUEST": ("#1f4e79", "solid", "normal"),
    "HOLD": ("#55585c", "dashed", "vee"),
    "MAP": ("#2c6b2f", "solid", "empty"),
    "FAULT": ("#6b2c91", "dotted", "tee"),
    "LINK": ("#7a4b12", "bold", "none"),
    "OWN": ("#55585c", "solid", "ediamond"),
    "SUBSCRIBE": ("#0b6470", "dotted", "open"),
}
"""Kind of an edge -> its colour, line and arrow head. No two kinds have the same three."""
_ARROWS: Final = {
    "MANAGE": "━━●",
    "REQUEST": "──▶",
    "HOLD": "╌╌>",
    "MAP": "──▷",
    "FAULT": "┄┄┤",
    "LINK": "━━━",
    "OWN": "──◇",
    "SUBSCRIBE": "┄┄>",
}
ALONE: Final = 4
"""PDs without an edge that stand in one row."""
_GAP: Final = '<FONT POINT-SIZE="12"> </FONT>'
"""Keeps a line of small text away from the one above it. It is on both sides, so both fit."""


def dot(drawings: Sequence[Drawing], *, legend: bool = True) -> str:
    """The drawings as one graph, from left to right. An edge has the id e and its position."""
    title = drawings[0].title if len(drawings) == 1 else ""
    lines = [
        "digraph cellreap {",
        # The limits keep large graphs quick; small ones do not reach them.
        "  graph [rankdir=LR, newrank=false, compound=true, nslimit=2, nslimit1=2, searchsize=10,",
        f"    bgcolor={quote('#ffffff')}, fontname={quote(FONT)}, fontsize=12,",
        f"    fontcolor={quote(INK)}, labelloc=b, labeljust=l, nodesep=0.22, ranksep=0.9,",
        f"    label={_legend(drawings, title) if legend else quote('')}];",
        f"  node [fontname={quote(FONT)}, fontsize=11, fontcolor={quote(INK)},",
        f"    color={quote('#55585c')}, margin={quote('0.12,0.06')}, height=0.3];",
        f"  edge [fontname={quote(FONT)}, fontsize=9, arrowsize=0.7];",
    ]
    # Graphviz puts the first of several panels at the bottom.
    for number, drawing in reversed(list(enumerate(drawings))):
        if len(drawings) == 1:
            lines += [f"  {line}" for line in _body(drawing, "")]
        else:
            lines += [
                f"  subgraph cluster_panel{number} {{",
                f"    label={quote(drawing.title)}; labelloc=t; labeljust=l; fontsize=14;",
                f"    style=solid; color={quote('#b9bcc0')}; margin=16;",
                *(f"    {line}" for line in _body(drawing, f"{number}:")),
                "  }",
            ]
    return "\n".join([*lines, "}", ""])


def quote(text: str) -> str:
    """A quoted string. Graphviz itself reads \\n, \\l and the like in labels, so \\ is doubled."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def html(text: str) -> str:
    """Text in a label of Graphviz' own HTML."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _body(drawing: Drawing, prefix: str) -> Iterator[str]:
    members: dict[str, list[DrawnNode]] = {}
    for node in drawing.nodes:
        if node.kind == "pd":
            yield _node(node, prefix)
        elif node.space is not None:
            members.setdefault(node.space, []).append(node)
    for space in drawing.spaces():
        fill, ink = ("#fde6e3", DOOMED_INK) if space.doomed else ("#eef3ea", "#44633a")
        style = "rounded,filled,dashed" if space.doomed else "rounded,filled"
        yield f"subgraph {quote(f'cluster_{prefix}{space.id}')} {{"
        yield f"  style={quote(style)}; fillcolor={quote(fill)}; color={quote(ink)};"
        # In one column, with the space's name among its resources.
        yield f"  label={quote('')}; margin=8; rank=same;"
        yield from (f"  {_node(node, prefix)}" for node in members[space.id])
        yield "}"
    yield from (_edge(edge, at, prefix) for at, edge in enumerate(drawing.edges))
    # Those without an edge would all stand in one column.
    joined = {end for edge in drawing.edges for end in (edge.source, edge.target)}
    alone = [node.id for node in drawing.nodes if node.kind == "pd" and node.id not in joined]
    for row in (alone[at : at + ALONE] for at in range(0, len(alone), ALONE)):
        for one, other in itertools.pairwise(row):
            yield f"{quote(prefix + one)} -> {quote(prefix + other)} [style=invis];"


def _node(node: DrawnNode, prefix: str) -> str:
    bold, *rest = node.label
    small = "".join(f'<BR/>{_GAP}<FONT POINT-SIZE="9">{html(line)}</FONT>{_GAP}' for line in rest)
    parts = {"label": f"<<B>{html(bold)}</B>{small}>", "tooltip": quote(", ".join(node.label))}
    if node.kind == "space":
        parts |= {"shape": "plaintext", "fontcolor": quote(DOOMED_INK if node.doomed else INK)}
    elif node.kind == "resource":
        parts |= {
            "label": quote(bold),
            "shape": "box",
            "style": quote("rounded,filled"),
            "fontsize": "10",
            "fillcolor": quote("#ffffff"),
        }
    else:
        fill = "#d9e7f5"
        if node.depth is not None:
            fill = DEPTH_FILLS[min(node.depth, len(DEPTH_FILLS) - 1)]
        parts |= {
            "shape": "box",
            "style": quote("filled,dashed" if node.doomed else "filled"),
            "penwidth": "2" if node.doomed or node.pinned else "1.2",
            "color": quote(DOOMED_INK if node.doomed else "#1f4e79"),
            "fillcolor": quote(fill),
        }
        if node.pinned:
            parts["peripheries"] = "2"
    return f"{quote(prefix + node.id)} [{_attributes(parts)}];"


def _edge(edge: DrawnEdge, at: int, prefix: str) -> str:
    colour, style, head = EDGE_STYLES[edge.kind]
    told = f"{KINDS[edge.kind]}{f' ({edge.times} times)' if edge.times > 1 else ''}"
    parts = {
        "color": quote(colour),
        "style": style,
        "arrowhead": head,
        "id": quote(f"{prefix}e{at}"),
        "tooltip": quote(f"{edge.source} {told} {edge.target}"),
    }
    label = edge.why or ("lost" if edge.lost else "")
    if edge.times > 1:
        label = f"{label} x{edge.times}".strip()
    if edge.why:
        parts |= {"color": quote(DOOMED_INK), "penwidth": "2.4"}
    if label:
        ink = DOOMED_INK if edge.why or edge.lost else colour
        parts |= {"label": quote(label), "fontcolor": quote(ink)}
    return f"{quote(prefix + edge.source)} -> {quote(prefix + edge.target)} [{_attributes(parts)}];"


def _attributes(parts: dict[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in parts.items())


def _legend(drawings: Sequence[Drawing], title: str) -> str:
    have = {kind for drawing in drawings for kind in drawing.kinds()}
    cells = [
        f'<TD ALIGN="LEFT"><FONT COLOR="{EDGE_STYLES[kind][0]}">{html(_ARROWS[kind])}</FONT> '
        f"{html(told)}</TD>"
        for kind, told in KINDS.items()
        if kind in have
    ]
    if any(edge.why for drawing in drawings for edge in drawing.edges):
        told = "red and thick: why a node is doomed"
        cells.append(f'<TD ALIGN="LEFT"><FONT COLOR="{DOOMED_INK}">━━▶</FONT> {told}</TD>')
    rows = [f"<TR>{''.join(cells[at : at + 5])}</TR>" for at in range(0, len(cells), 5)]
    heading = [f'<TD ALIGN="LEFT" COLSPAN="5"><B>{html(title)}</B></TD>'] if title else []
    notes = dict.fromkeys(note for drawing in drawings for note in drawing.notes)
    below = [f'<TD ALIGN="LEFT" COLSPAN="5">{html(note)}</TD>' for note in notes]
    rows = [f"<TR>{cell}</TR>" for cell in heading] + rows + [f"<TR>{c}</TR>" for c in below]
    if not rows:
        return quote("")
    return f'<<TABLE BORDER="0" CELLSPACING="4">{"".join(rows)}</TABLE>>'
