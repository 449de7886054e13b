# SPDX-License-Identifier: BSD-2-Clause
"""Progress of a command: a spinner on a terminal, plain lines in a log.

All output goes to stderr.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

Update = Callable[[str], None]
"""Shows a short text after the step's name. It is cheap enough to call for every event."""

_MIN_UPDATE_SECONDS = 0.1


class Progress:
    """Shows steps one after the other. If `quiet`, it shows nothing."""

    def __init__(self, quiet: bool = False, stream: TextIO | None = None) -> None:
        self._quiet = quiet
        self._stream = sys.stderr if stream is None else stream

    @contextmanager
    def step(self, name: str) -> Iterator[Update]:
        """Announces a step. If the step succeeds, prints how long it took."""
        if self._quiet:
            yield lambda text: None
        elif self._stream.isatty():
            yield from self._spin(name)
        else:
            start = time.monotonic()
            self._line(f"{name} ...")
            yield lambda text: None
            self._line(f"{name}: done after {time.monotonic() - start:.1f} s")

    def note(self, text: str) -> None:
        """Prints a line that stays."""
        if not self._quiet:
            self._line(text)

    def _spin(self, name: str) -> Iterator[Update]:
        from rich.console import Console  # takes 80 ms, so it is imported only when needed

        start = time.monotonic()
        shown = 0.0
        console = Console(file=self._stream)
        with console.status(name) as status:

            def update(text: str) -> None:
                nonlocal shown
                if time.monotonic() - shown > _MIN_UPDATE_SECONDS:
                    shown = time.monotonic()
                    status.update(f"{name}: {text}")

            yield update
        console.print(
            f"[green]✓[/green] {name} [dim]{time.monotonic() - start:.1f} s[/dim]", highlight=False
        )

    def _line(self, text: str) -> None:
        print(text, file=self._stream, flush=True)
