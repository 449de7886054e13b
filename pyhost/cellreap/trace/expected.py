# SPDX-License-Identifier: BSD-2-Clause
"""What a configuration demands of a run: the form in which the check compares it with a trace.

`run.expectation` makes it from a configuration or an image.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Literal

from cellreap.model.closeness import Closeness
from cellreap.model.ids import ADDRESS_SPACE, CHANNEL, INTERRUPT, MEMORY, PORTS, REGION
from cellreap.model.pages import Pages

Depths = tuple[str, str]
"""pd_depth and rs_depth, as a trace prints them."""
CORE_SPACES: Final = ("RESSPC", "PD")
"""The types of the spaces that every root task has."""
RIGHTS: Final = ("set_depth", "extract", "spawn", "listen", "collect")
"""What a PD may have the right to."""
LIMITS: Final = ("heartbeat_ms", "call_ms", "budget_us", "period_us", "passive")
"""The columns of its limits."""


UNVERIFIED: Final = {
    "configuration": "the configuration: PDs, edges, depths, deadlines, rights, quotas, crashes "
    "(--image)",
    "sizes": "sizes of memory, kernel, architecture (--image with an image)",
}
"""What a check cannot verify without a configuration, and without an image."""
NO_END: Final = (
    "what only the end of a run shows, because the trace has no END: that nothing is left undone "
    "(the rules *.end), that all PDs were created, and that one is left"
)
"""What a check cannot verify without END."""


@dataclass(frozen=True)
class ExpectedMap:
    """A region that a PD has from the start."""

    region: str
    pages: Pages
    page: int
    """Its address, by pages."""
    writable: bool
    cached: bool = True
    physical: int | None = None
    """Where a device is, or memory that has its place. None: it is any memory."""
    quiets: int = 0
    """What the root task does to it when its PD is stopped."""
    waits: bool = False
    """Whether it waits for the device, which may never become quiet."""
    writer: str | None = None
    """For memory: the device that may write there for ever, since it has no `on_death`."""


def kept_told(region: str, device: str) -> str:
    """Why nobody else gets the memory of a region."""
    return f"{region} is kept from others: {device}, which may write there, has no on_death"


@dataclass(frozen=True)
class ExpectedEnd:
    """A channel that a PD has."""

    channel: str
    peer: str
    slot: int
    """0: it may not signal the other one."""
    badge: int
    """The badge of what it signals."""


@dataclass(frozen=True)
class ExpectedCall:
    """A capability with which a PD for Microkit calls another one."""

    peer: str
    slot: int
    badge: int


@dataclass(frozen=True)
class ExpectedLine:
    """An interrupt or a range of ports that a PD has."""

    kind: str
    slot: int
    first: int
    last: int
    bit: int


@dataclass(frozen=True)
class ExpectedPd:
    """A PD of the configuration."""

    name: str
    account: int
    """Its position in the configuration, from 1."""
    pinned: bool = False
    protected: bool = False
    """No PD may bring about its end by a termination."""
    late: bool = False
    """It is created only after the first cleanup."""
    priority: int = 100
    rights: frozenset[str] = frozenset()
    """Of RIGHTS."""
    trusts: tuple[int, ...] = ()
    """The accounts of the PDs whose policy it may change, as the configuration lists them."""
    reader: int = 0
    """The account whose first PD may read its memory when it is doomed. 0: none."""
    deadline_ms: int = 0
    limits: tuple[int, int, int, int, int] = (0, 0, 0, 0, 0)
    """Of LIMITS. 0: none."""
    depths: Depths | None = None
    """Its own depths, if it has any."""
    respawn: tuple[int, int, int] | None = None
    """Budget, window and first delay."""
    handler: str | None = None
    process: str | None = None
    """The first thread of its process, perhaps itself. None: it shares its address space with
    nobody.
    """
    holds: Mapping[str, int] = field(default_factory=dict)
    """The PDs whose PD capability it has -> the slot."""
    parent: str | None = None
    """Of a child: the PD for Microkit that has its thread."""
    parent_badge: int | None = None
    """Of a child: the badge of its faults there."""
    requests: frozenset[str] = frozenset()
    spaces: Mapping[str, str] = field(default_factory=dict)
    """Name -> type."""
    spawns: frozenset[str] = frozenset()
    allocates: bool = False
    maps: tuple[ExpectedMap, ...] = ()
    ends: tuple[ExpectedEnd, ...] = ()
    calls: tuple[ExpectedCall, ...] = ()
    has_door: bool = False
    """Others call it over channels, or it is told of its children's faults."""
    lines: tuple[ExpectedLine, ...] = ()
    microkit: bool = False
    """It was built for Microkit, and has the slots for that."""
    spawn_priority: int = 100
    spawn_allow: int = 0
    cspace_slots: int = 256
    quotas: Mapping[str, int] = field(default_factory=dict)
    """Word -> quota. Without the words for which only the root task knows it."""

    def row(self, system: Depths) -> dict[str, str]:
        """The columns of its RIGHTS, without those that name PDs. system: the depths of all."""
        pd_depth, rs_depth = self.depths or system
        respawns, window_ms, delay_ms = self.respawn or (0, 0, 0)
        columns = {
            "pinned": int(self.pinned),
            "protected": int(self.protected),
            "priority": self.priority,
            "account": self.account,
            **{right: int(right in self.rights) for right in RIGHTS},
            "reader": self.reader,
            "pd_depth": pd_depth,
            "rs_depth": rs_depth,
            "deadline_ms": self.deadline_ms,
            **dict(zip(LIMITS, self.limits, strict=True)),
            "respawns": respawns,
            "window_ms": window_ms,
            "delay_ms": delay_ms,
        }
        return {column: str(value) for column, value in columns.items()}


