/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Every event of a trace: its name, its fields with their types in the order in which they are
 * printed, and its meaning. This is the only list. The root task expands it, the host tooling
 * parses it, and the table in docs/trace-format.md is generated from it. That page also has the
 * format of a line and the order of events that the checker demands.
 *
 * docs/versions.md says when CR_TRACE_VERSION is raised. */
#ifndef CELLREAP_TRACE_EVENTS_H
#define CELLREAP_TRACE_EVENTS_H

enum {
    CR_TRACE_VERSION = 1,
    CR_TRACE_KEY_BYTES = 16,    /* of the key of a trace */
    CR_TRACE_CLOCK_MS = 100,    /* the least time between two CLOCK events */
    CR_TRACE_SILENCE_MS = 5000, /* a STANDS of each PD comes after so much time without events */
    CR_TRACE_GRACE_MS = 50      /* HELD_UP comes this long after the deadline */
};

/* The text of a frame (docs/trace-format.md): a digit is a character from CR_FRAME_ZERO on, and has
 * six bits. A number below CR_FRAME_ONE is one digit, below CR_FRAME_TWO two, of which the first is
 * CR_FRAME_ONE or more. Others have a digit from CR_FRAME_LONG on in front, which tells how many
 * digits follow: 2 and more; after the last such digit, all. */
#define CR_FRAME_MARK "~:"
enum {
    CR_FRAME_ZERO = 0x30,
    CR_FRAME_ONE = 40,
    CR_FRAME_TWO = 1024,
    CR_FRAME_LONG = 56,
    CR_FRAME_DIGITS = 8,      /* the most that follow, but for all */
    CR_FRAME_ALL_DIGITS = 11, /* of a number of 64 bits */
    CR_FRAME_SUM_DIGITS = 8,  /* of the checksum */
    CR_FRAME_DIGEST = 31,     /* the digest times this, and a checksum, is the next digest */
    /* The texts of the dictionary, and what a piece of a text is if it is none of them. */
    CR_DICTIONARY_TEXTS = 509,
    CR_DICTIONARY_BYTES = 16384,
    CR_DICTIONARY_TEXT_MAX = 128, /* bytes of a text in it */
    CR_FRAME_CLEAR = 509,         /* the only text of a new dictionary */
    CR_FRAME_DEFINE = 510,        /* the next text of the dictionary */
    CR_FRAME_PLAIN = 511          /* in no dictionary */
};

/* The function of trace.h that prints a value. */
typedef enum cr_print {
    CR_PRINT_NUMBER = 0,  /* cr_trace_number */
    CR_PRINT_ADDRESS = 1, /* cr_trace_address */
    CR_PRINT_DEPTH = 2,   /* cr_trace_depth */
    CR_PRINT_TEXT = 3,    /* cr_trace_string, cr_trace_bytes */
    CR_PRINT_DIGEST = 4,  /* cr_trace_digest */
    CR_PRINT_NUMBERS = 5  /* cr_trace_numbers */
} cr_print;

/* When the root task answers a TERMINATE: CR_MODE(enumerator, number, word, meaning) */
#define CR_MODES                                                                                   \
    CR_MODE(CR_MODE_ASYNC, 0, "async", "at once, with its ticket")                                 \
    CR_MODE(CR_MODE_SYNC, 1, "sync", "when its ticket is over")

/* What SETTING tells, in this order, but for those of tests, which have that of the configuration:
 * CR_SETTING(enumerator, number, word, meaning). An injection:
 * `word` tells how it fails, `value` at which step, from 1, `second` and `third` are `call` and
 * `always` of cr_image_injection. */
/* clang-format off */
#define CR_SETTINGS                                                                                \
    CR_SETTING(CR_SETTING_MODE, 0, "mode", "when a TERMINATE is answered: `word`, of CR_MODES")    \
    CR_SETTING(CR_SETTING_AWAIT, 1, "await", "how long a PD without a deadline is awaited, in ms " \
        "in which it could run; 0: the kernel leaves no timer to the root task")                   \
    CR_SETTING(CR_SETTING_COLLECT, 2, "collect", "the root task collects after each cleanup, "     \
        "when no other one is under way or waits")                                                 \
    CR_SETTING(CR_SETTING_POLICY, 3, "policy", "which PDs policy dooms: `word`, of CR_POLICIES")   \
    CR_SETTING(CR_SETTING_FR_MAX, 4, "fr-max", "a PD is close to the trigger if FR of the two is " \
        "at most `value` hops")                                                                    \
    CR_SETTING(CR_SETTING_RSI_MIN, 5, "rsi-min", "a PD is close to the trigger if RSI of type "    \
        "`word` is at least `value` / `second`")                                                   \
    CR_SETTING(CR_SETTING_FAIL_STEP, 6, "fail-step", "for tests: a step of cleanups fails")        \
    CR_SETTING(CR_SETTING_FAIL_MAKE, 7, "fail-make", "for tests: a step of making fails")
/* clang-format on */

/* The cause of a cleanup: CR_CAUSE(enumerator, number, word, meaning) */
#define CR_CAUSES                                                                                  \
    CR_CAUSE(CR_CAUSE_FAULT, 0, "fault", "it faulted")                                             \
    CR_CAUSE(CR_CAUSE_EXIT, 1, "exit", "it exited")                                                \
    CR_CAUSE(CR_CAUSE_TERMINATE, 2, "terminate", "it is terminated")                               \
    CR_CAUSE(CR_CAUSE_LATE, 3, "late", "it missed its deadline")                                   \
    CR_CAUSE(CR_CAUSE_COLLECT, 4, "collect", "PDs that cannot be reached")                         \
    CR_CAUSE(CR_CAUSE_STOP, 5, "stop", "the run is over, and all PDs are stopped")                 \
    CR_CAUSE(CR_CAUSE_SUBTREE, 6, "subtree", "it is terminated with all PDs that it created")      \
    CR_CAUSE(CR_CAUSE_RECONCILE, 7, "reconcile", "what of a saved state is not named")             \
    CR_CAUSE(CR_CAUSE_HUNG, 8, "hung", "it lives and answers nobody")

/* When the cleanup of a TRIGGER comes: CR_WHEN(enumerator, number, word, meaning) */
#define CR_WHENS                                                                                   \
    CR_WHEN(CR_WHEN_NOW, 0, "now", "the PD is stopped, or a collection looks for PDs")             \
    CR_WHEN(CR_WHEN_LATER, 1, "later", "when it can begin; until then the PD goes on")             \
    CR_WHEN(CR_WHEN_NEVER, 2, "never", "it would destroy a protected PD by now")

