# SPDX-License-Identifier: BSD-2-Clause
"""The shape of a configuration: its tables, their keys, and the allowed values."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import (
    AfterValidator,
    Field,
    StringConstraints,
)

from cellreap import headers
from cellreap.model.closeness import MAX_FR
from cellreap.model.plan import MAX_DEPTH
from cellreap.system.config.bench import Bench as Bench
from cellreap.system.config.drive import Drive as Drive
from cellreap.system.config.line import Interrupt as Interrupt
from cellreap.system.config.line import Port as Port
from cellreap.system.config.region import PAGE as PAGE
from cellreap.system.config.region import Map as Map
from cellreap.system.config.region import OnDeath as OnDeath
from cellreap.system.config.region import Region as Region
from cellreap.system.config.signals import Channel as Channel
from cellreap.system.config.signals import End as End
from cellreap.system.config.values import Bool as _Bool
from cellreap.system.config.values import FilePath
from cellreap.system.config.values import Name as _Name
from cellreap.system.config.values import Word as _Word
from cellreap.system.toml_tables import Expecting as Expecting
from cellreap.system.toml_tables import Table, expect

CONFIG_VERSION: Final = 1
"""The version of what a configuration can say. A later one may have other keys."""

DEFAULT_DEADLINE_MS = 1000
DEFAULT_AWAIT_MS = 1000
MAX_DEADLINE_MS = 3_600_000
MIN_LIMIT_MS = 20
"""The root task looks at the PDs every 10 ms."""
DEFAULT_RESPAWN_BUDGET = 10
DEFAULT_RESPAWN_WINDOW_MS = 10_000
DEFAULT_RESPAWN_DELAY_MS = 10
MAX_RESPAWN_BUDGET = 1_000_000

Depth: TypeAlias = int | Literal["inf"]
Mode: TypeAlias = Literal["async", "sync"]

LIMITS: Final = ("heartbeat_ms", "call_ms")
"""The keys of a PD by which PDs are found that live and answer nobody."""
BY_TIME = ("kill", "freeze")
"""Ways to crash a PD that need a timer."""


_Priority = Annotated[int, Field(ge=1, le=200), expect("an integer from 1 to 200")]
_CspaceBits = Annotated[int, Field(ge=5, le=10), expect("an integer from 5 to 10")]
_StackPages = Annotated[int, Field(ge=1, le=64), expect("an integer from 1 to 64")]
_Count = Annotated[int, Field(ge=1, le=0xFFFF_FFFF), expect("an integer from 1 to 4294967295")]
_Quota = Annotated[
    int,
    Field(ge=0, le=0xFFFF_FFFE),
    expect("an integer from 0 to 4294967294"),
]
TIMES_US = (100, 60_000_000)
"""A budget or a period, in microseconds."""
_Time = Annotated[
    int,
    Field(ge=TIMES_US[0], le=TIMES_US[1]),
    expect(f"microseconds from {TIMES_US[0]} to {TIMES_US[1]}"),
]
_SystemName = Annotated[
    str,
    StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,30}$"),
    expect("a lower-case name: a letter, then letters, digits, _ and -, at most 31 characters"),
]
_SpaceType = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Z][A-Z0-9_]{0,14}$"),
    expect("an upper-case type: a letter, then letters, digits and _, at most 15 characters"),
]
_Depth = Annotated[
    Annotated[int, Field(ge=0, le=MAX_DEPTH)] | Literal["inf"],
    expect(f'an integer from 0 to {MAX_DEPTH}, or "inf"'),
]
_Paths = Annotated[tuple[FilePath, ...], Field(strict=False)]
_Flags = Annotated[
    tuple[Annotated[str, StringConstraints(pattern=r"^-[^\x00]+$", max_length=4096)], ...],
    Field(strict=False),
    expect('a list of options for the compiler, such as "-DSIZE=8"'),
]
_Text = Annotated[str, expect("a string")]
_Deadline = Annotated[
    int,
    Field(ge=0, le=MAX_DEADLINE_MS),
    expect(f"milliseconds from 0 to {MAX_DEADLINE_MS}, 0 for no deadline"),
]
_Await = Annotated[
    int,
    Field(ge=1, le=MAX_DEADLINE_MS),
    expect(f"milliseconds from 1 to {MAX_DEADLINE_MS}"),
]
_Limit = Annotated[
    int,
    Field(ge=MIN_LIMIT_MS, le=MAX_DEADLINE_MS),
    expect(f"milliseconds from {MIN_LIMIT_MS} to {MAX_DEADLINE_MS}"),
]
_Version = Annotated[int, Field(ge=1), expect(f"the version of this format, {CONFIG_VERSION}")]
_Budget = Annotated[
    int,
    Field(ge=1, le=MAX_RESPAWN_BUDGET),
    expect(f"an integer from 1 to {MAX_RESPAWN_BUDGET}"),
]
_Delay = Annotated[
    int,
    Field(ge=0, le=headers.constant("image.h", "CR_RESPAWN_DELAY_MAX_MS")),
    expect(f"milliseconds from 0 to {headers.constant('image.h', 'CR_RESPAWN_DELAY_MAX_MS')}"),
]
_Mode = Annotated[Literal["async", "sync"], expect('"async" or "sync"')]
_Collect = Annotated[Literal["never", "after-cleanup"], expect('"never" or "after-cleanup"')]
_LAST_CHILD = headers.constant("image.h", "CR_IMAGE_MICROKIT_IDS") - 1
_ChildId = Annotated[
    int, Field(ge=0, le=_LAST_CHILD), expect(f"an integer from 0 to {_LAST_CHILD}")
]
_Abi = Annotated[Literal["cellreap", "microkit"], expect('"cellreap" or "microkit"')]
_Symbols = Annotated[
    dict[str, Annotated[int, Field(ge=0, lt=1 << 63), expect("an integer from 0 to 2^63 - 1")]],
    expect("numbers, by names of symbols"),
]
MAX_LABEL: Final = headers.constant("image.h", "CR_IMAGE_REPEAT") - 1
Callers = Annotated[
    Annotated[int, Field(ge=0, le=MAX_LABEL)] | Literal["repeat"],
    expect(f'"repeat", or a label from 0 to {MAX_LABEL}'),
]
_Overrun = Annotated[Literal["fault", "wait"], expect('"fault" or "wait"')]
_Start = Annotated[Literal["boot", "after-cleanup"], expect('"boot" or "after-cleanup"')]


def crash_kinds() -> tuple[str, ...]:
    """The ways to crash a PD, as `how` names them. They are those of a trace."""
    return tuple(headers.printed_names("trace_events.h", "CR_CRASH_WAY"))


def _crash_kind(value: str) -> str:
    if value not in crash_kinds():
        raise ValueError(value)
    return value


def _crash_schema(schema: dict[str, Any]) -> None:
    schema["enum"] = list(crash_kinds())


_How = Annotated[
    str,
    AfterValidator(_crash_kind),
    expect(lambda: f"one of {', '.join(crash_kinds())}"),
    Field(json_schema_extra=_crash_schema),
]
_Names = Annotated[
    tuple[_Name, ...], Field(strict=False)
]  # TOML has lists, and a frozen model needs tuples


class System(Table):
    """[system]: the system as a whole."""

    name: _SystemName
    """Printed in the trace and in summaries."""
    version: _Version = CONFIG_VERSION
    """The version of this format that the file is written for. A file for a later version than this
    program knows is refused before anything else in it is looked at.
    """
    description: _Text = ""
    """For readers of the file. It has no effect."""
    truth: _Bool | None = None
    """Whether the trace has the kernel's word on what capabilities there are: before the first PD
    runs, before each crash, after each cleanup and at the end. Only a debug kernel has it. The
    default is the part of it that costs little, where the kernel has it.
    """
    mode: _Mode = "async"
    """When a PD that terminates another is answered: at once (async), or when all notices are
    acknowledged (sync).
    """
    deadline_ms: _Deadline | None = None
    """Milliseconds that a PD may take to acknowledge a notice; 0: no limit. The default is 1000, or
    0 where the kernel leaves no timer to user level.
    """
    await_ms: _Await = DEFAULT_AWAIT_MS
    """Milliseconds that a cleanup, an extraction or a PD waits for a PD that has no deadline. If
    the kernel leaves no timer to user level, such a wait does not end.
    """
    scenario: _Bool = True
    """The root task makes the crashes of this file happen, keeps rounds in step and ends the run.
    If false, the system runs without these.
    """
    ends: _Bool = True
    """The scenario ends the run when all PDs wait. If false, it goes on: a device may do more."""
    cleaner_priority: _Priority | None = None
    """PDs with higher priorities run while a cleanup is carried out, and the root task serves them
    between its steps. By default no PD does. It needs a kernel that leaves a timer to user level.
    """
    collect: _Collect = "never"
    """When the root task destroys what cannot be reached (docs/semantics.md, "Plans without a
    crash"): never, or after each cleanup.
    """
    reconcile: FilePath | None = None
    """A saved state (CSV), relative to this file. The image carries what this file no longer names
    of it, and cleans it up before any PD runs (docs/semantics.md, "A saved state").
    """
    stop_in_order: _Bool = False
    """At the end of the run the root task destroys all PDs as one cleanup (docs/semantics.md,
    "Plans without a crash"): subscribers are told while all still run, and nobody is left. It needs
    the scenario, which ends the run.
    """
    trace_time: _Bool = False
    """Whether each event of the trace has its time, in nanoseconds. Nobody waits longer for that
    than it takes to read a counter. It needs a kernel that leaves a timer to user level.
    """
    extract: _Bool = False
    """At the end of the run the root task asks all managers for their part of the model state."""


_Share = Annotated[str, expect('a share, such as "1/2"')]
_Shares = Annotated[dict[_SpaceType, _Share], expect('shares by type, such as { BLOCK = "1/2" }')]


class Policy(Table):
    """[policy]: whom policy dooms with a PD. The depths hold unless the PD has its own."""

    policy: Annotated[Literal["depth", "metric", "both"], expect('"depth", "metric" or "both"')] = (
        "depth"
    )
    """depth: dependents, up to pd_depth. metric: PDs that are close to the one that goes down,
    whether dependents or not. both: dependents, up to pd_depth, that are close to it.
    """
    fr_max: (
        Annotated[int, Field(ge=0, le=MAX_FR), expect(f"an integer from 0 to {MAX_FR}")] | None
    ) = None
    """A PD is close if FR is at most this. Not with the policy depth."""
    rsi_min: _Shares = Field(default={})
    """A PD is close if RSI of a type is at least this. Not with the policy depth. At most 16 types.
    `rsi_min = { BLOCK = "1/2" }`
    """
    pd_depth: _Depth = 0
    """How many hops of dependent PDs are doomed with a PD."""
    rs_depth: _Depth = 0
    """How many hops of mapped spaces are doomed with a PD's spaces."""
    allow_cycles: _Bool = False
    """PDs may request each other's spaces in a cycle."""


class Space(Table):
    """[[pd.space]]: a space that the PD creates and manages."""

    name: _Name
    """Unique in the system. `requests` refers to it."""
    type: _SpaceType
    """Type of its resources, as in model states: BLOCK yields BLOCK_SPACE_1 and BLOCK_1_1."""


class Quota(Table):
    """[pd.quota]: what the PD and the PDs that it spawned may use of the root task's tables at a
    time. A key that is left out is a fair share: what is free is divided equally. What the file
    itself gives a PD is always reserved for it.
    """

    nodes: _Quota | None = None
    """Spaces and resources that it manages, and 2 for each PD that it spawned."""
    edges: _Quota | None = None
    """Its edges, those between its spaces and resources, and the notices that they left behind,
    until these are finished. The first subscription to a node counts twice.
    """
    spaces: _Quota | None = None
    """Spaces that it manages."""
    types: _Quota | None = None
    """Types of the spaces that it manages."""
    requests: _Quota | None = None
    """Requests that it has."""
    tickets: _Quota | None = None
    """Tickets that it has."""
    pds: _Quota | None = None
    """PDs that it spawned."""
    bytes: _Quota | None = None
    """Kernel memory of the PDs that it spawned, and of its memory objects and regions."""
    maps: _Quota | None = None
    """Maps that it reports, in all extractions under way."""
    pages: _Quota | None = None
    """Pages of the memory objects that it made."""


class Program(Table):
    """[[program]]: a program of the user. It is an ELF file, or it is built from sources. Paths are
    relative to the folder of this file. A program of the same name in cellreap is not used.
    """

    name: _Name
    """Unique among these programs. `program` and `spawns` refer to it."""
    elf: FilePath | None = None
    """A static ELF executable for the architecture. It need not know cellreap."""
    sources: _Paths = ()
    """C sources (.c) and assembler sources (.S). They are linked with the library for PDs, and one
    of them defines cr_main.
    """
    include: _Paths = ()
    """Folders that are searched for headers before those of cellreap."""
    flags: _Flags = ()
    """Options for the compiler, after the default ones, which are -std=gnu11 -O2 -g -Wall -Wextra
    and those that every PD needs.
    """


class Pd(Table):
    """[[pd]]: a protection domain. PDs are created in the order of the file."""

    name: _Name
    """Unique in the system."""
    program: _Name
    """The program that it runs: one of this file ([[program]]), or one that comes with cellreap."""
    thread_of: _Name | None = None
    """The earlier PD whose process it is a thread of: the two run the same program in one address
    space, with stacks of their own, and are linked. By default it has an address space of its own.
    """
    pinned: _Bool = False
    """Policy does not doom it. Losing a linked PD or its fault handler still does."""
    prevent_destroy: _Bool = False
    """No PD may terminate it, or another PD whose cleanup would destroy it: the whole termination
    is refused. It is pinned too. Its own crash, or that of a linked PD or of its fault handler,
    cannot be refused.
    """
    respawn: _Bool = False
    """It is created anew after each cleanup that destroyed it, within its budget."""
    respawn_budget: _Budget | None = None
    """How often it is created anew in one window. A PD that is destroyed once more in that time
    stays down. The default is 10.
    """
    respawn_window_ms: _Await | None = None
    """The window in milliseconds. It begins when the PD is to be created anew and no window is
    open. The default is 10000. If the kernel leaves no timer to user level, it is the whole run.
    """
    respawn_delay_ms: _Delay | None = None
    """The first time in a window the PD is created anew at once, the second time after this many
    milliseconds, each further time after twice as many, up to 1000. The default is 10. If the
    kernel leaves no timer to user level, there is no delay.
    """
    spawns: _Names = ()
    """Programs of which it may ask the root task to create PDs. These have its deadline, its
    heartbeat_ms and call_ms, no rights of their own, and at most its priority.
    """
    spawn_priority: _Priority | None = None
    """The priority of the PDs that it spawns. The default, and the highest, is its own."""
    spawn_allow: _Word = 0
    """How many edges a PD that it spawns allows it to make, from the start."""
    allocates: _Bool = False
    """Whether it may ask the root task for memory objects. What it spawns may not."""
    start: _Start = "boot"
    """Whether it is created at boot, or only after the first cleanup."""
    priority: _Priority = 100
    """seL4 priority. The root task runs above all PDs."""
    background: _Bool = False
    """It never rests. Rounds and the end of the run do not wait for it. Its priority is at least 2
    below that of all other PDs.
    """
    cspace_bits: _CspaceBits = 6
    """log2 of the number of slots in its CSpace."""
    stack_pages: _StackPages = 4
    """Stack, in pages of 4 KiB."""
    fault_handler: _Name | None = None
    """An earlier PD that handles its faults: it is told of each, and continues the PD or leaves it
    to the root task. A PD cannot live without its fault handler. The default is the root task.
    """
    post_mortem: _Name | None = None
    """Another PD that may read its memory once it is doomed, until it is destroyed. It is told of
    the end, and awaited, if it subscribes.
    """
    pd_depth: _Depth | None = None
    """Its own depth, if it differs from the policy's."""
    rs_depth: _Depth | None = None
    """Its own depth, if it differs from the policy's."""
    deadline_ms: _Deadline | None = None
    """Its own deadline in milliseconds, if it differs from the system's."""
    heartbeat_ms: _Limit | None = None
    """It has hung, and goes, if it could run for this many milliseconds and did not once wait for
    its next message. It must answer probes in that time. It has also hung if for twice the time a
    call to it lasts and it waits for something else. By default nobody looks.
    """
    call_ms: _Limit | None = None
    """If a call of this PD lasts so many milliseconds, the PD at the end of its calls must answer a
    probe in the same time again, or has hung and goes. It has also hung if it only waits for
    messages for twice the time. By default a call may last for ever."""
    budget_us: _Time | None = None
    """It may run for this many microseconds in each period, and needs a kernel with MCS. What it
    spawns has the same. By default it runs in turn with its equals.
    """
    period_us: _Time | None = None
    """The period of its budget, which is not larger. If both are the same, it runs in turn with its
    equals, so long at a time, and cannot use it up.
    """
    overrun: _Overrun | None = None
    """What it is to use up its budget: a fault, `timeout`, which is the default, or nothing but to
    wait for the next period. A PD that requests a space of a passive PD must wait: it lends its
    time, and would be blamed for what the other does.
    """
    abi: _Abi = "cellreap"
    """What the program was built for. A PD for Microkit has its capabilities where libmicrokit
    expects them, and only for its channels. It asks for no operations. Its program is an ELF file
    that no other PD runs.
    """
    microkit_name: _Text | None = None
    """For Microkit: its name in the description, if that is another one. Its program finds it in a
    variable of this name.
    """
    symbols: _Symbols = Field(default={})
    """For Microkit: values of 8 bytes that symbols of the program have, in the copy that runs.
    `symbols = { ring_vaddr = 0x40000000 }`
    """
    callers: Callers | None = None
    """For Microkit: what becomes of a call that it has taken when it is stopped. "repeat": the call
    is made again. A label: it is answered with this. By default with the kernel's error for a
    capability that is not there, 2.
    """
    child_id: _ChildId | None = None
    """For Microkit: its number at its parent, the PD that has it in `holds_pds`. A parent has its
    thread, and handles its faults if it is its `fault_handler`; else the root task does.
    """
    passive: _Bool = False
    """It runs on the time of who calls it, and on its own only until it waits for the first time,
    and for its notices. Needs a kernel with MCS.
    """
    may_extract: _Bool = False
    """It may request an extraction of the model state."""
    may_collect: _Bool = False
    """It may ask for a collection, which destroys the PDs that cannot be reached."""
    may_listen: _Bool = False
    """It may be told of each cleanup, and of what could not be made."""
    may_set_depth: _Bool = False
    """It may set the depths of the cleanup that its own crash triggers."""
    may_set_policy_of: _Names = ()
    """PDs whose depths it may set, and which it may pin and unpin, at run time. Those among its
    `holds_pds`, or the PD itself.
    """
    args: Annotated[
        tuple[_Word, ...],
        Field(strict=False, max_length=4),
        expect("a list of at most 4 integers from 0 to 4294967295"),
    ] = ()
    """Numbers that its program gets when it starts."""
    requests: _Names = ()
    """Spaces of other PDs from which it may request resources."""
    holds_pds: _Names = ()
    """Other PDs whose PD capability it gets whenever they exist."""
    quota: Quota = Quota()
    """What it may use of the root task's tables."""
    spaces: Annotated[tuple[Space, ...], Field(strict=False, alias="space")] = ()
    """Spaces that it creates."""

    @property
    def has_timeout(self) -> bool:
        """Whether it is a fault to use its budget up."""
        return (self.budget_us or 0) < (self.period_us or 0) and self.overrun != "wait"


class Link(Table):
    """[[link]]: two linked PDs, for example threads of one process. If one is doomed, so is the
    other.
    """

    between: Annotated[tuple[_Name, _Name], Field(strict=False), expect("a list of two PD names")]
    """The two PDs, in either order."""


class Dropped(Table):
    """[[dropped]]: a connection of the description that the configuration was imported from, which
    the configuration does not have. Nothing is made of it. Plans, audits and metrics name it among
    what they do not know.
    """

    kind: Annotated[
        Literal["channel", "memory", "device", "call", "capability"],
        expect("channel, memory, device, call or capability"),
    ]
    """What it is: a channel for signals, memory that is shared, a device or its interrupt, an
    endpoint for calls, or another capability.
    """
    name: _Text = ""
    """Its name in the description, if it has one."""
    between: Annotated[tuple[_Name, ...], Field(strict=False), expect("a list of PD names")]
    """The PDs that it connects, or the PD that it connects with a device."""

    def text(self) -> str:
        """It in words."""
        name = f' "{self.name}"' if self.name else ""
        return f"{self.kind}{name} of {' and '.join(self.between)}"


class Crash(Table):
    """[[crash]]: a PD crashes. The entries take effect one after the other, in order."""

    pd: _Name
    """The PD that crashes."""
    at: _Count = 1
    """The checkpoint at which it crashes: at = N is the N-th that the PD passes. The first crash
    counts from the start. Each further one, also by repeat, counts from when the one before it is
    cleaned up and no PD can run. For terminate, the checkpoints are those of the PD that terminates
    it. A PD for Microkit passes none: it is killed some time after it is made, each instance once.
    """
    how: _How
    """The cause. The first four are real faults. The root task causes kill and freeze, at an
    arbitrary instruction. After hang and block the PD runs on or waits for ever, and only a
    deadline, a heartbeat_ms or the call_ms of a client detects it.
    """
    by: _Name | None = None
    """For terminate: the PD that terminates it. It must hold the PD capability of the victim."""
    repeat: _Count = 1
    """How many times in all. More than once is possible only for a PD that respawns."""
    after_ns: _Word | None = None
    """For kill and freeze: nanoseconds from that checkpoint to the crash, at least."""
    spread_ns: _Word | None = None
    """For kill and freeze: limit of a pseudo-random number of nanoseconds added to after_ns."""
    seed: _Word | None = None
    """For kill and freeze: the seed of that number, together with the number of the repetition."""


_Said = Annotated[
    dict[_Name, Annotated[tuple[_Text, ...], Field(strict=False)]],
    expect("lists of strings, by name of a PD"),
]
_Exits = Annotated[dict[_Name, _Word], expect("exit codes, by name of a PD")]


class Expect(Table):
    """[expect]: what a run must come to. PDs that were spawned have the names of their programs. A
    run that is not as expected fails, and so does one in which a PD crashes that no [[crash]]
    names, a PD is never created, or nobody is left. Depths and crashes on the command line
    make another system of it: of this table only `crashes` is then heeded, and nobody needs to be
    left.
    """

    alive: _Names | None = None
    """Exactly these PDs live at the end."""
    dead: _Names = ()
    """These PDs do not live at the end."""
    said: _Said = Field(default={})
    """Texts that a PD says: each is a part of one of its lines. `said = { client = ["ok"] }`"""
    exits: _Exits = Field(default={})
    """The code with which a PD last exited. `exits = { client = 0 }`"""
    cleanups: Annotated[int, Field(ge=0), expect("an integer of at least 0")] | None = None
    """The number of cleanups."""
    crashes: _Names = ()
    """PDs that may crash though no [[crash]] names them: by a fault, by an exit with a code other
    than 0, because they miss a deadline, or because they hang.
    """
    waits: _Names | None = None
    """Exactly these PDs wait in a call, or for their fault handlers, at the end. `waits = []`:
    nobody does. Without this key, who waits is told, and is no failure.
    """
    nobody_left: _Bool = False
    """Whether the run may end with no PD alive. Only without `alive`."""


class Config(Table):
    """A whole system."""

    system: System
    """The system as a whole."""
    policy: Policy = Policy()
    """The depths of cleanups."""
    programs: Annotated[tuple[Program, ...], Field(strict=False, alias="program")] = ()
    """Programs of the user."""
    pds: Annotated[tuple[Pd, ...], Field(strict=False, alias="pd")]
    """The protection domains, at least one."""
    links: Annotated[tuple[Link, ...], Field(strict=False, alias="link")] = ()
    """Pairs of PDs that live and die together."""
    regions: Annotated[tuple[Region, ...], Field(strict=False, alias="region")] = ()
    """Memory that PDs have from the start."""
    channels: Annotated[tuple[Channel, ...], Field(strict=False, alias="channel")] = ()
    """PDs that may signal each other."""
    interrupts: Annotated[tuple[Interrupt, ...], Field(strict=False, alias="interrupt")] = ()
    """Interrupts that PDs have."""
    ports: Annotated[tuple[Port, ...], Field(strict=False, alias="port")] = ()
    """I/O ports that PDs have."""
    drives: Annotated[tuple[Drive, ...], Field(strict=False, alias="drive")] = ()
    """Disks of the emulated machine."""
    dropped: Annotated[tuple[Dropped, ...], Field(strict=False)] = ()
    """What an import left out."""
    crashes: Annotated[tuple[Crash, ...], Field(strict=False, alias="crash")] = ()
    """The crashes that are staged, in order."""
    expect: Expect = Expect()
    """What a run must come to."""
    bench: Bench = Bench()
    """What only tests of the root task itself turn."""

    def pd(self, name: str) -> Pd | None:
        """The PD of that name."""
        return next((pd for pd in self.pds if pd.name == name), None)


def json_schema() -> dict[str, Any]:
    """The JSON schema of the file, for editors."""
    return Config.model_json_schema(by_alias=True)
