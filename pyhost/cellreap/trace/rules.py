# SPDX-License-Identifier: BSD-2-Clause
"""Every rule that a trace must keep, by its id: what it demands, in one sentence.

Each violation names its rule. docs/trace-rules.md has the same table.
"""

from __future__ import annotations

from typing import Final

RULES: Final[dict[str, str]] = {
    # reading a console log
    "line.form": "A trace line is a number, a checksum and an event.",
    "line.checksum": "The checksum is that of the text.",
    "line.cut": "A trace line is whole: no other begins in it, and no field is missing.",
    "line.long": "A trace line is at most 64 KiB long.",
    "line.lost": "No event is missing.",
    "line.doubled": "No event comes twice.",
    "line.reordered": "Events come in the order of their numbers.",
    "line.fields": "An event has the fields of its version, in order.",
    "line.value": "Each value has the form that its field demands.",
    "line.end": "END has the count and the digest of the events.",
    "line.cut_off": "The log goes on to END.",
    "line.after_end": "No event comes after END.",
    # the frame
    "order.trace": "TRACE is the first event and comes once.",
    "order.base": "BASE comes right after TRACE, and once.",
    "order.mode": "MODE comes right after BASE, and once.",
    "order.end": "END is the last event.",
    "order.version": "The version is known, and it has every event of the trace.",
    "order.header": "TRACE names an architecture and a kernel with its version.",
    "order.answer": "The QUEUE and ACCEPT events that an event owes come right behind it.",
    "model.possible": "The model allows what the event does: its nodes and edges exist or are new.",
    # memory
    "memory.body": "Each PD has one BODY, before the next PD, ACCOUNT, trigger, cleanup or "
    "snapshot.",
    "memory.block": "A body is an aligned power of two of at least 16 bytes.",
    "memory.overlap": "The bodies of live PDs do not overlap.",
    "memory.sums": "ACCOUNT and SETTLED tell the bytes and slots that are in use.",
    "memory.account": "ACCOUNT comes exactly when memory changed since the last one.",
    "memory.freed": "FREED repeats the BODY of its PD.",
    # nodes and edges
    "nodes.root": "The root task is the first PD.",
    "nodes.fresh": "The id of a PD or space is never given twice.",
    "nodes.type": "The type of a space and the space of a resource are those in the id.",
    "nodes.manager": "The root task manages the spaces of core types, and no others.",
    "nodes.delete": "Only the manager that holds a node deletes it, or the root task.",
    "edges.handler": "HANDLER never names the root task.",
    # slots
    "slots.none": "The slot is 0 for a capability that needs none.",
    "slots.one": "All holds of one node by one PD are one capability in one slot.",
    "slots.range": "The root task gives out slots from CR_SLOT_FIRST_FREE on.",
    "slots.used": "A slot is given only while it is empty.",
    "slots.reused": "A slot that a cleanup emptied is given again only after its PD finished "
    "the notice of that.",
    "slots.limit": "A PD is given no slot while 32 of its slots wait for it to finish LOST "
    "notices.",
    "slots.given_back": "A capability is given back from the slot that it is in.",
    # what PDs do
    "actors.there": "A PD that does something, or that something happens to, is there.",
    "actors.silent": "A PD that was stopped does nothing any more.",
    "actors.waiting": "A PD that waits for its ticket does nothing else.",
    "actors.freeze": "A PD freezes at most once, and the root task never.",
    "actors.refusals": "64 refusals of a PD are told one by one, the others in sums of 1 to 1,000.",
    "actors.status": "A refused operation has a cr_result other than CR_RESULT_OK.",
    "actors.unreached": "Crashes of the configuration are counted from 1.",
    # triggers
    "triggers.root": "The root task never dies.",
    "triggers.once": "A PD that is to be cleaned up has no second trigger.",
    "triggers.right": "A PD terminates only what it holds the capability to the body of.",
    "triggers.deadline": "A deadline comes right after the BODY of its PD and is not 0.",
    "triggers.late": "LATE names a notice that its PD could have finished within its deadline.",
    "triggers.cleanup": "A cleanup has a trigger.",
    "triggers.order": "Triggers are cleaned up in their order, with their cause.",
    "triggers.end": "At END no trigger waits for its cleanup.",
    # notices
    "notices.token": "Tokens rise.",
    "notices.owed": "A notice of no cleanup is owed by an UNREQUEST or an extraction.",
    "notices.fetch": "A PD fetches only its own notices, each once.",
    "notices.order": "The notices of a lane are fetched and finished in order.",
    "notices.finish": "A PD finishes what it fetched, once.",
    "notices.each": "Only an extract notice about a space is finished with `each`.",
    "notices.resume": "A PD resumes only a notice of its own that failed.",
    "notices.end": "At END every notice is finished, held, or its receiver is gone.",
    # tickets
    "tickets.asked": "ACCEPT comes right after what its PD asked for.",
    "tickets.number": "Tickets are numbered from 1, and only these are told of.",
    "tickets.state": "TICKET tells the state that follows from the events before it.",
    "tickets.counts": "TICKET tells the counts that follow from the events before it.",
    "tickets.wait": "In mode sync a terminator is told when all is over, and it is told.",
    # extractions
    "extractions.number": "Extractions are numbered from 1.",
    "extractions.one": "A PD has one extraction under way at a time.",
    "extractions.under_way": "Subgraphs and rows belong to an extraction that is under way.",
    "extractions.asked": "A manager reports on what it was asked about, while it is.",
    "extractions.ends": "A reported edge joins two live resources or spaces; its manager holds "
    "or may request the lower one.",
    "extractions.new": "A reported edge is not known yet and closes no circle.",
    "extractions.answered": "The rows come when all servers that can answer have answered.",
    "extractions.printed": "The MODEL rows of an extraction stand together, and EXTRACTED follows "
    "them.",
    "extractions.end": "At END every extraction is over.",
    # printed states
    "state.printed": "Changes of the model are printed before the next cleanup and before END.",
    "state.snapshot": "A snapshot stands together and outside cleanups.",
    "state.count": "SETTLED and EXTRACTED count the rows before them.",
    "state.rows": "The printed rows are those of the model that the events make.",
    "state.legal": "The state is legal after each cleanup, in snapshots and at END.",
    # cleanups
    "cleanup.number": "Cleanups are numbered from 1, and their events have the number of the one "
    "under way.",
    "cleanup.within": "No other events come within a cleanup that does not wait.",
    "cleanup.plan": "The plan is the reference's, each part once.",
    "cleanup.phases": "The phases of a cleanup follow each other.",
    "cleanup.doomed": "While a cleanup waits, what is doomed is left alone.",
    "cleanup.wait": "A cleanup waits only for somebody, and goes on from WAIT with CONTINUE.",
    "cleanup.awaited": "A cleanup goes on when the subscribers that were told and can answer have "
    "answered.",
    "cleanup.tell": "Each subscriber is told once about each node, the last group first.",
    "cleanup.steps": "The steps are those that follow from the plan.",
    "cleanup.beside": "A step stands beside the event that says what it did.",
    "cleanup.cut": "Each REQUEST to a doomed space is cut once, before the space is destroyed.",
    "cleanup.suspend": "Each doomed PD is suspended once, before it is destroyed.",
    "cleanup.destroy": "Each node that goes is destroyed once.",
    "cleanup.groups": "Doomed nodes are destroyed in the order of their groups.",
    "cleanup.parts": "What a node is made of, and who holds it, is destroyed before it.",
    "cleanup.freed": "The memory of each doomed PD is freed once, after it is destroyed.",
    "cleanup.notices": "The notices of the plan are queued, each once.",
    "cleanup.calls": "CALLS counts each kind once; the sum is that of the steps.",
}
"""Id -> what is demanded."""
