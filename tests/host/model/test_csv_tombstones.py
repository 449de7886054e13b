# SPDX-License-Identifier: BSD-2-Clause
"""A saved state keeps what is known of destroyed nodes, and nothing else takes them for nodes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellreap.errors import InputError
from cellreap.model.csvstate import STATE_VERSION, parse_state, read_state, write_state
from cellreap.model.graph import Model
from cellreap.model.reference import apply, plan
from cellreap.model.tombstones import FORM, Tombstone
from kit.broken_traces import of_drafts
from kit.paths import VERSIONS
from kit.simulated_runs import block_fs_db_app
from kit.trace_simulator import Target

PD = "PD,PD_9,late,,,,"
ROOT = "PD,PD_0,ROOT_TASK,,,,"
GOOD = "DESTROYED how=fault code=0 name=late fault=vm-fault:0xdead000:0x401000"


def of(text: str) -> Model:
    return parse_state(enumerate(text.splitlines(), 1), "state.csv")[0]


def refused(*rows: str) -> str:
    header = "NODE_TYPE,NODE_ID,DATA,EDGE_TYPE,EDGE_FROM,EDGE_TO,EXTRA"
    with pytest.raises(InputError) as caught:
        parse_state(enumerate([header, *rows], 1), "state.csv")
    return caught.value.line()


ADDRESSES = st.integers(0, 2**64 - 1).map(hex)
FAULTS = st.tuples(
    st.sampled_from(("vm-fault", "cap-fault", "user-exception")), ADDRESSES, ADDRESSES
)
ENDS = st.builds(
    Tombstone,
    st.integers(0x20, 0xFFFF).map(lambda n: f"PD_{n:x}") | st.just("BLOCK_SPACE_77"),
    st.text('abz,"%= -', min_size=1, max_size=8).filter(lambda name: name == name.strip()),
    st.sampled_from(("dependency", "fault", "exit", "terminate", "late", "collect")),
    st.integers(0, 2**64 - 1),
    st.none() | FAULTS,
)


@pytest.mark.behaviour("G-20", "T-26")
@given(st.lists(ENDS, max_size=4))
def test_what_is_known_of_the_destroyed_survives_saving_and_loading(ends: list[Tombstone]) -> None:
    """Also a cleanup between the two: it neither dooms nor forgets them."""
    model, _ = read_state(VERSIONS / f"state-{STATE_VERSION}.csv")
    model.tombstones = {end.id: end for end in ends}
    again = of(write_state(model))
    assert again == model
    assert again.nodes.keys().isdisjoint(model.tombstones)
    assert again.check_legal() == []
    later = apply(again, plan(again, "PD_1", None, None))
    assert of(write_state(later)).tombstones == model.tombstones


@pytest.mark.behaviour("G-20")
def test_a_row_that_says_destroyed_otherwise_is_refused() -> None:
    assert of(
        "\n".join(["NODE_TYPE,NODE_ID,DATA,EDGE_TYPE,EDGE_FROM,EDGE_TO,EXTRA", ROOT, PD + GOOD])
    )
    for wrong in ("DESTROYED", GOOD + " more", GOOD.replace("0x40", "40"), "DESTROYED how=fault"):
        assert refused(ROOT, PD + wrong).startswith("state.csv:3: EXTRA: 'DESTROYED")
        assert refused(ROOT, PD + wrong).endswith(f"expected {FORM}, of a PD or space")
    assert refused(ROOT, "RESOURCE,BLOCK_1_1,BLOCK,,,," + GOOD).startswith("state.csv:3: EXTRA")
    # Nobody can be joined to what is gone, or be both gone and there.
    assert "PD_9" in refused(ROOT, PD + GOOD, ",,NONE,OWN,PD_0,PD_9,")
    assert "PD_9" in refused(ROOT, PD, PD + GOOD)


@pytest.mark.behaviour("G-20")
def test_an_extraction_saves_what_was_known_of_the_destroyed_at_its_end() -> None:
    target = Target(0, 0)
    pds = block_fs_db_app(target)
    target.quiet()
    target.fault(pds["block_server_1"])
    target.cleanup()
    x = target.extract()
    for pd in sorted(target.queues):
        while handed := target.fetch(pd):
            for notice in handed:
                if notice.kind == "extract":
                    target.ack(pd, notice)
    target.extracted(x)
    for pd, queue in target.queues.items():
        for notice in list(queue):
            target.ack(pd, notice)
    report = of_drafts(target.end())
    assert report.violations == []
    (extraction,) = report.extractions
    assert of(extraction.csv()).tombstones == {
        "BLOCK_SPACE_1": Tombstone("BLOCK_SPACE_1", "disk_1", "dependency")
    }
