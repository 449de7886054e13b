# SPDX-License-Identifier: BSD-2-Clause
"""The objects that `--json` prints: their keys and types.

`output.schema.json` and docs/json.md are made of these definitions; `pytest --rewrite` writes them.
Keys may be added. When a key goes or gets another meaning, VERSION is raised.

Ids are those of the run (`PD_1`, `BLOCK_SPACE_3`); `names` has their names in the configuration.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, NotRequired

from typing_extensions import TypedDict

from cellreap.output_campaign import CampaignCell as CampaignCell
from cellreap.output_campaign import CampaignEffort as CampaignEffort
from cellreap.output_campaign import CampaignOutput as CampaignOutput
from cellreap.output_campaign import CellTasks as CellTasks
from cellreap.output_campaign import CellValues as CellValues
from cellreap.output_campaign import TaskStanding as TaskStanding
from cellreap.output_parts import VERSION as VERSION
from cellreap.output_parts import Amount as Amount
from cellreap.output_parts import BoardBoot as BoardBoot
from cellreap.output_parts import Bounds as Bounds
from cellreap.output_parts import CacheEntry as CacheEntry
from cellreap.output_parts import Chain as Chain
from cellreap.output_parts import Check as Check
from cellreap.output_parts import Drawn as Drawn
from cellreap.output_parts import DroppedPart as DroppedPart
from cellreap.output_parts import Entries as Entries
from cellreap.output_parts import Explained as Explained
from cellreap.output_parts import Fault as Fault
from cellreap.output_parts import ImportNote as ImportNote
from cellreap.output_parts import Input as Input
from cellreap.output_parts import KernelsWord as KernelsWord
from cellreap.output_parts import LargestCleanup as LargestCleanup
from cellreap.output_parts import LeftOut as LeftOut
from cellreap.output_parts import PageShown as PageShown
from cellreap.output_parts import Program as Program
from cellreap.output_parts import Refused as Refused
from cellreap.output_parts import Standing as Standing
from cellreap.output_parts import SymbolFile as SymbolFile
from cellreap.output_parts import SystemMemory as SystemMemory
from cellreap.output_parts import Undone as Undone
from cellreap.output_parts import UnknownPart as UnknownPart
from cellreap.output_parts import Verdict as Verdict
from cellreap.output_parts import Versioned as Versioned
from cellreap.output_parts import Why as Why
from cellreap.output_seeing import AuditFinding as AuditFinding
from cellreap.output_seeing import AuditOutcome as AuditOutcome
from cellreap.output_seeing import AuditOutput as AuditOutput
from cellreap.output_seeing import AuditPairFinding as AuditPairFinding
from cellreap.output_seeing import AuditPairs as AuditPairs
from cellreap.output_seeing import BlastRadius as BlastRadius
from cellreap.output_seeing import Closeness as Closeness
from cellreap.output_seeing import GraphOutput as GraphOutput
from cellreap.output_seeing import MetricsOutput as MetricsOutput
from cellreap.output_seeing import Pair as Pair
from cellreap.output_tools import CacheOutput as CacheOutput
from cellreap.output_tools import CapdlOutput as CapdlOutput
from cellreap.output_tools import CompletionOutput as CompletionOutput
from cellreap.output_tools import DebugOutput as DebugOutput
from cellreap.output_tools import DocsOutput as DocsOutput
from cellreap.output_tools import ImportOutput as ImportOutput
from cellreap.output_tools import InitOutput as InitOutput
from cellreap.output_tools import ProgramsOutput as ProgramsOutput

Depth = int | Literal["inf"]
NoticeKind = Literal["free", "destroy", "disconnect", "lost", "pre-destroy", "extract"]
Ending = Literal[
    "complete",
    "fatal",
    "exited",
    "failed",
    "timeout",
    "silent",
    "flood",
    "asked",
    "interrupted",
]
CrashWord = Literal[
    "unstaged crash",
    "never ran",
    "nobody left",
    "not alive",
    "still alive",
    "not said",
    "exit code",
    "cleanups",
    "waits",
    "not crashed",
    "not cleaned up",
]


class Kernel(TypedDict):
    """A kernel."""

    name: str
    """`seL4` or `refkernel`."""
    version: str
    """Its version, or what is known of it: `16.0.0+` is that one or a later one."""
    arch: str
    """Its architecture, as seL4 names it, such as `x86_64`."""


class Console(TypedDict):
    """How a boot ended."""

    end: Ending
    """`complete`: the trace came to its end. `fatal`: kernel or root task stopped. `exited`: the
    emulator ended. `timeout`, `silent`, `flood`: a limit ended it. `asked`: --until
    ended it. `interrupted`: Ctrl-C did.
    """
    detail: str
    """The fatal message, the emulator's last line, or the limit. Empty if complete."""
    seconds: float
    """How long it took."""
    bytes: int
    """Bytes on the console."""


