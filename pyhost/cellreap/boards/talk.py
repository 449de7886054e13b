# SPDX-License-Identifier: BSD-2-Clause
"""The conversation with U-Boot, as a state machine without a clock and without a console.

It gets what U-Boot prints and returns what is to be sent. A command is sent as `COMMAND; echo
WORD$?`, with another word each time. The echo of the line has `$?` where the answer has a number,
so noise, echoes and earlier prompts are not taken for the end of the command.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_KEPT = 1 << 16  # bytes of a state that are kept: much more than any answer
_SHOWN = 100  # characters of the last line in messages
_ESCAPES = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]|\x00")
_STARTING = rb"(?:^|\n)DRAM: "
"""U-Boot prints this early after each reset, and at no other time."""
END_OF_LINE = b"\r"


class UbootError(Exception):
    """U-Boot did not do what it was told. Another try may succeed."""


@dataclass(frozen=True)
class Command:
    """A line for U-Boot."""

    text: str
    seconds: float
    """How long it may take."""
    wrong: Callable[[str], str] = lambda answer: ""
    """Gets the answer, and returns what is wrong with it. Empty: nothing."""
    transfer: re.Pattern[bytes] | None = None
    """What it prints when it is ready for a transfer on the console."""


@dataclass(frozen=True)
class Script:
    """What U-Boot is told."""

    prompt: str
    autoboot: str
    """A part of the line that says that the boot can be stopped."""
    interrupt: str
    """The key that stops it."""
    commands: tuple[Command, ...]
    boot: str
    """The last line: it boots the image, and so it has no answer."""
    prompt_seconds: float
    """How long the board may take from power to prompt."""


class State(enum.Enum):
    """What is awaited."""

    PROMPT = "the prompt"
    ANSWER = "the answer"
    TRANSFER = "the transfer"
    BOOTING = "the system"


class Talk:
    """The conversation. `state` tells what is awaited, `seconds` how long it may take."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._seen = b""
        self._next = 0
        self._interrupted = False
        self._mistaken = False
        self._line = 0
        self._prompt = script.prompt.strip().encode()
        self.state = State.PROMPT
        self.turn = 0
        """Grows whenever something else is awaited: then the time begins anew."""

    @property
    def seconds(self) -> float:
        """How long U-Boot may take, from the beginning of the turn."""
        if self.state is State.PROMPT:
            return self._script.prompt_seconds
        return self._script.commands[self._next].seconds

    def take(self, data: bytes) -> bytes:
        """Takes what U-Boot printed, and returns what is to be sent. UbootError if it is wrong."""
        self._seen = _ESCAPES.sub(b"", self._seen + data)[-_KEPT:]
        if self.state is State.PROMPT:
            return self._await_prompt()
        command = self._script.commands[self._next]
        if self._was_reset():
            if self._next == 0 and not self._mistaken:
                return self._begin_again()
            raise UbootError(f"the board was reset during `{command.text}`")
        if self.state is State.ANSWER and command.transfer and command.transfer.search(self._seen):
            self._turn(State.TRANSFER)
            return b""
        return self._await_answer(command)

    def quiet(self) -> bytes:
        """What is to be sent after a while of silence."""
        # The line about the autoboot may have been garbled, or not printed at all.
        return self._script.interrupt.encode() if self.state is State.PROMPT else b""

    def transferred(self) -> None:
        """To be called after the transfer: now the answer to the command is awaited."""
        self._turn(State.ANSWER)

    def late(self) -> UbootError:
        """The error to raise when the time is up."""
        if self.state is State.PROMPT:
            return UbootError(
                f"no prompt `{self._script.prompt}` within {self.seconds:g} s: {self._last_words()}"
            )
        text = self._script.commands[self._next].text
        return UbootError(f"no answer to `{text}` within {self.seconds:g} s: {self._last_words()}")

    def ends(self) -> re.Pattern[bytes]:
        """Lines that show, after the boot, that U-Boot has control again."""
        autoboot = re.escape(self._script.autoboot.encode())
        return re.compile(rb"%s\d+|^\s*DRAM: [^\r\n]*|%s" % (self._word(), autoboot), re.MULTILINE)

    def _await_prompt(self) -> bytes:
        out = b""
        if not self._interrupted and self._script.autoboot.encode() in self._seen:
            self._interrupted = True
            out = self._script.interrupt.encode()
        return self._go_on() if self._at_prompt() else out

    def _begin_again(self) -> bytes:
        """U-Boot starts only now: what looked like its prompt was printed by what ran before it."""
        self._mistaken, self._interrupted = True, False
        self.state = State.PROMPT
        self.turn += 1
        return self._await_prompt()

    def _await_answer(self, command: Command) -> bytes:
        word = self._word()
        ended = re.search(rb"%s(\d+)[\r\n]" % word, self._seen)
        if ended is None or not self._at_prompt():
            return b""
        answer = self._seen[: ended.start()].decode("utf-8", "replace")
        answer = answer.rpartition(f"{word.decode()}$?")[2]  # what follows the echo of the line
        said = _last_line(answer)
        if int(ended[1]):
            raise UbootError(f"`{command.text}` failed: {said or 'without a word'}")
        if wrong := command.wrong(answer):
            raise UbootError(f"`{command.text}`: {wrong}")
        self._next += 1
        return self._go_on()

    def _go_on(self) -> bytes:
        """Begins the next command, or the boot."""
        commands = self._script.commands
        last = self._next == len(commands)
        self._turn(State.BOOTING if last else State.ANSWER)
        text = self._script.boot if last else commands[self._next].text
        self._line += 1  # also if the line was sent before: that one may be answered too
        return text.encode() + b"; echo " + self._word() + b"$?" + END_OF_LINE

    def _turn(self, state: State) -> None:
        if self.state is not State.TRANSFER:
            self._seen = b""
        self.state = state
        self.turn += 1

    def _at_prompt(self) -> bool:
        """Whether the last line is the prompt, with nothing behind it but echoes of our keys."""
        line = re.split(rb"[\r\n]", self._seen)[-1]
        rest = line.removeprefix(self._prompt)
        return len(rest) < len(line) and not rest.strip(self._script.interrupt.encode() + b" ")

    def _was_reset(self) -> bool:
        return (
            re.search(_STARTING, self._seen) is not None
            or self._script.autoboot.encode() in self._seen
        )

    def _last_words(self) -> str:
        text = self._seen.decode("utf-8", "replace")
        if not text.strip():
            return "it said nothing"
        odd = sum(not (letter.isprintable() or letter.isspace()) for letter in text)
        odd += text.count("\N{REPLACEMENT CHARACTER}")
        if odd * 4 > len(text):
            return "it said what is no text; is the speed of the console right?"
        return f"it last said `{_last_line(text)}`"

    def _word(self) -> bytes:
        """What comes before the status of the line that was sent last."""
        return b"cellreap%d=" % self._line


