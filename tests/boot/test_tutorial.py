# SPDX-License-Identifier: BSD-2-Clause
"""The tutorial: its commands and files as they stand, in an empty folder with the wheel."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kit.console_blocks import correct, same_everywhere
from kit.paths import ROOT
from kit.tutorial import follow, read_files
from kit.wheels import dependencies, environment

PAGE = ROOT / "docs" / "tutorial.md"
# The dependencies are those of this environment, so nothing is downloaded. pip must not see them.
AFTER = {
    "pip install": f"export PYTHONPATH={dependencies()}\n"
    "printf '#!/bin/sh\\nexec python -m pytest \"$@\"\\n' >env/bin/pytest\n"
    "chmod +x env/bin/pytest",
}


@pytest.mark.slow
@pytest.mark.behaviour("Y-01", "Y-02", "Y-08")
def test_who_follows_the_tutorial_sees_what_it_shows(
    wheel: Path, tmp_path: Path, rewrite: bool
) -> None:
    shutil.copy(wheel, tmp_path)
    env = {
        **environment(tmp_path),
        "COLUMNS": "100",
        "PIP_NO_DEPS": "1",
        "PIP_NO_INDEX": "1",
        "PYTEST_ADDOPTS": "-p no:cacheprovider",
    }
    for command, printed in follow(PAGE.read_text(), tmp_path, env, AFTER):
        want, got = same_everywhere(command.output), same_everywhere(printed)
        if not rewrite:
            assert got == want, f"line {command.line}: $ {command.text}"
        elif got != want:
            correct(PAGE, command, printed)


def test_a_file_needs_a_block() -> None:
    page = "<!-- file: a.c -->\n```c\nint a;\n```\n<!-- added to: a.c -->\n```c\nint b;\n```\n"
    assert [(file.line, file.text, file.added) for file in read_files(page)] == [
        (1, "int a;\n", False),
        (5, "int b;\n", True),
    ]
    with pytest.raises(ValueError, match="expected a block directly after each comment 'file"):
        read_files(page.replace("```c\nint a", "text\n```c\nint a"))
