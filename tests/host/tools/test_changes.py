# SPDX-License-Identifier: BSD-2-Clause
"""The fragments in `changes/`, from which the change log of a release is made."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cellreap import __version__
from kit.paths import ROOT


def drafted(project: Path) -> subprocess.CompletedProcess[str]:
    """Makes the next release's section of a project's change log, and writes nothing."""
    return subprocess.run(
        [sys.executable, "-m", "towncrier", "build", "--draft", "--version", "9.9"],
        cwd=project,
        capture_output=True,
        text=True,
    )


def test_all_fragments_are_of_a_kind_that_the_change_log_has() -> None:
    done = drafted(ROOT)
    assert done.returncode == 0, done.stderr
    log = (ROOT / "CHANGELOG.md").read_text()
    assert re.search(rf"<!-- releases -->\n\n## {re.escape(__version__)}\b", log)


@pytest.mark.parametrize(("kind", "code"), [("trace", 0), ("tarce", 1)])
def test_a_fragment_of_no_kind_is_refused(tmp_path: Path, kind: str, code: int) -> None:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "changes").mkdir()
    (tmp_path / "changes" / f"+shown.{kind}.md").write_text("`show` says more.\n")
    done = drafted(tmp_path)
    assert done.returncode == code
    assert ("### Trace and check\n\n- `show` says more." in done.stdout) == (code == 0)