/* What became of something, and in which events: CR_CHANGE(enumerator, number, word, meaning) */
/* clang-format off */
#define CR_CHANGES                                                                                 \
    CR_CHANGE(CR_CHANGE_MADE, 0, "made", "EDGE: it is new")                                        \
    CR_CHANGE(CR_CHANGE_DROPPED, 1, "dropped", "EDGE: it is gone")                                 \
    CR_CHANGE(CR_CHANGE_STOPPED, 2, "stopped", "THREAD: it was suspended for good, the PD's "      \
              "endpoint was destroyed, and its notices were dropped. The PD is a trigger, or "     \
              "its STEP `suspend` follows")                                                        \
    CR_CHANGE(CR_CHANGE_ANSWERED, 3, "answered", "THREAD: it was in a call to a server that was "  \
              "stopped, and was answered with an error")                                           \
    CR_CHANGE(CR_CHANGE_FROZEN, 4, "frozen", "THREAD: the scenario suspended it, so the PD hangs") \
    CR_CHANGE(CR_CHANGE_RESUMED, 5, "resumed", "THREAD: it goes on after a fault, as the PD's "    \
              "fault handler answered. NOTICE: its lane goes on after it failed, and it is "       \
              "handed out again")                                                                  \
    CR_CHANGE(CR_CHANGE_STRANDED, 6, "stranded", "THREAD: the PD is passive, and had no time "     \
              "and waited for nothing: a message was sent to it that is no call. It runs on on "   \
              "its own time")                                                                      \
    CR_CHANGE(CR_CHANGE_IN_ROUNDS, 7, "in-rounds", "THREAD: it came to the end of its first "      \
              "round, and is asked to go on until it is dismissed")                                \
    CR_CHANGE(CR_CHANGE_DISMISSED, 8, "dismissed", "THREAD: no crash is left, and it was told "    \
              "to stop at the end of a round")                                                     \
    CR_CHANGE(CR_CHANGE_UNFINISHED, 9, "unfinished", "THREAD: the run ends, and it did not come "  \
              "to the end of its round")                                                           \
    CR_CHANGE(CR_CHANGE_FETCHED, 10, "fetched", "NOTICE: the PD was handed it")                    \
    CR_CHANGE(CR_CHANGE_MERGED, 11, "merged", "NOTICE: the PD has not fetched it, and it stands "  \
              "for several destroyed PDs now: it is a disconnect notice about its space, and "     \
              "names no PD")                                                                       \
    CR_CHANGE(CR_CHANGE_WITHDRAWN, 12, "withdrawn", "NOTICE: the PD has not fetched it, and it "   \
              "was taken back for good")                                                           \
    CR_CHANGE(CR_CHANGE_DUE, 13, "due", "RESPAWN: the PD comes back")                              \
    CR_CHANGE(CR_CHANGE_OVER, 14, "over", "RESPAWN: the PD stays down")
/* clang-format on */

/* Why a cleaner was followed by another one: CR_DEATH(enumerator, number, word, meaning) */
#define CR_DEATHS                                                                                  \
    CR_DEATH(CR_DEATH_FAULT, 0, "fault", "its thread faulted")                                     \
    CR_DEATH(CR_DEATH_ERROR, 1, "error", "the step failed")                                        \
    CR_DEATH(CR_DEATH_HANG, 2, "hang", "it did not go on for about a second")

/* The CNodes of a PD: CR_CNODE(enumerator, number, word, meaning) */
#define CR_CNODES                                                                                  \
    CR_CNODE(CR_CNODE_CSPACE, 0, "cspace", "its CSpace")                                           \
    CR_CNODE(CR_CNODE_BODY, 1, "body", "the root task's capabilities to its objects")

/* The CNodes of the root task: CR_OWN_CNODE(enumerator, number, word, meaning) */
#define CR_OWN_CNODES                                                                              \
    CR_OWN_CNODE(CR_OWN_LEVEL_1, 0, "level-1", "the first level of its CSpace")                    \
    CR_OWN_CNODE(CR_OWN_BOOT, 1, "boot", "the CNode that the kernel gave it")                      \
    CR_OWN_CNODE(CR_OWN_POOL, 2, "pool", "its pool of slots")                                      \
    CR_OWN_CNODE(CR_OWN_UNTYPEDS, 3, "untypeds", "the halves of untypeds that were split")         \
    CR_OWN_CNODE(CR_OWN_MEMORY, 4, "memory", "the CNodes of memory objects and regions")

/* The kinds of kernel objects that are counted: CR_OBJECT(enumerator, number, word, meaning) */
#define CR_OBJECTS                                                                                 \
    CR_OBJECT(CR_OBJECT_THREAD, 0, "thread", "a TCB")                                              \
    CR_OBJECT(CR_OBJECT_ENDPOINT, 1, "endpoint", "an endpoint")                                    \
    CR_OBJECT(CR_OBJECT_NOTIFICATION, 2, "notification", "a notification")                         \
    CR_OBJECT(CR_OBJECT_CNODE, 3, "cnode", "a CNode")                                              \
    CR_OBJECT(CR_OBJECT_VSPACE, 4, "vspace", "the top of an address space")                        \
    CR_OBJECT(CR_OBJECT_TABLE, 5, "table", "a page table of any level below")                      \
    CR_OBJECT(CR_OBJECT_FRAME, 6, "frame", "a page of 4 KiB")                                      \
    CR_OBJECT(CR_OBJECT_ASID, 7, "asid", "the number of an address space")                         \
    CR_OBJECT(CR_OBJECT_IRQ_HANDLER, 8, "irq-handler", "the right to an interrupt")                \
    CR_OBJECT(CR_OBJECT_SCHED_CONTEXT, 9, "sched-context", "a scheduling context")                 \
    CR_OBJECT(CR_OBJECT_REPLY, 10, "reply", "a reply object")                                      \
    CR_OBJECT(CR_OBJECT_LARGE_FRAME, 11, "large-frame", "a large page")

/* The ways to crash a PD, cr_crash_how of image.h: CR_CRASH_WAY(enumerator, number, word, what
 * happens) */
