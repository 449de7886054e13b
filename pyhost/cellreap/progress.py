# SPDX-License-Identifier: BSD-2-Clause
"""Progress of a command: a spinner on a terminal, plain lines in a log.

All output goes to stderr. In a log, a step that takes long says so every five seconds.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

Update = Callable[[str], None]
"""Shows a short text after the step's name. It is cheap enough to call for every event."""

_MIN_UPDATE_SECONDS = 0.1
_SIGN_SECONDS = 5.0


class Progress:
    """Shows steps one after the other. If `quiet`, it shows nothing."""

    def __init__(
        self, quiet: bool = False, stream: TextIO | None = None, every: float = _SIGN_SECONDS
    ) -> None:
        """every: seconds between the lines of a step in a log."""
        self._quiet = quiet
        self._every = every
        self._stream = sys.stderr if stream is None else stream

    @contextmanager
    def step(self, name: str, signs: bool = True) -> Iterator[Update]:
        """Announces a step. If the step succeeds, prints how long it took.

        signs: whether a log gets a line every few seconds.
        """
        if self._quiet:
            yield lambda text: None
        elif self._stream.isatty():
            yield from self._spin(name)
        else:
            yield from self._tell(name, self._every if signs else None)

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

    def _tell(self, name: str, every: float | None) -> Iterator[Update]:
        start = time.monotonic()
        over = threading.Event()
        latest = ""

        def update(text: str) -> None:
            nonlocal latest
            latest = f", {text}"

        def say_so() -> None:
            while not over.wait(every):
                self._line(f"{name}: {time.monotonic() - start:.0f} s so far{latest}")

        self._line(f"{name} ...")
        signs = threading.Thread(target=say_so, daemon=True)
        signs.start()
        try:
            yield update
        finally:
            over.set()
            signs.join()
        self._line(f"{name}: done after {time.monotonic() - start:.1f} s")

    def _line(self, text: str) -> None:
        print(text, file=self._stream, flush=True)
