# SPDX-License-Identifier: BSD-2-Clause
"""The exit codes of every command, in one table."""

from __future__ import annotations

import enum


class ExitCode(enum.IntEnum):
    """The meaning of a command's exit code. `meaning` is the text that --help prints."""

    meaning: str

    DONE = 0, "The command did what it was asked, and what it checked passed."
    FAILED = 1, "What the command checked failed, or the run did not come to its end."
    USAGE = (
        2,
        "An argument, an input file or the environment is wrong; one line on stderr says why.",
    )
    INTERRUPTED = 130, "The command was interrupted (Ctrl-C)."
    OUTPUT_CLOSED = 141, "The reader of the command's output closed it."

    def __new__(cls, code: int, meaning: str) -> ExitCode:
        member = int.__new__(cls, code)
        member._value_ = code
        member.meaning = meaning
        return member
