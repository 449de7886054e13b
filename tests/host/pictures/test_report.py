# SPDX-License-Identifier: BSD-2-Clause
"""`cellreap report`: a page shows what the trace tells, and works in a browser."""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import pytest

from cellreap.model.ids import CORE_TYPES, ROOT
from cellreap.pictures.dot import DEPTH_FILLS
from cellreap.pictures.history import History, history_of
from cellreap.pictures.lanes import PHASES, Lanes
from cellreap.pictures.runpage import run_data
from cellreap.runs.summary import headline
from cellreap.trace.check.replay import Replay
from cellreap.trace.events import Event
from cellreap.trace.report import Report
from cellreap.trace.writer import Draft, seal
from kit.browser import NEEDS_CHROMIUM, Page, opened
from kit.command_line import cellreap, cellreap_json
from kit.kept_traces import read_file
from kit.large_run import large_run
from kit.pages import NEEDS_DOT, crashed, page_for, written
from kit.paths import GOLDENS
from kit.simulated_runs import RUNS
from kit.trace_simulator import Target

TRACES = sorted(GOLDENS.glob("*.trace"))
TRACE = GOLDENS / "block_fs_db_app-1-2.trace"
RIGHT, LEFT, HOME, END, PAGE_UP, PAGE_DOWN = (
    "\ue014",
    "\ue012",
    "\ue011",
    "\ue010",
    "\ue00e",
    "\ue00f",
)
"""Keys as WebDriver names them."""


# -- the history


def drawn_state(history: History) -> tuple[set[str], set[tuple[str, str, str]]]:
    nodes = {id_ for id_, node in history.nodes.items() if node.span.end is None}
    return nodes, {key for key, seen in history.edges.items() if seen.alive()}


def model_state(replay: Replay) -> tuple[set[str], set[tuple[str, str, str]]]:
    """The model of the check, as a picture has it."""
    model = replay.model
    of = model.space_of
    core = {space for space in model.spaces() if model.nodes[space].type in CORE_TYPES}
    nodes = {id_ for id_ in model.nodes if id_ != ROOT and of.get(id_, id_) not in core}
    edges = {(edge.kind, edge.source, edge.target) for edge in model.edges()}
    own = {
        ("HOLD", m, node) for node in nodes for m in [model.manager.get(of.get(node, node))] if m
    }
    edges = (edges - own) | {("MANAGE", pd, space) for space, pd in model.manager.items()}
    return nodes, {edge for edge in edges if {edge[1], edge[2]} <= nodes}


@pytest.mark.parametrize("name", RUNS)
def test_the_history_has_at_every_event_what_the_check_has(name: str, tmp_path: Path) -> None:
    """A cleanup changes the check's model in its own order, so only its ends are compared."""
    trace = written(RUNS[name](), tmp_path / "a.trace")
    reading = read_file(trace)
    history, replay = History(reading.report), Replay(Report("again"))
    within: set[str] = set()
    for event in reading.events:
        replay.feed(event)
        history.take(event)
        within |= {event["n"]} if event.name == "CLEANUP" else set()
        within -= {event["n"]} if event.name == "SETTLED" else set()
        if not within:
            assert drawn_state(history) == model_state(replay), f"line {event.line}: {event}"


def test_what_is_doomed_is_marked_from_the_cleanup_to_the_destruction() -> None:
    reading = read_file(TRACE)
    history = history_of(reading.events, reading.report)
    (cleanup,) = reading.report.cleanups
    names = [event.name for event in reading.events]
    begin = names.index("CLEANUP")
    destroyed = {
        event["node"]: at
        for at, event in enumerate(reading.events)
        if event.name == "STEP" and event["name"] in ("destroy-pd", "destroy-space")
    }
    depths = dict(cleanup.plan["destroyed_pds"])
    for node in (*depths, *cleanup.plan["deleted_spaces"]):
        (span,) = history.nodes[node].doomed
        assert (span.begin, span.end, span.depth) == (begin, destroyed[node], depths.get(node))
    told = {span.text for seen in history.edges.values() for span in seen.why}
    assert told == {
        "disk1 is managed by block_server_1",
        "fs holds BLOCK_4_1",
        "files is managed by fs",
        "database is built on files",
    }