class Boot(Console):
    """How a boot ended, and what it traced."""

    events: int
    """Lines of the trace with a correct checksum."""


class Plan(TypedDict):
    """What a cleanup does. Lists are sorted."""

    trigger: str | None
    """The PD that crashes, or the first of a subtree. null: there is none."""
    pd_depth: Depth
    """Hops of clients that are destroyed."""
    rs_depth: Depth
    """Hops of mapped spaces that are destroyed."""
    closeness: NotRequired[Closeness]
    """The policy, if depth alone does not decide."""
    destroyed_pds: list[tuple[str, int]]
    """PD and its depth. A trigger has depth 0."""
    deleted_spaces: list[str]
    """Spaces that go, with those of destroyed PDs."""
    removed_requests: list[tuple[str, str]]
    """Survivor and space."""
    revoked: list[tuple[str, str]]
    """Survivor, but not the root task, and resource of a deleted space."""
    revoked_spaces: list[tuple[str, str]]
    """Survivor, but not the root task, and deleted space that it held."""
    revoked_bodies: list[tuple[str, str]]
    """Survivor, but not the root task, and capability to a destroyed PD."""
    core_freed: list[str]
    """Core resources that only the root task holds afterwards."""
    notices: list[tuple[str, NoticeKind, str, str | None]]
    """Receiver, kind, what it is about, and the dead PD of a `free` or `disconnect`."""
    pre_destroy: list[tuple[str, str]]
    """Subscriber and doomed PD or space."""
    groups: list[list[str]]
    """PDs and spaces in the order of destruction; within a group in any order."""
    doomed_why: dict[str, tuple[Why, str | None]]
    """Doomed PD or space: why, and by which PD, space or resource."""
    broken: list[tuple[str, str, str]]
    """Survivor, what it keeps, and what that was built on, directly or further down, and goes."""


class PlanOutput(Versioned, Plan):
    """`cellreap plan --json`."""

    command: Literal["plan"]
    """The command."""
    kind: Literal["crash", "subtree", "collect"]
    """What is planned."""
    possible: list[str]
    """The doomed PDs and spaces that go only if PDs make requests that they may make."""
    unknown: list[UnknownPart]
    """What the source leaves open. Unless it is empty, nothing of the plan is certain but that the
    trigger goes, with what `possible` does not name."""
    engine: Literal["core", "reference"]
    """What computed the plan."""
    input: Input
    """What it was made of."""
    explain: NotRequired[Explained]
    """With --explain."""


class ReconcileOutput(Versioned, Plan):
    """`cellreap reconcile --json`."""

    command: Literal["reconcile"]
    """The command."""
    possible: list[str]
    """The doomed PDs and spaces that go only if PDs make requests that they may make."""
    unknown: list[UnknownPart]
    """What the source leaves open. Unless it is empty, nothing of the plan is certain but that the
    trigger goes, with what `possible` does not name."""
    engine: Literal["core", "reference"]
    """What computed the plan."""
    input: Input
    """The saved state."""
    explain: NotRequired[Explained]
    """With --explain."""


class BuildOutput(Versioned):
    """`cellreap build --json`."""

    command: Literal["build"]
    """The command."""
    image: str
    """The file."""
    sha256: str
    """Its SHA-256."""
    system: str
    """The name of the system."""
    kernel: Kernel
    """The kernel in the image."""
    bounds: Bounds
    """The longest chains of steps."""


class BootOutput(Versioned, Boot):
    """`cellreap boot --json`."""

    command: Literal["boot"]
    """The command."""
    trace: str
    """The file with the console."""
    kernel: Kernel
    """The kernel in the image."""


class FlashOutput(Versioned, Boot):
    """`cellreap flash --json`."""

    command: Literal["flash"]
    """The command."""
    trace: str
    """The file with the console, from the command on that booted the image."""
    kernel: Kernel
    """The kernel in the image."""
    board: BoardBoot
    """The board."""


