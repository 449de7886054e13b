# SPDX-License-Identifier: BSD-2-Clause
"""Faults in the machine code of a PD for Microkit on aarch64, put into its memory when it starts.

A debugger at QEMU's stub stops the machine at the first instruction of each instance. Every second
instance is left as it is: it shows whether its predecessor's fault is over. Each is sent bytes that
no other one is sent and nobody else prints, so it shows which of them come back.
"""

from __future__ import annotations

import os
import random
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from cellreap.system.sections import Sections, sections_of
from cellreap.testing import Run

KINDS: Final = ("changed operand", "skipped instruction", "wrong branch")
OUTCOMES: Final = ("crashed", "hung", "harmed the stream", "did nothing")
SENT: Final = 40
"""Bytes to each instance."""
SETTLES: Final = 0.03
"""Seconds in which the console's file gets what a machine that stands still has printed."""
BATCH: Final = 25
"""Faults of one boot."""
NOP: Final = 0xD503201F
_OPERAND_BITS: Final = 21
_BYTES: Final = range(0xA1, 0xFF)
_PC: Final = "20"  # the number of the register in hexadecimal, as the stub numbers them


class Fault(NamedTuple):
    """A changed instruction."""

    kind: str
    address: int
    before: int
    after: int


class Jump(NamedTuple):
    """A kind of branch: which words are one, the bits of its target, and one that inverts it."""

    mask: int
    value: int
    low: int
    bits: int
    inverse: int


JUMPS: Final = (
    Jump(0x7C000000, 0x14000000, 0, 26, 0),  # b, bl
    Jump(0xFF000010, 0x54000000, 5, 19, 1),  # b.cond
    Jump(0x7E000000, 0x34000000, 5, 19, 1 << 24),  # cbz, cbnz
    Jump(0x7E000000, 0x36000000, 5, 14, 1 << 24),  # tbz, tbnz
)


def _jump(word: int) -> Jump | None:
    return next((jump for jump in JUMPS if word & jump.mask == jump.value), None)


def _altered(kind: str, word: int, chance: random.Random) -> int:
    jump = _jump(word)
    if kind == KINDS[1]:
        return NOP
    if jump is None:
        return word ^ 1 << chance.randrange(_OPERAND_BITS)
    if jump.inverse and chance.random() < 0.5:
        return word ^ jump.inverse
    fits: int = (1 << jump.bits) - 1
    target: int = (word >> jump.low) + chance.choice([*range(-8, 0), *range(1, 9)]) & fits
    return word & ~(fits << jump.low) | target << jump.low


def faults_in(elf: bytes, functions: Sequence[str], seed: int) -> Iterator[Fault]:
    """Endless faults in these functions, the same for a seed."""
    chance, code = random.Random(seed), sections_of(elf)
    words = [each for name in functions for each in _code(code, name) if each[1] != NOP]
    jumps = [(at, word) for at, word in words if _jump(word) is not None]
    others = [(at, word) for at, word in words if _jump(word) is None]
    places = dict(zip(KINDS, (others, words, jumps), strict=True))
    while True:
        kind = chance.choice(KINDS)
        at, word = chance.choice(places[kind])
        yield Fault(kind, at, word, _altered(kind, word, chance))


def _code(sections: Sections, name: str) -> Iterator[tuple[int, int]]:
    symbol = sections.symbols[name]
    text = next(each for each in sections.all if each.name == ".text")
    data = sections.data(text)
    for at in range(symbol.value, symbol.value + symbol.bytes, 4):
        yield at, int.from_bytes(data[at - text.address :][:4], "little")


