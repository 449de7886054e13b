# SPDX-License-Identifier: BSD-2-Clause
"""A system as a TOML file: what it says, and that it makes sense.

Shapes are checked by pydantic, names and contradictions by `_problems`; the first problem becomes one
InputError with file, line, key and what was expected. What comes out is frozen and complete: every later
stage may rely on every rule that is written here.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import (
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
from cellreap.errors import InputError, UsageError
from cellreap.model.ids import CORE_TYPES
from cellreap.system.toml_lines import KeyPath, key_lines, line_of

MAX_FILE_BYTES = 1 << 20  # a configuration of thousands of PDs is far below this; anything above is not one
DEFAULT_DEADLINE_MS = 1000
MAX_DEADLINE_MS = 3_600_000
MAX_DEPTH = 0xFFFF_FFFD  # the two numbers above it mean "inf" and "the system's" in an image

Depth: TypeAlias = int | Literal["inf"]
Mode: TypeAlias = Literal["async", "sync"]


def _expect(expected: str) -> WrapValidator:
    """Whatever is wrong with this value, the message is what was expected instead."""

    def check(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
        try:
            return handler(value)
        except ValidationError:
            raise PydanticCustomError("expected", "expected {what}", {"what": expected}) from None

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
_Mode = Annotated[Literal["async", "sync"], _expect('"async" or "sync"')]
_Start = Annotated[Literal["boot", "after-cleanup"], _expect('"boot" or "after-cleanup"')]
_How = Annotated[
    Literal[
        "page-fault",
        "cap-fault",
        "illegal-instruction",
        "unknown-syscall",
        "exit",
        "terminate",
        "kill",
        "freeze",
        "hang",
        "block",
    ],
    _expect(
        "one of page-fault, cap-fault, illegal-instruction, unknown-syscall, exit, terminate, kill, freeze, "
        "hang, block"
    ),
]
_Names = Annotated[tuple[_Name, ...], Field(strict=False)]  # TOML has lists, a frozen model wants tuples


class _Table(BaseModel):
    """A table of the file: unknown keys are errors, values are never converted, nothing changes later."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class System(_Table):
    """[system]: what the whole is called."""

    name: _SystemName
    """Printed in the trace and in summaries."""
    description: _Text = ""
    """For people; goes nowhere."""
    snapshot: _Bool = False
    """A debug kernel prints all objects and capabilities before the first PD runs: seL4_DebugSnapshot."""
    mode: _Mode = "async"
    """When a PD that terminates another is answered: at once, or when all notices are acknowledged."""
    deadline_ms: _Deadline | None = None
    """How long a PD may take to acknowledge a notice; 0: as long as it likes. Unless given: 1000, or 0
    where a kernel leaves no timer to user level."""
    extract: _Bool = False
    """At the end of the run the root task asks all managers for their part of the model state."""


class Policy(_Table):
    """[policy]: how far a crash reaches, unless its PD says otherwise."""

    pd_depth: _Depth = 0
    """How many hops of dependent PDs die with a PD."""
    rs_depth: _Depth = 0
    """How many hops of mapped spaces go with a PD's spaces."""
    allow_cycles: _Bool = False
    """PDs may ask for each other's spaces in a circle."""


class Space(_Table):
    """[[pd.space]]: a resource space that the PD makes and manages."""

    name: _Name
    """Unique in the system: `requests` refer to it."""
    type: _SpaceType
    """Type of its resources, as in model states: BLOCK gives BLOCK_SPACE_1 and BLOCK_1_1."""


class Pd(_Table):
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
    cspace_bits: _CspaceBits = 8
    """log2 of the capability slots it gets."""
    stack_pages: _StackPages = 4
    """Stack, in pages of 4 KiB."""
    fault_handler: _Name | None = None
    """An earlier PD that handles its faults, and without which it cannot live; else the root task does."""
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


class Link(_Table):
    """[[link]]: two PDs that are threads of one process; they live and die together."""

    between: Annotated[tuple[_Name, _Name], Field(strict=False), _expect("a list of two PD names")]
    """The two, in either order."""


