# SPDX-License-Identifier: BSD-2-Clause
"""Files of the cache: where it is, names for what a file is made from, and how one gets there.

A file is put there whole, under a name for all that it is made from. So it needs no lock and never
becomes outdated. `system.cache` has what else the cache keeps.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from cellreap.errors import CellreapError


def cache_folder(env: Mapping[str, str] | None = None) -> Path:
    """The folder of builds: $XDG_CACHE_HOME/cellreap."""
    env = os.environ if env is None else env
    base = Path(env.get("XDG_CACHE_HOME") or Path(env.get("HOME", "~")) / ".cache")
    return base.expanduser() / "cellreap"


def digest_of(*facts: str | bytes) -> str:
    """A name for these facts, in this order."""
    total = hashlib.sha256()
    for fact in facts:
        raw = fact.encode() if isinstance(fact, str) else fact
        total.update(f"{len(raw)}\0".encode())
        total.update(raw)
    return total.hexdigest()[:24]


def kept(path: Path) -> bytes | None:
    """The content of a file in the cache; None if there is none. The file counts as used now."""
    try:
        content = path.read_bytes()
        os.utime(path)
    except OSError:
        return None
    return content


def keep(path: Path, content: bytes) -> None:
    """Puts a file into the cache, whole or not at all."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            beside.write_bytes(content)
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise CellreapError(f"{path}: cannot be used as a cache: {error.strerror}") from None


def remembered(kind: str, facts: Iterable[str | bytes], make: Callable[[], Any]) -> Any:
    """What `make` returns for these facts, as JSON has it: from the cache if it was made before.

    kind: the folder of the cache. facts: all that the result depends on, with the code that makes
    it. Where nothing can be kept, it is made each time.
    """
    path = cache_folder() / kind / f"{digest_of(*facts)}.json"
    found = kept(path)
    if found is not None:
        with contextlib.suppress(ValueError):  # the machine stopped before it was on the disk
            return json.loads(found)
    text = json.dumps(make())
    with contextlib.suppress(CellreapError):
        keep(path, text.encode())
    return json.loads(text)
