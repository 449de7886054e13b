# SPDX-License-Identifier: BSD-2-Clause
"""What is going on, for whoever waits: a spinner on a terminal, plain lines in a log.

Always on stderr.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

Update = Callable[[str], None]
"""Shows a short text behind the step's name; cheap enough to be called for every event."""

_MIN_UPDATE_SECONDS = 0.1


class Progress:
    """Steps one after the other. `quiet` shows nothing at all."""

    def __init__(self, quiet: bool = False, stream: TextIO | None = None) -> None:
        self._quiet = quiet
        self._stream = sys.stderr if stream is None else stream

    @contextmanager
    def step(self, name: str) -> Iterator[Update]:
        """Announces a step, and how long it took when it ends well."""
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
        """One line that stays."""
        if not self._quiet:
            self._line(text)

    def _spin(self, name: str) -> Iterator[Update]:
        from rich.console import Console  # 80 ms that nobody needs who is not looking

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