@pytest.mark.parametrize("trace", TRACES, ids=lambda path: path.stem)
def test_lanes_have_every_notice_and_the_phases_in_order(trace: Path) -> None:
    reading = read_file(trace)
    lanes = Lanes()
    for event in reading.events:
        lanes.take(event)
    queued = [event for event in reading.events if event.name == "QUEUE"]
    assert len(lanes.arrows) == len(queued)
    fetched = {event.number("token") for event in reading.events if event.told == "fetched NOTICE"}
    assert {token for token, arrow in lanes.arrows.items() if arrow.taken is not None} == fetched
    order = ["plan", *dict.fromkeys(PHASES.values())]
    assert lanes.cleanups
    for cleanup in lanes.cleanups.values():
        phases = [order.index(phase.text) for phase in cleanup.phases]
        assert phases == sorted(set(phases))
        ends = [phase.end for phase in cleanup.phases[:-1]]
        assert ends == [phase.begin for phase in cleanup.phases[1:]]


def test_what_survivors_keep_broken_is_marked_until_it_goes() -> None:
    reading = read_file(GOLDENS / "block_fs_db_app-0-0.trace")
    history = history_of(reading.events, reading.report)
    names = [event.name for event in reading.events]
    rows = {(pd, node) for pd, node, _ in reading.report.cleanups[0].broken}
    nodes = [(id_, span) for id_, node in history.nodes.items() for span in node.broken]
    edges = [(key, span) for key, seen in history.edges.items() for span in seen.broken]
    assert len(rows) == len(nodes) == len(edges) == 5
    assert {span.begin for _, span in nodes} == {names.index("CLEANUP")}
    assert all(span.end is None for _, span in nodes)
    # A manager keeps a resource of its own space by the edge to the space.
    assert {key for key, _ in edges} == {
        ("MANAGE", "PD_3", "FILE_SPACE_5"),
        ("MANAGE", "PD_4", "TABLE_SPACE_6"),
        ("HOLD", "PD_5", "TABLE_6_1"),
    }
    assert {span.text for id_, span in nodes if id_ == "TABLE_6_1"} == {
        "db keeps TABLE_6_1, built on BLOCK_4_1",
        "app keeps TABLE_6_1, built on BLOCK_4_1",
    }
    end = len(reading.events)
    ends = {"from": "PD_5", "to": "TABLE_6_1"}
    history.take(Event("EDGE", {"change": "dropped", "kind": "HOLD", **ends}))
    assert [span.end for _, span in edges if span.text.startswith("app")] == [end]
    history.take(Event("DELETE", {"node": "TABLE_6_1"}))
    assert [span.end for _, span in edges if span.text.startswith("db keeps TABLE")] == [end + 1]
    assert sum(span.end is None for _, span in edges) == 3


# -- places


@NEEDS_DOT
@pytest.mark.parametrize("trace", TRACES, ids=lambda path: path.stem)
def test_at_each_event_each_place_has_one_node(trace: Path) -> None:
    reading = read_file(trace)
    data = run_data(reading)
    for node in data["nodes"]:
        end = node["spans"][-1][1]
        assert node["next"] is None or (end is not None and end <= node["next"])
    seen = [(node["box"], node["spans"][0][0], node["next"]) for node in data["nodes"]]
    for (box, begin, left), (other, other_begin, other_left) in itertools.combinations(seen, 2):
        ends = (left is not None and left <= other_begin) or (
            other_left is not None and other_left <= begin
        )
        assert box != other or ends
    lives = [life for lane in data["lanes"] for life in lane["lives"]]
    assert len(lives) == len({pd for *_, pd in lives})
    for lane in data["lanes"]:
        for (_, end, _), (begin, _, _) in itertools.pairwise(lane["lives"]):
            assert end is not None
            assert end <= begin


