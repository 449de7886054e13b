# SPDX-License-Identifier: BSD-2-Clause
"""An operation is added to a copy of the sources, and a PD of a system that is built from it asks
for it. So what an operation needs is counted.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cellreap.headers import source_root
from cellreap.system.sdk import Sdk

COPIED = ("examples", "pds", "platforms", "pyhost", "roottask", "tests/pds")
LAST = """        "the resource may attach it.")
"""
ROW = """    CR_OPERATION(CR_OP_RENEW_MAP, 45, renew_map, "spaces", \\
        NUMBER(space) NUMBER(object) NUMBER(target_space) NUMBER(target_object), \\
        NO_RESULTS, PLAIN, NOT_TOLD, CR_FROM_LIVE, "Drops a MAP edge and makes it again.")
"""
FUNCTIONS = """
cr_result cr_check_renew_map(cr_asked *a)
{
    return cr_check_unmap(a);
}

void cr_do_renew_map(cr_asked *a)
{
    cr_do_unmap(a);
    cr_do_map(a);
}
"""
UNMAP = "cr_result cr_unmap(uint32_t space, uint32_t object,"
DECLARED = """cr_result cr_renew_map(uint32_t space, uint32_t object, uint32_t target_space,
                       uint32_t target_object);
"""
POWER = '    ("dropped MAP", "unmap", Powers._map),\n'
POWERS = """    ("made MAP", "renew_map", Powers._map),
    ("dropped MAP", "renew_map", Powers._map),
"""
CHANGES = {
    "roottask/include/cellreap/protocol.h": (LAST, LAST[:-1] + " \\\n" + ROW),
    "roottask/supervisor/operations_spaces.c": ("", FUNCTIONS),
    "pds/include/cellreap/client.h": (UNMAP, DECLARED + UNMAP),
    "pyhost/cellreap/trace/check/powers.py": (POWER, POWER + POWERS),
}
"""File -> what stands in it (nothing: its end), and what shall stand there instead."""
PROGRAM = """#include <cellreap/client.h>

void cr_main(void)
{
    const uint32_t space = cr_own_space();
    uint32_t upper, lower;
    if (cr_create_resource(space, &upper) == CR_RESULT_OK &&
        cr_create_resource(space, &lower) == CR_RESULT_OK &&
        cr_map(space, upper, space, lower) == CR_RESULT_OK &&
        cr_renew_map(space, upper, space, lower) == CR_RESULT_OK) {
        cr_say_text("renewed");
    }
}
"""
SYSTEM = """[system]
name = "new_operation"
[[program]]
name = "renewer"
sources = ["renewer.c"]
[[pd]]
name = "renewer"
program = "renewer"
[[pd.space]]
name = "files"
type = "FILE"
[expect]
nobody_left = true
said = { renewer = ["renewed"] }
"""


def run(home: Path, sdk: Sdk) -> subprocess.CompletedProcess[str]:
    """Runs the system with the copy in a folder."""
    arguments = ["run", "system.toml", "--arch", sdk.kernel.arch, "--sdk", str(sdk.root)]
    return subprocess.run(
        [sys.executable, "-m", "cellreap", *arguments],
        cwd=home,
        env=os.environ
        | {"PYTHONPATH": str(home / "pyhost"), "XDG_CACHE_HOME": str(home / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.behaviour("L-06")
def test_a_new_operation_needs_no_new_kind_of_record_and_few_files(
    tmp_path: Path, sdk: Sdk
) -> None:
    """Without its power, the check finds the changes that the operation has no right to."""
    for name in COPIED:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(source_root() / name, tmp_path / name, ignore=ignored)
    (tmp_path / "system.toml").write_text(SYSTEM)
    (tmp_path / "renewer.c").write_text(PROGRAM)
    for name, (there, instead) in CHANGES.items():
        text = (tmp_path / name).read_text()
        assert not there or text.count(there) == 1, name
        changed = text.replace(there, instead) if there else text + instead
        (tmp_path / name).write_text(changed)
    assert "roottask/include/cellreap/trace_events.h" not in CHANGES
    done = run(tmp_path, sdk)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PASS" in done.stdout
    powers = tmp_path / "pyhost/cellreap/trace/check/powers.py"
    powers.write_text(powers.read_text().replace(POWERS, ""))
    done = run(tmp_path, sdk)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "renew_map" in done.stdout
