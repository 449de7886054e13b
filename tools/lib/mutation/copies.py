# SPDX-License-Identifier: BSD-2-Clause
"""Copies of a checkout, in which faults are planted. The checkout itself is never written."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from cellreap.errors import CellreapError


def files_of(root: Path) -> dict[str, bytes]:
    """The files of a checkout that git does not ignore, with their contents."""
    done = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        capture_output=True,
        check=False,
    )
    if done.returncode:
        raise CellreapError(f"{root}: {done.stderr.decode(errors='replace').strip()}")
    names = sorted(filter(None, done.stdout.decode().split("\0")))
    return {name: (root / name).read_bytes() for name in names if (root / name).is_file()}


def digest(files: Mapping[str, bytes]) -> str:
    """A name for the state of these files."""
    hashed = hashlib.sha256()
    for name, content in sorted(files.items()):
        hashed.update(f"{name}\0{len(content)}\0".encode() + content)
    return hashed.hexdigest()[:16]


class Copy:
    """A copy of a checkout. `folder` has the tree and what its commands leave behind."""

    def __init__(self, root: Path, files: Mapping[str, bytes], folder: Path) -> None:
        """Makes the copy, or brings one that exists up to date."""
        self.folder = folder
        self.tree = folder / "tree"
        self._files = files
        self._changed: set[str] = set()
        for name in self._present() - files.keys():
            (self.tree / name).unlink()
        for name, content in files.items():
            path = self.tree / name
            if not path.is_file() or path.read_bytes() != content:
                path.parent.mkdir(parents=True, exist_ok=True)
                self._write(name, content)
            shutil.copymode(root / name, path)
        if not (self.tree / ".git").exists():
            # Tests ask git which files there are.
            self._git("init", "--quiet")
        self._git("add", "--all")

    @property
    def env(self) -> dict[str, str]:
        """The environment of commands in the copy: their modules, caches and temporary files."""
        cache, temporary = self.folder / "cache", self.folder / "tmp"
        cache.mkdir(exist_ok=True)
        temporary.mkdir(exist_ok=True)
        return {
            "PYTHONPATH": str(self.tree / "pyhost"),
            "XDG_CACHE_HOME": str(cache),
            "TMPDIR": str(temporary),
            "PYTEST_ADDOPTS": "-p no:cacheprovider",
            "CELLREAP_HOME": str(self.tree),
        }

    def plant(self, changed: Mapping[str, bytes]) -> None:
        """Writes the changed files."""
        for name, content in changed.items():
            self._changed.add(name)
            self._write(name, content)

    def restore(self) -> None:
        """Takes the planted changes back, and removes what was built with them."""
        for name in sorted(self._changed):
            self._write(name, self._files[name])
        self._changed.clear()
        shutil.rmtree(self.folder / "tmp", ignore_errors=True)
        shutil.rmtree(self.folder / "cache" / "cellreap" / "build", ignore_errors=True)

    def _write(self, name: str, content: bytes) -> None:
        path = self.tree / name
        path.write_bytes(content)
        if path.suffix == ".py":
            # Python takes a compiled file for current that was made in the same second.
            for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
                compiled.unlink()

    def _present(self) -> set[str]:
        if not (self.tree / ".git").exists():
            return set()
        return set(files_of(self.tree))

    def _git(self, *arguments: str) -> None:
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.tree,
            env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise CellreapError(f"git {arguments[0]}: {done.stderr.strip()}")