@dataclass(frozen=True)
class ExpectedCrash:
    """A staged crash."""

    pd: str
    how: str
    by: str | None = None
    repeat: int = 1


@dataclass(frozen=True)
class ExpectedOutcome:
    """What the run must come to, as [expect] says it. PDs have their names."""

    alive: frozenset[str] | None = None
    """Exactly these live at the end. None: nothing is said."""
    dead: frozenset[str] = frozenset()
    said: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    exits: Mapping[str, int] = field(default_factory=dict)
    cleanups: int | None = None
    crashes: frozenset[str] = frozenset()
    """These may crash though nobody stages it."""
    waits: frozenset[str] | None = None
    """Exactly these wait in a call or for a fault handler at the end. None: nothing is said."""
    nobody_left: bool = False
    """No PD needs to live at the end."""


@dataclass(frozen=True)
class ExpectedSizes:
    """What the root task uses of kernel memory and of its own slots."""

    base_bytes: int
    base_slots: int
    bodies: Mapping[str, int]
    """Name of a configured PD -> the bytes of its body."""
    spawned: Mapping[str, int]
    """Program -> the bytes of the body of a PD that was spawned from it."""
    body_slots: int
    resource_slots: int
    spawned_cspace_slots: int
    base_objects: Mapping[str, int] = field(default_factory=dict)
    """Kind of kernel object -> how many the root task has for itself."""
    objects: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Name of a configured PD -> the kernel objects of its body by kind."""
    spawned_objects: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Program -> the kernel objects of a PD that was spawned from it, by kind."""


@dataclass(frozen=True)
class Expected:
    """A configured system."""

    source: str
    """The file that it comes from, for messages."""
    system: str
    depths: Depths
    mode: str
    await_ms: int
    """0: there is no timer."""
    pds: tuple[ExpectedPd, ...]
    closeness: Closeness | None = None
    """The policy, if depth alone does not decide."""
    arch: str | None = None
    kernel: str | None = None
    """Name and version. None: not known."""
    sizes: ExpectedSizes | None = None
    """None: not known."""
    links: frozenset[frozenset[str]] = frozenset()
    crashes: tuple[ExpectedCrash, ...] = ()
    extract: bool = False
    stops_in_order: bool = False
    """At the end the root task stops all PDs."""
    reconciles: bool = False
    """The image can carry a saved state."""
    collects: bool = False
    """The root task collects after each cleanup."""
    runs_between: bool = False
    """PDs run between the steps of a cleanup."""
    inject: tuple[str, ...] = ()
    """The failures to inject, as the configuration writes them."""
    outcome: ExpectedOutcome = ExpectedOutcome()
    truth: Literal["none", "some", "all"] | None = "none"
    """How much of the kernel's word the trace has. None: that depends on the kernel."""
    has_times: bool = False
    """The events of the trace have times."""
    snapshots_up_to: int = 0
    """The kernel's word has a snapshot as long as no more PDs were created, with the root task."""
    without_timer: Expected | None = None
    """What is expected if there is no timer. None: it is known whether there is one."""

    @cached_property
    def core_spaces(self) -> tuple[str, ...]:
        """The types of the root task's spaces, in the order of their creation. Those of memory are
        there if a PD may allocate or has a region, those of channels, interrupts, ports and shared
        address spaces if a PD has any. A channel for calls alone counts.
        """
        memory = any(pd.allocates or pd.maps for pd in self.pds)
        channels = any(pd.ends or pd.calls for pd in self.pds)
        kinds = {line.kind for pd in self.pds for line in pd.lines}
        more = tuple(kind for kind in (INTERRUPT, PORTS) if kind in kinds)
        threads = any(pd.process is not None for pd in self.pds)
        spaces = CORE_SPACES + (MEMORY, REGION) * memory + (CHANNEL,) * channels
        return spaces + more + (ADDRESS_SPACE,) * threads

    def pd(self, name: str) -> ExpectedPd | None:
        """The PD of that name."""
        return self._by_name.get(name)

    def owner(self, space: str) -> ExpectedPd | None:
        """The PD that has a space of that name."""
        return self._by_space.get(space)

    @cached_property
    def at_boot(self) -> list[str]:
        """The PDs that are created before the first crash, in their order."""
        return [pd.name for pd in self.pds if not pd.late]

    @cached_property
    def _by_name(self) -> Mapping[str, ExpectedPd]:
        return {pd.name: pd for pd in self.pds}

    @cached_property
    def _by_space(self) -> Mapping[str, ExpectedPd]:
        return {space: pd for pd in self.pds for space in pd.spaces}


def unverified(expected: Expected | None) -> list[str]:
    """What a check that knows only this could not verify."""
    if expected is None:
        return [UNVERIFIED["configuration"], UNVERIFIED["sizes"]]
    return [UNVERIFIED["sizes"]] if expected.sizes is None else []
