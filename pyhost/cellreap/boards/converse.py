# SPDX-License-Identifier: BSD-2-Clause
"""Holds the conversation of `talk` on a console, against deadlines."""

from __future__ import annotations

import io
import time
from typing import BinaryIO

from cellreap.boards.board import Stream
from cellreap.boards.talk import Script, State, Talk, UbootError
from cellreap.errors import CellreapError

_QUIET = 1.0  # seconds of silence after which the prompt is asked for again
_XMODEM_RETRIES = 16


def converse(stream: Stream, script: Script, payload: bytes, log: BinaryIO) -> Talk:
    """Brings U-Boot to boot. UbootError if it does not do so.

    payload: for a transfer on the console. log: gets all that U-Boot prints.
    """
    talk = Talk(script)
    turn, since = talk.turn, time.monotonic()
    while talk.state is not State.BOOTING:
        left = since + talk.seconds - time.monotonic()
        if left <= 0:
            raise talk.late()
        data = stream.read(min(left, _QUIET))
        if data is None:
            out = talk.quiet()
        elif not data:
            raise UbootError(f"the console was closed: {stream.last_words or 'without a word'}")
        else:
            _keep(log, data)
            out = talk.take(data)
        if out:
            stream.write(out)
        if talk.state is State.TRANSFER:
            left_over = _send(stream, payload, log, time.monotonic() + talk.seconds)
            talk.transferred()
            stream.write(talk.take(left_over))
        if talk.turn != turn:
            turn, since = talk.turn, time.monotonic()
    return talk


def _keep(log: BinaryIO, data: bytes) -> None:
    log.write(data)
    log.flush()


def _send(stream: Stream, payload: bytes, log: BinaryIO, until: float) -> bytes:
    """Sends the payload with XMODEM. Returns what was read beyond the end of the transfer.

    UbootError if it does not arrive.
    """
    try:
        from xmodem import XMODEM
    except ImportError:
        raise CellreapError(
            'load = "serial" needs the package xmodem: pip install "cellreap[boards]"'
        ) from None
    pending = bytearray()

    def getc(size: int, timeout: float = 1) -> bytes | None:
        end = time.monotonic() + timeout
        while len(pending) < size:
            now = time.monotonic()
            if now > until:
                raise UbootError("the transfer on the console takes too long")
            data = stream.read(max(0.0, min(end, until) - now))
            if data == b"":
                raise UbootError("the console was closed during the transfer")
            if data is None:
                if time.monotonic() >= end:
                    return None
                continue
            pending.extend(data)
        got = bytes(pending[:size])
        del pending[:size]
        return got

    def putc(data: bytes, timeout: float = 1) -> int:
        if time.monotonic() > until:
            raise UbootError("the transfer on the console takes too long")
        stream.write(data)
        return len(data)

    sent = XMODEM(getc, putc, mode="xmodem1k").send(io.BytesIO(payload), retry=_XMODEM_RETRIES)
    _keep(log, b"[%d bytes sent with XMODEM]" % len(payload) + bytes(pending))
    if not sent:
        raise UbootError("U-Boot did not take what was sent with XMODEM")
    return bytes(pending)