class Crash(_Table):
    """[[crash]]: a PD is brought down. The entries are worked off in order."""

    pd: _Name
    """Who."""
    at: _Count = 1
    """At which of its checkpoints, counted from when this entry became current."""
    how: _How
    """By what. The first four are real faults; kill and freeze come from the root task, at some instruction;
    after hang and block it runs on or waits for ever, and only a deadline finds it."""
    by: _Name | None = None
    """For terminate: the PD that does it, which must hold the victim's PD capability."""
    repeat: _Count = 1
    """How many times in all; more than once only for a PD that respawns."""
    after_ns: _Word | None = None
    """For kill and freeze: how long after that checkpoint at least, in nanoseconds."""
    spread_ns: _Word | None = None
    """For kill and freeze: and a pseudo-random number below this more."""
    seed: _Word | None = None
    """For kill and freeze: what that number is made from, together with the number of the repetition."""


class Config(_Table):
    """A whole system."""

    system: System
    policy: Policy = Policy()
    pds: Annotated[tuple[Pd, ...], Field(strict=False, alias="pd")]
    links: Annotated[tuple[Link, ...], Field(strict=False, alias="link")] = ()
    crashes: Annotated[tuple[Crash, ...], Field(strict=False, alias="crash")] = ()

    def pd(self, name: str) -> Pd | None:
        """The PD of that name."""
        return next((pd for pd in self.pds if pd.name == name), None)


def load_config(path: Path) -> Config:
    """Reads and checks a configuration. InputError for the first thing that is wrong with it."""
    return parse_config(read_text(path), path)


def parse_config(text: str, path: Path) -> Config:
    """Checks a configuration's text; `path` is what messages call it. InputError."""
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line, message = _toml_position(str(error), text)
        raise InputError(str(path), line, None, f"not valid TOML: {message}") from None
    except (ValueError, RecursionError) as error:  # numbers of thousands of digits, brackets nested too deep
        reason = "nested too deep" if isinstance(error, RecursionError) else "a number is too long"
        raise InputError(str(path), None, None, f"not valid TOML: {reason}") from None
    if not values:
        raise InputError(str(path), 1, None, "the file is empty: expected [system] and at least one [[pd]]")
    lines = key_lines(text)
    try:
        config = Config.model_validate(values)
    except ValidationError as error:
        found = [_shape_problem(dict(problem), values) for problem in error.errors(include_url=False)]
        at, message = min(found, key=lambda problem: line_of(lines, problem[0]))
        raise InputError(str(path), line_of(lines, at), _dotted(at), message) from None
    for at, message in _problems(config):
        raise InputError(str(path), line_of(lines, at), _dotted(at), message)
    return config


def override(
    config: Config,
    *,
    pd_depth: Depth | None = None,
    rs_depth: Depth | None = None,
    crash: str | None = None,
    mode: Mode | None = None,
) -> Config:
    """The configuration with what the command line says instead.

    A depth replaces the policy's and every PD's own. A mode replaces the system's. A crash
    replaces the file's: the file's entries for that PD if it has any, else one page fault at the checkpoint
    of the file's first crash. UsageError if that makes no sense.
    """
    policy = config.policy
    system = config.system
    pds = config.pds
    if mode is not None:
        system = system.model_copy(update={"mode": mode})
    if pd_depth is not None:
        policy = policy.model_copy(update={"pd_depth": pd_depth})
        pds = tuple(pd.model_copy(update={"pd_depth": None}) for pd in pds)
    if rs_depth is not None:
        policy = policy.model_copy(update={"rs_depth": rs_depth})
        pds = tuple(pd.model_copy(update={"rs_depth": None}) for pd in pds)
    crashes = config.crashes
    if crash is not None:
        if config.pd(crash) is None:
            raise UsageError(f"--crash: {_unknown('PD', crash, [pd.name for pd in pds])}")
        at = crashes[0].at if crashes else 1
        own = tuple(entry for entry in crashes if entry.pd == crash)
        crashes = own or (Crash(pd=crash, how="page-fault", at=at),)
    changed = config.model_copy(update={"system": system, "policy": policy, "pds": pds, "crashes": crashes})
    for _, message in _problems(changed):
        raise UsageError(f"--crash {crash}: {message}")
    return changed


