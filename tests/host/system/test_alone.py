# SPDX-License-Identifier: BSD-2-Clause
"""Two runs do not write the same files."""

from __future__ import annotations

from pathlib import Path

import pytest

from cellreap.errors import InputError, UsageError
from cellreap.runs.evidence import Evidence
from cellreap.system.locks import written_alone


def test_the_second_of_two_runs_of_a_system_in_a_folder_is_refused(tmp_path: Path) -> None:
    """One of another system is not."""
    with Evidence(tmp_path, "one"):
        with (
            pytest.raises(UsageError, match=r"/one\.img: another process writes it"),
            Evidence(tmp_path, "one"),
        ):
            pass
        with Evidence(tmp_path, "two"):
            pass
    with Evidence(tmp_path, "one"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_trace_that_is_written_stays_as_it_is(tmp_path: Path) -> None:
    """Also by a link to it."""
    trace, link = tmp_path / "x.trace", tmp_path / "link"
    link.symlink_to(trace)
    with written_alone(trace) as file:
        file.write(b"a line")
        file.flush()
        with pytest.raises(UsageError, match="link: another process writes it"):
            written_alone(link).__enter__()
        assert trace.read_bytes() == b"a line"
    assert {each.name for each in tmp_path.iterdir()} == {"x.trace", "link"}


def test_what_is_no_regular_file_is_written_by_several(tmp_path: Path) -> None:
    with written_alone(Path("/dev/null")), written_alone(Path("/dev/null")):
        pass
    with (
        pytest.raises(InputError, match="cannot be written: No such file or directory"),
        written_alone(tmp_path / "none" / "x.trace"),
    ):
        pass
