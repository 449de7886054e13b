# SPDX-License-Identifier: BSD-2-Clause
"""The secret of an image, from which the root task derives the key of each run's trace."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from cellreap.errors import UsageError
from cellreap.system.blob import build_blob, layout
from cellreap.system.config import parse_config
from cellreap.system.trace_key import VARIABLE, key_for, parse_key, user_secret

CONFIG = '[system]\nname = "s"\n[[pd]]\nname = "a"\nprogram = "idler"\n'


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for what belongs to the user."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv(VARIABLE, raising=False)
    return tmp_path / "data" / "cellreap"


def key_of(text: str = CONFIG, key: bytes | None = None) -> bytes:
    """The secret in the configuration of an image."""
    config = parse_config(text, Path("f.toml"))
    blob = build_blob(config, {"idler": b"elf"}, "seL4 16.0.0", "x86_64", trace_key=key)
    header = layout().from_buffer("cr_image_header *", blob)
    return bytes(header.trace_key)


@pytest.mark.behaviour("H-02", "J-15")
def test_an_image_has_the_same_secret_whenever_it_is_built(home: Path) -> None:
    first = key_of()
    assert key_of() == first != bytes(16)
    assert key_of(CONFIG.replace('"s"', '"t"')) != first
    assert stat.S_IMODE((home / "trace-secret").stat().st_mode) == 0o600


@pytest.mark.behaviour("J-15")
def test_another_user_has_other_secrets(home: Path) -> None:
    first = key_of()
    (home / "trace-secret").unlink()
    assert key_of() != first


@pytest.mark.behaviour("J-15")
def test_a_secret_that_cannot_be_kept_is_drawn_anew_and_the_user_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "file"))
    assert user_secret() != user_secret()
    (line,) = capsys.readouterr().err.splitlines()
    assert str(tmp_path / "file") in line
    assert "Not a directory. The trace secret cannot be kept" in line
    assert VARIABLE in line
    assert "--trace-key" in line
    (tmp_path / "cellreap").mkdir()
    (tmp_path / "cellreap" / "trace-secret").write_bytes(b"short")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert user_secret() != user_secret()
    (line,) = capsys.readouterr().err.splitlines()
    assert "trace-secret: expected 32 bytes, found 5. The trace secret cannot be kept" in line


@pytest.mark.behaviour("J-15")
def test_a_secret_that_is_kept_is_no_news(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert key_of() == key_of()
    assert capsys.readouterr().err == ""


def test_a_given_key_is_the_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    given = bytes(range(16))
    assert key_of(key=given) == given
    monkeypatch.setenv(VARIABLE, given.hex())
    assert key_of() == key_for(b"anything") == given


@pytest.mark.parametrize("text", ["", "00", "x" * 32, "00" * 17, " " + "0" * 31, "00 " * 16])
def test_a_key_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"--trace-key .*: expected 32 hex digits"):
        parse_key(text, "--trace-key")