@NEEDS_DOT
def test_a_pd_that_is_created_anew_has_the_place_and_the_lane_of_the_one_before() -> None:
    data = run_data(read_file(GOLDENS / "hang.trace"))
    nodes = {node["id"]: node for node in data["nodes"]}
    first, second = (id_ for id_, node in nodes.items() if node["label"][0] == "server")
    assert nodes[first]["box"] == nodes[second]["box"]
    assert nodes[first]["next"] == nodes[second]["spans"][0][0]
    clusters = [node["cluster"] for node in nodes.values() if node["label"][0] == "goods"]
    assert len(clusters) == 2
    assert clusters[0] == clusters[1] is not None
    (lane,) = (lane for lane in data["lanes"] if lane["name"] == "server")
    assert [pd for *_, pd in lane["lives"]] == [first, second]


# -- the page


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def page(folder: Path) -> Iterator[Page]:
    with opened(page_for(TRACE, folder)) as found:
        yield found


def words(text: str) -> list[str]:
    return text.split()


@NEEDS_DOT
@NEEDS_CHROMIUM
def test_the_page_tells_the_same_as_show(page: Page) -> None:
    told = cellreap("show", str(TRACE)).stdout
    story = page.ask("document.querySelector('#story').innerText")
    assert words(story.removeprefix("The run in words")) == words(told)


@NEEDS_DOT
@NEEDS_CHROMIUM
def test_the_keys_move_and_nothing_complains(page: Page) -> None:
    reading = read_file(TRACE)
    names = [event.name for event in reading.events]
    page.press(HOME)
    assert page.event().startswith("0: the trace of ")
    page.press(RIGHT, RIGHT, LEFT)
    assert page.event().startswith("1: in use: ")
    page.press(PAGE_DOWN)
    begin = names.index("CLEANUP")
    told = "cleanup 1 begins, of block_server_1 (PD_1) (fault): "
    assert page.event().startswith(f"{begin}: {told}")
    page.press("r")
    assert page.event().startswith(f"{begin}: CLEANUP n=1 ")
    assert "CLEANUP n=1 " in page.text("#rows .here")
    page.press("r")
    assert told in page.text("#rows .here")
    assert page.ask("document.querySelector('#rows .here').title").startswith("CLEANUP n=1 ")
    page.press(END)
    assert page.event() == f"{len(names) - 1}: the trace ends, after {len(names)} events"
    page.press(PAGE_UP, "+", "-")
    assert page.ask("document.querySelector('#at').value") == str(names.index("CLEANUP"))
    assert page.ask("document.querySelector('#at').getAttribute('aria-valuetext')") == page.event()
    assert page.said() == []


@NEEDS_DOT
@NEEDS_CHROMIUM
def test_the_graph_is_that_of_the_chosen_event(page: Page) -> None:
    page.press(HOME, PAGE_DOWN)
    alive = page.text("#alive")
    assert "fs, PD_3: doomed at depth 1" in alive
    assert "Because disk1 is managed by block_server_1" in alive
    assert page.ask("document.querySelectorAll('#graph .pd.doomed').length") == 2
    assert page.ask("document.querySelectorAll('#graph .cluster.doomed').length") == 3
    assert page.ask("document.querySelectorAll('#graph .e.why').length") == 4
    page.press(END)
    gone = page.ask(
        "[...document.querySelectorAll('#graph .pd.gone .first')].map(e=>e.textContent)"
    )
    assert sorted(gone) == ["block_server_1", "fs"]
    assert "Doomed" not in page.text("#alive")
    page.press(HOME)
    assert page.ask("document.querySelectorAll('#graph .pd:not(.off)').length") == 0


@NEEDS_DOT
@NEEDS_CHROMIUM
def test_what_is_broken_is_seen_and_told(folder: Path) -> None:
    with opened(page_for(GOLDENS / "block_fs_db_app-0-0.trace", folder)) as page:
        page.press(END)
        assert "app keeps TABLE_6_1, built on BLOCK_4_1" in page.text("#alive")
        assert page.ask("document.querySelectorAll('#graph .resource.broken').length") == 2
        assert page.ask("document.querySelectorAll('#graph .cluster.broken').length") == 2
        assert page.ask("document.querySelectorAll('#graph .e.broken').length") == 3
        assert "is built on what went" in page.text("ul.legend")
        told = "[...document.querySelectorAll('#story dt')].map(e=>e.textContent)"
        assert "broken" in page.ask(told)
        page.press(HOME)
        assert "Broken" not in page.text("#alive")
        assert page.ask("document.querySelectorAll('#graph .broken').length") == 0
        assert page.said() == []


