# SPDX-License-Identifier: BSD-2-Clause
"""Parts of the objects that `--json` prints (output.py)."""

from __future__ import annotations

from typing import Final, Literal, NotRequired

from typing_extensions import TypedDict

VERSION: Final = 1
"""The version of all objects that `--json` prints."""

Verdict = Literal["pass", "not as expected", "no end", "fail"]
"""The verdict about a trace."""
Why = Literal[
    "trigger",
    "link",
    "fault",
    "request",
    "hold",
    "managed",
    "map",
    "own",
    "unreached",
    "unnamed",
    "metric",
]


class Versioned(TypedDict):
    """What every object begins with."""

    version: Literal[1]
    """The version of these objects."""


class Amount(TypedDict):
    """Kernel memory and slots of the root task."""

    bytes: int
    """Bytes of kernel memory."""
    slots: int
    """Slots of the root task's CSpace."""


class Chain(TypedDict):
    """The chain of steps that makes a PD."""

    steps: int
    """Its steps."""
    kernel_calls: int
    """Its kernel calls, at most: a block of memory is split with further calls."""


class LargestCleanup(TypedDict):
    """The largest cleanup that the quotas allow."""

    steps: int
    """Its steps, at most."""
    kernel_calls: int
    """Its kernel calls, at most."""
    plan_entries: int
    """Entries of its plan, at most: nodes that are doomed, and consequences for others."""
    plan_limit: int
    """The entries that the plan's memory has room for."""


class Entries(TypedDict):
    """A table of the root task that the PDs share."""

    needed: int
    """Entries that the configuration itself needs, and those that its quotas set aside."""
    limit: int
    """Entries that there are for PDs."""


class SystemMemory(TypedDict):
    """The memory of a system, in bytes."""

    tables: int
    """The root task's tables, as large as the configuration needs."""
    own: int
    """Kernel objects of the root task, and the pages of its tables."""
    bodies: int
    """The bodies of all configured PDs."""
    quotas: int
    """What the configuration sets aside for PDs that are spawned."""
    machine: int
    """The machine's memory."""
    room: int
    """What the machine has at most for kernel objects of the root task, bodies and quotas."""


class Bounds(TypedDict):
    """The longest chains of steps of a system, and what it needs of what is limited."""

    making: dict[str, Chain]
    """Name of a configured PD -> its chain, if all PDs are alive that it has edges to."""
    spawning: dict[str, Chain]
    """Program -> the chain of a PD that is spawned from it."""
    cleanup: LargestCleanup
    """The largest cleanup."""
    tables: dict[str, Entries]
    """Word of a quota -> the table."""
    sizes: dict[str, int]
    """Word of a table -> its entries, as the image has them."""
    memory: SystemMemory
    """Memory."""


class SymbolFile(TypedDict):
    """An ELF file for a debugger."""

    path: str
    """Where it is."""
    text: int
    """The address of its code."""
    users: list[str]
    """The PDs that run it, and the programs that are spawned of it. Empty: the root task."""
    has_symbols: bool
    """Whether it has debug information."""


class ImportNote(TypedDict):
    """Something of a Microkit description that the configuration has otherwise, or not at all."""

    line: int
    """The line in the description."""
    where: str
    """The element, or the element and its attribute: `end.id`."""
    text: str
    """What becomes of it, and why."""


class CacheEntry(TypedDict):
    """Something that builds keep."""

    kind: str
    """`roottask`, `kernel`, `image`, `objects` or `programs`."""
    name: str
    """Its name in the folder of its kind. For a folder: its version and its id."""
    bytes: int
    """Its size."""
    used_days_ago: float
    """When it was last used."""


class PageShown(TypedDict):
    """A page about cellreap."""

    name: str
    """Its name, for `cellreap docs`."""
    title: str
    """Its heading."""
    path: str
    """Its file."""


class Program(TypedDict):
    """A program that comes with cellreap."""

    name: str
    """Its name, for `program` in a configuration."""
    summary: str
    """What it does, in a sentence."""
    text: str
    """The same with its arguments."""
    source: str
    """Its source."""


class BoardBoot(TypedDict):
    """How an image came to run on a board."""

    name: str
    """The name of its description."""
    log: str
    """The file with what U-Boot printed, in all tries."""
    tries: int
    """How often the board was switched on."""
    failures: list[str]
    """Why the tries before the last one failed."""


class DroppedPart(TypedDict):
    """A connection of a description that the configuration made of it does not have."""

    line: int
    """The line in the description."""
    kind: Literal["channel", "memory", "device", "call", "capability"]
    """What it is."""
    name: str
    """Its name in the description. Empty: it has none."""
    between: list[str]
    """The PDs that it connects, by their names in the configuration."""


