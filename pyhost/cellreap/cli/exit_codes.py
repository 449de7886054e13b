# SPDX-License-Identifier: BSD-2-Clause
"""The exit codes of every command, in one table."""

from __future__ import annotations

import enum


class ExitCode(enum.IntEnum):
    """The meaning of a command's exit code. `meaning` is the text that --help prints."""

    meaning: str

    DONE = 0, "The command did what it was asked, and what it checked passed."
    FAILED = (
        1,
        "What the command checked failed, its source does not tell enough to conclude, or the "
        "kernel or the root task stopped.",
    )
    USAGE = (
        2,
        "An argument, an input file or the environment is wrong; one line on stderr says why.",
    )
    UNEXPECTED = (
        3,
        "The run passed its check and is not what the configuration expects: [expect], or a PD "
        "crashed by itself or never ran, a crash did not come about, a cleanup left something, or "
        "nobody is left.",
    )
    NO_END = (
        4,
        "The run did not come to its end in time, or its trace has no END, and the trace is right "
        "as far as it goes.",
    )
    INTERRUPTED = (
        130,
        "The command was interrupted (Ctrl-C). A system that goes on by itself is ended in this "
        "way, and `run` then exits with 0, 1 or 3.",
    )
    OUTPUT_CLOSED = 141, "The reader of the command's output closed it."

    def __new__(cls, code: int, meaning: str) -> ExitCode:
        member = int.__new__(cls, code)
        member._value_ = code
        member.meaning = meaning
        return member
