# SPDX-License-Identifier: BSD-2-Clause
"""The shape of a configuration: its tables, their keys, and what each value may be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from pydantic_core import PydanticCustomError

from cellreap import headers
from cellreap.model.plan import MAX_DEPTH

DEFAULT_DEADLINE_MS = 1000
DEFAULT_AWAIT_MS = 1000
MAX_DEADLINE_MS = 3_600_000

Depth: TypeAlias = int | Literal["inf"]
Mode: TypeAlias = Literal["async", "sync"]

BY_TIME = ("kill", "freeze")
"""The ways to bring a PD down that need a timer."""


def _expect(expected: str | Callable[[], str]) -> WrapValidator:
    """For any error in this value, the message is what was expected instead."""

    def check(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
        try:
            return handler(value)
        except ValidationError:
            what = expected if isinstance(expected, str) else expected()
            raise PydanticCustomError("expected", "expected {what}", {"what": what}) from None

    return WrapValidator(check)


_Priority = Annotated[int, Field(ge=1, le=200), _expect("an integer from 1 to 200")]
_CspaceBits = Annotated[int, Field(ge=6, le=10), _expect("an integer from 6 to 10")]
_StackPages = Annotated[int, Field(ge=1, le=64), _expect("an integer from 1 to 64")]
_Word = Annotated[int, Field(ge=0, le=0xFFFF_FFFF), _expect("an integer from 0 to 4294967295")]
_Count = Annotated[int, Field(ge=1, le=0xFFFF_FFFF), _expect("an integer from 1 to 4294967295")]
_Name = Annotated[
    str,
    StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,30}$"),
    _expect("a lower-case name: a letter, then letters, digits and _, at most 31 characters"),
]
_SystemName = Annotated[
    str,
    StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,30}$"),
    _expect("a lower-case name: a letter, then letters, digits, _ and -, at most 31 characters"),
]
_SpaceType = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Z][A-Z0-9_]{0,14}$"),
    _expect("an upper-case type: a letter, then letters, digits and _, at most 15 characters"),
]
_Depth = Annotated[
    Annotated[int, Field(ge=0, le=MAX_DEPTH)] | Literal["inf"],
    _expect(f'an integer from 0 to {MAX_DEPTH}, or "inf"'),
]
_Bool = Annotated[bool, _expect("true or false")]
_Text = Annotated[str, _expect("a string")]
_Deadline = Annotated[
    int,
    Field(ge=0, le=MAX_DEADLINE_MS),
    _expect(f"milliseconds from 0 to {MAX_DEADLINE_MS}, 0 for no deadline"),
]
_Await = Annotated[
    int,
    Field(ge=1, le=MAX_DEADLINE_MS),
    _expect(f"milliseconds from 1 to {MAX_DEADLINE_MS}"),
]
_Mode = Annotated[Literal["async", "sync"], _expect('"async" or "sync"')]
_Start = Annotated[Literal["boot", "after-cleanup"], _expect('"boot" or "after-cleanup"')]


def crash_kinds() -> tuple[str, ...]:
    """The ways in which a PD can be brought down, as `how` names them: those of image.h."""
    return tuple(headers.names_of("image.h", "cr_crash_how", "CR_CRASH_"))


def _crash_kind(value: str) -> str:
    if value not in crash_kinds():
        raise ValueError(value)
    return value


def _crash_schema(schema: dict[str, Any]) -> None:
    schema["enum"] = list(crash_kinds())


_How = Annotated[
    str,
    AfterValidator(_crash_kind),
    _expect(lambda: f"one of {', '.join(crash_kinds())}"),
    Field(json_schema_extra=_crash_schema),
]
_Names = Annotated[
    tuple[_Name, ...], Field(strict=False)
]  # TOML has lists, a frozen model wants tuples


class Table(BaseModel):
    """A table of the file.

    Unknown keys are errors, values are not converted, a table is immutable.
    """

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class System(Table):
    """[system]: what the whole is called."""

    name: _SystemName
    """Printed in the trace and in summaries."""
    description: _Text = ""
    """For people; goes nowhere."""
    snapshot: _Bool = False
    """A debug kernel prints all objects and capabilities before the first PD runs:
    seL4_DebugSnapshot.
    """
    mode: _Mode = "async"
    """When a PD that terminates another is answered: at once, or when all notices are acknowledged.
    """
    deadline_ms: _Deadline | None = None
    """How long a PD may take to acknowledge a notice; 0: as long as it likes. Unless given: 1000,
    or 0 where a kernel leaves no timer to user level.
    """
    await_ms: _Await = DEFAULT_AWAIT_MS
    """How long a cleanup, an extraction or a PD waits for a PD that has no deadline. A kernel that
    leaves no timer to user level does not end such a wait.
    """
    scenario: _Bool = True
    """The root task stages the crashes of this file, keeps rounds in step and ends the run. Without it
    the system just runs.
    """
    extract: _Bool = False
    """At the end of the run the root task asks all managers for their part of the model state."""


class Policy(Table):
    """[policy]: how far a crash reaches, unless its PD says otherwise."""

    pd_depth: _Depth = 0
    """How many hops of dependent PDs die with a PD."""
    rs_depth: _Depth = 0
    """How many hops of mapped spaces go with a PD's spaces."""
    allow_cycles: _Bool = False
    """PDs may ask for each other's spaces in a circle."""


