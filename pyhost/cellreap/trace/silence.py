# SPDX-License-Identifier: BSD-2-Clause
"""What PDs do when a trace goes silent, or when a run ends: what the root task said, and nothing
else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from cellreap import headers
from cellreap.model.ids import ROOT
from cellreap.trace.events import Event, printable

NO_SOUND: Final = ("CLOCK", "HELD_UP", "STANDS")
"""Events that end no silence."""
_SAID: Final = 80


WAITS: Final = ("call", "fault")
"""States of PDs that wait for another PD."""


@dataclass
class Standing:
    """A PD that lives when the trace goes silent, or waits when the run ends. state: None: nobody
    looked.
    """

    pd: str
    name: str
    spawned: bool
    said: str | None = None
    """Its last line."""
    state: str | None = None
    on: str | None = None
    slot: int = 0
    space: str | None = None
    ip: int = 0
    chance: bool = False
    place: str | None = None
    """The function and line of its instruction. None: not known."""
    held_by: str | None = None
    """The fault handler that has its fault."""

    def to_json(self) -> dict[str, Any]:
        """The PD for --json. What is not known is null."""
        shown = ("pd", "name", "state", "on", "slot", "space", "ip", "chance", "place", "said")
        return {name: getattr(self, name) for name in shown} | {
            "ip": hex(self.ip) if self.ip else None
        }

    @property
    def waits(self) -> bool:
        """Whether it waits in a call or for a fault handler."""
        return self.state in WAITS

    def told(self, name_of: Callable[[str], str]) -> str:
        """What a line about the PD says behind its name."""
        doing = self._doing(name_of)
        place = f", in {self.place}" if self.place else ""
        # PDs for Microkit say nothing here: they print on the console.
        said = "" if self.said is None else f'; last said "{printable(self.said, _SAID)}"'
        return f": {doing}{place}{said}"

    def _doing(self, name_of: Callable[[str], str]) -> str:
        who = name_of(self.on) if self.on else "somebody, whom the root task does not know"
        if self.state is None:
            if self.held_by is not None:
                return f"waits for its fault handler {name_of(self.held_by)}"
            return "what it did is not known"
        if self.state == "runs" and not self.chance:
            return "can run, and PDs of its priority did not get the processor"
        slot = f"slot {self.slot}"
        doing = {
            "runs": "runs",
            "call": f"in a call to {who}",
            "receive": f"waits for a message in {_slots().get(self.slot, slot)}",
            "syscall": "at a system call that is neither a call nor a receive",
            "checkpoint": "waits for its next round",
            "connect": f"waits for the space {printable(self.space or '-')}",
            "ticket": "waits for its ticket to be over",
            "terminate": "waits for the end of a PD that it terminates",
            "frozen": "was frozen by the scenario",
            "fault": f"waits for its fault handler {who}",
            "stopped": "was stopped, and waits for its cleanup",
        }[self.state]
        if self.state in ("call", "receive", "syscall") and not self.chance:
            doing += ", or can run: PDs of its priority did not get the processor"
        return doing


def _slots() -> Mapping[int, str]:
    """The slots that every PD receives from, for people."""
    names = {"ENDPOINT": "its endpoint, or a signal", "NOTIFICATION": "its notification"}
    return {headers.constant("protocol.h", f"CR_SLOT_{name}"): text for name, text in names.items()}


@dataclass(frozen=True)
class Silence:
    """The PDs that live when a trace breaks off.

    ms: how long nothing had happened, if the trace ends in a silence of which the root task told.
    timer: whether it has a timer, without which it cannot tell.
    """

    ms: int | None
    timer: bool
    pds: list[Standing]

    def heading(self) -> str:
        """How much is known about the PDs."""
        if self.ms is not None:
            text = f"Nothing happened for {self.ms / 1000:.1f} s. What each PD did then"
            return f"{text}, as its registers showed it twice"
        if not self.timer:
            why = "the kernel leaves no timer to the root task"
        else:
            ms = headers.constant("trace_events.h", "CR_TRACE_SILENCE_MS")
            why = f"it looks after {ms / 1000:g} s of silence. Either the run was ended before, or "
            why += "the root task or the kernel stands still"
        return f"The root task did not look at the PDs: {why}"

    def to_json(self) -> dict[str, Any]:
        """The silence for --json."""
        return {"ms": self.ms, "pds": [each.to_json() for each in self.pds]}


_READS: Final = frozenset(
    {"PD", "STEP", "SETTING", "SAY", "FAULT_HELD", "resumed THREAD", "FAULT", "STANDS"}
)


@dataclass
class Listener:
    """Collects what is known of PDs from the events of a trace, in order."""

    explain: Callable[[Standing], None] = lambda standing: None
    _ms: int | None = None
    _timer: bool = True
    _pds: dict[str, Standing] = field(default_factory=dict)
    waits: list[Standing] = field(default_factory=list)
    """Who waits in a call or for a fault handler at the end of the run, and for whom."""

    def take(self, event: Event) -> None:
        """Takes the next event."""
        if self._ms is not None and event.name not in NO_SOUND:
            self._ms = None
        if event.told not in _READS:
            return
        match event.told:
            case "PD" if event["id"] != ROOT:
                pd = event["id"]
                self._pds[pd] = Standing(pd, event["name"], event["op"] == "spawn")
            case "STEP" if event["name"] == "destroy-pd":
                self._pds.pop(event["pd"], None)
            case "SETTING" if event["what"] == "await":
                self._timer = event.number("value") != 0
            case "SAY" if event["pd"] in self._pds:
                self._pds[event["pd"]].said = event["text"]
            case "FAULT_HELD" if event["pd"] in self._pds:
                self._pds[event["pd"]].held_by = event["handler"]
            case "resumed THREAD" | "FAULT" if event["pd"] in self._pds:
                self._pds[event["pd"]].held_by = None
            case "STANDS" if event["pd"] in self._pds:
                self._ms = event.number("ms") or None
                self._stands(self._pds[event["pd"]], event)
                if self._ms is None:
                    self.waits.append(replace(self._pds[event["pd"]]))

    def _stands(self, standing: Standing, event: Event) -> None:
        standing.state = event["state"]
        standing.on = event.optional("on")
        standing.slot = event.number("slot")
        standing.space = event.optional("space")
        standing.ip = event.number("ip")
        standing.chance = event["chance"] == "1"
        standing.place = None
        self.explain(standing)

    def heard(self) -> Silence:
        """What is known after the last event. What PDs did in an earlier silence is not kept."""
        if self._ms is None:
            for standing in self._pds.values():
                standing.state = standing.place = None
        return Silence(self._ms, self._timer, list(self._pds.values()))