def deadline_of(config: Config, pd: Pd, timer: bool) -> int:
    """Milliseconds that a PD has to acknowledge a notice; 0: no end. timer: the kernel leaves one to us."""
    for given in (pd.deadline_ms, config.system.deadline_ms):
        if given is not None:
            return given
    return DEFAULT_DEADLINE_MS if timer else 0


def timed(config: Config) -> Iterator[KeyPath]:
    """Where a configuration asks for what only a kernel with a timer can do."""
    if config.system.deadline_ms:
        yield ("system", "deadline_ms")
    for i, pd in enumerate(config.pds):
        if pd.deadline_ms:
            yield ("pd", i, "deadline_ms")
    for i, crash in enumerate(config.crashes):
        if crash.how in _BY_TIME:
            yield ("crash", i, "how")


def check_timer(config: Config, text: str, path: Path, missing: str | None) -> None:
    """InputError if a configuration needs a timer and the kernel has none.

    config: as it is in the file, whose text this is. missing: the kernel's option without which there is none
    (`sdk.timer_missing`).
    """
    if missing is None:
        return
    for at in timed(config):
        value = config.crashes[at[1]].how if at[0] == "crash" and isinstance(at[1], int) else "a deadline"
        message = f"{value} needs a timer: expected a kernel with {missing}, which this one has not"
        raise InputError(str(path), line_of(key_lines(text), at), _dotted(at), message)


def json_schema() -> dict[str, Any]:
    """JSON schema of the file, for editors."""
    return Config.model_json_schema(by_alias=True)


def read_text(path: Path) -> str:
    """The text of a configuration, unchecked. InputError if it is none at all."""
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise InputError(str(path), None, None, error.strerror or "cannot be read") from None
    if len(raw) > MAX_FILE_BYTES:
        raise InputError(str(path), None, None, f"larger than {MAX_FILE_BYTES} bytes: not a configuration")
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InputError(str(path), line, None, "not UTF-8 text: expected a TOML file") from None


def _toml_position(message: str, text: str) -> tuple[int, str]:
    """tomllib of Python 3.11 tells the position in the text of its message only."""
    said, _, position = message.rpartition(" (at ")
    if position.startswith("line "):
        return int(position.removeprefix("line ").split(",")[0]), said
    return text.count("\n") + (not text.endswith("\n")), f"{said} at the end of the file"


def _shape_problem(problem: dict[str, Any], values: Mapping[str, Any]) -> tuple[KeyPath, str]:
    at: KeyPath = tuple(problem["loc"])
    kind = problem["type"]
    if kind == "missing":
        return at, "missing: this key is required"
    if kind == "extra_forbidden":
        known = ", ".join(_known_keys(at[:-1]))
        return at, f"unknown key; expected one of {known}"
    if kind == "expected":
        return at, f"{problem['msg']}, got {_shown(problem['input'])}"
    wanted = {"model_type": "a table", "tuple_type": "a list"}.get(kind, problem["msg"])
    if at and isinstance(at[-1], str) and at[-1] in ("pd", "space", "link", "crash"):
        wanted = f"[[{'.'.join(part for part in at if isinstance(part, str))}]] tables"
    return at, f"expected {wanted}, got {_shown(problem['input'])}"


def _known_keys(at: KeyPath) -> list[str]:
    """The keys that the table at `at` may have."""
    tables: dict[tuple[str, ...], type[_Table]] = {
        (): Config,
        ("system",): System,
        ("policy",): Policy,
        ("pd",): Pd,
        ("pd", "space"): Space,
        ("link",): Link,
        ("crash",): Crash,
    }
    table = tables[tuple(part for part in at if isinstance(part, str))]
    return [field.alias or name for name, field in table.model_fields.items()]


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        shown = f"[{', '.join(_shown(item) for item in value[:8])}]"
        return shown if len(value) <= 8 and len(shown) <= 60 else "a list"
    text = f'"{value}"' if isinstance(value, str) else str(value)
    text = "".join(letter if letter.isprintable() else "?" for letter in text)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _dotted(at: KeyPath) -> str:
    """("pd", 0, "space", 1, "name") as pd[0].space[1].name; indices count from 0."""
    text = ""
    for part in at:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