@NEEDS_DOT
@NEEDS_CHROMIUM
def test_cleanup_and_waits_stand_there_in_words(page: Page) -> None:
    reading = read_file(TRACE)
    at = next(i for i, e in enumerate(reading.events) if e.told == "fetched NOTICE")
    page.driver.execute_script(
        "const s = document.querySelector('#at'); s.value = arguments[0];"
        "s.dispatchEvent(new Event('input'))",
        at,
    )
    event = reading.events[at]
    assert f"deals with notice {event['token']} (" in page.text("#now")
    calls = sum(reading.report.cleanups[0].kernel_calls.values())
    steps = sum(e.name == "STEP" for e in reading.events)
    assert f"{steps} steps, {calls} kernel calls" in page.text("#cleanup")
    many = [e for e in reading.events if e.name == "STEP" and e.number("count") > 1]
    assert many
    for event in many:
        told = [f"{event['node']} and {event.number('count') - 1} more", event["pd"]]
        assert ", ".join(word for word in told if word != "-") in page.text("#cleanup")


@NEEDS_DOT
@NEEDS_CHROMIUM
def test_a_screen_reader_finds_its_way(page: Page) -> None:
    """Every control has a name, the table knows its length, and no heading level is left out."""
    count = page.ask("document.querySelectorAll('button').length")
    assert count
    assert page.ask("[...document.querySelectorAll('button')].every(b=>b.textContent)")
    assert page.ask("document.querySelector('label[for=at]').textContent") == "Event"
    rows = page.ask("+document.querySelector('#table').getAttribute('aria-rowcount')")
    assert rows == read_file(TRACE).report.events + 1
    levels = page.ask("[...document.querySelectorAll('h1,h2,h3')].map(h => +h.tagName[1])")
    assert levels[0] == 1
    assert all(b <= a + 1 for a, b in itertools.pairwise(levels))
    assert page.ask("document.documentElement.lang") == "en"
    assert page.ask("document.querySelector('#graph svg title').textContent")


