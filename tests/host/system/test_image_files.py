# SPDX-License-Identifier: BSD-2-Clause
"""IMAGE files: equal bytes for equal content, written whole or not at all, checked when read."""

from __future__ import annotations

import io
import json
import random
import zipfile
from pathlib import Path
from typing import Any

import pytest

from cellreap.errors import InputError
from cellreap.system.image import MANIFEST, MEMBERS, read_image, write_image
from kit.image_members import manifest, members, refused, rewrite
from kit.sdk_kit import GOOD_OPTIONS, make_elf


def make(path: Path, **changed: bytes) -> Path:
    content = members(**changed)
    write_image(path, manifest(content), content)
    return path


def test_what_was_written_is_read(tmp_path: Path) -> None:
    image = read_image(make(tmp_path / "a.img"))
    content = members()
    assert (image.kernel, image.roottask) == (content["kernel.elf"], content["roottask.elf"])
    assert image.options == GOOD_OPTIONS
    assert image.config.pds[0].name == "a"
    assert (image.manifest.system, image.manifest.kernel.version) == ("s", "15.0.0")


def test_drives_are_read_and_must_be_those_of_the_configuration(tmp_path: Path) -> None:
    text = members()["config.toml"] + b'[[drive]]\nname = "disk"\nsize = 512\n'
    content = {**members(config_toml=text), "drive-disk": b"x"}
    path = tmp_path / "a.img"
    write_image(path, manifest(content), content)
    assert read_image(path).drives == {"disk": b"x"}
    write_image(path, manifest(content), {**content, "drive-other": b""})
    assert "its drives are not those of the image" in refused(path)


def test_same_content_same_bytes(tmp_path: Path) -> None:
    one, other = make(tmp_path / "a.img"), make(tmp_path / "b.img")
    assert one.read_bytes() == other.read_bytes()
    with zipfile.ZipFile(one) as archive:
        assert archive.namelist() == [MANIFEST, *MEMBERS]
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make(tmp_path / "a.img")
    before = path.read_bytes()

    def full(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(InputError, match="cannot be written: No space left on device"):
        make(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none/a\.img: cannot be written"):
        make(tmp_path / "none" / "a.img")


@pytest.mark.parametrize(
    "raw", [b"", b"[system]\n", b"PK\x03\x04", b"\x7fELF" * 100, b"PK\x05\x06" + bytes(18)]
)
def test_what_is_no_image_is_refused(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "a.img"
    path.write_bytes(raw)
    refused(path)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    assert "No such file" in refused(tmp_path / "none.img")
    assert "directory" in refused(tmp_path)


def test_a_huge_file_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "huge.img"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    assert "expected an image of at most" in refused(path)


@pytest.mark.slow
def test_a_small_file_that_unpacks_to_a_huge_one_is_refused(tmp_path: Path) -> None:
    path = make(tmp_path / "a.img")
    packed = io.BytesIO()
    with (
        zipfile.ZipFile(path) as archive,
        zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as bomb,
    ):
        for name in archive.namelist():
            if name != "roottask.elf":
                bomb.writestr(name, archive.read(name))
        with bomb.open("roottask.elf", "w", force_zip64=True) as file:
            for _ in range(513):
                file.write(bytes(1 << 20))
    path.write_bytes(packed.getvalue())
    assert path.stat().st_size < 2 << 20
    assert "unpacks to" in refused(path)


def test_an_image_cut_or_changed_anywhere_is_refused(tmp_path: Path) -> None:
    raw = make(tmp_path / "a.img").read_bytes()
    path = tmp_path / "mangled.img"
    chance = random.Random(5)
    for _ in range(150):
        path.write_bytes(raw[: chance.randrange(len(raw))])
        refused(path)
    with zipfile.ZipFile(tmp_path / "a.img") as archive:
        infos = archive.infolist()
    for info in infos:  # Every byte of content counts. The zip's own metadata need not.
        start = info.header_offset + 30 + len(info.filename)
        for _ in range(20):
            at = start + chance.randrange(info.file_size)
            path.write_bytes(raw[:at] + bytes([raw[at] ^ 1 << chance.randrange(8)]) + raw[at + 1 :])
            refused(path)


def test_members_missing_added_or_twice_are_told(tmp_path: Path) -> None:
    path = make(tmp_path / "a.img")
    whole = path.read_bytes()
    assert "expected config.toml, " in refused(
        rewrite(path, lambda content: content.pop("kernel.elf"))
    )
    path.write_bytes(whole)
    assert "../evil" in refused(rewrite(path, lambda content: content.update({"../evil": b"x"})))
    path.write_bytes(whole)
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(path, "a") as archive:
        archive.writestr("kernel.elf", b"another")
    assert "kernel.elf, kernel.elf" in refused(path)


@pytest.mark.parametrize("name", MEMBERS)
def test_a_member_that_is_not_the_manifests_is_told(tmp_path: Path, name: str) -> None:
    path = rewrite(
        make(tmp_path / "a.img"), lambda content: content.update({name: content[name] + b" "})
    )
    assert f"{name}: has SHA-256" in refused(path)


@pytest.mark.behaviour("G-46")
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": 2}, "format: is 2: expected 1"),
        ({"format": None}, "format: is None: expected 1"),
        ({"arch": "aarch64"}, "is not the kernel in the image"),
        ({"arch": "mips"}, "arch: Input should be 'x86_64', 'aarch64' or 'riscv64'"),
        ({"pds": "a"}, "pds: Input should be a valid list"),
        ({"surplus": 1}, "surplus: Extra inputs are not permitted"),
        ({"sha256": {}}, "sha256: Dictionary should have at least 5 items"),
        ({"kernel": {"name": "seL4"}}, "kernel.version: Field required"),
        ({"target": {"slot_bits": 64}}, "target.slot_bits: Input should be less than or equal to"),
    ],
)
def test_a_manifest_that_is_wrong_is_told(
    tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    def alter(content: dict[str, bytes]) -> None:
        content[MANIFEST] = json.dumps({**json.loads(content[MANIFEST]), **change}).encode()

    assert said in refused(rewrite(make(tmp_path / "a.img"), alter))


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"[]", b"null", b"[" * 100_000, b"\xff\xfe", b" " * (2 << 20)]
)
def test_a_manifest_that_is_none_is_told(tmp_path: Path, raw: bytes) -> None:
    path = rewrite(make(tmp_path / "a.img"), lambda content: content.update({MANIFEST: raw}))
    assert MANIFEST in refused(path)


@pytest.mark.parametrize(
    ("member", "raw", "said"),
    [
        ("kernel_elf", make_elf(arch="aarch64"), "kernel.elf: e_machine"),
        ("roottask_elf", make_elf(arch="aarch64"), "roottask.elf: e_machine"),
        ("roottask_elf", b"", "roottask.elf: is empty"),
        ("gen_config_json", b"{}", "SEL4_ARCH"),
        ("config_toml", b"[system]\n", "system.name: missing"),
        ("config_toml", b"\xff\xfe", "config.toml: not UTF-8"),
    ],
)
def test_a_member_that_is_not_what_it_should_be_is_told(
    tmp_path: Path, member: str, raw: bytes, said: str
) -> None:
    assert said in refused(make(tmp_path / "a.img", **{member: raw}))