Problem: TypeAlias = tuple[KeyPath, str]


def _problems(config: Config) -> Iterator[Problem]:
    if not config.pds:
        yield ("pd",), "expected at least one [[pd]]"
    yield from _names(config)
    yield from _references(config)
    yield from _links(config)
    yield from _cycles(config)
    yield from _crashes(config)
    yield from _limits(config)


def _unknown(what: str, name: str, known: list[str]) -> str:
    shown = ", ".join(known[:12]) + (", ..." if len(known) > 12 else "")
    expected = f"expected one of {shown}" if known else "there is none so far"
    return f'no {what} is named "{name}"; {expected}'


def _names(config: Config) -> Iterator[Problem]:
    pds: set[str] = set()
    spaces: set[str] = set()
    for i, pd in enumerate(config.pds):
        if pd.name in pds:
            yield ("pd", i, "name"), f'a PD named "{pd.name}" was there before; expected another name'
        pds.add(pd.name)
        for j, space in enumerate(pd.spaces):
            at: KeyPath = ("pd", i, "space", j)
            if space.name in spaces:
                yield (*at, "name"), f'a space named "{space.name}" was there before; expected another name'
            spaces.add(space.name)
            if space.type in CORE_TYPES:
                yield (*at, "type"), f"{space.type} is a core type, served by the root task; expected another"


def _references(config: Config) -> Iterator[Problem]:
    names = [pd.name for pd in config.pds]
    late = {pd.name for pd in config.pds if pd.start == "after-cleanup"}
    owner = {space.name: pd.name for pd in config.pds for space in pd.spaces}
    for i, pd in enumerate(config.pds):
        earlier = names[:i]
        handlers = [(("pd", i, "fault_handler"), pd.fault_handler)] if pd.fault_handler is not None else []
        at: KeyPath
        for j, name in enumerate(pd.holds_pds):
            at = ("pd", i, "holds_pds", j)
            if name == pd.name:
                yield at, "is the PD itself; expected another PD"
            elif name not in names:
                yield at, _unknown("PD", name, names)
        for at, name in handlers:
            if name == pd.name:
                yield at, "is the PD itself; expected an earlier PD"
            elif name not in names:
                yield at, _unknown("PD", name, earlier)
            elif name not in earlier:
                yield at, f'"{name}" is created after "{pd.name}"; expected an earlier PD'
            elif name in late and pd.name not in late:
                yield at, f'"{name}" starts after-cleanup, "{pd.name}" at boot; expected the same'
        yield from _repeated(("pd", i, "holds_pds"), pd.holds_pds)
        for j, name in enumerate(pd.requests):
            at = ("pd", i, "requests", j)
            if name not in owner:
                yield at, _unknown("space", name, list(owner))
            elif owner[name] == pd.name:
                yield at, f'"{name}" is a space of this PD itself; expected another PD\'s'
            elif owner[name] in late and pd.name not in late:
                yield at, f'"{name}" is of "{owner[name]}", which starts after-cleanup, and this PD at boot'
        yield from _repeated(("pd", i, "requests"), pd.requests)
        yield from _repeated(("pd", i, "spawns"), pd.spawns)


def _limits(config: Config) -> Iterator[Problem]:
    """What a PD is told of itself fits one page, and the root task's tables have an end."""
    for i, pd in enumerate(config.pds):
        for key, names, constant in (
            ("space", pd.spaces, "CR_STARTUP_SPACES"),
            ("requests", pd.requests, "CR_STARTUP_REQUESTS"),
            ("holds_pds", pd.holds_pds, "CR_STARTUP_PDS"),
        ):
            most = headers.constant("protocol.h", constant)
            if len(names) > most:
                yield ("pd", i, key), f"{len(names)} entries; expected at most {most}"
    most = headers.constant("limits.h", "CR_IMAGE_MAX_PDS")
    if len(config.pds) > most:
        yield ("pd", most), f"{len(config.pds)} PDs; expected at most {most}"


