# SPDX-License-Identifier: BSD-2-Clause
"""Who may be brought down for what: faults and their handlers, and probes."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from cellreap import headers
from cellreap.arches import ARCHES
from cellreap.trace.check.context import Concern, Context, outside
from cellreap.trace.check.independent import beyond
from cellreap.trace.check.work import Notice
from cellreap.trace.events import Event
from cellreap.trace.faults import LABEL_SHIFT

HELD = "has faulted, and its fault handler has the fault"
WHAT = ("kind", "address", "ip")
"""The fields of a fault."""


@dataclass(frozen=True)
class Fault:
    """A fault that is held. token: of the notice, None until it is queued. what: its fields."""

    handler: str
    what: tuple[str, ...]
    token: int | None = None


class Blame(Concern):
    """FAULT_HELD, resumed THREAD, and what probes follow from."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._root = headers.constant("protocol.h", "CR_SLOT_ROOT")
        self._exit = headers.constant("protocol.h", "CR_OP_EXIT")
        self.held: dict[str, Fault] = {}  # by the PD that faulted
        self._last: dict[str, int] = {}  # name of a PD -> token of its last FAULT notice
        self._probing: set[str] = set()  # PDs for which others were probed
        self.taken: tuple[str, str] | None = None
        """A PD and its fault handler, which must wait for the PD: its fault was just taken over."""
        self.calls_untold = False
        """a space or request was not made: who can call over a channel may lack it, which nobody
        knows without the configuration
        """

    # -- for other concerns

    def is_strict(self, notice: Notice) -> bool:
        """Whether the notice has a clock of its own: a probe, or about a fault that is held."""
        fault = self.held.get(notice.node) if notice.kind == "fault" else None
        return notice.kind == "probe" or (fault is not None and fault.token == notice.token)

    def forget(self, pd: str) -> None:
        """The PD is destroyed, or is a trigger."""
        self.held.pop(pd, None)

    def may_keep(self, pd: str) -> bool:
        """Whether a run may end with notices that the PD has not finished: nobody is late without a
        deadline, nor while it waits in a call to a PD that cannot be probed, or answers its probes.
        """
        timed = self.context.authority.number(pd, "deadline_ms") > 0
        return not timed or pd in self._probing or pd in self.context.quiet.waits

    def can_wait_for(self, by: str, pd: str) -> bool:
        """Whether a chain of calls and held faults can lead from one PD to the other."""
        unknown = self.calls_untold and self.context.expected is None
        return unknown or pd in beyond(by, self._waits_for)

    def _waits_for(self, pd: str) -> Collection[str]:
        """The PDs that a PD may wait for: who holds its fault, else those that it can call."""
        fault, edges = self.held.get(pd), self.context.configured.edges
        if fault is not None:
            return (fault.handler,)
        peers = (edges.live(call.peer) for call in edges.config(pd).calls)
        return {*self.context.slots.servers_of(pd), *filter(None, peers)}

    def queued(self, event: Event) -> None:
        """A FAULT notice is queued."""
        pd, token = event["node"], event.number("token")
        if pd in self.held:
            self.held[pd] = Fault(self.held[pd].handler, self.held[pd].what, token)
        self._last[self._name(pd)] = token

    def finished(self, notice: Notice, result: str) -> None:
        """A FAULT notice is finished: the PD continues, or is left to the root task."""
        fault = self.held.get(notice.node)
        if fault is not None and fault.token == notice.token:
            next_ = "FAULT" if result == "failed" else "resumed THREAD"
            self.context.debts.owe(next_, notice.node)

    def probed(self, event: Event) -> None:
        """A probe is queued: a PD is asked whether it still runs, because another one waits."""
        context, pd, by = self.context, event["to"], event["from"]
        if event["node"] != pd:
            self.bad("blame.probe", f"it is about {event['node']}")
        if event["number"] != "0":
            context.hung.probed(event)
            return
        self._probing.add(by)
        for each in (pd, by):
            timed = context.authority.number(each, "deadline_ms") > 0
            if not timed or not context.actors.may_answer(each):
                self.bad("blame.probe", f"{each} is down, or has no deadline")
        if context.notices.work.probes(pd) > (pd in context.hung.probes):
            self.bad("blame.probe", f"{pd} has not finished its last probe")
        if not context.notices.work.has_work(by):
            self.bad("blame.probe", f"{by} has no notice to finish")
        elif not self.can_wait_for(by, pd):
            self.bad("blame.waits", f"no call of {by} can lead to it")

    def _check_registers(self, event: Event) -> None:
        """The registers beside a fault have its instruction, and the number of a system call."""
        arch, registers = ARCHES.get(self.context.report.arch), event.registers()
        if not registers or arch is None:
            return
        shown = {"ip": arch.program_counter}
        if event["kind"] == "unknown-syscall":
            shown["address"] = arch.system_call
        for field, register in shown.items():
            if registers.get(register, 0) != event.number(field):
                text = f"{field}={event[field]}: {register} is {registers.get(register, 0):#x}"
                self.bad("blame.registers", text)

    def _check_timeout(self, event: Event) -> None:
        """Who ran is who paid, and had less time than there is."""
        pd = event["pd"]
        budget, period = (
            self.context.authority.number(pd, column) for column in ("budget_us", "period_us")
        )
        if event["kind"] == "timeout" and (budget >= period or event["address"] != f"0x{pd[3:]}"):
            self.bad("blame.timeout", f"{pd} has {budget} of {period} us")

    def ends(self, event: Event) -> None:
        """The PD is a trigger. EXIT: its registers show its message, unless it has run since."""
        self.forget(event["pd"])
        if event.name == "EXIT":
            self._exits(event)

    def _exits(self, event: Event) -> None:
        registers, arch = event.registers(), ARCHES.get(self.context.report.arch)
        if not registers or arch is None:
            return
        slot, head, code = (registers.get(name, 0) for name in arch.message)
        if (slot, head >> LABEL_SHIFT, code) != (self._root, self._exit, event.number("code")):
            text = f"slot {slot}, operation {head >> LABEL_SHIFT}, argument {code}"
            self.bad("triggers.exit", f"its registers show {text}")

    def fault(self, event: Event) -> bool:
        """FAULT. Returns whether a fault of the PD was held until now."""
        pd = event["pd"]
        self._check_registers(event)
        self._check_timeout(event)
        fault = self.held.pop(pd, None)
        if fault is None:
            self._handler_is_told(pd)
            return False
        what = tuple(event[name] for name in WHAT)
        if what != fault.what:
            self.bad("blame.same", f"expected {' '.join(fault.what)}, as in its FAULT_HELD")
        timed = self.context.authority.number(fault.handler, "deadline_ms") > 0
        if not self.context.debts.settle("FAULT", pd) and timed:
            self.taken = pd, fault.handler
        return True

    def interrupt(self, event: Event) -> None:
        """Handles an event after a FAULT that was taken over: somebody is freed from the PD."""
        if self.taken is None or event.told == "stopped THREAD":
            return
        pd, handler = self.taken
        self.taken = None
        if event.told != "answered THREAD" or event["by"] != pd:
            text = f"FAULT: {handler} keeps {pd}, and nobody was in a call to {pd}"
            self.context.bad("blame.taken", text)

    def _handler_is_told(self, pd: str) -> None:
        handler = self.context.model.faults.get(pd)
        if handler is None or self._has_last(pd):
            return
        if self._is_up(handler):
            self.bad("blame.told", f"pd={pd}: expected FAULT_HELD: {handler} handles its faults")

    def _name(self, pd: str) -> str:
        return self.context.report.names.get(pd, pd)

    def _has_last(self, pd: str) -> bool:
        """Whether the handler still has the last FAULT notice about the PD or its predecessor."""
        return self.context.notices.work.get(self._last.get(self._name(pd), 0)) is not None

    def _is_up(self, pd: str) -> bool:
        """Whether the PD is neither a trigger nor doomed."""
        up = self.context.actors.may_answer(pd) or pd in self.held
        return up and not self.context.cleanups.dooms_pd(pd)

    # -- events

    @outside("FAULT_HELD")
    def hold(self, event: Event) -> None:
        """FAULT_HELD: a PD faulted, and its fault handler is told."""
        context, pd, handler = self.context, event["pd"], event["handler"]
        self._check_registers(event)
        self._check_timeout(event)
        if not context.actors.may_act(event, pd):
            return
        if self.context.model.faults.get(pd) != handler or not self._is_up(handler):
            self.bad("blame.handler", f"{handler} is down, or no handler of {pd}")
        elif self._has_last(pd):
            self.bad("blame.handler", f"{handler} has not finished the notice of its last fault")
        self.held[pd] = Fault(handler, tuple(event[name] for name in WHAT))
        context.actors.stop(pd, HELD)
        context.debts.owe("QUEUE", handler, "fault", pd, "-")

    @outside("resumed THREAD")
    def resume(self, event: Event) -> None:
        """resumed THREAD: the PD continues after its fault."""
        pd = event["pd"]
        if not self.context.debts.settle("resumed THREAD", pd):
            self.bad("blame.resumed")
        if self.held.pop(pd, None) is not None:
            self.context.actors.resume(pd)
            self.context.timing.heard(pd)
