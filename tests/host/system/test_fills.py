# SPDX-License-Identifier: BSD-2-Clause
"""Files that fill regions and drives: read beside the configuration, and refused with file, line
and field.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from cellreap.errors import InputError
from cellreap.system.config import parse_config
from cellreap.system.fills import fills_of
from cellreap.system.programs import Source

CONFIG = """[system]
name = "filled"
[[pd]]
name = "pd"
program = "mute"
[[region]]
name = "data"
size = 4096
fill = "data.bin"
[[region.map]]
pd = "pd"
address = 0x40000000
[[drive]]
name = "empty"
size = 4096
"""
DRIVE = """[[drive]]
name = "disk"
size = 4096
file = "data.bin"
"""


def fills(folder: Path, text: str = CONFIG) -> dict[str, bytes]:
    path = folder / "filled.toml"
    return fills_of(Source(parse_config(text, path), text, path))


@pytest.mark.parametrize("size", [0, 1, 4096])
def test_a_file_is_read(tmp_path: Path, size: int) -> None:
    (tmp_path / "data.bin").write_bytes(b"x" * size)
    content = b"x" * size
    assert fills(tmp_path) == {"data": content, "drive-empty": b""}
    assert fills(tmp_path, CONFIG + DRIVE)["drive-disk"] == content


@pytest.mark.parametrize(
    ("size", "said"),
    [(None, "data.bin: "), (4097, "data.bin: has more than the 4096 bytes of the region")],
)
def test_a_file_that_cannot_be_used_is_refused(tmp_path: Path, size: int | None, said: str) -> None:
    if size is not None:
        (tmp_path / "data.bin").write_bytes(b"x" * size)
    with pytest.raises(InputError) as caught:
        fills(tmp_path)
    error = caught.value
    assert (error.path, error.line_number, error.field) == (
        str(tmp_path / "filled.toml"), 9, "region[0].fill",
    )  # fmt: skip
    assert error.expected.startswith(said)


@pytest.mark.parametrize(
    ("size", "said"),
    [(None, "data.bin: "), (4097, "data.bin: has more than the 4096 bytes of the drive")],
)
def test_a_drive_of_a_file_that_cannot_be_used_is_refused(
    tmp_path: Path, size: int | None, said: str
) -> None:
    if size is not None:
        (tmp_path / "data.bin").write_bytes(b"x" * size)
    text = CONFIG.replace('fill = "data.bin"\n', "") + DRIVE
    with pytest.raises(InputError) as caught:
        fills(tmp_path, text)
    error = caught.value
    assert (error.line_number, error.field) == (18, "drive[1].file")
    assert error.expected.startswith(said)