def _repeated(at: KeyPath, names: tuple[str, ...]) -> Iterator[Problem]:
    for j, name in enumerate(names):
        if name in names[:j]:
            yield (*at, j), f'"{name}" is in the list twice'


def _links(config: Config) -> Iterator[Problem]:
    names = [pd.name for pd in config.pds]
    seen: set[frozenset[str]] = set()
    for i, link in enumerate(config.links):
        for j, name in enumerate(link.between):
            if name not in names:
                yield ("link", i, "between", j), _unknown("PD", name, names)
        pair = frozenset(link.between)
        if len(pair) == 1:
            yield ("link", i, "between"), f'"{link.between[0]}" is linked with itself; expected two PDs'
        if pair in seen:
            yield ("link", i, "between"), "the two are linked already"
        seen.add(pair)


def _cycles(config: Config) -> Iterator[Problem]:
    """A cycle of requests has no order in which everybody finds what it needs, so it must be asked for."""
    if config.policy.allow_cycles:
        return
    index = {pd.name: i for i, pd in enumerate(config.pds)}
    owner = {space.name: pd.name for pd in config.pds for space in pd.spaces}
    wants = {pd.name: [owner[name] for name in pd.requests if name in owner] for pd in config.pds}
    done: set[str] = set()
    for start in wants:
        path = [start]
        branches = [iter(wants[start])]
        while branches and start not in done:
            following = next(branches[-1], None)
            if following is None:
                branches.pop()
                done.add(path.pop())
            elif following in path:
                around = path[path.index(following) :]
                text = " -> ".join([*around, following])
                yield (
                    ("pd", index[following], "requests"),
                    f"the requests form a cycle: {text}; expected none, or allow_cycles = true in [policy]",
                )
                return
            elif following not in done:
                path.append(following)
                branches.append(iter(wants[following]))


_BY_TIME = ("kill", "freeze")


def _crashes(config: Config) -> Iterator[Problem]:
    names = [pd.name for pd in config.pds]
    times: Counter[str] = Counter()
    for i, crash in enumerate(config.crashes):
        pd = config.pd(crash.pd)
        if pd is None:
            yield ("crash", i, "pd"), _unknown("PD", crash.pd, names)
            continue
        if not pd.respawn and crash.repeat > 1:
            yield ("crash", i, "repeat"), f'"{pd.name}" does not respawn, so it can crash once; expected 1'
        if not pd.respawn and times[pd.name]:
            yield ("crash", i, "pd"), f'"{pd.name}" crashed before and does not respawn; expected another PD'
        times[pd.name] += crash.repeat
        if i == 0 and pd.start == "after-cleanup":
            yield ("crash", i, "pd"), f'"{pd.name}" starts after the first cleanup; expected one from boot'
        if crash.how == "terminate":
            yield from _terminator(config, i, crash)
        elif crash.by is not None:
            yield ("crash", i, "by"), f'only how = "terminate" has a "by"; this is "{crash.how}"'
        for key in ("after_ns", "spread_ns", "seed"):
            if getattr(crash, key) is not None and crash.how not in _BY_TIME:
                said = f'only how = "kill" and how = "freeze" take "{key}"; this is "{crash.how}"'
                yield ("crash", i, key), said


def _terminator(config: Config, i: int, crash: Crash) -> Iterator[Problem]:
    if crash.by is None:
        yield ("crash", i, "by"), 'missing: how = "terminate" needs the PD that does it'
        return
    by = config.pd(crash.by)
    if by is None:
        yield ("crash", i, "by"), _unknown("PD", crash.by, [pd.name for pd in config.pds])
    elif crash.pd not in by.holds_pds:
        yield ("crash", i, "by"), f'"{by.name}" does not hold "{crash.pd}"; expected it in its holds_pds'
    elif i == 0 and by.start == "after-cleanup":
        yield ("crash", i, "by"), f'"{by.name}" starts after the first cleanup; expected one there at boot'