#define CR_CRASH_WAYS                                                                              \
    CR_CRASH_WAY(CR_CRASH_PAGE_FAULT, 0, "page-fault", "writes to CR_STAGED_ADDRESS")              \
    CR_CRASH_WAY(CR_CRASH_CAP_FAULT, 1, "cap-fault", "receives from CR_STAGED_SLOT_BIT")           \
    CR_CRASH_WAY(CR_CRASH_ILLEGAL_INSTRUCTION, 2, "illegal-instruction", "executes one")           \
    CR_CRASH_WAY(CR_CRASH_UNKNOWN_SYSCALL, 3, "unknown-syscall", "calls -CR_STAGED_SYSCALL")       \
    CR_CRASH_WAY(CR_CRASH_EXIT, 4, "exit", "exits with CR_STAGED_CODE")                            \
    CR_CRASH_WAY(CR_CRASH_TERMINATE, 5, "terminate", "another PD terminates it")                   \
    CR_CRASH_WAY(CR_CRASH_KILL, 6, "kill", "the root task terminates it")                          \
    CR_CRASH_WAY(CR_CRASH_FREEZE, 7, "freeze", "the root task suspends its thread")                \
    CR_CRASH_WAY(CR_CRASH_HANG, 8, "hang", "loops forever")                                        \
    CR_CRASH_WAY(CR_CRASH_BLOCK, 9, "block", "waits forever")

/* What a PD does when nothing happens: CR_STAND(enumerator, number, word, meaning) */
#define CR_STANDS                                                                                  \
    CR_STAND(CR_STAND_RUNS, 0, "runs", "it can run: it is at no system call, or goes on")          \
    CR_STAND(CR_STAND_CALL, 1, "call", "it is at a call or send with the capability in `slot`")    \
    CR_STAND(CR_STAND_RECEIVE, 2, "receive", "it is at a receive from `slot`")                     \
    CR_STAND(CR_STAND_SYSCALL, 3, "syscall", "it is at another system call")                       \
    CR_STAND(CR_STAND_CHECKPOINT, 4, "checkpoint", "the scenario lets it wait between two rounds") \
    CR_STAND(CR_STAND_CONNECT, 5, "connect", "it waits for the space with that name")              \
    CR_STAND(CR_STAND_TICKET, 6, "ticket", "it waits for its ticket")                              \
    CR_STAND(CR_STAND_TERMINATE, 7, "terminate", "it waits for the end of a PD, in mode sync")     \
    CR_STAND(CR_STAND_FROZEN, 8, "frozen", "the scenario suspended its thread")                    \
    CR_STAND(CR_STAND_FAULT, 9, "fault", "its fault handler, `on`, has its fault")                 \
    CR_STAND(CR_STAND_STOPPED, 10, "stopped", "it was stopped, and its cleanup is not over")

/* The types of fields: CR_TRACE_TYPE(type, how it is printed, what the reader expects) */
#define CR_TRACE_TYPES                                                                             \
    CR_TRACE_TYPE(NUMBER, NUMBER, "a decimal number below 2^64")                                   \
    CR_TRACE_TYPE(FLAG, NUMBER, "0 or 1")                                                          \
    CR_TRACE_TYPE(ADDRESS, ADDRESS, "an address, 0x and hex digits")                               \
    CR_TRACE_TYPE(DEPTH, DEPTH, "a decimal number or inf")                                         \
    CR_TRACE_TYPE(DIGEST, TEXT, "8 hex digits")                                                    \
    CR_TRACE_TYPE(KEY, TEXT, "32 hex digits")                                                      \
    CR_TRACE_TYPE(STATE_DIGEST, DIGEST, "16 hex digits")                                           \
    CR_TRACE_TYPE(TEXT, TEXT, "a text")                                                            \
    CR_TRACE_TYPE(SPACE_TYPE, TEXT, "a type, of A-Z, 0-9 and _")                                   \
    CR_TRACE_TYPE(PD, TEXT, "a PD")                                                                \
    CR_TRACE_TYPE(PD_OR_NONE, TEXT, "a PD or -")                                                   \
    CR_TRACE_TYPE(SPACE, TEXT, "a space")                                                          \
    CR_TRACE_TYPE(RESOURCE, TEXT, "a resource")                                                    \
    CR_TRACE_TYPE(THING, TEXT, "a space or resource")                                              \
    CR_TRACE_TYPE(NODE, TEXT, "a PD, space or resource")                                           \
    CR_TRACE_TYPE(NODE_OR_NONE, TEXT, "a PD, space, resource or -")                                \
    CR_TRACE_TYPE(NAME_OR_NODE, TEXT, "a name, or a PD or space")                                  \
    CR_TRACE_TYPE(CHANGE, TEXT, "what became of it")                                               \
    CR_TRACE_TYPE(EDGE_KIND, TEXT, "a kind of edge")                                               \
    CR_TRACE_TYPE(SETTING, TEXT, "a setting")                                                      \
    CR_TRACE_TYPE(CAUSE, TEXT, "a cause")                                                          \
    CR_TRACE_TYPE(WHEN, TEXT, "when a cleanup comes")                                              \
    CR_TRACE_TYPE(CRASH, TEXT, "a way to crash")                                                   \
    CR_TRACE_TYPE(FAULT_KIND, TEXT, "a kind of fault")                                             \
    CR_TRACE_TYPE(STAND, TEXT, "what a PD does")                                                   \
    CR_TRACE_TYPE(REGISTERS, NUMBERS, "- or registers with their values, as in pc:0x10,sp:0x20")   \
    CR_TRACE_TYPE(DEATH, TEXT, "a death of the cleaner")                                           \
    CR_TRACE_TYPE(MADE, TEXT, "what is made")                                                      \
    CR_TRACE_TYPE(MAKE_STEP, TEXT, "a kind of step of making")                                     \
    CR_TRACE_TYPE(CNODE, TEXT, "a CNode of a PD")                                                  \
    CR_TRACE_TYPE(OWN_CNODE, TEXT, "a CNode of the root task")                                     \
    CR_TRACE_TYPE(NOTICE_KIND, TEXT, "a kind of notice")                                           \
    CR_TRACE_TYPE(WORK_RESULT, TEXT, "a result of a notice")                                       \
    CR_TRACE_TYPE(STEP, TEXT, "a kind of step")                                                    \
    CR_TRACE_TYPE(OP_OR_NONE, TEXT, "an operation or -")                                           \
    CR_TRACE_TYPE(CALLS, TEXT, "- or kinds of kernel calls with their numbers, as in a:1,b:2")     \
    CR_TRACE_TYPE(OBJECTS, TEXT, "- or kinds of kernel objects with their numbers, as in a:1,b:2")

