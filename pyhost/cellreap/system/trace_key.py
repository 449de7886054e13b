# SPDX-License-Identifier: BSD-2-Clause
"""The secret in an image, from which the root task derives the key of each run's trace.

The secret of an image is derived from its contents and from a random secret of the user. So the
same input yields the same bytes, and no program of a PD can know the secret of its image.
"""

from __future__ import annotations

import functools
import hashlib
import os
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path

from cellreap import headers
from cellreap.errors import UsageError
from cellreap.system.sdk import data_folder

VARIABLE = "CELLREAP_TRACE_KEY"
"""A key for all images, for builds that are the same on every machine."""
_FILE = "trace-secret"
_BYTES = 32


def parse_key(text: str, name: str) -> bytes:
    """A key as hex digits. name: for messages. UsageError if it is wrong."""
    size = headers.constant("image.h", "CR_IMAGE_KEY_BYTES")
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) != size or len(text) != 2 * size:
        raise UsageError(f"{name} '{text}': expected {2 * size} hex digits")
    return key


def key_for(blob: bytes | bytearray) -> bytes:
    """The secret of an image whose configuration is `blob`: the one of the environment, or one of
    this image and user.
    """
    if given := os.environ.get(VARIABLE):
        return parse_key(given, VARIABLE)
    size = headers.constant("image.h", "CR_IMAGE_KEY_BYTES")
    return hashlib.blake2s(blob, digest_size=size, key=user_secret()).digest()


def secret_id(trace_key: bytes | None) -> str | None:
    """A name for what the secrets of images are derived from. It does not tell them.

    trace_key: the key of one image, instead of the environment's and the user's. None if there is
    no such name, because the user's secret cannot be kept.
    """
    given = os.environ.get(VARIABLE)
    secret = trace_key or (parse_key(given, VARIABLE) if given else user_secret())
    if not trace_key and not given and secret != user_secret():
        return None
    return hashlib.blake2s(b"cellreap image", key=secret).hexdigest()


def user_secret(env: Mapping[str, str] | None = None) -> bytes:
    """The user's secret, made when it is first needed.

    If it cannot be kept, the user is told so once. It is then another one each time, and builds are
    not the same.
    """
    path = data_folder(os.environ if env is None else env) / _FILE
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            # Written beside and linked, so that two builds at once agree and none reads a part.
            beside = path.with_name(f".{_FILE}.{secrets.token_hex(8)}")
            descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(secrets.token_bytes(_BYTES))
                if not path.exists():
                    os.link(beside, path)
            except FileExistsError:
                pass  # another build was first
            finally:
                beside.unlink()
        kept = path.read_bytes()
    except OSError as error:
        return _not_kept(path, error.strerror or str(error))
    if len(kept) != _BYTES:
        return _not_kept(path, f"expected {_BYTES} bytes, found {len(kept)}")
    return kept


def _not_kept(path: Path, why: str) -> bytes:
    _tell(path, why)
    return secrets.token_bytes(_BYTES)


@functools.cache  # once for each file and reason, however many images a process builds
def _tell(path: Path, why: str) -> None:
    print(
        f"cellreap: {path}: {why}. The trace secret cannot be kept, so equal builds give different "
        f"images. {VARIABLE} or --trace-key sets one key for all.",
        file=sys.stderr,
    )