class Debugger:
    """GDB's remote protocol, with a machine that waits at the socket."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._read = b""
        end = time.monotonic() + 60
        while True:
            try:
                self._socket.connect(str(path))
                break
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.02)
        self.ask("qXfer:features:read:target.xml:0,fff")  # else the stub tells no single register

    def ask(self, request: str) -> str:
        """The answer. EOFError if the machine ends."""
        raw = request.encode()
        try:
            self._socket.sendall(b"$" + raw + b"#%02x" % (sum(raw) % 256))
            while (found := re.search(rb"\$([^#]*)#..", self._read, re.DOTALL)) is None:
                data = self._socket.recv(1 << 16)
                if not data:
                    raise EOFError
                self._read += data
            self._read = self._read[found.end() :]
            self._socket.sendall(b"+")
        except ConnectionError:
            raise EOFError from None
        return found[1].decode()

    def word(self, address: int) -> int:
        return int.from_bytes(bytes.fromhex(self.ask(f"m{address:x},4")), "little")

    def put_word(self, address: int, word: int) -> None:
        told = self.ask(f"M{address:x},4:{word.to_bytes(4, 'little').hex()}")
        assert told == "OK", told

    def stops_at(self, address: int) -> Iterator[None]:
        """Lets the machine run. Each turn it is at this address, in any address space."""
        assert self.ask(f"Z1,{address:x},4") == "OK"
        while True:
            self.ask("c")
            assert int.from_bytes(bytes.fromhex(self.ask(f"p{_PC}")), "little") == address
            yield
            # At a breakpoint the stub would stop again at once.
            for request in (f"z1,{address:x},4", "s", f"Z1,{address:x},4"):
                self.ask(request)


class Injector(threading.Thread):
    """Puts the faults into every second instance of a PD, from the second one on."""

    def __init__(self, folder: Path, elf: bytes, name: str, faults: Sequence[Fault]) -> None:
        super().__init__(daemon=True)
        self.name_of_pd, self.faults = name, faults
        self.sent: list[bytes] = []
        """To each instance so far."""
        self.begun: list[int] = []
        """The bytes of the console when it started."""
        self._folder = folder
        self._symbols = sections_of(elf).symbols
        self._socket, self.typed = folder / "stub", folder / "typed"
        os.mkfifo(self.typed)
        self._pipe = os.open(self.typed, os.O_RDWR)
        self._error: BaseException | None = None

    @property
    def qemu_args(self) -> tuple[str, ...]:
        return ("-S", "-gdb", f"unix:{self._socket},server=on,wait=off")

    def run(self) -> None:
        try:
            debugger = Debugger(self._socket)
            for _ in debugger.stops_at(self._symbols["_start"].value):
                if self._is_there(debugger):
                    self._start(debugger)
        except EOFError:
            return
        except BaseException as error:
            self._error = error
            raise

    def heard(self, trace: Path) -> list[bytes]:
        """After the boot: what came back in the life of each instance. Raises what went wrong."""
        self.join(60)
        os.close(self._pipe)
        if self._error is not None:
            raise self._error
        assert not self.is_alive()
        assert self.begun, "no instance was seen to start"
        console = trace.read_bytes()
        parts = zip(self.begun, [*self.begun, len(console)][1:], strict=True)
        return [bytes(byte for byte in console[a:b] if byte in _BYTES) for a, b in parts]

    def _is_there(self, debugger: Debugger) -> bool:
        name = self.name_of_pd.encode() + b"\0"
        where = self._symbols["microkit_name"].value
        return debugger.ask(f"m{where:x},{len(name):x}") == name.hex()

    def _start(self, debugger: Debugger) -> None:
        number, faulty = len(self.sent) // 2, len(self.sent) % 2 == 1
        before = self.faults[number - 1 : number] if number and not faulty else ()
        if before and debugger.word(before[0].address) == before[0].after:
            return  # The fault has it begin again: it is the same instance.
        for fault in self.faults[number : number + 1] if faulty else ():
            assert debugger.word(fault.address) == fault.before, "it is not fresh"
            debugger.put_word(fault.address, fault.after)
        last = self.sent[-1] if self.sent else b""
        rest = [byte for byte in _BYTES if byte not in last]
        self.sent.append(bytes(random.Random(len(self.sent)).sample(rest, SENT)))
        self.begun.append(self._printed())
        os.write(self._pipe, self.sent[-1])

    def _printed(self) -> int:
        """The bytes of the console so far. The machine stands still; the file may be behind."""
        (trace,) = self._folder.glob("*.trace")
        size = -1
        while size != (size := trace.stat().st_size):
            time.sleep(SETTLES)
        return size


class Result(NamedTuple):
    """What became of a fault."""

    fault: Fault
    outcome: str
    lost: int
    """Bytes of those sent to this instance and the next one that did not come back."""
    in_order: bool
    """The others came back once, in their order, and nothing else did."""
    recovered: bool
    """All that was sent to the next instance came back."""
    alone: bool
    """No other PD was destroyed."""


def results(run: Run, injector: Injector) -> list[Result]:
    """Of the faults of a boot, up to the first one from which the system did not recover."""
    name, sent = injector.name_of_pd, injector.sent
    made, heard = run.of("PD", name=name), injector.heard(run.trace)
    causes = {event["pd"]: event["cause"] for event in run.of("TRIGGER")}
    assert len(sent) >= len(made) - 1, "each had its memory as it was linked"
    ends = [*(run.at(event) for event in made), len(run.events)]
    found: list[Result] = []
    whole = min(len(heard), len(made)) - 1
    for at, fault in zip(range(1, whole, 2), injector.faults, strict=False):
        came, wanted = heard[at] + heard[at + 1], sent[at] + sent[at + 1]
        rest = iter(wanted)
        survived = OUTCOMES[3 if heard[at] == sent[at] else 2]
        cause = causes.get(made[at]["id"])
        doomed = {
            run.name(event["node"])
            for event in run.events[ends[at] : ends[at + 2]]
            if event.told == "STEP" and event["name"] == "mark" and event["node"] in run.names
        }
        found.append(
            Result(
                fault,
                {"terminate": survived, "hung": OUTCOMES[1]}.get(str(cause), OUTCOMES[0]),
                len(wanted) - len(came),
                all(byte in rest for byte in came),
                heard[at + 1].endswith(sent[at + 1]),
                doomed <= {name},
            )
        )
        if not found[-1].recovered:
            break
    return found


def experiment(
    faults: Sequence[Fault], boot: Callable[[Sequence[Fault]], list[Result] | None]
) -> Iterator[Result | Fault]:
    """The result of each fault. A fault itself, if no boot with it can be judged.

    boot: boots with these faults; None: the run is not sound. Then there is one with each half.
    """
    waiting = [faults[at : at + BATCH] for at in range(0, len(faults), BATCH)]
    while waiting:
        batch = waiting.pop(0)
        found = boot(batch)
        if found:
            yield from found
            waiting[:0] = [batch[len(found) :]] if len(found) < len(batch) else []
        elif len(batch) == 1:
            yield batch[0]
        else:
            half = len(batch) // 2
            waiting[:0] = [batch[:half], batch[half:]]