class UnknownPart(TypedDict):
    """Something that a source does not tell, so that no answer from it is certain."""

    kind: Literal["made", "requests", "pds", "connection", "rows", "trace"]
    """What programs make when they run; requests that they may make; PDs that are made later; a
    connection that an import left out; rows that a CSV file has not; the rest of a trace."""
    text: str
    """What it is, for people."""


class Drawn(TypedDict):
    """A picture of a model state."""

    title: str
    """Its title."""
    nodes: int
    """The number of nodes that are drawn."""
    edges: int
    """The number of edges that are drawn."""
    doomed: list[str]
    """The nodes that a crash dooms."""
    reasons: list[str]
    """Why, in words, as the edges say that doomed them."""


class Check(TypedDict):
    """A check of the kernel."""

    name: str
    """Its name."""
    made: bool
    """false: the kernel lacks what it checks."""
    ok: bool
    """Whether the kernel did what is required."""
    detail: str
    """The actual and the expected result. Empty if it is ok."""


class Standing(TypedDict):
    """A PD that lives when a trace breaks off."""

    pd: str
    """The PD."""
    name: str
    """Its name in the configuration."""
    state: str | None
    """What it does, as the events of a trace say it. null: nobody looked."""
    on: str | None
    """The PD that it waits for. null: none, or not known."""
    slot: int
    """The slot that it calls or receives with."""
    space: str | None
    """The name of the space that it waits for."""
    ip: str | None
    """The address of its instruction, in hex. null: not known."""
    chance: bool
    """Whether it could have run."""
    place: str | None
    """The function and line of its instruction. null: not known."""
    said: str | None
    """The last line that it printed. null: none."""


class Fault(TypedDict):
    """A fault of a PD: a crash report."""

    pd: str
    """The PD."""
    name: str
    """Its name in the configuration."""
    kind: str
    """`vm-fault`, `cap-fault`, `unknown-syscall`, `user-exception` or `timeout`."""
    address: str
    """The address, slot or number of the fault, in hex."""
    ip: str
    """The address of the instruction, in hex."""
    handler: str | None
    """The fault handler that was told of it. null: the root task was."""
    fatal: bool
    """Whether it brought the PD down. A fault handler may let it go on."""
    function: str | None
    """The function of the instruction. null: not known."""
    file: str | None
    """Its source file. null: not known."""
    line: int | None
    """Its line in that file. null: not known."""
    stack_overflow: bool
    """Whether the PD is known to have run out of its stack."""
    registers: dict[str, str]
    """The registers that are not 0, in hex. Empty: not known."""


class Refused(TypedDict):
    """An operation that was refused to the PDs of one name, always with the same result."""

    name: str
    """Their name in the configuration."""
    pds: list[str]
    """The PDs that asked for it."""
    operation: str | None
    """The operation, as in docs/operations.md. null: refusals that the trace only counts."""
    result: str | None
    """The result, as in docs/protocol.md. null: as above."""
    meaning: str
    """What the result means, for people. Empty: as above."""
    count: int
    """How often."""


class Undone(TypedDict):
    """What a PD did not do until the end of the run. That is no fault of the root task."""

    pd: str
    """The PD."""
    what: str
    """The words behind its name, such as "left its rounds"."""


class LeftOut(TypedDict):
    """A row of a model state that was left out."""

    line: int
    """The line of the file."""
    what: str
    """What is wrong with it."""


class Input(TypedDict):
    """What a plan was made of."""

    kind: Literal["configuration", "description", "trace", "csv"]
    """What the file is."""
    notes: list[str]
    """What is to be known of the state, for people."""
    violations: list[str]
    """Why the state is illegal. Empty if it is legal."""
    version: NotRequired[int | None]
    """CSV: the version of the format. null: CellulOS's, which has none."""
    ours: NotRequired[bool]
    """CSV: whether cellreap wrote it, and not CellulOS."""
    rows: NotRequired[int]
    """CSV: the number of rows."""
    skipped_lines: NotRequired[int]
    """CSV: lines that are no rows."""
    duplicate_rows: NotRequired[int]
    """CSV: rows that repeat an earlier one."""
    empty_requests: NotRequired[int]
    """CSV: REQUEST rows for a type of which the PD has no space."""
    left_out: NotRequired[list[LeftOut]]
    """CSV: rows that name what is not listed."""


class Explained(TypedDict):
    """The answer to --explain."""

    node: str
    """The node that was asked about."""
    lines: list[str]
    """Why it goes or survives, for people."""


class KernelsWord(TypedDict):
    """How often the kernel was asked for its capabilities."""

    asked: int
    """How often."""
    snapshots: int
    """How often it printed a snapshot."""