def contrast(one: str, other: str) -> float:
    """The contrast of two colours as WCAG 2 defines it."""

    def luminance(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_text_has_enough_contrast_in_both_schemes(scheme: int) -> None:
    """4.5 to 1 for text, 3 to 1 for lines, as WCAG 2.1 AA asks."""
    style = (resources.files("cellreap") / "pictures" / "page" / "page.css").read_text()
    blocks = re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", blocks[scheme]))
    texts = [
        *(("ink", back) for back in ("paper", "pd", "space", "thing", "band")),
        *(("doom", back) for back in ("paper", "doom-space")),
        ("soft", "paper"),
        ("good", "paper"),
        ("chosen", "paper"),
    ]
    lines = [(name, "paper") for name in colours if name.startswith("k-")]
    assert len(lines) == 8
    for least, pairs in ((4.5, texts), (3.0, lines)):
        for front, back in pairs:
            assert contrast(colours[front], colours[back]) >= least, (front, back)
    for fill in DEPTH_FILLS:
        assert contrast("#1b1b1b", fill) >= 4.5


@NEEDS_DOT
def test_a_page_needs_nothing_else(folder: Path) -> None:
    text = page_for(TRACE, folder).read_text()
    assert "default-src 'none'" in text
    outside = re.sub(r"http://www\.w3\.org/\S+", "", text)
    assert not re.search(r"(https?:)?//\w|src=|@import|url\((?!#)", outside.split('id="data"')[0])


@NEEDS_DOT
@NEEDS_CHROMIUM
def test_a_trace_that_fails_its_check_gives_a_page_that_shows_where(folder: Path) -> None:
    events = read_file(TRACE).events
    (lost,) = [at for at, e in enumerate(events) if e.name == "PLAN"]
    trace = folder / "bad.trace"
    trace.write_text("\n".join(seal([*events[:lost], *events[lost + 1 :]])) + "\n")
    path = page_for(trace, folder, code=1)
    shown = json.loads(cellreap("show", str(trace), "--json").stdout)
    with opened(path) as page:
        assert page.text(".verdict") == "FAIL"
        assert "Violation: " in page.event()  # it opens there
        assert page.ask("document.querySelectorAll('#rows .bad').length") >= 1
        listed = page.ask("document.querySelectorAll('#bad li').length")
        assert listed == len(shown["violations"])
        red = page.ask("getComputedStyle(document.querySelector('#bad li')).color")
        assert red == "rgb(155, 28, 19)"
        assert page.said() == []


@NEEDS_DOT
@NEEDS_CHROMIUM
def test_nothing_that_a_pd_prints_becomes_markup(folder: Path) -> None:
    evil = "</script><script>document.title='taken'</script><img src=x onerror=alert(1)>@@data@@"
    events = [
        (name, {**values, "text": evil} if name == "SAY" else values)
        for name, values in RUNS["rich"]()
    ]
    assert any(name == "SAY" for name, _ in events)
    with opened(page_for(written(events, folder / "evil.trace"), folder, 3)) as page:
        assert page.ask("document.title") != "taken"
        assert page.ask("document.querySelectorAll('img').length") == 0
        assert page.said() == []


@NEEDS_DOT
@NEEDS_CHROMIUM
@pytest.mark.slow
@pytest.mark.parametrize("events", [10_000, pytest.param(100_000, marks=pytest.mark.thorough)])
def test_a_large_run_gives_a_small_page_that_moves(events: int, folder: Path) -> None:
    trace = written(large_run(events), folder / f"large{events}.trace")
    path = page_for(trace, folder)
    assert path.stat().st_size < 3 << 20
    with opened(path) as page:
        # Milliseconds from the navigation until the page can be used.
        assert page.ask("performance.getEntriesByName('ready')[0].startTime") < 2000
        assert "142 protection domains and 54 spaces that no cleanup" in page.text("#alive")
        assert page.ask("document.querySelectorAll('#rows .row').length") < 200
        page.press(HOME, PAGE_DOWN, PAGE_DOWN)
        assert "cleanup 2 begins" in page.event()
        page.press(END)
        assert "the trace ends" in page.event()
        at = page.ask("Number(document.querySelector('#at').value)")
        page.press(*[LEFT] * 20, *[RIGHT] * 10, PAGE_UP)
        assert page.ask("Number(document.querySelector('#at').value)") < at - 10
        page.press(END, *[LEFT] * 20)
        assert page.ask("Number(document.querySelector('#at').value)") == at - 20
        assert page.said() == []


def test_the_object_says_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    code, shown = cellreap_json("report", str(TRACE), "-o", str(path))
    assert (code, shown["verdict"], shown["cleanups"]) == (0, "pass", 1)
    assert shown["bytes"] == path.stat().st_size
    again = tmp_path / "b.html"
    cellreap_json("report", str(TRACE), "-o", str(again))
    assert again.read_bytes() == path.read_bytes()


def crowd(clients: int = 64) -> list[Draft]:
    """The events of a server that crashes under so many clients that are alike, and one that is
    not.
    """
    target = Target(0, 0, "crowd")
    server = target.pd("server")
    space = target.space(server, "THING", "goods")
    other = target.space(target.pd("bystander"), "THING", "others")
    for number in range(clients):
        target.request(target.pd(f"client_{number}"), space)
    target.request(target.pd(f"client_{clients}"), other)
    return crashed(target, server)


@pytest.mark.behaviour("V-01")
def test_pds_that_are_alike_are_one_box_and_one_lane(tmp_path: Path) -> None:
    reading = read_file(written(crowd(), tmp_path / "crowd.trace"))
    assert reading.report.passed
    data = run_data(reading)
    labels = [node["label"] for node in data["nodes"] if node["kind"] == "pd"]
    assert ["client_0 to client_63", "64 protection domains"] in labels
    assert len(labels) == 4
    (many,) = (node for node in data["nodes"] if node["label"][0] == "client_0 to client_63")
    assert len(many["members"]) == 64
    assert [(lane["name"], lane["many"]) for lane in data["lanes"]] == [
        ("ROOT_TASK", 1),
        ("server", 1),
        ("bystander", 1),
        ("client_0 to client_63", 64),
        ("client_64", 1),
    ]
    lost = [edge for edge in data["edges"] if edge["lost"]]
    assert [(data["nodes"][end]["label"][0]) for edge in lost for end in edge["ends"]] == [
        "client_0 to client_63",
        "goods",
    ]
    assert headline(reading) == (
        "server crashed (page fault at 0x10); client_0 to client_63 lost goods; "
        "nobody else went; all were told."
    )


@pytest.mark.behaviour("V-01")
def test_few_and_different_ones_stay_apart(tmp_path: Path) -> None:
    data = run_data(read_file(written(crowd(4), tmp_path / "few.trace")))
    names = [lane["name"] for lane in data["lanes"]]
    assert names == ["ROOT_TASK", "server", "bystander", *(f"client_{i}" for i in range(5))]


@pytest.mark.behaviour("V-01")
def test_of_a_large_system_only_what_a_cleanup_touched_is_drawn(tmp_path: Path) -> None:
    trace = written(large_run(2000), tmp_path / "large.trace")
    data = run_data(read_file(trace))
    names = [node["label"][0] for node in data["nodes"]]
    assert {"server_0", "server_3", "server_6", "server_1", "client_0", "things_1"} <= set(names)
    assert "server_50" not in names
    assert len(names) < 100
    left = Counter(kind for kind, *_ in data["rest"])
    drawn = Counter(node["kind"] for node in data["nodes"])
    assert (left["pd"] + drawn["pd"], left["space"] + drawn["space"]) == (160, 60)


@pytest.mark.behaviour("V-01")
@pytest.mark.parametrize(
    ("trace", "told"),
    [
        (
            "block_fs_db_app-1-2",
            "block_server_1 crashed (page fault at 0xdead000); app and db lost database, disk1 "
            "and files; fs went with it; all were told.",
        ),
        (
            "hang",
            "quitter ended (exit with code 2); nobody else went; 0 of 1 notice acknowledged. "
            "server missed its deadline of 100 ms for notice 1",
        ),
    ],
)
def test_one_sentence_tells_what_happened(trace: str, told: str) -> None:
    assert headline(read_file(GOLDENS / f"{trace}.trace")).startswith(told)


@pytest.mark.behaviour("V-01")
def test_only_what_crashed_is_said_to_crash() -> None:
    data = run_data(read_file(GOLDENS / "hang.trace"))
    said = {each[3] for node in data["nodes"] for each in node["doomed"]}
    assert said == {"", "exits", "is late"}


@pytest.mark.behaviour("V-01")
@NEEDS_DOT
@NEEDS_CHROMIUM
def test_the_crowd_fits_and_hovering_explains(folder: Path) -> None:
    trace = written(crowd(), folder / "crowd.trace")
    with opened(page_for(trace, folder)) as page:
        page.press(HOME, PAGE_DOWN)
        assert page.ask("document.querySelectorAll('#graph .pd:not(.off)').length") == 4
        assert "67 protection domains" in page.text("#alive")
        doomed = "document.querySelector('#graph .cluster.doomed').getBoundingClientRect().bottom"
        assert page.ask(f"{doomed} <= innerHeight")
        hover = "document.querySelector('#graph .pd.doomed title').textContent"
        assert page.ask(hover) == "server, PD_1, crashes"
        page.driver.execute_script(
            "const c = document.querySelector('#canvas'), r = c.getBoundingClientRect();"
            "c.dispatchEvent(new MouseEvent('mousemove', {clientX: r.right - 12,"
            "clientY: r.top + 38 + 3 * 20 + 10}))"
        )
        assert page.text("canvas") is not None
        title = page.ask("document.querySelector('#canvas').title")
        assert title.startswith("client_0 to client_63, event ")
        assert page.said() == []
