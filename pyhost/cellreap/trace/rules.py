# SPDX-License-Identifier: BSD-2-Clause
"""The rules that a trace must keep: id and demand.

Each violation names its rule. docs/trace-rules.md has the same table.
"""

from __future__ import annotations

from typing import Final

RULES: Final[dict[str, str]] = {
    # reading a console log
    "line.form": "A trace line consists of records with their number, and a checksum.",
    "line.checksum": "The checksum is the checksum of the line's text.",
    "line.cut": "A trace line is complete: no field is missing, and no other line begins inside "
    "it.",
    "line.long": "A trace line is at most 64 KiB long.",
    "line.lost": "No event is missing.",
    "line.doubled": "No event occurs twice.",
    "line.reordered": "Events come in the order of their numbers.",
    "line.fields": "An event has its fields, in order.",
    "line.value": "Each value has the form of its field's type.",
    "line.end": "END has the count and the digest of the events.",
    "line.cut_off": "The log continues up to END.",
    "line.after_end": "No event comes after END.",
    # the first events, the last event, and their order
    "order.trace": "TRACE is the first event and occurs once.",
    "order.usage": "USAGE follows TRACE directly.",
    "order.end": "END is the last event.",
    "order.version": "The version is that of this cellreap, which has every event of the trace.",
    "order.header": "TRACE names an architecture and a kernel with its version.",
    "order.answer": "The QUEUE events that an event requires follow it directly.",
    "order.change": "An event of what became of something tells a change that it can have.",
    "model.possible": "The model allows the change: nodes and edges that it uses exist, and new "
    "ones are new.",
    # memory
    "memory.body": "Each PD, memory object and region has one BODY before the next PD, USAGE, "
    "trigger, cleanup or snapshot.",
    "memory.region": "A region is mapped at addresses at which no other region of its PD is.",
    "memory.rights": "A PD that is given a memory object may write there if the giver may and did "
    "not ask that it be read only. A later HOLD takes no right away, and a dropped one has those "
    "that there are.",
    "memory.backed": "One memory object at most backs a resource, and the HOLD of a region tells "
    "the slot of the backed resource by which its PD has it, or 0.",
    "memory.block": "The size of a body is a power of two, at least 16 bytes, and the body is "
    "aligned to it.",
    "memory.overlap": "The bodies of live PDs do not overlap.",
    "memory.sums": "USAGE, SETTLED and MAKE_UNDONE have the bytes and slots that are in use.",
    "memory.usage": "After the first one, USAGE occurs if and only if memory changed since the "
    "last one.",
    "memory.in_use": "USAGE has the nodes, edges, notices, tickets and slots that the events "
    "before it leave, and for each body one block more than the first one had.",
    "memory.objects": "USAGE, SETTLED and MAKE_UNDONE have the kernel objects of the first USAGE "
    "and of all bodies. The endpoint of a PD goes when the PD is stopped.",
    # accounts
    "accounts.quota": "The quotas of an account are told once.",
    "accounts.within": "No account uses more than its quota.",
    "accounts.pressed": "Notices are merged only when their account has no room for more edges.",
    # nodes and edges
    "nodes.root": "The root task is the first PD.",
    "nodes.fresh": "The id of a PD or space is never used again.",
    "nodes.type": "The type of a space, and the space of a resource, match the id.",
    "nodes.manager": "The root task manages the spaces of core types and no other spaces.",
    "nodes.delete": "Only the manager that holds a node deletes the node.",
    "nodes.part": "The resources of a deleted space are deleted directly before it, by its "
    "manager.",
    "edges.handler": "A FAULT edge never leads to the root task.",
    "edges.number": "Only a HOLD, REQUEST or SUBSCRIBE has a number other than 0.",
    # slots
    "slots.none": "The slot is 0 if the edge needs no capability.",
    "slots.one": "All holds of one node by one PD are one capability in one slot.",
    "slots.range": "The root task assigns slots from CR_SLOT_FIRST_FREE on, and none beyond the "
    "largest CSpace.",
    "slots.used": "A slot is assigned only while it is empty.",
    "slots.reused": "A slot that somebody else emptied is assigned again only after its PD "
    "finished the notice of the loss.",
    "slots.limit": "A PD is assigned no slot while 32 of its slots wait for it to finish LOST "
    "notices.",
    "slots.given_back": "A capability is removed from the slot that it is in.",
    # what PDs do
    "actors.there": "A PD that acts, or that is acted on, exists. The root task asks itself for "
    "nothing.",
    "actors.silent": "A stopped PD does nothing more.",
    "actors.waiting": "A PD that waits for its ticket does nothing else.",
    "actors.freeze": "A PD freezes at most once, and the root task never.",
    "actors.refusals": "64 refusals of a PD are traced one by one, and the others in sums of 1 to "
    "1,000.",
    "actors.status": "A refused operation has a cr_result other than CR_RESULT_OK.",
    "actors.unreached": "Crashes of the configuration are numbered from 1.",
    # staged crashes
    "staged.order": "STAGE names a crash by its place, its PD, and who is ordered to do it.",
    "staged.follows": "What a PD does next after it was ordered to crash is that crash; a "
    "termination may be refused. What the root task does by itself happens before the next STAGE "
    "and END.",
    "staged.root": "The root task terminates and freezes a PD only if a crash is staged so.",
    # rounds of work
    "rounds.known": "A THREAD is `dismissed` or `unfinished` after it was `in-rounds`, once.",
    "rounds.end": "At END the THREAD of each live PD that works in rounds is `dismissed` or "
    "`unfinished`.",
    # the target's time
    "clock.order": "CLOCK goes on by at least 100 ms.",
    "clock.late": "A PD that has had a notice for its deadline, and has finished none, is late or "
    "HELD_UP.",
    "clock.held_up": "HELD_UP names a PD that has had a notice for its deadline, and could run for "
    "less.",
    "clock.times": "Events have times if TRACE has a clock. Times do not go back, and as much "
    "passes in them as between two CLOCK events.",
    "clock.passed": "The times of `late` and HELD_UP have passed by CLOCK.",
    # silence
    "silence.long": "SILENT comes only after CR_TRACE_SILENCE_MS.",
    "silence.each": "After SILENT comes one STANDS for each PD that is not destroyed. Without "
    "SILENT, STANDS comes at the end of a run only, once for a PD that waits in a call or for its "
    "fault handler, and once for whom it waits for.",
    "silence.state": "STANDS says `frozen`, `fault` or `stopped` exactly of PDs whose threads are "
    "suspended. A `fault` is on the PD's fault handler, a `call` on a PD that it can call.",
    # the configuration, if it is given
    "config.system": "TRACE has the configured name and depths, and the kernel of the image.",
    "config.settings": "Each SETTING is the configured one.",
    "config.sizes": "The first USAGE, BODY and RESOURCE have the sizes that follow from "
    "configuration, programs and kernel.",
    "config.quota": "Each account is told once with the configured quotas.",
    "config.pd": "The configured PDs exist, those of boot time in their order, the others after "
    "the first cleanup. No other PD exists but those that a PD may spawn.",
    "config.rights": "A PD has the configured rules, column by column, and account.",
    "config.handler": "A PD has the configured fault handler, if that exists, and keeps it.",
    "config.link": "Exactly the configured links exist between live PDs.",
    "config.thread": "A thread has the address space of its process, as exactly the other threads "
    "of it do, and the process owns it.",
    "config.hold": "The configuration gives PD capabilities, each in its slot, to live PDs that "
    "have acknowledged the loss of the last one.",
    "config.line": "A PD has the configured interrupts and ports from its creation on, in their "
    "slots.",
    "config.region": "A PD has the configured regions from its creation on, and of each the memory "
    "of the others that have it.",
    "config.kept": "Where a device may write that has no `on_death`, nothing is made but the "
    "memory of the same region.",
    "config.channel": "A PD has the configured channels from its creation on, and shares each with "
    "the other PD that has it.",
    "config.request": "A PD requests the spaces that it may connect to, and from its creation the "
    "spaces of the root task that it needs.",
    "config.slot": "Other capabilities are in other slots of the PD's CSpace.",
    "config.space": "A space with a configured name has that type and manager. The root task has "
    "its two spaces.",
    "config.cancel": "A PD cancels the respawn only of a PD whose capability the configuration "
    "gives it.",
    "config.crash": "Each configured crash is staged as often as configured, in order, or is "
    "UNREACHED, and no other.",
    "config.extract": "The root task extracts the state at the end if that is configured.",
    "config.truth": "The trace has the kernel's word if that is configured, with snapshots if the "
    "kernel of the image takes them, and else not.",
    # injected failures
    "settings.told": "Each SETTING stands between the first USAGE and PD_0, in the order of "
    "CR_SETTINGS: `mode` and `await` always, and at least one threshold after a `policy`. Only "
    "thresholds and failures are told several times, and each differs.",
    "inject.happens": "INJECTED repeats a SETTING, as often as that says.",
    # cleaners that die
    "takeover.death": "TAKEOVER or RESIDUE comes right after the INJECTED that has a step of a "
    "cleanup fail, and tells that failure. A cleaner dies of nothing else.",
    "takeover.epoch": "Each TAKEOVER and RESIDUE begins the next epoch.",
    "takeover.step": "The step at which a cleaner died belongs to the cleanup under way, and is "
    "carried out next. Nothing that is no part of it comes before.",
    "takeover.attempts": "TAKEOVER and RESIDUE count the attempts of a step. After the third "
    "failure it is left, and not before. If it is in effect then, it is not left, and nothing is "
    "done for it any more: of several notices, those that are queued are the step.",
    "takeover.residue": "A step is left once for the second run over its phase, and once for a "
    "later run. Else it is carried out before its cleanup is over. A wait is not left, nor is a "
    "step that has queued a notice.",
    "residue.left": "A step without which a cleanup settles is of a node that is left.",
    "residue.cause": "A step is left if it failed too often, or depends on a step that did.",
    "residue.waits": "What depends on a step that is left is left too.",
    "residue.run": "RECOVER names a cleanup that left something, and counts its later runs.",
    "residue.retried": "After a cleanup, each earlier one that left something has a later run, "
    "unless it was left for good.",
    # listeners
    "reports.steps": "A cleanup that does not wait, and in which no step fails, has as many STEPs "
    "as its CLEANUP tells. It may have one more for each step of several notices or resources at "
    "which one of them failed, or three cleaners died.",
    "reports.step": "TAKEOVER and RESIDUE have the number of the step: one more than the STEPs "
    "before it.",
    "reports.number": "REPORT has the oldest report after `seen` that is kept.",
    "reports.told": "REPORT tells what the events of the trace tell.",
    "inject.making": "An error that is injected into making is directly followed by its "
    "MAKE_FAILED.",
    # making that fails
    "making.undone": "MAKE_UNDONE directly follows the MAKE_FAILED of the same. Each step before "
    "the failed one was undone.",
    "making.step": "MAKE_FAILED has a kind of step that making such a thing has, and a cr_result "
    "other than CR_RESULT_OK.",
    # causes of changes of the model
    "causes.operation": "A change names an operation that makes such changes, and the PD that "
    "asked; or neither, if the configuration makes the change.",
    "causes.asker": "The PD that asked is neither the root task nor doomed.",
    "causes.authority": "The PD that asked may: it has a request to RESSPC for a space and to PD "
    "for a spawned PD; it manages what it gives, takes back or deletes and what its maps begin at; "
    "it holds what it sends; else it drops only what is its own. It shares no request to a space "
    "of the root task. It names another PD by a request of that PD to "
    "it or by the capability to that PD. It saves only a PD to which it subscribed, from a "
    "collection that awaits subscribers.",
    "causes.configured": "Without an operation, there are only PDs and what they have from the "
    "start, the spaces of the root task, requests to these, and PD capabilities.",
    "causes.saved": "A saved state is made before its cleanup: PDs before any other PD, then "
    "spaces, their resources, and edges of what the configuration does not name.",
    "causes.core": "A resource of a core space is made for a HOLD, which follows directly.",
    "causes.spawn": "A PD that is spawned has an OWN and a HOLD of its creator.",
    # authority and consent
    "authority.rights": "Each PD but the root task has one RIGHTS, directly after its BODY. An "
    "operation tells it again with what the operation sets, and that is another value.",
    "authority.protected": "No PD terminates one whose cleanup would destroy a protected PD, "
    "neither when it asks nor, if it asked for later, when the cleanup is due: then `never` comes.",
    "authority.account": "No PD of an account has more priority or rights than the first, which "
    "the configuration has.",
    "authority.spawn": "A spawned PD has at most the priority of its creator, no rights, no depths "
    "of its own, no TRUST, no respawns, and its creator's account, deadline and limits.",
    "authority.right": "A PD that spawns PDs, extracts the model state, is told of cleanups or "
    "asks for a collection has the right to.",
    "authority.budget": "A budget has a period that is not shorter. A passive PD has none.",
    "authority.policy": "After its creation, a PD has another pin or other depths only by a PD "
    "that the configuration trusts with its policy, or other depths by itself, if it may set "
    "them.",
    "authority.trust": "A TRUST names an account, and comes once for each, directly after the "
    "RIGHTS or another TRUST of its PD.",
    "authority.pin": "A protected PD is pinned, and stays so.",
    "authority.stopped": "Nobody changes the policy of a PD that was stopped.",
    "authority.cleanup": "A cleanup has the depths of its trigger.",
    "authority.dump": "Only the PD that its RIGHTS name reads the memory of a PD, and only when "
    "that is doomed or stopped: from a multiple of 8 to the end of the page, at most 64 words.",
    "consent.allow": "A PD allows edges to another live PD, not to the root task or itself.",
    "consent.many": "From the end of a cleanup to that of the next one, a PD does not allow and "
    "subscribe more often than the limit says. An ALLOW does not count that led to an edge, nor "
    "one that takes back what was allowed.",
    "consent.allowed": "A PD that makes an edge for another PD was allowed it; each edge takes one "
    "off.",
    # collections
    "collect.due": "A collection comes once after each cleanup that is none, when no cleanup is "
    "under way and none may begin, if a SETTING says so. One comes likewise after "
    "a PD asked.",
    "collect.cleanup": "A cleanup of no PD follows its TRIGGER directly. That of a collection "
    "comes if the reference finds a PD that is not reached.",
    "stop.all": "The TRIGGER of `stop` comes once, when no cleanup is under way and none waits.",
    "stop.last": "After the TRIGGER of `stop` no PD is made, and at the end there is none but "
    "those that cleanups left.",
    "reconcile.first": "No PD acts before the TRIGGER of `reconcile` if there is a saved state.",
    "reconcile.once": "The TRIGGER of `reconcile` comes once, if the configuration does not name "
    "all of a saved state.",
    # triggers
    "triggers.columns": "A TRIGGER has the columns that its cause and `when` have, and no others.",
    "triggers.root": "The root task is never a trigger.",
    "triggers.once": "A PD that waits for its cleanup has no second trigger.",
    "triggers.right": "A PD terminates only a PD whose capability it holds.",
    "triggers.late": "A TRIGGER of `late` names the oldest notice that its PD could finish, or a "
    "probe or the notice of a held fault, and the PD could run for its deadline. Probes of limits "
    "have another time.",
    "triggers.exit": "The registers of an EXIT show the message of the PD that exits.",
    "triggers.cleanup": "A cleanup has a trigger.",
    "triggers.order": "Triggers are cleaned up in their order and with their cause. A later one "
    "comes first only if each earlier one touches a cleanup or trigger that waits, and it does "
    "not.",
    "triggers.needless": "A trigger waits only while it touches a cleanup or an earlier trigger "
    "that waits, or while 8 cleanups wait and its own tells a subscriber.",
    "triggers.end": "At END no trigger waits for its cleanup.",
    # blame
    "blame.handler": "FAULT_HELD names the fault handler of its PD. The handler is not down, and "
    "has finished the notice of the PD's last fault.",
    "blame.told": "A PD whose fault handler can be told of its fault is not a trigger at once.",
    "blame.registers": "The registers of a FAULT or FAULT_HELD have the address of its "
    "instruction, and the number of an unknown system call.",
    "blame.timeout": "A `timeout` is of a PD with a budget below its period, and names that PD as "
    "the one whose budget is used up.",
    "blame.same": "A FAULT after a FAULT_HELD has the same kind, address and instruction.",
    "blame.resumed": "A PD continues after a fault only if its fault handler finished the notice "
    "with `ok`.",
    "blame.taken": "The root task takes over a held fault if the fault handler failed the notice, "
    "has no deadline, or waits for the PD itself. Then a PD is freed from a call to the PD.",
    "blame.probe": "Only a PD that has a deadline, can answer and has no probe yet is probed. The "
    "PD that waits for it has a deadline and a notice to finish.",
    "blame.waits": "A PD is probed only if calls can lead to it from the PD that waits: each one "
    "on the way has or had a capability to the next, or has a fault that the next one holds.",
    # PDs that hang
    "hung.probe": "A PROBE with a time has the heartbeat_ms of its PD, or the call_ms of the PD "
    "that waits. A PD that can answer has one at a time.",
    "hung.waits": "A PD is probed or has hung for the call_ms of another one only if calls of that "
    "one can lead to it (blame.waits), and that one is not down. So it is with the call of some PD "
    "if TRIGGER names neither a PD nor a probe.",
    "hung.hung": "A PD has hung that can answer and did not finish the probe that TRIGGER names "
    "for heartbeat_ms or call_ms, or was in receives for twice that time.",
    "hung.passed": "The times of `hung` and of the HELD_UP of a probe have passed by CLOCK, and "
    "the PD that waits in a call did nothing meanwhile.",
    "hung.unanswered": "HELD_UP with a token names a probe of a limit that was not finished in "
    "its time. A PD that could have finished the probe of its heartbeat_ms has hung instead.",
    "hung.stranded": "A PD whose THREAD is `stranded` is passive and can answer.",
    "hung.missing": "A PD that has not finished the probe of a limit in its time has hung or is "
    "HELD_UP. No PD with a call_ms is left in a call when the run ends and nobody can run.",
    # stopping
    "freed.stop": "A PD is stopped once: directly after it became a trigger, or right before its "
    "STEP `suspend`. With the PD of a subtree all are stopped that it created.",
    "freed.when": "The PDs that are in a call to a PD are freed directly after it was stopped.",
    "freed.once": "A PD is freed at most once by the stop of another.",
    "freed.client": "A PD is freed only from a call to a server that it had a capability to.",
    # how long receivers are awaited
    "progress.awaited": "A PD is given up only if it can answer, and a cleanup, an extraction or a "
    "ticket awaits that it finishes a notice up to that token.",
    "progress.early": "A PD without a deadline is given up after await_ms in which it could run, "
    "any PD after twice the larger of its deadline and await_ms.",
    # respawns
    "respawn.rule": "A PD with respawns that is made anew is due, and its respawns are those that "
    "it had. A window and a delay are those of respawns.",
    "respawn.due": "Only a PD that has a rule and is destroyed is due, and once.",
    "respawn.budget": "The count grows by 1 or begins anew with a window, and keeps to the budget. "
    "A PD stays down when its budget is used up, and only then.",
    "respawn.delay": "The delay is 0 for the first respawn in a window and doubles from the "
    "second on, up to 1,000 ms.",
    "respawn.end": "At END every PD with a rule exists, is due or stays down.",
    # notices
    "notices.token": "Tokens are ascending.",
    "notices.owed": "A notice that belongs to no cleanup is owed by a REQUEST that is dropped, a "
    "loss, an extraction, a FAULT_HELD or a PROBE.",
    "notices.fetch": "A PD fetches only its own notices, and each once.",
    "notices.order": "The notices of a lane are fetched and finished in order.",
    "notices.finish": "A PD finishes only notices that it fetched, and each once.",
    "notices.each": "Only an extract notice about a space is finished with `each`.",
    "notices.resume": "A PD resumes only a notice of its own that failed.",
    "notices.taken": "A PD has fetched at most 32 free, disconnect and extract notices that it has "
    "not finished.",
    "notices.unseen": "Only a notice that its PD has not fetched is merged or withdrawn.",
    "notices.merged": "A free or disconnect notice of a destroyed PD is merged, one for each "
    "receiver, space and account.",
    "notices.withdrawn": "A notice is withdrawn when nobody awaits its extraction any more, when "
    "another notice tells its receiver of the space, or when the space is gone.",
    "notices.end": "At END every notice is finished or held, or its receiver is destroyed, has no "
    "deadline, or had others probed because it waits in a call.",
    # answers
    "answers.each": "Each series of NOTICE `fetched`, each REPORT, and each TICKET that answers "
    "somebody has its ANSWER directly after it, and no other ANSWER of these operations comes.",
    "answers.words": "The words of an ANSWER are those that follow from the events before it.",
    # tickets
    "tickets.number": "TICKET names a ticket that there is.",
    "tickets.state": "TICKET has the state that follows from the events before it.",
    "tickets.counts": "TICKET has the counts that follow from the events before it.",
    "tickets.wait": "In mode sync a terminator is answered exactly once, when its ticket is over.",
    "tickets.needless": "A terminator that waits is answered as soon as its ticket is over.",
    # cancellation
    "cancel.right": "A PD cancels only what is its own, or what belongs to a PD whose capability "
    "it has.",
    "cancel.what": "Cancelled is an extraction that is under way, a termination that is put off, a "
    "CONNECT to a space that is not there, or a respawn that is due.",
    "cancel.answer": "A PD that waits in a CONNECT that is cancelled is told so, at once and once.",
    # extractions
    "extractions.number": "Extractions are numbered from 1.",
    "extractions.one": "A PD has one extraction under way at a time.",
    "extractions.under_way": "Every SUBGRAPH and EXTRACTED belongs to an extraction that is under "
    "way.",
    "extractions.asked": "A manager reports only on the notice that it has fetched and not "
    "finished.",
    "extractions.ends": "A reported edge joins two live resources or two live spaces. Its manager "
    "holds the target or may request its space.",
    "extractions.new": "A reported edge is not known yet and closes no circle.",
    "extractions.answered": "EXTRACTED follows when all servers that can answer have answered.",
    "extractions.needless": "An extraction waits only while a server that was asked can answer.",
    "extractions.state": "EXTRACTED has the digest of the state with the reported edges that fit.",
    "extractions.end": "At END every extraction is over.",
    # printed states
    "state.printed": "The whole state is printed after the last change before END.",
    "state.digest": "CLEANUP, RECOVER and SETTLED have the digest of the model that the events "
    "make.",
    "state.whole": "A snapshot comes before the first cleanup and before END.",
    "state.snapshot": "A snapshot is contiguous and outside cleanups.",
    "state.count": "SETTLED of a snapshot and EXTRACTED have the number of rows before them, and "
    "SETTLED of a cleanup that of the rows that it removed since it began or last waited.",
    "state.rows": "The printed rows are the rows of the model that the events make.",
    "state.legal": "The state is legal after each cleanup, in snapshots and at END.",
    # cleanups
    "cleanup.number": "Cleanups are numbered from 1, and their events have the number of the "
    "cleanup under way.",
    "cleanup.within": "During a cleanup that does not wait, only its own events occur.",
    "cleanup.plan": "The plan is the plan of the reference model, each part once.",
    "cleanup.independent": "A cleanup begins while others wait only if it touches none of them, "
    "and only while fewer than 8 wait if it tells a subscriber.",
    "cleanup.needless": "A cleanup waits only while a subscriber that was told can still answer.",
    "cleanup.phases": "The phases of a cleanup follow each other in order.",
    "cleanup.doomed": "While a cleanup waits, doomed nodes do not change.",
    "cleanup.wait": "A cleanup waits only if a subscriber can still answer, and CONTINUE ends "
    "each WAIT.",
    "cleanup.awaited": "A cleanup continues when the subscribers that were told and can answer "
    "have answered.",
    "cleanup.tell": "Each subscriber is told once about each node, beginning with the last group.",
    "cleanup.destructors": "A PD with a destructor is told once of its turn, when all earlier "
    "groups are destroyed. It is stopped, and its group destroyed, when all PDs of the group that "
    "have one were told and have answered.",
    "cleanup.handlers": "A pre-destroy notice names the handlers of its receiver for the node.",
    "cleanup.steps": "The steps are the steps that follow from the plan.",
    "cleanup.beside": "A `tell` or `notify` comes right after as many QUEUEs to its PD as it "
    "counts. A step that destroys several resources destroys the newest of one space, whose server "
    "is stopped.",
    "cleanup.cut": "Each REQUEST to a doomed space is cut once, before the space is destroyed.",
    "cleanup.suspend": "Each doomed PD is suspended once, before it is destroyed.",
    "cleanup.destroy": "Each node that the plan destroys is destroyed once.",
    "cleanup.groups": "Doomed nodes are destroyed in the order of their groups.",
    "cleanup.parts": "The parts of a node and its holders are destroyed before the node.",
    "cleanup.notice_order": "Among the notices to one PD about one space, those of PDs at a "
    "smaller depth are queued first, and of one PD what it held before its REQUEST.",
    "cleanup.notices": "The notices of the plan are queued, each once.",
    "cleanup.step_calls": "Each step made the kernel calls that it needs, and no others. Those of "
    "a step that was left count with those that it made later.",
    "cleanup.calls": "SETTLED has the sum of the kernel calls of the steps, and 0 in a snapshot.",
    # operations between the steps of a cleanup
    "interleaved.place": "PAUSE is right after a STEP, behind the plan that is told anew after a "
    "STEP, or right after a RESUME, and not before a step that follows one that was left.",
    "interleaved.turn": "Of each PD, at most one operation is served between two steps.",
    "interleaved.soon": "An operation is served after the step that was under way when it came.",
    "interleaved.independent": "What is served between two steps names nothing that concerns the "
    "cleanup, and does not change its plan.",
    "interleaved.over": "Between PAUSE and RESUME, only what the PD asked for happens.",
    "interleaved.calls": "RESUME has the sum of its kernel calls.",
    # the kernel's word
    "truth.form": "TRUTH, the CAPS of both CNodes of each PD, the TIME of each PD or of none, the "
    "OWN_CAPS of each CNode of the root task and UNTYPEDS stand together, each once.",
    "truth.when": "A trace with TRUTH has it before the first crash, between each crash and the "
    "stop of its PD, directly after each cleanup, and directly before END.",
    "truth.snapshot": "The text after a TRUTH with a snapshot is a snapshot of the kernel.",
    "truth.threads": "In the kernel, each PD has one thread, with its priority and with spaces in "
    "its body, and there is no other thread.",
    "truth.caps": "In the kernel, the CSpace of each PD has the capabilities of the model and no "
    "others, each to its object and with its rights and badge.",
    "truth.tables": "In the kernel, the address space of a PD is in its body and stays as it was.",
    "truth.walk": "The slots of a PD's CNodes that the kernel says are not empty are those of the "
    "model, each with a capability of the right type.",
    "truth.time": "The scheduling context of a PD is with the PD, or with a passive one along the "
    "chain of its calls. That of a passive PD, or of one that was stopped, may be with nobody.",
    "truth.own": "In the CNodes of the root task are, besides what was there at first, the "
    "capabilities that the model needs and no others.",
    "truth.memory": "The bytes in use by the model, and those that are free by the kernel, are "
    "always the same in sum.",
    # the PDs' word
    "statements.same": "The trace has what a PD says that it asked and was told, in its order.",
    "statements.announced": "A PD that makes statements made one before each SAY, EXIT, "
    "FINISH_WORK, ALLOW and EDGE of a SUBSCRIBE of it.",
    "statements.stopped": "A PD says nothing after it was stopped.",
}
"""Id -> demand."""
