# SPDX-License-Identifier: BSD-2-Clause
"""A cell's flow and files on the server, where every machine reaches them."""

from __future__ import annotations

import contextlib
import io
import json
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

from taskflow import exceptions
from taskflow.persistence import path_based

from cellreap.campaign.server import Server


class SharedBackend(path_based.PathBasedBackend):  # type: ignore[misc]
    """TaskFlow's persistence in a folder of the server. What belongs together is one write."""

    DEFAULT_PATH = "flow"

    def __init__(self, server: Server, cell: str) -> None:
        super().__init__({})
        self.server = server
        self.folder = f"flow.{cell}"

    def get_connection(self) -> _Connection:
        """Every connection is the server's."""
        return _Connection(self)

    def close(self) -> None:
        """The server stays connected."""


class _Connection(path_based.PathBasedConnection):  # type: ignore[misc]
    """Names with dots stand for paths."""

    def __init__(self, backend: SharedBackend) -> None:
        super().__init__(backend)
        self._server = backend.server
        self._folder = backend.folder

    def validate(self) -> None:
        """There is nothing to prepare."""

    def _join_path(self, *parts: str) -> str:
        return ".".join(parts)

    def _get_item(self, path: str) -> Any:
        found = self._server.get(self._folder, path)
        if found is None:
            raise exceptions.NotFound(f"{path} is not there")
        return json.loads(found)

    def _set_item(self, path: str, value: Any, transaction: dict[str, bytes | None]) -> None:
        transaction[path] = json.dumps(value).encode()

    def _create_link(self, src: str, dest: str, transaction: dict[str, bytes | None]) -> None:
        transaction[dest] = b"{}"

    def _del_tree(self, path: str, transaction: dict[str, bytes | None]) -> None:
        for name in self._server.names(self._folder):
            if name == path or name.startswith(f"{path}."):
                transaction[name] = None

    def _get_children(self, path: str) -> list[str]:
        begin = f"{path}."
        names = (name for name in self._server.names(self._folder) if name.startswith(begin))
        return sorted(name[len(begin) :] for name in names if "." not in name[len(begin) :])

    def _ensure_path(self, path: str) -> None:
        """A folder is there as soon as it has names."""

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[dict[str, bytes | None]]:
        changes: dict[str, bytes | None] = {}
        yield changes
        if changes:
            self._server.put(self._folder, changes)


class SharedDepot:
    """A cell's files on the server. Each task has a name of its own for what it keeps."""

    def __init__(self, server: Server, cell: str) -> None:
        self._server = server
        self._folder = f"files.{cell}"
        self._boots = f"boots.{cell}"

    def assert_owned(self) -> None:
        """Asks the server."""
        self._server.assert_owned()

    def keep(self, name: str, paths: Sequence[Path]) -> list[Any]:
        """An archive on the server."""
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz", compresslevel=1) as archive:
            for path in paths:
                archive.add(path, path.name)
        name = f"{name}-{uuid4().hex}"
        return [name, self._server.put_large(self._folder, name, packed.getvalue())]

    def fetch(self, kept: Any, first: Path) -> None:
        """Unpacks the archive, unless it was packed here."""
        if first.exists():
            return
        name, parts = kept
        packed = io.BytesIO(self._server.get_large(self._folder, name, parts))
        with tarfile.open(fileobj=packed, mode="r:gz") as archive:
            archive.extractall(first.parent, filter="data")

    def note_boot(self) -> None:
        """A value for each boot."""
        self._server.put(self._boots, {uuid4().hex: b""})

    def boots(self) -> int:
        """How often the cell was booted, by anybody."""
        return len(self._server.names(self._boots))

    def delete_but(self, kept: Any) -> None:
        """Deletes all files but one: the server keeps no images of cells that are done."""
        begin = f"{kept[0]}." if kept else "\0"
        names = self._server.names(self._folder)
        gone: dict[str, bytes | None] = {name: None for name in names if not name.startswith(begin)}
        if gone:
            self._server.put(self._folder, gone)
