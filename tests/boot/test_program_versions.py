# SPDX-License-Identifier: BSD-2-Clause
"""Programs say for which version of the protocol they are built."""

from __future__ import annotations

from pathlib import Path

import pytest

from cellreap import headers
from cellreap.errors import InputError
from cellreap.progress import Progress
from cellreap.system.build import build_image
from cellreap.system.config import load_config
from cellreap.system.elf import protocol_version, read_executable
from cellreap.testing import Target

QUIET = Progress(quiet=True)
NOW = headers.constant("protocol.h", "CR_PROTOCOL_VERSION")
NOTE = b"cellreap\0\0\0\0"
CONFIG = """[system]
name = "given"

[[program]]
name = "given"
elf = "given.elf"

[[pd]]
name = "given"
program = "given"
background = true
"""


@pytest.mark.behaviour("G-46")
@pytest.mark.parametrize("version", [NOW, NOW - 1, NOW + 1])
def test_a_program_for_another_version_is_refused_by_its_key(
    target: Target, tmp_path: Path, version: int
) -> None:
    counter = target.find("counter")
    built = build_image(
        load_config(counter), counter.read_text(), target.sdk, tmp_path / "a.img", QUIET,
        path=counter,
    ).programs  # fmt: skip
    raw = built["counter"]
    assert protocol_version(read_executable(raw, "counter", target.sdk.kernel.arch)) == NOW
    assert raw.count(NOTE) == 1
    at = raw.index(NOTE) + len(NOTE)
    (tmp_path / "given.elf").write_bytes(raw[:at] + version.to_bytes(4, "little") + raw[at + 4 :])
    path = tmp_path / "given.toml"
    path.write_text(CONFIG)

    def build() -> None:
        build_image(load_config(path), CONFIG, target.sdk, tmp_path / "b.img", QUIET, path=path)

    if version == NOW:
        build()
        return
    with pytest.raises(InputError) as caught:
        build()
    said = f"is built for version {version} of the protocol; expected {NOW}"
    assert caught.value.line() == f"{path}:6: program[0].elf: given.elf: {said}"
    assert not (tmp_path / "b.img").exists()