def _last_line(text: str) -> str:
    lines = [line.strip() for line in re.split(r"[\r\n]", text) if line.strip()]
    shown = "".join(letter if letter.isprintable() else "?" for letter in (lines or [""])[-1])
    return shown if len(shown) <= _SHOWN else f"{shown[: _SHOWN - 3]}..."


def setting_commands(lines: Sequence[str], seconds: float) -> tuple[Command, ...]:
    """Commands of the description, of which only the status counts."""
    return tuple(Command(line, seconds) for line in lines)


def tftp_command(address: int, where: str, size: int, seconds: float) -> Command:
    """Loads a file by TFTP. where: the file, or server:file. size: of the right file."""

    def wrong(answer: str) -> str:
        told = re.search(r"Bytes transferred = (\d+)", answer)
        if told is None:
            return f"it does not say how many bytes it loaded: {_last_line(answer)}"
        if int(told[1]) != size:
            return f"loaded a wrong file: {told[1]} bytes, expected {size}"
        return ""

    return Command(f"tftpboot {address:#x} {where}", seconds, wrong)


def serial_command(address: int, size: int, seconds: float) -> Command:
    """Loads a file on the console with XMODEM, which fills up the last block."""

    def wrong(answer: str) -> str:
        told = re.search(r"Total Size\s*= 0x[0-9a-fA-F]+ = (\d+) Bytes", answer)
        if told is None:
            return f"it does not say how many bytes it loaded: {_last_line(answer)}"
        if not size <= int(told[1]) < size + 1024:
            return f"loaded {told[1]} bytes, expected {size}"
        return ""

    return Command(f"loadx {address:#x}", seconds, wrong, re.compile(rb"[Rr]eady for binary"))


def checksum_command(address: int, size: int, checksum: int, seconds: float) -> Command:
    """Compares the CRC-32 of what is in memory."""

    def wrong(answer: str) -> str:
        told = re.search(r"==> ([0-9a-fA-F]{8})\b", answer)
        if told is None:
            return f"it tells no checksum: {_last_line(answer)}"
        if int(told[1], 16) != checksum:
            return f"checksum error: {told[1]}, expected {checksum:08x}"
        return ""

    return Command(f"crc32 {address:#x} {size:#x}", seconds, wrong)