/* CR_TRACE_EVENT(enumerator, name, FIELD(name, type) ..., meaning)
 *
 * An event that changes the model names its cause in its last two fields. asker: the PD whose
 * operation makes the change; op: that operation. Both are - if no PD asked: the configuration
 * makes the change. What a cleanup changes has events of its own. */
/* clang-format off */
#define CR_TRACE_EVENTS                                                                            \
    /* The run */                                                                                  \
    CR_TRACE_EVENT(CR_EV_TRACE, "TRACE", FIELD(version, NUMBER) FIELD(key, KEY) FIELD(arch, TEXT)  \
                   FIELD(kernel, TEXT) FIELD(system, TEXT) FIELD(pd_depth, DEPTH)                  \
                   FIELD(rs_depth, DEPTH) FIELD(clock, NUMBER),                                    \
                   "The first event: the version of the trace, the key of the checksums, the "     \
                   "architecture, the kernel's name and version, the system's name, its depths, "  \
                   "and how often the clock counts in a second that gives all other events "       \
                   "their times. 0: they have none.")                                              \
    CR_TRACE_EVENT(CR_EV_END, "END", FIELD(count, NUMBER) FIELD(digest, DIGEST),                   \
                   "The last event: the number of events, END included, and a sum over the "       \
                   "checksums of all lines before it.")                                            \
    CR_TRACE_EVENT(CR_EV_USAGE, "USAGE", FIELD(bytes, NUMBER) FIELD(slots, NUMBER)                 \
                   FIELD(objects, OBJECTS) FIELD(nodes, NUMBER) FIELD(edges, NUMBER)               \
                   FIELD(notices, NUMBER) FIELD(blocks, NUMBER) FIELD(tickets, NUMBER)             \
                   FIELD(own, NUMBER) FIELD(parents, NUMBER) FIELD(bodies, NUMBER),                \
                   "What is in use: bytes of untyped memory, slots, kernel objects, and the "      \
                   "entries of the tables of the root task: nodes, with tombstones, edges, "       \
                   "notices, blocks of untyped memory, and tickets that are not over. own, "       \
                   "parents, bodies: the slots for its own objects, for the parents of "           \
                   "capabilities to resources, and for the bodies of PDs. The first one tells "    \
                   "what the root task keeps for itself.")                                         \
    CR_TRACE_EVENT(CR_EV_SETTING, "SETTING", FIELD(what, SETTING) FIELD(word, TEXT)                \
                   FIELD(value, NUMBER) FIELD(second, NUMBER) FIELD(third, NUMBER),                \
                   "A setting of the configuration. What it has no use for is - or 0.")            \
    CR_TRACE_EVENT(CR_EV_INJECTED, "INJECTED", FIELD(what, SETTING) FIELD(word, TEXT)              \
                   FIELD(value, NUMBER) FIELD(second, NUMBER) FIELD(third, NUMBER),                \
                   "The failure of this SETTING happens now.")                                     \
    CR_TRACE_EVENT(CR_EV_QUOTA, "QUOTA", FIELD(account, NUMBER) FIELD(name, TEXT)                  \
                   FIELD(nodes, NUMBER) FIELD(edges, NUMBER) FIELD(spaces, NUMBER)                 \
                   FIELD(types, NUMBER) FIELD(requests, NUMBER) FIELD(tickets, NUMBER)             \
                   FIELD(pds, NUMBER) FIELD(bytes, NUMBER) FIELD(maps, NUMBER)                     \
                   FIELD(pages, NUMBER),                                                           \
                   "The quotas of an account. account: the position of its PD in the "             \
                   "configuration, from 1; name: that PD.")                                        \
    /* The model: nodes */                                                                         \
    CR_TRACE_EVENT(CR_EV_PD, "PD", FIELD(id, PD) FIELD(name, TEXT)                                 \
                   FIELD(asker, PD_OR_NONE) FIELD(op, OP_OR_NONE),                                 \
                   "A PD was made.")                                                               \
    CR_TRACE_EVENT(CR_EV_BODY, "BODY", FIELD(of, NODE) FIELD(paddr, ADDRESS) FIELD(bytes, NUMBER)  \
                   FIELD(slots, NUMBER) FIELD(objects, OBJECTS),                                   \
                   "The untyped that the PD, memory object or region is made from, the number of " \
                   "slots that it uses in the root task's CSpace, and its kernel objects.")        \
    CR_TRACE_EVENT(CR_EV_RIGHTS, "RIGHTS", FIELD(pd, PD) FIELD(pinned, FLAG)                       \
                   FIELD(protected, FLAG) FIELD(priority, NUMBER) FIELD(account, NUMBER)           \
                   FIELD(set_depth, FLAG) FIELD(extract, FLAG) FIELD(spawn, FLAG)                  \
                   FIELD(listen, FLAG) FIELD(collect, FLAG) FIELD(reader, NUMBER)                  \
                   FIELD(pd_depth, DEPTH) FIELD(rs_depth, DEPTH) FIELD(deadline_ms, NUMBER)        \
                   FIELD(heartbeat_ms, NUMBER) FIELD(call_ms, NUMBER) FIELD(budget_us, NUMBER)     \
                   FIELD(period_us, NUMBER) FIELD(passive, FLAG) FIELD(respawns, NUMBER)           \
                   FIELD(window_ms, NUMBER)                                                        \
                   FIELD(delay_ms, NUMBER) FIELD(asker, PD_OR_NONE) FIELD(op, OP_OR_NONE),         \
                   "The rules of a new PD, or its new pin or depths. pinned: policy does not doom "\
                   "it; protected: no PD may terminate it, or another one whose cleanup would "    \
                   "destroy it. account: the position of the PD in the configuration, from 1; of " \
                   "a spawned PD, that of the configured PD that it descends from. It may set "    \
                   "its depths, extract the model state, spawn PDs, be told of cleanups and ask "  \
                   "for collections. reader: the position of the PD that may read its memory when "\
                   "it is doomed; 0: nobody. pd_depth, rs_depth: of the cleanup that it triggers. "\
                   "deadline_ms: in which it must finish each notice; 0: it has none. The PD has " \
                   "hung that does not wait for a message, and finishes no probe, for "            \
                   "heartbeat_ms, or that keeps the PD waiting in a call for twice call_ms; 0: no "\
                   "such limit. In each period_us it may run for budget_us; if that is less, to "  \
                   "use it up is a fault; 0: no such limit. passive: it runs on the time of its "  \
                   "callers. It is respawned at most this many "                                   \
                   "times in a window of window_ms (0: the whole run), the first time at once, "   \
                   "each further time after a delay that doubles, beginning with delay_ms. "       \
                   "Without a timer both are 0, whatever is told.")                                \
    CR_TRACE_EVENT(CR_EV_TRUST, "TRUST", FIELD(pd, PD) FIELD(account, NUMBER),                     \
                   "The PD may change the policy of the PD with that position in the "             \
                   "configuration, from 1: its depths and its pin.")                               \
    CR_TRACE_EVENT(CR_EV_RESPAWN, "RESPAWN", FIELD(change, CHANGE) FIELD(name, TEXT)               \
                   FIELD(count, NUMBER) FIELD(delay_ms, NUMBER),                                   \
                   "The PD of this name was destroyed. `due`: it will be respawned after the "     \
                   "delay; count: the respawns in the present window, with this one. `over`: it "  \
                   "stays down, since its budget is used up.")                                     \
    CR_TRACE_EVENT(CR_EV_SPACE, "SPACE", FIELD(id, SPACE) FIELD(type, SPACE_TYPE)                  \
                   FIELD(manager, PD) FIELD(name, TEXT) FIELD(asker, PD_OR_NONE)                   \
                   FIELD(op, OP_OR_NONE),                                                          \
                   "A space was made.")                                                            \
    CR_TRACE_EVENT(CR_EV_RESOURCE, "RESOURCE", FIELD(id, RESOURCE) FIELD(space, SPACE)             \
                   FIELD(slots, NUMBER) FIELD(asker, PD_OR_NONE) FIELD(op, OP_OR_NONE),            \
                   "A resource was made in the space. It uses this number of slots in the root "   \
                   "task's CSpace.")                                                               \
    CR_TRACE_EVENT(CR_EV_DELETE, "DELETE", FIELD(node, THING) FIELD(by, PD) FIELD(part, FLAG)      \
                   FIELD(asker, PD_OR_NONE) FIELD(op, OP_OR_NONE),                                 \
                   "A resource or an empty space was deleted, with all its edges. part: 1 for a "  \
                   "resource that is deleted with its space, whose DELETE follows.")               \
    /* The model: edges */                                                                         \
    CR_TRACE_EVENT(CR_EV_EDGE, "EDGE", FIELD(change, CHANGE) FIELD(kind, EDGE_KIND)                \
                   FIELD(from, NODE) FIELD(to, NODE) FIELD(number, NUMBER)                         \
                   FIELD(asker, PD_OR_NONE) FIELD(op, OP_OR_NONE),                                 \
                   "An edge was made or dropped, or one was added to or taken off its count. "     \
                   "number: of a HOLD or REQUEST the slot of its capability in the CSpace of "     \
                   "`from`, 0: no capability; of a region the slot of the resource that let its "  \
                   "PD map it, 0: a HOLD of the memory did; of a memory object whether the "       \
                   "holder may write; of a SUBSCRIBE its handler; of the MAP of a region where "   \
                   "it is mapped, of the MAP of another resource to memory whether holders may "   \
                   "write (protocol.h); else 0. The edges of a node that "                         \
                   "goes are not told: they go with it. Memory goes with the last HOLD and MAP "   \
                   "of it, and a region with the resource that let its PD map it, when its slot "  \
                   "is free. A channel goes with the last HOLD.")                                  \
    CR_TRACE_EVENT(CR_EV_ALLOW, "ALLOW", FIELD(pd, PD) FIELD(by, PD) FIELD(count, NUMBER)          \
                   FIELD(asker, PD_OR_NONE) FIELD(op, OP_OR_NONE),                                 \
                   "The PD `by` may make this many edges for the PD, and no more. Each HOLD and "  \
                   "REQUEST that it makes for the PD takes one off.")                              \
    /* Actions of PDs */                                                                           \
    CR_TRACE_EVENT(CR_EV_SAY, "SAY", FIELD(pd, PD) FIELD(text, TEXT),                              \
                   "The PD printed a line.")                                                       \
    CR_TRACE_EVENT(CR_EV_REFUSE, "REFUSE", FIELD(pd, PD) FIELD(op, NUMBER)                         \
                   FIELD(status, NUMBER),                                                          \
                   "An operation of the PD was refused and changed nothing. op: its cr_op; "       \
                   "status: its cr_result.")                                                       \
    CR_TRACE_EVENT(CR_EV_ANSWER, "ANSWER", FIELD(pd, PD) FIELD(op, OP_OR_NONE)                     \
                   FIELD(space, NUMBER) FIELD(number, NUMBER) FIELD(words, NUMBER)                 \
                   FIELD(digest, STATE_DIGEST),                                                    \
                   "What the PD is told by an operation. space, number: what its message named; "  \
                   "0: nothing. words: the registers of the answer; digest: of their contents.")   \
    CR_TRACE_EVENT(CR_EV_MAKE_FAILED, "MAKE_FAILED", FIELD(what, MADE) FIELD(name, NAME_OR_NODE)   \
                   FIELD(step, NUMBER) FIELD(kind, MAKE_STEP) FIELD(status, NUMBER)                \
                   FIELD(undone, NUMBER) FIELD(bytes, NUMBER) FIELD(slots, NUMBER)                 \
                   FIELD(objects, OBJECTS),                                                        \
                   "A step of making something failed: the position of the step, from 1, its "     \
                   "kind, and the cr_result. name: of the PD or space, or the id of the PD that "  \
                   "gets the edge, or of the space of the resource. undone: how many of the "      \
                   "steps before it were undone, last first; bytes, slots, objects: all that are " \
                   "in use then.")                                                                 \
    CR_TRACE_EVENT(CR_EV_REFUSED, "REFUSED", FIELD(pd, PD) FIELD(count, NUMBER),                   \
                   "So many more operations of the PD were refused.")                              \
    CR_TRACE_EVENT(CR_EV_THREAD, "THREAD", FIELD(change, CHANGE) FIELD(pd, PD)                     \
                   FIELD(by, PD_OR_NONE),                                                          \
                   "What became of the PD's thread, by CR_CHANGES. by: of `answered`, the "        \
                   "server; else -.")                                                              \
    CR_TRACE_EVENT(CR_EV_STAGE, "STAGE", FIELD(crash, NUMBER) FIELD(how, CRASH) FIELD(pd, PD)      \
                   FIELD(by, PD),                                                                  \
                   "The scenario makes the PD crash. crash: the position of the crash in the "     \
                   "configuration, from 1; by: the PD that was ordered to, the PD itself or the "  \
                   "one that terminates it.")                                                      \
    CR_TRACE_EVENT(CR_EV_UNREACHED, "UNREACHED", FIELD(crash, NUMBER) FIELD(name, TEXT),           \
                   "A crash of the configuration did not happen. crash: its position there, "      \
                   "from 1; name: its PD.")                                                        \
    /* Triggers: each causes one cleanup, or none if its PD is destroyed before */                 \
    CR_TRACE_EVENT(CR_EV_FAULT, "FAULT", FIELD(pd, PD) FIELD(kind, FAULT_KIND)                     \
                   FIELD(address, ADDRESS) FIELD(ip, ADDRESS) FIELD(registers, REGISTERS),         \
                   "The PD faulted, and no fault handler continues it. registers: those of its "   \
                   "thread that are not 0; -: it sent the message of a fault itself, and its "     \
                   "thread is at another instruction.")                                            \
    CR_TRACE_EVENT(CR_EV_FAULT_HELD, "FAULT_HELD", FIELD(pd, PD) FIELD(handler, PD)                \
                   FIELD(kind, FAULT_KIND) FIELD(address, ADDRESS) FIELD(ip, ADDRESS)              \
                   FIELD(registers, REGISTERS),                                                    \
                   "The PD faulted and is stopped. Its fault handler is told with a notice. "      \
                   "registers: as in FAULT.")                                                      \
    CR_TRACE_EVENT(CR_EV_EXIT, "EXIT", FIELD(pd, PD) FIELD(code, NUMBER)                           \
                   FIELD(registers, REGISTERS),                                                    \
                   "The PD exited. registers: those of its thread, which show its message; -: it " \
                   "did not wait for an answer, and has run since.")                               \
    CR_TRACE_EVENT(CR_EV_TRIGGER, "TRIGGER", FIELD(pd, PD_OR_NONE) FIELD(cause, CAUSE)             \
                   FIELD(when, WHEN) FIELD(by, PD_OR_NONE) FIELD(token, NUMBER) FIELD(ms, NUMBER), \
                   "The trigger of a cleanup with this cause. pd: -: a collection, the end of "    \
                   "the system and what is left of a saved state have none. by: who asked, for a " \
                   "PD's end or for a collection; of `hung`, whose call the PD kept for the "      \
                   "call_ms of that PD; -: nobody, or its own heartbeat_ms. token: of `late`, "    \
                   "the oldest notice that the PD could have finished, or a probe or the notice "  \
                   "of a held fault that it did not finish; of `hung`, the probe that it did not " \
                   "finish; 0: each look found the PD in a receive and the same call to it; "      \
                   "without `by`, the receive was none from its endpoint. ms: for so long the PD " \
                   "could have run and finished nothing. After `stop` no PD is made.")             \
    CR_TRACE_EVENT(CR_EV_CLOCK, "CLOCK", FIELD(ms, NUMBER),                                        \
                   "The time, which goes on only while a notice, a wait or an alarm has a time. "  \
                   "It comes when at least 100 ms have passed since the last one. Where limits of "\
                   "RIGHTS alone keep it going, it comes only if something happened since.")       \
    CR_TRACE_EVENT(CR_EV_STANDS, "STANDS", FIELD(pd, PD) FIELD(state, STAND)                       \
                   FIELD(on, PD_OR_NONE) FIELD(slot, NUMBER) FIELD(space, TEXT)                    \
                   FIELD(ip, ADDRESS) FIELD(chance, FLAG) FIELD(ms, NUMBER),                       \
                   "What the PD does. ms: for so many milliseconds there was no event but CLOCK "  \
                   "and HELD_UP. Its registers showed it twice, at least 100 ms apart, and a "     \
                   "STANDS comes for each PD that is not destroyed. 0: the run ends. They showed " \
                   "it once, and it comes for each PD that waits in a call or for its fault "      \
                   "handler, and for whom it waits for. "                                          \
                   "on: the PD that it waits for; -: none, or not known. slot: the capability of " \
                   "its system call; 0: none. space: the name that a `connect` waits for; else "   \
                   "-. ip: its instruction; 0x0: not read. chance: 1 if PDs of its priority had "  \
                   "the processor between the two looks; else it may be able to run.")             \
    CR_TRACE_EVENT(CR_EV_HELD_UP, "HELD_UP", FIELD(pd, PD) FIELD(token, NUMBER) FIELD(ms, NUMBER)  \
                   FIELD(ran, NUMBER),                                                             \
                   "The PD has had a notice for its deadline and finished none, and is not "       \
                   "late; or it has not finished the probe with this token in its time, and is "   \
                   "not hung. token: 0: no probe. ms: how long, or since the last such event; "    \
                   "ran: the milliseconds in which it could run since it last finished a notice; " \
                   "of a probe, since that, or since it last finished something or was seen to "   \
                   "wait for a message.")                                                          \
    CR_TRACE_EVENT(CR_EV_GIVE_UP, "GIVE_UP", FIELD(pd, PD) FIELD(token, NUMBER)                    \
                   FIELD(ran, NUMBER) FIELD(held_up, NUMBER),                                      \
                   "The PD's notices up to this token are awaited by nobody any more. ran: the "   \
                   "milliseconds in which it could run while it was owed the oldest that was "     \
                   "awaited; held_up: those in which it was awaited and finished nothing that "    \
                   "was, calls to other PDs included.")                                            \
    /* A cleanup: the plan */                                                                      \
    CR_TRACE_EVENT(CR_EV_CLEANUP, "CLEANUP", FIELD(n, NUMBER) FIELD(trigger, PD_OR_NONE)           \
                   FIELD(cause, CAUSE) FIELD(pd_depth, DEPTH) FIELD(rs_depth, DEPTH)               \
                   FIELD(steps, NUMBER) FIELD(digest, STATE_DIGEST),                               \
                   "Cleanup n begins. trigger: the PD of its TRIGGER, FAULT or EXIT. steps: how "  \
                   "many its plan has, without `settle`. digest: of the state before it.")         \
    CR_TRACE_EVENT(CR_EV_PLAN, "PLAN", FIELD(n, NUMBER) FIELD(rows, NUMBER)                        \
                   FIELD(digest, STATE_DIGEST),                                                    \
                   "What the plan says: CR_PLAN_ROWS of digest.h. rows: how many there are; "      \
                   "digest: of them. It comes again when the plan is made anew.")                  \
    /* A cleanup: the steps, in this order */                                                      \
    CR_TRACE_EVENT(CR_EV_STEP, "STEP", FIELD(n, NUMBER) FIELD(name, STEP)                          \
                   FIELD(node, NODE_OR_NONE) FIELD(pd, PD_OR_NONE) FIELD(kinds, CALLS)             \
                   FIELD(count, NUMBER),                                                           \
                   "A step was carried out. kinds: how many kernel calls of each kind it made, "   \
                   "as in revoke:1,delete:2; -: none. count: how many notices the step `notify` "  \
                   "has queued, to one PD, and how many resources of one space "                   \
                   "`destroy-resource` has destroyed; node is that of the first one. 1 for other " \
                   "steps.")                                                                       \
    CR_TRACE_EVENT(CR_EV_TAKEOVER, "TAKEOVER", FIELD(n, NUMBER) FIELD(death, DEATH)                \
                   FIELD(step, STEP) FIELD(node, NODE_OR_NONE) FIELD(pd, PD_OR_NONE)               \
                   FIELD(number, NUMBER) FIELD(attempts, NUMBER) FIELD(left, FLAG)                 \
                   FIELD(kinds, CALLS),                                                            \
                   "The cleaner died at this step, which was attempted so often. number: the "     \
                   "step in its cleanup, from 1. Another cleaner repeats the step, or, with "      \
                   "left=1, leaves it for a second run over the phase, and then for a later run "  \
                   "of the cleanup. kinds: the kernel calls of all attempts at a step that is "    \
                   "left; else -.")                                                                \
    CR_TRACE_EVENT(CR_EV_RECOVER, "RECOVER", FIELD(n, NUMBER) FIELD(run, NUMBER)                   \
                   FIELD(digest, STATE_DIGEST),                                                    \
                   "A later run over what the cleanup left begins. It ends with SETTLED, too. "    \
                   "run: its number, from 1. digest: of the state before it.")                     \
    CR_TRACE_EVENT(CR_EV_SERVED, "SERVED", FIELD(n, NUMBER) FIELD(pd, PD) FIELD(waited, NUMBER)    \
                   FIELD(kinds, CALLS),                                                            \
                   "Between two steps an operation of the PD was served. What it did stands "      \
                   "between the last step and this. waited: the kernel calls of the cleanup since "\
                   "the root task received the message. kinds: those for the operation, as in "    \
                   "STEP. No step and no cleanup counts them.")                                    \
    CR_TRACE_EVENT(CR_EV_QUEUE, "QUEUE", FIELD(n, NUMBER) FIELD(token, NUMBER) FIELD(to, PD)       \
                   FIELD(kind, NOTICE_KIND) FIELD(node, NODE) FIELD(from, PD_OR_NONE)              \
                   FIELD(number, NUMBER),                                                          \
                   "A notice was queued. n=0: it belongs to no cleanup. number: of `lost` how "    \
                   "much its receiver keeps that is BROKEN; of `pre-destroy` which handlers it "   \
                   "names, bit n for handler n; of `probe` the call_ms or heartbeat_ms in which "  \
                   "it must be finished, 0: the deadline of its receiver; else 0. from: the "      \
                   "destroyed PD; of `probe` the PD that the receiver has kept waiting in a call " \
                   "for the deadline or the call_ms of that PD, -: it was not seen to wait for a " \
                   "message for half of its heartbeat_ms.")                                        \
    CR_TRACE_EVENT(CR_EV_WAIT, "WAIT", FIELD(n, NUMBER),                                           \
                   "The cleanup waits for subscribers. PDs act until CONTINUE.")                   \
    CR_TRACE_EVENT(CR_EV_CONTINUE, "CONTINUE", FIELD(n, NUMBER), "The cleanup continues.")         \
    /* A cleanup: the resulting state */                                                           \
    CR_TRACE_EVENT(CR_EV_STATE, "STATE", FIELD(row, TEXT),                                         \
                   "One row of a whole model state. SETTLED with n=0 ends the state.")             \
    CR_TRACE_EVENT(CR_EV_SETTLED, "SETTLED", FIELD(n, NUMBER) FIELD(rows, NUMBER)                  \
                   FIELD(bytes, NUMBER) FIELD(slots, NUMBER) FIELD(calls, NUMBER)                  \
                   FIELD(cycles, NUMBER) FIELD(objects, OBJECTS) FIELD(digest, STATE_DIGEST),      \
                   "The cleanup is over: the number of rows that it removed from the state since " \
                   "it began or last waited, the memory in use, the kernel calls of its steps, "   \
                   "the time that it took, and all kernel objects that there are. digest: of all " \
                   "rows of the state. n=0: the end of a snapshot, with the number of its rows.")  \
    /* The kernel's word, if the configuration asks for it (truth) */                              \
    CR_TRACE_EVENT(CR_EV_TRUTH, "TRUTH", FIELD(snapshot, FLAG),                                    \
                   "The capabilities that the kernel has, as the kernel says. snapshot=1: the "    \
                   "lines up to the next event are what the kernel prints on "                     \
                   "seL4_DebugDumpScheduler and seL4_DebugSnapshot.")                              \
    CR_TRACE_EVENT(CR_EV_CAPS, "CAPS", FIELD(pd, PD) FIELD(cnode, CNODE) FIELD(slots, NUMBER)      \
                   FIELD(caps, TEXT),                                                              \
                   "The slots of a CNode of the PD that are not empty. slots: the size of the "    \
                   "CNode.")                                                                       \
    CR_TRACE_EVENT(CR_EV_OWN_CAPS, "OWN_CAPS", FIELD(cnode, OWN_CNODE)                             \
                   FIELD(untypeds, NUMBER) FIELD(endpoints, NUMBER) FIELD(notifications, NUMBER)   \
                   FIELD(cnodes, NUMBER) FIELD(threads, NUMBER) FIELD(others, NUMBER),             \
                   "The number of capabilities of each type in a CNode of the root task.")         \
    CR_TRACE_EVENT(CR_EV_UNTYPEDS, "UNTYPEDS", FIELD(free, NUMBER) FIELD(bytes, NUMBER)            \
                   FIELD(halves, NUMBER),                                                          \
                   "The number of untypeds that are free for the allocator, the bytes that are "   \
                   "free in them for the kernel, and the number of untypeds that the allocator "   \
                   "made by splitting others.")                                                    \
    /* Notices */                                                                                  \
    CR_TRACE_EVENT(CR_EV_NOTICE, "NOTICE", FIELD(change, CHANGE) FIELD(pd, PD)                     \
                   FIELD(token, NUMBER),                                                           \
                   "What became of the PD's notice, by CR_CHANGES.")                               \
    CR_TRACE_EVENT(CR_EV_FINISH_WORK, "FINISH_WORK", FIELD(pd, PD) FIELD(token, NUMBER)            \
                   FIELD(result, WORK_RESULT),                                                     \
                   "The PD finished the notice.")                                                  \
    CR_TRACE_EVENT(CR_EV_DUMP, "DUMP", FIELD(pd, PD) FIELD(by, PD) FIELD(address, ADDRESS)         \
                   FIELD(words, NUMBER),                                                           \
                   "A PD read this many words of the memory of a doomed PD, from this address on.")\
    /* Tickets */                                                                                  \
    CR_TRACE_EVENT(CR_EV_TICKET, "TICKET", FIELD(ticket, NUMBER) FIELD(state, NUMBER)              \
                   FIELD(done, NUMBER) FIELD(failed, NUMBER) FIELD(dropped, NUMBER)                \
                   FIELD(waiting, NUMBER) FIELD(held, NUMBER),                                     \
                   "The answer about the ticket to its owner: its cr_ticket_state and the counts " \
                   "of its notices. Who asked for a PD's end, a collection or an extraction has "  \
                   "a ticket: they are numbered from 1, in the order of these TRIGGERs and "       \
                   "EXTRACTs.")                                                                    \
    CR_TRACE_EVENT(CR_EV_CANCEL, "CANCEL", FIELD(pd, PD) FIELD(of, PD_OR_NONE)                     \
                   FIELD(ticket, NUMBER) FIELD(name, TEXT),                                        \
                   "The PD cancelled something. of: whose it was; ticket: what it has this ticket "\
                   "for; 0: the CONNECT in which it waits for the space of that name. of=-: the "  \
                   "respawn of the PD of that name, which stays down.")                            \
    /* Extractions */                                                                              \
    CR_TRACE_EVENT(CR_EV_EXTRACT, "EXTRACT", FIELD(x, NUMBER) FIELD(by, PD),                       \
                   "Extraction x begins.")                                                         \
    CR_TRACE_EVENT(CR_EV_SUBGRAPH, "SUBGRAPH", FIELD(x, NUMBER) FIELD(pd, PD)                      \
                   FIELD(token, NUMBER) FIELD(from, THING) FIELD(to, THING),                       \
                   "A server reported a MAP edge for the extraction.")                             \
    CR_TRACE_EVENT(CR_EV_EXTRACTED, "EXTRACTED", FIELD(x, NUMBER) FIELD(maps, NUMBER)              \
                   FIELD(digest, STATE_DIGEST),                                                    \
                   "The extraction is over. maps: how many of the reported edges the extracted "   \
                   "state has besides the state; digest: of all its rows.")                        \
    /* MCS */                                                                                      \
    CR_TRACE_EVENT(CR_EV_TIME, "TIME", FIELD(pd, PD) FIELD(at, PD_OR_NONE)                         \
                   FIELD(calls, PD_OR_NONE),                                                       \
                   "Whose thread has the PD's scheduling context: nobody's, or that of a PD; "     \
                   "PD_0: another one, or the PD's own if it waits and has used its budget up. "   \
                   "calls: the PD that it calls, as its registers show.")