class Space(Table):
    """[[pd.space]]: a resource space that the PD makes and manages."""

    name: _Name
    """Unique in the system: `requests` refer to it."""
    type: _SpaceType
    """Type of its resources, as in model states: BLOCK gives BLOCK_SPACE_1 and BLOCK_1_1."""


class Pd(Table):
    """[[pd]]: a protection domain. They are created in the order of the file."""

    name: _Name
    """Unique in the system."""
    program: _Name
    """The ELF file that it runs, by its name among the built programs."""
    pinned: _Bool = False
    """Policy does not doom it; losing a linked PD or its fault handler still does."""
    respawn: _Bool = False
    """It is created anew after each cleanup that destroyed it."""
    spawns: _Names = ()
    """Programs of which it may have the root task create PDs."""
    start: _Start = "boot"
    """Created at boot, or only after the first cleanup."""
    priority: _Priority = 100
    """seL4 priority; the root task runs above all."""
    background: _Bool = False
    """It never rests. Rounds and the end of the run do not wait for it; its priority is below all
    others by 2 at least.
    """
    cspace_bits: _CspaceBits = 8
    """log2 of the capability slots it gets."""
    stack_pages: _StackPages = 4
    """Stack, in pages of 4 KiB."""
    fault_handler: _Name | None = None
    """An earlier PD that handles its faults, and without which it cannot live; else the root task
    does.
    """
    pd_depth: _Depth | None = None
    """This PD's own depth, where it differs from the policy's."""
    rs_depth: _Depth | None = None
    """Likewise."""
    deadline_ms: _Deadline | None = None
    """This PD's own deadline, where it differs from the system's."""
    may_extract: _Bool = False
    """It may have the model state extracted."""
    args: Annotated[
        tuple[_Word, ...],
        Field(strict=False, max_length=4),
        _expect("a list of at most 4 integers from 0 to 4294967295"),
    ] = ()
    """Numbers that its program is started with."""
    requests: _Names = ()
    """Spaces of other PDs whose resources it may ask for."""
    holds_pds: _Names = ()
    """Other PDs whose PD capability it is given, whenever they are there."""
    spaces: Annotated[tuple[Space, ...], Field(strict=False, alias="space")] = ()
    """Spaces that it makes."""


class Link(Table):
    """[[link]]: two PDs that are threads of one process; they live and die together."""

    between: Annotated[tuple[_Name, _Name], Field(strict=False), _expect("a list of two PD names")]
    """The two, in either order."""


class Crash(Table):
    """[[crash]]: a PD is brought down. The entries are worked off in order."""

    pd: _Name
    """Who."""
    at: _Count = 1
    """At which of its checkpoints, counted from when this entry became current."""
    how: _How
    """By what. The first four are real faults; kill and freeze come from the root task, at some
    instruction; after hang and block it runs on or waits for ever, and only a deadline finds it.
    """
    by: _Name | None = None
    """For terminate: the PD that does it, which must hold the victim's PD capability."""
    repeat: _Count = 1
    """How many times in all; more than once only for a PD that respawns."""
    after_ns: _Word | None = None
    """For kill and freeze: how long after that checkpoint at least, in nanoseconds."""
    spread_ns: _Word | None = None
    """For kill and freeze: and a pseudo-random number below this more."""
    seed: _Word | None = None
    """For kill and freeze: what that number is made from, together with the number of the
    repetition.
    """


class Config(Table):
    """A whole system."""

    system: System
    policy: Policy = Policy()
    pds: Annotated[tuple[Pd, ...], Field(strict=False, alias="pd")]
    links: Annotated[tuple[Link, ...], Field(strict=False, alias="link")] = ()
    crashes: Annotated[tuple[Crash, ...], Field(strict=False, alias="crash")] = ()

    def pd(self, name: str) -> Pd | None:
        """The PD of that name."""
        return next((pd for pd in self.pds if pd.name == name), None)


def json_schema() -> dict[str, Any]:
    """JSON schema of the file, for editors."""
    return Config.model_json_schema(by_alias=True)
