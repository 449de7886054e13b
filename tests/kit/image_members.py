# SPDX-License-Identifier: BSD-2-Clause
"""The members of an IMAGE file, made for tests."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cellreap.errors import InputError
from cellreap.system.image import LOADER, MANIFEST, read_image, write_image
from kit.sdk_kit import GOOD_OPTIONS, make_elf

CONFIG = '[system]\nname = "s"\n[[pd]]\nname = "a"\nprogram = "p"\n'


def members(**changed: bytes) -> dict[str, bytes]:
    content = {
        "kernel.elf": make_elf(),
        "gen_config.json": json.dumps(GOOD_OPTIONS).encode(),
        "roottask.elf": make_elf([(0x40_0000, 0x40_0000, b"root", 4096)], entry=0x40_0000),
        "system.cdl": b"arch x86_64\n",
        "config.toml": CONFIG.encode(),
    }
    return {name: changed.get(name.replace(".", "_"), raw) for name, raw in content.items()}


def manifest(content: dict[str, bytes], **changed: Any) -> dict[str, Any]:
    digest = hashlib.sha256(content["kernel.elf"]).hexdigest()
    kernel = {"name": "seL4", "version": "15.0.0", "arch": "x86_64", "sha256": digest}
    made = {
        "arch": "x86_64",
        "kernel": kernel,
        "system": "s",
        "pds": ["a"],
        "spaces": [],
        "overrides": {},
        "sizes": {
            "base_bytes": 4096,
            "base_slots": 2,
            "bodies": {"a": 65536},
            "spawned": {},
            "base_objects": {},
            "objects": {"a": {"thread": 1}},
            "spawned_objects": {},
        },
        "target": {
            **dict.fromkeys(("slot_bits", "notification_bits"), 5),
            **dict.fromkeys(("endpoint_bits", "tcb_bits"), 4),
            **dict.fromkeys(("page_bits", "vspace_bits"), 12),
            "table_bits": [12, 12, 12],
            "table_spans": [39, 30, 21],
        },
    }
    return {**made, **changed}


def rewrite(path: Path, change: Callable[[dict[str, bytes]], object]) -> Path:
    """The image with other members. The hashes in the manifest are left as they were."""
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    change(content)
    with zipfile.ZipFile(path, "w") as archive:
        for name, raw in content.items():
            archive.writestr(name, raw)
    return path


def damage(path: Path, text: bytes, output: Path) -> None:
    """Writes an image with one bit flipped where the root task has this text."""
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist() if name != MANIFEST}
        made = json.loads(archive.read(MANIFEST))
    # The loader, if there is one, contains the root task.
    for name in {"roottask.elf", LOADER} & content.keys():
        raw = bytearray(content[name])
        raw[raw.index(text)] ^= 1
        content[name] = bytes(raw)
    kept = {key: value for key, value in made.items() if key not in ("format", "sha256")}
    write_image(output, kept, content)


def refused(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read_image(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert "\n" not in message
    return message
