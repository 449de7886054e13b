/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Every event that a trace can hold: its name and its fields, in the order in which they are printed. The
 * only place where they are listed: the root task expands the table, the host tooling parses it.
 * docs/trace-format.md says what each one means and what the checker demands of it.
 *
 * A line is
 *
 *     ~cr <seq> <crc> <event> <field>=<value> ...
 *
 * seq: decimal, from 0, without gaps. crc: 8 hex digits, the CRC-32 (IEEE 802.3, as in zlib) of the text
 * "<seq> <event> <field>=<value> ..." . In values every byte outside 0x21..0x7e, and '%', is written %XX.
 * Numbers are decimal; addresses 0x hex; node ids as in a model state (PD_1, BLOCK_SPACE_4, BLOCK_4_1).
 * The first event is TRACE, the last END. END's digest is the CRC-32 over the concatenation of the texts (as
 * above, each followed by one newline) of all events before it. */
#ifndef CELLREAP_TRACE_EVENTS_H
#define CELLREAP_TRACE_EVENTS_H

enum { CR_TRACE_VERSION = 2 };

/* CR_TRACE_EVENT(enumerator, event name, "fields") */
#define CR_TRACE_EVENTS                                                                                        \
    /* the run */                                                                                              \
    CR_TRACE_EVENT(CR_EV_TRACE, "TRACE", "version arch kernel system pd_depth rs_depth")                       \
    CR_TRACE_EVENT(CR_EV_END, "END", "count digest")                                                           \
    /* kernel memory in use, all of it the root task's to give: base is what it keeps for itself */            \
    CR_TRACE_EVENT(CR_EV_BASE, "BASE", "bytes slots")                                                          \
    CR_TRACE_EVENT(CR_EV_ACCOUNT, "ACCOUNT", "bytes slots")                                                    \
    /* async or sync: whether a terminator is answered at once or when all is over */                          \
    CR_TRACE_EVENT(CR_EV_MODE, "MODE", "mode")                                                                 \
    /* model: creation. BODY and MEMORY say what kernel memory a node was given */                             \
    CR_TRACE_EVENT(CR_EV_PD, "PD", "id name pinned")                                                           \
    CR_TRACE_EVENT(CR_EV_BODY, "BODY", "pd paddr bytes slots")                                                 \
    /* how long it may take to acknowledge a notice; without this event: as long as it likes */                \
    CR_TRACE_EVENT(CR_EV_DEADLINE, "DEADLINE", "pd ms")                                                        \
    CR_TRACE_EVENT(CR_EV_SPACE, "SPACE", "id type manager name")                                               \
    CR_TRACE_EVENT(CR_EV_RESOURCE, "RESOURCE", "id space slots")                                               \
    CR_TRACE_EVENT(CR_EV_DELETE, "DELETE", "node by")                                                          \
    /* model: edges */                                                                                         \
    CR_TRACE_EVENT(CR_EV_HOLD, "HOLD", "pd node slot")                                                         \
    CR_TRACE_EVENT(CR_EV_UNHOLD, "UNHOLD", "pd node slot")                                                     \
    CR_TRACE_EVENT(CR_EV_REQUEST, "REQUEST", "pd space slot")                                                  \
    CR_TRACE_EVENT(CR_EV_UNREQUEST, "UNREQUEST", "pd space slot")                                              \
    CR_TRACE_EVENT(CR_EV_MAP, "MAP", "from to")                                                                \
    CR_TRACE_EVENT(CR_EV_UNMAP, "UNMAP", "from to")                                                            \
    CR_TRACE_EVENT(CR_EV_HANDLER, "HANDLER", "pd handler")                                                     \
    CR_TRACE_EVENT(CR_EV_LINK, "LINK", "a b")                                                                  \
    CR_TRACE_EVENT(CR_EV_OWN, "OWN", "pd created")                                                             \
    CR_TRACE_EVENT(CR_EV_SUBSCRIBE, "SUBSCRIBE", "pd node")                                                    \
    CR_TRACE_EVENT(CR_EV_UNSUBSCRIBE, "UNSUBSCRIBE", "pd node")                                                \
    /* what PDs say and do */                                                                                  \
    CR_TRACE_EVENT(CR_EV_SAY, "SAY", "pd text")                                                                \
    CR_TRACE_EVENT(CR_EV_REFUSE, "REFUSE", "pd op status")                                                     \
    /* so many more refusals of that PD's requests, which are not told one by one */                           \
    CR_TRACE_EVENT(CR_EV_REFUSED, "REFUSED", "pd count")                                                       \
    /* the scenario stopped its thread, and nothing else: it hangs from here on */                             \
    CR_TRACE_EVENT(CR_EV_FREEZE, "FREEZE", "pd")                                                               \
    /* a crash that the configuration asks for and that could not come about: its place there, from 1, and its PD */ \
    CR_TRACE_EVENT(CR_EV_UNREACHED, "UNREACHED", "crash name")                                                 \
    /* triggers: each is the cause of exactly one cleanup, or of none if its PD is gone by then */             \
    CR_TRACE_EVENT(CR_EV_FAULT, "FAULT", "pd kind address ip")                                                 \
    CR_TRACE_EVENT(CR_EV_EXIT, "EXIT", "pd code")                                                              \
    CR_TRACE_EVENT(CR_EV_TERMINATE, "TERMINATE", "pd by")                                                      \
    /* a trigger if its PD is not doomed yet: it has not acknowledged that notice, queued ms milliseconds ago or more */\
    CR_TRACE_EVENT(CR_EV_LATE, "LATE", "pd token ms")                                                          \
    /* a cleanup: the plan, ... */                                                                             \
    CR_TRACE_EVENT(CR_EV_CLEANUP, "CLEANUP", "n trigger cause pd_depth rs_depth")                              \
    CR_TRACE_EVENT(CR_EV_DOOM_PD, "DOOM_PD", "n pd depth group")                                               \
    CR_TRACE_EVENT(CR_EV_DOOM_SPACE, "DOOM_SPACE", "n space group")                                            \
    CR_TRACE_EVENT(CR_EV_LOSE_REQUEST, "LOSE_REQUEST", "n pd space")                                           \
    CR_TRACE_EVENT(CR_EV_REVOKE, "REVOKE", "n pd resource")                                                    \
    CR_TRACE_EVENT(CR_EV_REVOKE_SPACE, "REVOKE_SPACE", "n pd space")                                           \
    CR_TRACE_EVENT(CR_EV_REVOKE_BODY, "REVOKE_BODY", "n pd resource")                                          \
    CR_TRACE_EVENT(CR_EV_FREE_CORE, "FREE_CORE", "n resource")                                                 \
    CR_TRACE_EVENT(CR_EV_OWE, "OWE", "n to kind node from")                                                    \
    CR_TRACE_EVENT(CR_EV_PRE_DESTROY, "PRE_DESTROY", "n pd node")                                              \
    /* ... what was done, in the order in which it was done, ... */                                            \
    CR_TRACE_EVENT(CR_EV_SUSPEND, "SUSPEND", "n pd")                                                           \
    CR_TRACE_EVENT(CR_EV_STEP, "STEP", "n name node pd calls")                                                 \
    CR_TRACE_EVENT(CR_EV_DESTROY, "DESTROY", "n node")                                                         \
    CR_TRACE_EVENT(CR_EV_FREED, "FREED", "n pd paddr bytes slots")                                             \
    /* n=0: a notice that no cleanup owes */                                                                   \
    CR_TRACE_EVENT(CR_EV_QUEUE, "QUEUE", "n token to kind node from")                                          \
    /* between these two, anything but a cleanup may happen: subscribers are being told */                     \
    CR_TRACE_EVENT(CR_EV_WAIT, "WAIT", "n")                                                                    \
    CR_TRACE_EVENT(CR_EV_RESUME, "RESUME", "n")                                                                \
    CR_TRACE_EVENT(CR_EV_CALLS, "CALLS", "n kind count")                                                       \
    /* ... and what is left: one row of the model state a STATE event, in canonical order */                   \
    CR_TRACE_EVENT(CR_EV_STATE, "STATE", "n row")                                                              \
    CR_TRACE_EVENT(CR_EV_SETTLED, "SETTLED", "n rows bytes slots cycles")                                      \
    /* notices on their way */                                                                                 \
    CR_TRACE_EVENT(CR_EV_FETCH, "FETCH", "pd token")                                                           \
    CR_TRACE_EVENT(CR_EV_ACK, "ACK", "pd token result")                                                        \
    /* that notice, which failed, is to be handed out again, and those behind it after it */      \
    CR_TRACE_EVENT(CR_EV_AGAIN, "AGAIN", "pd token")                                                           \
    /* what a PD asked for: its number, from 1; the PD to be terminated, or - for an extraction; what its owner was told */\
    CR_TRACE_EVENT(CR_EV_TICKET, "TICKET", "ticket pd what")                                                   \
    CR_TRACE_EVENT(CR_EV_TOLD, "TOLD", "ticket state done failed dropped waiting held")                        \
    /* an extraction: x, from 1; what a server reported; the state with it, row by row as in STATE */          \
    CR_TRACE_EVENT(CR_EV_EXTRACT, "EXTRACT", "x by")                                                           \
    CR_TRACE_EVENT(CR_EV_PIECE, "PIECE", "x pd token from to")                                                 \
    CR_TRACE_EVENT(CR_EV_MODEL, "MODEL", "x row")                                                              \
    CR_TRACE_EVENT(CR_EV_EXTRACTED, "EXTRACTED", "x rows")

typedef enum cr_event {
#define CR_TRACE_EVENT(enumerator, name, fields) enumerator,
    CR_TRACE_EVENTS
#undef CR_TRACE_EVENT
    CR_EVENT_COUNT
} cr_event;

#endif