class Acknowledged(TypedDict):
    """The notices of a cleanup, other than `pre-destroy`."""

    owed: int
    """Notices to survivors."""
    ok: int
    """Acknowledged as done."""
    failed: int
    """Acknowledged as failed."""


class Answered(TypedDict):
    """The `pre-destroy` notices of a cleanup."""

    owed: int
    """Notices to subscribers."""
    answered: int
    """Acknowledged."""


class Cleanup(Plan):
    """A cleanup: its plan, and what came of it."""

    number: int
    """Its number, from 1."""
    cause: str
    """What caused it: `fault`, `exit`, `terminate`, `late`, `hung`; `collect`, `stop`: no event."""
    how: str
    """How its trigger went, for people."""
    kernel_calls: dict[str, int]
    """Kernel calls by kind."""
    order: list[str]
    """PDs, spaces and resources as they were destroyed."""
    left: list[tuple[str, str, str]]
    """Step, node and PD of what it could not do and left."""
    freed: Amount
    """What the destroyed PDs and resources gave back."""
    in_use: Amount | None
    """What was in use at the end of the cleanup. null: it did not come to its end."""
    cycles: int
    """Its duration in cycles. 0: the machine has no counter."""
    acknowledged: Acknowledged
    """What became of its notices."""
    before: Answered
    """What became of the notices before the destruction."""


class Failure(TypedDict):
    """A notice that its receiver could not deal with."""

    pd: str
    """The receiver."""
    space: str
    """The space whose later notices wait; `-` for notices about PDs."""
    token: int
    """The notice."""
    kind: str
    """Its kind."""
    node: str
    """What it is about."""
    waiting: int
    """How many notices wait behind it."""
    resumed: bool
    """Whether it was resumed later."""


class Late(TypedDict):
    """A PD that missed its deadline."""

    pd: str
    """The PD."""
    token: int
    """The notice."""
    kind: str
    """The kind of the notice."""
    node: str
    """What the notice is about."""
    deadline: int
    """The deadline in milliseconds."""
    ms: int
    """How long the PD took."""


class Hung(TypedDict):
    """A PD that hung: it lived and answered nobody."""

    pd: str
    """The PD."""
    by: str | None
    """The PD whose call it kept. null: it kept its own `heartbeat_ms`."""
    token: int | None
    """The probe that it did not finish. null: it was in receives, and a call to it was there."""
    ms: int
    """For how many milliseconds."""


class Ticket(TypedDict):
    """A termination, an extraction or a collection that the root task accepted."""

    ticket: int
    """Its number."""
    pd: str
    """Whose it is."""
    what: str | None
    """The PD to terminate. null: an extraction or a collection."""
    state: str | None
    """The last state that its owner was told. null: none."""
    done: int
    """Notices that were acknowledged as done."""
    failed: int
    """Notices that were acknowledged as failed."""
    dropped: int
    """Notices whose receiver went."""
    waiting: int
    """Notices that wait."""
    held: int
    """Notices behind one that failed."""


class Extraction(TypedDict):
    """A model state that was extracted while the system ran."""

    x: int
    """Its number."""
    by: str
    """The PD that asked for it; `PD_0` is the root task."""
    subgraphs: int
    """Edges that servers reported."""
    rows: list[str]
    """The state as rows of CSV, without the header."""


class Said(TypedDict):
    """A line that a PD printed."""

    pd: str
    """The PD."""
    text: str
    """The line."""
    after: int
    """The number of the last cleanup that had begun. 0: none had."""


class Unexpected(TypedDict):
    """A way in which the run was not what the configuration expects."""

    word: CrashWord
    """What kind it is."""
    text: str
    """The finding, for people."""


class Silence(TypedDict):
    """What is known of PDs when a trace breaks off."""

    ms: int | None
    """For how long nothing happened. null: the root task did not look."""
    pds: list[Standing]
    """The PDs that live."""


