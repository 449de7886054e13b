# SPDX-License-Identifier: BSD-2-Clause
"""`cellreap graph`: what pictures of model states show."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from cellreap.errors import CellreapError
from cellreap.model.csvstate import read_state
from cellreap.model.graph import Model
from cellreap.model.ids import ROOT as ROOT_TASK
from cellreap.model.plan import Plan
from cellreap.model.reference import plan
from cellreap.pictures.dot import EDGE_STYLES, dot
from cellreap.pictures.drawing import KINDS, Drawing, draw, split
from cellreap.pictures.graphviz import render
from cellreap.pictures.mermaid import mermaid
from kit.command_line import cellreap, cellreap_json
from kit.pages import NEEDS_DOT
from kit.paths import CONFIGS, DATA, GOLDENS, TESTS
from kit.paths import ROOT as REPOSITORY

SCENARIO = DATA / "scenario.csv"
TRACE = GOLDENS / "block_fs_db_app-1-2.trace"


def odd() -> Model:
    """A model with every kind of edge, and with names that must not get into the markup."""
    model = Model()
    model.add_pd(ROOT_TASK, "ROOT_TASK", pinned=True)
    model.add_pd("PD_1", 'a"b\\<c>&]', pinned=True)
    model.add_pd("PD_2", "end")
    model.add_pd("PD_3", "naïve ж")
    for manager, space in (("PD_1", "A_SPACE_1"), ("PD_2", "B_SPACE_2")):
        model.add_space(space, manager)
        model.add_hold(manager, space)
    model.add_resource("A_1_1", "A_SPACE_1")
    model.add_resource("B_2_1", "B_SPACE_2")
    model.add_hold("PD_1", "A_1_1")
    model.add_hold("PD_2", "B_2_1")
    model.add_hold("PD_2", "A_1_1", 3)
    model.add_request("PD_2", "A_SPACE_1")
    model.add_map("B_2_1", "A_1_1")
    model.set_fault("PD_2", "PD_1")
    model.add_link("PD_2", "PD_3")
    model.add_own("PD_1", "PD_3")
    model.add_subscribe("PD_3", "A_SPACE_1", 2)
    return model


def reasons(drawing: Drawing) -> set[str]:
    return {edge.why for edge in drawing.edges if edge.why}


def drawn(model: Model, planned: Plan | None = None) -> Drawing:
    return draw(model, "a state", {}, plan=planned)


@pytest.mark.behaviour("M-13")
def test_every_kind_of_edge_is_told_apart() -> None:
    drawing = drawn(odd())
    assert drawing.kinds() == list(KINDS)
    assert EDGE_STYLES.keys() == KINDS.keys()
    assert len(set(EDGE_STYLES.values())) == len(EDGE_STYLES)
    text = dot([drawing])
    for kind, (colour, style, head) in EDGE_STYLES.items():
        line = f'color="{colour}", style={style}, arrowhead={head}'
        assert sum(line in each for each in text.splitlines()) == len(
            [edge for edge in drawing.edges if edge.kind == kind]
        ), kind


@pytest.mark.behaviour("M-13")
@NEEDS_DOT
def test_no_name_gets_into_the_markup() -> None:
    svg = ElementTree.fromstring(render(dot([drawn(odd())]), "svg"))
    texts = {
        "".join(each.itertext()).strip() for each in svg.iter("{http://www.w3.org/2000/svg}text")
    }
    assert {'a"b\\<c>&]', "naïve ж", "end"} <= texts


@pytest.mark.behaviour("M-13")
def test_mermaid_has_no_character_of_its_own_in_names() -> None:
    text = mermaid([drawn(odd())])
    (label,) = re.findall(r'^  g0n0\["(.*)"\]:::pd$', text, re.MULTILINE)
    assert label == "a#34;b#92;#60;c#62;#38;#93;<br/>PD_1"
    opened = sum(line.strip().startswith("subgraph ") for line in text.splitlines())
    assert opened == sum(line.strip() == "end" for line in text.splitlines()) == 2


@pytest.mark.parametrize("depths", [(0, 0), (0, 2), (1, 2), (None, None)])
def test_what_a_crash_dooms_is_marked_with_depth_and_reason(
    depths: tuple[int | None, int | None],
) -> None:
    """The marks are those of the reference's plan, and a doomed node's edge says why."""
    model = read_state(SCENARIO)[0]
    planned = plan(model, "PD_1", *depths)
    drawing = drawn(model, planned)
    nodes = {node.id: node for node in drawing.nodes}
    assert {node.id: node.depth for node in drawing.nodes if node.depth is not None} == dict(
        planned.destroyed_pds
    )
    assert {s.id for s in drawing.spaces() if s.doomed} == set(planned.deleted_spaces)
    assert len(reasons(drawing)) == len(planned.doomed_why) - 1  # all but the trigger
    for node, (word, cause) in planned.doomed_why.items():
        if cause is not None:
            kind = {"managed": "MANAGE"}.get(word, word.upper())
            ends = {node, cause}
            (edge,) = [e for e in drawing.edges if e.kind == kind and {e.source, e.target} == ends]
            assert edge.why, node
    lost = {(e.source, e.target) for e in drawing.edges if e.lost}
    managers = {(m, s) for s, m in model.manager.items() if s in planned.deleted_spaces}
    survive = {(pd, space) for pd, space in managers if nodes[pd].depth is None}
    own = {(pd, res) for pd, res in planned.revoked if (pd, model.space_of[res]) in managers}
    assert lost == {*planned.removed_requests, *survive, *planned.revoked} - own
    text = dot([drawing])
    for pd, depth in planned.destroyed_pds:
        told = f"doomed at depth {depth}" if depth else "crashes"
        assert f">{told}</FONT>" in next(
            line for line in text.splitlines() if line.strip().startswith(f'"{pd}" [')
        )
    assert nodes["PD_2"].depth is None


@pytest.mark.behaviour("M-13")
def test_spaces_are_clusters_around_their_resources() -> None:
    text = dot([drawn(odd())])
    clusters = dict(re.findall(r'subgraph "cluster_(\w+)" \{(.*?)\n  \}', text, re.DOTALL))
    assert clusters.keys() == {"A_SPACE_1", "B_SPACE_2"}
    assert '"A_1_1" [' in clusters["A_SPACE_1"]
    assert '"A_1_1" [' not in clusters["B_SPACE_2"]


def test_many_resources_are_one_node_that_counts_their_edges() -> None:
    model = odd()
    for number in range(2, 15):
        model.add_resource(f"A_1_{number:x}", "A_SPACE_1")
        model.add_hold("PD_2", f"A_1_{number:x}")
    drawing = drawn(model)
    (folded,) = [node for node in drawing.nodes if node.label == ("14 resources",)]
    (edge,) = [e for e in drawing.edges if e.kind == "HOLD" and e.target == folded.id]
    assert (edge.source, edge.times) == ("PD_2", 16)
    assert "holds (16 times)" in dot([drawing])


@pytest.mark.behaviour("M-08")
def test_a_pd_is_told_apart_by_address_space_and_core() -> None:
    """Each part has all edges of the PD, but of address spaces and cores only its own."""
    model = odd()
    for space, of in (("ADS_SPACE_7", "VMR"), ("ADS_SPACE_8", "VMR"), ("VCPU_SPACE_9", "VCPU")):
        model.add_space(space, ROOT_TASK)
        for number in (1, 2):
            model.add_resource(f"{of}_{space[-1]}_{number}", space)
    for node in ("ADS_SPACE_7", "ADS_SPACE_8", "VMR_7_1", "VMR_8_1", "VCPU_9_1", "VCPU_9_2"):
        model.add_hold("PD_2", node)
    model.add_hold("PD_3", "ADS_SPACE_8")
    whole = draw(model, "", {}, core=True)
    parted = split(whole, model)
    parts = [node for node in parted.nodes if node.id.startswith("PD_2")]
    assert [node.label[-1] for node in parts] == [
        f"in {ads} on {core}"
        for ads in ("ADS_SPACE_7", "ADS_SPACE_8")
        for core in ("VCPU_9_1", "VCPU_9_2")
    ]
    held = {
        node.id: {e.target for e in parted.edges if e.kind == "HOLD" and e.source == node.id}
        for node in parts
    }
    assert held["PD_2.0"] == {"A_1_1", "ADS_SPACE_7", "VMR_7_1", "VCPU_9_1"}
    assert held["PD_2.3"] == {"A_1_1", "ADS_SPACE_8", "VMR_8_1", "VCPU_9_2"}
    assert {e.source for e in parted.edges if e.kind == "REQUEST"} == held.keys()
    assert {e.source for e in parted.edges if e.kind == "LINK"} == held.keys()
    # One address space and no core: nothing to tell apart.
    assert [node.id for node in parted.nodes if node.id.startswith("PD_3")] == ["PD_3"]


@pytest.mark.behaviour("M-13")
def test_a_trace_is_drawn_before_and_after_its_cleanup(tmp_path: Path) -> None:
    output = tmp_path / "a.dot"
    code, shown = cellreap_json("graph", str(TRACE), "-o", str(output))
    assert code == 0
    before, after = shown["drawings"]
    assert before["doomed"][:2] == ["PD_1", "PD_3"]
    assert "database is built on files" in before["reasons"]
    assert (after["doomed"], after["title"]) == ([], "after cleanup 1")
    alive = json.loads(cellreap("show", str(TRACE), "--json").stdout)["alive"]
    drawn = set(re.findall(r'^ +"1:(PD_\w+)" \[', output.read_text(), re.MULTILINE))
    assert drawn == set(alive)


@pytest.mark.parametrize("source", [SCENARIO, TRACE, CONFIGS / "block_fs_db_app.toml"])
@pytest.mark.parametrize("form", ["svg", "png", "dot", "mmd"])
@NEEDS_DOT
def test_all_sources_are_drawn_in_all_forms(source: Path, form: str, tmp_path: Path) -> None:
    output = tmp_path / f"picture.{form}"
    done = cellreap("graph", str(source), "-o", str(output))
    assert (done.returncode, done.stdout.split(":")[0]) == (0, str(output))
    begins = {"svg": b"<?xml", "png": b"\x89PNG", "dot": b"digraph", "mmd": b"flowchart"}
    assert output.read_bytes().startswith(begins[form])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("scenario.csv", "-o", "a.jpg"), "--output a.jpg: expected an ending of .svg, .png,"),
        (("scenario.csv", "-o", "a.dot", "--cleanup", "1"), "only a trace has cleanups"),
        (("scenario.csv", "-o", "a.dot", "--crash", "nobody"), "no PD has the id or name 'nobody'"),
        (("T", "-o", "a.dot", "--cleanup", "2"), "expected a cleanup of"),
        (("T", "-o", "a.dot", "--cleanup", "1", "--after", "1"), "cannot be combined"),
        (("nothing.csv", "-o", "a.dot"), "nothing.csv: cannot be read"),
    ],
)
def test_bad_input_is_one_line(arguments: tuple[str, ...], message: str, tmp_path: Path) -> None:
    given = [str(TRACE) if each == "T" else each for each in arguments]
    given = [str(DATA / each) if each == "scenario.csv" else each for each in given]
    done = cellreap("graph", *given)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (TESTS / "a.dot").exists()


def test_a_missing_dot_is_an_error_that_names_the_package(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        CellreapError, match="dot is not installed: on Debian, apt install graphviz"
    ):
        render("digraph {}", "svg")


def shown_in(svg: bytes) -> tuple[list[str], int]:
    """The texts and the number of edges in a picture. Their places depend on the fonts."""
    tree = ElementTree.fromstring(svg)
    name = "{http://www.w3.org/2000/svg}"
    texts = sorted("".join(each.itertext()).strip() for each in tree.iter(f"{name}text"))
    return texts, sum(each.get("class") == "edge" for each in tree.iter(f"{name}g"))


@NEEDS_DOT
def test_the_picture_in_readme_is_what_the_command_draws(tmp_path: Path, rewrite: bool) -> None:
    picture = REPOSITORY / "docs" / "crash.svg"
    page = (REPOSITORY / "docs" / "pictures.md").read_text()
    (command,) = re.findall(r"^cellreap (graph .*) -o docs/crash\.svg$", page, re.MULTILINE)
    arguments = [
        str(REPOSITORY / each) if each.startswith("tests/") else each for each in command.split()
    ]
    drawn = tmp_path / "crash.svg"
    assert cellreap(*arguments, "-o", str(drawn)).returncode == 0
    if rewrite:
        picture.write_bytes(drawn.read_bytes())
    assert shown_in(picture.read_bytes()) == shown_in(drawn.read_bytes())
    assert "(docs/crash.svg)" in (REPOSITORY / "README.md").read_text()


def sharing() -> Model:
    """Two PDs share two large pages; one of them has a small one of its own."""
    model = Model()
    model.add_pd(ROOT_TASK, "ROOT_TASK", pinned=True)
    for number, type_name in enumerate(("MO", "VMR"), 1):
        model.add_space(f"{type_name}_SPACE_{number}", ROOT_TASK)
    model.add_resource("MO_1_1", "MO_SPACE_1", extra="0x400000_2_21")
    model.add_resource("MO_1_2", "MO_SPACE_1", extra="0x1000_1_12")
    for number, name in enumerate(("ring", "disk", "other"), 1):
        model.add_pd(f"PD_{number}", name)
    for number, pd in enumerate(("PD_1", "PD_2"), 1):
        region = f"VMR_2_{number}"
        model.add_resource(region, "VMR_SPACE_2", extra="0x40000000_GENERIC_2_21")
        model.add_hold(pd, region)
        model.add_map(region, "MO_1_1")
    model.add_hold("PD_2", "MO_1_2")
    return model


@pytest.mark.behaviour("E-01")
def test_a_pd_says_what_it_has_of_memory() -> None:
    """In place of what the root task serves; with that, memory is drawn."""

    def said(core: bool) -> dict[str, tuple[str, ...]]:
        drawing = draw(sharing(), "", {}, core=core)
        return {node.id: node.label[2:] for node in drawing.nodes if node.kind == "pd"}

    assert said(core=False) == {
        "PD_1": ("4 MiB shared with disk",),
        "PD_2": ("4 KiB of memory", "4 MiB shared with ring"),
        "PD_3": (),
    }
    assert set(said(core=True).values()) == {()}