/* clang-format on */

typedef enum cr_mode {
#define CR_MODE(enumerator, number, ...) enumerator = number,
    CR_MODES
#undef CR_MODE
        CR_MODE_COUNT
} cr_mode;

typedef enum cr_setting {
#define CR_SETTING(enumerator, number, ...) enumerator = number,
    CR_SETTINGS
#undef CR_SETTING
        CR_SETTING_COUNT
} cr_setting;

typedef enum cr_cause {
#define CR_CAUSE(enumerator, number, ...) enumerator = number,
    CR_CAUSES
#undef CR_CAUSE
        CR_CAUSE_COUNT
} cr_cause;

typedef enum cr_when {
#define CR_WHEN(enumerator, number, ...) enumerator = number,
    CR_WHENS
#undef CR_WHEN
        CR_WHEN_COUNT
} cr_when;

typedef enum cr_change {
#define CR_CHANGE(enumerator, number, ...) enumerator = number,
    CR_CHANGES
#undef CR_CHANGE
        CR_CHANGE_COUNT
} cr_change;

typedef enum cr_death {
#define CR_DEATH(enumerator, number, ...) enumerator = number,
    CR_DEATHS
#undef CR_DEATH
        CR_DEATH_COUNT
} cr_death;

typedef enum cr_stand {
#define CR_STAND(enumerator, number, ...) enumerator = number,
    CR_STANDS
#undef CR_STAND
        CR_STAND_COUNT
} cr_stand;

typedef enum cr_cnode {
#define CR_CNODE(enumerator, number, ...) enumerator = number,
    CR_CNODES
#undef CR_CNODE
        CR_CNODE_COUNT
} cr_cnode;

typedef enum cr_own_cnode {
#define CR_OWN_CNODE(enumerator, number, ...) enumerator = number,
    CR_OWN_CNODES
#undef CR_OWN_CNODE
        CR_OWN_CNODE_COUNT
} cr_own_cnode;

typedef enum cr_object {
#define CR_OBJECT(enumerator, number, ...) enumerator = number,
    CR_OBJECTS
#undef CR_OBJECT
        CR_OBJECT_COUNT
} cr_object;

typedef enum cr_trace_type {
#define CR_TRACE_TYPE(type, print, expected) CR_TRACE_TYPE_##type,
    CR_TRACE_TYPES
#undef CR_TRACE_TYPE
        CR_TRACE_TYPE_COUNT
} cr_trace_type;

typedef enum cr_event {
#define CR_TRACE_EVENT(enumerator, name, fields, meaning) enumerator,
    CR_TRACE_EVENTS
#undef CR_TRACE_EVENT
        CR_EVENT_COUNT
} cr_event;

#endif
