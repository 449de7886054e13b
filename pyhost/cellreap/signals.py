# SPDX-License-Identifier: BSD-2-Clause
"""The signals that end this process."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType


@contextlib.contextmanager
def ending_signals_raise() -> Iterator[None]:
    """Makes SIGTERM and SIGHUP raise SystemExit in this process, so that children are ended and
    temporary files are deleted. A signal that is ignored, as under nohup, stays ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set handlers, and only it gets signals
        return

    def leave(number: int, frame: FrameType | None) -> None:
        sys.exit(128 + number)

    before = {
        number: signal.signal(number, leave)
        for number in (signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
