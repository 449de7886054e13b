# SPDX-License-Identifier: BSD-2-Clause
"""Runs the command line in a process of its own that need not import it.

The imports take longer than most commands. So one process imports them once, and each command runs
in a fork of it, with its own environment, directory and output. Tests of the start, of signals and
of closed output start a new Python instead.
"""

from __future__ import annotations

import functools
import gc
import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext
from pathlib import Path
from unittest.mock import patch

from cellreap.cli.main import _COMMANDS, main


def _command(
    arguments: Sequence[str], env: Mapping[str, str], cwd: str, stdout: str, stderr: str
) -> None:
    for fd, path in ((0, os.devnull), (1, stdout), (2, stderr)):
        os.dup2(os.open(path, os.O_RDWR), fd)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    # What the imports cached may follow from another environment.
    for cached in gc.get_objects():
        if isinstance(cached, functools._lru_cache_wrapper):
            cached.cache_clear()
    main(arguments)


@functools.cache
def _context() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, *(module for module, _, _ in _COMMANDS.values())])
    # The server ignores the paths of this process, and imports nothing if it finds nothing.
    with patch.dict(os.environ, {"PYTHONPATH": os.pathsep.join(sys.path)}):
        forkserver.ensure_running()
    return context


def run_cellreap(
    *arguments: str, env: Mapping[str, str], cwd: Path, timeout: float
) -> subprocess.CompletedProcess[str]:
    """Runs `cellreap` with these arguments to its end, as `subprocess.run` would.

    timeout: in seconds; TimeoutExpired after it.
    """
    with tempfile.TemporaryDirectory() as folder:
        stdout, stderr = Path(folder, "stdout"), Path(folder, "stderr")
        stdout.touch()
        stderr.touch()
        process = _context().Process(
            target=_command, args=(arguments, dict(env), str(cwd), str(stdout), str(stderr))
        )
        process.start()
        process.join(timeout)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(["cellreap", *arguments], timeout)
        return subprocess.CompletedProcess(
            ["cellreap", *arguments], process.exitcode, stdout.read_text(), stderr.read_text()
        )
