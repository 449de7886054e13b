# SPDX-License-Identifier: BSD-2-Clause
"""The objects and capabilities of one PD, in the order in which body.c and system.c make them."""

from __future__ import annotations

from collections.abc import Mapping

from cellreap.system.capdl.constants import badge, body_slot, protocol, roottask
from cellreap.system.capdl.layout import Layout, Stretch
from cellreap.system.capdl.objects import (
    WORD_BITS,
    Body,
    Cap,
    Object,
    SlotRef,
    bytes_taken,
    cnode,
    guard,
    paging_table,
    slot_number,
)
from cellreap.system.config import fault_badge


def door_of(pd: str) -> str:
    """The endpoint of a PD that outlives it."""
    return f"ep_{pd}"


class Parts(Layout):
    """The objects and capabilities of one PD."""

    def body(self, number: int) -> Body:
        """The PD's untyped and the objects that are retyped from it."""
        target, pd = self.target, self.pd
        body_bits = (self.parents() + (1 << pd.cspace_bits) - 1).bit_length()
        kinds = target.levels
        objects = [
            cnode(self.name("body"), body_bits, target.slot_bits),
            cnode(self.name("cspace"), pd.cspace_bits, target.slot_bits),
        ]
        for level, (kind, bits) in enumerate(zip(kinds[1:], target.table_bits, strict=True)):
            objects += [
                paging_table(self.table(level, vaddr), kind, bits) for vaddr in self.tables[level]
            ]
        size = f"{self.page >> 10}k"
        objects += [
            Object(
                self.frame(vaddr), "frame", target.page_bits, (size, *self._fill(stretch, vaddr))
            )
            for stretch, vaddr in self.frames
        ]
        if self.thread == 0:
            objects.append(paging_table(self.name("vspace"), kinds[0], target.vspace_bits))
        objects.append(Object(self.name("tcb"), "tcb", target.tcb_bits, self._thread()))
        if target.sc_bits:
            objects.append(Object(self.name("sc"), "sc", target.sc_bits, self._time()))
        objects.append(Object(self.bell, "notification", target.notification_bits))
        if target.reply_bits:
            objects.append(Object(self.name("reply"), "rtreply", target.reply_bits))
        objects.append(Object(self.endpoint, "ep", target.endpoint_bits))
        bits = max(
            (bytes_taken(objects) - 1).bit_length(),
            roottask("kernel/untyped.h", "CR_BLOCK_MIN_BITS"),
        )
        outlive = ({self.bell} if self.has_bell else set()) | (
            {self.endpoint} if self.has_door else set()
        )
        inside = tuple(thing for thing in objects if thing.name not in outlive)
        return Body(f"PD_{number:x} {pd.name}", self.name("ut"), bits, inside)

    def parents(self) -> int:
        """The slot of the body's CNode with the parent of the REQUEST in slot 0 of the CSpace."""
        return self.first_frame() + len(self.frames)

    def first_frame(self) -> int:
        """The slot of the body's CNode with the first frame."""
        return body_slot("CR_BODY_TABLES") + sum(map(len, self.tables))

    def _fill(self, stretch: Stretch, vaddr: int) -> tuple[str, ...]:
        start = max(stretch.start, vaddr)
        end = min(stretch.start + stretch.count, vaddr + self.page)
        if start >= end:
            return ()
        offset = stretch.offset + start - stretch.start
        what = f'{start - vaddr} {end - start} CDL_FrameFill_FileData "{self.elf.name}" {offset}'
        return (f"fill: [{{{what}}}]",)

    def _thread(self) -> tuple[str, ...]:
        """MakeModel.hs of the capDL tools requires all of these parameters or none."""
        stack_top = self.own("STACK") + self.pd.stack_pages * self.page
        return (
            f"addr: {self.own('IPC_BUFFER'):#x}",
            f"ip: {self.elf.entry:#x}",
            f"sp: {stack_top:#x}",
            f"prio: {self.pd.priority}",
            "max_prio: 0",
            "affinity: 0",
            # With MCS, the endpoint is in a slot of the TCB.
            *(() if self.target.sc_bits else (f"fault_ep: {self.slot('FAULT'):#x}",)),
            "dom: 0",
        )

    def caps(self, pds: Mapping[str, int], generation: int = 1) -> dict[str, tuple[Cap, ...]]:
        """The capabilities that each object of this PD holds. Those of the page tables of its
        process are only what this PD adds.

        pds: the root task's index of this PD and of those that it holds. generation: of this PD.
        """
        made = {
            self.name("cspace"): self._cspace(pds, generation),
            self.name("tcb"): (
                Cap("cspace", self.name("cspace"), guard(WORD_BITS - self.pd.cspace_bits)),
                Cap("vspace", self.of_process("vspace")),
                *self._answering(pds, generation),
                Cap("ipc_buffer_slot", self.frame(self.own("IPC_BUFFER")), ("RW",)),
                Cap("bound_notification", self.bell, ("R",)),
            ),
            self.name("body"): self._own(),
        }
        entries: dict[str, list[Cap]] = {self.of_process("vspace"): []}
        for level, addresses in enumerate(self.tables):
            for vaddr in addresses:
                entries[self.table(level, vaddr)] = []
        for level, addresses in enumerate(self.tables):
            for vaddr in addresses:
                table, slot = self.entry(level - 1, vaddr)
                entries.setdefault(table, []).append(Cap(slot, self.table(level, vaddr)))
        for stretch, vaddr in self.frames:
            table, slot = self.entry(len(self.tables) - 1, vaddr)
            entries[table].append(Cap(slot, self.frame(vaddr), (self._rights(stretch),)))
        return made | {
            name: tuple(sorted(listed, key=slot_number)) for name, listed in entries.items()
        }

    def _time(self) -> tuple[str, ...]:
        period = self.pd.period_us or self.target.slice_us
        budget = self.pd.budget_us or period
        return f"period: {period}", f"budget: {budget}", f"{self.target.sc_bits} bits"

    def _answering(self, pds: Mapping[str, int], generation: int) -> tuple[Cap, ...]:
        """The thread's capabilities for its callers, its faults and its time."""
        if not self.target.sc_bits:
            # The kernel makes this one when the thread starts.
            return (Cap("reply_slot", self.name("tcb"), ("master_reply",)),)
        end, told = self._faults(pds, generation)
        return (
            Cap("fault_ep_slot", end, told),
            Cap("sc_slot", self.name("sc")),
            *((Cap("temp_fault_ep_slot", end, told),) if self.pd.has_timeout else ()),
        )

    def _faults(self, pds: Mapping[str, int], generation: int) -> tuple[str, tuple[str, str]]:
        """Where its faults go: the endpoint, and the rights and the badge."""
        if self.pd.child_id is not None and self.pd.fault_handler is not None:
            return door_of(self.pd.fault_handler), ("WP", f"badge: {fault_badge(self.pd):#x}")
        number = badge("CR_BADGE_FAULT", pds[self.pd.name], generation)
        return "root_ep", ("WP", number)

    def _rights(self, stretch: Stretch) -> str:
        # seL4 on x86_64 never sets execute-disable, so every mapping is executable there.
        executable = stretch.executable or self.target.arch == "x86_64"
        return "R" + ("W" if stretch.writable else "") + ("X" if executable else "")

    def _cspace(self, pds: Mapping[str, int], generation: int) -> tuple[Cap, ...]:
        index = pds[self.pd.name]
        own = badge("CR_BADGE_PD", index, generation)
        caps = [
            Cap(self.slot("FAULT"), *self._faults(pds, generation)),
            Cap(self.slot("NOTIFICATION"), self.endpoint if self.has_door else self.bell, ("R",)),
        ]
        if self.pd.abi != "microkit":
            caps.append(Cap(self.slot("ROOT"), "root_ep", ("WGP", own)))
            caps.append(Cap(self.slot("ENDPOINT"), self.name("ep"), ("R",)))
        if self.target.reply_bits:
            caps.append(Cap(self.slot("REPLY"), self.name("reply")))
        # The index in the list determines the slot, even if some of the PDs do not exist.
        holds = () if self.pd.abi == "microkit" else self.pd.holds_pds
        for slot, held in enumerate(holds, protocol("CR_SLOT_FIRST_FREE")):
            if held in pds:
                caps.append(Cap(slot, "root_ep", ("P", badge("CR_BADGE_BODY", pds[held]))))
        return tuple(sorted(caps, key=slot_number))

    def slot(self, name: str) -> int:
        """A slot of its CSpace, as protocol.h has it for what the PD was built for."""
        if self.pd.abi == "microkit":
            word = "INPUT" if name == "NOTIFICATION" else name
            return protocol(f"CR_MICROKIT_SLOT_{word}")
        return protocol(f"CR_SLOT_{name}")

    def _own(self) -> tuple[Cap, ...]:
        """The capabilities in the CNode that holds the root task's capabilities to the PD."""
        caps = [
            Cap(body_slot("CR_BODY_TCB"), self.name("tcb")),
            Cap(body_slot("CR_BODY_CSPACE"), self.name("cspace"), guard(0)),
            Cap(body_slot("CR_BODY_VSPACE"), self.of_process("vspace")),
            Cap(body_slot("CR_BODY_ENDPOINT"), self.endpoint, ("RWGP",)),
            Cap(body_slot("CR_BODY_NOTIFICATION"), self.bell, ("RW",)),
            Cap(
                body_slot("CR_BODY_SIGNAL"),
                self.bell,
                ("W", badge("CR_BADGE_SIGNAL", 0, 0)) if self.pd.abi != "microkit" else ("W",),
            ),
        ]
        if self.target.sc_bits:
            caps.append(Cap(body_slot("CR_BODY_SC"), self.name("sc")))
        tables = [
            self.table(level, vaddr)
            for level, addresses in enumerate(self.tables)
            for vaddr in addresses
        ]
        caps += [Cap(slot, name) for slot, name in enumerate(tables, body_slot("CR_BODY_TABLES"))]
        for slot, (_, vaddr) in enumerate(self.frames, self.first_frame()):
            caps.append(
                Cap(slot, self.frame(vaddr), ("RW",), self.entry(len(self.tables) - 1, vaddr))
            )
        return tuple(sorted(caps, key=slot_number))

    def derived(self) -> dict[SlotRef, tuple[SlotRef, ...]]:
        """The capabilities that are derived from those that retyping made."""
        body, cspace, tcb = self.name("body"), self.name("cspace"), self.name("tcb")
        buffer = [vaddr for _, vaddr in self.frames].index(self.own("IPC_BUFFER"))
        vspace = body_slot("CR_BODY_VSPACE")
        return {
            (body, body_slot("CR_BODY_CSPACE")): ((tcb, "cspace"),),
            (self.of_process("body"), vspace): (
                *(((body, vspace),) if self.thread else ()),
                (tcb, "vspace"),
            ),
            **(
                {(body, body_slot("CR_BODY_ENDPOINT")): ((cspace, self.slot("ENDPOINT")),)}
                if self.pd.abi != "microkit"
                else {}
            ),
            (body, body_slot("CR_BODY_NOTIFICATION")): (
                *(() if self.has_door else ((cspace, self.slot("NOTIFICATION")),)),
                (body, body_slot("CR_BODY_SIGNAL")),
            ),
            (body, self.first_frame() + buffer): ((tcb, "ipc_buffer_slot"),),
        }