class Report(TypedDict):
    """What a trace says, and whether it is right."""

    kernel: Kernel
    """The kernel that ran."""
    verdict: Verdict
    """`fail`: there is a violation, or the kernel or the root task stopped. `not as expected`:
    there is no violation, and something unexpected. `no end`: there is neither, and the trace has
    no END: it is right as far as it goes. All commands say the same of a trace.
    """
    violations: list[str]
    """What is wrong: file, line, rule, and what was expected."""
    names: dict[str, str]
    """Id of each PD and space that ever was: its name in the configuration."""
    alive: list[str]
    """PDs that live at the end, in the order of creation, without the root task."""
    dead: list[str]
    """PDs that were there and do not live at the end. Some may be left: `left` of a cleanup."""
    exits: dict[str, int]
    """Name of a PD: the code with which it last exited."""
    said: list[Said]
    """What PDs printed, in order: at most 100,000 lines."""
    in_use: Amount | None
    """Memory and slots in use at the end. null: the trace does not tell."""
    events: int
    """The number of events in the trace."""
    cleanups: list[Cleanup]
    """The cleanups, in order."""
    failures: list[Failure]
    """Notices that failed."""
    late: list[Late]
    """Missed deadlines."""
    hung: list[Hung]
    """PDs that hung."""
    tickets: list[Ticket]
    """Tickets."""
    extractions: list[Extraction]
    """Extractions that came to their end."""
    unexpected: NotRequired[list[Unexpected]]
    """How the run was not what the configuration expects. Only if there is any."""
    faults: NotRequired[list[Fault]]
    """Faults, in order. Only if there is any."""
    refused: NotRequired[list[Refused]]
    """Operations that the root task refused. Only if there is any."""
    silence: NotRequired[Silence]
    """What is known of PDs if the trace breaks off. Only then."""
    waits: NotRequired[list[Standing]]
    """The PDs that wait in a call or for a fault handler at the end of the run, and those that they
    wait for. Only if there are any."""
    undone: NotRequired[list[Undone]]
    """What PDs did not do: the rest of their rounds, their notices. Only if there is anything."""
    no_end: NotRequired[bool]
    """true: the trace has no END. Only then."""
    unverified: NotRequired[list[str]]
    """What the check could not verify with what it was given. Only if there is any."""
    kernels_word: NotRequired[KernelsWord]
    """Only if the kernel was asked."""
    foreign_lines: NotRequired[int]
    """Lines that look like trace lines and that the root task did not print. Only if any."""


class CheckOutput(Versioned, Report):
    """`cellreap check --json`."""

    command: Literal["check"]
    """The command."""


class RunOutput(Versioned, Report):
    """`cellreap run --json`. `-o DIR` keeps the same object in a file."""

    command: Literal["run"]
    """The command."""
    boot: Boot
    """How the boot ended."""
    kept: NotRequired[str]
    """The folder with image, trace and programs, if they are kept."""


class ShowOutput(Versioned, Report):
    """`cellreap show --json`."""

    command: Literal["show"]
    """The command."""


class ReportOutput(Versioned):
    """`cellreap report --json`."""

    command: Literal["report"]
    """The command."""
    output: str
    """The page."""
    bytes: int
    """Its size."""
    verdict: Verdict
    """As `cellreap show` has it."""
    no_end: NotRequired[bool]
    """true: the trace has no END. Only then."""
    unverified: NotRequired[list[str]]
    """What the check could not verify with what it was given. Only if there is any."""
    events: int
    """The number of events."""
    cleanups: int
    """The number of cleanups."""


class ConformanceOutput(Versioned):
    """`cellreap conformance --json`."""

    command: Literal["conformance"]
    """The command."""
    kernel: Kernel
    """The kernel."""
    verdict: Literal["pass", "fail"]
    """`pass` if every check that was made is ok, and all came to their end."""
    checks: list[Check]
    """The checks, in order."""
    complaints: list[str]
    """Why it fails, besides failed checks."""
    boot: Console
    """How the boot ended."""


OUTPUTS: Final[dict[str, type[Any]]] = {
    "plan": PlanOutput,
    "reconcile": ReconcileOutput,
    "metrics": MetricsOutput,
    "audit": AuditOutput,
    "build": BuildOutput,
    "boot": BootOutput,
    "flash": FlashOutput,
    "check": CheckOutput,
    "run": RunOutput,
    "campaign": CampaignOutput,
    "show": ShowOutput,
    "graph": GraphOutput,
    "report": ReportOutput,
    "capdl": CapdlOutput,
    "conformance": ConformanceOutput,
    "programs": ProgramsOutput,
    "import": ImportOutput,
    "init": InitOutput,
    "debug": DebugOutput,
    "completion": CompletionOutput,
    "docs": DocsOutput,
    "cache": CacheOutput,
}
"""Command -> what its --json prints. Every command with --json is here."""


def versioned(command: str, shown: Mapping[str, Any]) -> dict[str, Any]:
    """The object of a command, with its version."""
    return {"version": VERSION, "command": command, **shown}
